"""The convolutional encoder and decoder of Locatello et al. 2019 (Table 2) and Kim & Mnih 2018 (Tables 1, 2, 3).

The two differ in the width of the fully connected layer alone: 256, or 128 for 2D Shapes. Neither table names an
activation after the encoder's fully connected layer; a ReLU stands there, since two linear layers in a row would be one.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from hackle.nets.layers import Down, GaussianHead, Linear, Reshape, Up


def halvings(shape: tuple[int, int, int]) -> tuple[int, int]:
    """How many times images of this shape are halved, and the side that is left: 4, or 7 for 28-pixel images."""
    height, width, channels = shape
    if height != width or channels not in (1, 3) or height not in (16, 28, 32, 64, 128, 256):
        raise ValueError(
            f"networks here take square images of 16, 28, 32, 64, 128 or 256 pixels with 1 or 3 channels, got {shape}; "
            "resize the images, or give an encoder and a decoder of your own"
        )
    return (2, 7) if height == 28 else (height.bit_length() - 3, 4)


def channel_plan(channels: tuple[int, ...], count: int) -> tuple[int, ...]:
    """Output channels of `count` halvings: the last `count` of those given, the last one repeated where more are needed."""
    return channels[-count:] if count <= len(channels) else channels + channels[-1:] * (count - len(channels))


@dataclass(frozen=True)
class Convolutional:
    """Four 4×4 stride-2 convolutions and a fully connected layer, mirrored in the decoder.

    `channels` holds for 64-pixel images; smaller images leave out the first ones, larger ones repeat the last.
    """

    hidden: int = 256
    channels: tuple[int, ...] = (32, 32, 64, 64)

    def encoder(self, shape: tuple[int, int, int], latents: int) -> nn.Module:
        count, side = halvings(shape)
        plan = channel_plan(self.channels, count)
        layers: list[nn.Module] = []
        for inputs, outputs in zip((shape[2], *plan), plan, strict=False):
            layers += [Down(inputs, outputs), nn.ReLU()]
        features = side * side * plan[-1]
        return nn.Sequential(
            *layers, Reshape(features), Linear(features, self.hidden), nn.ReLU(), GaussianHead(self.hidden, latents)
        )

    def decoder(self, shape: tuple[int, int, int], latents: int) -> nn.Module:
        count, side = halvings(shape)
        plan = channel_plan(self.channels, count)
        features = side * side * plan[-1]
        layers: list[nn.Module] = []
        outward = (*plan[-2::-1], shape[2])
        for inputs, outputs in zip((plan[-1], *outward), outward, strict=False):
            layers += [Up(inputs, outputs), nn.ReLU()]
        return nn.Sequential(
            Linear(latents, self.hidden),
            nn.ReLU(),
            Linear(self.hidden, features),
            nn.ReLU(),
            Reshape(side, side, plan[-1]),
            *layers[:-1],
        )
