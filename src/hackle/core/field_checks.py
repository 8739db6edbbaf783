"""Whether the values of a record are of its fields' types, and an error that says which is not."""

from __future__ import annotations

import math
from dataclasses import fields
from functools import lru_cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

from torch import Tensor

from hackle.core.errors import HackleError
from hackle.core.records import is_record


class RunError(HackleError, ValueError):
    """A run record with a value that cannot be trained with."""


@lru_cache(maxsize=1024)
def field_types(cls: type) -> dict[str, Any]:
    """The types of a record's fields; only the plain ones where annotations use names known only to a type checker."""
    try:
        return get_type_hints(cls)
    except (NameError, AttributeError, TypeError):
        plain = {kind.__name__: kind for kind in (float, int, bool, str)}
        return {each.name: plain.get(str(each.type)) for each in fields(cls)}


def _is_finite(value: Any) -> bool:
    try:
        return type(value) is not bool and isinstance(value, int | float) and math.isfinite(value)
    except OverflowError:
        return False


def expected_value(kind: Any, value: Any) -> str:
    """What a field of this type accepts, if not this value; empty if it does, and for types that are not checked."""
    own = ", Python's own instead of NumPy's" if hasattr(value, "dtype") else ""
    if kind is float and not _is_finite(value):
        return f"a finite number{own}"
    if kind is int and (type(value) is bool or not isinstance(value, int) or abs(value) >= 2**63):
        return f"a whole number{own}"
    if kind is bool and not isinstance(value, bool):
        return "True or False"
    if kind is str and not isinstance(value, str):
        return "text"
    if kind is type(None) and value is not None:
        return "nothing"
    if get_origin(kind) is Literal and value not in get_args(kind):
        return " or ".join(map(repr, get_args(kind)))
    return ""


def check_fields(record: Any, path: str = "") -> None:
    """Refuse values that are not of their fields' types, also in nested records.

    Numbers, texts, booleans and literals are checked. Tensors, with which fleets replace numbers, pass.
    """
    types = field_types(type(record))
    for each in fields(record):
        name, value = path + each.name, getattr(record, each.name)
        if is_record(value):
            check_fields(value, f"{name}.")
        elif not isinstance(value, Tensor) and (expected := expected_value(types.get(each.name), value)):
            raise RunError(f"{name} is {value!r}; expected {expected}")


def check_weights(method: Any) -> None:
    """`check_fields`, and refuse negative float fields of the method, all of which are weights in its loss."""
    check_fields(method)
    for each in fields(method):
        value = getattr(method, each.name)
        if isinstance(value, float | int) and each.type in ("float", float) and value < 0:
            raise RunError(f"{each.name} of {type(method).__name__} is {value}; expected a weight of 0 or more")
