"""Adversarial autoencoder (Makhzani et al. 2015; Kim & Mnih 2018, Eq. 7; Do & Tran 2020, A.1).

Reconstruction error + γ · KL(q(z) ‖ p(z)), the divergence by the density-ratio trick: the VAE's loss without the mutual
information I(x; z), so not a bound on the likelihood. γ = 1 is Eq. 7 as written; Kim & Mnih tune it, Do & Tran take 50.
Do & Tran's encoder is deterministic (H(z|x) = 0): with `deterministic`, z is the mean, and the reported logvars stand
for no noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from hackle.core.gaussian import NOISELESS, reparameterise
from hackle.core.types import Losses, Nets, Phase, Run, Step
from hackle.objectives.density_ratio import DensityRatioMethod, log_density_ratio, prior_phases
from hackle.objectives.vae import negative_log_likelihood


def _loss(nets: Nets, step: Step, run: Any) -> Losses:
    z, logvars = nets("encoder", step.images)
    if not run.method.deterministic:
        z = reparameterise(z, logvars, step.noise["z"], run.correlation)
    reconstruction = negative_log_likelihood(nets("decoder", z), step.images, run.likelihood).mean()
    divergence = log_density_ratio(nets("discriminator", z)).mean()
    terms = {"reconstruction": reconstruction, "aggregate_kl": divergence}
    return Losses(reconstruction + run.method.gamma * divergence, terms, {"z": z.detach()})


@dataclass(frozen=True)
class AdversarialAutoencoder(DensityRatioMethod):
    """Adversarial autoencoder. `gamma` weighs KL(q(z) ‖ p(z)); `deterministic` leaves out the encoder's noise."""

    name, title = "adversarial-autoencoder", "AAE"
    # Its divergence is that of the aggregate posterior, which the discriminator must learn first.
    warms_up = False

    deterministic: bool = False
    """Encode without noise: only the means are used."""

    def phases(self, run: Run) -> tuple[Phase, ...]:
        return prior_phases(_loss, run)

    def encode(self, nets: Nets, run: Run, images: Tensor) -> tuple[Tensor, Tensor]:
        means, logvars = nets("encoder", images)
        return means, torch.full_like(logvars, NOISELESS) if self.deterministic else logvars
