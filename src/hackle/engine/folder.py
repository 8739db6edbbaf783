"""A study's folder: runs that have been trained but not stored yet, and which weights stay.

DIR/results.sqlite   the store
DIR/study.json       what was wanted, if `hackle study run` wrote it
DIR/lock             the process that works in the folder
DIR/runs/HASH/       run.json, weights.safetensors, curves.csv: from the end of training until the run is stored, and
                     longer if its weights are kept
DIR/fleets/          checkpoints of fleets in training
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from safetensors import SafetensorError

from hackle.core.errors import HackleError
from hackle.core.files import LOCK, remedy
from hackle.core.notes import raised
from hackle.core.records import record_hash
from hackle.core.types import Run
from hackle.core.untrusted import file_inside, place_inside
from hackle.engine.errors import EngineError
from hackle.engine.tasks import TrainedRun
from hackle.store import FILE as RESULTS
from hackle.studies.folder import FILE as WANTED
from hackle.train import DamagedCheckpoint
from hackle.train.checkpoints import read_whole
from hackle.train.curves import read_curves
from hackle.train.folder import RunFolder
from hackle.train.grouping import kind_key
from hackle.train.model import WEIGHTS
from hackle.train.weights import difference, shapes_in, shapes_of

Keep = Literal["all", "best", "none"]
Row = Mapping[str, Any]


class StudyFolder:
    """The weights and curves of a study's runs."""

    def __init__(self, path: Path) -> None:
        self.path, self.runs, self.fleets = path, path / "runs", path / "fleets"

    def refuse_other_files(self) -> None:
        """Raise an error, before anything is written into the folder, if it is not empty and holds no study, or if a link in it
        leads elsewhere."""
        for place in (self.runs, self.fleets):
            place_inside(self.path, place.name)
        if self.path.exists() and not self.path.is_dir():
            raise EngineError(f"{self.path} is a file; choose an empty or new folder")
        names = [entry.name for entry in self.path.iterdir()] if self.path.exists() else []
        # Files left half-written by a killed study have names that start like those of complete ones.
        if any(name.startswith((RESULTS, WANTED)) for name in names) or set(names) <= {LOCK}:
            return
        raise EngineError(
            f"{self.path} holds {min(names)} and no study: there is neither {RESULTS} nor {WANTED} in it; choose an empty "
            "or new folder"
        )

    def is_trained(self, key: str) -> bool:
        return (self.runs / key / WEIGHTS).is_file()

    def with_weights(self) -> set[str]:
        """The runs whose weights are in the folder."""
        return {path.parent.name for path in self.runs.glob(f"*/{WEIGHTS}")}

    def put(self, trained: TrainedRun) -> None:
        """Write a trained run."""
        assert trained.weights is not None
        folder = self.runs / record_hash(trained.run)
        with _explained(folder):
            RunFolder(folder, trained.run, trained.shape).put(trained.curves, trained.weights)

    def take(self, run: Run) -> TrainedRun:
        """Read a trained run that `put` wrote; `DamagedCheckpoint` if its files are not as written."""
        folder = self.runs / record_hash(run)
        try:
            path = file_inside(folder, WEIGHTS)
            if path is None:
                raise DamagedCheckpoint(f"there is no {WEIGHTS}")
            _, known = read_whole(path)
            height, width, channels = json.loads(known["shape"])
            shape = (height, width, channels)
            wanted = shapes_of(run, shape)
            if wanted is not None and (wrong := difference(shapes_in(path), wanted)):
                raise DamagedCheckpoint(f"{wrong[0]} has {wrong[1]}, expected {wrong[2]}")
            curves = read_curves(folder)
            return TrainedRun(run, shape, path.read_bytes(), "", curves, float(known["seconds"]), known["device"])
        except (OSError, KeyError, ValueError, SafetensorError, HackleError) as error:
            raise DamagedCheckpoint(f"{folder} is damaged ({error})") from error

    def drop(self, key: str) -> None:
        """Delete a run's files. The weights go first, so that a half-deleted folder is never taken for a complete
        one."""
        (self.runs / key / WEIGHTS).unlink(missing_ok=True)
        shutil.rmtree(self.runs / key, ignore_errors=True)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise EngineError(
            f"could not write {path}: {error.strerror or error}. What is stored is whole; {remedy(error)} and start the study "
            "again, it goes on where it stopped"
        ) from error


class Keeper:
    """Decides whose weights stay: all, none, or of the best of every kind of runs, which differ in strength and seed alone;
    also those of runs in which a metric raised an error, to be scored again."""

    def __init__(self, folder: StudyFolder, keep: Keep, score: str, protocol: str) -> None:
        self.folder, self.keep, self.score, self.protocol = folder, keep, score, protocol
        self._best: dict[str, tuple[float, str]] = {}

    def stored(self, run: Run, rows: Iterable[Row]) -> None:
        """A run has been stored: drop its weights, or those of the run that it beats."""
        key, rows = record_hash(run), list(rows)
        if any(raised(row["score"], row["note"]) for row in rows):
            return
        if self.keep == "none":
            self.folder.drop(key)
        if self.keep != "best":
            return
        kind, entry = kind_key(run), (self._value(rows), key)
        loser = min(entry, self._best.get(kind, entry))
        self._best[kind] = max(entry, self._best.get(kind, entry))
        if loser != self._best[kind]:
            self.folder.drop(loser[1])

    def _value(self, rows: Iterable[Row]) -> float:
        wanted = self.score, self.protocol
        values = [
            row["score"]
            for row in rows
            if (row["metric"], row["protocol"]) == wanted and row["representation"] != "sampled"
        ]
        return values[0] if values and values[0] == values[0] else float("-inf")
