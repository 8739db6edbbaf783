"""Divergences of the aggregate posterior by the density-ratio trick (Kim & Mnih 2018, Eq. 3).

A discriminator D learns to tell samples of q(z) from samples of a reference, ∏ q(z_j) or the prior. Then
KL(q(z) ‖ reference) ≈ E_q(z)[log D(z) − log(1 − D(z))], which the autoencoder can minimise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from hackle.core.errors import HackleError
from hackle.core.types import Adam, Draw, Losses, Nets, Phase, Run, Step
from hackle.nets.discriminator import latent_discriminator
from hackle.objectives.vae import WeightedAutoencoder, autoencoder_phase


def log_density_ratio(logits: Tensor) -> Tensor:
    """log D − log(1 − D) of each sample, (b,): its one logit, or the difference of its two."""
    return logits[..., 0] if logits.shape[-1] == 1 else logits[..., 0] - logits[..., 1]


def discriminate(nets: Nets, of_posterior: Tensor, of_reference: Tensor) -> Losses:
    """The cross-entropy, halved as in algorithm 2, of a discriminator on samples of q(z) and of the reference."""
    ratios = log_density_ratio(nets("discriminator", torch.cat([of_posterior, of_reference])))
    real, fake = ratios.chunk(2)
    loss = 0.5 * (F.softplus(-real).mean() + F.softplus(fake).mean())
    accuracy = 0.5 * ((real > 0).to(real.dtype).mean() + (fake < 0).to(fake.dtype).mean())
    return Losses(loss, {"discriminator": loss, "discriminator_accuracy": accuracy})


def prior_draws(run: Run) -> dict[str, Draw]:
    """Samples of the prior N(0, I), one for each image of a batch."""
    return {"prior": Draw("normal", (run.batch_size, run.latents))}


def discriminator_phase(
    loss: Callable[[Nets, Step, Any], Losses], draws: dict[str, Draw], *, needs_images: bool
) -> Phase:
    """The phase that trains the discriminator, after the autoencoder's."""
    return Phase(
        "discriminator",
        ("discriminator",),
        loss,
        draws,
        lambda run: run.method.discriminator_optimiser,
        needs_images=needs_images,
    )


def _discriminate_from_prior(nets: Nets, step: Step, run: Any) -> Losses:
    return discriminate(nets, step.carry["z"], step.noise["prior"])


def prior_phases(loss: Callable[[Nets, Step, Any], Losses], run: Run) -> tuple[Phase, Phase]:
    """The phases of a method whose reference is the prior: the autoencoder's, with this loss, then the discriminator's on
    the z that it used and on fresh draws."""
    discriminator = discriminator_phase(_discriminate_from_prior, prior_draws(run), needs_images=False)
    return autoencoder_phase(loss, run), discriminator


@dataclass(frozen=True)
class DensityRatioMethod(WeightedAutoencoder):
    """An autoencoder with a discriminator on its latents.

    `gamma` weighs the divergence. The discriminator has `discriminator_layers` hidden layers of `discriminator_width`
    units, 1 or 2 `discriminator_logits` and an optimiser of its own.
    """

    symbol = "γ"
    least: ClassVar = {"discriminator_layers": 1, "discriminator_width": 1}

    gamma: float = 1.0
    """Weight of the divergence that the discriminator estimates."""
    discriminator_layers: int = 6
    """Hidden layers of the discriminator."""
    discriminator_width: int = 1000
    """Units in each of them."""
    discriminator_logits: int = 2
    """Outputs of the discriminator: two logits, or one."""
    discriminator_optimiser: Adam = Adam(learning_rate=1e-4, beta1=0.5, beta2=0.9)
    """The discriminator's own Adam."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.discriminator_logits not in (1, 2):
            raise HackleError(f"discriminator_logits is {self.discriminator_logits}; expected 1 or 2")

    def networks(self, run: Run, shape: tuple[int, int, int]) -> dict[str, nn.Module]:
        # The autoencoder first, so that a seed gives every method the same initial encoder and decoder.
        return {
            **super().networks(run, shape),
            "discriminator": latent_discriminator(
                run.latents, self.discriminator_layers, self.discriminator_width, self.discriminator_logits
            ),
        }
