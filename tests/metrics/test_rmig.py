"""RMIG, the information matrix over posteriors and MIG by Chen et al.: twins, exact cases, invariances."""

import math

import numpy as np
import posterior_references as slow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hackle.information import PosteriorError, Posteriors, factor_information, posterior_information
from hackle.metrics.modularity import modularity_from_information
from hackle.metrics.posterior_mig import posterior_mig_score
from hackle.metrics.rmig import rmig_from_information, rmig_per_factor, rmig_score

ROWS = np.stack(np.meshgrid(np.arange(4), np.arange(4), np.arange(5)), axis=-1).reshape(-1, 3)


def perfect(rows, logvar: float = -12.0):
    """A code for each factor, its values at bin centres."""
    return rows * 1.2 - 2.36, np.full(rows.shape, logvar)


def learned(seed: int = 0, n: int = 400):
    """Codes that mix two factors a little and ignore the third, with noise of different sizes."""
    rng = np.random.default_rng(seed)
    rows = rng.integers([3, 4, 5], size=(n, 3))
    centred = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    means = centred @ np.array([[1.0, 0.2, 0.0], [-0.1, 0.9, 0.0], [0.0, 0.0, 0.05]])
    return means, np.tile([-4.0, -3.0, -0.1], (n, 1)), rows


@pytest.mark.filterwarnings("ignore::hackle.information.OutOfRangeWarning")
@settings(max_examples=15, deadline=None)
@given(
    arrays(float, (8, 2), elements=st.floats(-3, 3)),
    arrays(float, (8, 2), elements=st.floats(-8, 0)),
    arrays(int, (8, 2), elements=st.integers(0, 2)),
)
def test_quantised_information_equals_the_slow_twin(means, logvars, factors):
    for prior in ("frequency", "uniform"):
        found = posterior_information(means, logvars, factors, bins=9, balanced=prior == "uniform")
        expected = [
            [slow.factor_information(means, logvars, factors, i, k, 9, prior) for k in range(2)] for i in range(2)
        ]
        np.testing.assert_allclose(found, expected, atol=1e-9)


def test_rmig_equals_the_slow_twin():
    means, logvars, factors = learned(n=60)
    assert rmig_score(means, logvars, factors, bins=30) == pytest.approx(
        slow.rmig(means, logvars, factors, 30), abs=1e-9
    )


def test_sampled_information_equals_the_slow_twin_on_the_same_draws():
    means, logvars, factors = learned(n=40)
    z = Posteriors(means, logvars).draw(seed=3)
    found = posterior_information(means, logvars, factors, estimator="sampled", seed=3)
    for code in range(3):
        for factor in range(3):
            expected = slow.sampled_factor_information(z, means, logvars, factors, code, factor)
            assert found[code, factor] == pytest.approx(max(expected, 0.0), abs=1e-9)


@pytest.mark.parametrize("score", [rmig_score, posterior_mig_score])
def test_a_code_for_each_factor_scores_one_and_a_copy_takes_its_gap(score):
    means, logvars = perfect(ROWS)
    assert score(means, logvars, ROWS) == pytest.approx(1.0, abs=1e-6)
    copied = score(np.column_stack([means, means[:, 0]]), np.column_stack([logvars, logvars[:, 0]]), ROWS)
    # The sampled copy has noise of its own, far below the distance between values.
    assert copied == pytest.approx(2 / 3, abs=1e-6)


def test_unnormalised_is_in_nats_and_listed_by_factor():
    found = factor_information(*perfect(ROWS), ROWS)
    np.testing.assert_allclose(rmig_per_factor(found), 1.0, atol=1e-9)
    np.testing.assert_allclose(
        rmig_per_factor(found, normalised=False), [math.log(4), math.log(4), math.log(5)], atol=1e-9
    )
    assert rmig_from_information(found, normalised=False) == pytest.approx(math.log(80) / 3)


def test_quantised_and_sampled_estimates_agree():
    means, logvars, factors = learned(n=2000)
    quantised = rmig_score(means, logvars, factors, bins=200)
    assert rmig_score(means, logvars, factors, estimator="sampled", samples=2) == pytest.approx(quantised, abs=0.02)


def test_mig_and_rmig_agree_on_balanced_factors_and_differ_on_others():
    rng = np.random.default_rng(0)
    means = ROWS @ rng.normal(size=(3, 4)) * 0.4
    means, logvars = means - means.mean(axis=0), np.full((len(ROWS), 4), -2.0)
    balanced = rmig_score(means, logvars, ROWS, bins=400)
    assert posterior_mig_score(means, logvars, ROWS, estimator="quantised", bins=400) == pytest.approx(
        balanced, abs=1e-9
    )
    assert posterior_mig_score(means, logvars, ROWS, samples=20) == pytest.approx(balanced, abs=0.02)
    rare = np.flatnonzero((ROWS[:, 0] > 0) | (ROWS[:, 1] == 0))
    frequency = rmig_score(means[rare], logvars[rare], ROWS[rare])
    uniform = posterior_mig_score(means[rare], logvars[rare], ROWS[rare], estimator="quantised")
    assert abs(frequency - uniform) > 1e-3


def test_order_permutation_sign_and_relabelling_do_not_matter():
    means, logvars, factors = learned()
    plain = rmig_score(means, logvars, factors)
    rng = np.random.default_rng(1)
    order = rng.permutation(len(means))
    assert rmig_score(means[order], logvars[order], factors[order]) == pytest.approx(plain, abs=1e-12)
    assert rmig_score(means[:, [2, 0, 1]], logvars[:, [2, 0, 1]], factors) == pytest.approx(plain, abs=1e-12)
    assert rmig_score(-means, logvars, factors) == pytest.approx(plain, abs=1e-12)
    relabelled = np.stack([np.array([7, -1, 30, 4, 2])[column] for column in factors.T], axis=1)
    assert rmig_score(means, logvars, relabelled) == pytest.approx(plain, abs=1e-12)
    assert rmig_score(means, logvars, factors[:, [1, 2, 0]]) == pytest.approx(plain, abs=1e-12)


def test_rotating_the_codes_lowers_the_score():
    means, logvars = perfect(ROWS, logvar=-6.0)
    means = means - means.mean(axis=0)
    scores = []
    for angle in (0.0, math.pi / 12, math.pi / 6, math.pi / 4):
        rotation = np.eye(3)
        rotation[:2, :2] = [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]
        scores.append(rmig_score(means @ rotation, logvars, ROWS))
    assert scores == sorted(scores, reverse=True)
    assert scores[0] - scores[-1] > 0.3


def test_a_collapsed_code_changes_nothing():
    means, logvars, factors = learned()
    more = rmig_score(
        np.column_stack([means, np.zeros(len(means))]), np.column_stack([logvars, np.zeros(len(means))]), factors
    )
    assert more == pytest.approx(rmig_score(means, logvars, factors), abs=1e-12)


def test_a_factor_with_one_value_is_left_out():
    means, logvars, factors = learned()
    constant = np.column_stack([factors, np.full(len(factors), 9)])
    assert rmig_score(means, logvars, constant) == pytest.approx(rmig_score(means, logvars, factors), abs=1e-12)
    per_factor = rmig_per_factor(factor_information(means, logvars, constant))
    assert np.isnan(per_factor).tolist() == [False, False, False, True]
    with pytest.raises(PosteriorError, match="every factor has a single value"):
        rmig_score(means, logvars, np.zeros((len(means), 2), dtype=int))


def test_a_sole_code_has_a_rival_of_zero():
    means, logvars = perfect(ROWS)
    assert rmig_score(means[:, :1], logvars[:, :1], ROWS[:, :1]) == pytest.approx(1.0, abs=1e-9)


def test_continuous_factors_are_cut():
    rng = np.random.default_rng(0)
    y = rng.uniform(-3, 3, size=(3000, 2))
    found = factor_information(y, np.full((3000, 2), -12.0), y, factor_bins=10)
    np.testing.assert_allclose(found.factor_entropies, math.log(10), atol=0.01)
    assert rmig_score(y, np.full((3000, 2), -12.0), y, factor_bins=10) > 0.85
    fine = factor_information(y, np.full((3000, 2), -12.0), y, factor_bins=40)
    assert (fine.factor_entropies > found.factor_entropies).all()


def test_modularity_over_posteriors_ignores_correlated_means_of_noise():
    # Do & Tran, A.9: means of a noisy code drift with a factor, its draws do not.
    means, logvars = perfect(ROWS)
    drift = 0.01 * (ROWS[:, 0] + ROWS[:, 1])
    means, logvars = np.column_stack([means, drift]), np.column_stack([logvars, np.zeros(len(ROWS))])
    information = posterior_information(means, logvars, ROWS)
    assert information[3].max() < 1e-3
    assert modularity_from_information(information[:3]) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("factors", [np.zeros((3, 2), dtype=int), np.zeros(81, dtype=int), np.full((80, 1), np.nan)])
def test_bad_factors_are_refused(factors):
    with pytest.raises(PosteriorError, match=r"factors have shape|factor_0 has no value"):
        rmig_score(*perfect(ROWS), factors)


def test_an_unknown_estimator_is_refused():
    with pytest.raises(PosteriorError, match="expected quantised or sampled"):
        rmig_score(*perfect(ROWS), ROWS, estimator="guess")  # type: ignore[arg-type]


@pytest.mark.parametrize("estimator", ["quantised", "sampled"])
@pytest.mark.parametrize("seed", range(4))
def test_a_code_that_collapsed_knows_nothing_and_not_a_rounding_error(estimator, seed):
    """Modularity divides by a code's largest information, and would make anything of 1e-16."""
    rng = np.random.default_rng(seed)
    factors = rng.integers([3, 6, 40], size=(2000, 3))
    means, logvars = np.full((2000, 1), rng.uniform(-1, 1)), np.full((2000, 1), rng.uniform(-4, 0))
    information = posterior_information(means, logvars, factors, estimator=estimator)
    assert (information == 0).all()
    assert modularity_from_information(information) == 0
