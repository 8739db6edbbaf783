"""Checks that every score makes on its arrays, so that bad input ends in a clear message and not inside a solver.

Rows are samples. Codes are finite numbers (n, c); factors (n, f) are numbers or strings, read with their kinds by
`hackle.core.columns`. Only the identity of classes matters, so they are renamed 0, 1, … in order; a continuous factor
is cut into bins of equal width over its training values where a score needs classes. Two kinds of column carry no
information and are left out of every score:

- a constant code, whose range is within 1e-12 of its magnitude (rounding error only);
- a factor with a single value in the training sample. A score averages over the remaining factors and needs at least
  one.

A test row whose factor value never occurred in training is kept: no classifier can predict it, so it counts as an error.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hackle.core.code_table import CodeTable, SizeError, is_large
from hackle.core.columns import (
    Column,
    Kinds,
    TableLike,
    as_array,
    columns_of,
    read_columns,
    read_numbers,
    refuse_another_order,
)
from hackle.core.factors import FactorError, Kind
from hackle.information.entries import Device, Ranges, code_ranges

Table = NDArray[np.float64]
Classes = NDArray[np.int64]
TestPair = tuple[TableLike, TableLike]


class MetricError(ValueError):
    """Arrays or options from which a score cannot be computed."""


Rows = TypeVar("Rows", Table, CodeTable)


class Split(NamedTuple, Generic[Rows]):
    """Training and test rows (the training rows again if there are none): codes, as dense arrays or as tables that are read in
    blocks, and the factors that have more than one training value."""

    codes: Rows
    test_codes: Rows
    factors: Classes
    """Class numbers, (n, f); those of a continuous factor are its bins."""
    test_factors: Classes
    """−1 for a class that does not occur in training."""
    numbers: Table
    """The factors' own numbers, (n, f), minus the training minimum; class numbers in place of strings."""
    test_numbers: Table
    continuous: NDArray[np.bool_]
    """Which factors, (f,), are continuous."""
    names: tuple[str, ...]
    kinds: tuple[Kind, ...]


def check_codes(codes: TableLike, name: str = "codes", axes: str = "n c") -> Table:
    """The codes as finite float64 numbers with the named axes, none of them empty.

    Sparse and memory-mapped codes are made dense if they are not too many.
    """
    if is_large(codes):
        try:
            codes = CodeTable(codes).dense()
        except SizeError as error:
            raise MetricError(str(error)) from error
    try:
        array = read_numbers(codes, name) if axes == "n c" else as_array(codes)
    except FactorError as error:
        raise MetricError(str(error)) from error
    shape = "(" + ", ".join(axes.split()) + ")"
    if array.ndim != len(axes.split()) or array.size == 0:
        raise MetricError(f"{name} have shape {array.shape}; expected {shape} with samples in rows and no axis empty")
    if not (np.issubdtype(array.dtype, np.number) or array.dtype == bool) or np.iscomplexobj(array):
        raise MetricError(f"{name} are of type {array.dtype}; expected real numbers")
    array = array.astype(np.float64, copy=False)
    _check_range(array.min(), array.max(), name)
    return array


def _check_range(low: float, high: float, name: str) -> None:
    # A NaN or an infinity anywhere makes the spread NaN or infinite, as does a range too wide for float64.
    with np.errstate(over="ignore", invalid="ignore"):
        finite = np.isfinite(high - low)
    if not finite:
        raise MetricError(
            f"{name} hold NaN, infinity or a range beyond float64; expected finite numbers: drop those rows"
        )


def check_table(codes: TableLike, name: str = "codes") -> CodeTable:
    """The codes (n, c), to be read in blocks: those in memory checked, sparse and memory-mapped ones as far as can be told
    without reading them."""
    if not is_large(codes):
        return CodeTable(check_codes(codes, name))
    table = CodeTable(codes)
    if 0 in table.shape:
        raise MetricError(f"{name} have shape {table.shape}; expected (n, c) with samples in rows and no axis empty")
    if table.dtype.kind not in "biuf":
        raise MetricError(f"{name} are of type {table.dtype}; expected real numbers")
    return table


def check_ranges(table: CodeTable, device: Device = None, name: str = "codes") -> Ranges:
    """The range of each code, in one pass, in which all numbers must be finite."""
    ranges = code_ranges(table, device)
    _check_range(ranges.low.min(), ranges.high.max(), name)
    return ranges


def check_mask(mask: ArrayLike | bool, count: int, name: str) -> NDArray[np.bool_]:
    """One bool for each of so many codes, (c,), from that many or from one for all."""
    array = as_array(mask)
    if array.dtype != bool or array.shape not in ((), (count,)):
        raise MetricError(
            f"{name} has shape {array.shape} and type {array.dtype}; expected {count} bools, one for each code"
        )
    return np.broadcast_to(array, (count,))


def check_factors(factors: TableLike, rows: int, kinds: Kinds | None = None, name: str = "factors") -> list[Column]:
    """The factors, one per column, with one value for each row of codes."""
    try:
        columns = columns_of(factors, name)
        if not columns or not len(next(iter(columns.values()))):
            raise MetricError(f"{name} have no rows or no columns; expected (n, f) with samples in rows")
        for column in columns.values():
            if len(column) != rows:
                raise MetricError(
                    f"{name} have {len(column)} rows but the codes have {rows}; expected one factor row for each"
                )
        return read_columns(columns, kinds)
    except FactorError as error:
        raise MetricError(str(error)) from error


def check_held(held: TableLike, rows: int, name: str = "held") -> NDArray:
    """The index of the factor held fixed in each group, (n,)."""
    array = as_array(held)
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
        raise MetricError(f"{name} has shape {array.shape} and type {array.dtype}; expected integers, shape (n,)")
    if len(array) != rows:
        raise MetricError(f"{name} names {len(array)} factors for {rows} groups; expected one for each")
    return array


class Held(NamedTuple):
    """Training and test groups (the training ones again if there are none) and the factor held in each, as classes."""

    codes: Table
    classes: Classes
    test_codes: Table
    test_classes: Classes


def check_groups(codes: TableLike, held: ArrayLike, test: TestPair | None, name: str, axes: str) -> Held:
    """Checked groups, whose last axis is codes and which hold at least two different factors."""
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


def check_split(
    codes: TableLike, factors: TableLike, test: TestPair | None, kinds: Kinds | None = None, bins: int = 20
) -> Split[Table]:
    """Checked training and test rows with the same columns: the factors that have more than one training value.

    kinds: of the factors, guessed from the training rows if not told. bins: of continuous ones, where classes are asked for.
    """
    return _split(check_codes, codes, factors, test, kinds, bins)


def check_table_split(
    codes: TableLike, factors: TableLike, test: TestPair | None, kinds: Kinds | None = None, bins: int = 20
) -> Split[CodeTable]:
    """`check_split` of codes of any size."""
    return _split(check_table, codes, factors, test, kinds, bins)


def _split(
    check: Callable[[TableLike, str], Rows],
    codes: TableLike,
    factors: TableLike,
    test: TestPair | None,
    kinds: Kinds | None,
    bins: int,
) -> Split[Rows]:
    try:
        refuse_another_order(codes, factors)
        if test is not None:
            refuse_another_order(*test, "test factors")
    except FactorError as error:
        raise MetricError(str(error)) from error
    rows = check(codes, "codes")
    test_rows = rows if test is None else check(test[0], "test codes")
    if not isinstance(bins, int | np.integer) or bins < 2:
        raise MetricError(f"factor_bins is {bins!r}; expected a whole number, 2 or more")
    train = check_factors(factors, rows.shape[0], kinds)
    tested = train
    if test is not None:
        tested = check_factors(test[1], test_rows.shape[0], None, "test factors")
        tested = [other._replace(kind=one.kind) for one, other in zip(train, tested, strict=False)] + tested[
            len(train) :
        ]
    for what, first, second in (("codes", rows.shape[1], test_rows.shape[1]), ("factors", len(train), len(tested))):
        if first != second:
            raise MetricError(f"{first} {what} in training but {second} in the test rows; expected the same columns")
    for one, other in zip(train, tested, strict=True):
        if (one.values.dtype.kind == "U") != (other.values.dtype.kind == "U"):
            raise MetricError(f"{one.name} is {one.values.dtype} in training and {other.values.dtype} in the test rows")
    scored = [(one, other) for one, other in zip(train, tested, strict=True) if len(np.unique(one.values)) > 1]
    if not scored:
        raise MetricError(
            "every factor has a single value, so there is nothing to predict; expected two values or more"
        )
    named = [name_classes(one.class_values(bins), other.class_values(bins, like=one)) for one, other in scored]
    classes, test_classes = (np.stack(columns, axis=1) for columns in zip(*named, strict=True))
    # Strings have no numbers but those of their classes.
    pairs = [
        pair if one.values.dtype.kind == "U" else (one.values, other.values)
        for pair, (one, other) in zip(named, scored, strict=True)
    ]
    numbers, test_numbers = (np.stack(columns, axis=1).astype(np.float64) for columns in zip(*pairs, strict=True))
    least = numbers.min(axis=0)
    names, kinds = (tuple(getattr(one, what) for one, _ in scored) for what in ("name", "kind"))
    return Split(
        rows,
        test_rows,
        classes,
        test_classes,
        numbers - least,
        test_numbers - least,
        np.array([kind == "continuous" for kind in kinds]),
        names,
        kinds,
    )


def name_classes(values: NDArray, test_values: NDArray) -> tuple[Classes, Classes]:
    """Values renamed 0, 1, … in order; test values that do not occur among them become −1."""
    names, classes = np.unique(values, return_inverse=True)
    position = np.minimum(np.searchsorted(names, test_values), len(names) - 1)
    return classes.astype(np.int64), np.where(names[position] == test_values, position, -1).astype(np.int64)


def varying(codes: Table) -> NDArray[np.bool_]:
    """Which codes, the last axis, are not constant, (c,)."""
    # First over the first axis alone: over all but the last at once NumPy takes ten times as long.
    low, high = (end.reshape(-1, codes.shape[-1]) for end in (codes.min(axis=0), codes.max(axis=0)))
    return Ranges(low.min(axis=0), high.max(axis=0)).varying


def standardise(codes: Table, test_codes: Table) -> tuple[Table, Table]:
    """Only the codes that vary, minus the training mean, divided by the training standard deviation."""
    kept = varying(codes)
    train, test = codes[:, kept], test_codes[:, kept]
    # Divide by the range first: the variance of very small or very large codes would underflow or overflow float64.
    low, spread = train.min(axis=0), np.ptp(train, axis=0)
    train, test = (train - low) / spread, (test - low) / spread
    mean, deviation = train.mean(axis=0), train.std(axis=0)
    return (train - mean) / deviation, (test - mean) / deviation


def centred(codes: Table, test_codes: Table) -> tuple[Table, Table]:
    """Only the codes that vary, minus the training mean."""
    kept = varying(codes)
    mean = codes[:, kept].mean(axis=0)
    return codes[:, kept] - mean, test_codes[:, kept] - mean


def check_bins(bins: int, rows: int) -> int:
    """The number of bins, at least two and no more than the samples can fill."""
    if not isinstance(bins, int | np.integer) or bins < 2:
        raise MetricError(f"bins is {bins!r}; expected a whole number, 2 or more")
    if rows < bins:
        raise MetricError(f"{rows} samples cannot fill {bins} bins; pass more samples (10,000 is usual) or fewer bins")
    return int(bins)


@contextmanager
def many_classes() -> Iterator[None]:
    """Silences scikit-learn's warning that many classes in few rows may be a regression target: the kind is known."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        yield


def check_choice(value: str, choices: Collection[str], name: str) -> str:
    """The value, which must be one of the choices."""
    if value not in choices:
        raise MetricError(f"{name} is {value!r}; expected one of {', '.join(choices)}")
    return value


def check_matrix(matrix: ArrayLike, name: str) -> Table:
    """A (c, f) matrix of finite, non-negative numbers: mutual information or importances."""
    array = check_codes(matrix, name, "c f")
    if (array < 0).any():
        raise MetricError(f"{name} hold the negative number {array.min()}; expected zero or more")
    return array
