"""The convolutional encoder and decoder of Locatello et al. 2019 (Table 2), Kim & Mnih 2018 (Tables 1, 2, 3) and
Do & Tran 2020 (Tables 3, 4).

They differ only in the width of the fully connected layer: 256, or 128 for 2D Shapes. Do & Tran's 4×4 "valid"
convolutions on 4×4 maps are fully connected layers. The first two do not name an activation after the encoder's fully
connected layer; there is a ReLU, as in the third, since two linear layers in a row would amount to one. The ReLU that
the third lists after the decoder's last layer is left out: logits may be negative.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import nn

from hackle.core.errors import HackleError
from hackle.core.types import LATER
from hackle.nets.chain import Chain
from hackle.nets.layers import DownTower, GaussianHead, Initialisation, Linear, Reshape, UpTower, initialised
from hackle.nets.sizes import check_sizes

SIZES = (16, 28, 32, 64, 128, 256)
"""The image sizes that these networks take."""


class ShapeError(HackleError, ValueError):
    """Images of a shape that an architecture has no networks for."""


def halvings(shape: tuple[int, int, int], side: int = 4) -> tuple[int, int]:
    """How often images of this shape are halved to reach the given side, and the side reached: 7 for 28-pixel images.

    >>> halvings((64, 64, 3)), halvings((28, 28, 1))
    ((4, 4), (2, 7))
    """
    height, width, channels = shape
    if height != width or channels > 4 or height not in SIZES:
        raise ShapeError(
            f"these networks take square images of {', '.join(map(str, SIZES))} pixels with 1 to 4 channels, got {shape}; "
            "bring images of your own to one of these sizes by --resize 64 or --pad 64 (hackle.load(…, resize=64) or pad=64 in "
            "Python), use the `mlp` architecture, or give an encoder and a decoder of your own"
        )
    if height == 28:
        return 2, 7
    count = (height // side).bit_length() - 1
    if count < 1 or side << count != height:
        raise ShapeError(
            f"images of {height} pixels cannot be halved to maps of {side}; give another side, such as 4 or 8"
        )
    return count, side


def channel_plan(channels: tuple[int, ...], shape: tuple[int, int, int], side: int = 4) -> tuple[tuple[int, ...], int]:
    """Output channels of each halving of images of this shape, and the side that is reached: the last of the channels given,
    and the very last one repeated where more are needed."""
    count, side = halvings(shape, side)
    return (channels + channels[-1:] * max(0, count - len(channels)))[-count:], side


@dataclass(frozen=True)
class Convolutional:
    """Four 4×4 stride-2 convolutions and a fully connected layer, mirrored in the decoder.

    `hidden` is the width of the fully connected layer. `channels` holds for 64-pixel images; for smaller images the
    first ones are left out, for larger ones the last is repeated.
    """

    name, title = "convolutional", "convolutional encoder"

    hidden: int = 256
    channels: tuple[int, ...] = (32, 32, 64, 64)
    initialisation: Initialisation = field(default="glorot", kw_only=True, metadata=LATER)
    """Initial weights: glorot, Glorot-uniform with zero biases, or torch, PyTorch's default."""

    def __post_init__(self) -> None:
        check_sizes(self, {"hidden": 1, "channels": 1})

    def encoder(self, shape: tuple[int, int, int], latents: int) -> nn.Module:
        plan, side = channel_plan(self.channels, shape)
        features = side * side * plan[-1]
        network = Chain(
            DownTower(shape[2], plan),
            Reshape(features),
            Linear(features, self.hidden),
            nn.ReLU(),
            GaussianHead(self.hidden, latents),
        )
        return initialised(network, self.initialisation)

    def decoder(self, shape: tuple[int, int, int], latents: int) -> nn.Module:
        plan, side = channel_plan(self.channels, shape)
        features = side * side * plan[-1]
        network = Chain(
            Linear(latents, self.hidden),
            nn.ReLU(),
            Linear(self.hidden, features),
            nn.ReLU(),
            Reshape(side, side, plan[-1]),
            UpTower(*plan[::-1], shape[2]),
        )
        return initialised(network, self.initialisation)
