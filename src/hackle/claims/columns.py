"""Means over columns of a table: a curve's end, the cells of a sweep."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hackle.claims.statistics import Floats

Frame = Any
Column = Any
"""pandas frames and series; its annotations do not say which of the two indexing returns."""
TAIL = 0.1
"""The last part of training, over which a curve is averaged."""


def final_values(curve: Frame, earlier: int = 0) -> Column:
    """By run, the mean of a curve (run, step, value) over the last tenth of the training steps, or over one so many tenths
    earlier."""
    end: Column = curve.groupby("run", observed=True)["step"].transform("max")
    first, last = 1 - (earlier + 1) * TAIL, 1 - earlier * TAIL
    inside = (curve["step"] > first * end) & (curve["step"] <= last * end)
    return curve[inside].groupby("run", observed=True)["value"].mean()


def cell_means(cells: NDArray[Any], values: Floats, count: int) -> Floats:
    """The mean of the values in each of `count` cells, NaN in those that have none."""
    known = np.isfinite(values)
    number = np.bincount(cells[known], minlength=count)
    total = np.bincount(cells[known], weights=values[known], minlength=count)
    return np.divide(total, number, out=np.full(count, np.nan), where=number > 0)
