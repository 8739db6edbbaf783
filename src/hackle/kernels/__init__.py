"""What stacked models compute with: the convolution, the Bernoulli error and Adam, by Triton on CUDA, by PyTorch elsewhere."""

from hackle.kernels.adam import Rows, adam_step
from hackle.kernels.convolution import down, down_layer, taps, tower, up, up_layer
from hackle.kernels.likelihood import bernoulli_error

__all__ = ["Rows", "adam_step", "bernoulli_error", "down", "down_layer", "taps", "tower", "up", "up_layer"]
