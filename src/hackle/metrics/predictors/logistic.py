"""Logistic regressions of one class against the rest, those of all classes at once.

For each machine, with labels y = 0 or 1 and p = 1 / (1 + exp(−wᵀx − b)),

    minimise  F(w, b) = ½ |w|² − Σ_rows y ln p + (1 − y) ln(1 − p),

the objective of scikit-learn's `LogisticRegression` with C = 1, by Newton's method. |w| does not notice a rotation, so codes
are turned to their principal axes, where they are uncorrelated. The Hessian Σ p (1 − p) x xᵀ + 1 is only multiplied: conjugate
gradients solve for the step, preconditioned by what it would be if p (1 − p) were independent of x, a diagonal matrix. How
correlated codes are therefore makes no difference, and thousands of them need no more memory than the codes themselves. A
step must decrease F by enough (Armijo's rule). It is repeated until the gradient is zero up to rounding, so that the result is
the minimum itself and depends on no solver.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hackle.metrics.checks import Classes, Table
from hackle.metrics.predictors.linear import NotConvergedWarning

Array = NDArray[np.float64]

_SLOPE = 1e-9
"""A machine is done when no entry of its gradient is larger than this for each row: scikit-learn's default is 1e-4."""
_ROWS = 1024
"""Rows that are worked on at once: few enough for a cache."""
_ENTRIES = 2**22
"""How many machines times rows are solved together: 32 MB."""
_PRODUCTS, _FORCING = 100, 0.1
"""Conjugate gradients stop after so many products, or at this fraction of the gradient; at a smaller one near the minimum."""
_SUFFICIENT, _ROUNDING = 1e-4, 1e-13


class LogisticDesign:
    """Codes (n, c) with mean 0, prepared for the machines of any factor.

    >>> design = LogisticDesign(np.array([[-1.0], [1.0], [-1.0], [1.0]]))
    >>> weights, intercepts = design.fit(np.array([0, 0, 1, 1]), np.array([1]))
    >>> abs(weights.item()) < 1e-9, abs(intercepts.item()) < 1e-9
    (True, True)
    """

    def __init__(self, codes: Table) -> None:
        variances, self._axes = np.linalg.eigh(codes.T @ codes / len(codes))
        columns = np.vstack([(codes @ self._axes).T, np.ones(len(codes))])
        self.blocks = [np.ascontiguousarray(columns[:, start : start + _ROWS]) for start in range(0, len(codes), _ROWS)]
        self.rows, self.spread = len(codes), np.append(np.maximum(variances, 0.0), 1.0)

    def fit(self, classes: Classes, values: NDArray[np.int64], *, steps: int = 100) -> tuple[Array, Array]:
        """Weights (k, c) and intercepts (k,) of machines that tell each of `values` (k,) from the other classes (n,).

        Every one of the values, and another, occurs among the classes. Machines that have not converged after `steps` steps
        are returned with a warning.
        """
        together = max(1, _ENTRIES // self.rows)
        parts = [
            _Machines(self, classes == values[start : start + together, None]).fitted(steps)
            for start in range(0, len(values), together)
        ]
        weights = np.concatenate(parts)
        return weights[:, :-1] @ self._axes.T, weights[:, -1]


class _State(NamedTuple):
    """F (k,), its gradient (k, c + 1) and p (1 − p) of each machine and row, block by block, at some weights."""

    value: Array
    slope: Array
    curvature: list[Array]

    def of(self, keep: NDArray[np.bool_]) -> _State:
        return _State(self.value[keep], self.slope[keep], [part[keep] for part in self.curvature])


class _Machines:
    """The machines of labels (k, n), on their way to the minimum."""

    def __init__(self, design: LogisticDesign, labels: NDArray[np.bool_]) -> None:
        self.blocks, self.spread, self.rows = design.blocks, design.spread, design.rows
        self.weights, share = np.zeros((len(labels), len(self.spread))), labels.mean(axis=1)
        # Σ y x, which F and its gradient need of the labels.
        starts = range(0, self.rows, _ROWS)
        self.sums = sum(
            (labels[:, start : start + _ROWS] @ block.T for start, block in zip(starts, self.blocks, strict=True)),
            start=np.zeros_like(self.weights),
        )
        self.penalty = np.append(np.ones(len(self.spread) - 1), 0.0)
        # The minimum without codes.
        self.weights[:, -1] = np.log(share / (1 - share))

    def fitted(self, steps: int) -> Array:
        """The weights (k, c + 1) of the minimum."""
        going = np.arange(len(self.weights))
        state = self._at(self.weights, self.sums)
        for _ in range(steps + 1):
            keep = np.abs(state.slope).max(axis=1) > _SLOPE * self.rows
            if not keep.all():
                going, state = going[keep], state.of(keep)
            if not len(going):
                return self.weights
            self.weights[going], state = self._searched(going, state, self._step(state))
        warnings.warn(
            f"{len(going)} of {len(self.weights)} logistic regressions are not done after {steps} steps",
            NotConvergedWarning,
            stacklevel=4,
        )
        return self.weights

    def _at(self, weights: Array, sums: Array) -> _State:
        value = 0.5 * (self.penalty * weights**2).sum(axis=1) - (weights * sums).sum(axis=1)
        slope, curvature = self.penalty * weights - sums, []
        for block in self.blocks:
            z = weights @ block
            small = np.exp(-np.abs(z))
            larger = 1.0 / (1.0 + small)
            value += np.maximum(z, 0.0).sum(axis=1) - np.log(larger).sum(axis=1)
            small *= larger
            # The probability of the label 1, which is the larger of the two where z is positive.
            slope += (block @ np.where(z >= 0, larger, small).T).T
            curvature.append(np.multiply(small, larger, out=small))
        return _State(value, slope, curvature)

    def _times(self, state: _State, direction: Array) -> Array:
        """The Hessian times a direction, (k, c + 1)."""
        product = self.penalty * direction
        for block, curvature in zip(self.blocks, state.curvature, strict=True):
            change = direction @ block
            change *= curvature
            product += (block @ change.T).T
        return product

    def _step(self, state: _State) -> Array:
        """Newton's step by conjugate gradients, (k, c + 1)."""
        total = np.sum([part.sum(axis=1) for part in state.curvature], axis=0)
        scale = 1.0 / (total[:, None] * self.spread + self.penalty)
        step, left = np.zeros_like(state.slope), -state.slope
        direction = scale * left
        square = (left * direction).sum(axis=1)
        near = np.sqrt(np.abs(state.slope).max(axis=1) / self.rows)
        goal, going = np.minimum(_FORCING, near) ** 2 * square, np.ones(len(square), dtype=bool)
        for _ in range(_PRODUCTS):
            image = self._times(state, direction)
            share = np.divide(square, (direction * image).sum(axis=1), out=np.zeros_like(square), where=going)[:, None]
            step += share * direction
            left -= share * image
            scaled = scale * left
            ahead = (left * scaled).sum(axis=1)
            going &= ahead > goal
            if not going.any():
                break
            direction = scaled + np.divide(ahead, square, out=np.zeros_like(square), where=going)[:, None] * direction
            square = ahead
        return step

    def _searched(self, going: NDArray[np.intp], state: _State, step: Array) -> tuple[Array, _State]:
        """Weights and state after the longest step of 1, ½, ¼ … that decreases F enough."""
        share, promised = np.ones((len(going), 1)), (state.slope * step).sum(axis=1)
        while True:
            weights = self.weights[going] + share * step
            new = self._at(weights, self.sums[going])
            allowed = state.value + _SUFFICIENT * share[:, 0] * promised + _ROUNDING * np.abs(state.value)
            late = new.value > allowed
            if not late.any():
                return weights, new
            share[late] /= 2
