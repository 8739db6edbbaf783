"""FactorVAE (Kim & Mnih 2018, Eq. 2 and 3, algorithms 1 and 2), and the same against the prior (Eq. 12).

Reconstruction error + KL + γ · TC(z), with the total correlation TC(z) = KL(q(z) ‖ ∏ q(z_j)) estimated by a discriminator.
As in algorithm 2, the discriminator is trained after the autoencoder's update, on the z of that update and on a second,
independent batch, encoded by the updated encoder and permuted along the batch, independently for each latent.

Against the prior it is γ · KL(q(z) ‖ p(z)), with samples of N(0, I) instead of permuted codes. The paper gives no γ for it; the
default is FactorVAE's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from hackle.core.types import Draw, Losses, Nets, Phase, Run, Step
from hackle.kernels import posterior_sample
from hackle.objectives.density_ratio import (
    DensityRatioMethod,
    discriminate,
    discriminator_phase,
    log_density_ratio,
    prior_phases,
)
from hackle.objectives.vae import autoencoder_phase, evidence, posterior_noise


def permute_latents(z: Tensor, permutations: Tensor) -> Tensor:
    """Algorithm 1: shuffle each column of z (b, l) by its own permutation (b, l) of the batch."""
    return z.gather(0, permutations)


def _autoencoder_loss(nets: Nets, step: Step, run: Any) -> Losses:
    elbo = evidence(nets, step, run)
    divergence = log_density_ratio(nets("discriminator", elbo.z)).mean()
    total = elbo.reconstruction + elbo.kl + run.method.gamma * divergence
    return Losses(total, {**elbo.terms, run.method.divergence: divergence}, {"z": elbo.z.detach()})


def _discriminator_loss(nets: Nets, step: Step, run: Any) -> Losses:
    with torch.no_grad():
        means, logvars = nets("encoder", step.images)
        second, _ = posterior_sample(means, logvars, step.noise["z"], run.correlation)
    shuffled = permute_latents(second, step.noise["permutations"])
    return discriminate(nets, step.carry["z"], shuffled)


@dataclass(frozen=True)
class FactorVAE(DensityRatioMethod):
    """FactorVAE. `gamma` weighs the total correlation; 0 is the plain VAE."""

    name, title = "factor-vae", "FactorVAE"
    divergence: ClassVar = "total_correlation"

    gamma: float = 35.0
    """Weight of the total correlation; 0 is the plain VAE."""

    def phases(self, run: Run) -> tuple[Phase, ...]:
        draws = {**posterior_noise(run), "permutations": Draw("permutations", (run.batch_size, run.latents))}
        return (
            autoencoder_phase(_autoencoder_loss, run),
            discriminator_phase(_discriminator_loss, draws, needs_images=True),
        )


@dataclass(frozen=True)
class FactorVAEPrior(FactorVAE):
    """FactorVAE against the prior. `gamma` weighs KL(q(z) ‖ p(z)); 0 is the plain VAE."""

    name, title = "factor-vae-prior", "FactorVAE, Eq. 12"
    divergence: ClassVar = "aggregate_kl"

    gamma: float = 35.0
    """Weight of KL(q(z) ‖ p(z)); 0 is the plain VAE."""

    def phases(self, run: Run) -> tuple[Phase, ...]:
        return prior_phases(_autoencoder_loss, run)
