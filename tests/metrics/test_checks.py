"""What the shared checks refuse, in words, and what they make of what they accept."""

import numpy as np
import pytest

from hackle.metrics import checks
from hackle.metrics.checks import MetricError

CODES = np.random.default_rng(0).normal(size=(12, 3))
FACTORS = np.random.default_rng(1).integers(0, 3, size=(12, 2))


@pytest.mark.parametrize(
    ("codes", "words"),
    [
        (np.zeros(()), r"shape \(\); expected \(n, c\)"),
        (np.zeros((5, 2, 2)), r"expected \(n, c\)"),
        (np.zeros((0, 2)), "no axis empty"),
        (np.zeros((5, 0)), "no axis empty"),
        ([["a"], ["b"]], "expected real numbers"),
        (np.zeros((2, 2), dtype=complex), "expected real numbers"),
        ([[np.nan], [1.0]], "NaN"),
        ([[np.inf], [1.0]], "infinity"),
        ([[np.inf], [-np.inf]], "infinity"),
        ([[1.7e308], [-1.7e308]], "range beyond float64"),
    ],
)
def test_codes_that_are_refused(codes, words):
    with pytest.raises(MetricError, match=words):
        checks.check_codes(codes)


@pytest.mark.parametrize(
    ("factors", "words"),
    [
        (np.zeros((12, 2, 2)), "expected a row for each sample"),
        (FACTORS[:5], "5 rows but the codes have 12"),
        (np.zeros((12, 0), dtype=int), "no columns"),
        (np.full((12, 1), np.nan), "factor factor_0 has no value in row 0"),
        (np.full((12, 1), np.inf), "factor factor_0 is inf in row 0; expected finite numbers"),
        (np.full((12, 1), 1j), "is complex128; expected whole numbers, real numbers or texts"),
    ],
)
def test_factors_that_are_refused(factors, words):
    with pytest.raises(MetricError, match=words):
        checks.check_factors(factors, 12)


@pytest.mark.parametrize(
    ("held", "words"),
    [(np.zeros((12, 1), dtype=int), "shape"), (np.zeros(12), "integers"), (np.zeros(3, dtype=int), "3 factors for 12")],
)
def test_held_factors_that_are_refused(held, words):
    with pytest.raises(MetricError, match=words):
        checks.check_held(held, 12)


def test_test_rows_must_have_the_columns_of_training():
    with pytest.raises(MetricError, match="3 codes in training but 2"):
        checks.check_split(CODES, FACTORS, (CODES[:, :2], FACTORS))
    with pytest.raises(MetricError, match="2 factors in training but 1"):
        checks.check_split(CODES, FACTORS, (CODES, FACTORS[:, :1]))
    with pytest.raises(MetricError, match="test codes hold NaN"):
        checks.check_split(CODES, FACTORS, (CODES * np.nan, FACTORS))


def test_a_split_names_classes_and_drops_factors_with_one_value():
    factors = np.array([[7, 1, 30], [7, 2, 10], [7, 1, 20]])
    split = checks.check_split(CODES[:3], factors, (CODES[:2], np.array([[8, 2, 25], [7, 5, 10]])))
    np.testing.assert_array_equal(split.factors, [[0, 2], [1, 0], [0, 1]])
    np.testing.assert_array_equal(split.test_factors, [[1, -1], [-1, 0]])


def test_factors_that_look_continuous_are_cut_but_fractions_with_few_values_are_not():
    """Bins span the training values; what lies outside of them falls in the nearest."""
    values = np.linspace(0, 1, 12)[:, None]
    split = checks.check_split(CODES, values, (CODES[:3], np.array([[-7.0], [0.3], [7.0]])), bins=4)
    assert split.continuous.tolist() == [True]
    assert split.factors[:, 0].tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert split.test_factors[:, 0].tolist() == [0, 1, 3]
    np.testing.assert_allclose(split.numbers, values)
    few = checks.check_split(CODES, FACTORS * 0.25, None)
    assert not few.continuous.any()
    np.testing.assert_array_equal(few.factors, FACTORS)


def test_no_factor_left_to_score_is_refused():
    with pytest.raises(MetricError, match="single value"):
        checks.check_split(CODES, np.ones((12, 2)), None)


def test_texts_are_classes_and_one_that_training_lacks_is_none():
    split = checks.check_split(CODES[:3], ["b", "a", "b"], (CODES[:2], ["c", "a"]))
    assert split.factors[:, 0].tolist() == split.numbers[:, 0].tolist() == [1, 0, 1]
    assert split.test_factors[:, 0].tolist() == [-1, 0]
    with pytest.raises(MetricError, match="is <U1 in training and int64 in the test rows"):
        checks.check_split(CODES[:3], ["b", "a", "b"], (CODES[:2], [1, 2]))


def test_rounding_alone_does_not_make_a_code_vary():
    codes = np.stack([np.full(100, 0.1), np.linspace(0, 1e-200, 100), 1e6 + np.linspace(0, 1e-3, 100)], axis=1)
    codes[::2, 0] += 1e-17 * np.arange(50)
    codes[1, 0] = np.nextafter(0.1, 1)
    np.testing.assert_array_equal(checks.varying(codes), [False, True, True])


@pytest.mark.parametrize("size", [1e-300, 1.0, 1e300])
def test_standardised_codes_have_mean_zero_and_deviation_one_whatever_their_size(size):
    train, test = checks.standardise(CODES * size, CODES * size)
    np.testing.assert_allclose(train.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(train.std(axis=0), 1, rtol=1e-12)
    np.testing.assert_array_equal(train, test)


def test_test_codes_are_standardised_with_the_numbers_of_training():
    train, test = checks.standardise(np.array([[0.0], [2.0]]), np.array([[1.0], [5.0]]))
    np.testing.assert_allclose(train, [[-1], [1]])
    np.testing.assert_allclose(test, [[0], [4]])


@pytest.mark.parametrize(("bins", "words"), [(1, "2 or more"), (2.5, "whole number"), (13, "cannot fill 13 bins")])
def test_bins_that_are_refused(bins, words):
    with pytest.raises(MetricError, match=words):
        checks.check_bins(bins, 12)


def test_a_matrix_with_a_negative_entry_is_refused():
    with pytest.raises(MetricError, match="negative number -1"):
        checks.check_matrix([[1.0, -1.0]], "importances")


def test_an_unknown_choice_is_answered_with_the_known_ones():
    with pytest.raises(MetricError, match=r"'forest'; expected one of trees, lasso"):
        checks.check_choice("forest", ("trees", "lasso"), "predictor")
