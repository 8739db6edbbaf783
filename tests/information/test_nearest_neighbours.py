"""Kraskov's and Ross's estimates against closed forms, scikit-learn's estimates, and the definitions by brute force."""

import numpy as np
import pytest
from scipy.special import digamma
from sklearn.feature_selection import mutual_info_classif, mutual_info_regression

from hackle.information.nearest_neighbours import neighbour_information, ross_information

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


def test_rosss_estimate_is_scikit_learns() -> None:
    """Exactly, where classes are large: for small ones scikit-learn's distances are rounded."""
    classes = RNG.integers(0, (2, 5, 9), size=(900, 3))
    codes = classes @ RNG.normal(size=(3, 4)) + RNG.normal(size=(900, 4))
    found = ross_information(codes, classes, neighbours=10)
    for column in range(3):
        other = mutual_info_classif(codes, classes[:, column], n_neighbors=10, random_state=0)
        np.testing.assert_allclose(found[:, column], other, atol=1e-9)


def by_all_distances(x: np.ndarray, y: np.ndarray, k: int) -> float:
    counts = np.array([(y == value).sum() for value in y])
    x, y, counts = x[counts > 1], y[counts > 1], counts[counts > 1]
    total = digamma(len(x))
    for i in range(len(x)):
        others = np.sort(np.abs(x - x[i])[(y == y[i]) & (np.arange(len(x)) != i)])
        own = min(k, len(others))
        total += (digamma(own) - digamma(counts[i]) - digamma(np.sum(np.abs(x - x[i]) < others[own - 1]))) / len(x)
    return max(0.0, total)


@pytest.mark.parametrize("rows", [12, 60, 200])
def test_rosss_estimate_is_the_definition(rows: int) -> None:
    """Classes of one point are left out, and small ones have fewer neighbours."""
    classes = RNG.integers(0, (3, 20), size=(rows, 2))
    x = RNG.normal(size=rows) + classes[:, 0] + classes[:, 1] / 5
    found = ross_information(x[:, None], classes, neighbours=10)[0]
    np.testing.assert_allclose(found, [by_all_distances(x, y, 10) for y in classes.T], atol=1e-9)


def test_rosss_estimate_at_its_ends() -> None:
    """Separated classes give ψ(N) − ψ(N / 10), a little above ln 10; independent codes little, and constant ones nothing."""
    for rows, share in ((1000, 1.0020), (10_000, 1.0002)):
        classes = np.repeat(np.arange(10), rows // 10)[:, None]
        assert ross_information(classes, classes)[0, 0] / np.log(10) == pytest.approx(share, abs=5e-5)
    null = [ross_information(RNG.normal(size=(1000, 1)), RNG.integers(10, size=(1000, 1)))[0, 0] for _ in range(30)]
    assert np.mean(null) == pytest.approx(0.005, abs=0.003)
    assert ross_information(np.ones((20, 1)), np.arange(20)[:, None] % 2)[0, 0] == 0
    assert ross_information(RNG.normal(size=(20, 1)), np.arange(20)[:, None])[0, 0] == 0


@pytest.mark.parametrize(("classes", "neighbours"), [(np.zeros((5, 1)), 3), (np.zeros(6), 3), (np.zeros((6, 1)), 0)])
def test_rosss_estimate_refuses_other_arrays(classes: np.ndarray, neighbours: int) -> None:
    with pytest.raises(ValueError, match="expected"):
        ross_information(np.zeros((6, 2)), classes, neighbours=neighbours)
