"""The terms of a fleet's runs over its steps: kept in memory, saved with its checkpoints, and a table in each run's folder.

A term is a number per run, or a row of numbers (one per latent). Runs are the leading axis, as in a fleet's state, so that
the curves of a fleet can be cut and joined with it. A term that is missing at a point, such as a score that is computed
only at some points, is NaN there.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path

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


class Curves:
    """Points at increasing steps: every term's mean since the previous point, and whatever else was measured there."""

    def __init__(
        self, steps: Sequence[int] = (), terms: Mapping[str, Sequence[NDArray[np.float32]]] | None = None
    ) -> None:
        self.steps = list(steps)
        self._terms = {name: list(points) for name, points in (terms or {}).items()}

    @classmethod
    def of(cls, tensors: Mapping[str, Tensor]) -> Curves:
        """The curves from what `tensors` returned; empty where there is nothing."""
        if STEPS not in tensors:
            return cls()
        named = {
            name.removeprefix(PREFIX): list(value.numpy().swapaxes(0, 1))
            for name, value in tensors.items()
            if name.startswith(PREFIX) and name != STEPS
        }
        return cls(tensors[STEPS].tolist(), named)

    def tensors(self) -> dict[str, Tensor]:
        """The curves as tensors with runs first: (m, p), or (m, p, l) for a term with a value per latent."""
        if not self.steps:
            return {}
        stacked = {PREFIX + name: torch.from_numpy(np.stack(points, axis=1)) for name, points in self._terms.items()}
        return {STEPS: torch.tensor(self.steps), **stacked}

    def add(self, step: int, averages: Sequence[Mapping[str, list[float] | float]]) -> None:
        """Add a point: a fleet's averages for each of its runs, and scores where a run has any."""
        before = len(self.steps)
        self.steps.append(step)
        for name in dict.fromkeys(name for row in averages for name in row):
            values = np.array([row.get(name, np.nan) for row in averages], dtype=np.float32)
            self._terms.setdefault(name, [np.full_like(values, np.nan)] * before).append(values)
        for points in self._terms.values():
            if len(points) == before:
                points.append(np.full_like(points[-1], np.nan))

    def row(self, row: int, start: int = 0) -> dict[str, NDArray]:
        """One run's curves from a point on: `step` and each term, a term with a value per latent as `term_0`, `term_1`, …"""
        columns: dict[str, NDArray] = {"step": np.array(self.steps[start:], dtype=np.int64)}
        for name, points in self._terms.items():
            values = np.array([point[row] for point in points[start:]], dtype=np.float32)
            if points[0].ndim == 1:
                columns[name] = values
            else:
                width = points[0].shape[1]
                latents = values.reshape(-1, width)
                columns |= {f"{name}_{position}": latents[:, position] for position in range(width)}
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
