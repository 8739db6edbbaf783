"""FactorVAE against the prior (Kim & Mnih 2018, Eq. 12): reconstruction error + KL + γ · KL(q(z) ‖ p(z)).

FactorVAE with samples of the prior N(0, I) instead of permuted codes. The paper gives no γ; the default is FactorVAE's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hackle.core.types import Losses, Nets, Phase, Run, Step
from hackle.objectives.density_ratio import DensityRatioMethod, log_density_ratio, prior_phases
from hackle.objectives.vae import evidence


def _loss(nets: Nets, step: Step, run: Any) -> Losses:
    found = evidence(nets, step, run)
    divergence = log_density_ratio(nets("discriminator", found.z)).mean()
    total = found.reconstruction + found.kl + run.method.gamma * divergence
    return Losses(total, {**found.terms, "aggregate_kl": divergence}, {"z": found.z.detach()})


@dataclass(frozen=True)
class FactorVAEPrior(DensityRatioMethod):
    """FactorVAE against the prior. `gamma` weighs KL(q(z) ‖ p(z)); 0 is the plain VAE."""

    name, title = "factor-vae-prior", "FactorVAE, Eq. 12"

    gamma: float = 35.0
    """Weight of KL(q(z) ‖ p(z)); 0 is the plain VAE."""

    def phases(self, run: Run) -> tuple[Phase, ...]:
        return prior_phases(_loss, run)
