"""Images whose factors are set in turn: which they are, what they cost, and that no other score notices them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from test_scoring import TINY, Oracle

import hackle
from hackle.core.factors import Factor, FactorGrid
from hackle.core.notes import note_codes
from hackle.metrics.predictors import trees
from hackle.scoring import ScoreError, score_codes
from hackle.scoring.models import score
from hackle.scoring.plan import draw_plan, half_of, interventions
from hackle.scoring.protocol import PROTOCOLS
from hackle.scoring.registry import METRICS
from hackle.scoring.scorer import prepare_scorer

FACTORS = [Factor("shape", 3, "categorical"), Factor("x", 4), Factor("one", 1), Factor("y", 2)]
COMPLETE = FactorGrid(FACTORS)


@pytest.fixture(autouse=True)
def few_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is set does not depend on how many trees there are."""
    monkeypatch.setattr(trees, "_ROUNDS", 10)


def incomplete() -> FactorGrid:
    """Shape 2 has no x = 3; shape 0 has no y = 1."""
    rows = COMPLETE.rows(np.arange(COMPLETE.size))
    shape, x, _, y = rows.T
    kept = rows[~((shape == 2) & (x == 3)) & ~((shape == 0) & (y == 1))]
    return FactorGrid(FACTORS, present=np.random.default_rng(0).permutation(kept))


@pytest.mark.parametrize("grid", [COMPLETE, incomplete()], ids=["complete", "incomplete"])
def test_groups_are_the_same_images_with_one_factor_set(grid: FactorGrid) -> None:
    found = interventions(grid, 300, 0)
    assert found is not None
    rows = grid.rows(found.index.ravel()).reshape(*found.index.shape, 4)
    present = {tuple(row) for row in grid.rows(np.arange(grid.size)).tolist()}
    for column, size in ((0, 3), (1, 4), (3, 2)):
        groups = rows[found.held == column]
        able = [row for row in present if all((*row[:column], a, *row[column + 1 :]) in present for a in range(size))]
        assert sorted(grid.settable(column).tolist()) == sorted(grid.index(able).tolist() if able else [])
        if not able:
            assert not len(groups)
            continue
        assert groups.shape[:2] == (size, 300)
        assert (groups[:, :, column] == np.arange(size)[:, None]).all()
        others = np.delete(groups, column, axis=2)
        assert (others == others[0]).all()
        assert {tuple(row) for row in groups.reshape(-1, 4).tolist()} == {tuple(row) for row in able}
    if grid.complete:
        # Drawn once: two factors are set in the same images, whose third is theirs.
        assert np.array_equal(rows[found.held == 0][0, :, 3], rows[found.held == 1][0, :, 3])
    else:
        assert len(grid.settable(3)) < grid.size


def test_continuous_factors_are_set_to_the_middle_of_each_bin() -> None:
    numbers = tuple(np.linspace(0.0, 1.0, 100).tolist())
    grid = FactorGrid([Factor("x", 100, "continuous", values=numbers), Factor("y", 3)]).with_bins(10)
    found = interventions(grid, 5, 0)
    assert found is not None
    assert np.bincount(found.held).tolist() == [10, 3]
    set_to = grid.rows(found.index[:10, 0])[:, 0]
    assert grid.factors[0].classes(10)[set_to].tolist() == list(range(10))
    np.testing.assert_allclose(np.array(numbers)[set_to], np.arange(10) / 10 + 0.05, atol=0.01)


def test_photographs_with_numbers_are_not_one_another_with_a_factor_set() -> None:
    rows = [[a, b, i] for a in range(2) for b in range(2) for i in range(3 + a)]
    numbered = FactorGrid([Factor("a", 2), Factor("b", 2), Factor("number", 4, observed=False)], present=rows)
    assert interventions(numbered, 5, 0) is None
    assert len(numbered.settable("a")) == 0
    single = FactorGrid(numbered.factors, present=[row for row in rows if row[2] == 0])
    assert len(single.settable("a")) == 4


def test_they_are_drawn_for_the_metric_alone_and_change_no_other_draw() -> None:
    grid = FactorGrid([Factor("a", 40), Factor("b", 40), Factor("c", 5)])
    plain, both = (
        prepare_scorer(grid, [METRICS[name] for name in names], TINY, 3) for names in (["mig"], ["mig", "unfairness"])
    )
    assert plain.plan.interventions is None
    assert both.plan.interventions is not None
    assert both.plan.interventions.index.shape == (85, 100)
    for part in ("train", "test"):
        assert np.array_equal(getattr(plain.plan, part), getattr(both.plan, part))
    assert np.array_equal(plain.plan.train, draw_plan(grid, TINY.sizes, 3).train)
    assert len(plain.images) < len(both.images) <= len(plain.images) + 8_500
    halved, same = (half_of(grid, plan, False, np.random.default_rng(0)) for plan in (both.plan, plain.plan))
    assert np.array_equal(halved.train, same.train)
    assert halved.interventions is not None
    assert halved.interventions.index.shape == (85, 50)
    kept = np.isin(both.plan.interventions.index[0], halved.interventions.index[0])
    assert kept.sum() >= 50


def test_scores_beside_it_are_the_same_to_the_bit(copied_squares: Any) -> None:
    encoder = Oracle(copied_squares, posterior=True)
    names = ["mig", "factor_vae", "true_tc", "whole_misjed"]
    given: Any = {"representations": "mean", "references": False, "protocol": replace(TINY, draws=50)}
    plain: Any = score(encoder, copied_squares, names, **given)
    beside: Any = score(encoder, copied_squares, [*names, "unfairness"], **given)
    columns = ["metric", "representation", "score"]
    pd.testing.assert_frame_equal(
        plain[columns], beside[beside["metric"] != "unfairness"][columns].reset_index(drop=True)
    )


def test_a_perfect_encoder_is_fair_and_a_mixing_one_is_not(copied_squares: Any) -> None:
    fair: Any = score(Oracle(copied_squares), copied_squares, "unfairness", TINY, bootstrap=3)
    assert fair["score"].tolist() == [0.0]
    assert fair["reference"].tolist() == [0.0]
    assert fair["better"].tolist() == ["lower"]
    mixed = Oracle(copied_squares, mix=np.array([[1.0, 0.9, 0.8], [0.9, 1.0, 0.7], [0.8, 0.6, 1.0]]))
    noisy = lambda images: mixed(images) + 0.8 * np.random.default_rng(0).normal(size=(len(images), 3))  # noqa: E731
    found: Any = score(noisy, copied_squares, "unfairness", TINY, bootstrap=3)
    assert 0.03 < found["score"][0] < 0.5
    assert found["low"][0] <= found["score"][0] <= found["high"][0]


def test_sets_of_ones_own_with_holes_and_codes_from_elsewhere() -> None:
    grid = incomplete()
    rows = grid.rows(np.arange(grid.size))
    pixels = np.arange(grid.size, dtype=np.uint32).view(np.uint8).reshape(-1, 2, 2, 1)
    names = {"shape": 0, "x": 1, "y": 3}
    data = hackle.from_arrays(
        np.ascontiguousarray(pixels), {name: rows[:, at] for name, at in names.items()}, kinds="categorical"
    )

    def encode(images: np.ndarray) -> np.ndarray:
        return rows[np.ascontiguousarray(images).reshape(-1, 4).view(np.uint32).ravel()][:, [0, 1, 3]].astype(float)

    small = PROTOCOLS["locatello2019"].smaller(0.02)
    table: Any = score(encode, data, "unfairness", small)
    assert 0.0 <= table["score"][0] < 0.2
    assert np.isfinite(table["chance"][0])
    # The same rows as bare codes are such a grid, too; rows with repeats or real numbers are not.
    same: Any = score_codes(rows[:, [0, 1, 3]] * 1.0, rows[:, [0, 1, 3]], "unfairness", small, kinds="categorical")
    assert same["score"][0] == table["score"][0]
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 3, size=(300, 2))
    with pytest.raises(
        ScoreError, match=r"unfairness needs images that differ in one factor alone.*an encoder scored on"
    ):
        score_codes(factors * 1.0, factors, "unfairness", small)


def test_a_factor_that_cannot_be_set_is_said() -> None:
    """Every x exists for one shape alone, so no image has all shapes, and y can be set everywhere."""
    rows = np.array([[x % 3, x, 0, y] for x in range(4) for y in range(2)])
    grid = FactorGrid(FACTORS, present=rows)
    assert [len(grid.settable(name)) for name in ("shape", "x", "y")] == [0, 0, 8]
    twice, z = np.tile(rows, (2, 1)), np.repeat([0, 1], 8)
    factors = {"shape": twice[:, 0], "x": twice[:, 1], "y": twice[:, 3], "z": z}
    small = PROTOCOLS["locatello2019"].smaller(0.02)
    table: Any = score_codes(twice * 1.0, factors, "unfairness", small, kinds="categorical")
    assert "not-set" in note_codes(table["note"][0])
    assert "every value of shape, x;" in table["note"][0]
