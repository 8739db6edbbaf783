"""Which factor rows a metric needs: independent draws, groups that share one factor's value, pairs that do.

Of a continuous factor, whose values hardly two images share, groups and pairs share a bin.

A plan is drawn from a data set's grid before any image is encoded, so that metrics share what they have in common and each
image is encoded once. Unobserved factors are drawn like any other but never held.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hackle.core.factors import FactorError, FactorGrid, Rows, scored_factors
from hackle.core.randomness import check_seed


class Groups(NamedTuple):
    """Flat image indices (g, size) and, for each group, the column of the factor its images share, (g,)."""

    index: NDArray[np.int64]
    held: NDArray[np.int64]


def independent(grid: FactorGrid, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """n images drawn uniformly and independently, as flat indices (n,)."""
    return rng.integers(grid.size, size=n)


def holding_one(grid: FactorGrid, groups: int, size: int, rng: np.random.Generator) -> Groups:
    """Groups whose images share the value of one factor; factor and value are drawn uniformly for each group.

    The images of a group are drawn independently from those that have the value, so one may come twice.
    """
    columns = scored_factors(grid)
    if not columns:
        raise FactorError("no observed factor has more than one value: nothing can be held")
    held = np.array(columns)[rng.integers(len(columns), size=groups)]
    if grid.complete:
        rows = rng.integers(grid.sizes, size=(groups, size, len(grid.sizes)))
        values = rng.integers(np.array(grid.sizes)[held])[:, None]
        if "continuous" in grid.kinds:
            values = _within_bins(grid, held, values, size, rng)
        np.put_along_axis(rows, held[:, None, None], values[:, :, None], axis=2)
        index = grid.index(rows.reshape(-1, rows.shape[2])).reshape(groups, size)
        return Groups(index, held)
    return _holding_one_of_those_present(grid, np.arange(grid.size), held, size, rng)


def _within_bins(
    grid: FactorGrid, held: NDArray[np.int64], values: NDArray[np.int64], size: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """The value held by each image (g, size) of each group: one for all, (g, 1), or anew from a bin of a continuous factor."""
    drawn = np.repeat(values, size, axis=1)
    for column in np.unique(held):
        if grid.kinds[column] == "continuous":
            groups = np.flatnonzero(held == column)
            classes = grid.factors[column].classes(grid.bins)
            order = np.argsort(classes, kind="stable")
            _, starts, counts = np.unique(classes[order], return_index=True, return_counts=True)
            bins = rng.integers(len(starts), size=len(groups))
            drawn[groups] = order[starts[bins, None] + rng.integers(counts[bins, None], size=(len(groups), size))]
    return drawn


def _holding_one_of_those_present(
    grid: FactorGrid, images: NDArray[np.int64], held: NDArray[np.int64], size: int, rng: np.random.Generator
) -> Groups:
    """The value held is drawn from those that occur among some images; the group then from those of them that have it.

    A value that a single image has would make a group of copies, in which nothing varies and no factor can be told from
    another; so values of two or more images come first, and the others serve only where a factor has none but them.
    """
    rows = grid.classes(grid.rows(images))
    index = np.empty((len(held), size), dtype=np.int64)
    for column in np.unique(held):
        groups = np.flatnonzero(held == column)
        order = np.argsort(rows[:, column])
        _, starts, counts = np.unique(rows[order, column], return_index=True, return_counts=True)
        shared = counts > 1
        if shared.any():
            starts, counts = starts[shared], counts[shared]
        value = rng.integers(len(starts), size=len(groups))
        member = rng.integers(counts[value, None], size=(len(groups), size))
        index[groups] = images[order[starts[value, None] + member]]
    return Groups(index, held)


@dataclass(frozen=True)
class PlanSizes:
    """How much of each plan a protocol asks for."""

    train: int
    test: int
    groups: int
    test_groups: int
    group_size: int
    pair_groups: int
    test_pair_groups: int
    pairs: int


class Plan(NamedTuple):
    """Every flat index that scoring a model under a protocol touches."""

    train: NDArray[np.int64]
    test: NDArray[np.int64]
    groups: Groups | None
    test_groups: Groups | None
    pairs: Groups | None
    test_pairs: Groups | None

    @property
    def images(self) -> NDArray[np.int64]:
        """Each image of the plan once, sorted."""
        parts = [self.train, self.test]
        parts += [part.index.ravel() for part in self[2:] if part is not None]
        return np.unique(np.concatenate(parts))


def draw_plan(grid: FactorGrid, sizes: PlanSizes, seed: int) -> Plan:
    """The plan of a protocol. A pair group of `pairs` pairs holds 2 · pairs images: first halves, then second halves.

    Every part has a generator of its own, so that changing one size leaves the other parts as they were. Sets without an
    observed factor that varies get independent draws alone.
    """
    streams = [np.random.default_rng(child) for child in np.random.SeedSequence(check_seed(seed)).spawn(6)]
    train, test = independent(grid, sizes.train, streams[0]), independent(grid, sizes.test, streams[1])
    if not scored_factors(grid):
        return Plan(train, test, None, None, None, None)
    return Plan(
        train,
        test,
        holding_one(grid, sizes.groups, sizes.group_size, streams[2]),
        holding_one(grid, sizes.test_groups, sizes.group_size, streams[3]),
        holding_one(grid, sizes.pair_groups, 2 * sizes.pairs, streams[4]),
        holding_one(grid, sizes.test_pair_groups, 2 * sizes.pairs, streams[5]),
    )


def split_plan(grid: FactorGrid, sizes: PlanSizes, seed: int) -> Plan:
    """A plan of images of which there are no more than these: none serves both for training and for testing.

    Images are shared out in the proportion of the protocol's training and test points, and each is a point once at the most.
    Groups and pairs are drawn, with replacement, from the images of their part.
    """
    streams = [np.random.default_rng(child) for child in np.random.SeedSequence(check_seed(seed)).spawn(6)]
    order = streams[0].permutation(grid.size)
    cut = min(max(1, round(grid.size * sizes.train / (sizes.train + sizes.test))), grid.size - 1)
    train, test = order[:cut], order[cut:]
    points = train[: sizes.train], test[: sizes.test]
    columns = scored_factors(grid)
    if not columns:
        return Plan(*points, None, None, None, None)

    def groups(images: NDArray[np.int64], count: int, size: int, rng: np.random.Generator) -> Groups:
        held = np.array(columns)[rng.integers(len(columns), size=count)]
        return _holding_one_of_those_present(grid, images, held, size, rng)

    return Plan(
        *points,
        groups(train, sizes.groups, sizes.group_size, streams[2]),
        groups(test, sizes.test_groups, sizes.group_size, streams[3]),
        groups(train, sizes.pair_groups, 2 * sizes.pairs, streams[4]),
        groups(test, sizes.test_pair_groups, 2 * sizes.pairs, streams[5]),
    )


def rows_of(grid: FactorGrid, index: NDArray[np.int64]) -> Rows:
    """The scored factors' classes of images given by flat index, (n, f): values, or bins of a continuous factor."""
    return grid.classes(grid.rows(index))[:, list(scored_factors(grid))]


def values_of(grid: FactorGrid, index: NDArray[np.int64]) -> NDArray[np.float64]:
    """The same with the real numbers of continuous factors, (n, f)."""
    return grid.values(grid.rows(index))[:, list(scored_factors(grid))]
