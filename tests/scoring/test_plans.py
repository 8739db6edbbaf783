"""Plans: groups really share a factor, draws are uniform, and parts do not disturb one another."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chisquare

from hackle.core.factors import Factor, FactorError, FactorGrid
from hackle.scoring.plan import (
    Groups,
    PlanSizes,
    distinct,
    draw_plan,
    holding_one,
    independent,
    rows_of,
    scored_factors,
)

FACTORS = [
    Factor("shape", 3, "categorical"),
    Factor("one", 1),
    Factor("instance", 2, observed=False),
    Factor("x", 4),
]
COMPLETE = FactorGrid(FACTORS)
SIZES = PlanSizes(
    train=50, test=40, groups=30, test_groups=20, group_size=8, pair_groups=25, test_pair_groups=15, pairs=6
)


def incomplete() -> FactorGrid:
    """A grid with holes, its images in random order, and one x that a single image has."""
    rows = COMPLETE.rows(np.arange(COMPLETE.size))
    shape, _, instance, x = rows.T
    kept = rows[((shape + 2 * instance + x) % 4 != 0) & (x != 2)]
    return FactorGrid(FACTORS, present=np.random.default_rng(0).permutation([*kept, [1, 0, 1, 2]]))


GRIDS = pytest.mark.parametrize("grid", [COMPLETE, incomplete()], ids=["complete", "incomplete"])


def is_uniform(counts: np.ndarray) -> bool:
    return bool(chisquare(counts).pvalue > 1e-3)


@pytest.mark.parametrize("index", [[5, 3, 5, 0], [[7, 7], [2, 9]], [10**12, 3, 10**12], [-1, 4, -1], [8], []])
def test_distinct_images_are_sorted(index: list) -> None:
    numbers = np.array(index, dtype=np.int64)
    found = distinct(numbers)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, np.unique(numbers))


def test_scored_factors_are_observed_and_vary() -> None:
    assert scored_factors(COMPLETE) == (0, 3)
    assert scored_factors(incomplete()) == (0, 3)
    one_shape = FactorGrid(FACTORS, present=[[1, 0, 0, 0], [1, 0, 1, 0], [1, 0, 0, 3]])
    assert scored_factors(one_shape) == (3,)
    assert scored_factors(FactorGrid([Factor("instance", 9, observed=False)])) == ()


@GRIDS
def test_rows_of_images_hold_the_scored_factors_alone(grid: FactorGrid) -> None:
    index = np.arange(grid.size)[::-1]
    assert np.array_equal(rows_of(grid, index), grid.rows(index)[:, [0, 3]])


@GRIDS
def test_independent_draws_are_uniform_over_images(grid: FactorGrid) -> None:
    index = independent(grid, 200 * grid.size, np.random.default_rng(0))
    assert is_uniform(np.bincount(index, minlength=grid.size))


@GRIDS
def test_groups_share_the_held_factor(grid: FactorGrid) -> None:
    index, held = holding_one(grid, 300, 16, np.random.default_rng(0))
    assert index.shape == (300, 16)
    assert set(held.tolist()) == {0, 3}
    values = grid.rows(index.ravel()).reshape(300, 16, 4)
    for group, column in zip(values, held, strict=True):
        assert len(np.unique(group[:, column])) == 1
        assert (group != group[0]).any()


@GRIDS
def test_held_factors_and_their_values_are_uniform(grid: FactorGrid) -> None:
    index, held = holding_one(grid, 6_000, 2, np.random.default_rng(1))
    assert is_uniform(np.bincount(held, minlength=4)[[0, 3]])
    values = grid.rows(index[:, 0])
    shared = [0, 1, 3] if grid is not COMPLETE else [0, 1, 2, 3]
    x = values[held == 3, 3]
    assert set(x.tolist()) == set(shared)
    assert is_uniform(np.bincount(x, minlength=4)[shared])
    assert is_uniform(np.bincount(values[held == 0, 0], minlength=3))


@GRIDS
def test_images_of_a_group_are_uniform_among_those_that_have_the_value(grid: FactorGrid) -> None:
    index, held = holding_one(grid, 3_000, 8, np.random.default_rng(2))
    rows = grid.rows(np.arange(grid.size))
    drawn = index[held == 0].ravel()
    for shape in range(3):
        having = np.flatnonzero(rows[:, 0] == shape)
        assert is_uniform(np.bincount(drawn, minlength=grid.size)[having])


def test_images_within_a_group_are_drawn_independently() -> None:
    """Positions of a group must not be linked: the other factor of two of them is jointly uniform."""
    index, held = holding_one(COMPLETE, 8_000, 2, np.random.default_rng(3))
    x = COMPLETE.rows(index[held == 0].ravel())[:, 3].reshape(-1, 2)
    assert is_uniform(np.bincount(x[:, 0] * 4 + x[:, 1], minlength=16))


def test_a_factor_whose_values_all_occur_once_is_still_held() -> None:
    rows = [[i, i % 2] for i in range(6)]
    grid = FactorGrid([Factor("number", 6), Factor("parity", 2)], present=rows)
    index, held = holding_one(grid, 200, 5, np.random.default_rng(0))
    single = index[held == 0]
    assert len(single) > 50
    assert (single == single[:, :1]).all()
    assert set(single.ravel().tolist()) == set(range(6))


def test_nothing_can_be_held_where_no_observed_factor_varies() -> None:
    with pytest.raises(FactorError, match="no observed factor has more than one value"):
        holding_one(FactorGrid([Factor("instance", 9, observed=False)]), 1, 1, np.random.default_rng(0))


@GRIDS
def test_a_plan_has_the_sizes_asked_for(grid: FactorGrid) -> None:
    plan = draw_plan(grid, SIZES, seed=0)
    assert (len(plan.train), len(plan.test)) == (50, 40)
    shapes = [part.index.shape for part in plan[2:6] if part is not None]
    assert shapes == [(30, 8), (20, 8), (25, 12), (15, 12)]
    for part in plan[2:6]:
        assert isinstance(part, Groups)
        assert len(part.held) == len(part.index)


@GRIDS
def test_the_images_of_a_plan_are_each_named_once_in_order(grid: FactorGrid) -> None:
    plan = draw_plan(grid, SIZES, seed=0)
    every: set[int] = set(plan.train.tolist()) | set(plan.test.tolist())
    for part in plan[2:6]:
        assert isinstance(part, Groups)
        every |= set(part.index.ravel().tolist())
    assert plan.images.tolist() == sorted(every)


@GRIDS
def test_changing_one_size_leaves_the_other_parts_alone(grid: FactorGrid) -> None:
    before = draw_plan(grid, SIZES, seed=3)
    touches = {
        "train": {0},
        "test": {1},
        "groups": {2},
        "test_groups": {3},
        "group_size": {2, 3},
        "pair_groups": {4},
        "test_pair_groups": {5},
        "pairs": {4, 5},
    }
    for name, touched in touches.items():
        after = draw_plan(grid, replace(SIZES, **{name: getattr(SIZES, name) + 7}), seed=3)
        for part, (old, new) in enumerate(zip(before[:6], after[:6], strict=True)):
            same = len(old) == len(new) and all(np.array_equal(a, b) for a, b in zip(old, new, strict=True))  # type: ignore[arg-type]
            assert same == (part not in touched)


def test_parts_and_seeds_have_draws_of_their_own() -> None:
    sizes = PlanSizes(100, 100, 50, 50, 2, 50, 50, 1)
    plan, other = draw_plan(COMPLETE, sizes, seed=0), draw_plan(COMPLETE, sizes, seed=1)
    assert not np.array_equal(plan.train, plan.test)
    parts = [part.index for part in plan[2:] if isinstance(part, Groups)]
    for first in range(4):
        for second in range(first):
            assert not np.array_equal(parts[first], parts[second])
    assert not np.array_equal(plan.train, other.train)
    assert np.array_equal(plan.images, draw_plan(COMPLETE, sizes, seed=0).images)


def test_large_seeds_do_not_stand_for_other_parts_of_small_ones() -> None:
    """A seed of several words must not read like a small seed followed by a part's number."""
    sizes = PlanSizes(100, 100, 0, 0, 1, 0, 0, 1)
    small, large = draw_plan(COMPLETE, sizes, seed=5), draw_plan(COMPLETE, sizes, seed=5 + 2**32)
    assert not np.array_equal(small.test, large.train)
    assert not np.array_equal(small.test, large.test)
    with pytest.raises(ValueError, match="seed is -1; expected a whole number"):
        draw_plan(COMPLETE, sizes, seed=-1)


def test_sets_without_scored_factors_get_independent_draws_alone() -> None:
    plan = draw_plan(FactorGrid([Factor("instance", 90, observed=False)]), SIZES, seed=0)
    assert set(plan[2:]) == {None}
    assert plan.images.tolist() == sorted({*plan.train.tolist(), *plan.test.tolist()})


def test_unobserved_factors_vary_within_groups() -> None:
    index, _ = holding_one(COMPLETE, 200, 16, np.random.default_rng(0))
    instance = COMPLETE.rows(index.ravel())[:, 2].reshape(200, 16)
    assert (instance != instance[:, :1]).any(axis=1).mean() > 0.99
