"""Linear SVMs with an L1 penalty, one-vs-rest for every class, all solved at once.

For each machine, with labels y = ±1 and an added constant code of 1 whose weight is the intercept,

    minimise  F(w) = |w|₁ + C Σ_rows max(0, 1 − y wᵀx)²,

the objective of liblinear's L1-regularised L2-loss SVM, which penalises the intercept as well (Fan et al. 2008).
liblinear updates one weight after another; this is a proximal Newton method. On the rows a with a margin y wᵀx < 1 the
loss is quadratic, with H = 2C Σ_a x xᵀ and r = 2C Σ_a y x, so a step towards

    v = argmin  |v|₁ + ½ vᵀHv − rᵀv

is followed by a line search along v − w, so that F decreases even when the rows with margins below 1 change. The inner
problem has as many unknowns as codes: coordinate descent finds which weights are zero, a linear system the others. A
machine has converged when the smallest subgradient of F, summed over the weights, is below `TOLERANCE` times that at w
= 0.

Two classes share one machine, the second against the first; more have one each, and the largest decision value wins.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from hackle.metrics.checks import Classes, MetricError, Table

TOLERANCE = 1e-8
# The inner problem is solved to this fraction of the subgradient before the step.
INNER_TOLERANCE, INNER_ROUNDS = 1e-3, 50
# A step must achieve this fraction of the decrease that the quadratic model predicts, up to rounding of the sum over
# rows.
SUFFICIENT, ROUNDING = 0.01, 1e-14
# How many products of codes, the terms of H, are held in memory at once.
PRODUCTS = 2**20

Array = NDArray[np.float64]


class NotConvergedWarning(ConvergenceWarning):
    """Machines that did not converge within the allowed number of steps."""

    code = "not-converged"


class LinearMachines(NamedTuple):
    """Weights (k, c), intercepts (k,) and the classes in ascending order; k is 1 for two classes."""

    weights: Array
    intercepts: Array
    classes: Classes

    def predict(self, codes: Table) -> Classes:
        """The class with the largest decision value for each row."""
        decisions = codes @ self.weights.T + self.intercepts
        best = decisions.argmax(axis=1) if len(self.weights) > 1 else (decisions[:, 0] > 0).astype(np.int64)
        return self.classes[best]


def fit_l1_machines(codes: Table, classes: Classes, *, C: float = 1.0, iterations: int = 200) -> LinearMachines:
    """One machine for each class of `classes` (n,) against the rest, from codes (n, c).

    `C` weighs the loss against the penalty. Machines that have not converged after `iterations` steps are returned with
    a warning. The codes should have similar scales, because the penalty treats their weights alike.
    """
    values, found = np.unique(classes, return_inverse=True)
    if len(values) < 2:
        raise MetricError(f"the classes have {len(values)} value; expected at least two to tell apart")
    positive = np.arange(1 if len(values) == 2 else 0, len(values))
    labels = np.where(found == positive[:, None], 1.0, -1.0)
    columns = np.vstack([np.asarray(codes, dtype=np.float64).T, np.ones(len(codes))])
    weights = _minimise(columns, labels, C, iterations)
    return LinearMachines(weights[:, :-1], weights[:, -1], values)


def _minimise(columns: Array, labels: Array, C: float, iterations: int) -> Array:
    """Weights (k, c) for codes as columns (c, n) and labels (k, n)."""
    weights = np.zeros((len(labels), len(columns)))
    limit = np.zeros(len(labels))
    going = np.arange(len(labels))
    # Slacks 1 − y wᵀx of the machines that have not converged; rows where they are positive make up the loss.
    slack = np.ones_like(labels)
    keep = np.ones(len(labels), dtype=bool)
    for iteration in range(iterations + 1):
        y, w = labels[going], weights[going]
        active = (slack > 0).astype(np.float64)
        target = 2 * C * (active * y) @ columns.T
        slope = -2 * C * (np.maximum(slack, 0) * y) @ columns.T
        violation = _subgradient(w, slope).sum(axis=1)
        if iteration == 0:
            limit = TOLERANCE * violation
        keep = violation > limit[going]
        if not keep.any():
            return weights
        if iteration == iterations:
            break
        going, y, w, slack, slope = going[keep], y[keep], w[keep], slack[keep], slope[keep]
        quadratic = 2 * C * _second_moments(columns, active[keep])
        step = _lasso(quadratic, target[keep], w, INNER_TOLERANCE * violation[keep]) - w
        weights[going], slack = _search(w, step, slope, slack, y * (step @ columns), C)
    warnings.warn(
        f"{keep.sum()} of {len(labels)} machines are not done after {iterations} steps; "
        "allow more, or standardise the codes",
        NotConvergedWarning,
        stacklevel=3,
    )
    return weights


def _subgradient(weights: Array, slope: Array) -> Array:
    """Absolute entries of the smallest subgradient of |w|₁ + a smooth function with this slope."""
    return np.where(weights == 0, np.maximum(np.abs(slope) - 1, 0), np.abs(slope + np.sign(weights)))


def _second_moments(columns: Array, active: Array) -> Array:
    """Σ x xᵀ (k, c, c) over the active rows (k, n) of each machine."""
    size, rows = columns.shape
    first, second = np.triu_indices(size)
    sums = np.zeros((len(active), len(first)))
    block = max(1, PRODUCTS // len(first))
    for start in range(0, rows, block):
        part = columns[:, start : start + block]
        sums += active[:, start : start + block] @ (part[first] * part[second]).T
    moments = np.empty((len(active), size, size))
    moments[:, first, second] = moments[:, second, first] = sums
    return moments


def _times(matrices: Array, vectors: Array) -> Array:
    return (matrices @ vectors[..., None])[..., 0]


def _lasso(quadratic: Array, target: Array, start: Array, tolerance: Array) -> Array:
    """Minimisers v (k, c) of |v|₁ + ½ vᵀHv − rᵀv for H (k, c, c) and r (k, c), from `start`."""
    v = start.copy()
    for _ in range(INNER_ROUNDS):
        _descend_coordinates(v, quadratic, target)
        _solve_signed(v, quadratic, target)
        slope = _times(quadratic, v) - target
        if (_subgradient(v, slope).sum(axis=1) <= tolerance).all():
            break
    return v


def _descend_coordinates(v: Array, quadratic: Array, target: Array) -> None:
    """Minimises over each weight in turn, in place."""
    for j in range(v.shape[1]):
        curvature = quadratic[:, j, j]
        pull = target[:, j] - (quadratic[:, j] * v).sum(axis=1) + curvature * v[:, j]
        size = np.maximum(np.abs(pull) - 1, 0)
        # No active row has this code: nothing pulls, and the penalty makes the weight zero.
        v[:, j] = np.sign(pull) * np.divide(size, curvature, out=np.zeros_like(size), where=curvature > 0)


def _solve_signed(v: Array, quadratic: Array, target: Array) -> None:
    """Moves, in place, to the minimum over the non-zero weights, signs fixed; a weight that reaches zero stays there."""
    diagonal = np.arange(v.shape[1])
    crossing = np.ones(v.shape, dtype=bool)
    while crossing.any():
        signs = np.sign(v)
        used = signs != 0
        system = np.where(used[:, :, None] & used[:, None, :], quadratic, 0.0)
        # Duplicate codes make H singular. A larger diagonal shortens the step; at the fixed point the slope is still 0.
        system[:, diagonal, diagonal] = np.where(used, system[:, diagonal, diagonal] * (1 + 1e-10), 1.0)
        slope = np.where(used, _times(quadratic, v) - target + signs, 0.0)
        move = -np.linalg.solve(system, slope[..., None])[..., 0]
        crossing = (v + move) * signs < 0
        shares = np.divide(-v, move, out=np.ones_like(v), where=crossing)
        share = shares.min(axis=1, keepdims=True)
        v += share * move
        v[crossing & (shares == share)] = 0.0


def _search(w: Array, step: Array, slope: Array, slack: Array, change: Array, C: float) -> tuple[Array, Array]:
    """Weights and slacks after the longest step of 1, ½, ¼ … that decreases F enough; `change`: of the margins."""

    def value(weights: Array, slack: Array) -> Array:
        return np.abs(weights).sum(axis=1) + C * np.square(np.maximum(slack, 0)).sum(axis=1)

    before = value(w, slack)
    promised = (slope * step).sum(axis=1) + np.abs(w + step).sum(axis=1) - np.abs(w).sum(axis=1)
    new_w, new_slack = w + step, slack - change
    share, late = 1.0, np.arange(len(w))
    while True:
        allowed = before[late] * (1 + ROUNDING) + SUFFICIENT * share * promised[late]
        late = late[value(new_w[late], new_slack[late]) > allowed]
        if not len(late):
            return new_w, new_slack
        share /= 2
        new_w[late] = w[late] + share * step[late]
        new_slack[late] = slack[late] - share * change[late]
