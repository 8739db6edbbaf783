"""Downstream accuracy and efficiency against scikit-learn's cross-validation and known cases."""

import warnings

import numpy as np
import pytest
from samples import disentangled, imperfect, make_sample
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import LogisticRegressionCV, Ridge
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, KFold

from hackle.metrics import MetricError, downstream_accuracy, statistical_efficiency


def test_the_cross_validated_regression_is_scikit_learns():
    s = make_sample(imperfect, rows=300)
    expected = []
    for v, v_test in zip(s.factors[:, :2].T, s.test_factors[:, :2].T, strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            model = LogisticRegressionCV(Cs=10, cv=KFold(5), max_iter=10_000).fit(s.codes, v)
        expected.append(model.score(s.test_codes, v_test))
    found = downstream_accuracy(s.codes, s.factors[:, :2], s.test_codes, s.test_factors[:, :2])
    assert found == pytest.approx(np.mean(expected), abs=0.02)


@pytest.mark.parametrize("classifier", ["logistic-cv", "gbt"])
@pytest.mark.parametrize(("rows", "least"), [(2, 0.1), (10, 0.25), (60, 0.8)])
def test_very_few_training_rows_are_enough(classifier, rows, least):
    s = make_sample(disentangled, rows=200)
    factors = s.factors[:rows, :2].copy()
    factors[0], factors[1] = 0, 1
    accuracy = downstream_accuracy(s.codes[:rows], factors, s.test_codes, s.test_factors[:, :2], classifier=classifier)
    assert least < accuracy <= 1


def test_a_fold_whose_rest_has_a_single_value_is_survived():
    codes = np.arange(10.0)[:, None]
    factors = (np.arange(10) >= 8).astype(int)[:, None]
    assert downstream_accuracy(codes, factors, codes, factors) >= 0.8


@pytest.mark.parametrize("classifier", ["logistic-cv", "gbt"])
def test_more_training_rows_help(classifier):
    s = make_sample(imperfect, rows=600)
    efficiency = statistical_efficiency(
        s.codes, s.factors[:, :2], s.test_codes, s.test_factors[:, :2], few=15, many=400, classifier=classifier
    )
    few, many = (
        downstream_accuracy(s.codes[:n], s.factors[:n, :2], s.test_codes, s.test_factors[:, :2], classifier=classifier)
        for n in (15, 400)
    )
    assert efficiency == few / many
    assert 0.2 < efficiency < 0.97


def test_the_size_of_codes_does_not_matter():
    s = make_sample(imperfect, rows=100)
    moved = downstream_accuracy(s.codes * 1e-9 + 1, s.factors[:, :1], s.test_codes * 1e-9 + 1, s.test_factors[:, :1])
    expected = downstream_accuracy(s.codes, s.factors[:, :1], s.test_codes, s.test_factors[:, :1])
    assert moved == pytest.approx(expected, abs=0.021)


def test_wrong_arguments_are_refused():
    s = make_sample(imperfect, rows=50)
    with pytest.raises(MetricError, match="expected one of logistic-cv, gbt"):
        downstream_accuracy(s.codes, s.factors, *s.test, classifier="mlp")
    with pytest.raises(MetricError, match="at least 10000 rows"):
        statistical_efficiency(s.codes, s.factors, *s.test)
    with pytest.raises(MetricError, match="no test row is predicted correctly"):
        statistical_efficiency(s.codes, s.factors, s.test_codes, s.test_factors + 50, few=20, many=50, classifier="gbt")


def test_a_factor_of_many_values_is_not_called_a_regression():
    """In 100 rows one of 150 values has more classes than half the rows; discrete it is all the same."""
    rng = np.random.default_rng(0)
    factors = np.column_stack([rng.integers(2, size=100), rng.permutation(150)[:100]])
    codes = factors + 0.1 * rng.normal(size=factors.shape)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert 0.4 < downstream_accuracy(codes, factors, codes, factors, kinds="ordinal") <= 1


def test_continuous_factors_have_r2_of_ridge_regression_or_of_trees():
    rng = np.random.default_rng(0)
    x = rng.random((300, 2))
    codes = np.column_stack([x[:, 0] + 0.2 * rng.normal(size=300), x[:, 1] ** 2, rng.normal(size=300)])
    z = (codes - codes[:200].mean(axis=0)) / codes[:200].std(axis=0)
    search = {"alpha": 1 / np.logspace(-4, 4, 10)}
    expected = []
    for factor in x.T:
        ridge = GridSearchCV(Ridge(), search, scoring="neg_mean_squared_error", cv=KFold(5)).fit(z[:200], factor[:200])
        expected.append(r2_score(factor[200:], ridge.predict(z[200:])))
    found = downstream_accuracy(codes[:200], x[:200], codes[200:], x[200:])
    assert found == pytest.approx(np.mean(expected), abs=1e-6)
    trees = [
        r2_score(v[200:], GradientBoostingRegressor(random_state=0).fit(z[:200], v[:200]).predict(z[200:])) for v in x.T
    ]
    grown = downstream_accuracy(codes[:200], x[:200], codes[200:], x[200:], classifier="gbt")
    assert grown == pytest.approx(np.mean(trees), abs=0.03)
    noise = rng.normal(size=(300, 3))
    assert downstream_accuracy(noise[:200], x[:200], noise[200:], x[200:], classifier="gbt") == 0.0
    assert downstream_accuracy(np.ones((200, 2)), x[:200], np.ones((100, 2)), x[200:]) == 0.0
    both = statistical_efficiency(codes[:200], {"x": x[:200, 0]}, codes[200:], {"x": x[200:, 0]}, few=50, many=200)
    assert 0.7 < both < 1.1
