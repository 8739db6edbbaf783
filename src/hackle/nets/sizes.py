"""Sizes that no network can have are refused when a record is created."""

from __future__ import annotations

from typing import Any

from hackle.core.types import RunError

MOST, MOST_LAYERS = 2**24, 1_000
"""Limits above any real layer's width and network's depth: records may come from anywhere, and are read before
weights."""


def check_sizes(record: Any, least: dict[str, int], *, may_be_empty: tuple[str, ...] = ()) -> None:
    """Refuse fields of a record that are below the least value given for each, or larger than any network's.

    A field whose default is a tuple takes a tuple of such numbers, which may be empty only if it is in `may_be_empty`.
    """
    for name, smallest in least.items():
        value, several = getattr(record, name), isinstance(getattr(type(record), name), tuple)
        sizes = (value if isinstance(value, tuple | list) else ()) if several else (value,)
        largest = MOST_LAYERS if name.endswith(("layers", "blocks")) else MOST
        right = all(type(size) is int and smallest <= size <= largest for size in sizes) and len(sizes) <= MOST_LAYERS
        if several:
            right &= isinstance(value, tuple | list) and (name in may_be_empty or len(value) > 0)
        if not right:
            wanted = "a tuple of whole numbers" if several else "a whole number"
            raise RunError(
                f"{name} of {type(record).__name__} is {value!r}; expected {wanted} from {smallest} to {largest:,}"
            )
