"""The discriminator of FactorVAE (Kim & Mnih 2018, appendix A): an MLP on latents that outputs two logits."""

from __future__ import annotations

from itertools import pairwise

from torch import nn

from hackle.nets.layers import LEAK, Linear


def latent_discriminator(latents: int, layers: int = 6, width: int = 1000, outputs: int = 2) -> nn.Module:
    """`layers` hidden layers with leaky ReLU. He-normal weights: with smaller ones the early phase of FactorVAE, before
    the discriminator tells anything apart, lasts about five times longer."""
    modules: list[nn.Module] = []
    for inputs, hidden in pairwise([latents] + [width] * layers):
        modules += [Linear(inputs, hidden, he=True), nn.LeakyReLU(LEAK)]
    return nn.Sequential(*modules, Linear(width, outputs, he=True))
