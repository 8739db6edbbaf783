"""Factors of variation and the grid they span.

A factor row is one integer per factor; a grid maps rows to the flat index of an image and back. Rows are samples: an
array of rows has shape (n, f). A complete grid holds every combination, last factor fastest. An incomplete one holds
just the rows it was given, in the order of its images.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hackle.core.present_rows import FactorError, PresentRows, Rows, fold

Kind = Literal["categorical", "ordinal", "cyclic", "continuous"]


@dataclass(frozen=True)
class Factor:
    """One factor of variation with values 0 … size − 1.

    `kind` says how the values relate: categorical (no order), ordinal, cyclic (the last value is next to the first) or
    continuous (`values` then holds the real numbers behind the integers). An unobserved factor, such as the instance
    that tells two photographs of the same class apart, selects an image but is never scored. `guessed` says that
    the kind was not given. `words` are the names of the values, where they have some.
    """

    name: str
    size: int
    kind: Kind = "ordinal"
    observed: bool = True
    values: tuple[float, ...] | None = None
    guessed: bool = False
    words: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.size <= 2**31:
            raise FactorError(f"factor {self.name!r} has size {self.size}; expected at least one value, at most 2³¹")
        if self.kind not in get_args(Kind):
            raise FactorError(
                f"factor {self.name!r} has kind {self.kind!r}; expected one of {', '.join(get_args(Kind))}"
            )
        if self.values is not None and len(self.values) != self.size:
            raise FactorError(
                f"factor {self.name!r} has {self.size} values but {len(self.values)} real numbers for them"
            )
        if self.words is not None and len(self.words) != self.size:
            raise FactorError(f"factor {self.name!r} has {self.size} values but {len(self.words)} names for them")

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """The real number behind each value, (size,); the values themselves where there are none."""
        return np.asarray(range(self.size) if self.values is None else self.values, dtype=np.float64)

    def classes(self, bins: int) -> NDArray[np.int64]:
        """The class of each value, (size,): a continuous factor with more than `bins` values is cut into bins of equal
        width.

        A bin holds its lower edge, the last one also its upper edge.

        >>> Factor("x", 5, "continuous", values=(0.0, 0.1, 0.5, 0.9, 1.0)).classes(2)
        array([0, 0, 1, 1, 1])
        """
        if self.kind != "continuous" or self.size <= bins:
            return np.arange(self.size)
        return cut(self.numbers, bins)


def cut(values: ArrayLike, bins: int, within: ArrayLike | None = None) -> NDArray[np.int64]:
    """The bin 0 … bins − 1 of each value (n,), of equal width over the range of `within`, by default of the values.

    >>> cut([-1.0, 0.0, 0.4, 0.5, 2.0], 2, within=[0.0, 1.0]).tolist()
    [0, 0, 0, 1, 1]
    """
    span = np.asarray(values if within is None else within, dtype=np.float64)
    edges = np.linspace(span.min(), span.max(), bins + 1)[1:-1]
    return np.searchsorted(edges, np.asarray(values, dtype=np.float64), side="right").astype(np.int64)


class FactorGrid:
    """The factor combinations that a data set holds.

    >>> grid = FactorGrid([Factor("shape", 3, "categorical"), Factor("x", 4)])
    >>> grid.index([[2, 1]])
    array([9])
    >>> grid.rows([9])
    array([[2, 1]])
    >>> FactorGrid(grid.factors, present=[[0, 0], [2, 3]]).size
    2
    """

    bins = 20
    """The number of bins a continuous factor is cut into where classes are needed; see `with_bins`."""

    def __init__(self, factors: Sequence[Factor], present: ArrayLike | None = None) -> None:
        self.factors = tuple(factors)
        names = [factor.name for factor in self.factors]
        if not names:
            raise FactorError("a grid needs at least one factor")
        if len(set(names)) != len(names):
            raise FactorError(f"factor names must differ, got {names}")
        self.names: tuple[str, ...] = tuple(names)
        self.sizes: tuple[int, ...] = tuple(factor.size for factor in self.factors)
        self.kinds: tuple[Kind, ...] = tuple(factor.kind for factor in self.factors)
        self.observed: tuple[int, ...] = tuple(i for i, factor in enumerate(self.factors) if factor.observed)
        self._present = None if present is None else PresentRows(self.check(present), self.sizes, self.names)
        if self._present is None:
            self.size = math.prod(self.sizes)
            if self.size >= 2**63:
                raise FactorError(
                    f"a complete grid of {self.size:.1e} combinations is too large to be indexed; list the rows that "
                    "exist (present=…)"
                )
            self._strides = np.array([math.prod(self.sizes[column + 1 :]) for column in range(len(self.sizes))])
            spread = np.array(self.sizes) > 1
        else:
            self.size = len(self._present.rows)
            spread = (self._present.rows != self._present.rows[0]).any(axis=0)
        self.varying: tuple[int, ...] = tuple(np.flatnonzero(spread).tolist())
        """The columns of the factors that take more than one value among the rows that exist."""

    @property
    def complete(self) -> bool:
        """Whether every combination of values exists."""
        return self._present is None

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        spans = ", ".join(f"{name} {size}" for name, size in zip(self.names, self.sizes, strict=True))
        return f"FactorGrid({spans}; {self.size:,} {'combinations' if self.complete else 'rows present'})"

    def column(self, factor: str | int) -> int:
        """The column of a factor given by name or by column."""
        if isinstance(factor, str):
            if factor not in self.names:
                raise FactorError(f"no factor {factor!r}; this grid has {', '.join(self.names)}")
            return self.names.index(factor)
        if not 0 <= factor < len(self.factors):
            raise FactorError(f"no factor {factor}; this grid has columns 0 to {len(self.factors) - 1}")
        return int(factor)

    def check(self, rows: ArrayLike) -> Rows:
        """The rows as an (n, f) integer array, or an error that names the first wrong entry."""
        array = np.asarray(rows)
        if array.ndim != 2 or array.shape[1] != len(self.factors):
            raise FactorError(
                f"factor rows have shape {array.shape}; expected (n, {len(self.factors)}), one column for each of "
                f"{', '.join(self.names)}"
            )
        if array.size and not np.issubdtype(array.dtype, np.integer):
            raise FactorError(f"factor rows are {array.dtype}; expected integers")
        array = array.astype(np.int64, copy=False)
        wrong = (array < 0) | (array >= np.array(self.sizes))
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            raise FactorError(
                f"row {row} has {self.names[column]} = {array[row, column]}; "
                f"{self.names[column]} goes from 0 to {self.sizes[column] - 1}"
            )
        return array

    def index(self, rows: ArrayLike) -> NDArray[np.int64]:
        """The flat index of each row's image, shape (n,)."""
        array = self.check(rows)
        if self._present is None:
            return array @ self._strides
        return self._present.find(array)

    def rows(self, index: ArrayLike) -> Rows:
        """The factor row of each flat index, shape (n, f)."""
        flat = np.asarray(index)
        if flat.ndim != 1 or (flat.size and not np.issubdtype(flat.dtype, np.integer)):
            raise FactorError(
                f"flat indices have shape {flat.shape} and type {flat.dtype}; expected integers, shape (n,)"
            )
        if flat.size and (flat.min() < 0 or flat.max() >= self.size):
            raise FactorError(f"flat indices go from 0 to {self.size - 1}, got {flat.min()} to {flat.max()}")
        if self._present is None:
            return flat.astype(np.int64)[:, None] // self._strides % np.array(self.sizes)
        return self._present.rows[flat]

    def with_bins(self, bins: int) -> FactorGrid:
        """The same grid, whose continuous factors are cut into another number of bins."""
        if bins < 2:
            raise FactorError(f"factor_bins is {bins}; expected 2 or more")
        grid = copy(self)
        grid.bins = bins
        return grid

    def classes(self, rows: Rows) -> Rows:
        """Rows (n, f) in which each value of a continuous factor is replaced by the number of its bin."""
        numbers = rows
        for column, factor in enumerate(self.factors):
            if factor.kind == "continuous":
                numbers = numbers.copy() if numbers is rows else numbers
                numbers[:, column] = factor.classes(self.bins)[rows[:, column]]
        return numbers

    def values(self, rows: Rows) -> NDArray[np.float64]:
        """Rows (n, f) in which each value of a continuous factor is replaced by its real number."""
        numbers = rows.astype(np.float64)
        for column, factor in enumerate(self.factors):
            if factor.kind == "continuous":
                numbers[:, column] = factor.numbers[rows[:, column]]
        return numbers

    def draw(self, n: int, rng: np.random.Generator) -> Rows:
        """n rows drawn uniformly and independently from the rows that exist."""
        return self.rows(rng.integers(self.size, size=n))

    def draw_held(self, n: int, held: Mapping[str | int, int], rng: np.random.Generator) -> Rows:
        """n rows that share the held factors' values, uniform over the rows that have them.

        >>> FactorGrid([Factor("a", 2), Factor("b", 3)]).draw_held(2, {"b": 1}, np.random.default_rng(0))[:, 1]
        array([1, 1])
        """
        columns = {self.column(factor): int(value) for factor, value in held.items()}
        for column, value in columns.items():
            if not 0 <= value < self.sizes[column]:
                raise FactorError(
                    f"cannot hold {self.names[column]} at {value}; it goes from 0 to {self.sizes[column] - 1}"
                )
        if self._present is None:
            rows = rng.integers(self.sizes, size=(n, len(self.sizes)), dtype=np.int64)
            for column, value in columns.items():
                rows[:, column] = value
            return rows
        matching = self._present.matching(columns)
        if not len(matching):
            wanted = ", ".join(f"{self.names[column]} = {value}" for column, value in columns.items())
            raise FactorError(f"no row has {wanted}: a draw that holds these is impossible in this incomplete grid")
        return self._present.rows[rng.choice(matching, size=n)]

    def levels(self, factor: str | int) -> NDArray[np.int64]:
        """The values to which a factor can be set in turn: those that occur; of a continuous factor in a complete grid the
        middle value of each bin.

        >>> FactorGrid([Factor("a", 2), Factor("x", 60, "continuous")]).levels("x")[:3]
        array([1, 4, 7])
        """
        column = self.column(factor)
        if self._present is not None:
            return np.unique(self._present.rows[:, column])
        numbers, classes = self.factors[column].numbers, self.factors[column].classes(self.bins)
        bins = [np.flatnonzero(classes == one) for one in np.unique(classes)]
        return np.array([members[np.argsort(numbers[members])[len(members) // 2]] for members in bins])

    def settable(self, factor: str | int) -> NDArray[np.int64]:
        """The images, by flat index, for which there is one at every level of a factor with all other factors as they are.

        In a complete grid that is every image. Where an unobserved factor numbers the images of an incomplete grid, no
        image is another one with a factor set: there are none.
        """
        column = self.column(factor)
        if self._present is None:
            return np.arange(self.size)
        if set(self.varying) - set(self.observed):
            return np.empty(0, dtype=np.int64)
        others = np.delete(np.arange(len(self.sizes)), column)
        _, key = fold(self._present.rows[:, others], [self.sizes[one] for one in others])
        return np.flatnonzero(np.bincount(key)[key] == len(self.levels(column)))

    def draw_pairs(self, n: int, k: int, rng: np.random.Generator) -> tuple[Rows, Rows]:
        """n pairs of rows that differ in exactly k factors; which k is drawn anew for each pair.

        In a complete grid the first row, the set of k factors and their new values are each uniform. In an incomplete
        grid the first row is uniform over the rows that have a partner, the partner uniform among its partners.
        """
        if not 1 <= k <= len(self.varying):
            raise FactorError(f"pairs can differ in 1 to {len(self.varying)} factors here, not {k}")
        if self._present is not None:
            return self._present.pairs(n, k, rng)
        first = self.draw(n, rng)
        chosen = np.argsort(rng.random((n, len(self.varying))), axis=1)[:, :k]
        columns = np.array(self.varying)[chosen]
        sizes = np.array(self.sizes)[columns]
        shift = rng.integers(1, sizes)
        second = first.copy()
        values = np.take_along_axis(first, columns, axis=1)
        np.put_along_axis(second, columns, (values + shift) % sizes, axis=1)
        return first, second


def scored_factors(grid: FactorGrid) -> tuple[int, ...]:
    """The observed factors that take more than one value: those that can be scored."""
    return tuple(column for column in grid.observed if column in grid.varying)
