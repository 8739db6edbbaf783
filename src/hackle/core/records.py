"""Run records as data: how they are written, their hash, and their float fields, which a fleet stacks.

A record is a frozen dataclass of numbers, strings, tuples, other records, and classes or functions known by their name.
Records of hackle's own classes carry the class's name alone; those of other classes `module:name`. They are read again by
`hackle.core.reading`, which trusts none of them.
"""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import importlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from hackle.core.parts import import_file

T = TypeVar("T")


def is_record(value: Any) -> bool:
    """Whether it is a record, not the class of one."""
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def _is_float(field: dataclasses.Field[Any]) -> bool:
    return field.type in ("float", float)


def place_of(thing: Any) -> str:
    """Where a class or function can be imported from, as `module:name`. For a running script the module is `__main__`,
    which processes started by the script know by another name."""
    module = "__main__" if thing.__module__ == "__mp_main__" else thing.__module__
    return f"{module}:{thing.__qualname__}"


def import_named(place: str) -> Any:
    """What `place_of` has named. It imports, and so runs, whatever it is given: only for names that the user trusts.
    A module that is nowhere on Python's path may be a file in the current folder."""
    module, _, name = place.partition(":")
    try:
        thing = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module or not Path(f"{module}.py").is_file():
            raise
        thing = import_file(Path(f"{module}.py"))
    for part in name.split("."):
        thing = getattr(thing, part)
    return thing


def type_name(cls: type) -> str:
    """The name by which a record refers to this class."""
    return cls.__name__ if cls.__module__.partition(".")[0] == "hackle" else place_of(cls)


def to_json(record: Any) -> Any:
    """A record as plain data; nested records carry their class name so that they can be read back.

    Float fields are written as floats, so that β = 4 and β = 4.0 give the same record. A class or function becomes
    `module:name`, a string from which it can be imported again. A field that was added later (`later`
    in its metadata) is left out at its default, so that records from before it keep their hash.
    """
    if is_record(record):
        plain: dict[str, Any] = {"type": type_name(type(record))}
        for field in dataclasses.fields(record):
            if field.name == "type":
                raise TypeError(
                    f"{plain['type']} has a field called type, the key that names its class; rename the field"
                )
            value = getattr(record, field.name)
            if field.metadata.get("later") and value == field.default:
                continue
            plain[field.name] = to_json(float(value) if _is_float(field) and isinstance(value, int) else value)
        return plain
    if isinstance(record, tuple | list):
        return [to_json(item) for item in record]
    if record is None or isinstance(record, str | bool | int | float):
        return record
    name = getattr(record, "__qualname__", "<unnamed>")
    if callable(record) and "<" not in name:
        return place_of(record)
    raise TypeError(
        f"a record cannot hold {type(record).__name__}: {record!r}; expected Python's own numbers and strings, tuples, "
        "records, or a class or function from the top level of a module"
    )


def record_hash(record: Any) -> str:
    """Sixteen hexadecimal digits that identify a record by its contents."""
    text = json.dumps(to_json(record), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def float_fields(record: Any, prefix: str = "") -> dict[str, float]:
    """Every float field of a record and the records in it, by dotted path."""
    numbers: dict[str, float] = {}
    for field in dataclasses.fields(record):
        value = getattr(record, field.name)
        if is_record(value):
            numbers |= float_fields(value, f"{prefix}{field.name}.")
        elif _is_float(field):
            numbers[prefix + field.name] = float(value)
    return numbers


def with_fields(record: T, values: Mapping[str, Any]) -> T:
    """A copy of the record with the fields at these dotted paths replaced, by tensors too: fields are not checked again."""
    changed = copy.copy(record)
    names = [field.name for field in dataclasses.fields(record)] if is_record(record) else []  # type: ignore[arg-type]
    for path, value in values.items():
        name, _, rest = path.partition(".")
        if name not in names:
            raise ValueError(f"{type(record).__name__} has no field {path!r}; it has {', '.join(names) or 'none'}")
        object.__setattr__(changed, name, with_fields(getattr(changed, name), {rest: value}) if rest else value)
    return changed
