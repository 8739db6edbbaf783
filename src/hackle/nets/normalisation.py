"""Batch normalisation (Ioffe & Szegedy 2015) that, once trained, treats each image independently.

In training a layer normalises by the mean and variance of its batch and keeps nothing, so that a run depends on its
record alone. In evaluation it normalises by stored ones. They are parameters without a gradient, saved with the
weights; `calibrate` sets them after training from one large batch, on which evaluation then agrees with training.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from hackle.kernels import batch_normalise, layer_normalise, moments, normalise

CALIBRATION_SIZE = 1024
"""The number of images and latents from which the networks' normalisation is fixed after training."""


class BatchNorm(nn.Module):
    """Normalise each feature, the last axis, over all the others. A leaky ReLU follows: slope 0 is ReLU, 1 none."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(features))
        self.bias = nn.Parameter(torch.zeros(features))
        self.mean = nn.Parameter(torch.zeros(features))
        self.variance = nn.Parameter(torch.ones(features))

    def forward(self, values: Tensor, slope: float = 1.0) -> Tensor:
        if self.training:
            return batch_normalise(values, self.weight, self.bias, slope)
        return normalise(values, self.mean, self.variance, self.weight, self.bias, slope)


class LayerNorm(nn.Module):
    """Normalise each row over its features (Ba et al. 2016), in float32 whatever the dtype around it. A leaky ReLU
    follows: slope 0 is ReLU, 1 none."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(features))
        self.bias = nn.Parameter(torch.zeros(features))

    def forward(self, values: Tensor, slope: float = 1.0) -> Tensor:
        return layer_normalise(values, self.weight, self.bias, slope)


@torch.no_grad()
def calibrate(network: nn.Module, *inputs: Tensor) -> None:
    """Store in every batch normalisation of the network its mean and variance on these inputs.

    >>> layer = BatchNorm(1).eval()
    >>> calibrate(layer, torch.tensor([[1.0], [3.0]]))
    >>> layer(torch.tensor([[2.0]])).item()
    0.0
    """

    def store(layer: nn.Module, arguments: tuple[Tensor, ...]) -> None:
        assert isinstance(layer, BatchNorm)
        mean, variance = moments(arguments[0])
        layer.mean.copy_(mean)
        layer.variance.copy_(variance)

    was_training = network.training
    hooks = [layer.register_forward_pre_hook(store) for layer in network.modules() if isinstance(layer, BatchNorm)]
    try:
        network.train()(*inputs)
    finally:
        network.train(was_training)
        for hook in hooks:
            hook.remove()
