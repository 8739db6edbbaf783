"""Spearman's correlation is SciPy's where there is one, and says where there is none."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from hackle.information.ranks import agreement, rank_correlations, spearman, spearman_matrix


def scipys(left: Any, right: Any) -> float:
    result: Any = stats.spearmanr(left, right)
    return float(result.statistic)


@pytest.mark.parametrize("ties", [False, True])
def test_rank_correlations_are_spearmans(ties: bool) -> None:
    rng = np.random.default_rng(3)
    left, right = rng.normal(size=(5, 12)), rng.normal(size=(5, 12))
    if ties:
        left = left.round()
    expected = [scipys(*pair) for pair in zip(left, right, strict=True)]
    assert rank_correlations(left, right) == pytest.approx(expected)


def test_rank_correlations_leave_out_what_is_missing() -> None:
    rng = np.random.default_rng(4)
    left, right = rng.normal(size=(4, 9)), rng.normal(size=(4, 9))
    left[1, 2] = right[2, 5] = np.nan
    left[3, 2:] = np.nan
    found = rank_correlations(left, right)
    keep = np.arange(9) != 2
    assert found[1] == pytest.approx(scipys(left[1, keep], right[1, keep]))
    assert math.isnan(found[3])


@pytest.mark.parametrize("values", [[5.0, 5.0, 5.0, 5.0], [1.0, 2.0], [], [1.0, np.nan, 3.0, np.nan]])
def test_what_does_not_vary_or_is_too_little_has_no_rank_correlation(values: list[float]) -> None:
    other = np.arange(float(len(values)))
    assert math.isnan(spearman(values, other))
    assert math.isnan(spearman(other, values))
    assert np.isnan(spearman_matrix(np.array([values]).T, np.array([other]).T)).all()


def test_what_does_not_vary_counts_as_no_agreement_where_that_is_asked_for() -> None:
    assert rank_correlations(np.ones((1, 5)), np.arange(5.0)[None], constant=0.0)[0] == 0
    assert spearman_matrix(np.ones((5, 1)), np.arange(5.0)[:, None], constant=0.0)[0, 0] == 0
    # Two values are too few whatever they are.
    assert math.isnan(rank_correlations(np.ones((1, 2)), np.arange(2.0)[None], constant=0.0)[0])


@pytest.mark.parametrize("missing", [False, True])
def test_the_matrix_has_every_pair_of_columns(missing: bool) -> None:
    rng = np.random.default_rng(6)
    left, right = rng.normal(size=(20, 3)).round(1), rng.normal(size=(20, 4))
    if missing:
        left[3, 1] = right[7, 2] = np.nan
    found = spearman_matrix(left, right)
    assert found.shape == (3, 4)
    for i in range(3):
        for j in range(4):
            both = np.isfinite(left[:, i]) & np.isfinite(right[:, j])
            assert found[i, j] == pytest.approx(scipys(left[both, i], right[both, j]))


def test_how_two_metrics_agree_by_hand() -> None:
    """Kendall's τ by counting pairs of models, Pearson's r by its formula; scores that are missing are left out."""
    rng = np.random.default_rng(2)
    first = rng.normal(size=30)
    second = 0.6 * first + rng.normal(size=30)
    found = agreement([*first, np.nan, 1.0], [*second, 3.0, np.inf])
    pairs = [np.sign((first[i] - first[j]) * (second[i] - second[j])) for i in range(30) for j in range(i)]
    assert found.kendall == pytest.approx(np.mean(pairs))
    assert found.pearson == pytest.approx(np.corrcoef(first, second)[0, 1])
    assert found.spearman == pytest.approx(spearman(first, second))
    assert all(0 < p < 0.05 for p in found.p_values)
    assert math.isnan(agreement([1, 2, 3], [1, 1, 1]).kendall)
    assert math.isnan(agreement([1, 2], [2, 1]).pearson)
    with pytest.raises(ValueError, match="one score of each model in both"):
        agreement([1, 2, 3], [1, 2])
