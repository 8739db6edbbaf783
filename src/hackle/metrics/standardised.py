"""Standardised codes as a linear map: products with tables of any size, at the cost of their entries.

A sparse code is no longer sparse once its mean is subtracted. But (x − mean) / deviation is a · x + z, where z is what zero
becomes, so that X̃ v = X (a v) + zᵀv in every row: products with the sparse matrix, and one number more.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hackle.core.code_table import DENSE, CodeTable, partition
from hackle.information.entries import Device, Entries, Scale


class StandardisedCodes:
    """The codes X̃ (n, c') of a table that vary, with mean 0 and variance 1 over the rows of `like`, or over its own.

    varying: which codes of the table, (c,), to keep. Entries of sparse codes are held; dense codes are held if they are not too
    many, and otherwise read again for every product.
    """

    def __init__(
        self,
        table: CodeTable,
        varying: NDArray[np.bool_],
        device: Device = None,
        like: StandardisedCodes | None = None,
    ) -> None:
        self._table, self._varying, self._device = table, varying, device
        self.shape: tuple[int, int] = len(table), int(varying.sum())
        self._scales: dict[tuple[int, int], Scale] = {} if like is None else like._scales
        self._ranges = list(partition(table)) if like is None else list(like._scales)
        self._held: list[Tensor] | None = None
        self._sparse: Tensor | None = None
        if table.is_sparse:
            self._build()
            return
        if 8 * self.shape[0] * self.shape[1] <= DENSE:
            self._held = list(self._blocks())
        elif like is None:
            for _ in self._blocks():
                pass

    def _scale(self, part: tuple[int, int], entries: Entries) -> Scale:
        if part not in self._scales:
            self._scales[part] = Scale.of(entries)
        return self._scales[part]

    def _blocks(self) -> Iterator[Tensor]:
        """The standardised columns of one block after another, (width, n)."""
        if self._held is not None:
            yield from self._held
            return
        for part in self._ranges:
            entries = Entries(self._table.block(*part), self._device)
            values, _ = self._scale(part, entries).apply(entries)
            kept = torch.from_numpy(self._varying[slice(*part)]).to(values.device)
            yield values.view(entries.width, entries.height)[kept]

    def _build(self) -> None:
        """The scaled entries by rows, and what zero becomes in each column."""
        values, rows, counts, zeros = [], [], [], []
        for part in self._ranges:
            entries = Entries(self._table.block(*part), self._device)
            assert entries.where is not None
            scale = self._scale(part, entries)
            kept = torch.from_numpy(self._varying[slice(*part)]).to(entries.device)
            chosen = entries.of_columns(kept)
            values.append((entries.values * entries.of_columns(1 / (scale.spread * scale.deviation)))[chosen])
            rows.append(entries.where[0][chosen])
            counts.append((entries.height - entries.absent)[kept])
            zeros.append(scale.apply(entries)[1][kept])
        value, row, count = torch.cat(values), torch.cat(rows), torch.cat(counts)
        column = torch.arange(self.shape[1], device=row.device).repeat_interleave(count)
        order = torch.argsort(row, stable=True)
        self._sparse = _csr(row[order], column[order], value[order], self.shape)
        self._zero = torch.cat(zeros)

    def times(self, weights: Tensor) -> Tensor:
        """X̃ w, (n,), for weights (c',)."""
        if self._sparse is not None:
            return self._sparse @ weights + self._zero @ weights
        found, start = weights.new_zeros(self.shape[0]), 0
        for block in self._blocks():
            found += weights[start : start + len(block)] @ block
            start += len(block)
        return found

    def rows(self, rows: Tensor) -> Rows:
        """Some rows, at these places in order."""
        if self._sparse is None:
            return Rows(rows, torch.cat([block[:, rows] for block in self._blocks()]))
        starts, column, value = (getattr(self._sparse, part)() for part in ("crow_indices", "col_indices", "values"))
        counts = starts[rows + 1] - starts[rows]
        ends = counts.cumsum(dim=0)
        place = torch.arange(int(ends[-1]) if len(ends) else 0, device=rows.device)
        place = place + (starts[rows] - (ends - counts)).repeat_interleave(counts)
        return Rows(rows, Listed(torch.nn.functional.pad(ends, (1, 0)), column[place], value[place], self._zero))


class Listed(NamedTuple):
    """Entries of some rows, one row after another: where rows start, columns and values; and what zero becomes, (c',)."""

    starts: Tensor
    column: Tensor
    value: Tensor
    zero: Tensor


class Rows:
    """Some rows of standardised codes: their columns (c', n), or the entries of sparse ones."""

    def __init__(self, rows: Tensor, codes: Tensor | Listed) -> None:
        self._height, self._codes = len(rows), codes

    def transposed_times(self, numbers: Tensor) -> Tensor:
        """X̃ᵀ r, (c',), for numbers of these rows, (n,)."""
        if isinstance(self._codes, Tensor):
            return self._codes @ numbers
        starts, column, value, zero = self._codes
        found = torch.zeros_like(zero).index_add_(0, column, value * numbers.repeat_interleave(starts.diff()))
        return found + zero * numbers.sum()

    def part(self, columns: Tensor) -> Part:
        """Some of the columns, of which c' is the intercept's: a matrix, and what is added in every row."""
        if isinstance(self._codes, Tensor):
            whole = len(self._codes)
            chosen = self._codes[columns[columns < whole]]
            if len(chosen) < len(columns):
                chosen = torch.cat([chosen, chosen.new_ones(1, self._height)])
            return Part(chosen.T, chosen, chosen.new_zeros(len(columns)), chosen.square().sum(dim=1))
        starts, column, value, zero = self._codes
        place = torch.full((len(zero) + 1,), -1, device=column.device)
        place[columns] = torch.arange(len(columns), device=column.device)
        column = place[column]
        kept = torch.nonzero(column >= 0)[:, 0]
        row = torch.searchsorted(starts, kept, right=True) - 1
        column, value = column[kept], value[kept]
        zero = torch.nn.functional.pad(zero, (0, 1), value=1.0)[columns]
        sums = torch.zeros_like(zero).index_add_(0, column, value)
        squares = torch.zeros_like(zero).index_add_(0, column, value.square())
        matrix = _csr(row, column, value, (self._height, len(columns)))
        order = torch.argsort(column, stable=True)
        transpose = _csr(column[order], row[order], value[order], (len(columns), self._height))
        return Part(matrix, transpose, zero, squares + 2 * zero * sums + self._height * zero.square())


def _csr(major: Tensor, minor: Tensor, value: Tensor, shape: tuple[int, int]) -> Tensor:
    """A sparse matrix from entries in the order of its rows."""
    starts = torch.nn.functional.pad(torch.bincount(major, minlength=shape[0]).cumsum(dim=0), (1, 0))
    with warnings.catch_warnings():
        # PyTorch calls its compressed rows a beta; products with a vector are all that is used of them.
        warnings.filterwarnings("ignore", "Sparse", UserWarning)
        return torch.sparse_csr_tensor(starts, minor, value, shape)


class Part(NamedTuple):
    """Some rows and columns of standardised codes: a matrix, its transpose, what is added to every row, (c,), and the sum of
    squares of each column, (c,)."""

    matrix: Tensor
    transpose: Tensor
    zero: Tensor
    squares: Tensor

    def times(self, weights: Tensor) -> Tensor:
        return self.matrix @ weights + self.zero @ weights

    def transposed_times(self, numbers: Tensor) -> Tensor:
        return self.transpose @ numbers + self.zero * numbers.sum()
