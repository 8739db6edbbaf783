"""InfoWGAN-GP (Kim & Mnih 2018, appendices G and H, Eq. 16): InfoGAN with a Wasserstein critic and a gradient penalty.

    trunk, critic and Q minimise   E[D(G)] − E[D(x)] + η E[(‖∇D(x̂)‖ − 1)²] − λ L,    x̂ = π x + (1 − π) G,  π ~ U[0, 1],
    the generator                  −E[D(G)] − λ L.

Eq. 16 adds the penalty to what the critic maximises; it must be subtracted, as in Gulrajani et al. 2017. The paper does not
say how often the critic is updated for each update of the generator: 5 times, as in Gulrajani et al., is the default of
`critic_updates`. One step of a run is all of these updates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from hackle.core.errors import HackleError
from hackle.core.types import Draw, Losses, Nets, Phase, Run, Step
from hackle.kernels import unit_interval
from hackle.objectives.infogan import InfoGANMethod, generate, judge, latent_draws, recognise


def gradient_penalty(critic: Callable[[Tensor], Tensor], images: Tensor) -> Tensor:
    """The mean of (‖∇D(x)‖ − 1)² over a batch of images, for a critic that scores each image independently, (b,)."""
    gradients = torch.func.grad(lambda x: critic(x).sum())(images)
    # The norm has no derivative at 0; PyTorch takes 0, so a critic that is flat at an image is left unchanged.
    norms = torch.linalg.vector_norm(
        gradients.flatten(1), dim=1, dtype=torch.promote_types(gradients.dtype, torch.float32)
    )
    return (norms - 1).square().mean()


def _critic_loss(nets: Nets, step: Step, run: Any) -> Losses:
    with torch.no_grad():
        images, latents = generate(nets, step, run)
        real = unit_interval(step.images, images.dtype)
        share = step.noise["share"].to(images.dtype)[:, None, None, None]
        between = torch.lerp(images, real, share)
    # The trunk treats each image independently, so generated and real ones can go through it together.
    features = nets("trunk", torch.cat((images, real)))
    fake_score, real_score = nets("discriminator", features).chunk(2)
    recognised = recognise(nets, features.chunk(2)[0], run)
    information = recognised.log_probability(latents, run.correlation).mean()
    penalty = gradient_penalty(lambda x: nets("discriminator", nets("trunk", x)), between)
    wasserstein = real_score.mean() - fake_score.mean()
    total = run.method.penalty * penalty - wasserstein - run.method.information * information
    return Losses(total, {"wasserstein": wasserstein, "gradient_penalty": penalty})


def _unlogged_critic_loss(nets: Nets, step: Step, run: Any) -> Losses:
    """The same for all but the last update of a step, so that the log has one value for each step."""
    return replace(_critic_loss(nets, step, run), terms={})


def _generator_loss(nets: Nets, step: Step, run: Any) -> Losses:
    images, latents = generate(nets, step, run)
    fake, information = judge(nets, images, latents, run)
    generator = -fake.mean()
    terms = {"generator": generator, "information": information}
    return Losses(generator - run.method.information * information, terms)


MOST_UPDATES = 1_000
"""Above any number that is of use: each update is a phase of its own."""


@dataclass(frozen=True)
class InfoWGANGP(InfoGANMethod):
    """InfoWGAN-GP. `penalty` is η; in each step the critic is updated `critic_updates` times, the generator once."""

    name, title = "infowgan-gp", "InfoWGAN-GP"

    penalty: float = 10.0
    """Weight η of the gradient penalty."""
    critic_updates: int = 5
    """Updates of the critic per update of the generator."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.critic_updates <= MOST_UPDATES:
            raise HackleError(f"critic_updates is {self.critic_updates}; expected 1 to {MOST_UPDATES:,}")

    def networks(self, run: Run, shape: tuple[int, int, int]) -> dict[str, nn.Module]:
        return self.adversaries(run, shape, normalised=False)

    def phases(self, run: Run) -> tuple[Phase, ...]:
        draws = latent_draws(run, run.batch_size)
        critic = Phase(
            "critic",
            ("trunk", "discriminator", "recogniser"),
            _critic_loss,
            {**draws, "share": Draw("uniform", (run.batch_size,))},
            lambda run: run.method.discriminator_optimiser,
        )
        unlogged = replace(critic, loss=_unlogged_critic_loss)
        generator = Phase(
            "generator", ("generator",), _generator_loss, draws, lambda run: run.optimiser, needs_images=False
        )
        return (*[unlogged] * (self.critic_updates - 1), critic, generator)
