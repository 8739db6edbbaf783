"""The linear systems of active sets that change little: one that is kept with its inverse, bordered by the changes since.

The system of the sets K and M (`predictors.active_sets`) has the matrix H = 2 C X_KM X_KMᵀ. Let K₀ and M₀ be earlier sets,
whose H₀⁻¹ is kept. A code that has joined K since has a row and a column of H more. A row that has joined or left M adds
±2 C x xᵀ; v = ±2 C xᵀ δ is an unknown with an equation of its own. A weight that has left K is held at zero by a force v, with
the equation that says so. So the step δ of the weights of K₀ solves, with a column of B and an unknown for each change,

    | H₀  B | | δ |   | r₀ |
    | Bᵀ  D | | v | = | r  |,        (D − Bᵀ H₀⁻¹ B) v = r − Bᵀ H₀⁻¹ r₀,        δ = H₀⁻¹ r₀ − H₀⁻¹ B v,

where r₀ and r are what pulls at the weights beyond the penalty. H₀⁻¹ B and D − Bᵀ H₀⁻¹ B are kept as well, so that a change
costs k² operations when it first comes, and no table of k² numbers is written until the border is too wide and a newer system
takes the place of the kept one. The tables are in float32: an error of the step shows in the slopes that follow, which are
computed in float64, and the next step mends it.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from hackle.metrics.predictors.standardised import StandardisedCodes

_KIND = torch.float32
_WIDE = 0.4, 32
"""The border may have so many columns, as a share of the weights', and in any case so many."""
_SUDDEN = 0.25
"""Sets that differ from the last ones by more than this share of the weights have a system of their own at once."""
_DIAGONAL = 1e-6, 1e-5, 1e-4
"""By what share the diagonal is larger, so that duplicate codes, which make H singular, leave the inverse finite."""
_BLOCK = 128
"""How many columns of H are computed at once: what is above them is not, since Cholesky's method reads the lower triangle."""


class Sets(NamedTuple):
    """Signs of the weights, 0 of those that are zero, (c' + 1,), and which rows cost something, (n,)."""

    signs: Tensor
    rows: Tensor

    @property
    def used(self) -> Tensor:
        return self.signs != 0

    def differences(self, others: Sets) -> int:
        """How many weights and rows are in one of two and not in the other."""
        return int((self.used != others.used).sum() + (self.rows != others.rows).sum())


class Bordered:
    """The systems of one machine, one after another; `factor` is 2 C."""

    def __init__(self, codes: StandardisedCodes, factor: float) -> None:
        self._codes, self._factor = codes, factor
        self._kept: _Kept | None = None

    def solve(
        self, weights: Tensor, before: Sets, wanted: Sets, missing: Tensor, pull: Tensor, penalty: float
    ) -> Tensor | None:
        """Weights (c' + 1,) that solve the system of the wanted sets; None if it is singular.

        weights: those of the sets before, with what is `missing` to the targets, (n,), and the `pull` of the rows before.
        """
        kept = self._near(before, wanted)
        if kept is None:
            return None
        used = wanted.used
        both = torch.cat([kept.places, joined := torch.nonzero((used | (weights != 0)) & ~kept.sets.used)[:, 0]])
        right = pull[both] - penalty * wanted.signs[both]
        turned = torch.nonzero(wanted.rows != before.rows)[:, 0]
        pulled = torch.where(wanted.rows[turned], self._factor, -self._factor) * missing[turned]
        right += self._codes.entries(both, turned) @ pulled
        # A force takes up any pull on the weight that it holds; without it fewer digits are lost.
        right = torch.where(used[both], right, 0.0)
        size, gone = len(kept.places), torch.nonzero(~used[kept.places])[:, 0]
        flipped = torch.nonzero(wanted.rows != kept.sets.rows)[:, 0]
        columns = kept.columns(joined, flipped, gone)
        across, corner = kept.solved[columns], kept.corner[columns][:, columns]
        known = torch.cat([right[size:], right.new_zeros(len(flipped)), -weights[kept.places[gone]]])
        first = right[:size].to(_KIND)
        known -= (across @ first).to(known)
        # Of codes that have joined and left since, the step is known.
        leaving = torch.zeros_like(known, dtype=torch.bool)
        leaving[: len(joined)] = ~used[joined]
        given = torch.zeros_like(known)
        given[: len(joined)] = torch.where(used[joined], 0.0, -weights[joined])
        known = torch.where(leaving, given, known - corner @ given)
        corner = torch.where(leaving[:, None] | leaving, torch.diag(leaving.to(corner)), corner)
        unknown, failed = torch.linalg.solve_ex(corner, known)
        moved = weights.clone()
        moved[kept.places] += (kept.times_inverse(first[:, None])[:, 0] - across.T @ unknown.to(_KIND)).to(moved)
        moved[joined] += unknown[: len(joined)]
        moved = torch.where(used, moved, 0.0)
        return moved if not int(failed) and bool(torch.isfinite(moved).all()) else None

    def _near(self, before: Sets, wanted: Sets) -> _Kept | None:
        """A system that is near enough; None if it is singular."""
        size, kept = int(before.used.sum()), self._kept
        changes = before.differences(wanted)
        if kept is not None:
            # After a path has gone back, the kept sets may be far from the last ones.
            width = max(kept.width, kept.sets.differences(before)) + changes
            if width <= max(_WIDE[0] * size, _WIDE[1]):
                return kept
        sudden = changes > _SUDDEN * size
        self._kept = None
        self._kept = _set_up(self._codes, self._factor, wanted if sudden else before)
        return self._kept


def _set_up(codes: StandardisedCodes, factor: float, sets: Sets) -> _Kept | None:
    places, gram = torch.nonzero(sets.used)[:, 0], codes.gram
    gram = gram if gram is not None and 2 * int(sets.rows.sum()) > len(sets.rows) else None
    rows = torch.nonzero(sets.rows if gram is None else ~sets.rows)[:, 0]
    chosen = codes.entries(places, rows).to(_KIND)
    hessian = chosen.new_empty(len(places), len(places))
    for start in range(0, len(places), _BLOCK):
        torch.mm(chosen[start:], chosen[start : start + _BLOCK].T, out=hessian[start:, start : start + _BLOCK])
    if gram is not None:
        hessian = torch.sub(gram[places[:, None], places], hessian, out=hessian)
    hessian.mul_(factor)
    for share in _DIAGONAL:
        hessian.diagonal().mul_(1 + share)
        lower, failed = torch.linalg.cholesky_ex(hessian)
        if not int(failed):
            return _Kept(codes, factor, sets, _Inner(places, rows, chosen, gram), lower, share)
    return None


class _Inner(NamedTuple):
    """Codes (k, m) of these places and of rows over which inner products are taken; or, with those over all rows, of the
    other rows, where these are fewer."""

    places: Tensor
    rows: Tensor
    codes: Tensor
    gram: Tensor | None

    def products(self, places: Tensor, codes: Tensor) -> Tensor:
        """Of other codes with these."""
        products = codes @ self.codes.T
        return products if self.gram is None else self.gram[places[:, None], self.places] - products

    def with_more(self, places: Tensor, codes: Tensor) -> _Inner:
        return self._replace(places=torch.cat([self.places, places]), codes=torch.cat([self.codes, codes]))


class _Kept:
    """The system of some sets: places of its weights, (k,), Cholesky's factor of H₀, (k, k), and, of every change since,
    H₀⁻¹ B, (changes, k), and D − Bᵀ H₀⁻¹ B."""

    def __init__(
        self, codes: StandardisedCodes, factor: float, sets: Sets, inner: _Inner, lower: Tensor, share: float
    ) -> None:
        self._share = share
        self.sets, self._lower = sets, lower
        self.places, self._inner, self._new = (
            inner.places,
            inner,
            inner._replace(places=inner.places[:0], codes=inner.codes[:0]),
        )
        self._codes, self._factor = codes, factor
        self.solved, self.corner = lower.new_empty(0, len(lower)), sets.signs.new_empty(0, 0)
        # The column of each code that has joined, each row that has changed and each weight that has left; −1 if none.
        self._column = torch.full((len(sets.signs) + len(sets.rows) + len(lower),), -1, device=lower.device)
        none = self.places[:0]
        self._flipped, self._of_joined, self._of_flipped = none, none, none

    @property
    def width(self) -> int:
        return len(self.solved)

    def times_inverse(self, right: Tensor) -> Tensor:
        """H₀⁻¹ times a table (k, ·)."""
        return torch.cholesky_solve(right, self._lower)

    def columns(self, joined: Tensor, flipped: Tensor, gone: Tensor) -> Tensor:
        """The columns of these codes, rows and weights (counted among those of the system), which are added where missing."""
        ends = len(self.sets.signs), len(self.sets.signs) + len(self.sets.rows)
        named = torch.cat([joined, flipped + ends[0], gone + ends[1]])
        new = [of[self._column[of + start] < 0] for of, start in zip((joined, flipped, gone), (0, *ends), strict=True)]
        if sum(map(len, new)):
            added = torch.cat([of + start for of, start in zip(new, (0, *ends), strict=True)])
            self._column[added] = torch.arange(self.width, self.width + len(added), device=added.device)
            self._add(*new)
        return self._column[named]

    def _add(self, joined: Tensor, flipped: Tensor, gone: Tensor) -> None:
        old, size = self.width, len(joined)
        first, second = old + size, old + size + len(flipped)
        width = second + len(gone)
        codes = self._codes.entries(joined, self._inner.rows).to(_KIND)
        border = torch.cat(
            [self._factor * self._inner.products(joined, codes), self._codes.entries(self.places, flipped).T.to(_KIND)]
        )
        held = torch.zeros(len(gone), len(self.places), dtype=_KIND, device=gone.device)
        held[torch.arange(len(gone), device=gone.device), gone] = 1.0
        solved = self.times_inverse(torch.cat([border, held]).T).T
        self.solved = torch.cat([self.solved, solved])
        corner = self.corner.new_zeros(width, width)
        corner[:old, :old] = self.corner
        at = torch.arange(old, width, device=joined.device)
        self._new, self._flipped = self._new.with_more(joined, codes), torch.cat([self._flipped, flipped])
        self._of_joined = torch.cat([self._of_joined, at[:size]])
        self._of_flipped = torch.cat([self._of_flipped, at[size : second - old]])
        # Bᵀ H₀⁻¹ B, of which the rows of weights that have left are rows of H₀⁻¹ B.
        corner[old:second] = -(border @ self.solved.T).to(corner)
        corner[second:] = -self.solved[:, gone].T.to(corner)
        own = self._factor * self._new.products(joined, codes)
        own[:, -size:].diagonal().mul_(1 + self._share)
        corner[old:first, self._of_joined] += own.to(corner)
        corner[old:first, self._of_flipped] += self._codes.entries(joined, self._flipped)
        corner[first:second, self._of_joined] += self._codes.entries(self._new.places, flipped).T
        corner[at[size : second - old], at[size : second - old]] += torch.where(
            self.sets.rows[flipped], 1 / self._factor, -1 / self._factor
        )
        corner[:old, old:] = corner[old:, :old].T
        self.corner = corner
