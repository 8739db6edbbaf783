"""Linear SVMs that see one code each, for thousands of codes at once: squared hinge, L2 penalty, one class against the rest.

For each code x, standardised, and each class, with labels y = ±1,

    minimise  F(w, b) = ½ (w² + b²) + Σ_rows C_y max(0, 1 − y (w x + b))²,

the objective of liblinear's L2-regularised L2-loss SVM with an intercept, which scikit-learn's LinearSVC fits. C_y is C for
the rows of other classes, and C times n / (classes · rows of the class) for the rows of the class itself ("balanced"); of two
classes, each has its own weight.

Rows with a margin below 1 are those on one side of a threshold: x < (1 − b) / w, or above. So F, its gradient and its
Hessian are sums of 1, x and x² over a range of a class's sorted values and over a range of all sorted values, which two
cumulative sums each give. After sorting, a step costs a bisection, whatever the number of rows; and the zeros of a sparse
code are one value with a count.

The minimum is approached by the trust-region Newton method that liblinear uses (Lin, Weng & Keerthi 2008; its constants
are theirs), with the same start, the same steps and the same rule of when to stop, since a row near a boundary may be
classified differently at the exact minimum. Accuracies are LinearSVC's, but for rows so near that rounding decides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from hackle.information.entries import Entries

_TOLERANCE = 1e-4
"""LinearSVC's: of the gradient's norm, relative to the start's, times the share of the smaller class."""
_STEPS = 1000
_ACCEPTED, _POOR, _GOOD = 1e-4, 0.25, 0.75
"""A step that achieves less of the predicted decrease than the first is not taken; the others decide on the next radius."""
_SHRINK, _HALF, _GROW = 0.25, 0.5, 4.0
_INNER = 0.1
"""Conjugate gradients stop at this fraction of the gradient's norm."""
_SMALL = 1e-12
"""Where actual and predicted decrease are below this fraction of F, only rounding is left."""


class SortedCodes:
    """The standardised entries of a block's codes, sorted within each column: values, columns and rows (p,).

    The zeros of a column, which have no entry, are one point of row −1, whose weight is their number.
    """

    def __init__(self, entries: Entries, values: Tensor, zero: Tensor) -> None:
        self.entries = entries
        places = torch.arange(entries.width, device=entries.device)
        if entries.where is None:
            ordered, rows = values.view(entries.width, entries.height).sort(dim=1)
            self.value, self.row = ordered.view(-1), rows.view(-1)
            self.column = places.repeat_interleave(entries.height)
        else:
            value, row = torch.cat([values, zero]), torch.cat([entries.where[0], torch.full_like(places, -1)])
            column = torch.cat([entries.where[1], places])
            order = torch.argsort(value)
            order = order[torch.argsort(column[order], stable=True)]
            self.value, self.row, self.column = value[order], row[order], column[order]
        weight = torch.where(self.row < 0, entries.absent[self.column].double(), 1.0)
        self.all = _Sums(self.value, weight, torch.bincount(self.column, minlength=entries.width))

    def of_classes(self, classes: Tensor, zeros: Tensor) -> _Sums:
        """Sums over the points of each class (n,), class after class, and of each column; zeros: (width, size)."""
        (width, size), listed = zeros.shape, self.row >= 0
        place, label = torch.nonzero(listed)[:, 0], classes[self.row[listed]]
        if self.entries.where is not None:
            # The zeros of a column are in every class.
            zero = torch.nonzero(~listed)[:, 0]
            place, order = torch.cat([place, zero.repeat(size)]).sort(stable=True)
            label = torch.cat([label, torch.arange(size, device=label.device).repeat_interleave(len(zero))])[order]
        label, order = label.sort(stable=True)
        place = place[order]
        column = self.column[place]
        weight = torch.where(self.row[place] < 0, zeros[column, label].double(), 1.0)
        return _Sums(self.value[place], weight, torch.bincount(label * width + column, minlength=width * size))


class _Sums:
    """Sums of weight · (1, x, x²) over any part of a segment of points, which are sorted by value within segments."""

    def __init__(self, value: Tensor, weight: Tensor, counts: Tensor) -> None:
        self.value, first = value, weight * value
        terms = torch.stack([weight, first, first * value])
        self._sums = torch.nn.functional.pad(terms.cumsum(dim=1), (1, 0))
        self.ends = counts.cumsum(dim=0)
        self.starts = self.ends - counts

    def side(self, segment: Tensor, threshold: Tensor, below: Tensor) -> Tensor:
        """Σ weight · (1, x, x²) over the segment's points below the threshold, or above it where not `below`: (3, k)."""
        start, end = self.starts[segment], self.ends[segment]
        low, high = start, end
        for _ in range(int((end - start).max()).bit_length()):
            middle = torch.minimum((low + high) // 2, end - 1).clamp(min=0)
            value = self.value[middle]
            # Points at the threshold are on neither side.
            before = ((value < threshold) | (~below & (value == threshold))) & (low < high)
            low, high = torch.where(before, middle + 1, low), torch.where(before | (low >= high), high, middle)
        first, last = torch.where(below, start, low), torch.where(below, low, end)
        return self._sums[:, last] - self._sums[:, first]


class Machines(NamedTuple):
    """Weights and intercepts, (machines, width) each: one machine for two classes, else one for each class."""

    weights: Tensor
    intercepts: Tensor

    def accuracies(self, entries: Entries, values: Tensor, zero: Tensor, classes: Tensor) -> Tensor:
        """The share of rows, (width,), whose class (n,) each code's machines predict; −1 is a class that none knows.

        Entries are standardised, (e,), and so is zero, (width,).
        """
        if entries.where is None:
            predicted = self._predict(lambda of: of[:, None], values.view(entries.width, entries.height)).view(-1)
        else:
            predicted = self._predict(entries.of_columns, values)
        correct = entries.sums((predicted == entries.of_rows(classes)).double())
        if entries.where is not None:
            size = max(2, len(self.weights))
            zeros = entries.zeros_by_class(classes + 1, size + 1)
            correct += torch.take_along_dim(zeros, self._predict(lambda of: of, zero)[:, None] + 1, dim=1)[:, 0]
        return correct / entries.height

    def _predict(self, spread: Callable[[Tensor], Tensor], values: Tensor) -> Tensor:
        """The class of each value; `spread` gives what belongs to each of something that columns have, (width,)."""
        best = torch.full_like(values, 0.0 if len(self.weights) == 1 else -torch.inf)
        classes = torch.zeros(values.shape, dtype=torch.int64, device=values.device)
        for place, (w, b) in enumerate(zip(self.weights, self.intercepts, strict=True)):
            decision = (spread(w) * values).add_(spread(b))
            classes.masked_fill_(decision > best, place + (len(self.weights) == 1))
            best = torch.maximum(best, decision)
        return classes


class _State(NamedTuple):
    """F (k,), its gradient (2, k), and its Hessian's entries ww, wb, bb (3, k), at some weights."""

    value: Tensor
    slope: Tensor
    curvature: Tensor


class _Problem:
    """F of every machine of a block: (column, class) after each other, class by class."""

    def __init__(self, codes: SortedCodes, classes: Tensor, size: int, C: float) -> None:
        width, device = codes.entries.width, codes.value.device
        self.width, self.machines, self.all = width, 1 if size == 2 else size, codes.all
        self.own = codes.of_classes(classes, codes.entries.zeros_by_class(classes, size))
        counts = torch.bincount(classes, minlength=size).double()
        balanced = C * counts.sum() / (size * counts)
        if size == 2:
            cost, self.other, share = balanced[1:], balanced[0], counts[1:]
        else:
            cost, self.other, share = balanced, torch.full_like(counts[0], C), counts
        rarer = torch.minimum(share, counts.sum() - share).clamp(min=1) / counts.sum()
        self.cost, self.tolerance = cost.repeat_interleave(width), (_TOLERANCE * rarer).repeat_interleave(width)
        self.column = torch.arange(width, device=device).repeat(self.machines)

    def at(self, going: Tensor, w: Tensor, b: Tensor) -> _State:
        """F of the machines `going` at weights and intercepts (k,)."""
        column = self.column[going]
        segment = going + self.width * (self.machines == 1)
        flat, rising = w == 0, w > 0
        slope = torch.where(flat, 1.0, w)
        # Without a slope a margin is the same in all rows: thresholds at infinity take all or none.
        infinite = torch.full_like(w, torch.inf)
        low = torch.where(flat, torch.where(b < 1, infinite, -infinite), (1 - b) / slope)
        high = torch.where(flat, torch.where(b > -1, -infinite, infinite), (-1 - b) / slope)
        below = rising | flat
        # Both sides of a class's own values in one bisection: its steps take as long for twice as many.
        ends = torch.cat([low, high]), torch.cat([below, ~below])
        mine, not_others = self.own.side(segment.repeat(2), *ends).chunk(2, dim=1)
        n, x, xx = mine * self.cost[going]
        m, u, uu = (self.all.side(column, high, ~below) - not_others) * self.other
        p, q = 1 - b, 1 + b
        value = 0.5 * (w * w + b * b) + p * p * n - 2 * p * w * x + w * w * xx + q * q * m + 2 * q * w * u + w * w * uu
        by_w = w - 2 * (p * x - w * xx) + 2 * (q * u + w * uu)
        by_b = b - 2 * (p * n - w * x) + 2 * (q * m + w * u)
        curvature = torch.stack([1 + 2 * (xx + uu), 2 * (x + u), 1 + 2 * (n + m)])
        return _State(value, torch.stack([by_w, by_b]), curvature)


def fit_single_machines(codes: SortedCodes, classes: Tensor, size: int, C: float = 0.01) -> Machines:
    """A machine for each of `size` classes (n,) and each column, or for the second of two classes."""
    problem = _Problem(codes, classes, size, C)
    weights = torch.zeros(2, len(problem.column), dtype=torch.float64, device=codes.value.device)
    going = torch.arange(weights.shape[1], device=weights.device)
    state = problem.at(going, *weights)
    start = state.slope.norm(dim=0)
    radius, limit, first = start.clone(), problem.tolerance * start, True
    for _ in range(_STEPS):
        keep = state.slope.norm(dim=0) > limit
        going, radius, limit = going[keep], radius[keep], limit[keep]
        state = _State(*(part[..., keep] for part in state))
        if not len(going):
            break
        step, left = _inner_step(state, radius)
        new = problem.at(going, *(weights[:, going] + step))
        along = (state.slope * step).sum(dim=0)
        predicted = -0.5 * (along - (step * left).sum(dim=0))
        decrease, length = state.value - new.value, step.norm(dim=0)
        radius = torch.minimum(radius, length) if first else radius
        radius, first = _next_radius(radius, length, along, decrease, predicted), False
        taken = decrease > _ACCEPTED * predicted
        weights[:, going] += torch.where(taken, step, 0.0)
        state = _State(*(torch.where(taken, *both) for both in zip(new, state, strict=True)))
        only_rounding = (decrease.abs() <= _SMALL * state.value.abs()) & (predicted.abs() <= _SMALL * state.value.abs())
        limit = torch.where(only_rounding, torch.inf, limit)
    return Machines(*weights.view(2, problem.machines, problem.width))


def _product(curvature: Tensor, direction: Tensor) -> Tensor:
    ww, wb, bb = curvature
    return torch.stack([ww * direction[0] + wb * direction[1], wb * direction[0] + bb * direction[1]])


def _inner_step(state: _State, radius: Tensor) -> tuple[Tensor, Tensor]:
    """The step within the radius by conjugate gradients, (2, k), and what is left of the gradient after it."""
    step, left = torch.zeros_like(state.slope), -state.slope
    direction, square = left, (left * left).sum(dim=0)
    goal = _INNER * state.slope.norm(dim=0)
    going = left.norm(dim=0) > goal
    # In two dimensions the second step is exact; a third mends rounding.
    for _ in range(3):
        image = _product(state.curvature, direction)
        share = torch.where(going, square / (direction * image).sum(dim=0), 0.0)
        outside = going & ((step + share * direction).norm(dim=0) > radius)
        inner, length = (step * direction).sum(dim=0), (direction * direction).sum(dim=0)
        room = radius * radius - (step * step).sum(dim=0)
        root = torch.sqrt((inner * inner + length * room).clamp(min=0))
        edge = torch.where(inner >= 0, room / (inner + root), (root - inner) / length)
        share = torch.where(outside, edge, share)
        step, left = step + share * direction, left - share * image
        going = going & ~outside & (left.norm(dim=0) > goal)
        if not going.any():
            break
        ahead = (left * left).sum(dim=0)
        direction = torch.where(going, left + ahead / square * direction, direction)
        square = ahead
    return step, left


def _next_radius(radius: Tensor, length: Tensor, along: Tensor, decrease: Tensor, predicted: Tensor) -> Tensor:
    """The radius after a step of this length, by how much of the predicted decrease was achieved."""
    beyond = -decrease - along
    alpha = torch.where(beyond <= 0, _GROW, torch.clamp(-0.5 * along / beyond, min=_SHRINK))
    worst = torch.minimum(alpha * length, _HALF * radius)
    poor = torch.maximum(_SHRINK * radius, torch.minimum(alpha * length, _HALF * radius))
    fair = torch.maximum(_SHRINK * radius, torch.minimum(alpha * length, _GROW * radius))
    good = torch.maximum(radius, torch.minimum(alpha * length, _GROW * radius))
    changed = torch.where(decrease < _GOOD * predicted, fair, good)
    changed = torch.where(decrease < _POOR * predicted, poor, changed)
    return torch.where(decrease < _ACCEPTED * predicted, worst, changed)
