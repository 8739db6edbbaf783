"""The operators of stacked models: convolution, linear layer, products in blocks, normalisation, Bernoulli error, posteriors
and their mixture, clipping, Adam.

Triton on CUDA, PyTorch elsewhere.
"""

from hackle.kernels.adam import Rows, adam_step
from hackle.kernels.blocks import products
from hackle.kernels.clipping import clip_factors
from hackle.kernels.convolution import down, down_layer, taps, up, up_layer
from hackle.kernels.covariance import covariance_deviations
from hackle.kernels.density import gaussian_log_density
from hackle.kernels.halves import halves
from hackle.kernels.layer_normalisation import layer_normalise
from hackle.kernels.likelihood import bernoulli_error, unit_interval
from hackle.kernels.linear import linear
from hackle.kernels.mixture import mixture_densities
from hackle.kernels.normalisation import batch_normalise, moments, normalise
from hackle.kernels.posterior import posterior_sample
from hackle.kernels.running_terms import Term, note_terms
from hackle.kernels.tower import tower

__all__ = [
    "Rows",
    "Term",
    "adam_step",
    "batch_normalise",
    "bernoulli_error",
    "clip_factors",
    "covariance_deviations",
    "down",
    "down_layer",
    "gaussian_log_density",
    "halves",
    "layer_normalise",
    "linear",
    "mixture_densities",
    "moments",
    "normalise",
    "note_terms",
    "posterior_sample",
    "products",
    "taps",
    "tower",
    "unit_interval",
    "up",
    "up_layer",
]
