"""Modularity against its formula and known cases."""

import numpy as np
import pytest
import references
from hypothesis import given, settings
from hypothesis import strategies as st

from hackle.metrics import modularity_from_information, modularity_per_code, modularity_score

FIVE = 5 * np.eye(5)


@pytest.mark.parametrize(
    ("information", "expected"),
    [
        (FIVE, 1.0),
        ([[1, 0], [0, 1], [0, 0]], 2 / 3),
        (np.zeros((10, 10)), 0.0),
        (np.vstack([FIVE, FIVE]), 1.0),
        (np.hstack([FIVE, FIVE]), 8 / 9),
        (np.ones((3, 4)), 0.0),
        (FIVE * 1e-200, 1.0),
    ],
)
def test_known_matrices(information, expected):
    assert modularity_from_information(information) == pytest.approx(expected)


@given(st.integers(0, 2**32), st.integers(1, 6), st.integers(2, 5))
@settings(deadline=None, max_examples=60)
def test_matrices_agree_with_the_formula(seed, codes, factors):
    rng = np.random.default_rng(seed)
    m = rng.random((codes, factors)) * (rng.random((codes, factors)) < 0.7)
    assert modularity_from_information(m) == pytest.approx(references.modularity_of_matrix(m), abs=1e-12)


def test_codes_are_scored_through_their_informations():
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 4, size=(300, 3))
    codes = factors @ rng.normal(size=(3, 4)) + rng.normal(size=(300, 4))
    expected = references.modularity_of_matrix(references.information_matrix(codes, factors, 20))
    assert modularity_score(codes, factors) == pytest.approx(expected, abs=1e-9)


def test_an_uninformative_code_that_varies_counts_zero_and_a_constant_one_not_at_all():
    grid = np.stack(np.meshgrid(*[np.arange(4)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    codes, factors = grid * 1.0, grid[:, :2]
    assert modularity_score(codes[:, :2], factors) == pytest.approx(1.0)
    assert modularity_score(codes, factors) == pytest.approx(2 / 3)
    assert modularity_score(np.hstack([codes, np.ones((64, 1))]), factors) == pytest.approx(2 / 3)


def test_with_one_factor_informative_codes_are_modular():
    np.testing.assert_array_equal(modularity_per_code([[0.4], [0.0]]), [1.0, 0.0])
