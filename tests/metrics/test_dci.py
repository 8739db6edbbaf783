"""DCI against its formulas, known matrices, the exact L1 machine and each predictor's own facts."""

import math

import numpy as np
import pytest
import references
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import disentangled, imperfect, make_sample, values
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Lasso

from hackle.metrics import MetricError, dci_from_importance, dci_importance, dci_scores
from hackle.metrics.dci import completeness_per_factor, disentanglement_of_several, disentanglement_per_code

FIVE = 5 * np.eye(5)
SPREAD = 1 - math.log(2) / math.log(10)


@pytest.mark.parametrize(
    ("importance", "disentanglement", "completeness"),
    [
        (FIVE, 1.0, 1.0),
        ([[1, 0], [0, 1], [0, 0]], 1.0, 1.0),
        (np.zeros((10, 10)), 0.0, 0.0),
        (np.vstack([FIVE, FIVE]), 1.0, SPREAD),
        (np.hstack([FIVE, FIVE]), SPREAD, 1.0),
        (np.ones((3, 4)), 0.0, 0.0),
        ([[2.0], [1.0]], 1.0, 1 - (math.log(3) - 2 / 3 * math.log(2)) / math.log(2)),
        ([[2.0, 1.0]], 1 - (math.log(3) - 2 / 3 * math.log(2)) / math.log(2), 1.0),
    ],
)
def test_known_matrices(importance, disentanglement, completeness):
    assert dci_from_importance(importance) == pytest.approx((disentanglement, completeness))


@given(st.integers(0, 2**32), st.integers(2, 6), st.integers(2, 5))
@settings(deadline=None, max_examples=60)
def test_matrices_agree_with_the_formula(seed, codes, factors):
    rng = np.random.default_rng(seed)
    matrix = rng.random((codes, factors)) * (rng.random((codes, factors)) < 0.7)
    assert dci_from_importance(matrix) == pytest.approx(references.dci_of_matrix(matrix), abs=1e-12)


def test_disentanglement_weighs_codes_by_importance_and_completeness_weighs_factors_alike():
    matrix = [[3.0, 0.0], [0.5, 0.5]]
    np.testing.assert_allclose(disentanglement_per_code(matrix), [1, 0])
    disentanglement, completeness = dci_from_importance(matrix)
    assert disentanglement == pytest.approx(0.75)
    assert completeness == pytest.approx(completeness_per_factor(matrix).mean())


def test_several_tables_of_codes_score_what_each_scores_alone():
    """Also where some codes are constant, all are, or there are more codes than the others have."""
    s = make_sample(imperfect, rows=120)
    rng = np.random.default_rng(0)
    constant = np.where(np.arange(s.codes.shape[1]) == 1, 0.5, s.codes)
    tables = [s.codes, rng.permutation(s.codes), constant, np.zeros_like(s.codes), rng.normal(size=(120, 9))] * 2
    alone = [dci_scores(table, s.factors, kinds="categorical").disentanglement for table in tables]
    np.testing.assert_allclose(disentanglement_of_several(tables, s.factors, kinds="categorical"), alone, atol=1e-9)
    mixed = ["continuous", *["categorical"] * (s.factors.shape[1] - 1)]
    alone = dci_scores(s.codes, s.factors, kinds=mixed).disentanglement
    assert disentanglement_of_several([s.codes], s.factors, kinds=mixed) == [alone]
    assert disentanglement_of_several([], s.factors) == []


@pytest.mark.parametrize("seed", range(2))
def test_the_l1_machine_finds_the_exact_weights(seed):
    s = make_sample(imperfect, rows=300, seed=seed)
    found = dci_importance(s.codes, s.factors).matrix
    expected = references.l1_svm_importance(s.codes, s.factors)
    # The machines stop at a tolerance of 1e-4 of their start.
    np.testing.assert_allclose(found, expected, atol=0.005 * expected.max())
    assert dci_from_importance(found) == pytest.approx(dci_from_importance(expected), abs=1e-3)


@pytest.mark.parametrize("predictor", ["l1-svm", "gbt", "random-forest", "lasso", "raw-lasso"])
def test_every_predictor_tells_good_codes_from_mixtures(predictor):
    good = make_sample(disentangled, rows=400)
    mixture = np.random.default_rng(0).normal(size=(4, 4))
    mixed = good.map_codes(lambda codes: codes @ mixture)
    high = dci_scores(good.codes, good.factors, test=good.test, predictor=predictor)
    low = dci_scores(mixed.codes, mixed.factors, test=mixed.test, predictor=predictor)
    # A random forest offers each split two of the four codes, so even perfect codes share importance.
    least = 0.6 if predictor == "random-forest" else 0.8
    assert high.disentanglement > least
    assert high.completeness > least
    assert low.disentanglement < high.disentanglement - 0.25
    assert low.completeness < high.completeness - 0.25


@pytest.mark.parametrize("predictor", ["gbt", "random-forest"])
def test_tree_importances_are_shares(predictor):
    s = make_sample(imperfect, rows=200)
    found = dci_importance(s.codes, s.factors, predictor=predictor)
    np.testing.assert_allclose(found.matrix.sum(axis=0), 1)
    # Trees see their own training rows here, and remember them.
    assert (found.informativeness > 0.95).all()


def test_informativeness_is_the_accuracy_on_test_rows():
    s = make_sample(imperfect)
    factors = np.random.default_rng(0).integers(0, 4, size=s.test_factors.shape)
    chance = dci_scores(s.codes, s.factors, test=(s.test_codes, factors % s.factors.max(axis=0))).informativeness
    assert dci_scores(s.codes, s.factors, test=s.test).informativeness > chance + 0.2


def test_the_lasso_reads_numbers_and_takes_continuous_factors():
    rng = np.random.default_rng(0)
    factors = rng.random((500, 2))
    scores = dci_scores(factors * [2.0, -3.0], factors, predictor="lasso")
    # The penalty shrinks each standardised weight from 1 to 0.998, which is all the error there is.
    assert scores == pytest.approx((1.0, 1.0, 0.998), abs=2e-3)
    noise = dci_scores(rng.random((500, 2)), factors, test=(rng.random((500, 2)), factors), predictor="lasso")
    assert noise.informativeness == pytest.approx(0.0, abs=0.01)


def test_the_raw_lasso_has_the_weights_of_codes_as_they_are():
    """As in Do & Tran's Figure 23: a code with a deviation of 1 that is x, in 32 numbers, has the weight 9.23, their deviation,
    and one that is scale, in 6, 1.71. What a code of little deviation says of x weighs more than the code that says most."""
    rng = np.random.default_rng(0)
    factors = np.stack(np.meshgrid(np.arange(32), np.arange(6)), axis=-1).reshape(-1, 2)
    deviations = np.sqrt((np.array([32, 6]) ** 2 - 1) / 12)
    good = (factors - factors.mean(axis=0)) / deviations
    little = 0.01 * rng.normal(size=len(factors))
    found = dci_importance(np.column_stack([good, little]), factors, predictor="raw-lasso", kinds="ordinal")
    np.testing.assert_allclose(found.matrix, [[deviations[0], 0], [0, deviations[1]], [0, 0]], atol=2.01e-3)
    assert (found.informativeness > 0.998).all()
    codes = np.column_stack([good + rng.normal(size=good.shape), little + 0.005 * good[:, 0]])
    fitted = np.linalg.lstsq(np.column_stack([codes, np.ones(len(codes))]), factors[:, 0], rcond=None)[0][:3]
    raw, standardised = (
        dci_importance(codes, factors, predictor=predictor, kinds="ordinal").matrix[:, 0]
        for predictor in ("raw-lasso", "lasso")
    )
    # The penalty takes about 0.002 / 0.011² from the third weight, and little from the others.
    np.testing.assert_allclose(raw[:2], np.abs(fitted[:2]), atol=0.3)
    assert raw[2] > 10 * raw[:2].max()
    assert standardised[2] < standardised[:2].max()


def test_the_lasso_minimises_its_objective():
    s = make_sample(imperfect, rows=150)
    x, _ = references.standardised(s.codes, s.codes)
    y, _ = references.standardised(values(s.factors), values(s.factors))
    found = dci_importance(s.codes, s.factors, predictor="lasso").matrix
    for k in range(y.shape[1]):
        # Subgradient conditions of |y − xw|² / 2n + α|w|₁, with the signs of the weights tried through the residual.
        signs = np.sign(np.linalg.lstsq(x, y[:, k], rcond=None)[0])
        slope = x.T @ (y[:, k] - x @ (found[:, k] * signs)) / len(x)
        used = found[:, k] > 0.01
        np.testing.assert_allclose((slope * signs)[used], 0.002, atol=2e-4)


def test_wrong_arguments_are_refused():
    s = make_sample(imperfect, rows=50)
    with pytest.raises(MetricError, match="expected one of l1-svm, gbt, random-forest, lasso, raw-lasso"):
        dci_scores(s.codes, s.factors, predictor="svm")
    with pytest.raises(MetricError, match="negative"):
        dci_from_importance([[-1.0, 0.0]])
    with pytest.raises(MetricError, match="does not vary in the test rows"):
        dci_scores(s.codes, s.factors, test=(s.codes, s.factors * 0 + s.factors.mean(axis=0)), predictor="lasso")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("predictor", ["l1-svm", "gbt", "random-forest"])
def test_a_factor_of_many_values_is_not_called_a_regression(predictor):
    factors = np.random.default_rng(0).permutation(40)[:30, None]
    assert dci_scores(factors * 1.0, factors, predictor=predictor, kinds="ordinal").disentanglement == pytest.approx(
        1.0
    )


@pytest.mark.parametrize("predictor", ["l1-svm", "gbt", "random-forest", "lasso", "raw-lasso"])
def test_continuous_factors_are_regressed_by_the_family_of_the_predictor(predictor):
    rng = np.random.default_rng(0)
    x = rng.random((600, 2))
    codes = np.column_stack([3 * x[:, 1], -x[:, 0], rng.normal(size=600)]) + 0.02 * rng.normal(size=(600, 3))
    good = dci_scores(codes[:400], x[:400], test=(codes[400:], x[400:]), predictor=predictor)
    assert min(good) > 0.85
    noise = rng.normal(size=(600, 3))
    bad = dci_scores(noise[:400], x[:400], test=(noise[400:], x[400:]), predictor=predictor)
    assert bad.informativeness < 0.02
    assert bad.disentanglement < 0.4


def test_regressions_are_scikit_learns():
    rng = np.random.default_rng(0)
    x = rng.random((200, 1))
    codes = np.column_stack([x[:, 0] ** 2, rng.normal(size=200)]) + 0.1 * rng.normal(size=(200, 2))
    z, v = ((part - part[:150].mean(axis=0)) / part[:150].std(axis=0) for part in (codes, x))
    for predictor, model, weights in (
        ("l1-svm", Lasso(alpha=0.002, tol=1e-6, max_iter=10_000), lambda fit: np.abs(fit.coef_)),
        ("random-forest", RandomForestRegressor(random_state=0), lambda fit: fit.feature_importances_),
    ):
        found = dci_importance(codes[:150], x[:150], test=(codes[150:], x[150:]), predictor=predictor)
        fit = model.fit(z[:150], v[:150, 0])
        np.testing.assert_allclose(found.matrix[:, 0], weights(fit), atol=1e-3)
        error = np.sqrt(np.mean((fit.predict(z[150:]) - v[150:, 0]) ** 2) / np.mean(v[150:, 0] ** 2))
        assert found.informativeness[0] == pytest.approx(1 - error, abs=1e-3)


def test_columns_of_classes_and_numbers_have_one_scale():
    rng = np.random.default_rng(0)
    factors = {"x": rng.random(300), "shape": rng.choice(["a", "b", "c"], 300)}
    codes = np.column_stack([factors["x"], factors["shape"] == "a", rng.normal(size=300)]) + 0.0
    matrix, informativeness = dci_importance(codes, factors)
    np.testing.assert_allclose(matrix.sum(axis=0), 1.0)
    assert matrix[0, 0] > 0.95
    assert informativeness[0] > 0.95
    constant, score = dci_importance(np.ones((300, 2)), factors)
    assert constant.shape == (0, 2)
    assert score[0] == 0.0
