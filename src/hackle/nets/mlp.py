"""Fully connected encoder and decoder, for images of any shape."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise

from torch import nn

from hackle.core.types import LATER
from hackle.nets.chain import Chain
from hackle.nets.layers import GaussianHead, Initialisation, Linear, Reshape, initialised
from hackle.nets.sizes import check_sizes


def _hidden(widths: tuple[int, ...]) -> list[nn.Module]:
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(widths):
        layers += [Linear(inputs, outputs), nn.ReLU()]
    return layers


@dataclass(frozen=True)
class MLP:
    """Fully connected layers of these widths with ReLU, in reverse order in the decoder."""

    name, title = "mlp", "fully connected encoder"

    widths: tuple[int, ...] = (1200, 1200)
    initialisation: Initialisation = field(default="glorot", kw_only=True, metadata=LATER)
    """Initial weights: glorot, Glorot-uniform with zero biases, or torch, PyTorch's default."""

    def __post_init__(self) -> None:
        check_sizes(self, {"widths": 1}, may_be_empty=("widths",))

    def encoder(self, shape: tuple[int, int, int], latents: int) -> nn.Module:
        pixels = math.prod(shape)
        network = Chain(
            Reshape(pixels), *_hidden((pixels, *self.widths)), GaussianHead((pixels, *self.widths)[-1], latents)
        )
        return initialised(network, self.initialisation)

    def decoder(self, shape: tuple[int, int, int], latents: int) -> nn.Module:
        inward = (latents, *reversed(self.widths))
        network = Chain(*_hidden(inward), Linear(inward[-1], math.prod(shape)), Reshape(*shape))
        return initialised(network, self.initialisation)
