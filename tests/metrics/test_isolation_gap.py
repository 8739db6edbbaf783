"""Theorem 1 of Yang et al., both sides computed apart: by integration over the plane, and in closed form for Gaussians."""

import math

import numpy as np
import posterior_references as slow
import pytest

from hackle.information import PosteriorError, Posteriors
from hackle.metrics.isolation_gap import isolation_gap

MEANS = np.array([[-1.0, -0.8], [0.4, 0.6], [1.0, -1.2], [0.2, 1.5]])
LOGVARS = np.array([[-1.0, -1.5], [-0.7, -1.0], [-1.2, -0.4], [-1.0, -2.0]])

pytestmark = pytest.mark.filterwarnings("ignore::hackle.information.SaturatedEstimateWarning")


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
def test_both_sides_agree_by_integration_and_with_the_sampled_terms(correlation):
    joint = slow.plane_entropy(MEANS, LOGVARS, correlation)
    singles = [slow.mixture_entropy(MEANS[:, code], LOGVARS[:, code]) for code in range(2)]
    joint_given_x = np.mean([slow.gaussian_entropy(v, correlation) for v in LOGVARS])
    singles_given_x = [np.mean([slow.gaussian_entropy(v[[code]], 0.0) for v in LOGVARS]) for code in range(2)]
    # Left: I(z; x) − Σ I(z_i; x). Right: Σ H(z_i|x) − H(z|x) less Σ H(z_i) − H(z), the two divergences.
    left = (joint - joint_given_x) - sum(h - g for h, g in zip(singles, singles_given_x, strict=True))
    conditional = sum(singles_given_x) - joint_given_x
    marginal = sum(singles) - joint
    assert left == pytest.approx(conditional - marginal, abs=1e-6)
    assert conditional == pytest.approx(-0.5 * math.log(1 - correlation**2), abs=1e-9)

    found = isolation_gap(MEANS, LOGVARS, correlation=correlation, samples=20_000)
    assert found.gap == pytest.approx(left, abs=0.02)
    assert found.conditional == pytest.approx(conditional, abs=1e-9)
    assert found.marginal == pytest.approx(marginal, abs=0.02)
    assert found.gap == pytest.approx(found.conditional - found.marginal, abs=0.02)


def test_for_factorised_posteriors_the_two_sides_agree_to_rounding():
    found = isolation_gap(MEANS, LOGVARS, samples=50)
    assert found.conditional == 0.0
    assert found.gap == pytest.approx(-found.marginal, abs=1e-10)


@pytest.mark.parametrize("correlation", [0.0, 0.9])
def test_equals_the_slow_twin_on_the_same_draws(correlation):
    rng = np.random.default_rng(0)
    means, logvars = rng.normal(size=(8, 4)), rng.normal(-1, 1, size=(8, 4))
    subset = [3, 0, 2]
    points = Posteriors(means[:, subset], logvars[:, subset], correlation)
    z = points.draw(seed=5)
    total = slow.sampled_information(z, points.means, points.logvars, correlation, [0, 1, 2])
    singles = [slow.sampled_information(z, points.means, points.logvars, correlation, [code]) for code in range(3)]
    found = isolation_gap(means, logvars, subset, correlation=correlation, seed=5)
    assert found.gap == pytest.approx(total - sum(singles), abs=1e-9)
    expected = slow.sampled_total_correlation(z, points.means, points.logvars, correlation)
    assert found.marginal == pytest.approx(expected, abs=1e-9)
    sigma = slow.covariance(np.zeros(3), correlation)
    assert found.conditional == pytest.approx(-0.5 * math.log(np.linalg.det(sigma)), abs=1e-12)


def test_gaussian_aggregate_with_correlated_noise():
    # A = M + s² Σ: marginal = −½ ln(det A / Π A_ii), and the gap follows from log determinants alone.
    s, sigma, n = 0.7, 0.9, 4000
    rng = np.random.default_rng(1)
    means = rng.multivariate_normal(np.zeros(3), 0.5 * np.eye(3) + 0.1, size=n)
    noise = s**2 * ((1 - sigma) * np.eye(3) + sigma)
    aggregate = np.cov(means, rowvar=False) + noise
    joint = 0.5 * math.log(np.linalg.det(aggregate) / np.linalg.det(noise))
    singles = 0.5 * np.log(np.diag(aggregate) / s**2)
    found = isolation_gap(means, np.full((n, 3), 2 * math.log(s)), correlation=sigma, samples=2)
    assert found.gap == pytest.approx(joint - singles.sum(), abs=0.06)
    assert found.marginal == pytest.approx(
        0.5 * (np.log(np.diag(aggregate)).sum() - np.linalg.slogdet(aggregate)[1]), abs=0.04
    )


def test_one_code_and_collapsed_codes_have_no_gap():
    assert isolation_gap(MEANS, LOGVARS, [1]).gap == pytest.approx(0.0, abs=1e-12)
    found = isolation_gap(np.column_stack([MEANS[:, 0], np.zeros(4)]), np.column_stack([LOGVARS[:, 0], np.zeros(4)]))
    assert found.gap == pytest.approx(0.0, abs=1e-12)


def test_a_mixture_larger_than_the_points():
    rng = np.random.default_rng(0)
    means, logvars = rng.normal(size=(3000, 2)), np.full((3000, 2), -1.0)
    found = isolation_gap(means[:200], logvars[:200], mixture=(means, logvars), samples=5)
    assert found.gap == pytest.approx(0.0, abs=0.03)
    with pytest.raises(PosteriorError, match="is not among the mixture's"):
        isolation_gap(means, logvars, mixture=(means[:200], logvars[:200]))


def test_bad_subset_is_refused():
    with pytest.raises(PosteriorError, match="subset is"):
        isolation_gap(MEANS, LOGVARS, [0, 5])
