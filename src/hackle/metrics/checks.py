"""Checks that every score makes of its arrays, so that bad input ends in a sentence and not inside a solver.

Rows are samples. Codes are finite numbers (n, c); factors are discrete values (n, f), of which only the identity counts,
so they are renamed 0, 1, … in their order. Two kinds of column carry nothing and are left out of every score:

- a constant code, one whose spread is within 1e-12 of its size (rounding alone);
- a factor with a single value in the training sample. A score averages over the factors that are left, and asks for at
  least one.

A test row whose factor value never occurred in training is kept: no classifier can predict it, so it counts as an error.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Table = NDArray[np.float64]
Classes = NDArray[np.int64]
TestPair = tuple[ArrayLike, ArrayLike]


class MetricError(ValueError):
    """Arrays or options from which a score cannot be computed."""


class Pair(NamedTuple):
    """Training and test rows; without test rows the training rows are both."""

    codes: Table
    factors: NDArray
    test_codes: Table
    test_factors: NDArray


def check_codes(codes: ArrayLike, name: str = "codes", axes: str = "n c") -> Table:
    """The codes as finite float64 numbers with the named axes, none of them empty."""
    array = np.asarray(codes)
    shape = "(" + ", ".join(axes.split()) + ")"
    if array.ndim != len(axes.split()) or array.size == 0:
        raise MetricError(f"{name} have shape {array.shape}; expected {shape} with samples in rows and no axis empty")
    if not (np.issubdtype(array.dtype, np.number) or array.dtype == bool) or np.iscomplexobj(array):
        raise MetricError(f"{name} are of type {array.dtype}; expected real numbers")
    array = array.astype(np.float64, copy=False)
    # A NaN or an infinity anywhere makes the spread NaN or infinite, as does a range too wide for float64.
    with np.errstate(over="ignore", invalid="ignore"):
        finite = np.isfinite(array.max() - array.min())
    if not finite:
        raise MetricError(
            f"{name} hold NaN, infinity or a range beyond float64; expected finite numbers: drop those rows"
        )
    return array


def check_factors(factors: ArrayLike, rows: int, name: str = "factors") -> NDArray:
    """The factors as an (n, f) array of finite numbers with one row for each row of codes."""
    array = np.asarray(factors)
    if array.ndim == 1:
        raise MetricError(
            f"{name} have shape {array.shape}; expected (n, f): write factors[:, None] for a single factor"
        )
    array = array if np.issubdtype(array.dtype, np.integer) else check_codes(array, name, "n f")
    if array.ndim != 2 or array.size == 0:
        raise MetricError(f"{name} have shape {array.shape}; expected (n, f) with samples in rows and no axis empty")
    if len(array) != rows:
        raise MetricError(f"{name} have {len(array)} rows but the codes have {rows}; expected one factor row for each")
    return array


def check_held(held: ArrayLike, rows: int, name: str = "held") -> NDArray:
    """The index of the factor held in each of the groups, (n,)."""
    array = np.asarray(held)
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
        raise MetricError(f"{name} has shape {array.shape} and type {array.dtype}; expected integers, shape (n,)")
    if len(array) != rows:
        raise MetricError(f"{name} names {len(array)} factors for {rows} groups; expected one for each")
    return array


class Held(NamedTuple):
    """Training and test groups with the factors that they hold, as classes; without test groups the training ones are both."""

    codes: Table
    classes: Classes
    test_codes: Table
    test_classes: Classes


def check_groups(codes: ArrayLike, held: ArrayLike, test: TestPair | None, name: str, axes: str) -> Held:
    """Checked codes of groups, of which the last axis are codes, that hold two factors or more."""
    train = check_codes(codes, name, axes)
    names = check_held(held, len(train))
    tested, test_names = train, names
    if test is not None:
        tested = check_codes(test[0], f"test {name}", axes)
        test_names = check_held(test[1], len(tested), "test held")
        if tested.shape[-1] != train.shape[-1]:
            raise MetricError(
                f"test {name} have {tested.shape[-1]} codes, those of training {train.shape[-1]}; expected the same"
            )
    classes, test_classes = name_classes(names, test_names)
    if classes.max() == 0:
        raise MetricError("the same factor is held in every group; expected groups that hold two factors or more")
    return Held(train, classes, tested, test_classes)


def check_pair(codes: ArrayLike, factors: ArrayLike, test: TestPair | None) -> Pair:
    """Checked training and test rows with the same columns."""
    train_codes = check_codes(codes)
    train_factors = check_factors(factors, len(train_codes))
    if test is None:
        return Pair(train_codes, train_factors, train_codes, train_factors)
    test_codes = check_codes(test[0], "test codes")
    test_factors = check_factors(test[1], len(test_codes), "test factors")
    for what, first, second in (("codes", train_codes, test_codes), ("factors", train_factors, test_factors)):
        if first.shape[1] != second.shape[1]:
            raise MetricError(
                f"{first.shape[1]} {what} in training but {second.shape[1]} in the test rows; expected the same columns"
            )
    return Pair(train_codes, train_factors, test_codes, test_factors)


def check_split(codes: ArrayLike, factors: ArrayLike, test: TestPair | None) -> Pair:
    """As `check_pair`, with the factors that have more than one training value, as classes named by `name_classes`."""
    pair = check_pair(codes, factors, test)
    named = [name_classes(pair.factors[:, k], pair.test_factors[:, k]) for k in scored_factors(pair.factors)]
    classes, test_classes = (np.stack(columns, axis=1) for columns in zip(*named, strict=True))
    return pair._replace(factors=classes, test_factors=test_classes)


def name_classes(values: NDArray, test_values: NDArray) -> tuple[Classes, Classes]:
    """Values renamed 0, 1, … in their order; test values that do not occur among them become −1."""
    names, classes = np.unique(values, return_inverse=True)
    position = np.minimum(np.searchsorted(names, test_values), len(names) - 1)
    return classes.astype(np.int64), np.where(names[position] == test_values, position, -1).astype(np.int64)


def scored_factors(factors: NDArray) -> NDArray[np.int64]:
    """The columns with more than one value. Columns that look continuous are refused."""
    values = np.array([len(np.unique(column)) for column in factors.T])
    for column in np.flatnonzero(2 * values > len(factors)):
        if (factors[:, column] != np.round(factors[:, column])).any():
            raise MetricError(
                f"factor {column} has {values[column]} fractional values in {len(factors)} rows and looks continuous; "
                "this score needs discrete values: cut the factor into intervals first"
            )
    scored = np.flatnonzero(values > 1)
    if not len(scored):
        raise MetricError(
            "every factor has a single value, so there is nothing to predict; expected two values or more"
        )
    return scored


def varying(codes: Table) -> NDArray[np.bool_]:
    """Which codes, (c,), are not constant."""
    low, high = codes.min(axis=0), codes.max(axis=0)
    return high - low > 1e-12 * np.maximum(np.abs(low), np.abs(high))


def standardise(codes: Table, test_codes: Table) -> tuple[Table, Table]:
    """The varying codes alone, with the training mean removed and divided by the training standard deviation."""
    kept = varying(codes)
    train, test = codes[:, kept], test_codes[:, kept]
    # Range first: the variance of very small or very large codes would leave the range of float64.
    low, spread = train.min(axis=0), np.ptp(train, axis=0)
    train, test = (train - low) / spread, (test - low) / spread
    mean, deviation = train.mean(axis=0), train.std(axis=0)
    return (train - mean) / deviation, (test - mean) / deviation


def check_bins(bins: int, rows: int) -> int:
    """The number of bins, at least two and no more than the samples can fill."""
    if not isinstance(bins, int | np.integer) or bins < 2:
        raise MetricError(f"bins is {bins!r}; expected a whole number, 2 or more")
    if rows < bins:
        raise MetricError(f"{rows} samples cannot fill {bins} bins; pass more samples (10,000 is usual) or fewer bins")
    return int(bins)


@contextmanager
def many_classes() -> Iterator[None]:
    """Keeps scikit-learn from asking whether many classes in few rows are not numbers: `scored_factors` has settled that."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        yield


def check_choice(value: str, choices: Collection[str], name: str) -> str:
    """The value, which must be one of the choices."""
    if value not in choices:
        raise MetricError(f"{name} is {value!r}; expected one of {', '.join(choices)}")
    return value


def check_matrix(matrix: ArrayLike, name: str) -> Table:
    """A (c, f) matrix of finite numbers that are not negative: informations or importances."""
    array = check_codes(matrix, name, "c f")
    if (array < 0).any():
        raise MetricError(f"{name} hold the negative number {array.min()}; expected zero or more")
    return array
