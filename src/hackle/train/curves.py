"""The terms of a fleet's runs over its steps: kept in memory, saved with its checkpoints, written out in batches.

A term is a number per run, or a row of numbers (one per latent). Runs are the leading axis, as in a fleet's state, so that
the curves of a fleet can be cut and joined with it. A term that a point does not have, such as a score that is taken at some
points alone, is NaN there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

PREFIX = "curves/"
STEPS = PREFIX + "step"
"""The one tensor of curves that has no run axis: the steps at which points were taken, (p,)."""


class Curves:
    """Points taken at growing steps: every term's mean since the point before, and what else was measured there."""

    def __init__(
        self, steps: Sequence[int] = (), terms: Mapping[str, Sequence[NDArray[np.float32]]] | None = None
    ) -> None:
        self.steps = list(steps)
        self._terms = {name: list(points) for name, points in (terms or {}).items()}

    @classmethod
    def of(cls, tensors: Mapping[str, Tensor]) -> Curves:
        """What `tensors` gave; empty where there is nothing."""
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
        """One point: the averages that a fleet gives for each of its runs, which may have scores of their own besides."""
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
        found: dict[str, NDArray] = {"step": np.array(self.steps[start:], dtype=np.int64)}
        for name, points in self._terms.items():
            values = np.array([point[row] for point in points[start:]], dtype=np.float32)
            if points[0].ndim == 1:
                found[name] = values
            else:
                width = points[0].shape[1]
                columns = values.reshape(-1, width)
                found |= {f"{name}_{position}": columns[:, position] for position in range(width)}
        return found
