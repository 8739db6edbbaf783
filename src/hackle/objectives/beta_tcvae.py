"""β-TCVAE (Chen et al. 2018; Locatello et al. 2019, Table 3): reconstruction error + KL + (β − 1) · TC(z).

The KL of the posterior splits into I(x; z) + TC(z) + Σ_j KL(q(z_j) ‖ p(z_j)), and β-TCVAE weighs the middle term by β.
The KL is analytic; only the total correlation is estimated from the batch. With a correlated posterior the joint
density log q(z|x) includes the correlation; the marginals do not change. Yang et al. 2020 (appendix B) change only the
noise: their densities are those of the factorised posterior, which is a different objective if the noise is correlated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from hackle.core.types import Losses, Phase, Run, Step
from hackle.objectives.aggregate import Estimator, aggregate_densities
from hackle.objectives.vae import Evidence, WeightedAutoencoder, evidence_phase


def _loss(elbo: Evidence, step: Step, run: Any) -> Losses:
    correlation = 0.0 if run.method.density == "factorised" else run.correlation
    densities = aggregate_densities(elbo.z, elbo.means, elbo.logvars, correlation, step.data_size, run.method.estimator)
    total_correlation = densities.total_correlation
    total = elbo.reconstruction + elbo.kl + (run.method.beta - 1) * total_correlation
    return Losses(total, {**elbo.terms, "total_correlation": total_correlation})


@dataclass(frozen=True)
class BetaTCVAE(WeightedAutoencoder):
    """β-TCVAE. `beta` weighs the total correlation, 1 being the plain VAE; `estimator` says how it is estimated."""

    name, title, symbol = "beta-tcvae", "β-TCVAE", "β"

    beta: float = 6.0
    """Weight of the total correlation; 1 is the plain VAE."""
    estimator: Estimator = "minibatch-weighted"
    """How q(z) is estimated from a batch."""
    density: Literal["posterior", "factorised"] = "posterior"
    """Density of correlated posteriors in that estimate: their own, or as if they were factorised."""

    def phases(self, run: Run) -> tuple[Phase, ...]:
        return (evidence_phase(_loss, run),)
