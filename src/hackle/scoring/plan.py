"""Which factor rows a metric needs: independent draws, groups that share one factor's value, pairs that do.

Of a continuous factor, whose values hardly two images share, groups and pairs share a bin.

A plan is drawn from a data set's grid before any image is encoded, so that metrics share what they have in common and each
image is encoded once. Unobserved factors are drawn like any other but never held.

The papers draw training and test points, groups and pairs independently, with replacement, from all combinations of factors.
Of few images that would test what was trained on, and noise would look informative; such sets are split (`must_split`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hackle.core.factors import FactorError, FactorGrid, Rows, scored_factors
from hackle.core.notes import with_code
from hackle.core.randomness import check_seed

_ROOM = 4
"""An incomplete grid is a sample of images, and is split up to so many times the points. Beyond, at most 15 in 100 test points
drawn as in the papers were trained on: 10,000 draws from 60,000 images meet 1 − exp(−1/6) of them."""
_SHARED = 0.25
"""From this part of the test points on, that they were trained on is said beside the scores."""


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


def must_split(grid: FactorGrid, sizes: PlanSizes) -> bool:
    """Whether a set has too few images for a protocol's points to be drawn independently.

    A complete grid has if it holds fewer images than there are points; then points would be repeated. A set in which
    combinations lack, or which has several images of one, is a sample; there overlap has no paper behind it, and images must be
    four times as many.
    """
    return grid.size < (sizes.train + sizes.test) * (1 if grid.complete else _ROOM)


def split_plan(grid: FactorGrid, sizes: PlanSizes, seed: int) -> Plan:
    """A plan of images of which there are no more than these: none serves both for training and for testing.

    Images are shared out in the proportion of the protocol's training and test points, groups or pairs, whichever asks for most
    to test, and each is a point once at the most. Groups and pairs are drawn, with replacement, from the images of their part.
    """
    streams = [np.random.default_rng(child) for child in np.random.SeedSequence(check_seed(seed)).spawn(6)]
    order = streams[0].permutation(grid.size)
    asked = (sizes.train, sizes.test), (sizes.groups, sizes.test_groups), (sizes.pair_groups, sizes.test_pair_groups)
    tested = max(test / (train + test) for train, test in asked if train + test)
    cut = min(max(1, round(grid.size * (1 - tested))), grid.size - 1)
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


def plan_note(grid: FactorGrid, sizes: PlanSizes, plan: Plan) -> str:
    """What must be known of the points behind every score of a plan; empty where they are what the protocol asks for."""
    if len(plan.train) < sizes.train or len(plan.test) < sizes.test:
        return with_code(
            f"the set has {grid.size:,} images, fewer than the {sizes.train:,} + {sizes.test:,} points of the protocol: "
            f"{len(plan.train):,} of them train and {len(plan.test):,} others test",
            "split",
        )
    shared = np.isin(plan.test, plan.train).mean()
    if len(plan.test) > 1 and shared > _SHARED:
        return with_code(
            f"{100 * shared:.0f} in 100 test points were trained on, as in the papers' draws from a set of {grid.size:,} "
            "images: predictors that remember images score too high",
            "shared",
        )
    return ""


def half_of(grid: FactorGrid, plan: Plan, split: bool, rng: np.random.Generator) -> Plan:
    """A random half of every part of a plan, in random order.

    Points, groups and pairs that were drawn independently are halved as they are. Of a split set the images are what chance has
    chosen: half of those of either part stay, and as many groups and pairs as before are drawn from them, since these scatter
    anew each time.
    """

    def half(part: NDArray[np.int64]) -> NDArray[np.int64]:
        return rng.permutation(part)[: max(1, (len(part) + 1) // 2)]

    def groups(part: Groups | None, images: NDArray[np.int64]) -> Groups | None:
        if part is None or not len(part.held):
            return part
        if split:
            return _holding_one_of_those_present(grid, images, part.held, part.index.shape[1], rng)
        chosen = half(np.arange(len(part.held)))
        return Groups(part.index[chosen], part.held[chosen])

    halves = []
    for points, *others in ((plan.train, plan.groups, plan.pairs), (plan.test, plan.test_groups, plan.test_pairs)):
        images = half(np.unique(np.concatenate([points, *(part.index.ravel() for part in others if part is not None)])))
        kept = rng.permutation(points[np.isin(points, images)]) if split else half(points)
        halves.append((kept, *(groups(part, images) for part in others)))
    train, test = halves
    return Plan(train[0], test[0], train[1], test[1], train[2], test[2])


def rows_of(grid: FactorGrid, index: NDArray[np.int64]) -> Rows:
    """The scored factors' classes of images given by flat index, (n, f): values, or bins of a continuous factor."""
    return grid.classes(grid.rows(index))[:, list(scored_factors(grid))]


def values_of(grid: FactorGrid, index: NDArray[np.int64]) -> NDArray[np.float64]:
    """The same with the real numbers of continuous factors, (n, f)."""
    return grid.values(grid.rows(index))[:, list(scored_factors(grid))]
