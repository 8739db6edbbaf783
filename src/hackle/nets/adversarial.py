"""The networks of InfoGAN and InfoWGAN-GP (Kim & Mnih 2018, Tables 4, 5, 6 and appendix H).

Discriminator and recogniser (the tables' encoder Q) share a trunk of convolutions and one fully connected layer. Every
layer but the first convolution, the outputs and the generator's last is batch-normalised; the trunk of a critic trained
with a gradient penalty is not, and has layer normalisation in its fully connected layer instead. Normalisation comes
before the activation, as in the networks of Chen et al. 2016, which the tables follow; the tables leave the order open.

    Table 4 (MNIST)       Adversarial(channels=(64, 128), hidden=1024, leaky_generator=False)
    Table 5 (2D Shapes)   Adversarial()
    Table 6 (bigger)      Adversarial(channels=(64, 128, 256), hidden=1024, side=8, flat_layers=2)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from torch import nn

from hackle.core.types import LATER
from hackle.nets.chain import Chain
from hackle.nets.convolutional import channel_plan
from hackle.nets.layers import LEAK, Down, Initialisation, Linear, Reshape, Same, Up, initialised
from hackle.nets.normalisation import BatchNorm, LayerNorm
from hackle.nets.sizes import check_sizes


@dataclass(frozen=True)
class Adversarial:
    """Generator, discriminator and recogniser.

    `channels` of the trunk's halving convolutions (for 64-pixel images, as in `Convolutional`), mirrored in the generator;
    `hidden` units of the fully connected layers; `side` of the smallest maps; `flat_layers` stride-1 convolutions at that
    side; `leaky_generator` gives the generator's convolutions leaky ReLU instead of ReLU; `recogniser_hidden` units of
    the recogniser's own layer.
    """

    name, title = "adversarial", "adversarial networks"

    channels: tuple[int, ...] = (32, 32, 64, 64)
    hidden: int = 128
    side: int = 4
    flat_layers: int = 0
    leaky_generator: bool = True
    recogniser_hidden: int = 128
    initialisation: Initialisation = field(default="glorot", kw_only=True, metadata=LATER)
    """Initial weights: glorot, Glorot-uniform with zero biases, or torch, PyTorch's default."""

    def __post_init__(self) -> None:
        check_sizes(self, {"channels": 1, "hidden": 1, "side": 1, "flat_layers": 0, "recogniser_hidden": 1})

    def adversaries(
        self, shape: tuple[int, int, int], inputs: int, outputs: int, *, normalised: bool
    ) -> dict[str, nn.Module]:
        """The four networks; `normalised` says whether the trunk has batch normalisation."""
        networks = {
            "generator": self._generator(shape, inputs),
            "trunk": self._trunk(shape, normalised),
            "discriminator": nn.Sequential(Linear(self.hidden, 1), Reshape()),
            "recogniser": Chain(
                Linear(self.hidden, self.recogniser_hidden),
                BatchNorm(self.recogniser_hidden),
                nn.LeakyReLU(LEAK),
                Linear(self.recogniser_hidden, outputs),
            ),
        }
        return {name: initialised(network, self.initialisation) for name, network in networks.items()}

    def _trunk(self, shape: tuple[int, int, int], normalised: bool) -> nn.Module:
        plan, side = channel_plan(self.channels, shape, self.side)
        layers: list[nn.Module] = []
        for position, (before, after) in enumerate(pairwise((shape[2], *plan, *plan[-1:] * self.flat_layers))):
            layers.append(Down(before, after) if position < len(plan) else Same(before, after))
            if normalised and position:
                layers.append(BatchNorm(after))
            layers.append(nn.LeakyReLU(LEAK))
        features = side * side * plan[-1]
        normalisation = BatchNorm(self.hidden) if normalised else LayerNorm(self.hidden)
        layers += [Reshape(features), Linear(features, self.hidden), normalisation, nn.LeakyReLU(LEAK)]
        return Chain(*layers)

    def _generator(self, shape: tuple[int, int, int], inputs: int) -> nn.Module:
        plan, side = channel_plan(self.channels, shape, self.side)
        last, features = plan[-1], side * side * plan[-1]
        layers: list[nn.Module] = [
            *(Linear(inputs, self.hidden), BatchNorm(self.hidden), nn.ReLU()),
            *(Linear(self.hidden, features), BatchNorm(features), nn.ReLU()),
            Reshape(side, side, last),
        ]
        for _ in range(self.flat_layers):
            layers += [Same(last, last, transposed=True), BatchNorm(last), self._upward_activation()]
        for before, after in zip(plan[:0:-1], plan[-2::-1], strict=True):
            layers += [Up(before, after), BatchNorm(after), self._upward_activation()]
        return Chain(*layers, Up(plan[0], shape[2]), nn.Sigmoid())

    def _upward_activation(self) -> nn.Module:
        return nn.LeakyReLU(LEAK) if self.leaky_generator else nn.ReLU()
