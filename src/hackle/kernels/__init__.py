"""What stacked models compute with: convolution, linear layer, Bernoulli error, posteriors and their mixture, Adam.

Triton on CUDA, PyTorch elsewhere.
"""

from hackle.kernels.adam import Rows, adam_step
from hackle.kernels.convolution import down, down_layer, taps, tower, up, up_layer
from hackle.kernels.covariance import covariance_deviations
from hackle.kernels.likelihood import bernoulli_error, unit_interval
from hackle.kernels.linear import linear
from hackle.kernels.mixture import mixture_densities
from hackle.kernels.posterior import posterior_sample

__all__ = [
    "Rows",
    "adam_step",
    "bernoulli_error",
    "covariance_deviations",
    "down",
    "down_layer",
    "linear",
    "mixture_densities",
    "posterior_sample",
    "taps",
    "tower",
    "unit_interval",
    "up",
    "up_layer",
]
