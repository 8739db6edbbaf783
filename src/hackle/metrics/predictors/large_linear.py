"""The L1-penalised machines of `predictors.linear`, and the Lasso, for thousands of codes.

Both minimise, over the weights w of standardised codes X̃, of which an SVM has one more, the intercept's, of a code that is 1,

    F(w) = λ |w|₁ + C Σ_rows s²     with the slack s = max(0, 1 − y f) of f = X̃ w (the SVM, λ = 1),
    F(w) = λ |w|₁ + C Σ_rows s²     with s = y − f (the Lasso, C = ½, on standardised numbers).

The method of `predictors.linear` holds the Hessian, c² numbers. Here it is only multiplied, at the cost of the codes'
entries, and of these only of rows with a slack and of weights that are free to move, a small part of the table at the end.
Dense codes that are held come here with the weights that `predictors.active_sets` has found, which are the minimum's but
for rounding: their gap is computed, and where that method gave up, the rest of the path is done here.

*The path.* At the penalty of these machines thousands of weights are not zero, and a start from w = 0 would first move nearly
all of them. So λ starts where w = 0 is the minimum and is halved until it has its value; each minimum is a good start for the
next. Between changes of sign and of which rows have slack, the minimum is a linear function of λ (Rosset & Zhu 2007), by
which it is extrapolated. A Lasso of many more rows than codes needs no path: a few steps lead from w = 0 to its minimum. *The
step* is a projected Newton method (Bertsekas 1982, on the orthants of w, as Andrew & Gao 2007 have them): within the orthant
of w, in which the penalty is linear, conjugate gradients solve for the Newton step of the weights that are free, among them a
few of those that are zero and pulled hardest; along it, weights that would change their sign stop at zero. A step must
decrease F by enough (Armijo's rule).

*The end.* With u = 2 C y s, scaled by θ ≤ 1 such that |X̃ᵀ u|_∞ ≤ λ, D = θ Σ y u − θ² Σ u² / 4C is below the minimum, which is
therefore between D and F(w). A machine is done when that gap is below `GAP` times F. Since the loss has slopes that change by
at most 2C a unit, F(w) − F* ≥ C Σ (s − s*)²: slacks, taken together, differ from those of the minimum by at most √(gap / C),
and weights by that divided by the smallest singular value of the rows with slack and codes with weight.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from hackle.metrics.predictors.active_sets import follow_active_sets
from hackle.metrics.predictors.linear import NotConvergedWarning
from hackle.metrics.predictors.penalised import Problem
from hackle.metrics.predictors.standardised import Part, StandardisedCodes

GAP = 1e-10
"""How far above the minimum F may be, relative to F."""
_ON_THE_WAY = 1e-2
"""The same for penalties on the way."""
_TOGETHER, _ROOM = 8, 2**26
"""How many machines go side by side, at most, and for how many numbers, in float32, there is room in their systems."""
_SHRINK = 2.0
"""What the penalty is divided by from one minimum to the next."""
_STEPS = 3000
_PRODUCTS = 100
"""Steps of conjugate gradients for one Newton step."""
_FORCING = 0.1, 0.5
"""Conjugate gradients stop at this fraction of the gradient or, near the minimum, at a smaller one, so that Newton's method
converges faster than linearly (Eisenstat & Walker 1996); at the second after a step that had to be cut."""
_DAMPING, _DAMPED, _NEAR = (1e-3, 1e3), 4.0, 1e-3
"""As many rows have a slack as weights are free, or fewer, and the Hessian is then nearly singular. A multiple of its diagonal,
between these bounds, is added, and changed by this factor as steps succeed at full length or are cut (Levenberg and
Marquardt). Where the gap is below the last number, it may become as small as 1e-9."""
_ENTERING = 64, 0.05
"""How many weights may leave zero in a step: so many, or this share of those that have. More would outnumber the rows."""
_SUFFICIENT, _HALVINGS, _ROUNDING = 1e-4, 40, 1e-14
Report = Callable[[float], Any]


class Fitted(NamedTuple):
    """Weights (c',) and the intercept."""

    weights: Tensor
    intercept: Tensor


def fit_large_machines(
    codes: StandardisedCodes, labels: Tensor, *, tolerance: float = GAP, report: Report = bool
) -> list[Fitted]:
    """The SVMs of several rows of labels ±1, (k, n), with C = 1. `report` is called with how near they are, from 0 to 1."""
    return _fit([Problem(codes, own, True, 1.0) for own in labels], 1.0, tolerance, report)


def fit_large_lassos(codes: StandardisedCodes, numbers: Tensor, *, alpha: float, report: Report = bool) -> list[Fitted]:
    """Lassos of several rows of numbers with mean 0, (k, n): half the mean square plus alpha |w|₁, as scikit-learn has it."""
    return _fit([Problem(codes, own, False, 0.5) for own in numbers], alpha * numbers.shape[1], GAP, report)


def _fit(problems: Sequence[Problem], last: float, tolerance: float, report: Report) -> list[Fitted]:
    """The minima of F of problems of the same codes; of dense codes that are held, several side by side."""
    fitted: list[Fitted] = []
    while len(fitted) < len(problems):
        codes = problems[0].codes
        together = min(_TOGETHER, max(1, _ROOM // max(1, min(codes.shape)) ** 2)) if codes.is_held else 1
        group = problems[len(fitted) : len(fitted) + together]
        own = partial(_report, report, len(fitted), len(group), len(problems))
        if codes.is_held:
            for problem, start in zip(group, follow_active_sets(group, last, own), strict=True):
                fitted.append(_follow(problem, last, *start, tolerance, bool))
        else:
            weights = group[0].targets.new_zeros(codes.shape[1] + 1)
            first = float(group[0].slope(group[0].targets).abs().max())
            fitted.append(_follow(group[0], last, weights, first, tolerance, own))
    report(1.0)
    return fitted


def _report(report: Report, place: int, width: int, count: int, fraction: float) -> None:
    report((place + width * fraction) / count)


def _follow(problem: Problem, last: float, weights: Tensor, penalty: float, tolerance: float, report: Report) -> Fitted:
    """The minimum of F with the penalty `last`, from weights (c' + 1,) near that with another; the last is the intercept."""
    start = problem.value(penalty, weights, problem.rest(problem.outputs(weights)))
    if start > problem.value(penalty, torch.zeros_like(weights), problem.targets):
        # What a path left that was given up: of codes that depend on each other its last system may have been singular.
        weights = torch.zeros_like(weights)
        penalty = max(float(problem.slope(problem.targets).abs().max()), last)
    if penalty <= last:
        weights = _minimise(problem, last, weights, problem.outputs(weights), tolerance)
    first, before, earlier = penalty, math.inf, weights
    while penalty > last:
        report(math.log(first / penalty) / math.log(first / last))
        now = last if problem.is_tall else max(penalty / _SHRINK, last)
        ahead = weights + (weights - earlier) * ((now - penalty) / (penalty - before))
        ahead = torch.where(ahead * weights > 0, ahead, 0.0)
        both = [(one, problem.outputs(one)) for one in (weights, ahead)]
        start = min(both, key=lambda one: problem.value(now, one[0], problem.rest(one[1])))
        before, earlier, penalty = penalty, weights, now
        weights = _minimise(problem, now, *start, _ON_THE_WAY if now > last else tolerance)
    return Fitted(weights[:-1], weights[-1])


def _subgradient(weights: Tensor, slope: Tensor, penalty: float) -> Tensor:
    """The smallest subgradient of a smooth function with this slope plus penalty |w|₁."""
    at_zero = slope - slope.clamp(-penalty, penalty)
    return torch.where(weights == 0, at_zero, slope + penalty * torch.sign(weights))


def _minimise(problem: Problem, penalty: float, weights: Tensor, outputs: Tensor, tolerance: float) -> Tensor:
    """Weights whose gap is below the tolerance, from these and their outputs."""
    damping, share, first, relative = 1e-2, 1.0, None, math.inf
    for _ in range(_STEPS):
        rest = problem.rest(outputs)
        slope = problem.slope(rest)
        value = problem.value(penalty, weights, rest)
        relative = problem.gap(penalty, value, rest, slope) / value
        if relative <= tolerance:
            return weights
        pull = _subgradient(weights, slope, penalty)
        violation = float(pull.abs().sum())
        first = violation if first is None else first
        moving = _moving(weights, pull, problem.is_tall)
        part = problem.codes.part(torch.nonzero(rest)[:, 0], moving)
        forcing = min(math.sqrt(violation / first), _FORCING[0]) if share == 1.0 else _FORCING[1]
        step = torch.zeros_like(weights)
        step[moving] = _newton_step(part, weights[moving], pull[moving], 2 * problem.cost, damping, forcing)
        weights, outputs, share = _search(problem, penalty, value, weights, outputs, step, pull)
        damping *= 1 / _DAMPED if share == 1.0 else _DAMPED if share < 0.25 else 1.0
        damping = min(max(damping, _DAMPING[0] if relative > _NEAR else 1e-9), _DAMPING[1])
    warnings.warn(
        f"a machine is not done after {_STEPS} steps; its objective may be {relative:.0e} above the minimum",
        NotConvergedWarning,
        stacklevel=5,
    )
    return weights


def _moving(weights: Tensor, pull: Tensor, every: bool) -> Tensor:
    """The weights that are not zero, and of the others that are pulled away from it those pulled hardest, or `every` one."""
    used = weights != 0
    if every:
        return torch.nonzero(used | (pull != 0))[:, 0]
    entering = torch.where(used, 0.0, pull.abs())
    limit = max(_ENTERING[0], int(_ENTERING[1] * int(used.sum())))
    hardest = torch.topk(entering, min(limit, len(entering)))
    used[hardest.indices[hardest.values > 0]] = True
    return torch.nonzero(used)[:, 0]


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
    problem: Problem, penalty: float, value: float, weights: Tensor, outputs: Tensor, step: Tensor, pull: Tensor
) -> tuple[Tensor, Tensor, float]:
    """Weights and outputs after the longest step of 1, ½, ¼ … along which F decreases enough, signs kept; and its length."""
    orthant = torch.where(weights != 0, torch.sign(weights), -torch.sign(pull))
    share = 1.0
    for _ in range(_HALVINGS):
        new = weights + share * step
        new = torch.where(new * orthant > 0, new, 0.0)
        moved = outputs + problem.outputs(change := new - weights)
        # Up to rounding of the sum over rows.
        limit = value * (1 + _ROUNDING) + _SUFFICIENT * float(pull @ change)
        if problem.value(penalty, new, problem.rest(moved)) <= limit:
            return new, moved, share
        share /= 2
    return weights, outputs, 0.0
