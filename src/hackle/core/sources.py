"""The user's own code in a record: which parts it is, their hashes, and a warning where they have changed."""

from __future__ import annotations

import sys
import warnings
from dataclasses import fields
from pathlib import Path
from typing import Any

from hackle.core.notes import with_code
from hackle.core.parts import file_hash, is_reference, source_hash
from hackle.core.records import is_record, place_of, type_name


class SourceChanged(UserWarning):
    """The source code of a part has changed since the run was trained."""

    code = "source-changed"


def own_parts(record: Any) -> list[str]:
    """The classes and functions in a record that are not hackle's own, by the names under which it holds them."""
    if is_record(record):
        named = type_name(type(record))
        inside = [name for field in fields(record) for name in own_parts(getattr(record, field.name))]
        return [named, *inside] if is_reference(named) else inside
    if isinstance(record, tuple | list):
        return [name for item in record for name in own_parts(item)]
    if isinstance(record, str):
        return [record] if is_reference(record) else []
    return [place_of(record)] if callable(record) else []


def source_hashes(record: Any, *, files: bool = True) -> dict[str, str]:
    """The hash of the source of each of a record's own parts, by name, as far as it is available. Nothing is imported.

    files: also look into files that the record names as `path.py:name`, not only into imported modules.
    """
    hashes = {}
    for name in own_parts(record):
        place = name.rpartition(":")[0]
        if files and place.endswith(".py") and Path(place).expanduser().is_file():
            hashes[name] = file_hash(Path(place).expanduser())
        elif place in sys.modules:
            hashes[name] = source_hash(sys.modules[place])
    return {name: value for name, value in hashes.items() if value}


def warn_of_changes(record: Any, before: Any, of: object, *, trust: bool) -> None:
    """Warn of a record's own parts whose source no longer has the hash that was kept. of: where the record was read."""
    known = before if isinstance(before, dict) else {}
    now = source_hashes(record, files=trust)
    if changed := [name for name, value in now.items() if known.get(name, value) != value]:
        text = (
            f"the source of {', '.join(changed)} has changed since {of} was trained, and may make another model of it"
        )
        warnings.warn(with_code(text, SourceChanged.code), SourceChanged, stacklevel=4)
