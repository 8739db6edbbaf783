"""Pairwise entanglement against connected components at every threshold, and against cases by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from hackle.metrics import MetricError, excess_entanglement, pairwise_entanglement


def by_thresholds(matrix: np.ndarray) -> np.ndarray:
    """The largest entry t at which the entries of at least t connect two factors."""
    codes, factors = matrix.shape
    found = np.full((factors, factors), np.nan)
    for threshold in np.unique(matrix):
        graph = np.zeros((codes + factors, codes + factors))
        graph[:codes, codes:] = matrix >= threshold
        _, component = connected_components(csr_array(graph), directed=False)
        together = component[codes:, None] == component[codes:]
        found[together & ~np.eye(factors, dtype=bool)] = threshold
    return found


@pytest.mark.parametrize(("codes", "factors"), [(10, 5), (3, 6), (1, 3), (6, 2)])
def test_two_factors_merge_where_a_path_of_larger_entries_first_leads_from_one_to_the_other(
    codes: int, factors: int
) -> None:
    rng = np.random.default_rng(codes)
    for matrix in (rng.random((codes, factors)), rng.integers(0, 4, (codes, factors)) / 4):
        np.testing.assert_array_equal(pairwise_entanglement(matrix), by_thresholds(matrix))


def test_codes_of_one_factor_each_entangle_nothing() -> None:
    found = pairwise_entanglement(np.eye(4))
    assert (found[~np.eye(4, dtype=bool)] == 0).all()
    assert np.isnan(np.diag(found)).all()


def test_a_code_of_two_factors_ties_them_and_no_others() -> None:
    matrix = [[0.6, 0.4, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.1, 0.9]]
    found = pairwise_entanglement(matrix)
    assert found[0, 1] == found[1, 0] == 0.4
    assert found[2, 3] == 0.1
    assert found[0, 2] == found[1, 3] == 0
    assert excess_entanglement(matrix, 1, 0) == 0.4
    assert excess_entanglement(matrix, 3, 2) == pytest.approx(0.1)
    assert excess_entanglement(matrix, 0, 2) == 0


def test_order_of_codes_and_dead_codes_change_nothing() -> None:
    matrix = np.random.default_rng(1).random((5, 4))
    more = np.vstack([np.zeros((2, 4)), matrix[::-1]])
    np.testing.assert_array_equal(pairwise_entanglement(more), pairwise_entanglement(matrix))


def test_what_is_no_pair_of_several_factors_is_refused() -> None:
    with pytest.raises(MetricError, match="negative entries"):
        pairwise_entanglement([[1.0, -0.1]])
    for pair, factors in (((0, 0), 3), ((0, 3), 3), ((0, 1), 2)):
        with pytest.raises(MetricError, match="expected two different ones of three or more"):
            excess_entanglement(np.eye(factors), *pair)
