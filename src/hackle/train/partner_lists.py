"""Partners of rows of a grid with too many combinations for sums of weights, such as the 40 attributes of CelebA."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hackle.core.factors import FactorGrid, Rows
from hackle.core.present_rows import number_rows
from hackle.core.randomness import Stream
from hackle.core.regimes import Pairs, RegimeError, check_pairs
from hackle.train.partners import MOST_CELLS, MOST_LISTED, below, pick, sets_of, uniform, with_partners


class Listed:
    """Partners of each existing row, listed for every set of factors that may change."""

    def __init__(
        self,
        pairs: Pairs,
        grid: FactorGrid,
        tables: Iterable[NDArray[np.int64]],
        table: Tensor,
        device: torch.device,
    ) -> None:
        columns = check_pairs(grid, pairs)
        if pairs.rule == "laplace":
            raise RegimeError(
                f"pairs.rule is 'laplace', which needs a grid of factors with fewer than {MOST_CELLS:,} combinations; this one "
                f"has {math.prod(grid.sizes):.1e}: choose resample or differ"
            )
        rows = grid.rows(np.arange(len(grid)))[:, list(columns)]
        sets, weights = sets_of(pairs, len(columns), MOST_LISTED / len(grid))
        lists = [_fibres(rows, chosen, pairs.rule == "differ") for chosen in sets]
        starts = np.stack([start for _, start, _ in lists])
        stops = np.stack([stop for _, _, stop in lists])
        lengths = np.array([len(order) for order, _, _ in lists])
        offsets = np.concatenate([[0], np.cumsum(lengths)])[:-1, None]
        order = np.concatenate([order for order, _, _ in lists])
        sums, flags, self.firsts = [], [], []
        for each in tables:
            running = np.concatenate([[0], np.cumsum(each[order])])
            held = running[stops + offsets] - running[starts + offsets]
            # With resample a row is among its own partners.
            others = held > (0 if pairs.rule == "differ" else each)
            able = (others if pairs.rule == "differ" else np.broadcast_to(others.any(), others.shape)) & (each > 0)
            self.firsts.append(
                np.where(with_partners(np.asarray(able.any(axis=0)), "shares the factors that do not change"), each, 0)
            )
            flags.append(able)
            sums.append(running)
        self._length = len(order) + 1
        self._sums = torch.from_numpy(np.stack(sums)).to(device)
        self._able = torch.from_numpy(np.stack(flags)).to(device)
        self._starts = torch.from_numpy(starts + offsets).to(device)
        self._stops = torch.from_numpy(stops + offsets).to(device)
        self._partners = torch.from_numpy(order).to(device)
        self._sets, self._weights = torch.from_numpy(sets).to(device), torch.from_numpy(weights).to(device)
        self._table = table
        self._halvings = int(lengths.max()).bit_length()

    def draw(self, stream: Stream, index: Tensor) -> tuple[Tensor, Tensor]:
        """As `Complete.draw`."""
        batch, table = index.shape[1], self._table[:, None]
        possible = self._able[table, :, index].to(torch.int64)
        chosen = pick(possible * self._weights, uniform(stream, "set", batch))
        low, high = self._starts[chosen, index], self._stops[chosen, index]
        before = self._sums[table, low]
        target = before + below(uniform(stream, "partner", batch), self._sums[table, high] - before)
        for _ in range(self._halvings):
            middle = (low + high) // 2
            right = self._sums[table, middle + 1] <= target
            low, high = torch.where(right, middle + 1, low), torch.where(right, high, middle)
        return self._partners[low], self._sets[chosen]


def _fibres(rows: Rows, chosen: NDArray[np.bool_], differ: bool) -> tuple[NDArray[np.int64], ...]:
    """Row numbers in an order in which the partners of each row lie together, and where they start and stop for it: the
    rows that share the factors not chosen; under differ, those of them that differ in all chosen ones."""
    key = number_rows(rows[:, ~chosen])
    order = np.argsort(key, kind="stable")
    edges = np.concatenate([[0], np.cumsum(np.bincount(key))])
    if not differ:
        return order, edges[key], edges[key + 1]
    # Rows of one combination have one list.
    _, some, combination = np.unique(number_rows(rows), return_index=True, return_inverse=True)
    sizes = np.diff(edges)[key[some]]
    if sizes.sum() > MOST_LISTED:
        raise RegimeError(
            f"pairs.rule is 'differ', for which up to {sizes.sum():,} partners would be listed; set pairs.changed to 1, or "
            "choose resample"
        )
    number = np.repeat(np.arange(len(some)), sizes)
    within = np.arange(len(number)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    partner = order[edges[key[some]][number] + within]
    apart = np.ones(len(number), bool)
    for column in rows[:, chosen].T:
        apart &= column[some][number] != column[partner]
    counts = np.bincount(number[apart], minlength=len(some))
    stops = np.cumsum(counts)[combination.reshape(-1)]
    return partner[apart], stops - counts[combination.reshape(-1)], stops
