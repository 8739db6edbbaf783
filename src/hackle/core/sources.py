"""Which code of one's own a record was run with: a hash of the file of each class and function in it that is not hackle's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from hackle.core.parts import source_hash
from hackle.core.records import is_record, place_of


def source_hashes(record: Any) -> dict[str, str]:
    """By `module:name`; empty where all of the record is hackle's own or Python's."""
    own = {place_of(thing): thing for thing in _things(record) if not thing.__module__.startswith("hackle.")}
    return {place: found for place, thing in sorted(own.items()) if (found := source_hash(thing))}


def _things(value: Any) -> Iterator[Any]:
    """Every class and function that a record is of or holds."""
    if is_record(value):
        yield type(value)
        for each in fields(value):
            yield from _things(getattr(value, each.name))
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _things(item)
    elif callable(value):
        yield value
