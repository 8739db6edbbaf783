"""The layers that networks are built from. Images are (b, h, w, c), channels last.

Layers compute in the dtype of their inputs; their parameters stay float32.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from hackle.kernels import down_layer, halves, linear, products, tower, up_layer

LEAK = 0.2
"""Slope of every leaky ReLU: TensorFlow's default, with which the papers' models were trained."""


def glorot_uniform(weight: Tensor, fan_in: int, fan_out: int) -> None:
    """Fill with U(±√(6 / (fan_in + fan_out))), the default of the framework in which the papers' models were trained."""
    bound = math.sqrt(6 / (fan_in + fan_out))
    nn.init.uniform_(weight, -bound, bound)


Initialisation = Literal["glorot", "torch"]
"""Initial weights: Glorot-uniform with zero biases, TensorFlow's default, or PyTorch's own default."""


def initialised(network: nn.Module, how: Initialisation) -> nn.Module:
    """The network with these initial weights; it is made with Glorot's.

    PyTorch's layers begin with weights and biases from U(±1/√k). k is the number of inputs that an output sums over, and for a
    transposed convolution, whose axes PyTorch reads as those of a convolution, the 16 taps of each of its output channels.
    """
    if how == "torch":
        for layer in network.modules():
            match layer:
                case Linear():
                    fan = layer.in_features
                case Up():
                    fan = 16 * layer.weight.shape[2]
                case Down() | Same() | Three():
                    fan = layer.weight.shape[:3].numel()
                case Blocks():
                    fan = layer.weight.shape[1]
                case _:
                    continue
            for parameter in (layer.weight, layer.bias):
                nn.init.uniform_(parameter, -1 / math.sqrt(fan), 1 / math.sqrt(fan))  # type: ignore[arg-type]
    return network


class Linear(nn.Linear):
    """A fully connected layer, Glorot-initialised with zero bias; He-normal where `he` is set."""

    def __init__(self, inputs: int, outputs: int, *, he: bool = False) -> None:
        super().__init__(inputs, outputs)
        if he:
            nn.init.normal_(self.weight, std=math.sqrt(2 / inputs))
        else:
            glorot_uniform(self.weight, inputs, outputs)
        nn.init.zeros_(self.bias)

    def forward(self, values: Tensor, slope: float = 1.0) -> Tensor:
        """A leaky ReLU follows: slope 0 is ReLU, 1 none. With one, there are no second derivatives on CUDA."""
        return linear(values, self.weight.to(values.dtype), self.bias.to(values.dtype), slope)


class Down(nn.Module):
    """4×4 convolution with stride 2: halves height and width. A leaky ReLU follows: slope 0 is ReLU, 1 none.

    With `blocks`, that many convolutions of `outputs` channels each, side by side in the output's channels: block j has
    channels j·outputs to (j + 1)·outputs, and parameters and initial weights of its own.
    """

    def __init__(self, inputs: int, outputs: int, blocks: int = 1, *, slope: float = 1.0) -> None:
        super().__init__()
        self.slope = slope
        self.weight = nn.Parameter(torch.empty(4, 4, inputs, blocks * outputs))
        self.bias = nn.Parameter(torch.zeros(blocks * outputs))
        glorot_uniform(self.weight, 16 * inputs, 16 * outputs)

    def forward(self, images: Tensor) -> Tensor:
        return down_layer(images, self.weight, self.bias, self.slope)


class Up(nn.Module):
    """4×4 transposed convolution with stride 2: doubles height and width. A leaky ReLU follows: slope 0 is ReLU, 1 none."""

    def __init__(self, inputs: int, outputs: int, *, slope: float = 1.0) -> None:
        super().__init__()
        self.slope = slope
        self.weight = nn.Parameter(torch.empty(4, 4, outputs, inputs))
        self.bias = nn.Parameter(torch.zeros(outputs))
        glorot_uniform(self.weight, 16 * inputs, 16 * outputs)

    def forward(self, images: Tensor) -> Tensor:
        return up_layer(images, self.weight, self.bias, self.slope)


def layers_in_a_row(
    images: Tensor, layers: Sequence[Down | Up], *, upward: bool, slope: float = 0.0, last_slope: float = 0.0
) -> Tensor:
    """These layers as one tower. A fleet that keeps a layer's weight also in the dtype of the images gives it the name
    `rounded`; where a layer has no such copy, as the second of two that share a weight, the tower rounds all weights."""
    copies = [getattr(layer, "rounded", None) for layer in layers]
    rounded = [copy for copy in copies if copy is not None and copy.dtype == images.dtype]
    return tower(
        images,
        [(layer.weight, layer.bias) for layer in layers],
        upward=upward,
        slope=slope,
        last_slope=last_slope,
        rounded=rounded if len(rounded) == len(layers) else (),
    )


class DownTower(nn.Sequential):
    """Convolutions with ReLU, one for each number of channels of the plan."""

    def __init__(self, inputs: int, plan: tuple[int, ...]) -> None:
        super().__init__(*(Down(before, after, slope=0.0) for before, after in pairwise((inputs, *plan))))

    def forward(self, images: Tensor) -> Tensor:
        return layers_in_a_row(images, list(self), upward=False)  # type: ignore[arg-type]


class UpTower(nn.Sequential):
    """Transposed convolutions, each but the last with ReLU: from the plan's first number of channels to its last."""

    def __init__(self, *plan: int) -> None:
        super().__init__(
            *(Up(before, after, slope=0.0) for before, after in pairwise(plan[:-1])), Up(plan[-2], plan[-1])
        )

    def forward(self, images: Tensor) -> Tensor:
        return layers_in_a_row(images, list(self), upward=True, last_slope=1.0)  # type: ignore[arg-type]


class Same(nn.Module):
    """4×4 convolution with stride 1 that keeps height and width.

    Three rows and columns of zeros must be added. TensorFlow's SAME adds one before and two after; its transposed
    convolution, the adjoint, two before and one after. The other layers' operator has stride 2, so this one gathers its
    sixteen taps and multiplies.
    """

    def __init__(self, inputs: int, outputs: int, *, transposed: bool = False) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(4, 4, inputs, outputs))
        self.bias = nn.Parameter(torch.zeros(outputs))
        self.before = 2 if transposed else 1
        glorot_uniform(self.weight, 16 * inputs, 16 * outputs)

    def forward(self, images: Tensor) -> Tensor:
        height, width = images.shape[1:3]
        after = 3 - self.before
        padded = F.pad(images, (0, 0, self.before, after, self.before, after))
        taps = [padded[:, i : i + height, j : j + width] for i in range(4) for j in range(4)]
        return torch.cat(taps, dim=-1) @ self.weight.flatten(0, 2).to(images.dtype) + self.bias.to(images.dtype)


class Three(nn.Module):
    """3×3 convolution with stride 1 that keeps height and width. A leaky ReLU follows: slope 0 is ReLU, 1 none.

    It is computed as a `Down` with four times as many channels: among the 4×4 pixels that one of its outputs sees, each
    of the four in the middle is the centre of a 3×3 patch. So it uses the operator of the other layers, with its
    kernels for stacks, at the cost of 16 products instead of 9.
    """

    def __init__(self, inputs: int, outputs: int, *, slope: float = 1.0) -> None:
        super().__init__()
        self.slope = slope
        self.weight = nn.Parameter(torch.empty(3, 3, inputs, outputs))
        self.bias = nn.Parameter(torch.zeros(outputs))
        glorot_uniform(self.weight, 9 * inputs, 9 * outputs)

    def forward(self, images: Tensor) -> Tensor:
        height, width = images.shape[1:3]
        odd = height % 2, width % 2
        # The convolution pads with zeros there in any case.
        images = F.pad(images, (0, 0, 0, odd[1], 0, odd[0])) if any(odd) else images
        places = [F.pad(self.weight, (0, 0, 0, 0, j, 1 - j, i, 1 - i)) for i in (0, 1) for j in (0, 1)]
        fours = down_layer(images, torch.cat(places, dim=-1), self.bias.repeat(4), self.slope)
        pixels = fours.unflatten(-1, (2, 2, -1)).permute(0, 1, 3, 2, 4, 5)
        return pixels.flatten(3, 4).flatten(1, 2)[:, :height, :width]


class Blocks(nn.Module):
    """Fully connected layers side by side, (b, j, inputs) to (b, j, outputs): row j has its own parameters."""

    def __init__(self, blocks: int, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(blocks, inputs, outputs))
        self.bias = nn.Parameter(torch.zeros(blocks, outputs))
        glorot_uniform(self.weight, inputs, outputs)

    def forward(self, values: Tensor) -> Tensor:
        rows = products(values.transpose(0, 1), self.weight.to(values.dtype)) + self.bias.to(values.dtype).unsqueeze(1)
        return rows.transpose(0, 1)


class Reshape(nn.Module):
    """(b, …) to (b, *shape)."""

    def __init__(self, *shape: int) -> None:
        super().__init__()
        self.shape = shape

    def forward(self, values: Tensor) -> Tensor:
        return values.reshape(values.shape[0], *self.shape)


class GaussianHead(nn.Module):
    """A last fully connected layer that gives means and logvars, each (b, l)."""

    def __init__(self, inputs: int, latents: int) -> None:
        super().__init__()
        self.linear = Linear(inputs, 2 * latents)

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        return halves(self.linear(features))
