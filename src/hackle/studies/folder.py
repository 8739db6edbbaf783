"""What a study's folder says about the study itself: `study.json`, beside the results.

It names the study, the options and the runs that were wanted, so that `hackle study status` can tell what is still waiting and
a folder is not filled with runs of two studies by mistake.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hackle.presets import architecture_name, method_name
from hackle.records import record_hash
from hackle.studies.sweep import StudyError
from hackle.types import Run

FILE = "study.json"

Label = tuple[str, str, str, int, int, float]
"""Data set, method, architecture, latents, steps, correlation: how people tell groups apart."""


@dataclass(frozen=True)
class Wanted:
    """A study's name, the options it was started with, and the runs wanted, by label."""

    study: str
    options: Mapping[str, Any]
    groups: Mapping[Label, tuple[str, ...]]

    @property
    def runs(self) -> set[str]:
        return {run for runs in self.groups.values() for run in runs}


def label_of(run: Run) -> Label:
    """The group of a run as people name it."""
    names = (run.dataset, method_name(run.method), architecture_name(run.architecture))
    return (*names, run.latents, run.steps, float(run.correlation))


def read_wanted(folder: Path) -> Wanted | None:
    """What was wanted, or None where nobody wrote it down."""
    path = folder / FILE
    if not path.is_file():
        return None
    try:
        content = json.loads(path.read_text())
        groups = {_label(entry["label"]): tuple(entry["runs"]) for entry in content["groups"]}
        return Wanted(content["study"], content["options"], groups)
    except (ValueError, KeyError, TypeError) as error:
        raise StudyError(f"{path} cannot be read ({error}); delete it and start the study again") from error


def _label(parts: Sequence[Any]) -> Label:
    dataset, method, architecture, latents, steps, correlation = parts
    return dataset, method, architecture, latents, steps, correlation


def write_wanted(folder: Path, study: str, options: Mapping[str, Any], runs: Sequence[Run]) -> Wanted:
    """Note what is wanted, beside what was wanted before; a folder that holds another study is refused."""
    groups: dict[Label, dict[str, None]] = {}
    before = read_wanted(folder)
    if before is not None:
        if before.study != study:
            raise StudyError(f"{folder} holds the study {before.study}, not {study}; choose another --out")
        groups = {label: dict.fromkeys(known) for label, known in before.groups.items()}
    for run in runs:
        groups.setdefault(label_of(run), {})[record_hash(run)] = None
    wanted = Wanted(study, dict(options), {label: tuple(known) for label, known in groups.items()})
    content = {
        "study": study,
        "options": wanted.options,
        "groups": [{"label": label, "runs": known} for label, known in wanted.groups.items()],
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        partial = folder / f"{FILE}.partial"
        partial.write_text(json.dumps(content))
        os.replace(partial, folder / FILE)
    except OSError as error:
        raise StudyError(f"cannot write {folder / FILE}: {error}; free some space, or choose another --out") from error
    return wanted
