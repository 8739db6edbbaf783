"""The gap of informations by nearest neighbours, of continuous factors alone."""

import numpy as np
import pytest

from hackle.metrics import MetricError, neighbour_gap_score, neighbour_information, neighbour_matrix

RNG = np.random.default_rng(0)
X = RNG.random((1500, 2))


def test_it_is_the_squared_correlation_of_gaussians() -> None:
    z = RNG.normal(size=(4000, 3))
    factor = 0.8 * z[:, :1] + 0.5 * z[:, 1:2] + np.sqrt(1 - 0.64 - 0.25) * z[:, 2:]
    assert neighbour_gap_score(z[:, :2], factor) == pytest.approx(0.64 - 0.25, abs=0.04)
    expected = -0.5 * np.log(1 - 0.64) + 0.5 * np.log(1 - 0.25)
    assert neighbour_gap_score(z[:, :2], factor, nats=True) == pytest.approx(expected, abs=0.05)


def test_a_code_that_is_not_monotone_counts_and_a_copy_takes_all() -> None:
    bent = (X - 0.5) ** 2
    assert neighbour_gap_score(bent, X) > 0.9
    assert neighbour_gap_score(np.hstack([X, X]), X) < 0.01
    assert neighbour_gap_score(RNG.normal(size=(1500, 5)), X) < 0.1


def test_other_factors_are_left_out() -> None:
    factors = {"shape": RNG.choice(["a", "b"], 1500), "x": X[:, 0], "size": RNG.integers(0, 6, 1500), "y": X[:, 1]}
    np.testing.assert_array_equal(neighbour_matrix(X, factors), neighbour_information(X, X))
    assert neighbour_matrix(X, factors, kinds={"size": "continuous"}).shape == (2, 3)
    with pytest.raises(MetricError, match="no factor is continuous"):
        neighbour_gap_score(X, factors["shape"])
    with pytest.raises(MetricError, match="neighbours is 1500"):
        neighbour_gap_score(X, X, neighbours=1500)
