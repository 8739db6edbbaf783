"""ControlVAE (Shao et al. 2020): reconstruction error + β(t) · KL, where β follows the KL by a proportional–integral rule.

With the batch's KL (summed over latents) and a target C(t), in every step

    e = C − KL,   P = K_p / (1 + exp e),   I ← I − K_i e,   β = P + I + β_min, clipped to [β_min, β_max].

I stays as it is if the β before, not yet clipped, was outside these limits, so that it does not wind up. No gradient
passes through β. The defaults are those for disentangling: C rises from 0.5 by 0.15 every 5,000 steps, and β has no
upper limit. For images the paper takes K_p = 0.001, β from 0 to 1 and a fixed C (`c_start` = `c_max` = 170 … 200).

The rule is that of the authors' code for disentangling. Their code for images tests whether β is below 0 and above 1
at once, so that I never stays; here it does at both limits. A consequence of the rule: where one step takes I below
−K_p, as e > K_p / K_i does, P can no longer lift β above β_min, and it stays there. A target that rises slowly from
near the first KL, which is about 0, avoids that.

I and the last β are two numbers of a network `controller`, which no gradient trains: saved and resumed like weights.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from hackle.core.types import Losses, Nets, Phase, Run, RunError, Step
from hackle.objectives.vae import WeightedAutoencoder, autoencoder_phase, evidence


class Controller(nn.Module):
    """What the rule remembers from step to step: I, and the last β before it was clipped."""

    def __init__(self, beta: float) -> None:
        super().__init__()
        self.integral = nn.Parameter(torch.zeros(1), requires_grad=False)
        self.unclipped = nn.Parameter(torch.full((1,), float(beta)), requires_grad=False)

    def forward(self) -> tuple[Tensor, Tensor]:
        return self.integral[0], self.unclipped[0]


class Controlled(NamedTuple):
    """β, and what the rule remembers."""

    beta: Tensor
    integral: Tensor
    unclipped: Tensor


def control(method: Any, error: Tensor, integral: Tensor, unclipped: Tensor) -> Controlled:
    """One step of the rule, given the error C − KL and what it remembers."""
    limited = method.beta_max > 0
    held = (unclipped < method.beta_min) | (limited & (unclipped > method.beta_max))
    integral = torch.where(held, integral, integral - method.integral * error)
    # 1 / (1 + exp e) without overflow.
    unclipped = method.proportional * torch.sigmoid(-error) + integral + method.beta_min
    beta = torch.where(limited, torch.minimum(unclipped, method.beta_max), unclipped)
    return Controlled(torch.maximum(beta, method.beta_min), integral, unclipped)


def _loss(nets: Nets, step: Step, run: Any) -> Losses:
    elbo, method = evidence(nets, step, run), run.method
    risen = method.c_start + method.c_step * (step.number // method.c_every).to(elbo.kl.dtype)
    capacity = torch.minimum(risen, method.c_max)
    now = control(method, capacity - elbo.kl.detach(), *nets("controller"))
    return Losses(
        elbo.reconstruction + now.beta * elbo.kl,
        {**elbo.terms, "beta": now.beta, "capacity": capacity},
        kept={"controller.integral": now.integral, "controller.unclipped": now.unclipped},
    )


@dataclass(frozen=True)
class ControlVAE(WeightedAutoencoder):
    """ControlVAE. `c_max` is the KL in nats that β holds in the end, `proportional` and `integral` are K_p and K_i."""

    name, title, symbol = "control-vae", "ControlVAE", "C"
    # β is already a schedule for the KL term.
    warms_up = False
    least: ClassVar = {"c_every": 1}

    c_max: float = 18.0
    """The final target C for the KL, in nats."""
    c_start: float = 0.5
    """The target at the first step; `c_max` for a fixed one."""
    c_step: float = 0.15
    """How much the target rises at a time."""
    c_every: int = 5_000
    """Steps between two rises of the target."""
    proportional: float = 0.01
    """K_p: β is higher by at most this while the KL is above its target."""
    integral: float = 0.001
    """K_i: how fast β follows the sum of errors."""
    beta_min: float = 1.0
    """Lower limit of β."""
    beta_max: float = 0.0
    """Upper limit of β; 0 for none."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if 0 < self.beta_max < self.beta_min:
            raise RunError(
                f"beta_max of ControlVAE is {self.beta_max}, below beta_min, {self.beta_min}; expected more, or 0 for no limit"
            )

    def networks(self, run: Run, shape: tuple[int, int, int]) -> dict[str, nn.Module]:
        return {**super().networks(run, shape), "controller": Controller(self.beta_min)}

    def phases(self, run: Run) -> tuple[Phase, ...]:
        return (autoencoder_phase(_loss, run),)

    def at_steps(self, steps: int, before: int) -> ControlVAE:
        """The target rises over the same fraction of the training."""
        return replace(self, c_every=max(1, round(self.c_every * steps / before)))
