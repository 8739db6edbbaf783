"""run.json, the record of a run in its folder: written, read, and looked at without importing anything."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hackle import __version__
from hackle.core.errors import HackleError
from hackle.core.files import replacing
from hackle.core.reading import ALLOW, from_json
from hackle.core.records import record_hash, to_json, type_name
from hackle.core.regimes import Drawing, Labels, Pairs
from hackle.core.scored import Scored
from hackle.core.sources import source_hashes, warn_of_changes
from hackle.core.types import Adam, Run
from hackle.core.untrusted import file_inside, read_json
from hackle.datasets import needs_trust
from hackle.nets import ARCHITECTURES
from hackle.objectives import OBJECTIVES

RECORD = "run.json"
CLASSES: dict[str, type] = {
    type_name(cls): cls
    for cls in (Run, Adam, Drawing, Pairs, Labels, Scored, *OBJECTIVES.values(), *ARCHITECTURES.values())
    if isinstance(cls, type)
}
"""The classes of records that are hackle's or an installed plugin's, by name."""
_MOST_RECORD = 2**20
"""The most bytes of a run.json."""
_MOST_VALUES = 2**24
"""The most numbers in one image: 4096 × 4096 pixels of one channel."""


class ModelError(HackleError):
    """A run folder that cannot be read."""


def record_text(
    run: Run, shape: tuple[int, int, int], continues: Sequence[Mapping[str, Any]] = (), data: str = ""
) -> str:
    """What run.json holds. A record that could not be read back, say of a class defined inside a function, is
    refused."""
    text: dict[str, Any] = {
        "hackle": __version__,
        "hash": record_hash(run),
        "shape": list(shape),
        "record": to_json(run),
    }
    if continues:
        text["continues"] = list(continues)
    if data:
        text["data"] = data
    if sources := source_hashes(run):
        text["sources"] = sources
    try:
        from_json(text["record"], CLASSES, trust=True)
    except ValueError as error:
        raise ModelError(f"this run could be saved but not read again: {error}") from error
    return json.dumps(text, indent=2) + "\n"


def write_record(
    folder: Path, run: Run, shape: tuple[int, int, int], continues: Sequence[Mapping[str, Any]] = (), data: str = ""
) -> None:
    """Write run.json: the record, its hash, the image shape and the version that wrote it.

    continues: the runs that this one continues, each with its hash and its steps, the earliest first. data: the fingerprint of
    the images, where they are the user's own.
    """
    with replacing(folder / RECORD) as partial:
        partial.write_text(record_text(run, shape, continues, data))


def read_continued(folder: Path) -> list[dict[str, Any]]:
    """The runs that the one in a folder continues, as given to `write_record`."""
    known = _beside_record(folder, "continues")
    return [one for one in known if isinstance(one, dict)] if isinstance(known, list) else []


def read_data(folder: Path) -> str:
    """The fingerprint of the images that the run in a folder began with, as given to `write_record`; empty if none was."""
    known = _beside_record(folder, "data")
    return known if isinstance(known, str) else ""


def _beside_record(folder: Path, key: str) -> Any:
    path = file_inside(folder, RECORD)
    content = read_json(path, _MOST_RECORD) if path is not None else {}
    return content.get(key) if isinstance(content, dict) else None


def peek_record(folder: Path) -> tuple[Run, tuple[int, int, int]]:
    """`read_record` for lists and tables: nothing is imported, and stand-ins replace records that would need it."""
    return read_record(folder, stand_ins=True)


def run_of_record(record: Any) -> Run:
    """A run from its record's JSON, for commands and tables: nothing is imported, as in `peek_record`."""
    run = from_json(record, CLASSES, stand_ins=True)
    if not isinstance(run, Run):
        raise ModelError(f"the record is a {type(run).__name__}; expected a Run")
    return run


def read_record(folder: Path, *, trust: bool = False, stand_ins: bool = False) -> tuple[Run, tuple[int, int, int]]:
    """The run and the image shape that a run folder holds.

    trust: import the classes that the record names if they are neither hackle's nor a plugin's, and follow links that leave
    the folder. stand_ins: as in `hackle.core.reading.from_json`.
    """
    path = folder / RECORD
    try:
        if file_inside(folder, RECORD, follow=trust) is None:
            raise ModelError(f"{folder} holds no run: there is no {RECORD} in it. {_where_runs_are(folder)}")
        content = read_json(path, _MOST_RECORD)
        if not isinstance(content, dict):
            raise ValueError(f"it holds a {type(content).__name__}; expected an object with shape and record")
        if missing := {"shape", "record"} - content.keys():
            raise ValueError(f"it has no {' and no '.join(sorted(missing))}")
        run = from_json(content["record"], CLASSES, trust=trust, stand_ins=stand_ins)
        if not isinstance(run, Run):
            raise ValueError(f"the record is a {type(run).__name__}; expected a Run")
        if not trust and not stand_ins and needs_trust(run.dataset):
            raise ValueError(f"its data set is {run.dataset!r:.80}, code that would be imported and called. {ALLOW}")
        if not stand_ins:
            warn_of_changes(run, content.get("sources"), folder, trust=trust)
        return run, _checked_shape(content["shape"])
    except ValueError as error:
        raise ModelError(f"{path} is not a run record this version can read: {error}") from error


def _where_runs_are(folder: Path) -> str:
    """What to name in place of a folder that is not a run's."""
    if below := sorted(path.parent.name for path in folder.glob(f"*/{RECORD}")):
        return f"There are runs below; name one of them: {', '.join(below[:3])}{' …' if len(below) > 3 else ''}"
    return (
        "Expected the folder of a run, as `hackle train … --out DIR` makes it; `hackle models` lists those that come with "
        "hackle, which hackle.load_model reads"
    )


def _checked_shape(shape: Any) -> tuple[int, int, int]:
    sizes = shape if isinstance(shape, list) and len(shape) == 3 else ()
    if not sizes or any(type(size) is not int or size < 1 for size in sizes) or math.prod(sizes) > _MOST_VALUES:
        raise ValueError(
            f"shape is {repr(shape)[:60]}; expected height, width and channels, three whole numbers from 1 whose product is at "
            f"most {_MOST_VALUES:,}"
        )
    height, width, channels = sizes
    return height, width, channels
