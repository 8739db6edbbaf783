"""Systems of active sets, bordered by changes: the solution of each, by another computation."""

import numpy as np
import pytest
import torch

from hackle.core.code_table import CodeTable
from hackle.metrics.predictors import bordered
from hackle.metrics.predictors.bordered import Bordered, Sets
from hackle.metrics.predictors.standardised import StandardisedCodes

PENALTY, FACTOR = 3.0, 2.0


def exact(codes: np.ndarray, targets: np.ndarray, sets: Sets) -> np.ndarray:
    """Weights that solve the system of the sets, in NumPy and float64."""
    used, rows = sets.used.numpy(), sets.rows.numpy()
    chosen, weights = codes[rows][:, used], np.zeros(len(used))
    right = FACTOR * chosen.T @ targets[rows] - PENALTY * sets.signs.numpy()[used]
    weights[used] = np.linalg.solve(FACTOR * chosen.T @ chosen, right)
    return weights


@pytest.mark.parametrize("width", [12, 60])
@pytest.mark.parametrize("wide", [(0.0, 0), (0.4, 32), (10.0, 1000)])
def test_each_of_several_sets_is_solved(width, wide, monkeypatch):
    """Codes join, leave and join again, rows too, by a border of any width; with few codes inner products are kept."""
    monkeypatch.setattr(bordered, "_WIDE", wide)
    rng = np.random.default_rng(0)
    values, targets = rng.normal(size=(100, width)), np.sign(rng.normal(size=100))
    table = StandardisedCodes(CodeTable(values), np.ones(width, dtype=bool))
    codes = np.column_stack([(values - values.mean(axis=0)) / values.std(axis=0), np.ones(100)])
    signs = np.where(rng.random(width + 1) < 0.4, np.sign(rng.normal(size=width + 1)), 0.0)
    sets = Sets(torch.from_numpy(signs), torch.from_numpy(rng.random(100) < 0.8))
    weights, system = exact(codes, targets, sets), Bordered(table, FACTOR)
    for _ in range(6):
        signs, rows = sets.signs.clone(), sets.rows.clone()
        changed = torch.from_numpy(rng.choice(width + 1, 3, replace=False))
        signs[changed] = torch.where(signs[changed] == 0, 1.0, 0.0).to(signs)
        flipped = torch.from_numpy(rng.choice(100, 4, replace=False))
        rows[flipped] = ~rows[flipped]
        wanted, missing = Sets(signs, rows), targets - codes @ weights
        pull = FACTOR * codes.T @ (missing * sets.rows.numpy())
        given = (torch.from_numpy(of) for of in (weights, missing, pull))
        start, left, pulled = given
        found = system.solve(start, sets, wanted, left, pulled, PENALTY)
        assert found is not None
        weights, sets = exact(codes, targets, wanted), wanted
        np.testing.assert_allclose(found, weights, atol=1e-4)


def test_duplicate_codes_have_a_finite_step():
    values = np.random.default_rng(1).normal(size=(50, 4))
    table = StandardisedCodes(CodeTable(values[:, [0, 1, 1, 2, 3]]), np.ones(5, dtype=bool))
    nothing = Sets(torch.zeros(6, dtype=torch.float64), torch.ones(50, dtype=torch.bool))
    wanted = nothing._replace(signs=torch.tensor([1.0, 1, 1, 0, 0, 0], dtype=torch.float64))
    targets = torch.from_numpy(values[:, 0] + values[:, 1])
    pull = FACTOR * torch.cat([table.transposed_times(targets), targets.sum()[None]])
    zero = torch.zeros(6, dtype=torch.float64)
    found = Bordered(table, FACTOR).solve(zero, nothing, wanted, targets, pull, PENALTY)
    assert found is not None
    assert float((found[1] - found[2]).abs()) < 0.1
