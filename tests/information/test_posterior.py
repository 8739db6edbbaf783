"""Posteriors: what is refused, and that draws and densities are those of the covariance diag(s) Σ diag(s)."""

import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal

from hackle.information.mixture import mixture_log_densities
from hackle.information.posterior import PosteriorError, Posteriors, label_factors
from hackle.information.quantised import Bins, quantise

ZEROS = np.zeros((4, 2))


def covariance(logvar, correlation):
    scales = np.exp(0.5 * np.asarray(logvar))
    return np.outer(scales, scales) * (np.eye(len(scales)) * (1 - correlation) + correlation)


@pytest.mark.parametrize(
    ("means", "logvars", "correlation", "said"),
    [
        (np.zeros((4, 2, 1)), ZEROS, 0.0, r"means have shape \(4, 2, 1\)"),
        (np.zeros((0, 2)), np.zeros((0, 2)), 0.0, "a sample in each row"),
        (ZEROS, np.zeros((4, 3)), 0.0, "a logvar for each mean"),
        (np.zeros((1, 2)), np.zeros((1, 2)), 0.0, "at least 2 rows"),
        (np.full((4, 2), np.nan), ZEROS, 0.0, "means hold nan in row 0, column 0"),
        (ZEROS, np.full((4, 2), -np.inf), 0.0, "logvars hold -inf"),
        (ZEROS, np.full((4, 2), 1000.0), 0.0, "logvars reach 1000; expected at most 50: the encoder has diverged"),
        (ZEROS, ZEROS, 1.0, "correlation is 1.0"),
        (ZEROS, ZEROS, -0.1, "correlation is -0.1"),
        (ZEROS.astype(complex), ZEROS, 0.0, "expected real numbers"),
    ],
)
def test_bad_posteriors_are_refused_with_a_reason(means, logvars, correlation, said):
    with pytest.raises(PosteriorError, match=said):
        Posteriors(means, logvars, correlation)


def test_densities_of_posteriors_that_are_all_but_points_are_refused_and_nothing_else():
    rng = np.random.default_rng(0)
    means = rng.normal(size=(50, 2))
    narrow, point = Posteriors(means, np.full((50, 2), -51.0)), Posteriors(means, np.full((50, 2), -1e6))
    for points in (narrow, point):
        with pytest.raises(PosteriorError, match=r"where densities lose their digits; .* a logvar of −20"):
            points.log_densities(points.draw(seed=0))
        with pytest.raises(PosteriorError, match="where densities lose their digits"):
            mixture_log_densities(means, points)
        np.testing.assert_allclose(points.draw(seed=0), means, atol=1e-9)
        # A bin's mass is then one for the bin that holds the mean.
        quantised, counted = (
            quantise(points, Bins(10)),
            np.stack([np.bincount(Bins(10).index(column), minlength=10) for column in means.T]),
        )
        np.testing.assert_allclose(quantised.masses, counted / 50, atol=1e-12)
        assert quantised.conditional_entropies == pytest.approx([0.0, 0.0], abs=1e-12)
    np.testing.assert_allclose(Bins(2).masses(torch.zeros(1).double(), torch.full((1,), -1e6).double()), [[0.5, 0.5]])


def test_draws_have_the_posteriors_moments():
    logvar = [0.0, -2.0, 1.0]
    points = Posteriors(np.full((60_000, 3), [1.0, 2.0, -3.0]), np.tile(logvar, (60_000, 1)), correlation=0.7)
    z = points.draw(seed=0)
    np.testing.assert_allclose(z.mean(axis=0), [1.0, 2.0, -3.0], atol=0.03)
    np.testing.assert_allclose(np.cov(z, rowvar=False), covariance(logvar, 0.7), atol=0.04)


def test_noise_is_independent_of_means_made_with_the_same_seed():
    means = np.random.default_rng(0).standard_normal((20_000, 2))
    noise = Posteriors(means, np.zeros((20_000, 2))).draw(seed=0) - means
    assert np.abs(np.corrcoef(means, noise, rowvar=False)[:2, 2:]).max() < 0.03


@pytest.mark.parametrize("correlation", [0.0, 0.9])
def test_own_densities_are_those_of_blocks_of_the_covariance(correlation):
    rng = np.random.default_rng(1)
    points = Posteriors(rng.normal(size=(5, 3)), rng.normal(size=(5, 3)), correlation)
    z = points.draw(seed=2)
    found = points.log_densities(z, without=True)
    assert not points.log_densities(z).without.size
    for row in range(5):
        full = covariance(points.logvars[row], correlation)
        for codes, value in [
            ([0, 1, 2], found.joint[row]),
            ([1, 2], found.without[row, 0]),
            ([0, 2], found.without[row, 1]),
            ([2], found.marginal[row, 2]),
        ]:
            expected = multivariate_normal(points.means[row, codes], full[np.ix_(codes, codes)]).logpdf(z[row, codes])
            assert value == pytest.approx(float(expected), abs=1e-10)


def test_total_correlation_given_x_is_minus_half_log_determinant():
    points = Posteriors(np.zeros((2, 5)), np.zeros((2, 5)), correlation=0.9)
    expected = -0.5 * np.log(np.linalg.det(covariance(np.zeros(5), 0.9)))
    assert points.total_correlation == pytest.approx(expected, abs=1e-12)
    assert points.total_correlation == pytest.approx(-0.5 * np.log(0.1**4 * 4.6), abs=1e-12)
    assert Posteriors(ZEROS, ZEROS).total_correlation == 0.0


@pytest.mark.parametrize("subset", [[], [0, 0], [2], [-1]])
def test_a_subset_names_different_codes(subset):
    with pytest.raises(PosteriorError, match="expected different codes out of 0 to 1"):
        Posteriors(ZEROS, ZEROS).select(subset)


def test_repeat_wants_a_draw():
    with pytest.raises(PosteriorError, match="samples is 0"):
        Posteriors(ZEROS, ZEROS).repeat(0)


def test_integer_factors_keep_their_identity_and_floats_are_cut():
    labels = label_factors(np.array([[10], [-3], [10], [7]]), n=4, factor_bins=2)
    assert labels[:, 0].tolist() == [2, 0, 2, 1]
    labels = label_factors(np.array([[0.0], [0.1], [0.9], [1.0]]), n=4, factor_bins=3)
    assert labels[:, 0].tolist() == [0, 0, 1, 1]
    labels = label_factors(np.array([[0.0], [0.1], [0.9], [1.0]]), n=4, factor_bins=3, kinds="ordinal")
    assert labels[:, 0].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("factors", "said"), [(np.zeros((4, 0)), "shape"), (np.zeros((3, 1)), "shape"), ([[np.nan]] * 4, "no value")]
)
def test_bad_factors_are_refused(factors, said):
    with pytest.raises(PosteriorError, match=said):
        label_factors(factors, n=4, factor_bins=5)
