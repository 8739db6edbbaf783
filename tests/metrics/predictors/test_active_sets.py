"""Linear machines of dense codes by their active sets: the minimum of other methods, by another computation."""

from typing import Any

import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn.linear_model import Lasso
from sklearn.svm import LinearSVC

from hackle.core.code_table import CodeTable
from hackle.metrics.checks import standardise
from hackle.metrics.predictors import active_sets, large_linear
from hackle.metrics.predictors.large_linear import GAP, fit_large_lassos, fit_large_machines
from hackle.metrics.predictors.linear import fit_l1_machines
from hackle.metrics.predictors.penalised import Problem
from hackle.metrics.predictors.standardised import StandardisedCodes


def codes_and_labels(rows: int, codes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Noise, of which the first two codes and the third of three classes have something in common."""
    rng = np.random.default_rng(seed)
    values, classes = rng.normal(size=(rows, codes)), rng.integers(0, 3, rows)
    values[:, :2] += classes[:, None] * [1.0, -0.5]
    return values, np.where(classes == 2, 1.0, -1.0)


def table(codes: Any) -> StandardisedCodes:
    return StandardisedCodes(CodeTable(codes), np.ones(codes.shape[1], dtype=bool))


def relative_gap(codes: np.ndarray, labels: np.ndarray, weights: np.ndarray, intercept: float) -> float:
    """Of the SVM's objective at these weights and the dual's at the slacks, scaled to be allowed, in NumPy."""
    scaled = np.column_stack([standardise(codes, codes)[0], np.ones(len(codes))])
    w = np.append(weights, intercept)
    slack = np.maximum(1 - labels * (scaled @ w), 0)
    dual = 2 * slack * min(1, 1 / np.abs(scaled.T @ (2 * labels * slack)).max())
    value = np.abs(w).sum() + (slack**2).sum()
    return (value - (dual.sum() - (dual**2).sum() / 4)) / value


@pytest.mark.parametrize(("rows", "codes"), [(640, 20), (300, 60), (120, 70)])
def test_machines_are_those_that_hold_the_hessian(rows, codes):
    values, labels = codes_and_labels(rows, codes)
    exact = fit_l1_machines(standardise(values, values)[0], labels.astype(np.int64))
    found = fit_large_machines(table(values), torch.from_numpy(labels)[None])[0]
    np.testing.assert_allclose(found.weights, exact.weights[0], atol=1e-7)
    assert float(found.intercept) == pytest.approx(exact.intercepts[0], abs=1e-7)


@pytest.mark.parametrize(("rows", "codes"), [(300, 40), (100, 160)])
def test_the_lasso_is_scikit_learns(rows, codes):
    values, labels = codes_and_labels(rows, codes)
    numbers = (labels - labels.mean()) / labels.std()
    exact = Lasso(alpha=0.01, tol=1e-13, max_iter=100_000).fit(standardise(values, values)[0], numbers)
    found = fit_large_lassos(table(values), torch.from_numpy(numbers)[None], alpha=0.01)[0]
    np.testing.assert_allclose(found.weights, exact.coef_, atol=1e-7)


def test_more_codes_than_rows_have_one_minimum_by_active_sets_and_by_conjugate_gradients():
    values, labels = codes_and_labels(80, 160)
    found = fit_large_machines(table(values), torch.from_numpy(labels)[None])[0]
    assert relative_gap(values, labels, found.weights.numpy(), float(found.intercept)) <= GAP
    other = fit_large_machines(table(sparse.csr_array(values)), torch.from_numpy(labels)[None])[0]
    np.testing.assert_allclose(found.weights, other.weights, atol=1e-4)


def test_the_path_ends_at_the_minimum_without_a_newton_step(monkeypatch):
    """Where classes are separable, nearly as many weights as rows with slack, other methods take hundreds of steps."""
    monkeypatch.setattr(large_linear, "_STEPS", 1)
    values, labels = codes_and_labels(400, 150)
    found = fit_large_machines(table(values), torch.from_numpy(labels)[None])[0]
    assert relative_gap(values, labels, found.weights.numpy(), float(found.intercept)) <= GAP


def test_codes_that_are_there_twice_share_a_weight():
    values, labels = codes_and_labels(200, 60)
    both = np.hstack([values, values[:, :30]])
    once, twice = (fit_large_machines(table(of), torch.from_numpy(labels)[None])[0] for of in (values, both))
    assert relative_gap(both, labels, twice.weights.numpy(), float(twice.intercept)) <= GAP
    together = twice.weights[:60] + torch.cat([twice.weights[60:], torch.zeros(30, dtype=torch.float64)])
    np.testing.assert_allclose(together, once.weights, atol=1e-5)


@pytest.mark.parametrize(("name", "value"), [("_NUMBERS", 200 * 12), ("_ITERATIONS", 1)])
def test_a_path_that_is_given_up_is_followed_by_conjugate_gradients(name, value, monkeypatch):
    values, labels = codes_and_labels(200, 60)
    expected = fit_large_machines(table(values), torch.from_numpy(labels)[None])[0]
    monkeypatch.setattr(active_sets, name, value)
    found = fit_large_machines(table(values), torch.from_numpy(labels)[None])[0]
    np.testing.assert_allclose(found.weights, expected.weights, atol=1e-5)


def test_several_machines_side_by_side_are_each_alone():
    values, labels = codes_and_labels(240, 90)
    several = np.stack([labels, np.where(values[:, 5] > 1.5, 1.0, -1.0), np.where(np.arange(240) < 3, 1.0, -1.0)])
    together = fit_large_machines(table(values), torch.from_numpy(several))
    for own, found in zip(several, together, strict=True):
        alone = fit_large_machines(table(values), torch.from_numpy(own)[None])[0]
        np.testing.assert_allclose(found.weights, alone.weights, atol=1e-7)
        assert relative_gap(values, own, found.weights.numpy(), float(found.intercept)) <= GAP


@pytest.mark.parametrize(("rows", "codes"), [(200, 50), (150, 120)])
def test_the_minimum_is_liblinears(rows, codes):
    values, labels = codes_and_labels(rows, codes)
    scaled = standardise(values, values)[0]
    settings: dict[str, Any] = {"penalty": "l1", "dual": False, "tol": 1e-9, "max_iter": 100_000}
    machine = LinearSVC(**settings).fit(scaled, labels)
    found = fit_large_machines(table(values), torch.from_numpy(labels)[None])[0]
    objectives = [
        np.abs(w).sum() + abs(b) + (np.maximum(1 - labels * (scaled @ w + b), 0) ** 2).sum()
        for w, b in (
            (machine.coef_[0], np.ravel(machine.intercept_)[0]),
            (found.weights.numpy(), float(found.intercept)),
        )
    ]
    assert objectives[1] == pytest.approx(objectives[0], rel=1e-9)


@pytest.mark.parametrize("kind", ["few directions", "sums"])
def test_of_codes_that_nearly_depend_on_each_other_the_path_is_not_given_up(kind):
    rng = np.random.default_rng(2)
    values, labels = codes_and_labels(150, 300)
    if kind == "few directions":
        values = rng.normal(size=(150, 8)) @ rng.normal(size=(8, 300)) + 0.05 * values
    else:
        values = np.cumsum(values, axis=1)
    given = Problem(table(values), torch.from_numpy(labels), True, 1.0)
    ((weights, penalty),) = active_sets.follow_active_sets([given], 1.0)
    assert penalty == 1.0
    assert relative_gap(values, labels, weights[:-1].numpy(), float(weights[-1])) <= GAP


@pytest.mark.parametrize("seed", [2, 3])
def test_codes_of_low_rank_have_their_minimum_too(seed):
    """Of three directions the Hessian of any four codes is singular: a path is given up, and does not say where to begin."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(400, 3)) @ rng.normal(size=(3, 64))
    classes = rng.integers(0, 4, 400)
    values += np.outer(classes == 1, values[0]) - np.outer(classes == 2, values[1])
    labels = np.stack([np.where(classes == own, 1.0, -1.0) for own in range(4)])
    for own, found in zip(labels, fit_large_machines(table(values), torch.from_numpy(labels)), strict=True):
        assert relative_gap(values, own, found.weights.numpy(), float(found.intercept)) <= GAP


@pytest.mark.parametrize("fit", [fit_large_machines, lambda codes, labels: fit_large_lassos(codes, labels, alpha=0.01)])
def test_constant_codes_have_no_weights(fit):
    codes = StandardisedCodes(CodeTable(np.ones((30, 40))), np.zeros(40, dtype=bool))
    labels = torch.from_numpy(np.where(np.arange(30) % 2, 1.0, -1.0))[None]
    (found,) = fit(codes, labels)
    assert not found.weights.any()
