"""Explicitness against its objective, scikit-learn and known areas."""

import numpy as np
import pytest
import references
from samples import imperfect, make_sample
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.multiclass import OneVsRestClassifier

from hackle.metrics import MetricError, explicitness_per_factor, explicitness_score
from hackle.metrics.explicitness import roc_areas


@pytest.mark.parametrize("seed", range(3))
def test_agrees_with_the_exact_minimum(seed):
    s = make_sample(imperfect, rows=200, seed=seed)
    expected = references.explicitness(s.codes, s.factors, s.test_codes, s.test_factors)
    assert explicitness_score(s.codes, s.factors, test=s.test) == pytest.approx(expected, abs=1e-4)


def test_agrees_with_scikit_learn():
    """Run to the minimum: at its default tolerance areas differ from these by up to 1e-4."""
    s = make_sample(imperfect)
    x, x_test = references.standardised(s.codes, s.test_codes)
    expected = []
    for v, v_test in zip(s.factors.T, s.test_factors.T, strict=True):
        probabilities = (
            OneVsRestClassifier(LogisticRegression(tol=1e-12, solver="newton-cholesky")).fit(x, v).predict_proba(x_test)
        )
        expected.append(roc_auc_score(v_test, probabilities, multi_class="ovr"))
    np.testing.assert_allclose(explicitness_per_factor(s.codes, s.factors, test=s.test), expected, atol=1e-9)


def test_a_factor_with_two_values_has_one_area():
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 2, size=(400, 1))
    codes = factors + rng.normal(size=(400, 2))
    logits = LogisticRegression().fit(references.standardised(codes, codes)[0], factors[:, 0])
    expected = roc_auc_score(factors[:, 0], logits.decision_function(references.standardised(codes, codes)[0]))
    assert explicitness_score(codes, factors) == pytest.approx(expected)


def test_areas_are_shares_of_ordered_pairs():
    rng = np.random.default_rng(0)
    scores, positive = rng.integers(0, 6, size=(40, 3)).astype(np.float64), rng.random((40, 3)) < 0.3
    expected = [references.roc_area(scores[:, k], positive[:, k]) for k in range(3)]
    np.testing.assert_allclose(roc_areas(scores, positive), expected)


def test_far_outliers_do_not_end_in_nan():
    s = make_sample(imperfect, rows=200)
    assert 0.5 < explicitness_score(s.codes, s.factors, test=(s.test_codes * 1e6, s.test_factors)) < 1


def test_values_absent_from_the_test_rows_are_left_out():
    s = make_sample(imperfect)
    seen = s.test_factors[:, 3] != 4
    areas = explicitness_per_factor(s.codes, s.factors, test=(s.test_codes[seen], s.test_factors[seen]))
    assert np.isfinite(areas).all()
    with pytest.raises(MetricError, match="at least two of its values"):
        explicitness_score(s.codes, s.factors, test=(s.test_codes[:1], s.test_factors[:1]))
