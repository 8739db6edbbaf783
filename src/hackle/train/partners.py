"""The second image of each pair: rows that share the factors that did not change, drawn by their weights.

Three ways, by what the data allow. `Complete`: every combination exists and is equally likely, so that values are drawn
factor by factor. `Cube`: rows have weights, or some are missing; the factors that change are drawn one after another from
sums of weights, which are kept for every choice of factors that are summed out, Π(Kᵢ + 1) numbers in all. `Listed` (in
`hackle.train.partner_lists`): the combinations are too many for that, as 40 attributes have, and the partners of each
existing row are listed.

Weights are whole numbers, whose sums are exact in any order: a draw has the same bits alone, in any stack and on any
device. Factors that are not observed are redrawn with each partner, like any other, and never count as changed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hackle.core.factors import FactorGrid
from hackle.core.randomness import Stream
from hackle.core.regimes import Pairs, RegimeError, check_pairs

SCALE = 2**45
"""What the weights of all rows sum to, nearly: a probability has a resolution of 3·10⁻¹⁴."""
MOST_CELLS = 2**26
"""The most sums of weights, 0.5 GiB, of a `Cube`."""
MOST_VALUES = 1_024
"""The most values of a factor of a `Cube`, since each draw looks at all of them; the rule laplace has no other way."""
MOST_LISTED = 2**27
"""The most entries in the lists of partners of `Listed`; 16 times as many sets times combinations are tried by `Cube`."""
_BITS = 62
"""Flags in a word."""


def uniform(stream: Stream, name: str, batch: int) -> Tensor:
    """(m, b) float64 in [0, 1), multiples of 2⁻⁵³."""
    words = stream.words(name, 2 * batch).view(-1, batch, 2)
    return ((words[..., 0] << 21) + (words[..., 1] >> 11)).to(torch.float64) * 2.0**-53


def below(part: Tensor, total: Tensor) -> Tensor:
    """The whole number that so large a part in [0, 1) of a total marks: 0 … total − 1."""
    return torch.minimum((part * total.to(torch.float64)).to(torch.int64), total - 1)


def pick(weights: Tensor, part: Tensor) -> Tensor:
    """An index (…) into weights (…, K), whole numbers, for a uniform number (…)."""
    sums = weights.cumsum(-1)
    return (sums <= below(part, sums[..., -1])[..., None]).sum(-1).clamp(max=weights.shape[-1] - 1)


def set_sizes(pairs: Pairs, factors: int) -> dict[int, float]:
    """The probability of each number of factors that may change."""
    drawn = {pairs.changed: 1.0} if pairs.changed else dict.fromkeys(range(1, factors), 1 / (factors - 1))
    if pairs.rule != "lib":
        return drawn
    return {k: 0.5 * (k == 1) + 0.5 * drawn.get(k, 0.0) for k in {1, *drawn}}


def sets_of(pairs: Pairs, factors: int, most: float) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Every set of factors that may change, (s, f), with a weight for each; refused where there are more than `most`."""
    sizes = set_sizes(pairs, factors)
    count = sum(math.comb(factors, k) for k in sizes)
    if count > most:
        raise RegimeError(
            f"pairs.changed is {pairs.changed}, which makes {count:,} sets of the {factors} factors, more than partners can be "
            "listed for here; set pairs.changed to 1, or another small number"
        )
    sets, weights = [], []
    for k in sorted(sizes):
        for chosen in combinations(range(factors), k):
            sets.append(np.isin(np.arange(factors), chosen))
            weights.append(round(2**40 * sizes[k] / math.comb(factors, k)))
    return np.array(sets), np.array(weights, np.int64)


def drawn_sets(stream: Stream, pairs: Pairs, batch: int, factors: int) -> Tensor:
    """Which of so many factors may change in each pair, bool (m, b, f): a random set of k."""
    count = torch.full((len(stream.seeds), batch), pairs.changed, device=stream.seeds.device)
    if not pairs.changed:
        count = 1 + stream.integers("count", (batch,), factors - 1)
    if pairs.rule == "lib":
        count = torch.where(stream.integers("one", (batch,), 2) == 0, 1, count)
    order = torch.argsort(stream.words("factors", batch * factors).view(*count.shape, factors), dim=-1, stable=True)
    return order.argsort(dim=-1) < count[..., None]


class Complete:
    """Partners in a complete grid whose rows are all equally likely, and what `Cube` shares with it."""

    def __init__(self, pairs: Pairs, grid: FactorGrid, rates: Sequence[float], device: torch.device) -> None:
        self._pairs, self._columns = pairs, check_pairs(grid, pairs)
        self._all, self._scored = grid.sizes, torch.tensor(self._columns, device=device)
        self._sizes = torch.tensor(grid.sizes, device=device)
        self._strides = torch.tensor(_strides(grid.sizes), device=device)
        self._is_scored = torch.tensor([column in self._columns for column in range(len(grid.sizes))], device=device)
        self._place = torch.tensor(
            [self._columns.index(column) if column in self._columns else 0 for column in range(len(grid.sizes))],
            device=device,
        )
        self._moving = [column for column in self._columns if grid.kinds[column] != "categorical"]
        self._rates = torch.tensor(rates, dtype=torch.float64, device=device)[:, None]

    def draw(self, stream: Stream, index: Tensor) -> tuple[Tensor, Tensor]:
        """Flat indices of the second images (m, b), and which scored factors may have changed (m, b, f); those that
        moved, under the rule laplace."""
        values = self._values(index)
        if self._pairs.rule == "laplace":
            moved = self._redrawn(stream, self._moved(stream, values), (~self._is_scored).expand(values.shape))
            return self._index(moved), (moved != values)[..., self._scored]
        allowed = self._allowed(stream, values)
        redrawn = allowed[..., self._place] | ~self._is_scored
        return self._index(self._redrawn(stream, values, redrawn)), allowed

    def _values(self, index: Tensor) -> Tensor:
        """The factor rows of flat indices, (m, b, all factors)."""
        return index[..., None] // self._strides % self._sizes

    def _index(self, values: Tensor) -> Tensor:
        return (values * self._strides).sum(-1)

    def _allowed(self, stream: Stream, values: Tensor) -> Tensor:
        return drawn_sets(stream, self._pairs, values.shape[1], len(self._columns))

    def _redrawn(self, stream: Stream, values: Tensor, redrawn: Tensor) -> Tensor:
        """The values with some of them drawn anew; under the rule differ other ones than before."""
        words = stream.words("values", values[0].numel()).view(values.shape)
        fresh = words * self._sizes >> 32
        if self._pairs.rule == "differ":
            others = (values + 1 + (words * (self._sizes - 1) >> 32)) % self._sizes
            fresh = torch.where(self._is_scored, others, fresh)
        return torch.where(redrawn, fresh, values)

    def _line(self, values: Tensor, column: int) -> Tensor:
        """The weights of the rows that differ from these in one factor at most, (m, b, K)."""
        return torch.ones((*values.shape[:2], self._all[column]), dtype=torch.int64, device=values.device)

    def _steps(self, values: Tensor, column: int, rate: Tensor, elsewhere: bool = False) -> Tensor:
        """The weights with which a factor moves to each of its values, (m, b, K): ∝ exp(−|w − v| · rate / ln K), times the
        weights of the rows there; 0 for the value that it has, if elsewhere. Divided by the largest and rounded, so that
        sums are exact."""
        there = torch.arange(self._all[column], device=values.device)
        distance = (there - values[..., column, None]).abs().to(torch.float64)
        moves = torch.exp(-distance * (rate / math.log(self._all[column]))[..., None])
        weights = moves * self._line(values, column).to(torch.float64)
        if elsewhere:
            weights = weights * (distance > 0)
        return (weights / weights.amax(-1, keepdim=True).clamp(min=1e-300) * 2**40).to(torch.int64)

    def _moved(self, stream: Stream, values: Tensor) -> Tensor:
        """Every ordered factor in turn moves by its law; where none did, one of them moves to another value."""
        batch = values.shape[1]
        rate = torch.where(self._rates < 0, 1 + 9 * uniform(stream, "rate", batch), self._rates)
        moved = values.clone()
        for column in self._moving:
            moved[..., column] = pick(self._steps(moved, column, rate), uniform(stream, f"move {column}", batch))
        still = (moved == values).all(-1)
        keys, others = [], []
        for column in self._moving:
            elsewhere = self._steps(values, column, rate, elsewhere=True)
            others.append(pick(elsewhere, uniform(stream, f"other {column}", batch)))
            keys.append(torch.where(elsewhere.sum(-1) > 0, stream.words(f"which {column}", batch), -1))
        which = torch.stack(keys, -1).argmax(-1)
        for place, column in enumerate(self._moving):
            moved[..., column] = torch.where(still & (which == place), others[place], moved[..., column])
        return moved


def _strides(sizes: Sequence[int]) -> list[int]:
    return [math.prod(sizes[column + 1 :]) for column in range(len(sizes))]


class Cube(Complete):
    """Partners by sums of weights. `tables` are the runs' weights of the images, (n,) whole numbers each; `table` says
    which of them each model has, (m,). `firsts` are the tables without rows that have no partner."""

    def __init__(
        self,
        pairs: Pairs,
        grid: FactorGrid,
        rates: Sequence[float],
        tables: Iterable[NDArray[np.int64]],
        table: Tensor,
        device: torch.device,
    ) -> None:
        super().__init__(pairs, grid, rates, device)
        stars = _strides([size + 1 for size in grid.sizes])
        self._star_strides = torch.tensor(stars, device=device)
        # Factors that are not scored come last, since the others are drawn by sums over them.
        self._order = sorted(
            range(len(grid.sizes)), key=lambda column: (column not in self._columns, grid.sizes[column])
        )
        self._later: dict[int, tuple[Tensor, Tensor, Tensor]] = {}
        for place, column in enumerate(self._order):
            later = [each for each in self._order[place + 1 :] if each in self._columns]
            if pairs.rule == "differ" and column in self._columns:
                strides = torch.tensor([stars[each] for each in later], dtype=torch.int64, device=device)
                subsets = torch.from_numpy(_subsets(len(later))).to(device)
                self._later[column] = torch.tensor(later, dtype=torch.int64, device=device), strides, subsets
        cells = (
            np.arange(len(grid)) if grid.complete else grid.rows(np.arange(len(grid))) @ np.array(_strides(grid.sizes))
        )
        self._image_of = None
        if not grid.complete:
            image = np.zeros(math.prod(grid.sizes), np.int64)
            image[cells] = np.arange(len(grid))
            self._image_of = torch.from_numpy(image).to(device)
            self._rows = torch.from_numpy(grid.rows(np.arange(len(grid))).copy()).to(device)
        free = tuple(column for column in range(len(grid.sizes)) if column not in self._columns)
        self._sets, self._set_weights = np.zeros((0, 0), bool), torch.zeros(0)
        if pairs.rule == "differ":
            combinations_of = math.prod(grid.sizes[column] for column in self._columns)
            self._sets, weights = sets_of(pairs, len(self._columns), 16 * MOST_LISTED / combinations_of)
            self._set_weights = torch.from_numpy(weights).to(device)
        cubes, flags, self.firsts = [], [], []
        for weights in tables:
            dense = np.zeros(math.prod(grid.sizes), np.int64)
            dense[cells] = weights
            dense = dense.reshape(grid.sizes)
            scored = dense.sum(axis=free, keepdims=True)
            able, marks = self._partnered(scored)
            flags.append(marks)
            self.firsts.append(np.where(np.broadcast_to(able, grid.sizes).reshape(-1)[cells], weights, 0))
            cubes.append(torch.from_numpy(_sums(dense).reshape(-1)).to(device))
        self._cube = torch.cat(cubes)
        self._start = (table * len(cubes[0]))[:, None]
        self._flags = torch.from_numpy(np.stack(flags)).to(device) if pairs.rule == "differ" else None
        self._table = table
        scored_sizes = [grid.sizes[column] for column in self._columns]
        self._scored_strides = torch.tensor(_strides(scored_sizes), device=device)
        self._chosen_sets = torch.from_numpy(self._sets).to(device)

    def _partnered(self, weights: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Which combinations of scored factors have a partner, and under differ, in which of the sets, as bits."""
        if self._pairs.rule == "laplace":
            able = np.zeros(weights.shape, bool)
            for column in self._moving:
                able |= weights.sum(axis=column, keepdims=True) > weights
            return with_partners(able & (weights > 0), "moves one ordered factor"), np.zeros(0, np.int64)
        if self._pairs.rule == "differ":
            marks = np.zeros((weights.size, -(-len(self._sets) // _BITS)), np.int64)
            able = np.zeros(weights.shape, bool)
            for number, chosen in enumerate(self._sets):
                others = weights
                for place in np.flatnonzero(chosen):
                    others = others.sum(axis=self._columns[place], keepdims=True) - others
                able |= others > 0
                marks[:, number // _BITS] |= (others > 0).reshape(-1).astype(np.int64) << number % _BITS
            return with_partners(able & (weights > 0), "differs in the factors that change"), marks
        there = (weights > 0).astype(np.int64)
        most = max(set_sizes(self._pairs, len(self._columns)))
        several = any(there.sum(axis=axes).max() > 1 for axes in combinations(self._columns, most))
        return with_partners(there > 0 if several else there < 0, f"differs in {most} factors at most"), np.zeros(
            0, np.int64
        )

    def _values(self, index: Tensor) -> Tensor:
        return super()._values(index) if self._image_of is None else self._rows[index]

    def _index(self, values: Tensor) -> Tensor:
        cell = super()._index(values)
        return cell if self._image_of is None else self._image_of[cell]

    def _allowed(self, stream: Stream, values: Tensor) -> Tensor:
        """Under differ, a set by its law given that the row has a partner for it."""
        if self._flags is None:
            return super()._allowed(stream, values)
        cell = (values[..., self._scored] * self._scored_strides).sum(-1)
        words = self._flags[self._table[:, None], cell]
        number = torch.arange(len(self._sets), device=cell.device)
        possible = words[..., number // _BITS] >> number % _BITS & 1
        return self._chosen_sets[pick(possible * self._set_weights, uniform(stream, "set", values.shape[1]))]

    def _redrawn(self, stream: Stream, values: Tensor, redrawn: Tensor) -> Tensor:
        """Factor by factor, from the sums over those that are still to come."""
        now = torch.where(redrawn, self._sizes, values)
        for column in self._order:
            differ = column in self._later
            weights = self._differing(values, now, redrawn, column) if differ else self._line(now, column)
            fresh = pick(weights, uniform(stream, f"value {column}", values.shape[1]))
            now[..., column] = torch.where(redrawn[..., column], fresh, values[..., column])
        return now

    def _line(self, values: Tensor, column: int) -> Tensor:
        """As above. Values may be K, for the sum over all; of factors that are not scored the sum is taken."""
        return self._cube[self._cells(values, column)]

    def _cells(self, values: Tensor, column: int) -> Tensor:
        stride = self._star_strides[column]
        base = self._start + (values * self._star_strides).sum(-1) - values[..., column] * stride
        return base[..., None] + torch.arange(self._all[column], device=values.device) * stride

    def _differing(self, values: Tensor, now: Tensor, redrawn: Tensor, column: int) -> Tensor:
        """The weights of a factor's new values, of rows that also differ in the later factors that are redrawn: by
        inclusion and exclusion of rows that have some of their old values."""
        later, strides, subsets = self._later[column]
        shift = ((values - now)[..., later][..., None, :] * strides * subsets).sum(-1)
        valid = (redrawn[..., later][..., None, :] | ~subsets).all(-1)
        sign = torch.where(valid, 1 - 2 * (subsets.sum(-1) % 2), 0)
        cells = self._cells(now, column)[..., None, :] + shift[..., None]
        # Cells of subsets that do not count may lie anywhere.
        weights = (self._cube[torch.where(valid[..., None], cells, 0)] * sign[..., None]).sum(-2)
        return weights.scatter(-1, values[..., column, None], 0)

    def _moved(self, stream: Stream, values: Tensor) -> Tensor:
        """As above, by the weights of rows summed over factors that are not scored."""
        return super()._moved(stream, torch.where(self._is_scored, values, self._sizes))


def _subsets(count: int) -> NDArray[np.bool_]:
    """Every subset of so many things, (2^count, count)."""
    return (np.arange(2**count)[:, None] >> np.arange(count) & 1).astype(bool)


def with_partners(able: NDArray[np.bool_], what: str) -> NDArray[np.bool_]:
    """What says which rows have a partner, if any has."""
    if not able.any():
        raise RegimeError(
            f"no pair can be drawn: among the images that training draws, no other one {what}; choose another pairs.rule or "
            "pairs.changed, or leave out fewer combinations"
        )
    return able


def _sums(weights: NDArray[np.int64]) -> NDArray[np.int64]:
    """The weights with, after the last value of each factor, their sums over it."""
    for axis in range(weights.ndim):
        weights = np.concatenate([weights, weights.sum(axis=axis, keepdims=True)], axis=axis)
    return weights
