"""β-TCVAE (Chen et al. 2018; Locatello et al. 2019, Table 3): reconstruction error + KL + (β − 1) · TC(z).

The KL of the posterior splits into I(x; z) + TC(z) + Σ_j KL(q(z_j) ‖ p(z_j)), and β-TCVAE weighs the middle part by β. The
KL is analytic; the total correlation alone is estimated from the batch. With a correlated posterior (Yang et al. 2020) the
joint density log q(z|x) has the correlation in it; the marginals do not change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hackle.objectives.aggregate import Estimator, aggregate_densities
from hackle.objectives.vae import Autoencoder, autoencoder_phase, evidence
from hackle.types import Losses, Nets, Phase, Run, Step


def _loss(nets: Nets, step: Step, run: Any) -> Losses:
    found = evidence(nets, step, run)
    densities = aggregate_densities(
        found.z, found.means, found.logvars, run.correlation, step.data_size, run.method.estimator
    )
    total_correlation = densities.total_correlation
    total = found.reconstruction + found.kl + (run.method.beta - 1) * total_correlation
    return Losses(total, {**found.terms, "total_correlation": total_correlation})


@dataclass(frozen=True)
class BetaTCVAE(Autoencoder):
    """β-TCVAE. `beta` weighs the total correlation, 1 being the plain VAE; `estimator` says how a batch gives it."""

    beta: float = 6.0
    """Weight of the total correlation; 1 is the plain VAE."""
    estimator: Estimator = "minibatch-weighted"
    """How q(z) is estimated from a batch."""

    def phases(self, run: Run) -> tuple[Phase, ...]:
        return (autoencoder_phase(_loss, run),)
