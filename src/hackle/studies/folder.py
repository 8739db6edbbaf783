"""What a study's folder says about the study itself: `study.json`, beside the results.

It names the study, the options and the runs that were wanted, so that `hackle study status` can say what is still
waiting and a folder is not filled with runs of two studies by mistake. For data sets that are the user's files it holds
fingerprints, so that one table does not silently mix models of different contents.
"""

from __future__ import annotations

import json
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hackle.core.design import CONFIGURATION, DEFAULTS, design_of
from hackle.core.files import remedy, replacing
from hackle.core.records import record_hash
from hackle.core.types import Run
from hackle.core.untrusted import file_inside, read_json
from hackle.datasets import DATASETS, without_size
from hackle.datasets.own import fingerprint
from hackle.studies.study import StudyError

FILE = "study.json"

LABEL = (*(name for name in CONFIGURATION if name != "strength"), "steps")
"""The columns that identify a group of runs to people."""
Label = tuple[Any, ...]
"""A group's values of `LABEL`."""
_MOST_GROUPS = 10_000
"""The most groups of a study: `hackle study status` has a row for each."""
_OLD_LABEL = ("dataset", "method", "architecture", "latents", "steps", "correlation")
"""Columns of which older versions wrote only the values."""


@dataclass(frozen=True)
class Wanted:
    """A study's name, the options it was started with, the runs wanted, by label, and fingerprints of the user's own data."""

    study: str
    options: Mapping[str, Any]
    groups: Mapping[Label, tuple[str, ...]]
    data: Mapping[str, str] = field(default_factory=dict)

    @property
    def runs(self) -> dict[str, Label]:
        """The runs wanted, each with its group."""
        return {run: label for label, runs in self.groups.items() for run in runs}


def label_of(run: Run) -> Label:
    """The group that a run belongs to."""
    return tuple(design_of(run)[name] for name in LABEL)


def read_wanted(folder: Path) -> Wanted | None:
    """What was wanted, or None if it was not written down."""
    path = folder / FILE
    try:
        if file_inside(folder, FILE) is None:
            return None
        content = read_json(path)
        if len(content["groups"]) > _MOST_GROUPS:
            raise ValueError(f"{len(content['groups']):,} groups of runs; at most {_MOST_GROUPS:,} are read")
        groups = {_label(entry["label"]): tuple(entry["runs"]) for entry in content["groups"]}
        return Wanted(content["study"], content["options"], groups, dict(content.get("data", {})))
    except (ValueError, KeyError, TypeError) as error:
        raise StudyError(f"{path} cannot be read ({error}); delete it and start the study again") from error


def _label(parts: Mapping[str, Any] | Sequence[Any]) -> Label:
    named: dict[str, Any] = dict(parts) if isinstance(parts, Mapping) else dict(zip(_OLD_LABEL, parts, strict=True))
    return tuple(named[name] if name in named else DEFAULTS[name] for name in LABEL)


def fingerprints(runs: Sequence[Run]) -> dict[str, str]:
    """The fingerprint of each data set of these runs that is the user's own and on this machine."""
    paths = {name: Path(without_size(name)[0]).expanduser() for run in runs if (name := run.dataset) not in DATASETS}
    return {name: fingerprint(path) for name, path in paths.items() if path.exists()}


def write_wanted(
    folder: Path,
    study: str,
    options: Mapping[str, Any],
    runs: Sequence[Run],
    *,
    data: Mapping[str, str] | None = None,
    begun: Container[str] = (),
) -> Wanted:
    """Note what is wanted, in addition to what was wanted before; a folder that holds another study is refused.

    data: fingerprints of the user's own data sets. Of those among `begun`, on which something was trained already, the
    ones that were noted first stand.
    """
    groups: dict[Label, dict[str, None]] = {}
    noted = dict(data or {})
    before = read_wanted(folder)
    if before is not None:
        if before.study != study:
            raise StudyError(f"{folder} holds the study {before.study}, not {study}; choose another --out")
        groups = {label: dict.fromkeys(known) for label, known in before.groups.items()}
        noted |= {name: known for name, known in before.data.items() if name in begun or name not in noted}
    for run in runs:
        groups.setdefault(label_of(run), {})[record_hash(run)] = None
    wanted = Wanted(study, dict(options), {label: tuple(known) for label, known in groups.items()}, noted)
    content = {
        "study": study,
        "options": wanted.options,
        "data": noted,
        "groups": [
            {"label": dict(zip(LABEL, label, strict=True)), "runs": known} for label, known in wanted.groups.items()
        ],
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with replacing(folder / FILE) as partial:
            partial.write_text(json.dumps(content))
    except OSError as error:
        raise StudyError(f"cannot write {folder / FILE}: {error}; {remedy(error)}, or choose another --out") from error
    return wanted
