"""DCIMIG against its formula and known cases."""

import numpy as np
import pytest
import references
from test_mig_sup import CODES, FACTORS, GRID

from hackle.metrics import dcimig_from_information, dcimig_score


def by_loops(matrix, entropies):
    total = 0.0
    for k in range(len(entropies)):
        gaps = [0.0]
        for row in matrix:
            others = max((row[other] for other in range(len(row)) if other != k), default=0.0)
            gaps += [row[k] - others] if row[k] >= others else []
        total += max(gaps)
    return total / sum(entropies)


@pytest.mark.parametrize("kind", CODES)
def test_codes_agree_with_the_formula(kind):
    matrix = references.information_matrix(CODES[kind], FACTORS, 20)
    expected = by_loops(matrix, [references.entropy(v) for v in FACTORS.T])
    assert dcimig_score(CODES[kind], FACTORS) == pytest.approx(expected, abs=1e-9)


def test_known_cases():
    codes = GRID * 1.0
    assert dcimig_score(codes, GRID, bins=4) == pytest.approx(1)
    assert dcimig_score(np.hstack([codes, codes]), GRID, bins=4) == pytest.approx(1)
    assert dcimig_score(codes @ [[1.0], [4.0]], GRID, bins=16) == pytest.approx(0)
    assert dcimig_score(codes[:, :1], GRID, bins=4) == pytest.approx(0.5)
    assert dcimig_score(np.ones((16, 3)), GRID, bins=4) == 0
    assert dcimig_score(codes[:, :1], GRID[:, :1], bins=4) == pytest.approx(1)


def test_factors_weigh_by_their_entropy():
    assert dcimig_from_information([[1.0, 0.0], [0.0, 0.0]], [1.0, 3.0]) == pytest.approx(0.25)
