"""The sharing-parameter encoder (An Information Theoretic Perspective on Disentangled Representation Learning, section 5.1).

Only convolutions, whose features are flattened directly into the representation: latents at different
positions of one channel share all their parameters. The paper gives no sizes. Here the plain encoder's convolutions
are followed by another that leaves a 2×2 map of l/2 channels: 2l numbers, l means and l logvars, channel by channel. The
number of latents must therefore be even. A 7×7 map (28-pixel images) is padded to 8×8 and halved once more. The decoder
is the plain one.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor, nn

from hackle.nets.convolutional import Convolutional, ShapeError, channel_plan
from hackle.nets.layers import Down, DownTower, initialised


class PadToEven(nn.Module):
    """A row and a column of zeros after a 7×7 map."""

    def forward(self, maps: Tensor) -> Tensor:
        return F.pad(maps, (0, 0, 0, 1, 0, 1))


class Flattened(nn.Module):
    """(b, 2, 2, c) to means and logvars, each (b, 2c)."""

    def forward(self, maps: Tensor) -> tuple[Tensor, Tensor]:
        means, logvars = maps.permute(0, 3, 1, 2).flatten(1).chunk(2, dim=-1)
        return means, logvars


@dataclass(frozen=True)
class Sharing(Convolutional):
    """`Convolutional` with an encoder of convolutions only."""

    name, title = "sharing", "sharing encoder"

    def encoder(self, shape: tuple[int, int, int], latents: int) -> nn.Module:
        if latents % 2:
            raise ShapeError(
                f"the sharing encoder flattens a 2×2 map into 2·{latents} numbers, so the number of latents must be even; "
                f"use {latents + 1} latents or another architecture"
            )
        plan, side = channel_plan(self.channels, shape)
        layers: list[nn.Module] = [DownTower(shape[2], plan)]
        if side == 7:
            layers += [PadToEven(), DownTower(plan[-1], plan[-1:])]
        return initialised(nn.Sequential(*layers, Down(plan[-1], latents // 2), Flattened()), self.initialisation)
