"""The terms of a fleet's runs over its steps: kept in memory, saved with its checkpoints, and a table in each run's folder.

A term is a number per run; one with a value per latent is a term for each, `term_0`, `term_1`, … Runs are the leading
axis, as in a fleet's state, so that the curves of a fleet can be cut and joined with it. A term that is missing at a
point, such as a score that is computed only at some points, is NaN there. Runs have the terms that they ever had, not those
of other methods in their fleet.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hackle.core.files import replacing
from hackle.core.untrusted import UntrustedError, file_inside, read_text

FILE = "curves.csv"
PREFIX = "curves/"
STEPS = PREFIX + "step"
"""The one tensor of curves that has no run axis: the steps at which points were taken, (p,)."""
HAD = "had/"


class Curves:
    """Points at increasing steps: every term's mean since the previous point, and whatever else was measured there."""

    def __init__(self) -> None:
        self.steps: list[int] = []
        self._terms: dict[str, list[NDArray[np.float32]]] = {}
        self._had: list[dict[str, None]] = []
        """The names of each run's terms, in their order."""

    @classmethod
    def of(cls, tensors: Mapping[str, Tensor]) -> Curves:
        """The curves from what `tensors` returned; empty where there is nothing."""
        answer = cls()
        if STEPS not in tensors:
            return answer
        answer.steps = tensors[STEPS].tolist()
        curves = [item for item in tensors.items() if item[0].startswith(PREFIX) and item[0] != STEPS]
        for key, value in curves:
            name = key.removeprefix(PREFIX)
            # Until 0.3.0 a term with a value per latent was one tensor (m, p, l).
            columns = {name: value} if value.dim() == 2 else _numbered(name, value.unbind(2))
            answer._terms |= {column: list(each.numpy().T) for column, each in columns.items()}
            had = tensors.get(HAD + name, torch.ones(len(value), dtype=torch.bool)).tolist()
            answer._had = answer._had or [{} for _ in had]
            for names, has in zip(answer._had, had, strict=True):
                names.update(dict.fromkeys(columns) if has else {})
        return answer

    def tensors(self) -> dict[str, Tensor]:
        """The curves as tensors with runs first, (m, p), and which runs have those terms that some do not, (m,)."""
        if not self.steps:
            return {}
        stacked = {PREFIX + name: torch.from_numpy(np.stack(points, axis=1)) for name, points in self._terms.items()}
        had = {name: torch.tensor([name in names for names in self._had]) for name in self._terms}
        marks = {HAD + name: marks for name, marks in had.items() if not bool(marks.all())}
        return {STEPS: torch.tensor(self.steps), **stacked, **marks}

    def add(self, step: int, averages: Sequence[Mapping[str, list[float] | float]]) -> None:
        """Add a point: a fleet's averages for each of its runs, and scores where a run has any."""
        rows = [_columns(row) for row in averages]
        self._had = self._had or [{} for _ in rows]
        for names, row in zip(self._had, rows, strict=True):
            names.update(dict.fromkeys(row))
        missing = [np.full(len(rows), np.nan, dtype=np.float32)]
        for name in dict.fromkeys(name for row in rows for name in row):
            self._terms.setdefault(name, missing * len(self.steps))
        for name, points in self._terms.items():
            points.append(np.array([row.get(name, np.nan) for row in rows], dtype=np.float32))
        self.steps.append(step)

    def joined(self, other: Curves) -> Curves:
        """The curves of both, whose points are at the same steps."""
        together = Curves()
        together.steps, together._had = list(self.steps), [*self._had, *other._had]
        for name in {**self._terms, **other._terms}:
            parts = [
                each._terms.get(name, [np.full(len(each._had), np.nan, dtype=np.float32)] * len(self.steps))
                for each in (self, other)
            ]
            together._terms[name] = [np.concatenate(both) for both in zip(*parts, strict=True)]
        return together

    def row(self, row: int, start: int = 0) -> dict[str, NDArray]:
        """One run's curves from a point on: `step` and each of its terms, by name, so that their order is that of the run
        however often it was stopped."""
        columns: dict[str, NDArray] = {"step": np.array(self.steps[start:], dtype=np.int64)}
        for name in sorted(self._had[row], key=_by_number) if self._had else ():
            columns[name] = np.array([point[row] for point in self._terms[name][start:]], dtype=np.float32)
        return columns


T = TypeVar("T")


def _by_number(name: str) -> tuple[str, int]:
    """Orders terms by name, those of latents by number.

    >>> sorted(["loss", "kl_10", "kl", "kl_2"], key=_by_number)
    ['kl', 'kl_2', 'kl_10', 'loss']
    """
    stem, _, number = name.rpartition("_")
    return (stem, int(number)) if number.isdecimal() else (name, -1)


def _numbered(name: str, values: Iterable[T]) -> dict[str, T]:
    return {f"{name}_{position}": value for position, value in enumerate(values)}


def _columns(terms: Mapping[str, list[float] | float]) -> dict[str, float]:
    """Terms with one number each."""
    columns: dict[str, float] = {}
    for name, value in terms.items():
        columns |= _numbered(name, value) if isinstance(value, list) else {name: value}
    return columns


def as_lines(curves: Mapping[str, NDArray]) -> str:
    """Rows of the table: nine digits restore a float32 exactly, and NaN becomes an empty cell."""
    columns = [
        [str(value) if name == "step" else "" if value != value else f"{value:.9g}" for value in values.tolist()]
        for name, values in curves.items()
    ]
    return "".join(",".join(row) + "\n" for row in zip(*columns, strict=True))


def write_curves(folder: Path, curves: Mapping[str, NDArray]) -> None:
    """Write a run's curves as a table, atomically."""
    head = StringIO()
    csv.writer(head, lineterminator="\n").writerow(curves)
    with replacing(folder / FILE) as partial:
        partial.write_text(head.getvalue() + as_lines(curves), newline="")


def read_curves(folder: Path) -> dict[str, NDArray]:
    """The curves of a run folder, `step` and each term; empty where there are none.

    A last line that is still being written is left out. `UntrustedError` where a table is damaged.
    """
    path = file_inside(folder, FILE)
    text = "" if path is None else read_text(path)
    columns: dict[str, NDArray] = {}
    try:
        names, *rows = csv.reader(text[: text.rfind("\n") + 1].splitlines()) if "\n" in text else [["step"]]
        if "step" not in names or len(set(names)) < len(names) or any(len(row) != len(names) for row in rows):
            raise ValueError("expected a column called step, names that differ and rows of one length")
        for place, name in enumerate(names):
            if name == "step":
                columns[name] = np.array([int(row[place]) for row in rows], dtype=np.int64)
            else:
                with np.errstate(over="ignore"):
                    columns[name] = np.array([float(row[place] or "nan") for row in rows]).astype(np.float32)
    except (ValueError, OverflowError, csv.Error) as error:
        raise UntrustedError(f"{path} is no table of curves: {error}") from error
    return columns if "\n" in text else {}
