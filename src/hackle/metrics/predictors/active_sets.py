"""L1-penalised linear machines of dense codes along the path of penalties, by their active sets.

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
one, by a factor that grows where sets are corrected quickly and shrinks where they are not; there the step is taken again.
H⁻¹ is kept and corrected for the few rows and codes that change (Woodbury's identity and its Schur complements) at k² numbers
for each; residuals are computed from the codes, and H⁻¹ anew where its rounding shows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from hackle.metrics.predictors.penalised import Problem

_WIDEST, _NARROWEST = 2.0, 1.005
"""What λ is divided by from one minimum to the next, at first and at most, and at least: there the path is given up."""
_FEW = 16
"""With so many times as many rows as codes, or more, λ takes its last value at once."""
_ITERATIONS = 15
"""Iterations allowed for one penalty."""
_WISHED, _ALLOWED, _LEAST = 0.4, 0.7, 0.02
"""How many changes a step should bring, and may, as a share of the rows in M beyond the number of weights, which is how far H
is from singular; or as a share of the weights, with the last number in place of the first, where that is more."""
_SETTLED = 0.05, 0.5
"""On the way, sets are good enough once fewer change than these shares of the weights and of the rows in M beyond them."""
_RESIDUAL, _ON_THE_WAY = 1e-12, 1e-3
"""How exactly the system is solved at the last penalty, and on the way, relative to λ."""
_MARGIN = 5e-11
"""How far beyond λ a slope must be, relative to it, for a code to join: more than rounding, less than the gap asked for."""
_POOR = 1e-3
"""The change by one correction, relative to w, that shows that H⁻¹ is poor."""
_MANY = 0.6
"""If more than this share of the weights' number changes, H⁻¹ is computed anew."""
_NUMBERS = 2**25
"""How many numbers the codes of K may be, 256 MB; with more the path is given up."""
Report = Callable[[float], Any]


class _Sets(NamedTuple):
    """Weights that are not zero: places (k,) and signs (k,); rows that cost something, (n,); H⁻¹ (k, k)."""

    places: Tensor
    signs: Tensor
    rows: Tensor
    inverse: Tensor


class _Changes(NamedTuple):
    """Which weights leave, (k,), which codes join, with their signs, and which rows cost something from now on, (n,)."""

    leaving: Tensor
    joining: Tensor
    signs: Tensor
    rows: Tensor


class _Step(NamedTuple):
    """Where a step along the path leads: sets, weights (k,), and how many changes it took, relative to those wished for."""

    sets: _Sets
    weights: Tensor
    changes: float


def follow_active_sets(problem: Problem, last: float, report: Report) -> tuple[Tensor, float]:
    """Weights (c' + 1,) at the minimum of F with the penalty `last`, or with a larger one, where the path was given up, and the
    penalty."""
    path, targets = _Path(problem), problem.targets
    places = torch.zeros(0, dtype=torch.int64, device=targets.device)
    none, rows = targets.new_zeros(0), torch.ones_like(targets, dtype=torch.bool)
    sets, weights = _Sets(places, none, rows, none.new_zeros(0, 0)), none
    first = penalty = float(problem.slope(targets).abs().max())
    few = problem.is_tall or _FEW * problem.codes.shape[1] <= len(targets)
    ratio = math.inf if few else _WIDEST
    while penalty > last and ratio > _NARROWEST and not path.is_full:
        report(math.log(first / penalty) / math.log(first / last))
        ahead = max(penalty / ratio, last)
        settled = path.settle(sets, ahead, ahead == last)
        if settled is None:
            ratio = math.sqrt(min(ratio, penalty / ahead)) if ratio < math.inf else _WIDEST
            # From sets that are exact, the next step may succeed.
            settled = path.settle(sets, penalty, True) if len(sets.places) else None
            sets, weights = (sets, weights) if settled is None else settled[:2]
            continue
        sets, weights, changes = settled
        penalty, ratio = ahead, min(ratio ** min(max(1 / max(changes, 0.1), 0.5), 2.0), _WIDEST)
    whole = targets.new_zeros(problem.codes.shape[1] + 1)
    whole[sets.places] = torch.where(weights * sets.signs > 0, weights, 0.0)
    return whole, penalty


class _Path:
    """The steps of one problem. The codes of K are held, in an order in which few of them are read anew."""

    def __init__(self, problem: Problem) -> None:
        self._problem, self._factor, self.is_full = problem, 2 * problem.cost, False
        self._held = problem.targets.new_empty(0, len(problem.targets))
        self._places = torch.zeros(0, dtype=torch.int64, device=problem.targets.device)

    def _codes(self, places: Tensor) -> Tensor:
        """The codes at these places, (k, n)."""
        size = len(places)
        if size > len(self._held):
            room = self._held.new_empty(size + size // 8 + 64, self._held.shape[1])
            room[: len(self._places)] = self._held[: len(self._places)]
            self._held = room
        both = min(size, len(self._places))
        new = torch.ones_like(places, dtype=torch.bool)
        new[:both] = places[:both] != self._places[:both]
        if len(other := torch.nonzero(new)[:, 0]):
            self._held[other] = self._problem.codes.columns(places[other])
        self._places = places
        return self._held[:size]

    def settle(self, sets: _Sets, penalty: float, last: bool) -> _Step | None:
        """The sets of this penalty, from those of another; None if there are too many changes."""
        share = before = None
        for _ in range(_ITERATIONS):
            solution = self._solve(sets, penalty, _RESIDUAL if last else _ON_THE_WAY)
            if solution is None:
                return None
            sets, weights, outputs = solution
            changes, count = self._corrections(sets, weights, outputs, penalty)
            size, room = len(sets.places), int(sets.rows.sum()) - len(sets.places)
            if share is None:
                wished = max(_WISHED * room, _LEAST * size, 1.0)
                if size and count * _WISHED > _ALLOWED * wished:
                    return None
                share = count / wished
            if count == 0:
                return _Step(sets, weights, share)
            if before is not None and count > max(2 * before + 8, _WISHED * room):
                return None
            before = count
            if (size + len(changes.joining)) * len(changes.rows) > _NUMBERS:
                self.is_full = True
                return None
            changed = self._changed(sets, changes)
            if changed is None:
                return None
            sets = changed
            if not last and count <= min(_SETTLED[0] * size, _SETTLED[1] * room):
                solved = self._solve(sets, penalty, _ON_THE_WAY)
                return solved and _Step(*solved[:2], share)
        return None

    def _solve(self, sets: _Sets, penalty: float, exactness: float) -> tuple[_Sets, Tensor, Tensor] | None:
        """The sets, with a better H⁻¹ where the one at hand is poor, their weights and outputs (n,); None if H is singular."""
        targets, factor = self._problem.targets, self._factor
        if not len(sets.places):
            return sets, sets.signs, torch.zeros_like(targets)
        codes = self._codes(sets.places)
        for fresh in (False, True):
            weights, outputs, change = torch.zeros_like(sets.signs), torch.zeros_like(targets), sets.signs
            for _ in range(6):
                left = factor * (codes @ ((targets - outputs) * sets.rows)) - penalty * sets.signs
                if float(left.abs().max()) <= exactness * penalty:
                    return sets, weights, outputs
                change = sets.inverse @ left
                weights = weights + change
                outputs = weights @ codes
            if (fresh or exactness > _RESIDUAL) and float(change.norm()) <= _POOR * float(weights.norm()):
                return sets, weights, outputs
            if fresh or (inverse := self._inverse(sets)) is None:
                return None
            sets = sets._replace(inverse=inverse)
        return None

    def _inverse(self, sets: _Sets) -> Tensor | None:
        chosen = self._codes(sets.places)[:, sets.rows]
        hessian = self._factor * (chosen @ chosen.T)
        # Duplicate codes make H singular; a larger diagonal keeps the inverse finite, and residuals show what it costs.
        hessian.diagonal().mul_(1 + 1e-10)
        factor, failed = torch.linalg.cholesky_ex(hessian)
        return None if int(failed) else torch.cholesky_inverse(factor)

    def _corrections(self, sets: _Sets, weights: Tensor, outputs: Tensor, penalty: float) -> tuple[_Changes, int]:
        """What is wrong with the sets, and how many changes that makes."""
        problem, missing = self._problem, self._problem.targets - outputs
        slope = problem.slope(torch.where(sets.rows, missing, 0.0))
        leaving = weights * sets.signs <= 0
        outside = slope.abs() > penalty * (1 + _MARGIN)
        outside[sets.places] = False
        joining = torch.nonzero(outside)[:, 0]
        rows = problem.targets * missing > 0 if problem.hinge else sets.rows
        count = int(leaving.sum()) + len(joining) + int((rows != sets.rows).sum())
        return _Changes(leaving, joining, -torch.sign(slope[joining]), rows), count

    def _changed(self, sets: _Sets, changes: _Changes) -> _Sets | None:
        """The sets after these changes, and their H⁻¹; None if H is singular."""
        codes, inverse = self._codes(sets.places), sets.inverse
        stay, gone = (torch.nonzero(chosen)[:, 0] for chosen in (~changes.leaving, changes.leaving))
        flipped = torch.nonzero(changes.rows != sets.rows)[:, 0]
        joining = len(changes.joining)
        order = _slots(stay, len(sets.places), joining)
        changed = _Sets(
            torch.cat([sets.places[stay], changes.joining])[order],
            torch.cat([sets.signs[stay], changes.signs])[order],
            changes.rows,
            inverse,
        )
        if len(flipped) + joining + len(gone) <= _MANY * len(stay):
            new = self._problem.codes.columns(changes.joining)
            inverse = self._corrected(codes, inverse, changes, (stay, gone, flipped), new)
            changed = changed._replace(inverse=inverse[order][:, order] if len(gone) else inverse)
            if math.isfinite(float(inverse.sum())):
                return changed
        fresh = self._inverse(changed)
        return None if fresh is None else changed._replace(inverse=fresh)

    def _corrected(
        self, codes: Tensor, inverse: Tensor, changes: _Changes, places: tuple[Tensor, Tensor, Tensor], new: Tensor
    ) -> Tensor:
        """H⁻¹ of the weights that stay, followed by those that join, from that of `codes`; not finite if H is singular."""
        stay, gone, flipped = places
        if len(flipped):
            across = codes[:, flipped]
            turned = inverse @ across
            small = across.T @ turned
            small.diagonal().add_(torch.where(changes.rows[flipped], 1.0, -1.0) / self._factor)
            inverse = torch.addmm(inverse, turned, _solved(small, turned.T), alpha=-1)
        if len(gone):
            across = inverse[:, gone][stay]
            inverse = inverse[stay][:, stay].addmm_(across, _solved(inverse[gone][:, gone], across.T), alpha=-1)
        if len(new):
            masked = self._factor * new * changes.rows
            across = (codes @ masked.T)[stay]
            turned = inverse @ across
            unit = torch.eye(len(new), dtype=new.dtype, device=new.device)
            corner = _solved((new @ masked.T).addmm_(across.T, turned, alpha=-1), unit)
            side = -turned @ corner
            inverse = torch.addmm(inverse, side, turned.T, alpha=-1)
            inverse = torch.cat([torch.cat([inverse, side], dim=1), torch.cat([side.T, corner], dim=1)])
        return inverse


def _solved(matrix: Tensor, right: Tensor) -> Tensor:
    """matrix⁻¹ right, not finite if the matrix is singular."""
    solution, failed = torch.linalg.solve_ex(matrix, right)
    return torch.where(failed == 0, solution, torch.nan)


def _slots(stay: Tensor, size: int, joining: int) -> Tensor:
    """An order of those of `size` places that stay, counted first, and those that join: most stay where they are."""
    after = len(stay) + joining
    origin = torch.full((max(size, after),), -1, dtype=torch.int64, device=stay.device)
    origin[stay] = torch.arange(len(stay), device=stay.device)
    beyond = origin[after:]
    holes = torch.nonzero(origin[:after] < 0)[:, 0]
    origin[holes] = torch.cat([beyond[beyond >= 0], torch.arange(len(stay), after, device=stay.device)])
    return origin[:after]
