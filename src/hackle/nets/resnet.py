"""A residual encoder and decoder (He et al. 2016): `Convolutional` with residual blocks at every resolution.

A block is x + conv(relu(conv(relu(x)))) with two 3×3 convolutions, each after its activation as in He et al.'s
"Identity mappings in deep residual networks". The maps are halved and doubled by the plain network's 4×4 convolutions,
which lie between the blocks and have no shortcut. There is no normalisation: batch normalisation would make an image's
code depend on its batch, and networks of this depth train without it. No paper of this field has such a network; its
widths are the plain network's.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from torch import Tensor, nn

from hackle.nets.chain import Chain
from hackle.nets.convolutional import Convolutional, channel_plan
from hackle.nets.layers import Down, GaussianHead, Linear, Reshape, Three, Up, initialised
from hackle.nets.sizes import check_sizes


class Residual(nn.Module):
    """x + conv(relu(conv(relu(x)))), (b, h, w, c) to the same shape."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = Three(channels, channels, slope=0.0)
        self.second = Three(channels, channels)

    def forward(self, maps: Tensor) -> Tensor:
        return maps + self.second(self.first(maps.relu()))


@dataclass(frozen=True)
class ResNet(Convolutional):
    """`Convolutional` with `blocks` residual blocks after each convolution of the encoder and before each of the
    decoder."""

    name, title = "resnet", "residual encoder"

    blocks: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_sizes(self, {"blocks": 1})

    def encoder(self, shape: tuple[int, int, int], latents: int) -> nn.Module:
        plan, side = channel_plan(self.channels, shape)
        layers: list[nn.Module] = []
        for before, after in pairwise((shape[2], *plan)):
            layers += [Down(before, after), *self._residuals(after), nn.ReLU()]
        features = side * side * plan[-1]
        network = Chain(
            *layers, Reshape(features), Linear(features, self.hidden), nn.ReLU(), GaussianHead(self.hidden, latents)
        )
        return initialised(network, self.initialisation)

    def decoder(self, shape: tuple[int, int, int], latents: int) -> nn.Module:
        plan, side = channel_plan(self.channels, shape)
        features = side * side * plan[-1]
        layers: list[nn.Module] = []
        for before, after in pairwise((*plan[::-1], shape[2])):
            layers += [*self._residuals(before), nn.ReLU(), Up(before, after)]
        network = Chain(
            *(Linear(latents, self.hidden), nn.ReLU(), Linear(self.hidden, features)),
            Reshape(side, side, plan[-1]),
            *layers,
        )
        return initialised(network, self.initialisation)

    def _residuals(self, channels: int) -> list[nn.Module]:
        return [Residual(channels) for _ in range(self.blocks)]
