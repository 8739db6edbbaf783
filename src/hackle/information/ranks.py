"""Spearman's rank correlation, for metrics, claims and figures alike; with Pearson's and Kendall's, how two metrics agree.

Fewer than three values, or values that do not vary, have no rank correlation: NaN. `constant` replaces NaN if one side
does not vary and that should count as no agreement: a seed whose scores do not vary at all is evidence against a trend,
and must not drop out of the mean over seeds.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import kendalltau, pearsonr, rankdata, spearmanr

Floats = NDArray[np.float64]
LEAST = 3
"""The fewest values for a rank correlation: with two it is always 1 or −1."""


def spearman(first: ArrayLike, second: ArrayLike, *, constant: float = math.nan) -> float:
    """The rank correlation of two vectors, over the entries where both are finite.

    >>> round(spearman([1, 2, 3, 4], [10, 20, 40, 30]), 6)
    0.8
    >>> spearman([1, 2, 3], [5, 5, 5]), spearman([1, 2, 3], [5, 5, 5], constant=0.0)
    (nan, 0.0)
    """
    return float(rank_correlations(np.asarray(first)[None], np.asarray(second)[None], constant=constant)[0])


class Agreement(NamedTuple):
    """How two metrics agree over models (Kim & Mnih 2018, section 6): three correlations, each with its p-value."""

    pearson: float
    kendall: float
    spearman: float
    p_values: tuple[float, float, float]


def agreement(first: ArrayLike, second: ArrayLike) -> Agreement:
    """Pearson's, Kendall's and Spearman's correlation of two vectors, over the entries where both are finite.

    Kendall's is τ-b: pairs of models in the same order minus those in the opposite one, as a share of the pairs that are not
    tied. The p-values are two-sided, for no correlation at all. NaN for fewer than three values or for a constant vector.

    >>> found = agreement([1, 2, 3, 4], [1, 2, 4, 3])
    >>> round(found.pearson, 4), round(found.kendall, 4), round(found.spearman, 4)
    (0.8, 0.6667, 0.8)
    """
    left, right = np.asarray(first, float), np.asarray(second, float)
    if left.ndim != 1 or left.shape != right.shape:
        raise ValueError(
            f"the vectors have shapes {left.shape} and {right.shape}; expected one score of each model in both"
        )
    kept = np.isfinite(left) & np.isfinite(right)
    left, right = left[kept], right[kept]
    if len(left) < LEAST or not np.ptp(left) or not np.ptp(right):
        return Agreement(math.nan, math.nan, math.nan, (math.nan, math.nan, math.nan))
    tests: list[Any] = [test(left, right) for test in (pearsonr, kendalltau, spearmanr)]
    values = [(float(one.statistic), float(one.pvalue)) for one in tests]
    return Agreement(*(value for value, _ in values), p_values=(values[0][1], values[1][1], values[2][1]))


def rank_correlations(first: ArrayLike, second: ArrayLike, *, constant: float = math.nan) -> Floats:
    """The rank correlation of each row of two arrays (n, k), over the columns where both are finite."""
    left, right = np.broadcast_arrays(np.asarray(first, float), np.asarray(second, float))
    correlations = np.full(len(left), np.nan)
    patterns, group = np.unique(np.isfinite(left) & np.isfinite(right), axis=0, return_inverse=True)
    for index, columns in enumerate(patterns):
        if columns.sum() < LEAST:
            continue
        rows = np.flatnonzero(group.reshape(-1) == index)
        ranks = [_unit_ranks(part[np.ix_(rows, columns)], axis=1) for part in (left, right)]
        correlations[rows] = _or_constant((ranks[0] * ranks[1]).sum(axis=1), constant)
    return correlations


def spearman_matrix(first: ArrayLike, second: ArrayLike, *, constant: float = math.nan) -> Floats:
    """The rank correlation of every column of `first` (n, p) with every column of `second` (n, q): (p, q)."""
    left, right = np.asarray(first, float), np.asarray(second, float)
    if np.isfinite(left).all() and np.isfinite(right).all() and len(left) >= LEAST:
        return _or_constant(_unit_ranks(left, axis=0).T @ _unit_ranks(right, axis=0), constant)
    rows, others = np.repeat(left.T, right.shape[1], axis=0), np.tile(right.T, (left.shape[1], 1))
    return rank_correlations(rows, others, constant=constant).reshape(left.shape[1], right.shape[1])


def _unit_ranks(values: Floats, axis: int) -> Floats:
    """Ranks along an axis, centred and of length 1, so that their products are correlations; NaN where nothing varies."""
    ranks = rankdata(values, axis=axis)
    ranks -= ranks.mean(axis=axis, keepdims=True)
    length = np.sqrt((ranks**2).sum(axis=axis, keepdims=True))
    return np.divide(ranks, length, out=np.full_like(ranks, np.nan), where=length > 0)


def _or_constant(correlations: Floats, constant: float) -> Floats:
    return np.where(np.isnan(correlations), constant, correlations)
