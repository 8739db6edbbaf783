"""Trained networks as ordinary PyTorch modules: Conv2d, ConvTranspose2d and Linear, on images with channels first.

hackle's layers keep channels last and weights in the order of its kernels, (4, 4, c, o). Here the same numbers are put into
PyTorch's own layers. A fully connected layer next to a reshape has its weights reordered, since pixels and channels are
flattened in another order. Networks with a layer that is not known here, such as those of a user's architecture, are
used as they are.
"""

from __future__ import annotations

import copy
import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map

from hackle.kernels.normalisation import EPSILON
from hackle.nets.layers import Blocks, Down, GaussianHead, Linear, Reshape, Same, Three, Up
from hackle.nets.normalisation import BatchNorm, LayerNorm
from hackle.nets.own import ChannelsFirstDecoder, ChannelsFirstEncoder
from hackle.nets.resnet import Residual
from hackle.nets.sharing import Flattened, PadToEven
from hackle.nets.split import Branches
from hackle.nets.stages import Stages, flat_layers

Shape = tuple[int, ...]


class Unknown(TypeError):
    """A layer without a counterpart here."""


class ResidualBlock(nn.Module):
    """x + conv(relu(conv(relu(x)))), (b, c, h, w) to the same shape."""

    def __init__(self, first: nn.Conv2d, second: nn.Conv2d) -> None:
        super().__init__()
        self.first, self.second = first, second

    def forward(self, maps: Tensor) -> Tensor:
        return maps + self.second(self.first(maps.relu()).relu())


class ChannelsLast(nn.Module):
    """Wraps a network that takes and returns images with channels last, for images with channels first."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, values: Tensor) -> Any:
        outputs = self.network(values.permute(0, 2, 3, 1) if values.dim() == 4 else values)
        return tree_map(lambda value: value.permute(0, 3, 1, 2) if value.dim() == 4 else value, outputs)


@torch.no_grad()
def plain_network(network: nn.Module, shape: Shape) -> nn.Module:
    """A copy of a network for inputs of this shape, (h, w, c) or (l,), made of PyTorch's own layers; of one without
    inputs, (), a plain copy.

    A network with two outputs, means and logvars, returns them as one tensor, means first.
    """
    if isinstance(network, ChannelsFirstEncoder | ChannelsFirstDecoder):
        return copy.deepcopy(network.module).eval().requires_grad_(True)
    if not shape:
        return copy.deepcopy(network).eval().requires_grad_(True)
    try:
        translation = Translation(shape)
        parts = [translation.part(part) for part in (network if isinstance(network, Stages) else [network])]
        made: nn.Module = Stages(parts) if isinstance(network, Stages) else parts[0]
    except Unknown:
        made = ChannelsLast(copy.deepcopy(network))
    return made.eval().requires_grad_(True)


def _weighted(layer: Any, weight: Tensor, bias: Tensor) -> Any:
    """A PyTorch layer with these weights."""
    layer.weight.copy_(weight)
    layer.bias.copy_(bias)
    return layer


def _activation(slope: float) -> list[nn.Module]:
    if slope == 1.0:
        return []
    return [nn.ReLU() if slope == 0.0 else nn.LeakyReLU(slope)]


def _first(weight: Tensor) -> Tensor:
    """A convolution's weight in PyTorch's order: outputs, inputs, rows, columns; for a transposed one inputs,
    outputs."""
    return weight.permute(3, 2, 0, 1)


def _order(shape: Shape) -> Tensor:
    """For each value of an image flattened with channels first, its position in the image flattened with channels
    last."""
    return torch.arange(math.prod(shape)).reshape(shape).permute(2, 0, 1).flatten()


class Translation:
    """PyTorch's layers for those of a network, in order, and the shape (h, w, c) or (features,) of their output."""

    def __init__(self, shape: Shape) -> None:
        self.layers: list[nn.Module] = []
        self.shape: Shape = shape
        self.flattened: Shape | None = None

    def part(self, network: nn.Module) -> nn.Sequential:
        """PyTorch's layers for the next part of the network."""
        before = len(self.layers)
        for layer in flat_layers(network):
            self.add(layer)
        if self.flattened is not None:
            raise Unknown("features of an image in no other order")
        return nn.Sequential(*self.layers[before:])

    def add(self, layer: nn.Module) -> None:
        """Append PyTorch's equivalent of this layer."""
        match layer:
            case Down():
                self._convolution(nn.Conv2d(layer.weight.shape[2], len(layer.bias), 4, 2, 1), layer, 0.5)
            case Up():
                self._convolution(nn.ConvTranspose2d(layer.weight.shape[3], len(layer.bias), 4, 2, 1), layer, 2)
            case Three():
                self._convolution(nn.Conv2d(layer.weight.shape[2], len(layer.bias), 3, 1, 1), layer)
            case Same():
                before, after = layer.before, 3 - layer.before
                self.layers.append(nn.ZeroPad2d((before, after, before, after)))
                self._convolution(nn.Conv2d(layer.weight.shape[2], len(layer.bias), 4), layer)
            case Residual():
                inner = Translation(self.shape)
                inner.add(layer.first)
                inner.add(layer.second)
                first, _, second = inner.layers
                self.layers.append(ResidualBlock(first, second))  # type: ignore[arg-type]
            case Linear() if len(self.shape) == 1:
                self._linear(layer)
            case GaussianHead() if len(self.shape) == 1:
                self._linear(layer.linear)
            case Branches():
                self._branches(layer)
            case BatchNorm():
                self._batch_norm(layer)
            case LayerNorm() if len(self.shape) == 1:
                weight, bias = self._features(layer.weight), self._features(layer.bias)
                self.layers.append(_weighted(nn.LayerNorm(len(bias), EPSILON), weight, bias))
            case PadToEven():
                self.layers.append(nn.ZeroPad2d((0, 1, 0, 1)))
                height, width, channels = self.shape
                self.shape = (height + 1, width + 1, channels)
            case Flattened():
                self.layers.append(nn.Flatten())
                self.shape = (math.prod(self.shape),)
            case Reshape():
                self._reshape(layer.shape)
            case nn.ReLU() | nn.LeakyReLU() | nn.Sigmoid():
                self.layers.append(copy.deepcopy(layer))
            case _:
                raise Unknown(type(layer).__name__)

    def _convolution(self, made: nn.Module, layer: Any, scale: float = 1) -> None:
        self.layers += [
            _weighted(made, _first(layer.weight), layer.bias),
            *_activation(getattr(layer, "slope", 1.0)),
        ]
        height, width, _ = self.shape
        self.shape = (int(height * scale), int(width * scale), len(layer.bias))

    def _linear(self, layer: nn.Linear) -> None:
        weight = self._features(layer.weight)
        self.layers.append(_weighted(nn.Linear(layer.in_features, layer.out_features), weight, layer.bias))
        self.shape, self.flattened = (layer.out_features,), None

    def _features(self, values: Tensor) -> Tensor:
        """Values whose last axis is the current features, reordered to channels first."""
        return values if self.flattened is None else values[..., _order(self.flattened)]

    def _reshape(self, shape: Shape) -> None:
        if len(shape) == 1 and len(self.shape) == 3:
            self.layers.append(nn.Flatten())
            self.shape, self.flattened = shape, self.shape
        elif len(shape) == 3 and len(self.shape) == 1:
            self._reorder(_order(shape))
            height, width, channels = shape
            self.layers.append(nn.Unflatten(1, (channels, height, width)))
            self.shape = shape
        elif shape != self.shape:
            raise Unknown(f"a reshaping of {self.shape} to {shape}")

    def _reorder(self, order: Tensor) -> None:
        """Reorder the features of the last fully connected layer and of the layers since."""
        for layer in reversed(self.layers):
            match layer:
                case nn.Linear():
                    _weighted(layer, layer.weight[order].clone(), layer.bias[order].clone())
                    return
                case nn.BatchNorm1d():
                    for values in (layer.weight, layer.bias, layer.running_mean, layer.running_var):
                        values.copy_(values[order].clone())  # type: ignore[union-attr]
                case nn.ReLU() | nn.LeakyReLU():
                    pass
                case _:
                    break
        raise Unknown("a reshaping without a fully connected layer before it")

    def _batch_norm(self, layer: BatchNorm) -> None:
        kind = nn.BatchNorm2d if len(self.shape) == 3 else nn.BatchNorm1d
        made = _weighted(kind(len(layer.bias), EPSILON), self._features(layer.weight), self._features(layer.bias))
        made.running_mean.copy_(self._features(layer.mean))
        made.running_var.copy_(self._features(layer.variance))
        self.layers.append(made)

    def _branches(self, layer: Branches) -> None:
        """Fully connected layers side by side are grouped convolutions; the last step puts means before logvars."""
        self.add(layer.convolution)
        side, channels, count = self.shape[0], layer.channels, layer.latents
        hidden = _grouped(layer.hidden, (side, side, channels))
        head = _grouped(layer.head, (1, 1, layer.hidden.weight.shape[2]))
        self.layers += [hidden, nn.ReLU(), head, nn.ChannelShuffle(count), nn.Flatten()]
        self.shape = (2 * count,)


def _grouped(layer: Blocks, shape: Shape) -> nn.Conv2d:
    """Fully connected layers side by side, each on maps of this shape, (h, w, c), as one grouped convolution."""
    count, _, outputs = layer.weight.shape
    height, width, channels = shape
    made = nn.Conv2d(count * channels, count * outputs, (height, width), groups=count)
    weight = layer.weight.reshape(count, *shape, outputs).permute(0, 4, 3, 1, 2).flatten(0, 1)
    return _weighted(made, weight, layer.bias.flatten())
