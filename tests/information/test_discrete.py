"""Counted entropies and informations against closed forms, histograms and scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import mutual_info_score

from hackle.information.discrete import bin_codes, discrete_entropy, discrete_mutual_information


@given(st.integers(0, 2**32), st.integers(1, 60), st.integers(1, 25))
@settings(deadline=None, max_examples=60)
def test_bins_are_those_of_a_histogram(seed, rows, bins):
    rng = np.random.default_rng(seed)
    codes = rng.normal(size=(rows, 3)) * rng.choice([1e-6, 1.0, 1e6], size=3)
    binned = bin_codes(codes, bins)
    for column in range(3):
        counts, _ = np.histogram(codes[:, column], bins)
        if rows > 1:
            np.testing.assert_array_equal(np.bincount(binned[:, column], minlength=bins), counts)
        else:
            assert binned[0, column] == 0


def test_grid_values_fall_in_bins_of_their_own():
    values = np.arange(20.0)[:, None]
    np.testing.assert_array_equal(bin_codes(values, 20)[:, 0], np.arange(20))


@given(st.integers(0, 2**32), st.integers(1, 40))
@settings(deadline=None, max_examples=60)
def test_information_agrees_with_scikit_learn(seed, rows):
    rng = np.random.default_rng(seed)
    codes, factors = rng.integers(-3, 4, size=(rows, 2)), rng.integers(0, 5, size=(rows, 3)) * 10
    found = discrete_mutual_information(codes, factors)
    expected = [[mutual_info_score(code, factor) for factor in factors.T] for code in codes.T]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_information_of_a_copy_is_the_entropy():
    factors = np.random.default_rng(0).integers(0, [3, 6, 40], size=(2_000, 3))
    np.testing.assert_allclose(np.diag(discrete_mutual_information(factors, factors)), discrete_entropy(factors))


def test_a_complete_grid_has_exactly_no_information_between_its_factors():
    grid = np.stack(np.meshgrid(np.arange(3), np.arange(7), indexing="ij"), axis=-1).reshape(-1, 2)
    information = discrete_mutual_information(grid, grid)
    assert information[0, 1] == information[1, 0] == 0.0
    np.testing.assert_allclose(discrete_entropy(grid), np.log([3, 7]))


def test_a_constant_column_has_neither_entropy_nor_information():
    factors = np.random.default_rng(0).integers(0, 9, size=(100, 1))
    assert discrete_mutual_information(np.full((100, 1), 4), factors)[0, 0] == 0.0
    assert discrete_entropy(np.full((100, 1), 4))[0] == 0.0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: bin_codes([1.0, 2.0], 20), "shape"),
        (lambda: bin_codes([[np.nan], [1.0]], 20), "NaN"),
        (lambda: bin_codes([[0.0], [1.0]], 0), "1 or more"),
        (lambda: discrete_mutual_information([[0], [1]], [[0], [1], [2]]), "2 rows of codes but 3"),
        (lambda: discrete_entropy(np.empty((0, 2))), "shape"),
    ],
)
def test_wrong_arrays_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
