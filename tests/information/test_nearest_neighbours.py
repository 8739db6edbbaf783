"""Kraskov's estimate against the closed form of Gaussians, scikit-learn's estimate, and the definition by brute force."""

import numpy as np
import pytest
from scipy.special import digamma
from sklearn.feature_selection import mutual_info_regression

from hackle.information.nearest_neighbours import neighbour_information

RNG = np.random.default_rng(0)


def correlated(rho: float, rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    x, other = np.random.default_rng(seed).normal(size=(2, rows))
    return x[:, None], (rho * x + np.sqrt(1 - rho**2) * other)[:, None]


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.6, 0.9, 0.99])
def test_gaussians_have_the_information_of_their_correlation(rho: float) -> None:
    """The error of 20 estimates of 1,000 points each; the estimator is clipped at 0, so that it cannot average 0 there."""
    found = [float(neighbour_information(*correlated(rho, 1000, seed))[0, 0]) for seed in range(20)]
    assert np.mean(found) == pytest.approx(-0.5 * np.log(1 - rho**2), abs=0.025)


def test_it_is_scikit_learns() -> None:
    x = RNG.normal(size=(400, 3))
    y = np.column_stack([x[:, 0] ** 2 + 0.1 * RNG.normal(size=400), RNG.random(400)])
    found = neighbour_information(x, y, neighbours=4)
    for column in range(2):
        other = mutual_info_regression(x, y[:, column], n_neighbors=4, random_state=0)
        np.testing.assert_allclose(found[:, column], other, atol=1e-9)


def test_it_is_the_definition() -> None:
    x, y = RNG.normal(size=60), RNG.random(60)
    y = y + x
    a, b = (np.abs(v[:, None] - v) / v.std() for v in (x, y))
    both = np.sort(np.maximum(a, b), axis=1)[:, 2]
    counts = [(distance < both[:, None]).sum(axis=1) - 1 for distance in (a, b)]
    expected = digamma(2) + digamma(60) - np.mean(digamma(counts[0] + 1) + digamma(counts[1] + 1))
    assert neighbour_information(x[:, None], y[:, None], neighbours=2)[0, 0] == pytest.approx(expected, abs=1e-9)


def test_equal_variables_reach_the_most_that_points_can_show() -> None:
    x = RNG.random((500, 1))
    assert neighbour_information(x, 3 * x - 7)[0, 0] == pytest.approx(digamma(500) - digamma(4), abs=1e-3)


def test_codes_of_few_values_and_constant_ones_have_what_they_say() -> None:
    classes = RNG.integers(0, 2, size=4000)
    y = (classes + RNG.random(4000))[:, None]
    codes = np.column_stack([classes, np.ones(4000), 0.1 + 1e-17 * np.arange(4000)])
    found = neighbour_information(codes, y)[:, 0]
    assert found[0] == pytest.approx(np.log(2), abs=0.03)
    assert found[1] == found[2] == 0.0


def test_wrong_arguments_are_refused() -> None:
    x = np.zeros((5, 1))
    for codes, factors, neighbours, words in (
        (x, x[:3], 3, "5 rows of codes but 3"),
        (x, x, 5, "neighbours is 5; expected 1 to 4"),
        (x[:, 0], x, 3, "samples in rows"),
        (x * np.nan, x, 3, "finite"),
    ):
        with pytest.raises(ValueError, match=words):
            neighbour_information(codes, factors, neighbours=neighbours)
