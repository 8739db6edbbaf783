"""Ada-GVAE and Ada-ML-VAE (Locatello et al. 2020): GVAE and ML-VAE that find out which coordinates a pair shares.

With δ_i = KL(q₁ᵢ ‖ q₂ᵢ) between the posteriors of a pair's two images in coordinate i,

    τ = ½ (max_i δ_i + min_i δ_i),        S = {i : δ_i < τ},

for each pair, from the current encoder; S is a constant for gradients. Where the number k of factors that were allowed
to change is known, S is the l − k coordinates with the smallest δ. If all δ are equal, as for identical images, S is empty. The
average over S and the loss are those of GVAE and ML-VAE (`hackle.objectives.gvae`).

δ is not symmetric: the authors' disentanglement_lib takes the first image's posterior first. Dittadi et al. 2021 take
the mean of both directions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from hackle.core.types import Losses, Nets, Phase, Run, Step
from hackle.objectives.gvae import Average, averaged_loss, mean_of_moments, product, tempered_product
from hackle.objectives.paired import PairMethod, Posteriors, encode_pairs, pair_phase, pairs_of

Direction = Literal["forward", "symmetric"]


def divergences(first: Posteriors, second: Posteriors) -> Tensor:
    """KL(q₁ ‖ q₂) of each coordinate, (b, l)."""
    difference = first.logvars - second.logvars
    squares = (second.means - first.means).square() * torch.exp(-second.logvars)
    return 0.5 * (torch.expm1(difference) - difference + squares)


def below_threshold(delta: Tensor) -> Tensor:
    """The coordinates (b, l) with δ below the middle between a pair's largest and smallest."""
    threshold = 0.5 * (delta.amax(1, keepdim=True) + delta.amin(1, keepdim=True))
    return delta < threshold


def all_but_largest(delta: Tensor, kept: Tensor) -> Tensor:
    """The coordinates (b, l) that are not among a pair's `kept` (b,) largest δ; of equal ones the later are larger."""
    ranks = delta.argsort(dim=1, stable=True).argsort(dim=1)
    return ranks < delta.shape[1] - kept[:, None]


def _loss(nets: Nets, step: Step, run: Any) -> Losses:
    images, posteriors = encode_pairs(nets, step)
    with torch.no_grad():
        first, second = posteriors.halves
        delta = divergences(first, second)
        if run.method.direction == "symmetric":
            delta = 0.5 * (delta + divergences(second, first))
        shared = all_but_largest(delta, pairs_of(step)[1].sum(1)) if run.method.known_k else below_threshold(delta)
    return averaged_loss(nets, step, run, posteriors, images, shared)


@dataclass(frozen=True)
class AdaGVAE(PairMethod):
    """Ada-GVAE: pairs of images share the mean of their posteriors' moments where these differ little."""

    name, title, symbol = "ada-gvae", "Ada-GVAE", "β"

    beta: float = 4.0
    """Weight of the KL term."""
    direction: Direction = "forward"
    """Divergence between posteriors: of the first image's from the second's, or the mean of both directions."""
    known_k: bool = False
    """Whether the number of factors that were allowed to change is known, and as many coordinates are kept."""

    def average(self) -> Average:
        return mean_of_moments

    def phases(self, run: Run) -> tuple[Phase, ...]:
        return (pair_phase(_loss, run),)


@dataclass(frozen=True)
class AdaMLVAE(AdaGVAE):
    """Ada-ML-VAE: pairs of images share the product of their posteriors where these differ little."""

    name, title = "ada-ml-vae", "Ada-ML-VAE"

    tempered: bool = False
    """Double the product's variance, as disentanglement_lib does."""

    def average(self) -> Average:
        return tempered_product if self.tempered else product
