"""The split encoder (An Information Theoretic Perspective on Disentangled Representation Learning, section 3.2).

The first convolutions are shared by all latents; the last convolution and two fully connected layers exist once per
latent, with no parameter shared, and output that latent's mean and logvar. The encoder is no deeper than the plain one.
The paper gives no widths: here each latent has its own copy of the plain encoder's layers, 64 channels and 256 units,
and the decoder is the plain one.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from hackle.nets.convolutional import Convolutional, channel_plan
from hackle.nets.layers import Blocks, Down, DownTower, initialised, layers_in_a_row


class Branches(nn.Module):
    """One convolution and two fully connected layers for each latent. Called with the maps behind the convolutions, (b, side,
    side, l·c), it gives means and logvars (b, l)."""

    def __init__(self, inputs: int, channels: int, hidden: int, latents: int, side: int) -> None:
        super().__init__()
        self.latents, self.channels, self.positions = latents, channels, side * side
        self.convolution = Down(inputs, channels, blocks=latents, slope=0.0)
        self.hidden = Blocks(latents, self.positions * channels, hidden)
        self.head = Blocks(latents, hidden, 2)

    def forward(self, maps: Tensor) -> tuple[Tensor, Tensor]:
        maps = maps.reshape(len(maps), self.positions, self.latents, self.channels).transpose(1, 2)
        values = self.head(self.hidden(maps.flatten(2)).relu())
        return values[..., 0], values[..., 1]


class SplitEncoder(nn.Sequential):
    """The shared convolutions and those of each latent, in a row, and what follows in each branch."""

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        shared, branches = self
        return branches(layers_in_a_row(images, [*shared, branches.convolution], upward=False))  # type: ignore[return-value]


@dataclass(frozen=True)
class Split(Convolutional):
    """`Convolutional` with an encoder split after its last but one convolution; each branch has `hidden` units."""

    name, title = "split", "split encoder"

    def encoder(self, shape: tuple[int, int, int], latents: int) -> nn.Module:
        (*shared, last), side = channel_plan(self.channels, shape)
        network = SplitEncoder(
            DownTower(shape[2], tuple(shared)), Branches((shape[2], *shared)[-1], last, self.hidden, latents, side)
        )
        return initialised(network, self.initialisation)
