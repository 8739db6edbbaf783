"""Factors of variation and the grid they span.

A factor row is one integer per factor; a grid maps rows to the flat index of an image and back. Rows are samples: an
array of rows has shape (n, f). A complete grid holds every combination, last factor fastest. An incomplete one holds
just the rows it was given, in the order of its images.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

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
    that tells two photographs of the same class apart, selects an image but is never scored.
    """

    name: str
    size: int
    kind: Kind = "ordinal"
    observed: bool = True
    values: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if self.size < 1:
            raise FactorError(f"factor {self.name!r} has size {self.size}; a factor has at least one value")
        if self.kind not in get_args(Kind):
            raise FactorError(
                f"factor {self.name!r} has kind {self.kind!r}; expected one of {', '.join(get_args(Kind))}"
            )
        if self.values is not None and len(self.values) != self.size:
            raise FactorError(
                f"factor {self.name!r} has {self.size} values but {len(self.values)} real numbers for them"
            )


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
            self.size = int(np.prod(self.sizes, dtype=object))
            if self.size >= 2**63:
                raise FactorError(
                    "a complete grid of this size cannot be indexed; list the rows that exist (present=…)"
                )
        else:
            self.size = len(self._lookup.rows)

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
            return np.asarray(np.ravel_multi_index(tuple(array.T), self.sizes), dtype=np.int64)
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
            return np.stack(np.unravel_index(flat, self.sizes), axis=1).astype(np.int64)
        return self._lookup.rows[flat]

    def draw(self, n: int, rng: np.random.Generator) -> Rows:
        """n rows drawn uniformly and independently from those that exist."""
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

    def draw_pairs(self, n: int, k: int, rng: np.random.Generator) -> tuple[Rows, Rows]:
        """n pairs of rows that differ in exactly k factors, which k being drawn anew for each pair.

        In a complete grid the first row, the set of k factors and their new values are each uniform. In an incomplete
        grid the first row is uniform over the rows that have a partner, the partner uniform among its partners.
        """
        able = [column for column, size in enumerate(self.sizes) if size > 1]
        if not 1 <= k <= len(able):
            raise FactorError(f"pairs can differ in 1 to {len(able)} factors here, not {k}")
        if self._lookup is not None:
            return self._lookup.pairs(n, k, rng)
        first = self.draw(n, rng)
        chosen = np.argsort(rng.random((n, len(able))), axis=1)[:, :k]
        columns = np.array(able)[chosen]
        sizes = np.array(self.sizes)[columns]
        shift = rng.integers(1, sizes)
        second = first.copy()
        values = np.take_along_axis(first, columns, axis=1)
        np.put_along_axis(second, columns, (values + shift) % sizes, axis=1)
        return first, second


class _RowLookup:
    """Finds rows among those that exist: each column folds into the key, and keys are kept dense so they never overflow."""

    def __init__(self, rows: Rows, sizes: tuple[int, ...], names: tuple[str, ...]) -> None:
        if not len(rows):
            raise FactorError("an incomplete grid needs at least one row")
        self.rows = rows.copy()
        self.rows.setflags(write=False)
        self.sizes, self.names = sizes, names
        self._tables: list[NDArray[np.int64]] = []
        key = np.zeros(len(rows), dtype=np.int64)
        for column, size in enumerate(sizes):
            table, key = np.unique(key * size + rows[:, column], return_inverse=True)
            self._tables.append(table)
        self._position = np.empty(len(table), dtype=np.int64)
        self._position[key] = np.arange(len(rows))
        if len(table) != len(rows):
            counts = np.bincount(key)
            twice = rows[np.flatnonzero(key == counts.argmax())[0]]
            raise FactorError(
                f"row {twice.tolist()} is present {counts.max()} times; add an unobserved factor (an instance number) "
                "that tells its images apart"
            )

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
        first, second = np.empty((n, self.rows.shape[1]), np.int64), np.empty((n, self.rows.shape[1]), np.int64)
        filled = 0
        for candidate in rng.permutation(len(self.rows)) if n else []:
            if len(self._partners(candidate, k)):
                break
        else:
            if n:
                raise FactorError(
                    f"no two rows differ in exactly {k} factors: such pairs cannot be drawn from this grid"
                )
        while filled < n:
            candidate = int(rng.integers(len(self.rows)))
            partners = self._partners(candidate, k)
            if len(partners):
                first[filled], second[filled] = self.rows[candidate], self.rows[rng.choice(partners)]
                filled += 1
        return first, second

    def _partners(self, candidate: int, k: int) -> NDArray[np.int64]:
        return np.flatnonzero((self.rows != self.rows[candidate]).sum(axis=1) == k)
