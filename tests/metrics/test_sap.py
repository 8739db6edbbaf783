"""SAP against the support vector machine's objective, scikit-learn's fits and the correlation's formula."""

import numpy as np
import pytest
import references
from samples import imperfect, make_sample
from sklearn.svm import LinearSVC

from hackle.metrics import MetricError, sap_matrix, sap_score


@pytest.mark.parametrize("seed", range(3))
def test_accuracies_are_those_of_the_exact_minimum(seed):
    s = make_sample(imperfect, rows=300, seed=seed)
    found = sap_matrix(s.codes, s.factors, test=s.test)
    expected = references.sap_accuracies(s.codes, s.factors, s.test_codes, s.test_factors, C=0.01)
    # One test row in 150 may lie so near a boundary that the solvers' tolerances decide.
    np.testing.assert_allclose(found, expected, atol=1.01 / 150)
    assert np.mean(found == expected) > 0.8


def test_accuracies_are_scikit_learns_on_standardised_codes():
    s = make_sample(imperfect)
    x, x_test = references.standardised(s.codes, s.test_codes)
    machine = LinearSVC(C=0.01, class_weight="balanced").fit(x[:, [2]], s.factors[:, 1])
    expected = machine.score(x_test[:, [2]], s.test_factors[:, 1])
    assert sap_matrix(s.codes, s.factors, test=s.test)[2, 1] == pytest.approx(expected)


def test_the_score_is_the_mean_gap_of_the_matrix():
    s = make_sample(imperfect)
    ordered = np.sort(sap_matrix(s.codes, s.factors, test=s.test), axis=0)
    assert sap_score(s.codes, s.factors, test=s.test) == pytest.approx((ordered[-1] - ordered[-2]).mean())


def test_scale_and_offset_of_codes_do_not_matter():
    s = make_sample(imperfect)
    moved = sap_score(s.codes * 1e-4 + 3, s.factors, test=(s.test_codes * 1e-4 + 3, s.test_factors))
    assert moved == pytest.approx(sap_score(s.codes, s.factors, test=s.test), abs=0.005)


def test_the_continuous_variant_is_the_gap_of_squared_correlations():
    rng = np.random.default_rng(0)
    factors = rng.random((500, 2))
    codes = np.stack([factors[:, 0], factors[:, 0] + rng.random(500), factors[:, 1] ** 2], axis=1)
    r = np.corrcoef(codes.T, factors.T)[:3, 3:] ** 2
    expected = (r[0, 0] - r[1, 0] + r[2, 1] - max(r[0, 1], r[1, 1])) / 2
    assert sap_score(codes, factors) == pytest.approx(expected)


def test_perfect_codes_of_many_values_score_far_below_one():
    factors = np.random.default_rng(0).integers(0, 20, size=(1_000, 1))
    assert sap_score(factors * 1.0, factors) < 0.3
    assert sap_score(factors * 1.0, factors, kinds="continuous") == pytest.approx(1.0)


def test_options_that_are_refused():
    s = make_sample(imperfect, rows=50)
    with pytest.raises(MetricError, match="expected one of categorical, ordinal, cyclic, continuous"):
        sap_score(s.codes, s.factors, kinds="numeric")
    with pytest.raises(MetricError, match="C is 0"):
        sap_score(s.codes, s.factors, C=0)


@pytest.mark.filterwarnings("error")
def test_a_factor_of_many_values_is_not_called_a_regression():
    factors = np.random.default_rng(0).permutation(150)[:60, None]
    assert 0 <= sap_score(factors * 1.0, factors, kinds="ordinal") <= 1


def test_factors_of_two_kinds_have_a_column_each():
    rng = np.random.default_rng(0)
    factors = {"x": rng.random(400), "shape": rng.choice(["a", "b"], 400)}
    codes = np.column_stack([factors["x"] + 0.1 * rng.normal(size=400), factors["shape"] == "a"])
    matrix = sap_matrix(codes, factors)
    np.testing.assert_allclose(matrix[:, 0], np.corrcoef(codes.T, factors["x"])[:2, 2] ** 2)
    np.testing.assert_allclose(matrix[:, 1], sap_matrix(codes, factors["shape"])[:, 0])
