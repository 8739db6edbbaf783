"""Run records as data: to and from JSON, their hash, and their float fields, which are what a fleet stacks.

A record is a frozen dataclass of numbers, strings, tuples, other records, and classes or functions known by their name.
"""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import json
from collections.abc import Mapping
from typing import Any, TypeVar

T = TypeVar("T")


def _is_record(value: Any) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def _is_float(field: dataclasses.Field[Any]) -> bool:
    return field.type in ("float", float)


def to_json(record: Any) -> Any:
    """A record as plain data; nested records carry their class name so that they can be read back.

    Float fields are written as floats, so that β = 4 and β = 4.0 are one record. A class or function becomes
    `module:name`, a string from which whoever holds the record may import it again.
    """
    if _is_record(record):
        plain: dict[str, Any] = {"type": type(record).__name__}
        for field in dataclasses.fields(record):
            if field.name == "type":
                raise TypeError(
                    f"{plain['type']} has a field called type, the key that names its class; rename the field"
                )
            value = getattr(record, field.name)
            plain[field.name] = to_json(float(value) if _is_float(field) and isinstance(value, int) else value)
        return plain
    if isinstance(record, tuple | list):
        return [to_json(item) for item in record]
    if record is None or isinstance(record, str | bool | int | float):
        return record
    name = getattr(record, "__qualname__", "<unnamed>")
    if callable(record) and "<" not in name:
        return f"{record.__module__}:{name}"
    raise TypeError(
        f"a record cannot hold {type(record).__name__}: {record!r}; expected Python's own numbers and strings, tuples, "
        "records, or a class or function from the top level of a module"
    )


def from_json(data: Any, classes: Mapping[str, type]) -> Any:
    """The record that `to_json` wrote. `classes` maps the class names that may occur to the classes."""
    if isinstance(data, dict):
        values = dict(data)
        name = values.pop("type", None)
        if name not in classes:
            raise ValueError(f"unknown record type {name!r}; known are {', '.join(sorted(classes))}")
        fields = {field.name: field for field in dataclasses.fields(classes[name])}
        if unknown := values.keys() - fields.keys():
            raise ValueError(f"{name} has no field {', '.join(sorted(unknown))}; it was written by another version")
        missing = [
            field.name
            for field in fields.values()
            if field.name not in values
            and field.default is dataclasses.MISSING
            and field.default_factory is dataclasses.MISSING
        ]
        if missing:
            raise ValueError(f"{name} lacks {', '.join(missing)}; it is incomplete or was written by another version")
        return classes[name](**{key: from_json(value, classes) for key, value in values.items()})
    if isinstance(data, list):
        return tuple(from_json(item, classes) for item in data)
    return data


def record_hash(record: Any) -> str:
    """Sixteen hexadecimal digits that identify a record by its contents."""
    text = json.dumps(to_json(record), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def float_fields(record: Any, prefix: str = "") -> dict[str, float]:
    """Every float field of a record and the records in it, by dotted path."""
    found: dict[str, float] = {}
    for field in dataclasses.fields(record):
        value = getattr(record, field.name)
        if _is_record(value):
            found |= float_fields(value, f"{prefix}{field.name}.")
        elif _is_float(field):
            found[prefix + field.name] = float(value)
    return found


def with_fields(record: T, values: Mapping[str, Any]) -> T:
    """A copy of the record with the fields at these dotted paths replaced, by tensors too: fields are not checked again."""
    changed = copy.copy(record)
    names = [field.name for field in dataclasses.fields(record)] if _is_record(record) else []  # type: ignore[arg-type]
    for path, value in values.items():
        name, _, rest = path.partition(".")
        if name not in names:
            raise ValueError(f"{type(record).__name__} has no field {path!r}; it has {', '.join(names) or 'none'}")
        object.__setattr__(changed, name, with_fields(getattr(changed, name), {rest: value}) if rest else value)
    return changed
