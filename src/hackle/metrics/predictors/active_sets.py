"""L1-penalised linear machines of dense codes along the path of penalties, by their active sets, several machines at once.

At the minimum of F (`predictors.large_linear`) with the penalty λ, the weights K that are not zero, their signs σ and the
rows M that cost something say all: the weights solve

    H w = 2 C X_K y_M − λ σ,        H = 2 C X_KM X_KMᵀ,

so that with the right sets one linear system gives the minimum. *An iteration* solves it for the sets at hand, and corrects
them: weights with the wrong sign leave K, codes whose slope is above λ join it, and rows join or leave M by the sign of their
slack. This is the primal-dual active set method, a Newton method for conditions that are piecewise linear (Hintermüller, Ito &
Kunisch 2003). It ends where nothing changes, at the exact minimum, and from sets that are nearly right it needs a handful of
iterations, however close to singular H is: separable classes leave few more rows in M than weights in K, which is where
conjugate gradients and line searches take hundreds of steps.

*The path.* The sets change little where λ changes little, so λ falls from the value at which w = 0 is the minimum to its last
one, by a factor that grows where sets change little and shrinks where they change much. At first sets need not be right on
the way: every iteration lowers λ, too. Where that brings too many changes, the path goes back to where there were few and
finds the minimum there; after some such returns it leads from minimum to minimum.

*The system* is not set up for each iteration. That of some earlier sets is kept, factorised in float32 and bordered by a row
and a column for each code and each row of the table in which today's sets differ (`predictors.bordered`). *Several machines*
go side by side: outputs and slopes of all of them are one product each with the codes, which takes little longer than for one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from hackle.metrics.predictors.bordered import Bordered, Sets
from hackle.metrics.predictors.penalised import Problem

_WIDEST, _NARROWEST, _GROWTH = 2.0, 1.0005, 1.5
"""What λ is divided by from one iteration to the next, at first and at most, and at least: there the path is given up; and the
power to which it is raised at most where sets change little."""
_FEW = 16
"""With so many times as many rows as codes, or more, λ takes its last value at once."""
_WISHED, _LEAST, _TOO_MANY = 0.3, 0.002, 4.0
"""How many changes an iteration should bring, as a share of the rows in M beyond the number of weights, which is how far H is
from singular; or as a share of the weights, where that is more; and how many times as many make the path go back."""
_ITERATIONS, _ALL = 20, 1000
"""Iterations allowed for one penalty where sets must be right before the next, and for all."""
_PATIENCE = 4
"""After so many returns the path leads from minimum to minimum."""
_RESIDUAL = 1e-11
"""How exactly the system is solved at the last penalty, relative to λ."""
_MARGIN = 5e-11
"""How far beyond λ a slope must be, relative to it, for a code to join: more than rounding, less than the gap asked for."""
_NUMBERS = 2**25
"""How many numbers the codes of K may be in the rows of M; with more the path is given up."""
Report = Callable[[float], Any]


def follow_active_sets(problems: Sequence[Problem], last: float, report: Report = bool) -> list[tuple[Tensor, float]]:
    """For each of several problems of the same codes: weights (c' + 1,) at the minimum of F with the penalty `last`, or near
    that with a larger one, where the path was given up, and the penalty."""
    paths = [_Path(problem, last) for problem in problems]
    codes, factor = problems[0].codes, 2 * problems[0].cost
    done = 0.0
    while going := [path for path in paths if path.is_going]:
        done = max(done, sum(path.done for path in paths) / len(paths))
        report(done)
        outputs = codes.outputs_of_several(torch.stack([path.weights for path in going]))
        missing = torch.stack([path.problem.targets for path in going]) - outputs
        rest = torch.where(torch.stack([path.sets.rows for path in going]), missing, 0.0)
        pulls = codes.pulls_of_several(rest).mul_(factor)
        for path, *found in zip(going, missing, pulls, strict=True):
            path.advance(*found)
    return [(path.at_minimum(), path.penalty) for path in paths]


class _Place(NamedTuple):
    """Where a path may go back to."""

    penalty: float
    weights: Tensor
    missing: Tensor
    pull: Tensor
    sets: Sets
    wanted: Sets


class _Path:
    """One machine on its way: weights (c' + 1,) that solve the system of its sets with its penalty, but for rounding."""

    def __init__(self, problem: Problem, last: float) -> None:
        self.problem, self.last, self.is_going = problem, last, True
        targets = problem.targets
        slope = problem.slope(targets)
        self.first = self.penalty = max(float(slope.abs().max()), last)
        self.weights = torch.zeros_like(slope)
        self.sets = Sets(torch.zeros_like(slope), torch.ones_like(targets, dtype=torch.bool))
        few = problem.is_tall or _FEW * len(slope) <= len(targets)
        self._ratio = math.inf if few else _WIDEST
        self._system: Bordered | None = Bordered(problem.codes, 2 * problem.cost)
        self._near: _Place | None = None
        self._exact: _Place | None = None
        self._error = math.inf
        self._settles, self._failures, self._count, self._since = False, 0, 0, 0

    @property
    def done(self) -> float:
        """How far λ has come, from 0 to 1."""
        whole = math.log(self.first / self.last)
        return math.log(self.first / self.penalty) / whole if self.is_going and whole else 1.0

    def at_minimum(self) -> Tensor:
        """The weights, without those of the wrong sign, of which rounding may leave a few."""
        return torch.where(self.weights * self.sets.signs > 0, self.weights, 0.0)

    def advance(self, missing: Tensor, pull: Tensor) -> None:
        """An iteration, from what is missing to the targets, (n,), and the pull on the weights, (c' + 1,), of the rows M."""
        self._count += 1
        wanted = self._corrected(missing, pull)
        used = self.sets.used
        size, room = int(used.sum()), int(self.sets.rows.sum()) - int(used.sum())
        count = wanted.differences(self.sets)
        is_last = self.penalty == self.last
        if is_last:
            before, self._error = self._error, math.inf
            if count == 0:
                self._error = float((pull - self.penalty * self.sets.signs)[used].abs().max()) if size else 0.0
                # Where it no longer falls, only rounding is left.
                if self._error <= _RESIDUAL * self.penalty or self._error > before / 2:
                    self._end()
                    return
        changes = count / max(_WISHED * room, _LEAST * size, 1.0)
        self._since += 1
        if (
            changes > _TOO_MANY
            or self._since > (_ITERATIONS if is_last or self._settles else _ALL)
            or self._count > _ALL
        ):
            self._go_back()
            return
        place = _Place(self.penalty, self.weights, missing, pull, self.sets, wanted)
        if count == 0:
            self._exact, self._settles = place, self._settles and self._failures > _PATIENCE
        elif changes <= 1.0 and not is_last and not self._settles:
            self._near = place
        if not is_last:
            if self._since == 1 and self._ratio < math.inf:
                self._ratio = min(self._ratio ** min(max(1 / max(changes, 0.1), 0.5), _GROWTH), _WIDEST)
            if not (self._settles and count):
                self.penalty, self._since = max(self.penalty / self._ratio, self.last), 0
        self._solve(missing, pull, wanted)

    def _corrected(self, missing: Tensor, pull: Tensor) -> Sets:
        """The sets without what is wrong with them."""
        used = self.sets.used
        stay = self.weights * self.sets.signs > 0
        joining = ~used & (pull.abs() > self.penalty * (1 + _MARGIN))
        signs = torch.where(joining, torch.sign(pull), torch.where(stay, self.sets.signs, 0.0))
        rows = self.problem.targets * missing > 0 if self.problem.hinge else self.sets.rows
        return Sets(signs, rows)

    def _solve(self, missing: Tensor, pull: Tensor, wanted: Sets) -> None:
        size = int(wanted.used.sum()), int(wanted.rows.sum())
        moved = None
        if self._system and size[0] * size[1] <= _NUMBERS:
            moved = self._system.solve(self.weights, self.sets, wanted, missing, pull, self.penalty)
        if moved is None:
            self._go_back()
            return
        self.weights, self.sets = moved, wanted

    def _end(self) -> None:
        self.is_going = False
        self._near = self._exact = self._system = None

    def _go_back(self) -> None:
        """To where sets changed little, to settle them there; or to where they were right, and on in narrower steps, from
        minimum to minimum. The path ends where steps would be too narrow."""
        place, self._near, self._settles = self._near or self._exact, None, True
        self._failures += 1
        self._ratio = _WIDEST if self._ratio == math.inf else self._ratio**0.5
        if place is None or self._ratio < _NARROWEST or self._count > _ALL:
            place = place or self._exact
            if place is None:
                self.penalty, self.weights = self.first, torch.zeros_like(self.weights)
            else:
                self.penalty, self.weights, self.sets = place.penalty, place.weights, place.sets
            self._end()
            return
        self.weights, self.sets, self.penalty, self._since = place.weights, place.sets, place.penalty, 1
        if place is self._exact:
            self.penalty, self._since = max(place.penalty / self._ratio, self.last), 0
        self._solve(place.missing, place.pull, place.wanted)
