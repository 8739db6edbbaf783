"""β-VAE (Higgins et al. 2017; Kim & Mnih 2018, section 2): reconstruction error + β · KL(q(z|x) ‖ p(z))."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hackle.core.types import Losses, Phase, Run, Step
from hackle.objectives.vae import Evidence, WeightedAutoencoder, evidence_phase


def _loss(elbo: Evidence, step: Step, run: Any) -> Losses:
    return Losses(elbo.reconstruction + run.method.beta * elbo.kl, elbo.terms)


@dataclass(frozen=True)
class BetaVAE(WeightedAutoencoder):
    """β-VAE. `beta` weighs the KL term; 1 is the plain VAE."""

    name, title, symbol = "beta-vae", "β-VAE", "β"

    beta: float = 4.0
    """Weight of the KL term; 1 is the plain VAE."""

    def phases(self, run: Run) -> tuple[Phase, ...]:
        return (evidence_phase(_loss, run),)
