"""Estimates against scipy and closed forms; error rates and power by simulation with a fixed seed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from hackle.claims.measures import ratio_numbers
from hackle.claims.statistics import (
    LEVEL,
    POWER,
    Estimate,
    Units,
    correlations,
    holm,
    jackknife,
    mean_of,
    variance_shares,
)


def test_one_stratum_is_a_one_sample_t_test() -> None:
    values = np.random.default_rng(0).normal(0.3, 1, 12)
    estimate = mean_of([Units(values, 2)])
    above: Any = stats.ttest_1samp(values, 0.1, alternative="greater")
    assert estimate.chance_above(0.1) == pytest.approx(above.pvalue)
    assert estimate.chance_below(0.1) == pytest.approx(1 - above.pvalue)
    interval = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert estimate.interval() == pytest.approx((interval.low, interval.high))


def test_two_strata_are_welchs_test_of_a_sum() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.normal(1, 1, 7), rng.normal(-2, 3, 15)
    estimate = mean_of([Units(first, 1), Units(second, 1)])
    # The mean of two means is half the difference between one and the negative of the other.
    welch: Any = stats.ttest_ind(first, -second, equal_var=False)
    assert estimate.effect == pytest.approx((first.mean() + second.mean()) / 2)
    assert estimate.effect / estimate.error == pytest.approx(welch.statistic)
    assert estimate.freedom == pytest.approx(welch.df)


def test_without_spread_the_answer_is_certain() -> None:
    estimate = mean_of([Units(np.full(3, 0.5), 1)])
    assert (estimate.chance_above(0.4), estimate.chance_above(0.6)) == (0.0, 1.0)
    assert (estimate.chance_below(0.4), estimate.chance_below(0.6)) == (1.0, 0.0)


def test_correlations_of_one_in_all_seeds_are_not_certain() -> None:
    units = correlations(np.ones(4), 6, points=6)
    assert units.variance == pytest.approx(0.2 / 4)
    low, high = mean_of([units]).interval()
    assert high == 1.0
    assert low < 0.9


def test_the_imagined_seed_never_narrows() -> None:
    values = np.random.default_rng(2).uniform(-1, 1, 9)
    assert correlations(values, 1, points=36).variance >= values.var(ddof=1)


def test_pseudo_values_of_a_mean_are_the_values() -> None:
    values = np.random.default_rng(5).normal(size=8)
    assert jackknife(lambda kept: float(values[kept].mean()), 8) == pytest.approx(values)


def test_ratio_numbers_have_the_ratio_as_mean_and_its_spread() -> None:
    rng = np.random.default_rng(6)
    common = rng.normal(size=(4000, 20))
    before = 5 + common + 0.3 * rng.normal(size=common.shape)
    after = 6 + common + 0.3 * rng.normal(size=common.shape)
    numbers = [ratio_numbers(*pair) for pair in zip(before, after, strict=True)]
    ratios = after.mean(axis=1) / before.mean(axis=1) - 1
    assert [one.mean() for one in numbers] == pytest.approx(ratios)
    errors = np.mean([one.std(ddof=1) / math.sqrt(20) for one in numbers])
    assert errors == pytest.approx(ratios.std(), rel=0.05)


def test_variance_shares_of_known_worlds() -> None:
    rng = np.random.default_rng(7)
    methods = [name for name in "abcdef" for _ in range(6)]
    noise = rng.normal(size=(200, 36))
    by_method = np.repeat(rng.normal(size=6), 6)
    assert variance_shares(np.zeros((5, 36)) + by_method, methods) == pytest.approx((1, 0, 0))
    within = np.concatenate([part - part.mean() for part in rng.normal(size=(6, 6))])
    assert variance_shares(np.zeros((5, 36)) + within, methods) == pytest.approx((0, 1, 0))
    known = variance_shares(2 * by_method + 3 * within + noise, methods)
    expected = np.array([4 * by_method.var(), 9 * within.var(), 1.0])
    assert known == pytest.approx(expected / expected.sum(), abs=0.02)
    assert all(math.isnan(share) for share in variance_shares(np.ones((3, 36)), methods))


def test_variance_shares_of_noise_are_the_seeds_however_few() -> None:
    rng = np.random.default_rng(8)
    methods = [name for name in "abcdef" for _ in range(6)]
    found = np.mean([variance_shares(rng.normal(size=(2, 36)), methods) for _ in range(400)], axis=0)
    # Cut off at 0, the parts of chance keep a little; uncorrected they would be 5/71 and 30/71.
    assert found[0] < 0.035
    assert found[1] < 0.1


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]).tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]).tolist() == []
    assert holm([0.7, 0.9]).tolist() == [1.0, 1.0]


def test_holm_keeps_the_chance_of_any_error() -> None:
    rng = np.random.default_rng(9)
    trials = np.array([holm(rng.uniform(size=20)).min() for _ in range(2000)])
    assert (trials <= LEVEL).mean() == pytest.approx(LEVEL, abs=0.015)


@pytest.mark.parametrize("seeds", [3, 5, 10])
def test_a_bound_that_is_the_truth_is_passed_as_often_as_allowed(seeds: int) -> None:
    rng = np.random.default_rng(10)
    chances = [mean_of([Units(rng.normal(0.2, 1, seeds), 2)]).chance_above(0.2) for _ in range(1500)]
    assert (np.array(chances) <= LEVEL).mean() == pytest.approx(LEVEL, abs=0.017)


@pytest.mark.parametrize(("distance", "level"), [(1.0, 0.025), (0.5, 0.025), (1.5, 0.001)])
def test_power_at_the_number_of_seeds_that_is_needed(distance: float, level: float) -> None:
    pilot = Estimate(effect=distance, error=1 / math.sqrt(5), freedom=4, seeds=5)
    seeds = pilot.seeds_needed(distance, level)
    assert seeds is not None
    rng = np.random.default_rng(11)
    draws = rng.normal(distance, 1, (4000, seeds))
    test: Any = stats.ttest_1samp(draws, 0, axis=1, alternative="greater")
    assert (test.pvalue <= level).mean() == pytest.approx(POWER, abs=0.06)


def test_no_number_of_seeds_tells_an_effect_from_itself() -> None:
    estimate = Estimate(effect=0.1, error=0.1, freedom=4, seeds=5)
    assert estimate.seeds_needed(0.0) is None
    assert estimate.seeds_needed(1e-6) is None
