"""The rows of an incomplete grid: finding the image of a row, the rows that share some values, and pairs of rows.

`hackle.core.factors.FactorGrid` computes all this in closed form where its grid is complete; here rows are looked up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]


class FactorError(ValueError):
    """A factor row, name or draw that the grid cannot serve."""


def fold(rows: Rows, sizes: Sequence[int]) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
    """Number the distinct rows: a dense key for each row, and for each column the sorted table that leads to it.

    Keys are made dense after every column, so they stay below the number of rows and never overflow.
    """
    tables: list[NDArray[np.int64]] = []
    key = np.zeros(len(rows), dtype=np.int64)
    for column, size in enumerate(sizes):
        table, key = np.unique(key * size + rows[:, column], return_inverse=True)
        tables.append(table)
    return tables, key


def number_rows(rows: Rows) -> NDArray[np.int64]:
    """A number for each row, (n,): equal rows have the same, and all from 0 to the number of distinct rows − 1 occur.

    >>> number_rows(np.array([[3, 0], [1, 1], [3, 0]])).tolist()
    [1, 0, 1]
    """
    sizes = [int(column.max()) + 1 for column in rows.T]
    if math.prod(sizes) >= 2**63:
        return fold(rows, sizes)[1].reshape(-1)
    key = np.zeros(len(rows), dtype=np.int64)
    for size, column in zip(sizes, rows.T, strict=True):
        key = key * size + column
    return np.unique(key, return_inverse=True)[1].reshape(-1)


class PresentRows:
    """The rows that exist, in the order of their images."""

    def __init__(self, rows: Rows, sizes: tuple[int, ...], names: tuple[str, ...]) -> None:
        if not len(rows):
            raise FactorError("an incomplete grid needs at least one row")
        self.rows = rows.copy()
        self.rows.setflags(write=False)
        self.sizes, self.names = sizes, names
        self._tables, key = fold(rows, sizes)
        counts = np.bincount(key)
        if counts.max() > 1:
            twice = rows[np.argmax(key == counts.argmax())]
            raise FactorError(
                f"row {twice.tolist()} is present {counts.max()} times; add an unobserved factor (an instance number) "
                "that tells its images apart"
            )
        self._position = np.argsort(key)

    def find(self, rows: Rows) -> NDArray[np.int64]:
        """The position of each of these rows, (n,)."""
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
        """The positions of the rows that have these values in these columns."""
        mask = np.ones(len(self.rows), dtype=bool)
        for column, value in columns.items():
            mask &= self.rows[:, column] == value
        return np.flatnonzero(mask)

    def pairs(self, n: int, k: int, rng: np.random.Generator) -> tuple[Rows, Rows]:
        """n pairs of rows that differ in exactly k factors, the first uniform over the rows that have a partner."""
        partners = Partners(self.rows, self.sizes, k)
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


class Partners:
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
            key = fold(rows[:, block], [sizes[column] for column in block])[1]
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
