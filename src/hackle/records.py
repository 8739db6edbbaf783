"""Run records as data: to and from JSON, their hash, and their float fields, which are what a fleet stacks."""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import json
from collections.abc import Mapping
from typing import Any, TypeVar

T = TypeVar("T")


def to_json(record: Any) -> Any:
    """A frozen dataclass as plain data; nested records carry their class name so that they can be read back."""
    if dataclasses.is_dataclass(record) and not isinstance(record, type):
        fields = {field.name: to_json(getattr(record, field.name)) for field in dataclasses.fields(record)}
        return {"type": type(record).__name__, **fields}
    if isinstance(record, tuple | list):
        return [to_json(item) for item in record]
    if record is None or isinstance(record, str | bool | int | float):
        return record
    if callable(record):
        return f"{record.__module__}:{record.__qualname__}"
    raise TypeError(f"a record cannot hold {type(record).__name__}: {record!r}")


def from_json(data: Any, classes: Mapping[str, type]) -> Any:
    """The record that `to_json` wrote. `classes` maps the class names that may occur to the classes."""
    if isinstance(data, dict):
        fields = dict(data)
        name = fields.pop("type", None)
        if name not in classes:
            raise ValueError(f"unknown record type {name!r}; known are {', '.join(sorted(classes))}")
        known = {field.name for field in dataclasses.fields(classes[name])}
        if unknown := fields.keys() - known:
            raise ValueError(f"{name} has no field {', '.join(sorted(unknown))}; it was written by another version")
        return classes[name](**{key: from_json(value, classes) for key, value in fields.items()})
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
        if dataclasses.is_dataclass(value):
            found |= float_fields(value, f"{prefix}{field.name}.")
        elif field.type in ("float", float):
            found[prefix + field.name] = float(value)
    return found


def with_fields(record: T, values: Mapping[str, Any], prefix: str = "") -> T:
    """A copy of the record with the fields at these dotted paths replaced, by tensors too: fields are not checked again."""
    changed = copy.copy(record)
    for field in dataclasses.fields(record):  # type: ignore[arg-type]
        value = getattr(record, field.name)
        if dataclasses.is_dataclass(value):
            object.__setattr__(changed, field.name, with_fields(value, values, f"{prefix}{field.name}."))
        elif prefix + field.name in values:
            object.__setattr__(changed, field.name, values[prefix + field.name])
    return changed
