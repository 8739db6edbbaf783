"""Sizes that no network can have are refused when the record that holds them is made."""

from __future__ import annotations

from typing import Any

from hackle.core.types import RunError

MOST, MOST_LAYERS = 2**24, 1_000
"""What no layer's width and no network's number of layers reaches: records come from anywhere, and are read before weights."""


def check_sizes(record: Any, least: dict[str, int], *, may_be_empty: tuple[str, ...] = ()) -> None:
    """Refuse fields of a record that fall below the least that is given for each, or are larger than any network's.

    A field whose default is a tuple takes a tuple of such numbers, not an empty one unless it is named.
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
