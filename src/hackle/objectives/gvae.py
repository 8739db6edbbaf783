"""GVAE (Hosoya 2019) and ML-VAE (Bouchacourt et al. 2018) for pairs of images whose changed factors are known.

For a set S of shared coordinates the posteriors q₁, q₂ of a pair's two images are replaced by one and the same average;
the others keep their own. With variances s,

    GVAE     μ̄ = (μ₁ + μ₂) / 2                          s̄ = (s₁ + s₂) / 2
    ML-VAE   μ̄ = (μ₁/s₁ + μ₂/s₂) / (1/s₁ + 1/s₂)        s̄ = 1 / (1/s₁ + 1/s₂), the normalised product of q₁ and q₂
    loss     ½ Σ_j [reconstruction error of x_j + β · KL(q̃_j ‖ p(z))],       q̃_j the posteriors after averaging

Locatello et al. 2020 call by these names the methods that know S, and so do we: coordinate j is tied to factor j and kept
where that factor was allowed to change; all others are shared, among them those beyond the last factor, as in the
authors' disentanglement_lib, which can do so for one changed factor only. Bouchacourt et al.'s model of groups of any
size with style latents apart is not here.

The product's variance is that of Bouchacourt et al. disentanglement_lib has twice it, which is the product of both
densities raised to ½ (`tempered`). Shared coordinates of a pair get two samples, one for each image.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from hackle.core.types import Losses, Nets, Phase, Run, RunError, Step
from hackle.objectives.paired import (
    PairMethod,
    Posteriors,
    encode_pairs,
    evidence_of_pairs,
    pair_phase,
    pairs_of,
)

Average = Callable[[Posteriors, Posteriors], Posteriors]


def mean_of_moments(first: Posteriors, second: Posteriors) -> Posteriors:
    """GVAE's average: the mean of the means and of the variances."""
    logvars = torch.logaddexp(first.logvars, second.logvars) - math.log(2)
    return Posteriors((first.means + second.means) / 2, logvars)


def product(first: Posteriors, second: Posteriors) -> Posteriors:
    """ML-VAE's average: the normalised product of the densities."""
    # 1/s₁ as a share of 1/s₁ + 1/s₂; written so, neither extreme variances nor their gradients overflow.
    share = torch.sigmoid(second.logvars - first.logvars)
    logvars = -torch.logaddexp(-first.logvars, -second.logvars)
    return Posteriors(share * first.means + (1 - share) * second.means, logvars)


def tempered_product(first: Posteriors, second: Posteriors) -> Posteriors:
    """The normalised product of the densities raised to ½: the mean of the product and twice its variance."""
    means, logvars = product(first, second)
    return Posteriors(means, logvars + math.log(2))


def share(posteriors: Posteriors, shared: Tensor, average: Average) -> Posteriors:
    """The posteriors (2b, l) of pairs with shared coordinates (b, l) replaced by their average."""
    averaged, both = average(*posteriors.halves), shared.repeat(2, 1)
    means, logvars = (torch.where(both, mean.repeat(2, 1), own) for mean, own in zip(averaged, posteriors, strict=True))
    return Posteriors(means, logvars)


def averaged_loss(nets: Nets, step: Step, run: Any, posteriors: Posteriors, images: Tensor, shared: Tensor) -> Losses:
    """The loss once it is known which coordinates (b, l) the images of each pair share."""
    elbo = evidence_of_pairs(nets, step, run, images, share(posteriors, shared, run.method.average()))
    terms = {**elbo.terms, "shared": shared.to(elbo.kl.dtype).mean()}
    return Losses(elbo.reconstruction + run.method.beta * elbo.kl, terms)


def unchanged(step: Step, latents: int) -> Tensor:
    """The coordinates (b, l) whose factor was not allowed to change, and those without a factor."""
    changed = pairs_of(step)[1]
    check_coordinates(changed.shape[1], latents)
    return ~F.pad(changed, (0, latents - changed.shape[1]))


def check_coordinates(factors: int, latents: int) -> None:
    """Refuse to tie coordinates to more factors than there are latents."""
    if factors > latents:
        raise RunError(
            f"latents is {latents}, but {factors} factors of the data set vary, and a coordinate is tied to each; expected "
            f"latents={factors} or more, or a method that finds the shared coordinates itself, such as ada-gvae"
        )


def _loss(nets: Nets, step: Step, run: Any) -> Losses:
    images, posteriors = encode_pairs(nets, step)
    return averaged_loss(nets, step, run, posteriors, images, unchanged(step, run.latents))


@dataclass(frozen=True)
class GVAE(PairMethod):
    """GVAE: pairs of images whose changed factors are known share the mean of their posteriors' moments."""

    name, title, symbol = "gvae", "GVAE", "β"

    beta: float = 4.0
    """Weight of the KL term."""

    def average(self) -> Average:
        """What becomes of the posteriors of a pair where it shares a coordinate."""
        return mean_of_moments

    def check_factors(self, run: Run, count: int) -> None:
        """Refuse more factors than latents: each has a coordinate of its own."""
        check_coordinates(count, run.latents)

    def phases(self, run: Run) -> tuple[Phase, ...]:
        return (pair_phase(_loss, run),)


@dataclass(frozen=True)
class MLVAE(GVAE):
    """ML-VAE: pairs of images whose changed factors are known share the product of their posteriors."""

    name, title = "ml-vae", "ML-VAE"

    tempered: bool = False
    """Double the product's variance, as disentanglement_lib does."""

    def average(self) -> Average:
        return tempered_product if self.tempered else product
