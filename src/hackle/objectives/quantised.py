"""What autoencoders share whose latents take one of a few values."""

from __future__ import annotations

import torch
from torch import Tensor

from hackle.core.gaussian import NOISELESS
from hackle.core.method import Code
from hackle.core.types import Run, Step
from hackle.objectives.vae import WeightedAutoencoder


def straight_through(latents: Tensor, quantised: Tensor) -> Tensor:
    """The quantised values, to the last bit, with the gradient of the latents."""
    return quantised.detach() + (latents - latents.detach())


def pixels_of(step: Step) -> int:
    """D, the number of values of an image: by it, terms that a paper weighs against a mean over pixels are multiplied."""
    return step.images[0].numel()


class QuantisedAutoencoder(WeightedAutoencoder):
    """What autoencoders share whose latents take one of a few values: their codes are class numbers, without noise."""

    warms_up = False
    levels: int

    def codes(self, run: Run) -> tuple[Code, ...]:
        return (Code("categorical", self.levels),) * run.latents

    def noiseless(self, classes: Tensor, latents: Tensor) -> tuple[Tensor, Tensor]:
        """Class numbers as means, and logvars that stand for no noise. Latents that are no numbers have no class."""
        means = torch.where(latents.isnan(), latents, classes.to(latents.dtype))
        return means, torch.full_like(latents, NOISELESS)

    def classes(self, codes: Tensor) -> Tensor:
        """Codes as class numbers: rounded, and those outside taken to the ends."""
        return codes.round().clamp(0, self.levels - 1).to(torch.int64)
