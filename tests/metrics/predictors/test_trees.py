"""Boosted trees by LightGBM against scikit-learn's."""

import lightgbm
import numpy as np
import pytest
import torch
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor

from hackle.metrics import dci_scores
from hackle.metrics.predictors import trees as boosting
from hackle.metrics.predictors.trees import fit_boosted_trees, fit_regression_trees
from metrics.samples import imperfect, make_sample


@pytest.mark.parametrize("factor", [0, 3])
def test_importances_and_accuracy_are_near_scikit_learns(factor):
    s = make_sample(imperfect, rows=800)
    fast = fit_boosted_trees(s.codes, s.factors[:, factor])
    slow = GradientBoostingClassifier(random_state=0).fit(s.codes, s.factors[:, factor])
    np.testing.assert_allclose(fast.importance, slow.feature_importances_, atol=0.03)
    accuracy = np.mean(fast.predict(s.test_codes) == s.test_factors[:, factor])
    assert accuracy == pytest.approx(slow.score(s.test_codes, s.test_factors[:, factor]), abs=0.03)


@pytest.mark.parametrize("values", [2, 5])
def test_with_a_bin_for_every_value_the_trees_are_scikit_learns(values, monkeypatch):
    # Many rows and few rounds, because which of two equally good splits is taken is chance in scikit-learn.
    s = make_sample(imperfect, rows=2_000)
    classes = s.factors[:, 2] % values
    monkeypatch.setattr(boosting, "_ROUNDS", 10)
    monkeypatch.setitem(boosting._SETTINGS, "max_bin", 4_000)
    fast = fit_boosted_trees(s.codes, classes)
    slow = GradientBoostingClassifier(n_estimators=10, random_state=0).fit(s.codes, classes)
    np.testing.assert_allclose(fast.importance, slow.feature_importances_, atol=1e-3)
    assert np.mean(fast.predict(s.test_codes) == slow.predict(s.test_codes)) > 0.995


def test_leaves_and_predictions_are_lightgbms():
    s = make_sample(imperfect, rows=600)
    classes, settings = s.factors[:, 3] % 5, {**boosting._SETTINGS, "num_class": 5}
    booster = lightgbm.Booster(settings, lightgbm.Dataset(s.codes, label=classes, params=settings))
    rng = np.random.default_rng(0)
    for _ in range(3):
        gradient = rng.normal(size=5 * 600).astype(np.float32)
        booster.update(fobj=lambda _scores, _data, gradient=gradient: (gradient, np.ones_like(gradient)))
    for index in range(3):
        theirs = booster.predict(s.test_codes, pred_leaf=True, start_iteration=index, num_iteration=1)
        ours = [tree.leaves(np.ascontiguousarray(s.test_codes.T)) for tree in boosting._trees_of(booster, index)]
        np.testing.assert_array_equal(np.stack(ours, axis=1), theirs)


def test_a_tree_without_splits_is_one_leaf():
    np.testing.assert_array_equal(boosting.Tree([], [], [], []).leaves(np.zeros((1, 3))), [0, 0, 0])


def test_factors_that_are_fitted_side_by_side_score_as_one_after_another():
    s = make_sample(imperfect, rows=100)
    alone = dci_scores(s.codes, s.factors, test=(s.test_codes, s.test_factors), predictor="gbt")
    try:
        torch.set_num_threads(3)
        assert dci_scores(s.codes, s.factors, test=(s.test_codes, s.test_factors), predictor="gbt") == alone
    finally:
        torch.set_num_threads(1)


def test_two_classes_and_a_threshold():
    codes = np.random.default_rng(0).random((200, 3))
    trees = fit_boosted_trees(codes, (codes[:, 1] > 0.4).astype(np.int64))
    assert trees.importance[1] > 0.99
    np.testing.assert_array_equal(trees.predict(np.array([[0.9, 0.2, 0.9], [0.1, 0.6, 0.1]])), [0, 1])


@pytest.mark.parametrize("rows", [3, 10, 50])
def test_very_few_rows_can_be_fitted(rows):
    codes = np.random.default_rng(0).random((rows, 2))
    trees = fit_boosted_trees(codes, np.arange(rows) % min(rows, 9))
    assert np.isfinite(trees.importance).all()
    assert trees.predict(codes).shape == (rows,)


def test_perfectly_separable_classes_do_not_break_the_fit():
    classes = np.arange(2_000) % 32
    codes = np.stack([classes, -2 * classes], axis=1).astype(np.float64)
    np.testing.assert_array_equal(fit_boosted_trees(codes, classes).predict(codes), classes)


def test_codes_without_information_have_finite_importances():
    codes = np.array([[0.0], [0.0], [1.0], [1.0]])
    trees = fit_boosted_trees(codes, np.array([0, 1, 0, 1]))
    np.testing.assert_array_equal(trees.importance, [0.0])
    assert trees.predict(codes).shape == (4,)


def test_regression_trees_are_scikit_learns_where_codes_have_few_values():
    """With fewer values than the histogram has bins splits are the same, and so are leaves and importances."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 12, size=(400, 3)).astype(np.float64)
    values = np.sin(codes[:, 0]) + 0.1 * codes[:, 1] + 0.3 * rng.normal(size=400)
    fast = fit_regression_trees(codes, values)
    slow = GradientBoostingRegressor(random_state=0).fit(codes, values)
    np.testing.assert_allclose(fast.predict(codes), slow.predict(codes), atol=0.02)
    np.testing.assert_allclose(fast.importance, slow.feature_importances_, atol=0.01)


@pytest.mark.parametrize("rows", [3, 10])
def test_very_few_rows_can_be_regressed(rows):
    codes = np.random.default_rng(0).random((rows, 2))
    trees = fit_regression_trees(codes, codes[:, 0])
    assert np.isfinite(trees.importance).all()
    assert trees.predict(codes).shape == (rows,)
