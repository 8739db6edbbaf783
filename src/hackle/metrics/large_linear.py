"""The L1-penalised machines of `hackle.metrics.linear`, and the Lasso, for thousands of codes.

Both minimise

    F(w) = |w|₁ + |b| + C Σ_rows max(0, 1 − y f)²     with f = X̃ w + b (the SVM),
    F(w) = λ |w|₁ + ½ Σ_rows (y − f)²                 with f = X̃ w (the Lasso, on standardised numbers).

The method of `hackle.metrics.linear` holds the Hessian, c² numbers; here it is only multiplied, at the cost of the codes'
entries. It is a projected Newton method (Bertsekas 1982, on the orthants of w, as Andrew & Gao 2007 have them): within the
orthant of w, in which the penalty is linear, conjugate gradients solve for the Newton step of the weights that are free to
move; along it, weights that would change their sign stop at zero. A step must decrease F by enough (Armijo's rule). Only
rows with margins below 1 and weights that are free enter the system, which is therefore much smaller than the table.

A machine is done when the smallest subgradient of F, summed over weights, is below a tolerance times that at w = 0, as in
`hackle.metrics.linear`; the minimum is the same one.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from hackle.metrics.linear import TOLERANCE, NotConvergedWarning
from hackle.metrics.standardised import Part, StandardisedCodes

_STEPS = 3000
_PRODUCTS = 100
"""Steps of conjugate gradients for one Newton step."""
_FORCING = 0.1, 0.5
"""Conjugate gradients stop at this fraction of the gradient or, near the minimum, at a smaller one, so that Newton's method
converges faster than linearly (Eisenstat & Walker 1996); at the second after a step that had to be cut."""
_DAMPING, _DAMPED = (1e-9, 1e3), 4.0
"""Fewer rows may have margins below 1 than weights are free; the Hessian is then singular. A multiple of its diagonal, between
these bounds, is added, and changed by this factor as steps succeed at full length or are cut (Levenberg and Marquardt)."""
_SUFFICIENT, _HALVINGS, _ROUNDING = 1e-4, 40, 1e-14
Report = Callable[[float], Any]


class Fitted(NamedTuple):
    """Weights (c',) and the intercept."""

    weights: Tensor
    intercept: Tensor


class _Loss(NamedTuple):
    """How rows are fitted: targets (n,); `hinge` for the SVM, whose targets are ±1; what the loss and |w| are multiplied by."""

    targets: Tensor
    hinge: bool
    factor: float
    penalty: float

    def rest(self, outputs: Tensor) -> Tensor:
        """What is missing to the targets, (n,), 0 in rows that cost nothing: F has the slope −2 · factor · rest in f."""
        missing = self.targets - outputs
        return torch.where(self.targets * missing > 0, missing, 0.0) if self.hinge else missing

    def value(self, outputs: Tensor, weights: Tensor) -> Tensor:
        return self.factor * self.rest(outputs).square().sum() + self.penalty * weights.abs().sum()


def fit_large_machine(
    codes: StandardisedCodes, labels: Tensor, *, C: float = 1.0, tolerance: float = TOLERANCE, report: Report = bool
) -> Fitted:
    """The SVM of labels ±1 (n,). `report` is called with how near it is, from 0 to 1."""
    weights = _minimise(codes, _Loss(labels, True, C, 1.0), tolerance, report)
    return Fitted(weights[:-1], weights[-1])


def fit_large_lasso(
    codes: StandardisedCodes, numbers: Tensor, *, alpha: float, tolerance: float = TOLERANCE, report: Report = bool
) -> Fitted:
    """The Lasso of numbers (n,) with mean 0: half the mean square plus alpha |w|₁, as scikit-learn has it."""
    weights = _minimise(codes, _Loss(numbers, False, 0.5, alpha * len(numbers)), tolerance, report)
    return Fitted(weights[:-1], weights[-1])


def _subgradient(weights: Tensor, slope: Tensor, penalty: float) -> Tensor:
    """The smallest subgradient of a smooth function with this slope plus penalty |w|₁."""
    at_zero = slope - slope.clamp(-penalty, penalty)
    return torch.where(weights == 0, at_zero, slope + penalty * torch.sign(weights))


def _minimise(codes: StandardisedCodes, loss: _Loss, tolerance: float, report: Report) -> Tensor:
    """Weights (c' + 1,) at the minimum of F; the last is the intercept, which stays 0 without hinge."""
    weights = loss.targets.new_zeros(codes.shape[1] + 1)
    outputs = torch.zeros_like(loss.targets)
    every = torch.arange(len(outputs), device=outputs.device)
    everything = codes.rows(every)
    first, relative, damping, share = 0.0, 1.0, 1e-2, 1.0
    for step_number in range(_STEPS):
        rest = loss.rest(outputs)
        active = torch.nonzero(rest)[:, 0] if loss.hinge else every
        rows = codes.rows(active) if loss.hinge else everything
        slope = torch.cat([rows.transposed_times(rest[active]), rest.sum()[None] * loss.hinge])
        pull = _subgradient(weights, -2 * loss.factor * slope, loss.penalty)
        violation = float(pull.abs().sum())
        first = violation if step_number == 0 else first
        relative = violation / first if first > 0 else 0.0
        if relative <= tolerance:
            report(1.0)
            return weights
        report(min(0.99, math.log(min(relative, 1.0)) / math.log(tolerance)))
        moving = torch.nonzero((weights != 0) | (pull != 0))[:, 0]
        part = rows.part(moving)
        forcing = min(math.sqrt(relative), _FORCING[0]) if share == 1.0 else _FORCING[1]
        step = torch.zeros_like(weights)
        step[moving] = _newton_step(part, weights[moving], pull[moving], 2 * loss.factor, damping, forcing)
        weights, outputs, share = _search(codes, weights, step, pull, outputs, loss)
        damping *= 1 / _DAMPED if share == 1.0 else _DAMPED if share < 0.25 else 1.0
        damping = min(max(damping, _DAMPING[0]), _DAMPING[1])
    warnings.warn(
        f"a machine is not done after {_STEPS} steps; its subgradient is {relative:.0e} of that at the start",
        NotConvergedWarning,
        stacklevel=4,
    )
    return weights


def _newton_step(part: Part, weights: Tensor, pull: Tensor, factor: float, damping: float, forcing: float) -> Tensor:
    """The Newton step within the orthant for the weights of a part, by preconditioned conjugate gradients."""
    diagonal = (factor * part.squares).clamp(min=1e-12)
    # A weight that a plain step would carry through zero is not free: it takes that step, and stops there.
    crossing = (weights != 0) & (weights * (weights - pull / diagonal) <= 0)
    left = torch.where(crossing, 0.0, -pull)
    step = torch.zeros_like(weights)
    direction = left / diagonal
    product = float(left @ direction)
    goal = forcing**2 * product
    for _ in range(_PRODUCTS):
        image = factor * part.transposed_times(part.times(direction)) + damping * diagonal * direction
        image = torch.where(crossing, 0.0, image)
        if (curvature := float(direction @ image)) <= 0 or product <= goal:
            break
        step, left = step + product / curvature * direction, left - product / curvature * image
        scaled = left / diagonal
        ahead = float(left @ scaled)
        direction, product = scaled + ahead / product * direction, ahead
    return torch.where(crossing, -pull / diagonal, step)


def _search(
    codes: StandardisedCodes, weights: Tensor, step: Tensor, pull: Tensor, outputs: Tensor, loss: _Loss
) -> tuple[Tensor, Tensor, float]:
    """Weights and outputs after the longest step of 1, ½, ¼ … along which F decreases enough, signs kept; and its length."""
    orthant = torch.where(weights != 0, torch.sign(weights), -torch.sign(pull))
    before, share = loss.value(outputs, weights), 1.0
    for _ in range(_HALVINGS):
        new = weights + share * step
        new = torch.where(new * orthant > 0, new, 0.0)
        change = new - weights
        moved = outputs + codes.times(change[:-1]) + change[-1]
        # Up to rounding of the sum over rows.
        if loss.value(moved, new) <= before * (1 + _ROUNDING) + _SUFFICIENT * (pull @ change):
            return new, moved, share
        share /= 2
    return weights, outputs, 0.0
