"""One run's folder: its record, its result, and its curves as a table and for TensorBoard."""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from hackle.core.files import LOCK, replacing
from hackle.core.notes import with_code
from hackle.core.records import record_hash, to_json
from hackle.core.types import Run
from hackle.core.untrusted import file_inside, place_inside
from hackle.train.checkpoints import write_atomically
from hackle.train.curves import FILE as CURVES
from hackle.train.curves import Curves, as_lines, write_curves
from hackle.train.errors import TrainingError
from hackle.train.lengthening import longer
from hackle.train.model import WEIGHTS
from hackle.train.record_files import RECORD, peek_record, read_continued, read_data, write_record

_OF_WEIGHTS = ("scores.json", "pictures")
"""Files that other commands have derived from a run's weights in its folder."""


class DataChanged(UserWarning):
    """The images that a run is trained on have changed since it was begun."""

    code = "data-changed"


class RunFolder:
    """One run's files."""

    def __init__(
        self, path: Path, run: Run, shape: tuple[int, int, int], *, tensorboard: bool = True, data: str = ""
    ) -> None:
        """data: the fingerprint of the images, where they are the user's own."""
        self.path, self.run, self.shape, self._tensorboard, self._data = path, run, shape, tensorboard, data
        self._writer: Any = None
        self._written = 0
        self._terms: list[str] = []

    def claim(self, resume: bool) -> Run | None:
        """Take the folder for this run, or say why that is impossible. If it holds this run with fewer steps, that run
        is returned: it can be continued."""
        with usable(self.path):
            if not (self.path / RECORD).exists():
                if self.path.exists() and any(entry.name != LOCK for entry in self.path.iterdir()):
                    raise TrainingError(f"{self.path} is not empty and holds no run; choose another out (--out)")
                self.path.mkdir(parents=True, exist_ok=True)
                write_record(self.path, self.run, self.shape, data=self._data)
                return None
            other, _ = peek_record(self.path)
            if longer(other, self.run):
                self._warn_of_other_data()
                return other
            if record_hash(other) != record_hash(self.run):
                raise TrainingError(
                    f"{self.path} holds another run ({_differences(other, self.run)}). A run can be lengthened, and not be "
                    "changed in anything else once it has begun; choose another out (--out)"
                )
            if not resume:
                raise TrainingError(
                    f"{self.path} holds this run already; go on with resume=True (--resume on the command line), or choose "
                    "another out (--out)"
                )
            if not self.finished:
                self._warn_of_other_data()
            return None

    def _warn_of_other_data(self) -> None:
        if self._data and (before := read_data(self.path)) and before != self._data:
            text = (
                f"{self.run.dataset} has changed since {self.path} was begun: its weights come from the old contents and from "
                "the new ones, which no run repeats. Put the old contents back, or choose another out (--out)"
            )
            warnings.warn(with_code(text, DataChanged.code), DataChanged, stacklevel=4)

    def lengthen(self, before: Run) -> None:
        """Make the folder of a shorter run this one's. The shorter one's results stay, in a subfolder of their own."""
        aside = place_inside(self.path, f"steps-{before.steps}")
        if self.finished:
            aside.mkdir(exist_ok=True)
            for name in (RECORD, CURVES):
                if (path := file_inside(self.path, name)) is not None:
                    shutil.copyfile(path, aside / name)
            # The weights are moved last: while they are here, the folder belongs to the shorter run.
            for name in (*_OF_WEIGHTS, WEIGHTS):
                if (self.path / name).exists() and not (aside / name).exists():
                    os.replace(self.path / name, aside / name)
        continued = [*read_continued(self.path), {"hash": record_hash(before), "steps": before.steps}]
        write_record(self.path, self.run, self.shape, continued, read_data(self.path))

    @property
    def finished(self) -> bool:
        return (self.path / WEIGHTS).is_file()

    def start(self, curves: Curves, row: int) -> None:
        """Restart the table of curves with the points that training continues from."""
        (self.path / CURVES).unlink(missing_ok=True)
        self._terms = []
        if curves.steps:
            self._write(curves.row(row))
        self._written = len(curves.steps)

    def append(self, curves: Curves, row: int) -> None:
        """Write the points that are new since the last time, to the table and to TensorBoard.

        A new term, such as the first scores, changes the table's header: the whole table is rewritten.
        """
        if len(curves.steps) == self._written:
            return
        fresh = curves.row(row, self._written)
        if list(fresh) == self._terms:
            with (self.path / CURVES).open("a", newline="") as file:
                file.write(as_lines(fresh))
        else:
            self._write(curves.row(row))
        self._written = len(curves.steps)
        if self._tensorboard:
            self._show(fresh)

    def _write(self, whole: Mapping[str, NDArray]) -> None:
        write_curves(self.path, whole)
        self._terms = list(whole)

    def _show(self, fresh: Mapping[str, NDArray]) -> None:
        if self._writer is None:
            from torch.utils.tensorboard import SummaryWriter

            self._writer = SummaryWriter(str(self.path), purge_step=int(fresh["step"][0]))
        for name, values in fresh.items():
            if name != "step":
                known = ~np.isnan(values)
                for step, value in zip(fresh["step"][known].tolist(), values[known].tolist(), strict=True):
                    self._writer.add_scalar(name, value, step)

    def finish(self, weights: dict[str, Tensor]) -> None:
        """Write the result, which marks the run as finished."""
        self.close()
        write_atomically(weights, self.path / WEIGHTS)

    def put(self, curves: Mapping[str, NDArray], weights: bytes) -> None:
        """Write a run that was trained elsewhere; its weights come last, atomically, and mark it as complete."""
        self.path.mkdir(parents=True, exist_ok=True)
        write_record(self.path, self.run, self.shape)
        write_curves(self.path, curves)
        with replacing(self.path / WEIGHTS) as partial:
            partial.write_bytes(weights)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None


@contextmanager
def usable(path: Path) -> Iterator[None]:
    """Turns the system's error for a folder that cannot be created or written into a sentence that says what to do."""
    try:
        yield
    except OSError as error:
        raise TrainingError(
            f"{path} cannot be this run's folder: {error.strerror or error}; choose an out (--out) that is a new or "
            "empty folder in a place where you may write"
        ) from error


def _differences(there: Run, asked: Run) -> str:
    """The fields in which two runs differ, each with both values. For records of different types, the types are
    named."""
    first, second = _flat(to_json(there)), _flat(to_json(asked))
    return ", ".join(
        f"{name}: {first[name]} there, {second[name]} asked"
        for name in first
        if name in second and first[name] != second[name]
    )


def _flat(plain: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """The values of a record written as plain data by dotted path; a record's own path has its type."""
    values: dict[str, Any] = {}
    for name, value in plain.items():
        path = prefix if name == "type" else f"{prefix}.{name}".lstrip(".")
        values |= _flat(value, path) if isinstance(value, dict) else {path: value}
    return values
