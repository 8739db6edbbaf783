"""SlowVAE (Klindt et al. 2021): the partner's latents follow the image's by a Laplace transition with rate λ.

p(z₀) = N(0, I), p(z₁|z₀) = ∏ λ/2 exp(−λ |z₁ᵢ − z₀ᵢ|). With posteriors N(μ_t, σ_t²) and z₀ replaced by its mean in the
transition,

    CE(μ, σ) = −ln(λ/2) + λ [σ √(2/π) exp(−μ²/2σ²) + μ erf(μ/√2σ)],       H(σ) = ½ ln(2πe σ²)
    ideal       Σ_t error_t + β KL(q₀) + γ Σ_i [CE(μ₁ − μ₀, σ₁) − H(σ₁)]
    symmetric   the mean of `ideal` over both orders of the pair
    released    2 error + β KL + γ Σ_i [CE(μ₀ − μ₁, σ₀) + CE(μ₁ − μ₀, σ₁) − H],     error, KL and H means of both images

The authors' code trains `released`, which takes the cross-entropy in both directions but one mean entropy: it has twice
the cross-entropy of `symmetric` and the same entropy. Their β = 1, γ = 10 and λ = 6 belong to it. The loss here is
half of these, so that reconstruction errors are means over images as in every method: γ = 0 is the β-VAE with
weight β/2. A KL warm-up weighs both divergences.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from hackle.core.gaussian import Scalar, kl_per_latent
from hackle.core.regimes import Pairs
from hackle.core.types import Losses, Nets, Phase, Run, RunError, Step
from hackle.objectives.paired import PairMethod, encode_pairs, evidence_of_pairs, pair_phase
from hackle.objectives.vae import warmed


def laplace_cross_entropy(means: Tensor, logvars: Tensor, rate: Scalar) -> Tensor:
    """−E ln Laplace(z; 0, 1/rate) under z ~ N(mean, var), of each entry."""
    deviations = torch.exp(0.5 * logvars)
    standard = means * torch.exp(-0.5 * logvars)
    distance = (
        math.sqrt(2 / math.pi) * deviations * torch.exp(-0.5 * standard.square())
        + means * torch.erf(standard / math.sqrt(2))
    )  # fmt: skip
    return rate * distance - torch.log(torch.as_tensor(rate, dtype=means.dtype, device=means.device) / 2)


def normal_entropy(logvars: Tensor) -> Tensor:
    """½ ln(2πe σ²) of each entry."""
    return 0.5 * (logvars + math.log(2 * math.pi * math.e))


def _loss(nets: Nets, step: Step, run: Any) -> Losses:
    images, posteriors = encode_pairs(nets, step)
    elbo = evidence_of_pairs(nets, step, run, images, posteriors)
    first, second = posteriors.halves
    forward = laplace_cross_entropy(second.means - first.means, second.logvars, run.method.rate)
    kl, entropy = elbo.kl_per_latent, normal_entropy(posteriors.logvars).mean(0)
    if run.method.transition == "ideal":
        kl, entropy = kl_per_latent(*first).mean(0), normal_entropy(second.logvars).mean(0)
        cross_entropy = forward.mean(0)
    else:
        backward = laplace_cross_entropy(first.means - second.means, first.logvars, run.method.rate)
        cross_entropy = (forward + backward).mean(0)
        if run.method.transition == "symmetric":
            cross_entropy = 0.5 * cross_entropy
    transition = (cross_entropy - entropy).sum()
    divergence = run.method.beta * kl.sum() + run.method.gamma * transition
    total = elbo.reconstruction + 0.5 * warmed(divergence, step)
    return Losses(total, {**elbo.terms, "transition": transition})


@dataclass(frozen=True)
class SlowVAE(PairMethod):
    """SlowVAE. `gamma` weighs the transition from an image's latents to its partner's, `beta` the KL to the prior."""

    name, title, symbol = "slow-vae", "SlowVAE", "γ"
    swept: ClassVar = {"gamma": 1.0}
    # The paper's batches of 64 images are 32 pairs.
    run_fields: ClassVar = {"pairs": Pairs("laplace"), "batch_size": 32}

    beta: float = 1.0
    """Weight of the KL to the prior."""
    gamma: float = 10.0
    """Weight of the divergence from the Laplace transition."""
    rate: float = 6.0
    """Rate λ of the Laplace transition, one over its scale."""
    transition: Literal["released", "symmetric", "ideal"] = "released"
    """The transition's divergence: that of the authors' code, the mean of both directions, or forward alone."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rate == 0:
            raise RunError("rate of SlowVAE is 0; expected the positive rate of a Laplace distribution, such as 6")

    def phases(self, run: Run) -> tuple[Phase, ...]:
        return (pair_phase(_loss, run),)
