"""Total correlation against Gaussians whose value is known, and the failures that the papers report."""

import math
import warnings

import numpy as np
import pytest

from hackle.information import (
    PosteriorError,
    SaturatedEstimateWarning,
    batch_total_correlation,
    covariance_total_correlation,
    density_ratio_total_correlation,
    gaussian_total_correlation,
    monte_carlo_total_correlation,
)

PAIR = np.array([[1.0, 0.9], [0.9, 1.0]])


def correlated_means(n: int, correlation: float, s: float, seed: int = 0):
    """Posteriors whose aggregate is a bivariate N(0, Σ) with this correlation: the posterior noise s is independent."""
    rng = np.random.default_rng(seed)
    covariance = np.array([[1.0, correlation], [correlation, 1.0]]) - s**2 * np.eye(2)
    return rng.multivariate_normal(np.zeros(2), covariance, size=n), np.full((n, 2), 2 * math.log(s))


def test_known_covariance():
    assert covariance_total_correlation(PAIR) == pytest.approx(-0.5 * math.log(1 - 0.81), abs=1e-12)
    assert round(covariance_total_correlation(PAIR), 5) == 0.83037
    assert covariance_total_correlation(np.diag([3.0, 0.01, 7.0])) == pytest.approx(0.0, abs=1e-12)


def test_codes_with_a_known_sample_covariance():
    # Whitened codes, then mixed by the Cholesky factor: the sample covariance is PAIR itself.
    codes = np.random.default_rng(0).normal(size=(500, 2))
    codes -= codes.mean(axis=0)
    codes = codes @ np.linalg.inv(np.linalg.cholesky(np.cov(codes, rowvar=False))).T @ np.linalg.cholesky(PAIR).T
    assert gaussian_total_correlation(codes, jitter=0.0) == pytest.approx(0.830366, abs=1e-6)
    with_jitter = -0.5 * math.log(1 - (0.9 / 1.00001) ** 2)
    assert gaussian_total_correlation(codes) == pytest.approx(with_jitter, abs=1e-9)


def test_constant_and_duplicate_codes_do_not_break_the_fit():
    codes = np.random.default_rng(0).normal(size=(400, 3))
    plain = gaussian_total_correlation(codes)
    assert gaussian_total_correlation(np.column_stack([codes, np.full(400, 7.0)])) == pytest.approx(plain, abs=1e-9)
    assert gaussian_total_correlation(np.zeros((10, 3))) == pytest.approx(0.0, abs=1e-12)
    assert gaussian_total_correlation(codes[:, :1]) == pytest.approx(0.0, abs=1e-12)
    doubled = gaussian_total_correlation(codes[:, [0, 0]])
    assert doubled == pytest.approx(-0.5 * math.log(2e-5), rel=0.02)


def test_monte_carlo_recovers_a_gaussian_aggregate():
    means, logvars = correlated_means(3000, 0.6, 0.5)
    found = monte_carlo_total_correlation(means, logvars, batch=None, samples=2)
    assert found == pytest.approx(-0.5 * math.log(1 - 0.36), abs=0.03)


def test_a_larger_mixture_saves_the_estimate_from_the_size_of_its_batch():
    means, logvars = np.random.default_rng(0).normal(size=(10_000, 3)), np.full((10_000, 3), -4.0)
    with pytest.warns(SaturatedEstimateWarning):
        alone = monte_carlo_total_correlation(means, logvars)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = monte_carlo_total_correlation(means, logvars, batch=1000, samples=1, mixture=(means, logvars))
        every = monte_carlo_total_correlation(means, logvars, batch=None, samples=1)
    assert alone > 1
    assert found == pytest.approx(every, abs=0.03)
    assert found == pytest.approx(0.0, abs=0.1)  # a draw's own point is one of 10,000
    with pytest.raises(PosteriorError, match="not among the mixture"):
        monte_carlo_total_correlation(means, logvars, mixture=(means + 1, logvars))


def test_monte_carlo_sees_correlated_noise():
    # One point's posterior repeated: q(z) = q(z|x), whose total correlation is −½ ln det Σ.
    found = monte_carlo_total_correlation(np.zeros((64, 5)), np.zeros((64, 5)), samples=300, correlation=0.9)
    assert found == pytest.approx(-0.5 * math.log(0.1**4 * 4.6), abs=0.05)
    assert monte_carlo_total_correlation(np.zeros((64, 5)), np.zeros((64, 5))) == pytest.approx(0.0, abs=1e-12)


def test_factorised_densities_leave_the_correlation_to_the_draws():
    alike = np.zeros((64, 5))
    assert monte_carlo_total_correlation(alike, alike, correlation=0.9, factorised=True) == pytest.approx(0, abs=1e-12)
    means, logvars = np.random.default_rng(0).normal(size=(64, 5)) * 20, np.full((64, 5), -6.0)
    with pytest.warns(SaturatedEstimateWarning):
        own, paper, plain = (
            monte_carlo_total_correlation(means, logvars, correlation=correlation, factorised=factorised)
            for correlation, factorised in ((0.9, False), (0.9, True), (0.0, True))
        )
    # Each draw meets its own point alone: log q(z) = log q(z|x) − ln 64, and the constant is all that differs.
    assert own - paper == pytest.approx(-0.5 * math.log(0.1**4 * 4.6), abs=0.05)
    assert paper == pytest.approx(plain, abs=0.1)


def test_a_batch_of_64_saturates_and_says_so():
    means, logvars = np.random.default_rng(0).normal(size=(1000, 10)), np.full((1000, 10), -6.0)
    with pytest.warns(SaturatedEstimateWarning, match="a mixture of 64 points"):
        found = monte_carlo_total_correlation(means, logvars)
    assert found > 5  # the codes are independent: the true value is 0


def test_the_batch_estimate_turns_negative_as_kim_and_mnih_report():
    rng = np.random.default_rng(0)
    for s, codes in [(0.05, 10), (0.1, 5)]:
        means, logvars = rng.normal(size=(2000, codes)), np.full((2000, codes), 2 * math.log(s))
        assert batch_total_correlation(means, logvars, batch=64) < -10
    wide = batch_total_correlation(*correlated_means(3000, 0.6, 0.5), batch=3000)
    assert wide == pytest.approx(-0.5 * math.log(1 - 0.36), abs=0.04)


def test_density_ratio_of_an_ideal_discriminator():
    z = np.random.default_rng(0).multivariate_normal([0, 0], PAIR, size=100_000)
    joint = -0.5 * np.einsum("ni,ij,nj->n", z, np.linalg.inv(PAIR), z) - 0.5 * math.log(np.linalg.det(PAIR))
    logits = joint + 0.5 * (z**2).sum(axis=1)
    assert density_ratio_total_correlation(logits) == pytest.approx(0.83037, abs=0.02)
    assert density_ratio_total_correlation(np.stack([logits, np.zeros_like(logits)], axis=1)) == pytest.approx(
        logits.mean()
    )


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: gaussian_total_correlation(np.zeros((1, 2))), "at least 2 samples"),
        (lambda: gaussian_total_correlation(np.full((5, 2), np.nan)), "finite"),
        (lambda: covariance_total_correlation(np.zeros((2, 3))), "square"),
        (lambda: covariance_total_correlation(np.zeros((2, 2))), "not positive definite"),
        (lambda: covariance_total_correlation(-np.eye(2)), "not positive definite"),
        # Two negative eigenvalues leave the determinant positive.
        (lambda: covariance_total_correlation(np.kron(np.eye(2), [[1.0, 2.0], [2.0, 1.0]])), "not positive definite"),
        (lambda: covariance_total_correlation([[1.0, 0.9], [0.0, 1.0]]), "symmetric"),
        (lambda: covariance_total_correlation(np.zeros((0, 0))), "square"),
        (lambda: gaussian_total_correlation(np.eye(3), jitter=-1.0), "jitter is -1"),
        (lambda: gaussian_total_correlation(np.outer([0, 1e6, 3e6], [1, 1])), "raise jitter"),
        (lambda: gaussian_total_correlation(np.outer([0, 1e170, 3e170], [1, 1])), "squares"),
        (lambda: covariance_total_correlation([[np.inf]]), "covariance holds NaN or infinity"),
        (lambda: gaussian_total_correlation([[0.0, 1.0], [np.nan, 2.0]]), "codes hold NaN or infinity"),
        (lambda: monte_carlo_total_correlation(np.zeros((5, 2)), np.zeros((5, 2))), "batch is 64; expected 2 to 5"),
        (lambda: batch_total_correlation(np.zeros((5, 2)), np.zeros((5, 2)), batch=1), "batch is 1"),
        (lambda: density_ratio_total_correlation(np.zeros((5, 3))), "logits have shape"),
        (lambda: density_ratio_total_correlation([np.inf]), "finite"),
    ],
)
def test_bad_input_is_refused(call, said):
    with pytest.raises(PosteriorError, match=said):
        call()
