"""Information Dropout (Achille & Soatto 2018; Kim & Mnih 2018, Eq. 8): reconstruction error + β · KL(q(z|x) ‖ q(z)).

With γ · TC(z) added it is the objective that Achille & Soatto dismiss as intractable (Kim & Mnih, Eq. 9): FactorVAE's with
q(z) in place of the prior. Both terms are estimated from the same densities.

The mean of that KL over the data is the mutual information I(x; z). Neither paper says how to compute q(z); here it is
estimated from the batch, by default stratified: this estimate of I(x; z) can reach ln N, with N the size of the data
set, whereas the minibatch-weighted one saturates at ln b, and its gradient vanishes. Nothing ties the scale of z to a
prior.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hackle.core.types import Losses, Phase, Run, Step, later
from hackle.objectives.aggregate import Estimator, aggregate_densities
from hackle.objectives.vae import Evidence, WeightedAutoencoder, evidence_phase, warmed


def _loss(elbo: Evidence, step: Step, run: Any) -> Losses:
    densities = aggregate_densities(
        elbo.z, elbo.means, elbo.logvars, run.correlation, step.data_size, run.method.estimator
    )
    information = densities.information
    total_correlation = densities.total_correlation
    total = elbo.reconstruction + run.method.beta * warmed(information, step) + run.method.gamma * total_correlation
    return Losses(total, {**elbo.terms, "information": information, "total_correlation": total_correlation})


@dataclass(frozen=True)
class InformationDropout(WeightedAutoencoder):
    """Information Dropout. `beta` weighs the mutual information, `gamma` the total correlation; `estimator` says how both
    are estimated."""

    name, title, symbol = "information-dropout", "Information Dropout", "β"

    beta: float = 1.0
    """Weight of KL(q(z|x) ‖ q(z))."""
    estimator: Estimator = "stratified"
    """How q(z) is estimated from a batch."""
    gamma: float = later(0.0)
    """Weight of the total correlation (Eq. 9)."""

    def phases(self, run: Run) -> tuple[Phase, ...]:
        return (evidence_phase(_loss, run),)
