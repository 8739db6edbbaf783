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
from collections.abc import Sequence
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
# How many products of codes, the terms of H, are computed at once, and how many are kept from one step to the next.
PRODUCTS, KEPT = 2**20, 2**23

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
    return fit_machines_of_several([codes], np.asarray(classes)[:, None], C=C, iterations=iterations)[0][0]


def fit_machines_of_several(
    tables: Sequence[Table], factors: NDArray, *, C: float = 1.0, iterations: int = 200
) -> list[list[LinearMachines]]:
    """For each table of codes (n, c) and each column of `factors` (n, f) what `fit_l1_machines` gives, up to rounding.

    All of them are solved together, which for few rows takes a fraction of the time. The tables have the same number of
    codes.
    """
    named = [np.unique(column, return_inverse=True) for column in factors.T]
    if few := [values for values, _ in named if len(values) < 2]:
        raise MetricError(f"the classes have {len(few[0])} value; expected at least two to tell apart")
    positive = [np.arange(1 if len(values) == 2 else 0, len(values)) for values, _ in named]
    labels = np.concatenate(
        [np.where(places == own[:, None], 1.0, -1.0) for own, (_, places) in zip(positive, named, strict=True)]
    )
    columns = [np.vstack([np.asarray(table, dtype=np.float64).T, np.ones(len(table))]) for table in tables]
    ends = np.cumsum([len(own) for own in positive])[:-1]
    return [
        [LinearMachines(w[:, :-1], w[:, -1], values) for w, (values, _) in zip(np.split(one, ends), named, strict=True)]
        for one in _minimise(columns, labels, C, iterations)
    ]


def _minimise(tables: Sequence[Array], labels: Array, C: float, iterations: int) -> list[Array]:
    """Weights (k, c) for each table of codes as columns (c, n) and the labels (k, n) of its rows."""
    descents = [_Descent(columns, labels, C) for columns in tables]
    for _ in range(iterations):
        going = [one for one in descents if len(one.going)]
        if not going:
            break
        steps = _lasso(*(np.concatenate(parts) for parts in zip(*(one.model() for one in going), strict=True)))
        for one, towards in zip(going, np.split(steps, np.cumsum([len(one.going) for one in going])[:-1]), strict=True):
            one.move(towards)
    if late := sum(len(one.going) for one in descents):
        warnings.warn(
            f"{late} of {len(descents) * len(labels)} machines are not done after {iterations} steps; "
            "allow more, or standardise the codes",
            NotConvergedWarning,
            stacklevel=4,
        )
    return [one.weights for one in descents]


class _Descent:
    """The machines of one table of codes as columns (c, n), labels (k, n), on their way to the minimum."""

    def __init__(self, columns: Array, labels: Array, C: float):
        self.columns, self.labels, self.C, self.moments = columns, labels, C, _SecondMoments(columns)
        self.weights = np.zeros((len(labels), len(columns)))
        self.going = np.arange(len(labels))
        # Slacks 1 − y wᵀx of the machines that have not converged; rows where they are positive make up the loss.
        self.slack = np.ones_like(labels)
        self.limit = TOLERANCE * self._look()
        self._drop(self.limit)

    def _look(self) -> Array:
        """The slope of the loss at the weights; returns the size of the smallest subgradient of F, (k,)."""
        pull = np.maximum(self.slack, 0)
        pull *= self.labels[self.going]
        self.slope = -2 * self.C * pull @ self.columns.T
        self.violation = _subgradient(self.weights[self.going], self.slope).sum(axis=1)
        return self.violation

    def _drop(self, limit: Array) -> None:
        """Leaves the machines that have converged."""
        keep = self.violation > limit
        self.going, self.slack = self.going[keep], self.slack[keep]
        self.slope, self.violation = self.slope[keep], self.violation[keep]

    def model(self) -> tuple[Array, Array, Array, Array]:
        """H, r, w and how exactly to solve for v."""
        w, active = self.weights[self.going], (self.slack > 0).astype(np.float64)
        quadratic = 2 * self.C * self.moments.over(active)
        # On the active rows y x − x xᵀw = y x (1 − y wᵀx): the slope of the loss is Hw − r.
        return quadratic, _times(quadratic, w) - self.slope, w, INNER_TOLERANCE * self.violation

    def move(self, towards: Array) -> None:
        """A step towards v as long as F allows."""
        w, y = self.weights[self.going], self.labels[self.going]
        step = towards - w
        change = y * (step @ self.columns)
        self.weights[self.going], self.slack = _search(w, step, self.slope, self.slack, change, self.C)
        self._look()
        self._drop(self.limit[self.going])


def _subgradient(weights: Array, slope: Array) -> Array:
    """Absolute entries of the smallest subgradient of |w|₁ + a smooth function with this slope."""
    return np.where(weights == 0, np.maximum(np.abs(slope) - 1, 0), np.abs(slope + np.sign(weights)))


class _SecondMoments:
    """Sums of x xᵀ over rows of codes as columns (c, n). Products are kept if there are few of them."""

    def __init__(self, columns: Array) -> None:
        self.columns, self.pairs = columns, np.triu_indices(len(columns))
        block = max(1, PRODUCTS // len(self.pairs[0]))
        self.parts = [slice(start, start + block) for start in range(0, columns.shape[1], block)]
        few = len(self.pairs[0]) * columns.shape[1] <= KEPT
        self.kept = [self._products(part) for part in self.parts] if few else None

    def _products(self, part: slice) -> Array:
        first, second = self.pairs
        return self.columns[first, part] * self.columns[second, part]

    def over(self, active: Array) -> Array:
        """Σ x xᵀ (k, c, c) over the active rows (k, n) of each machine."""
        (first, second), size = self.pairs, len(self.columns)
        sums = np.zeros((len(active), len(first)))
        for part, products in zip(self.parts, self.kept or map(self._products, self.parts), strict=True):
            sums += active[:, part] @ products.T
        moments = np.empty((len(active), size, size))
        moments[:, first, second] = moments[:, second, first] = sums
        return moments


def _times(matrices: Array, vectors: Array) -> Array:
    return (matrices @ vectors[..., None])[..., 0]


def _lasso(quadratic: Array, target: Array, start: Array, tolerance: Array) -> Array:
    """Minimisers v (k, c) of |v|₁ + ½ vᵀHv − rᵀv for H (k, c, c) and r (k, c), from `start`."""
    weights, going = start.copy(), np.arange(len(start))
    for _ in range(INNER_ROUNDS):
        v = weights[going]
        _descend_coordinates(v, quadratic, target)
        _solve_signed(v, quadratic, target)
        weights[going] = v
        keep = _subgradient(v, _times(quadratic, v) - target).sum(axis=1) > tolerance
        if not keep.any():
            break
        going, quadratic, target, tolerance = going[keep], quadratic[keep], target[keep], tolerance[keep]
    return weights


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
    diagonal, going = np.arange(v.shape[1]), np.arange(len(v))
    while len(going):
        w, hessian = v[going], quadratic[going]
        signs = np.sign(w)
        used = signs != 0
        system = np.where(used[:, :, None] & used[:, None, :], hessian, 0.0)
        # Duplicate codes make H singular. A larger diagonal shortens the step; at the fixed point the slope is still 0.
        system[:, diagonal, diagonal] = np.where(used, system[:, diagonal, diagonal] * (1 + 1e-10), 1.0)
        slope = np.where(used, _times(hessian, w) - target[going] + signs, 0.0)
        move = -np.linalg.solve(system, slope[..., None])[..., 0]
        crossing = (w + move) * signs < 0
        shares = np.divide(-w, move, out=np.ones_like(w), where=crossing)
        share = shares.min(axis=1, keepdims=True)
        v[going] = np.where(crossing & (shares == share), 0.0, w + share * move)
        going = going[crossing.any(axis=1)]


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
