"""Logistic regressions against the conditions of their minimum and against scikit-learn's, run to a tight tolerance."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from hackle.metrics.predictors import logistic
from hackle.metrics.predictors.linear import NotConvergedWarning
from hackle.metrics.predictors.logistic import LogisticDesign


def bands(rng):
    """Five classes in bands of a sum of codes."""
    codes = rng.normal(size=(1500, 6))
    return codes, np.digitize(codes @ [1, 0.5, 0, 0, -1, 0] + 0.5 * rng.normal(size=1500), [-1.5, -0.5, 0.5, 1.5])


def correlated(rng):
    """Codes that are nearly the same: without a rotation, gradient methods need thousands of steps."""
    codes, classes = bands(rng)
    return codes[:, :1] + 0.01 * codes, classes


def separable(rng):
    """Blobs far apart: only the penalty keeps weights finite."""
    classes = rng.integers(0, 4, size=300)
    return np.eye(4)[classes] * 50 + 0.3 * rng.normal(size=(300, 4)), classes


def outliers(rng):
    codes, classes = bands(rng)
    codes[::300] *= 1e4
    return codes, classes


def more_codes_than_rows(rng):
    codes, classes = bands(rng)
    return np.hstack([codes[:40], rng.normal(size=(40, 60))]), classes[:40]


def rare(rng):
    """One row in its class."""
    codes, classes = bands(rng)
    classes[7] = 5
    return codes, classes


SAMPLES = [bands, correlated, separable, outliers, more_codes_than_rows, rare]


def drawn(sample, seed=0):
    codes, classes = sample(np.random.default_rng(seed))
    return codes - codes.mean(axis=0), np.unique(classes, return_inverse=True)[1]


@pytest.mark.parametrize("sample", SAMPLES)
def test_the_gradient_is_zero(sample):
    codes, classes = drawn(sample)
    values = np.arange(classes.max() + 1)
    weights, intercepts = LogisticDesign(codes).fit(classes, values)
    surplus = expit(codes @ weights.T + intercepts) - (classes[:, None] == values)
    np.testing.assert_allclose(weights + surplus.T @ codes, 0, atol=2e-9 * len(codes))
    np.testing.assert_allclose(surplus.sum(axis=0), 0, atol=2e-9 * len(codes))


@pytest.mark.parametrize("sample", [bands, separable, more_codes_than_rows, rare])
def test_is_scikit_learns_minimum(sample):
    codes, classes = drawn(sample)
    values = np.arange(classes.max() + 1)
    weights, intercepts = LogisticDesign(codes).fit(classes, values)
    for value in values:
        theirs = LogisticRegression(solver="newton-cholesky", tol=1e-13).fit(codes, classes == value)
        np.testing.assert_allclose(weights[value], theirs.coef_[0], atol=1e-6)
        np.testing.assert_allclose(intercepts[value], theirs.intercept_[0], atol=1e-6)


def test_a_rotation_of_the_codes_changes_no_decision():
    codes, classes = drawn(bands)
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(6, 6)))[0]
    (w, b), (v, a) = (LogisticDesign(one).fit(classes, np.arange(5)) for one in (codes, codes @ turn))
    np.testing.assert_allclose(codes @ turn @ v.T + a, codes @ w.T + b, atol=1e-6)


def test_machines_a_few_at_a_time_are_the_same(monkeypatch):
    codes, classes = drawn(bands)
    together = LogisticDesign(codes).fit(classes, np.arange(5))
    monkeypatch.setattr(logistic, "_ENTRIES", 2 * len(codes))
    for one, other in zip(together, LogisticDesign(codes).fit(classes, np.arange(5)), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-7)


def test_warns_of_machines_that_are_not_done():
    codes, classes = drawn(bands)
    with pytest.warns(NotConvergedWarning, match="5 of 5 logistic regressions are not done after 1 steps"):
        LogisticDesign(codes).fit(classes, np.arange(5), steps=1)
