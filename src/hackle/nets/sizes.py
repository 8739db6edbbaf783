"""Sizes that no network can have are refused when the record that holds them is made."""

from __future__ import annotations

from typing import Any

from hackle.core.types import RunError


def check_sizes(record: Any, least: dict[str, int], *, may_be_empty: tuple[str, ...] = ()) -> None:
    """Refuse fields of a record that fall below the least that is given for each.

    A field whose default is a tuple takes a tuple of such numbers, not an empty one unless it is named.
    """
    for name, smallest in least.items():
        value, several = getattr(record, name), isinstance(getattr(type(record), name), tuple)
        sizes = (value if isinstance(value, tuple | list) else ()) if several else (value,)
        right = all(type(size) is int and size >= smallest for size in sizes)
        if several:
            right &= isinstance(value, tuple | list) and (name in may_be_empty or len(value) > 0)
        if not right:
            wanted = "a tuple of whole numbers" if several else "a whole number"
            raise RunError(f"{name} of {type(record).__name__} is {value!r}; expected {wanted} from {smallest}")
