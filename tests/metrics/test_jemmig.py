"""JEMMIG: the slow twin, exact cases, its bounds and its relation to the bin width (A.11, A.12)."""

import math

import numpy as np
import posterior_references as slow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hackle.information import PosteriorError, factor_information
from hackle.metrics.jemmig import jemmig, jemmig_per_factor

ROWS = np.stack(np.meshgrid(np.arange(4), np.arange(5)), axis=-1).reshape(-1, 2)
SHARP = np.full(ROWS.shape, -14.0)
CENTRES = ROWS * 1.2 - 2.36


def noisy(seed: int = 0, n: int = 500):
    rng = np.random.default_rng(seed)
    rows = rng.integers([3, 6], size=(n, 2))
    means = (rows - rows.mean(axis=0)) / rows.std(axis=0) @ np.array([[1.0, 0.3, 0.1], [0.2, 0.8, 0.0]])
    return means, np.tile([-4.0, -3.0, -1.0], (n, 1)), rows


def test_equals_the_slow_twin():
    means, logvars, factors = noisy(n=60)
    assert jemmig(means, logvars, factors, bins=25) == pytest.approx(slow.jemmig(means, logvars, factors, 25), abs=1e-9)


def test_a_code_that_is_its_factor_scores_zero():
    assert jemmig(CENTRES, SHARP, ROWS) == pytest.approx(0.0, abs=1e-6)
    assert jemmig(CENTRES, SHARP, ROWS, normalised=False) == pytest.approx(0.0, abs=1e-5)


def test_a_copy_and_information_on_another_factor_cost_what_the_formula_says():
    copied = jemmig_per_factor(factor_information(CENTRES[:, [0, 1, 0]], SHARP[:, [0, 1, 0]], ROWS), normalised=False)
    np.testing.assert_allclose(copied, [math.log(4), 0.0], atol=1e-5)
    # One code holds both factors and is alone: H(z, y) − I(z; y) is what it knows besides the factor.
    both = (ROWS[:, :1] * 5 + ROWS[:, 1:]) * 0.32 - 3.08
    found = jemmig_per_factor(factor_information(both, SHARP[:, :1], ROWS, bins=100), normalised=False)
    np.testing.assert_allclose(found, [math.log(5), math.log(4)], atol=1e-5)


def test_the_sole_codes_score_has_the_gap_taken_off():
    # H(z, y) − I* + I°, with no rival: 20 values in z, 4 in y, I* = ln 4.
    both = (ROWS[:, :1] * 5 + ROWS[:, 1:]) * 0.32 - 3.08
    found = factor_information(both, SHARP[:, :1], ROWS)
    expected = (math.log(20) - math.log(4)) / (math.log(100) + math.log(4))
    assert jemmig_per_factor(found)[0] == pytest.approx(expected, abs=1e-6)


@pytest.mark.filterwarnings("ignore::hackle.information.OutOfRangeWarning")
@settings(max_examples=20, deadline=None)
@given(
    arrays(float, (8, 3), elements=st.floats(-3, 3)),
    arrays(float, (8, 3), elements=st.floats(-8, 0)),
    arrays(int, (8, 1), elements=st.integers(0, 3)),
)
def test_normalised_lies_between_zero_and_one(means, logvars, factors):
    factors[0], factors[1] = 0, 1
    assert -1e-12 <= jemmig(means, logvars, factors, bins=12) <= 1 + 1e-12


def test_quantised_is_sampled_less_the_logarithm_of_the_bin_width():
    means, logvars, factors = noisy(n=2000)
    width = 8 / 400
    quantised = jemmig(means, logvars, factors, bins=400, normalised=False)
    sampled = jemmig(means, logvars, factors, estimator="sampled", samples=2, normalised=False)
    assert quantised == pytest.approx(sampled - math.log(width), abs=0.05)
    assert jemmig(means, logvars, factors, bins=400, estimator="sampled", samples=2) == pytest.approx(
        jemmig(means, logvars, factors, bins=400), abs=0.01
    )


def test_more_bins_raise_the_score_and_keep_the_order():
    means, logvars, factors = noisy()
    worse = np.random.default_rng(3).normal(size=means.shape)
    scores = [jemmig(means, logvars, factors, bins=bins) for bins in (50, 100, 200)]
    others = [jemmig(worse, logvars, factors, bins=bins) for bins in (50, 100, 200)]
    assert scores == sorted(scores)
    assert all(one < other for one, other in zip(scores, others, strict=True))


def test_order_permutation_sign_and_relabelling_do_not_matter():
    means, logvars, factors = noisy()
    plain = jemmig(means, logvars, factors)
    order = np.random.default_rng(1).permutation(len(means))
    assert jemmig(means[order], logvars[order], factors[order]) == pytest.approx(plain, abs=1e-12)
    assert jemmig(means[:, [1, 2, 0]], logvars[:, [1, 2, 0]], factors) == pytest.approx(plain, abs=1e-12)
    assert jemmig(-means, logvars, factors) == pytest.approx(plain, abs=1e-12)
    assert jemmig(means, logvars, 10 - factors) == pytest.approx(plain, abs=1e-12)


def test_a_collapsed_code_and_a_constant_factor_change_nothing():
    means, logvars, factors = noisy()
    plain = jemmig(means, logvars, factors)
    zeros = np.zeros(len(means))
    assert jemmig(np.column_stack([means, zeros]), np.column_stack([logvars, zeros]), factors) == pytest.approx(plain)
    constant = np.column_stack([factors, zeros.astype(int)])
    assert jemmig(means, logvars, constant) == pytest.approx(plain)
    assert np.isnan(jemmig_per_factor(factor_information(means, logvars, constant))[2])
    with pytest.raises(PosteriorError, match="every factor has a single value"):
        jemmig(means, logvars, constant[:, 2:])


@pytest.mark.parametrize("estimator", ["quantised", "sampled"])
def test_balanced_values_weigh_entropies_as_they_weigh_informations(estimator):
    """Ninety-nine points of one value and one of the other: made equally likely, the code still is its factor."""
    factors = np.arange(100)[:, None] == 0
    means, logvars = np.where(factors, 2.04, -2.04), np.full((100, 1), -6.0)
    options = {"estimator": estimator, "bins": 400, "samples": 200}
    evenly = np.repeat([[False], [True]], 50, axis=0)
    expected = jemmig(np.where(evenly, 2.04, -2.04), logvars, evenly, **options)
    assert jemmig(means, logvars, factors, balanced=True, **options) == pytest.approx(expected, abs=0.02)


def test_of_codes_that_know_equally_much_the_one_that_knows_least_besides_counts():
    rows = np.array([[0], [0], [1], [1]])
    logvars = np.array([[0.0, -9.0]] * 4)
    noise = np.full((4, 2), 0.5)
    assert jemmig(noise, logvars, rows) == pytest.approx(jemmig(noise[:, 1:], logvars[:, 1:], rows))
    assert jemmig(noise, logvars[:, ::-1], rows) == pytest.approx(jemmig(noise, logvars, rows))
