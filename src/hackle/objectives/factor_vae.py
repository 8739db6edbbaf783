"""FactorVAE (Kim & Mnih 2018, Eq. 2 and 3, algorithms 1 and 2).

Reconstruction error + KL + γ · TC(z), with the total correlation estimated as E_q(z)[log D(z) − log(1 − D(z))] by a
discriminator D that tells samples of q(z) from samples of ∏ q(z_j). As in algorithm 2 the discriminator learns after the
autoencoder's update, from the z that update used and from a second, independent batch encoded by the updated encoder and
permuted along the batch, each latent by a permutation of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from hackle.gaussian import reparameterise
from hackle.nets.discriminator import latent_discriminator
from hackle.objectives.vae import autoencoder, autoencoder_phase, evidence, posterior_noise
from hackle.types import Adam, Draw, Losses, Nets, Phase, Run, Step


def permute_latents(z: Tensor, permutations: Tensor) -> Tensor:
    """Algorithm 1: shuffle each column of z (b, l) by its own permutation (b, l) of the batch."""
    return z.gather(0, permutations)


def log_density_ratio(logits: Tensor) -> Tensor:
    """log D − log(1 − D) from the discriminator's two logits; the softmax's normaliser cancels."""
    return logits[..., 0] - logits[..., 1]


def discrimination(real: Tensor, fake: Tensor) -> dict[str, Tensor]:
    """The cross-entropy that a two-logit discriminator minimises, its accuracy and its estimate of the divergence."""
    ratio, shuffled = log_density_ratio(real), log_density_ratio(fake)
    loss = 0.5 * (F.softplus(-ratio).mean() + F.softplus(shuffled).mean())
    accuracy = 0.5 * ((ratio > 0).to(ratio.dtype).mean() + (shuffled < 0).to(ratio.dtype).mean())
    return {"discriminator": loss, "discriminator_accuracy": accuracy}


def _autoencoder_loss(nets: Nets, step: Step, run: Any) -> Losses:
    found = evidence(nets, step, run)
    total_correlation = log_density_ratio(nets("discriminator", found.z)).mean()
    total = found.reconstruction + found.kl + run.method.gamma * total_correlation
    return Losses(total, {**found.terms, "total_correlation": total_correlation}, {"z": found.z.detach()})


def _discriminator_loss(nets: Nets, step: Step, run: Any) -> Losses:
    with torch.no_grad():
        means, logvars = nets("encoder", step.images)
        second = reparameterise(means, logvars, step.noise["z"], run.correlation)
    shuffled = permute_latents(second, step.noise["permutations"])
    found = discrimination(nets("discriminator", step.carry["z"]), nets("discriminator", shuffled))
    return Losses(found["discriminator"], found)


@dataclass(frozen=True)
class FactorVAE:
    """FactorVAE. `gamma` weighs the total correlation; the discriminator has its own optimiser."""

    gamma: float = 35.0
    discriminator_layers: int = 6
    discriminator_width: int = 1000
    discriminator_optimiser: Adam = Adam(learning_rate=1e-4, beta1=0.5, beta2=0.9)

    def networks(self, run: Run, shape: tuple[int, int, int]) -> dict[str, nn.Module]:
        discriminator = latent_discriminator(run.latents, self.discriminator_layers, self.discriminator_width)
        return {**autoencoder(run, shape), "discriminator": discriminator}

    def phases(self, run: Run) -> tuple[Phase, ...]:
        draws = {**posterior_noise(run), "permutations": Draw("permutations", (run.batch_size, run.latents))}
        learn = Phase(
            "discriminator",
            ("discriminator",),
            _discriminator_loss,
            draws,
            lambda run: run.method.discriminator_optimiser,
        )
        return (autoencoder_phase(_autoencoder_loss, run), learn)
