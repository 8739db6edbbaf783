"""Layers one after another; those that a kernel can compute together run as one.

The layers, and so the names of their parameters, are unchanged.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from hackle.nets.layers import Down, Linear, layers_in_a_row
from hackle.nets.normalisation import BatchNorm, LayerNorm


def _slope(layer: nn.Module) -> float | None:
    """The slope of a ReLU or leaky ReLU below zero, None for other layers."""
    if isinstance(layer, nn.ReLU):
        return 0.0
    return layer.negative_slope if isinstance(layer, nn.LeakyReLU) else None


def _convolutions(layers: list[nn.Module]) -> list[Down]:
    """The convolutions that these layers begin with, as long as each is followed by the same leaky ReLU."""
    convolutions = []
    for layer, activation in zip(layers[::2], layers[1::2], strict=False):
        if not isinstance(layer, Down) or layer.slope != 1.0 or _slope(activation) != _slope(layers[1]):
            break
        convolutions.append(layer)
    return convolutions


class Chain(nn.Sequential):
    """Like `nn.Sequential`, but convolutions in a row, each with the same leaky ReLU, run as one tower, and fully
    connected layers and normalisations run together with the leaky ReLU that follows."""

    def forward(self, values: Tensor) -> Any:
        layers = list(self)
        while layers:
            slope = _slope(layers[1]) if len(layers) > 1 else None
            if slope is not None and (row := _convolutions(layers)):
                values = layers_in_a_row(values, row, upward=False, slope=slope, last_slope=slope)
                taken = 2 * len(row)
            elif slope is not None and isinstance(layers[0], Linear | BatchNorm | LayerNorm):
                values, taken = layers[0](values, slope), 2
            else:
                values, taken = layers[0](values), 1
            layers = layers[taken:]
        return values
