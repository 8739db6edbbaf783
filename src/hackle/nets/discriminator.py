"""The discriminator on latents: six layers and two logits in Kim & Mnih 2018 (appendix A), five and one in Do & Tran 2020.

The discriminator table of Locatello et al. 2019 (4b) lists its hidden layer once; their study used six.
"""

from __future__ import annotations

from itertools import pairwise

from torch import nn

from hackle.nets.chain import Chain
from hackle.nets.layers import LEAK, Linear


def latent_discriminator(latents: int, layers: int = 6, width: int = 1000, logits: int = 2) -> nn.Module:
    """`layers` hidden layers with leaky ReLU. He-normal weights: with smaller ones the early phase of FactorVAE, before
    the discriminator learns anything, lasts about five times longer."""
    modules: list[nn.Module] = []
    for inputs, hidden in pairwise([latents] + [width] * layers):
        modules += [Linear(inputs, hidden, he=True), nn.LeakyReLU(LEAK)]
    return Chain(*modules, Linear(width, logits, he=True))
