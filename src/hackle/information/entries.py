"""The entries of a block of codes as tensors on a device, and what is summed over them column by column.

A column's rows without an entry are zero. They are never listed: what they add to a sum is counted.
"""

from __future__ import annotations

from copy import copy
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hackle.core.code_table import Block, CodeTable, partition
from hackle.core.progress import following

Device = torch.device | str | None


class Entries:
    """The entries of `width` columns, column after column: values (e,), and how many rows of each have none, (width,)."""

    def __init__(self, block: Block, device: Device = None) -> None:
        self.height, self.width = block.height, block.width
        self.values = torch.from_numpy(block.values).to(device)
        self.where = block.where and tuple(torch.from_numpy(part).to(device) for part in block.where)
        self.absent = torch.zeros(self.width, dtype=torch.int64, device=self.values.device)
        if self.where is not None:
            self.absent = self.height - torch.bincount(self.where[1], minlength=self.width)

    @property
    def device(self) -> torch.device:
        return self.values.device

    def of_rows(self, values: Tensor) -> Tensor:
        """What belongs to each entry's row, (e,), of something that rows have, (n,)."""
        return values.repeat(self.width) if self.where is None else values[self.where[0]]

    def of_columns(self, values: Tensor) -> Tensor:
        """What belongs to each entry's column, (e,), of something that columns have, (width,)."""
        return values.repeat_interleave(self.height) if self.where is None else values[self.where[1]]

    def sums(self, values: Tensor) -> Tensor:
        """The sum of numbers (e,) over the entries of each column, (width,)."""
        if self.where is None:
            return values.view(self.width, self.height).sum(dim=1)
        return torch.zeros(self.width, dtype=values.dtype, device=self.device).index_add_(0, self.where[1], values)

    def zeros_by_class(self, classes: Tensor, size: int) -> Tensor:
        """How many of a column's zeros, which have no entry, are in rows of each of `size` classes (n,): (width, size)."""
        if self.where is None:
            return torch.zeros(self.width, size, dtype=torch.int64, device=self.device)
        rows, places = self.where
        listed = torch.bincount(places * size + classes[rows], minlength=self.width * size)
        return torch.bincount(classes, minlength=size) - listed.view(self.width, size)

    def ranges(self) -> tuple[Tensor, Tensor]:
        """The smallest and the largest value of each column, zeros included, (width,) each."""
        if self.where is None:
            low, high = self.values.view(self.width, self.height).aminmax(dim=1)
            return low, high
        bounds = []
        for how, start in (("amin", torch.inf), ("amax", -torch.inf)):
            ends = torch.full((self.width,), start, dtype=self.values.dtype, device=self.device)
            ends.scatter_reduce_(0, self.where[1], self.values, how)
            nearer = torch.minimum if how == "amin" else torch.maximum
            bounds.append(torch.where(self.absent > 0, nearer(ends, torch.zeros_like(ends)), ends))
        return bounds[0], bounds[1]


class Scale(NamedTuple):
    """How the codes of a block are standardised, all (width,): minus `low`, divided by `spread`, minus `mean`, divided by
    `deviation`. Squares of very small or very large codes would leave the range of float64 without the first two."""

    low: Tensor
    spread: Tensor
    mean: Tensor
    deviation: Tensor

    @classmethod
    def of(cls, entries: Entries) -> Scale:
        """The scale with which the block's codes have mean 0 and variance 1; a constant code becomes 0."""
        low, high = entries.ranges()
        spread = torch.where(high > low, high - low, 1.0)
        values, zero = (entries.values - entries.of_columns(low)) / entries.of_columns(spread), -low / spread
        mean = (entries.sums(values) + entries.absent * zero) / entries.height
        squares = entries.sums((values - entries.of_columns(mean)) ** 2) + entries.absent * (zero - mean) ** 2
        deviation = torch.sqrt(squares / entries.height)
        return cls(low, spread, mean, torch.where(deviation > 0, deviation, 1.0))

    def apply(self, entries: Entries) -> tuple[Tensor, Tensor]:
        """The standardised entries (e,) and, for each column, what zero becomes, (width,)."""
        low, spread, mean, deviation = (entries.of_columns(one) for one in self)
        return ((entries.values - low) / spread - mean) / deviation, (
            -self.low / self.spread - self.mean
        ) / self.deviation


def correlations(entries: Entries, values: Tensor, zero: Tensor, numbers: Tensor) -> Tensor:
    """The correlation, (width,), of standardised codes, as `Scale.apply` gives them, and a standardised factor (n,)."""
    of_entries = entries.of_rows(numbers)
    listed = entries.sums(of_entries)
    return (entries.sums(values * of_entries) + zero * (numbers.sum() - listed)) / entries.height


def ranked(entries: Entries) -> Entries:
    """Each column's ranks in place of its values, ties sharing their mean, minus the rank of zeros that have no entry."""
    places = torch.arange(entries.width, device=entries.device)
    value = torch.cat([entries.values, torch.zeros_like(places, dtype=entries.values.dtype)])
    column = torch.cat([entries.of_columns(places), places])
    weight = torch.cat([torch.ones_like(entries.values), entries.absent.to(value.dtype)])
    order = torch.argsort(value, stable=True)
    order = order[torch.argsort(column[order], stable=True)]
    value, column, weight = value[order], column[order], weight[order]
    differs = torch.ones_like(column, dtype=torch.bool)
    differs[1:] = (value[1:] != value[:-1]) | (column[1:] != column[:-1])
    tie = differs.cumsum(dim=0) - 1
    shared = torch.zeros_like(value).index_add_(0, tie, weight)
    # Every column's weights add up to its rows.
    last = shared.cumsum(dim=0)[tie] - column * entries.height
    ranks = torch.empty_like(value)
    ranks[order] = last - (shared[tie] - 1) / 2
    of_zero = torch.where(entries.absent > 0, ranks[len(entries.values) :], 0.0)
    ordered = copy(entries)
    ordered.values = ranks[: len(entries.values)] - entries.of_columns(of_zero)
    return ordered


class Ranges(NamedTuple):
    """The smallest and the largest value of each code, (c,) each."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]

    @property
    def varying(self) -> NDArray[np.bool_]:
        """Which codes, (c,), are not constant: their range is above 1e-12 of their magnitude, beyond rounding error."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self.high - self.low > 1e-12 * np.maximum(np.abs(self.low), np.abs(self.high))


def code_ranges(table: CodeTable, device: Device = None) -> Ranges:
    """The range of every code of a table, in one pass."""
    bounds = [Entries(table.block(*part), device).ranges() for part in following(partition(table), "ranges")]
    low, high = (torch.cat(ends).cpu().numpy() for ends in zip(*bounds, strict=True))
    return Ranges(low, high)
