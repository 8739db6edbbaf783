"""Correlation matrices of means and of draws."""

import numpy as np
import pytest

from hackle.information import PosteriorError
from hackle.metrics.checks import MetricError
from hackle.metrics.correlation import correlation_matrix, sampled_correlation_matrix


def test_equals_numpy_and_tolerates_constants():
    codes = np.random.default_rng(0).normal(size=(200, 3)) @ np.random.default_rng(1).normal(size=(3, 3))
    np.testing.assert_allclose(correlation_matrix(codes), np.corrcoef(codes, rowvar=False), atol=1e-12)
    found = correlation_matrix(np.column_stack([codes, np.full(200, 0.1)]))
    np.testing.assert_allclose(found[:3, :3], np.corrcoef(codes, rowvar=False), atol=1e-12)
    assert found[3].tolist() == [0.0, 0.0, 0.0, 1.0]


def test_means_of_noise_mislead_where_draws_do_not():
    # A.6: the means drift together by a hundredth of the noise.
    drift = 0.01 * np.random.default_rng(0).normal(size=20_000)
    means, logvars = np.stack([drift, drift], axis=1), np.zeros((20_000, 2))
    assert correlation_matrix(means)[0, 1] == pytest.approx(1.0)
    assert abs(sampled_correlation_matrix(means, logvars)[0, 1]) < 0.03


def test_correlated_noise_shows_in_draws():
    found = sampled_correlation_matrix(np.zeros((5000, 3)), np.zeros((5000, 3)), correlation=0.9, samples=4)
    np.testing.assert_allclose(found, 0.1 * np.eye(3) + 0.9, atol=0.01)


def test_permutation_and_sign():
    codes = np.random.default_rng(0).normal(size=(100, 3)) + np.arange(100)[:, None] / 50
    found = correlation_matrix(codes)
    signs = np.array([1, -1, 1])
    np.testing.assert_allclose(correlation_matrix(codes * signs), found * np.outer(signs, signs), atol=1e-12)
    np.testing.assert_allclose(correlation_matrix(codes[:, [2, 0, 1]]), found[np.ix_([2, 0, 1], [2, 0, 1])], atol=1e-12)


def test_bad_input_is_refused():
    with pytest.raises(MetricError, match="at least 2 rows"):
        correlation_matrix([[1.0, 2.0]])
    with pytest.raises(MetricError, match="NaN"):
        correlation_matrix([[np.nan], [0.0]])
    with pytest.raises(PosteriorError, match="samples is 0"):
        sampled_correlation_matrix(np.zeros((2, 2)), np.zeros((2, 2)), samples=0)


@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e200])
def test_the_size_of_codes_does_not_matter(size):
    codes = np.random.default_rng(0).normal(size=(50, 3)) @ [[1.0, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.3, 1.0]]
    np.testing.assert_allclose(correlation_matrix(codes * size), correlation_matrix(codes), atol=1e-12)
