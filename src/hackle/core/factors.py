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
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

Kind = Literal["categorical", "ordinal", "cyclic", "continuous"]
Rows = NDArray[np.int64]


class FactorError(ValueError):
    """A factor row, name or draw that the grid cannot serve."""


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
        self._lookup = None if present is None else _RowLookup(self.check(present), self.sizes, self.names)
        if self._lookup is None:
            self.size = math.prod(self.sizes)
            if self.size >= 2**63:
                raise FactorError(
                    f"a complete grid of {self.size:.1e} combinations is too large to be indexed; list the rows that "
                    "exist (present=…)"
                )
            self._strides = np.array([math.prod(self.sizes[column + 1 :]) for column in range(len(self.sizes))])
            spread = np.array(self.sizes) > 1
        else:
            self.size = len(self._lookup.rows)
            spread = (self._lookup.rows != self._lookup.rows[0]).any(axis=0)
        self.varying: tuple[int, ...] = tuple(np.flatnonzero(spread).tolist())
        """The columns of the factors that take more than one value among the rows that exist."""

    @property
    def complete(self) -> bool:
        """Whether every combination of values exists."""
        return self._lookup is None

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
        if self._lookup is None:
            return array @ self._strides
        return self._lookup.find(array)

    def rows(self, index: ArrayLike) -> Rows:
        """The factor row of each flat index, shape (n, f)."""
        flat = np.asarray(index)
        if flat.ndim != 1 or (flat.size and not np.issubdtype(flat.dtype, np.integer)):
            raise FactorError(
                f"flat indices have shape {flat.shape} and type {flat.dtype}; expected integers, shape (n,)"
            )
        if flat.size and (flat.min() < 0 or flat.max() >= self.size):
            raise FactorError(f"flat indices go from 0 to {self.size - 1}, got {flat.min()} to {flat.max()}")
        if self._lookup is None:
            return flat.astype(np.int64)[:, None] // self._strides % np.array(self.sizes)
        return self._lookup.rows[flat]

    def with_bins(self, bins: int) -> FactorGrid:
        """The same grid, whose continuous factors are cut into another number of bins."""
        if bins < 2:
            raise FactorError(f"factor_bins is {bins}; expected 2 or more")
        grid = copy(self)
        grid.bins = bins
        return grid

    def classes(self, rows: Rows) -> Rows:
        """Rows (n, f) in which each value of a continuous factor is replaced by the number of its bin."""
        found = rows
        for column, factor in enumerate(self.factors):
            if factor.kind == "continuous":
                found = found.copy() if found is rows else found
                found[:, column] = factor.classes(self.bins)[rows[:, column]]
        return found

    def values(self, rows: Rows) -> NDArray[np.float64]:
        """Rows (n, f) in which each value of a continuous factor is replaced by its real number."""
        found = rows.astype(np.float64)
        for column, factor in enumerate(self.factors):
            if factor.kind == "continuous":
                found[:, column] = factor.numbers[rows[:, column]]
        return found

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
        if self._lookup is None:
            rows = rng.integers(self.sizes, size=(n, len(self.sizes)), dtype=np.int64)
            for column, value in columns.items():
                rows[:, column] = value
            return rows
        matching = self._lookup.matching(columns)
        if not len(matching):
            wanted = ", ".join(f"{self.names[column]} = {value}" for column, value in columns.items())
            raise FactorError(f"no row has {wanted}: a draw that holds these is impossible in this incomplete grid")
        return self._lookup.rows[rng.choice(matching, size=n)]

    def levels(self, factor: str | int) -> NDArray[np.int64]:
        """The values to which a factor can be set in turn: those that occur; of a continuous factor in a complete grid the
        middle value of each bin.

        >>> FactorGrid([Factor("a", 2), Factor("x", 60, "continuous")]).levels("x")[:3]
        array([1, 4, 7])
        """
        column = self.column(factor)
        if self._lookup is not None:
            return np.unique(self._lookup.rows[:, column])
        numbers, classes = self.factors[column].numbers, self.factors[column].classes(self.bins)
        bins = [np.flatnonzero(classes == one) for one in np.unique(classes)]
        return np.array([members[np.argsort(numbers[members])[len(members) // 2]] for members in bins])

    def settable(self, factor: str | int) -> NDArray[np.int64]:
        """The images, by flat index, for which there is one at every level of a factor with all other factors as they are.

        In a complete grid that is every image. Where an unobserved factor numbers the images of an incomplete grid, no
        image is another one with a factor set: there are none.
        """
        column = self.column(factor)
        if self._lookup is None:
            return np.arange(self.size)
        if set(self.varying) - set(self.observed):
            return np.empty(0, dtype=np.int64)
        others = np.delete(np.arange(len(self.sizes)), column)
        _, key = _fold(self._lookup.rows[:, others], [self.sizes[one] for one in others])
        return np.flatnonzero(np.bincount(key)[key] == len(self.levels(column)))

    def draw_pairs(self, n: int, k: int, rng: np.random.Generator) -> tuple[Rows, Rows]:
        """n pairs of rows that differ in exactly k factors; which k is drawn anew for each pair.

        In a complete grid the first row, the set of k factors and their new values are each uniform. In an incomplete
        grid the first row is uniform over the rows that have a partner, the partner uniform among its partners.
        """
        if not 1 <= k <= len(self.varying):
            raise FactorError(f"pairs can differ in 1 to {len(self.varying)} factors here, not {k}")
        if self._lookup is not None:
            return self._lookup.pairs(n, k, rng)
        first = self.draw(n, rng)
        chosen = np.argsort(rng.random((n, len(self.varying))), axis=1)[:, :k]
        columns = np.array(self.varying)[chosen]
        sizes = np.array(self.sizes)[columns]
        shift = rng.integers(1, sizes)
        second = first.copy()
        values = np.take_along_axis(first, columns, axis=1)
        np.put_along_axis(second, columns, (values + shift) % sizes, axis=1)
        return first, second


def _fold(rows: Rows, sizes: Sequence[int]) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
    """Number the distinct rows: a dense key for each row, and for each column the sorted table that leads to it.

    Keys are made dense after every column, so they stay below the number of rows and never overflow.
    """
    tables: list[NDArray[np.int64]] = []
    key = np.zeros(len(rows), dtype=np.int64)
    for column, size in enumerate(sizes):
        table, key = np.unique(key * size + rows[:, column], return_inverse=True)
        tables.append(table)
    return tables, key


def row_numbers(rows: Rows) -> NDArray[np.int64]:
    """A number for each row, (n,): equal rows have the same, and all from 0 to the number of distinct rows − 1 occur.

    >>> row_numbers(np.array([[3, 0], [1, 1], [3, 0]])).tolist()
    [1, 0, 1]
    """
    sizes = [int(column.max()) + 1 for column in rows.T]
    if math.prod(sizes) >= 2**63:
        return _fold(rows, sizes)[1].reshape(-1)
    key = np.zeros(len(rows), dtype=np.int64)
    for size, column in zip(sizes, rows.T, strict=True):
        key = key * size + column
    return np.unique(key, return_inverse=True)[1].reshape(-1)


def scored_factors(grid: FactorGrid) -> tuple[int, ...]:
    """The observed factors that take more than one value: those that can be scored."""
    return tuple(column for column in grid.observed if column in grid.varying)


class _RowLookup:
    """Finds rows among those that exist."""

    def __init__(self, rows: Rows, sizes: tuple[int, ...], names: tuple[str, ...]) -> None:
        if not len(rows):
            raise FactorError("an incomplete grid needs at least one row")
        self.rows = rows.copy()
        self.rows.setflags(write=False)
        self.sizes, self.names = sizes, names
        self._tables, key = _fold(rows, sizes)
        counts = np.bincount(key)
        if counts.max() > 1:
            twice = rows[np.argmax(key == counts.argmax())]
            raise FactorError(
                f"row {twice.tolist()} is present {counts.max()} times; add an unobserved factor (an instance number) "
                "that tells its images apart"
            )
        self._position = np.argsort(key)

    def find(self, rows: Rows) -> NDArray[np.int64]:
        key = np.zeros(len(rows), dtype=np.int64)
        known = np.ones(len(rows), dtype=bool)
        for column, (size, table) in enumerate(zip(self.sizes, self._tables, strict=True)):
            wanted = key * size + rows[:, column]
            key = np.minimum(np.searchsorted(table, wanted), len(table) - 1)
            known &= table[key] == wanted
        if not known.all():
            missing = rows[np.flatnonzero(~known)[0]]
            described = ", ".join(f"{name} = {value}" for name, value in zip(self.names, missing, strict=True))
            raise FactorError(f"no image has {described}: this grid is incomplete and holds {len(self.rows):,} rows")
        return self._position[key]

    def matching(self, columns: Mapping[int, int]) -> NDArray[np.int64]:
        mask = np.ones(len(self.rows), dtype=bool)
        for column, value in columns.items():
            mask &= self.rows[:, column] == value
        return np.flatnonzero(mask)

    def pairs(self, n: int, k: int, rng: np.random.Generator) -> tuple[Rows, Rows]:
        partners = _Partners(self.rows, self.sizes, k)
        able = partners.nearby > 0
        first, second = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
        waiting = np.arange(n)
        while len(waiting):
            if not able.any():
                raise FactorError(f"no two rows differ in exactly {k} factors: such pairs cannot be drawn here")
            first[waiting] = rng.choice(np.flatnonzero(able), size=len(waiting))
            second[waiting] = partners.draw(first[waiting], rng)
            waiting = waiting[second[waiting] < 0]
            able[first[waiting]] = False
        return self.rows[first], self.rows[second]


class _Partners:
    """Finds the rows that differ from a given row in exactly k factors.

    Cut the columns into k + 1 blocks: k differences leave one of them untouched. So every partner shares a block with the
    given row, and `nearby` counts the rows that do (those that share several, several times).
    """

    _GUESSES = 16

    def __init__(self, rows: Rows, sizes: Sequence[int], k: int) -> None:
        self._k = k
        self._columns = np.ascontiguousarray(rows.T, dtype=np.min_scalar_type(max(sizes)))
        self._blocks: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]] = []
        self.nearby = np.zeros(len(rows), dtype=np.int64)
        for block in np.array_split(np.arange(len(sizes)), k + 1):
            key = _fold(rows[:, block], [sizes[column] for column in block])[1]
            edges = np.concatenate([[0], np.cumsum(np.bincount(key))])
            self._blocks.append((key, edges, np.argsort(key)))
            self.nearby += np.diff(edges)[key] - 1

    def draw(self, rows: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """For each row a partner, uniform among its partners, or −1 where it has none.

        Where partners are plentiful, a few random guesses find one for most rows; a correct guess is a uniform partner.
        The remaining rows are looked up, each distinct row once.
        """
        drawn = np.full(len(rows), -1)
        left = np.arange(len(rows))
        for _ in range(self._GUESSES):
            guess = rng.integers(len(self.nearby), size=len(left))
            right = self._differ(self._columns.take(guess, axis=1), self._columns.take(rows[left], axis=1))
            drawn[left[right]] = guess[right]
            left = left[~right]
        left = left[np.argsort(rows[left])]
        for same in np.split(left, np.flatnonzero(np.diff(rows[left])) + 1) if len(left) else []:
            partners = self.of(int(rows[same[0]]))
            if len(partners):
                drawn[same] = rng.choice(partners, size=len(same))
        return drawn

    def of(self, row: int) -> NDArray[np.int64]:
        """All partners of a row."""
        this = self._columns[:, [row]]
        # Many rows are compared faster in memory order, all of them, than by picking out those that share a block.
        if self.nearby[row] > len(self.nearby) // 50:
            return np.flatnonzero(self._differ(self._columns, this))
        near = np.concatenate([order[edges[key[row]] : edges[key[row] + 1]] for key, edges, order in self._blocks])
        return np.unique(near[self._differ(self._columns.take(near, axis=1), this)])

    def _differ(self, columns: NDArray[Any], others: NDArray[Any]) -> NDArray[np.bool_]:
        return (columns != others).sum(axis=0, dtype=np.min_scalar_type(len(columns))) == self._k
