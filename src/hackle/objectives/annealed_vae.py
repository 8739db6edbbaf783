"""AnnealedVAE (Burgess et al. 2018; Locatello et al. 2019, section 2.3 and Table 3): reconstruction error + γ · |KL − C|.

The capacity C rises linearly from 0 to `c_max` over the first `iteration_threshold` steps and then stays. With a correlated
posterior, which no paper trains in this way, the KL is that of the factorised posterior, as in every method here. It
leaves out the constant ½ log(1/det Σ), which would change gradients in this loss only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from hackle.core.errors import HackleError
from hackle.core.types import Losses, Phase, Run, Step
from hackle.objectives.vae import Evidence, WeightedAutoencoder, evidence_phase


def _loss(elbo: Evidence, step: Step, run: Any) -> Losses:
    progress = (step.number.to(elbo.kl.dtype) / run.method.iteration_threshold).clamp(max=1)
    capacity = run.method.c_max * progress
    total = elbo.reconstruction + run.method.gamma * (elbo.kl - capacity).abs()
    return Losses(total, {**elbo.terms, "capacity": capacity})


@dataclass(frozen=True)
class AnnealedVAE(WeightedAutoencoder):
    """AnnealedVAE. `c_max` is the final capacity in nats, `gamma` the weight of the distance to the capacity."""

    name, title, symbol = "annealed-vae", "AnnealedVAE", "C"
    # The capacity is already a schedule for the KL term; with another, |KL − C| would be meaningless.
    warms_up = False

    c_max: float = 25.0
    """The final capacity C in nats."""
    gamma: float = 1000.0
    """Weight of the distance between KL and capacity."""
    iteration_threshold: int = 100_000
    """Steps over which the capacity grows from 0."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.iteration_threshold < 1:
            raise HackleError(f"iteration_threshold is {self.iteration_threshold}; expected 1 step or more")

    def phases(self, run: Run) -> tuple[Phase, ...]:
        return (evidence_phase(_loss, run),)

    def at_steps(self, steps: int, before: int) -> AnnealedVAE:
        """The capacity grows over the same fraction of the training, so that it still reaches its end."""
        return replace(self, iteration_threshold=max(1, round(self.iteration_threshold * steps / before)))
