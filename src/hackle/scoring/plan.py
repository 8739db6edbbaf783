"""Which factor rows a metric needs: independent draws, groups and pairs that share one factor's value, and interventions.

For a continuous factor, whose exact values hardly two images share, groups and pairs share a bin.

A plan is drawn from a data set's grid before any image is encoded, so that metrics share images and each image is
encoded once. Unobserved factors are drawn like any other but never held.

The papers draw training and test points, groups and pairs independently, with replacement, from all combinations of
factors. With few images, test points would be training points and noise would look informative; such sets are split
(`must_split`).
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
"""An incomplete grid is a sample of images; it is split if it has fewer than this many times the points. With more, at
most 15% of test points drawn as in the papers were trained on: 10,000 draws from 60,000 images hit 1 − exp(−1/6)."""
_INTERVENTIONS, _EXPOSURE = 6, 7
"""The numbers, among those that the seed gives to parts of a plan, of two generators: of images whose factors are set,
and of seen and left-out images."""
SPREAD = 8
"""A table of all flat indices up to the last is made if it has at most this many times as many entries as there are
images."""
_KEPT, _FIRST_KEPT = 1_000, 512
"""How many images' codes studies keep, and how many they kept before: a thousand labels are what few labels go up to."""
_SHARED = 0.25
"""If more than this fraction of the test points were trained on, a note beside the scores says so."""


class Groups(NamedTuple):
    """Flat image indices (g, size) and, for each group, the column of the factor its images share, (g,)."""

    index: NDArray[np.int64]
    held: NDArray[np.int64]


def kept_images(grid: FactorGrid) -> NDArray[np.int64]:
    """The images, as flat indices (at most 1,000), whose codes studies keep: the same for every model of a data set.

    Stores written before version 0.3 have the first 512 of them.
    """
    drawn = np.random.default_rng(0).choice(grid.size, min(_FIRST_KEPT, grid.size), replace=False)
    others = np.delete(np.arange(grid.size), drawn)
    more = np.random.default_rng(1).choice(others, min(_KEPT - _FIRST_KEPT, len(others)), replace=False)
    return np.concatenate([np.sort(drawn), np.sort(more)])


def distinct(index: NDArray[np.int64]) -> NDArray[np.int64]:
    """Each of these flat indices once, ascending. `np.unique` hashes them first, which takes ten times as long."""
    if index.size and index.min() >= 0 and index.max() < SPREAD * index.size:
        # To mark each takes a tenth of the time of sorting.
        marked = np.zeros(index.max() + 1, dtype=bool)
        marked[index] = True
        return np.flatnonzero(marked)
    ordered = np.sort(index, axis=None)
    return ordered[np.diff(ordered, prepend=ordered[:1] - 1) > 0]


def independent(grid: FactorGrid, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """n images drawn uniformly and independently, as flat indices (n,)."""
    return rng.integers(grid.size, size=n)


def holding_one(grid: FactorGrid, groups: int, size: int, rng: np.random.Generator) -> Groups:
    """Groups whose images share the value of one factor; factor and value are drawn uniformly for each group.

    The images of a group are drawn independently from those that have the value, so one may occur twice.
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
    """The held factor's value for each image of each group, (g, size): `values` (g, 1), or draws from a bin."""
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
    """Groups drawn from some images: first a value that occurs among them, then images that have it.

    A value of only one image would make a group of copies, in which nothing varies and no factor can be told from
    another; such values are used only for a factor that has no other.
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


def interventions(grid: FactorGrid, rows: int, seed: int) -> Groups | None:
    """The same images in every group, with one factor set to one value: a group for each value of each scored factor.

    In an incomplete grid the images are drawn for each factor from those of which there is one at every value; a factor
    without any has no groups. None if no factor can be set. The generator is not that of any other part.
    """
    rng = np.random.default_rng(np.random.SeedSequence(check_seed(seed), spawn_key=(_INTERVENTIONS,)))
    images = rng.integers(grid.size, size=rows)
    index, held = [], []
    for column in scored_factors(grid):
        if not grid.complete:
            able = grid.settable(column)
            if not len(able):
                continue
            images = able[rng.integers(len(able), size=rows)]
        for value in grid.levels(column):
            changed = grid.rows(images).copy()
            changed[:, column] = value
            index.append(grid.index(changed))
            held.append(column)
    return Groups(np.stack(index), np.array(held)) if held else None


@dataclass(frozen=True)
class PlanSizes:
    """How many points, groups and pairs a protocol asks for, and how many images have their factors set in turn."""

    train: int
    test: int
    groups: int
    test_groups: int
    group_size: int
    pair_groups: int
    test_pair_groups: int
    pairs: int
    interventions: int = 100


class Exposure(NamedTuple):
    """Flat indices of images whose combinations of factors a model was trained on, in two parts, and of images left out."""

    train: NDArray[np.int64]
    seen: NDArray[np.int64]
    left_out: NDArray[np.int64]


class Plan(NamedTuple):
    """The flat indices of all images that scoring under a protocol uses."""

    train: NDArray[np.int64]
    test: NDArray[np.int64]
    groups: Groups | None
    test_groups: Groups | None
    pairs: Groups | None
    test_pairs: Groups | None
    exposure: Exposure | None = None
    interventions: Groups | None = None
    """Drawn only where a metric reads them, see `interventions`."""
    trained: tuple[NDArray[np.int64], ...] | None = None
    """Beside `exposure`, the classes of each scored factor that occur among all images that training drew from."""

    @property
    def images(self) -> NDArray[np.int64]:
        """Each image of the plan once, sorted."""
        parts = [self.train, self.test, *(self.exposure or ())]
        parts += [part.index.ravel() for part in self if isinstance(part, Groups)]
        return distinct(np.concatenate(parts))


def draw_plan(grid: FactorGrid, sizes: PlanSizes, seed: int) -> Plan:
    """The plan of a protocol. A group of `pairs` pairs has 2 · pairs images: first halves, then second halves.

    Every part has its own generator, so that changing one size leaves the other parts unchanged. Data sets without an
    observed factor that varies get only independent draws.
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
    """Whether a data set has too few images for a protocol's points to be drawn independently.

    A complete grid is too small if it has fewer images than there are points, because points would repeat. A set with
    missing combinations, or with several images of one, is a sample; no paper justifies overlap there, so it needs four
    times as many images as points.
    """
    return grid.size < (sizes.train + sizes.test) * (1 if grid.complete else _ROOM)


def split_plan(grid: FactorGrid, sizes: PlanSizes, seed: int) -> Plan:
    """A plan for a small data set, in which no image is used both for training and for testing.

    Images are split in the ratio of the protocol's training and test points, groups or pairs, whichever has the largest
    test share, and each is a point at most once. Groups and pairs are drawn with replacement from the images of their
    part.
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


def draw_exposure(seen: NDArray[np.int64], left_out: NDArray[np.int64], sizes: PlanSizes, seed: int) -> Exposure:
    """As many points of images that were trained on, and of images left out, as the protocol has; no image twice.

    seen, left_out: flat indices of all of either kind. The generator is its own, so that no other part of a plan changes. Few
    images are divided like the protocol's points.
    """
    rng = np.random.default_rng(np.random.SeedSequence(check_seed(seed), spawn_key=(_EXPOSURE,)))
    mine = rng.permutation(seen)
    cut = min(sizes.train, max(1, len(mine) * sizes.train // (sizes.train + sizes.test)))
    return Exposure(mine[:cut], mine[cut : cut + sizes.test], rng.permutation(left_out)[: sizes.test])


def plan_note(grid: FactorGrid, sizes: PlanSizes, plan: Plan) -> str:
    """A note on the points behind every score of a plan; empty if they are what the protocol asks for."""
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

    Points, groups and pairs that were drawn independently are halved directly. In a split plan it is the images that
    are random: half of those of each part are kept, and as many groups and pairs as before are drawn anew from them.
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
    (train, test), set_images = halves, plan.interventions
    exposure = None if plan.exposure is None else Exposure(*map(half, plan.exposure))
    if set_images is not None:
        set_images = set_images._replace(index=set_images.index[:, half(np.arange(set_images.index.shape[1]))])
    return Plan(train[0], test[0], train[1], test[1], train[2], test[2], exposure, set_images, plan.trained)


def rows_of(grid: FactorGrid, index: NDArray[np.int64]) -> Rows:
    """The classes of the scored factors, (n, f), of images given by flat index: values, or bins of a continuous factor."""
    return grid.classes(grid.rows(index))[:, list(scored_factors(grid))]


def classes_among(grid: FactorGrid, index: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
    """The classes of each scored factor, ascending, that occur among images given by flat index."""
    return tuple(np.flatnonzero(np.bincount(column)) for column in rows_of(grid, index).T)


def values_of(grid: FactorGrid, index: NDArray[np.int64]) -> NDArray[np.float64]:
    """The same with the real numbers of continuous factors, (n, f)."""
    return grid.values(grid.rows(index))[:, list(scored_factors(grid))]
