"""Standardised codes as a linear map: products with tables of any size, at the cost of their entries.

A sparse code is no longer sparse once its mean is subtracted. But (x − mean) / deviation is a · x + z, where z is what zero
becomes, so that X̃ v = X (a v) + zᵀv in every row: products with the sparse matrix, and one number more. Entries are held by
rows and by columns, so that a product with a vector of which few numbers are not zero costs only the entries that they meet.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hackle.core.code_table import DENSE, CodeTable, partition
from hackle.information.entries import Device, Entries, Scale

_FEW = 4
"""If less than one in so many numbers of a vector is not zero, only the entries that these meet are multiplied."""

_WIDE = 2
"""Inner products of all codes are computed if there are so many times as many rows."""
_ROWS = 4096
"""So many rows at a time, whose copy in float32 is small."""


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
        self._ranges = list(partition(table)) if like is None else like._ranges
        # In one tensor: small ones that outlive the blocks they belong to leave holes in memory, which then grows.
        empty = torch.empty(len(Scale._fields), table.shape[1], dtype=torch.float64, device=device)
        self._scales, self._is_scaled = (empty, False) if like is None else (like._scales, True)
        self._held: Tensor | None = None
        self._by_column: Listed | None = None
        if table.is_sparse:
            self._by_column, self._zero = self._build()
        elif 8 * self.shape[0] * self.shape[1] <= DENSE:
            self._held = self._joined()
        elif like is None:
            for _ in self._blocks():
                pass
        self._is_scaled = True

    def _scale(self, part: tuple[int, int], entries: Entries) -> Scale:
        own = self._scales[:, slice(*part)]
        if not self._is_scaled:
            own[:] = torch.stack(Scale.of(entries))
        return Scale(*own)

    def _blocks(self) -> Iterator[Tensor]:
        """The standardised columns of one block after another, (width, n)."""
        if self._held is not None:
            yield self._held
            return
        for part in self._ranges:
            entries = Entries(self._table.block(*part), self._device)
            values, _ = self._scale(part, entries).apply(entries)
            kept = torch.from_numpy(self._varying[slice(*part)]).to(values.device)
            yield values.view(entries.width, entries.height)[kept]

    def _joined(self) -> Tensor:
        """All blocks in one tensor, (c', n)."""
        whole, start = torch.empty(self.shape[::-1], dtype=torch.float64, device=self._device), 0
        for block in self._blocks():
            whole[start : start + len(block)] = block
            start += len(block)
        return whole

    def _build(self) -> tuple[Listed, Tensor]:
        """The scaled entries, and what zero becomes in each column."""
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
        return Listed(_starts(torch.cat(counts)), torch.cat(rows), torch.cat(values)), torch.cat(zeros)

    @cached_property
    def _by_row(self) -> Listed:
        assert self._by_column is not None
        return self._by_column.transposed(self.shape[0])

    def times(self, weights: Tensor) -> Tensor:
        """X̃ w, (n,), for weights (c',)."""
        some = torch.nonzero(weights)[:, 0]
        few = _FEW * len(some) < len(weights)
        if self._by_column is not None:
            if few:
                product = self._by_column.sums(some, weights[some], self.shape[0])
            else:
                product = self._by_row.matrix(self.shape[1]) @ weights
            return product + self._zero @ weights
        product, start = weights.new_zeros(self.shape[0]), 0
        for block in self._blocks():
            own = weights[start : start + len(block)]
            some = torch.nonzero(own)[:, 0]
            product += own[some] @ block[some] if few else own @ block
            start += len(block)
        return product

    def transposed_times(self, numbers: Tensor) -> Tensor:
        """X̃ᵀ r, (c',), for numbers (n,)."""
        some = torch.nonzero(numbers)[:, 0]
        few = _FEW * len(some) < len(numbers)
        if self._by_column is not None:
            if few:
                product = self._by_row.sums(some, numbers[some], self.shape[1])
            else:
                product = self._by_column.matrix(self.shape[0]) @ numbers
            return product + self._zero * numbers.sum()
        blocks = (block[:, some] @ numbers[some] if few else block @ numbers for block in self._blocks())
        return torch.cat(list(blocks))

    @property
    def is_held(self) -> bool:
        """Whether these are dense codes that are held in memory."""
        return self._held is not None

    def entries(self, places: Tensor, rows: Tensor) -> Tensor:
        """Some columns of held codes in some rows, (k, m); the column c', the intercept's, is 1 in every row."""
        assert self._held is not None
        own = places < self.shape[1]
        return torch.where(own[:, None], self._held[torch.where(own, places, 0)[:, None], rows], 1.0)

    @cached_property
    def gram(self) -> Tensor | None:
        """Inner products of held codes over all rows, (c' + 1, c' + 1), in float32, if they are few; None if they are not."""
        if self._held is None or _WIDE * self.shape[1] > self.shape[0]:
            return None
        sums = torch.zeros(self.shape[1] + 1, self.shape[1] + 1, device=self._held.device)
        for start in range(0, self.shape[0], _ROWS):
            codes = torch.nn.functional.pad(self._held[:, start : start + _ROWS].float(), (0, 0, 0, 1), value=1.0)
            sums.addmm_(codes, codes.T)
        return sums

    def outputs_of_several(self, weights: Tensor) -> Tensor:
        """X̃ w of held codes, (k, n), for several w at once, (k, c' + 1), the last of which are the intercepts'."""
        assert self._held is not None
        return (_padded(weights[:, :-1]) @ self._held)[: len(weights)].add_(weights[:, -1:])

    def pulls_of_several(self, numbers: Tensor) -> Tensor:
        """X̃ᵀ r of held codes, (k, c' + 1), for several r at once, (k, n)."""
        assert self._held is not None
        return torch.cat([(_padded(numbers) @ self._held.T)[: len(numbers)], numbers.sum(dim=1, keepdim=True)], dim=1)

    def part(self, rows: Tensor, columns: Tensor) -> Part:
        """Some rows and some columns, in order; the column c', the intercept's, is 1 in every row."""
        kept = columns[columns < self.shape[1]]
        if self._by_column is not None:
            zero = torch.nn.functional.pad(self._zero, (0, 1), value=1.0)[columns]
            return _listed_part(self._by_row, self._by_column, rows, kept, zero)
        chosen, start = [], 0
        for block in self._blocks():
            own = kept[(kept >= start) & (kept < start + len(block))] - start
            chosen.append(block[own] if len(rows) == self.shape[0] else block[own][:, rows])
            start += len(block)
        if len(kept) < len(columns):
            chosen.append(chosen[0].new_ones(1, len(rows)))
        matrix = torch.cat(chosen)
        return Part(matrix.T, matrix, matrix.new_zeros(len(columns)), matrix.square().sum(dim=1))


class Listed(NamedTuple):
    """Entries of a matrix by rows, one row after another, or by columns: where each starts, and the place within it, (e,), and
    value, (e,), of its entries."""

    starts: Tensor
    place: Tensor
    value: Tensor

    def _at(self, some: Tensor) -> tuple[Tensor, Tensor]:
        """The entries of some rows, and how many each has."""
        counts = self.starts[some + 1] - self.starts[some]
        ends = counts.cumsum(dim=0)
        entry = torch.arange(int(ends[-1]) if len(ends) else 0, device=some.device)
        return entry + (self.starts[some] - (ends - counts)).repeat_interleave(counts), counts

    def count(self, some: Tensor) -> int:
        """How many entries some rows have."""
        return int((self.starts[some + 1] - self.starts[some]).sum())

    def sums(self, some: Tensor, numbers: Tensor, width: int) -> Tensor:
        """The sum of some rows, each times its number, (width,)."""
        entry, counts = self._at(some)
        products = self.value[entry] * numbers.repeat_interleave(counts)
        return torch.zeros(width, dtype=products.dtype, device=products.device).index_add_(
            0, self.place[entry], products
        )

    def some(self, rows: Tensor, columns: Tensor, width: int) -> Listed:
        """The entries of some rows of `width` columns in some columns, both numbered anew."""
        entry, counts = self._at(rows)
        number = torch.full((width,), -1, device=rows.device)
        number[columns] = torch.arange(len(columns), device=rows.device)
        place = number[self.place[entry]]
        kept = torch.nonzero(place >= 0)[:, 0]
        owner = torch.arange(len(rows), device=rows.device).repeat_interleave(counts)[kept]
        return Listed(_starts(torch.bincount(owner, minlength=len(rows))), place[kept], self.value[entry[kept]])

    def transposed(self, width: int) -> Listed:
        """The entries by columns, `width` of them."""
        owner = torch.arange(len(self.starts) - 1, device=self.place.device).repeat_interleave(self.starts.diff())
        order = torch.argsort(self.place, stable=True)
        counts = torch.bincount(self.place, minlength=width)
        return Listed(_starts(counts), owner[order], self.value[order])

    def matrix(self, width: int) -> Tensor:
        """A sparse matrix that shares the memory of the entries."""
        with warnings.catch_warnings():
            # PyTorch calls its compressed rows a beta; products with a vector are all that is used of them.
            warnings.filterwarnings("ignore", "Sparse", UserWarning)
            shape = len(self.starts) - 1, width
            return torch.sparse_csr_tensor(self.starts, self.place, self.value, shape, device=self.value.device)


def _padded(several: Tensor) -> Tensor:
    """With rows of zeros to a multiple of four: a product with seven rows takes twice as long as one with eight."""
    return torch.nn.functional.pad(several, (0, 0, 0, -len(several) % 4)) if len(several) > 1 else several


def _starts(counts: Tensor) -> Tensor:
    return torch.nn.functional.pad(counts.cumsum(dim=0), (1, 0))


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


def _listed_part(by_row: Listed, by_column: Listed, rows: Tensor, columns: Tensor, zero: Tensor) -> Part:
    """A part of sparse codes, from the entries of its rows or of its columns, whichever are fewer."""
    height, width = len(rows), len(zero)
    if by_row.count(rows) < by_column.count(columns):
        lying = by_row.some(rows, columns, len(by_column.starts) - 1)
        standing = lying.transposed(width)
    else:
        standing = by_column.some(columns, rows, len(by_row.starts) - 1)
        starts = torch.nn.functional.pad(standing.starts, (0, width - len(columns)), value=len(standing.value))
        standing = standing._replace(starts=starts)
        lying = standing.transposed(height)
    owner = torch.arange(width, device=zero.device).repeat_interleave(standing.starts.diff())
    sums, squares = (torch.zeros_like(zero).index_add_(0, owner, standing.value**power) for power in (1, 2))
    squares = squares + 2 * zero * sums + height * zero.square()
    return Part(lying.matrix(width), standing.matrix(height), zero, squares)
