"""L1 machines against scikit-learn's, run to a tight tolerance, and against their optimality conditions."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from hackle.metrics import MetricError
from hackle.metrics.predictors.linear import KEPT, PRODUCTS, fit_l1_machines, fit_machines_of_several


def overlapping(rng):
    """Five classes in bands of a sum of codes; none can be told apart without error."""
    codes = rng.normal(size=(400, 6))
    return codes, np.digitize(codes @ [1, 0.5, 0, 0, -1, 0] + 0.5 * rng.normal(size=400), [-1.5, -0.5, 0.5, 1.5])


def two_classes(rng):
    codes, classes = overlapping(rng)
    return codes, np.where(classes > 2, 7, 3)


def separable(rng):
    """Four blobs far apart: most rows end with margins above 1."""
    classes = rng.integers(0, 4, size=300)
    return np.eye(4)[classes] * 8 + 0.3 * rng.normal(size=(300, 4)), classes


def noise(rng):
    return rng.normal(size=(200, 5)), rng.integers(0, 3, size=200)


def collapsed(rng):
    """Two codes of almost no variance, not standardised: their weights would have to be huge and stay small or zero."""
    codes, classes = overlapping(rng)
    return codes * [1, 1, 1, 1, 1e-3, 1e-8], classes


def correlated(rng):
    codes, classes = overlapping(rng)
    return np.hstack([codes, codes[:, :2] + 0.05 * rng.normal(size=(400, 2))]), classes


def outlier(rng):
    """One row far away, so that the standardised codes are almost copies of each other."""
    codes, classes = overlapping(rng)
    codes[0] *= 1e8
    return (codes - codes.mean(axis=0)) / codes.std(axis=0), classes


def rare(rng):
    """Thirty classes of about ten rows each."""
    codes = rng.normal(size=(300, 3))
    return codes, np.argsort(np.argsort(codes[:, 0] + 0.05 * rng.normal(size=300))) // 10


SETTINGS = [overlapping, two_classes, separable, noise, collapsed, correlated, rare]


def objectives(codes, classes, weights, intercepts, C):
    """F of each machine."""
    values = np.unique(classes)
    positive = values[1:] if len(values) == 2 else values
    y = np.where(classes[:, None] == positive, 1, -1)
    slack = np.maximum(0, 1 - y * (codes @ weights.T + intercepts))
    return np.abs(weights).sum(axis=1) + np.abs(intercepts) + C * (slack**2).sum(axis=0)


@pytest.mark.parametrize("C", [0.05, 1.0])
@pytest.mark.parametrize("setting", SETTINGS)
def test_the_machines_are_scikit_learns(setting, C):
    codes, classes = setting(np.random.default_rng(0))
    found = fit_l1_machines(codes, classes, C=C)
    exact = LinearSVC(penalty="l1", C=C, tol=1e-9, max_iter=10**6, random_state=0).fit(codes, classes)
    assert found.weights.shape == exact.coef_.shape
    ours = objectives(codes, classes, found.weights, found.intercepts, C)
    theirs = objectives(codes, classes, exact.coef_, exact.intercept_, C)
    assert (ours <= theirs * (1 + 1e-9)).all()
    np.testing.assert_allclose(found.weights, exact.coef_, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(found.intercepts, exact.intercept_, rtol=1e-3, atol=1e-4)
    np.testing.assert_array_equal(found.classes, exact.classes_)
    # Scikit-learn's rule on these weights; on its own a row between two classes might fall to the other.
    exact.coef_, exact.intercept_ = found.weights, found.intercepts
    others = np.random.default_rng(1).normal(size=codes.shape)
    np.testing.assert_array_equal(found.predict(others), exact.predict(others))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("setting", [*SETTINGS, outlier])
def test_no_subgradient_is_left(setting, seed):
    codes, classes = setting(np.random.default_rng(seed))
    found = fit_l1_machines(codes, classes)
    inputs = np.hstack([codes, np.ones((len(codes), 1))])
    weights = np.hstack([found.weights, found.intercepts[:, None]])
    for w, value in zip(weights, found.classes[-len(weights) :], strict=True):
        y = np.where(classes == value, 1, -1)
        slope = -2 * inputs.T @ (y * np.maximum(0, 1 - y * (inputs @ w)))
        assert (np.abs(slope[w == 0]) <= 1 + 1e-4).all()
        np.testing.assert_allclose(slope[w != 0], -np.sign(w[w != 0]), atol=1e-4)


def test_machines_solved_together_are_those_solved_alone():
    rng = np.random.default_rng(0)
    tables = [overlapping(rng)[0] * scale for scale in (0.1, 1.0, 3.0)]
    factors = np.stack([overlapping(rng)[1], two_classes(rng)[1]], axis=1)
    for table, found in zip(tables, fit_machines_of_several(tables, factors), strict=True):
        for one, classes in zip(found, factors.T, strict=True):
            alone = fit_l1_machines(table, classes)
            np.testing.assert_allclose(one.weights, alone.weights, rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(one.intercepts, alone.intercepts, rtol=1e-9, atol=1e-12)
            np.testing.assert_array_equal(one.classes, alone.classes)


def test_copies_of_a_code_share_its_weight():
    codes, classes = overlapping(np.random.default_rng(0))
    alone = fit_l1_machines(codes, classes)
    twice = fit_l1_machines(np.hstack([codes, codes]), classes)
    np.testing.assert_allclose(twice.weights[:, :6] + twice.weights[:, 6:], alone.weights, atol=1e-6)
    # Opposite signs would cost penalty for nothing.
    assert (twice.weights[:, :6] * twice.weights[:, 6:] >= 0).all()


def test_the_two_machines_of_two_classes_would_mirror_each_other():
    codes, classes = two_classes(np.random.default_rng(0))
    found, mirrored = fit_l1_machines(codes, classes), fit_l1_machines(codes, -classes)
    np.testing.assert_allclose(found.weights, -mirrored.weights, atol=1e-7)
    np.testing.assert_array_equal(found.predict(codes), -mirrored.predict(codes))


def test_a_code_of_zeros_gets_no_weight():
    codes, classes = overlapping(np.random.default_rng(0))
    with_zero = fit_l1_machines(np.hstack([codes, np.zeros((400, 1))]), classes)
    np.testing.assert_array_equal(with_zero.weights[:, 6], 0)
    np.testing.assert_allclose(with_zero.weights[:, :6], fit_l1_machines(codes, classes).weights, atol=1e-7)


def test_blocks_of_rows_change_nothing(monkeypatch):
    codes, classes = overlapping(np.random.default_rng(0))
    assert PRODUCTS > 28 * 400
    whole = fit_l1_machines(codes, classes)
    monkeypatch.setattr("hackle.metrics.predictors.linear.PRODUCTS", 28 * 77)
    np.testing.assert_allclose(fit_l1_machines(codes, classes).weights, whole.weights, atol=1e-9)


def test_products_that_are_not_kept_give_the_same_bits(monkeypatch):
    codes, classes = overlapping(np.random.default_rng(0))
    assert KEPT > 28 * 400
    whole = fit_l1_machines(codes, classes)
    monkeypatch.setattr("hackle.metrics.predictors.linear.KEPT", 28 * 400 - 1)
    np.testing.assert_array_equal(fit_l1_machines(codes, classes).weights, whole.weights)


def test_too_few_steps_and_classes_are_reported():
    codes, classes = overlapping(np.random.default_rng(0))
    # The middle class has no row with a margin above 1, so its first quadratic is exact.
    with pytest.warns(ConvergenceWarning, match="4 of 5 machines are not done after 1 steps"):
        fit_l1_machines(codes, classes, iterations=1)
    with pytest.raises(MetricError, match="expected at least two"):
        fit_l1_machines(codes, np.zeros(400, dtype=int))
