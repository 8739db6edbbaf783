"""HFS, Hausdorff factorised support (Roth et al. 2023): reconstruction error + β · KL(q(z|x) ‖ p(z)) + γ Σ_(i,j) h_ij.

The support of z, not its density, is to be a product of intervals, so latents may be correlated. For two latents,
recombinations of the batch's means, one latent of image a and the other of image b, must have a neighbour among the
means: h_ij = max_{a,b} min_n [(μ_ai − μ_ni)² + (μ_bj − μ_nj)²], the squared Hausdorff distance (one side is enough, as
each mean is a recombination). The sum runs over `pairs` of latents, drawn anew in each step without replacement. All
of it as in the authors' code with its settings `hausdorff_hard` and `full`; its term for the scale of z, whose weight
is 0 there, is left out: with β = 0 the decoder alone keeps the scale.

The gradient reaches the three points of each pair at which maximum and minimum are attained. They are found without a
graph, one pair of latents and at most 64³ distances at a time, and only their distance is differentiated: the exact
(sub)gradient, without b³ distances for each pair in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from hackle.core.types import Draw, Losses, Phase, Run, RunError, Step
from hackle.objectives.vae import Evidence, WeightedAutoencoder, evidence_phase

_AT_ONCE = 64**3
"""Distances of one model in memory at a time: those of one pair of latents in a batch of 64, 1 MiB."""


def _farthest(first: Tensor, second: Tensor) -> Tensor:
    """(a, b, n): the recombination farthest from its nearest point, and that point, for the squared distances (b, b) of
    the points in each of two coordinates."""
    size = len(first)
    rows = max(1, _AT_ONCE // size**2)
    nearest = [(first[at : at + rows, None, :] + second).amin(-1) for at in range(0, size, rows)]
    at = torch.cat(nearest).argmax().unsqueeze(0)
    a, b = at // size, at % size
    return torch.cat([a, b, (first.index_select(0, a) + second.index_select(0, b)).argmin(1)])


def hausdorff_distances(means: Tensor, pairs: Tensor) -> Tensor:
    """h_ij of each of p pairs of latents (p, 2), for means (b, l): (p,).

    >>> ends = torch.tensor([[0.0, 0.0], [1.0, 1.0]])
    >>> hausdorff_distances(ends, torch.tensor([[0, 1]]))
    tensor([1.])
    """
    first, second = means.T.index_select(0, pairs[:, 0]), means.T.index_select(0, pairs[:, 1])
    with torch.no_grad():
        squares = [(of.unsqueeze(2) - of.unsqueeze(1)).square() for of in (first, second)]
        a, b, n = torch.stack([_farthest(*both) for both in zip(*squares, strict=True)]).unsqueeze(1).unbind(2)
    return (
        (first.gather(1, a) - first.gather(1, n)).square() + (second.gather(1, b) - second.gather(1, n)).square()
    ).squeeze(1)


def _loss(elbo: Evidence, step: Step, run: Any) -> Losses:
    every = torch.triu_indices(run.latents, run.latents, 1, device=elbo.means.device).T
    pairs = every[step.noise["pairs"][: run.method.pairs, 0]]
    distance = hausdorff_distances(elbo.means, pairs).sum()
    total = elbo.reconstruction + run.method.beta * elbo.kl + run.method.gamma * distance
    return Losses(total, {**elbo.terms, "hausdorff": distance})


@dataclass(frozen=True)
class HFS(WeightedAutoencoder):
    """HFS. `gamma` weighs the Hausdorff distances of `pairs` pairs of latents, `beta` the KL; γ = 0 is β-VAE."""

    name, title, symbol = "hfs", "HFS", "γ"
    least: ClassVar = {"pairs": 1}

    # The authors' code has no default of its own: its sweeps run γ from 0.1 to 10,000 and β from 0 to 16.
    gamma: float = 100.0
    """Weight of the sum of squared Hausdorff distances; 0 is β-VAE."""
    beta: float = 1.0
    """Weight of the KL term; 0 leaves it out."""
    pairs: int = 25
    """Pairs of latents compared in each step; all, where there are fewer."""

    def phases(self, run: Run) -> tuple[Phase, ...]:
        if run.latents < 2:
            raise RunError(f"latents is {run.latents}; HFS compares pairs of latents: expected 2 or more")
        every = Draw("permutations", (run.latents * (run.latents - 1) // 2, 1))
        return (evidence_phase(_loss, run, {"pairs": every}),)
