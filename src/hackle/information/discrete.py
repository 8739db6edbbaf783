"""Entropy and mutual information of discrete variables, by counting.

Locatello et al. 2019, appendix B, cut each code into equal-width bins between its smallest and largest value and
estimate I(code; factor) from the table of counts; this file does the same, in nats. With counts k over n samples,

    H(v)    = − Σ_v  (k_v / n) ln(k_v / n)
    I(z; v) =   Σ_zv (k_zv / n) ln(k_zv · n / (k_z · k_v)).

The counts in the logarithm of I are integers, so a variable that is constant, or exactly independent in the sample, has
mutual information 0 without rounding error. The estimate is biased upwards by about (bins − 1)(values − 1) / 2n.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hackle.core.columns import as_array


def bin_codes(codes: ArrayLike, bins: int) -> NDArray[np.int64]:
    """The bin 0 … bins − 1 of each code, (n, c): equal-width bins from the code's minimum to its maximum.

    A bin includes its lower edge; the last one also its upper edge. A constant code is entirely in bin 0.

    >>> bin_codes([[0.0, 7.0], [1.0, 7.0], [4.0, 7.0]], bins=4)
    array([[0, 0],
           [1, 0],
           [3, 0]])
    """
    values = _table(codes, "codes").astype(np.float64)
    if bins < 1:
        raise ValueError(f"bins is {bins}; expected 1 or more (the usual protocol has 20)")
    if not np.isfinite(values).all():
        raise ValueError("codes hold NaN or infinity; expected finite numbers: drop the rows that are not")
    edges = np.linspace(values.min(axis=0), values.max(axis=0), bins, endpoint=False)
    binned = np.empty(values.shape, dtype=np.int64)
    for column in range(values.shape[1]):
        # Searching the lower edges puts the maximum in the last bin; a constant code has one distinct edge.
        lower = np.unique(edges[:, column])
        binned[:, column] = np.searchsorted(lower, values[:, column], side="right") - 1
    return binned


def discrete_mutual_information(binned: ArrayLike, factors: ArrayLike) -> NDArray[np.float64]:
    """The mutual information I(code; factor) in nats, (c, f), of discrete codes (n, c) and factors (n, f).

    >>> discrete_mutual_information([[0], [0], [1], [1]], [[5, 0], [5, 1], [9, 0], [9, 1]]).round(4)
    array([[0.6931, 0.    ]])
    """
    z, v = _table(binned, "binned codes"), _table(factors, "factors")
    if len(z) != len(v):
        raise ValueError(f"{len(z)} rows of codes but {len(v)} rows of factors; expected as many of each")
    z, z_sizes = renamed(z)
    v, v_sizes = renamed(v)
    c = z.shape[1]
    rows = int(z_sizes.max())
    information = np.empty((c, v.shape[1]))
    for factor, size in enumerate(v_sizes):
        cells = (np.arange(c) * rows + z) * size + v[:, factor, None]
        joint = np.bincount(cells.ravel(), minlength=c * rows * size).reshape(c, rows, size).astype(np.float64)
        information[:, factor] = information_of_counts(joint)
    return information


def information_of_counts(joint: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mutual information in nats, (c,), from tables of counts, (c, bins, values)."""
    n = joint.sum(axis=(1, 2), keepdims=True)
    expected = joint.sum(axis=2, keepdims=True) * joint.sum(axis=1, keepdims=True)
    ratio = np.divide(joint * n, expected, out=np.ones_like(joint), where=joint > 0)
    # The sum can fall below zero by a rounding error.
    return np.maximum((joint * np.log(ratio)).sum(axis=(1, 2)) / n[:, 0, 0], 0.0)


def discrete_entropy(factors: ArrayLike) -> NDArray[np.float64]:
    """The entropy in nats of each discrete column, (f,), of factors (n, f).

    >>> discrete_entropy([[0, 3], [1, 3], [2, 3], [3, 3]]).round(4)
    array([1.3863, 0.    ])
    """
    v, sizes = renamed(_table(factors, "factors"))
    probabilities = [np.bincount(column, minlength=size) / len(v) for column, size in zip(v.T, sizes, strict=True)]
    return np.array([max(0.0, float(-(p * np.log(p)).sum())) for p in probabilities])


def _table(values: ArrayLike, name: str) -> NDArray:
    """The values as an array of shape (n, columns) with at least one row and one column."""
    array = as_array(values)
    if array.ndim != 2 or array.size == 0:
        raise ValueError(f"{name} have shape {array.shape}; expected (n, columns) with samples in rows")
    return array


def renamed(values: NDArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Each column's values renamed 0, 1, … in order, and the number of values in each column."""
    columns = [np.unique(column, return_inverse=True) for column in values.T]
    named = np.stack([inverse for _, inverse in columns], axis=1).astype(np.int64)
    return named, np.array([len(names) for names, _ in columns], dtype=np.int64)
