"""Batch normalisation with the leaky ReLU that follows: two passes over the values each way on CUDA, PyTorch elsewhere.

    x̂ = (x − mean) / √(variance + ε),   y = leaky(w x̂ + b)         mean and variance of each feature over all rows
    g = leaky′(w x̂ + b) ⊙ ∂y,   ∂b = Σ g,   ∂w = Σ g x̂,   ∂x = w / √(variance + ε) · (g − ∂b / n − x̂ ∂w / n)

There are no second derivatives on CUDA.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from hackle.core.triton_shim import on_triton
from hackle.kernels import triton_normalisation
from hackle.kernels.convolution import leaky
from hackle.kernels.mapping import Stackable

EPSILON = 1e-5
"""Added to variances; the value of Ioffe & Szegedy's reference implementations."""


class _BatchNormalise(Stackable):
    """Rows (…, n, f) with weights and biases (…, f). The second output is the sums from which the statistics were
    computed."""

    @staticmethod
    def forward(values: Tensor, weight: Tensor, bias: Tensor, slope: float) -> tuple[Tensor, Tensor]:
        if values.dim() == 2:
            result, sums = _BatchNormalise.forward(values[None], weight[None], bias[None], slope)
            return result[0], sums[0]
        return triton_normalisation.forward(values, weight, bias, slope, EPSILON)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        values, weight, bias, ctx.slope = inputs
        ctx.save_for_backward(values, weight, bias, output[1])
        ctx.mark_non_differentiable(output[1])
        ctx.set_materialize_grads(False)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Any) -> Any:
        given = (grads[0], *ctx.saved_tensors)
        alone = grads[0].dim() == 2
        if alone:
            given = tuple(value[None] for value in given)
        of_values, sums = triton_normalisation.back(*given, slope=ctx.slope, epsilon=EPSILON)
        answers = (of_values, sums[:, 1], sums[:, 0])
        return *((answer[0] for answer in answers) if alone else answers), None


def moments(values: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance of each feature, the last axis, over all the others."""
    rows = values.flatten(0, -2)
    return rows.mean(0), rows.var(0, correction=0)


def normalise(values: Tensor, mean: Tensor, variance: Tensor, weight: Tensor, bias: Tensor, slope: float) -> Tensor:
    """Values normalised by given moments, in float32 or better, through a leaky ReLU."""
    exact = values.to(torch.promote_types(values.dtype, torch.float32))
    return leaky(((exact - mean) * torch.rsqrt(variance + EPSILON) * weight + bias).to(values.dtype), slope)


def batch_normalise(values: Tensor, weight: Tensor, bias: Tensor, slope: float = 1.0) -> Tensor:
    """Each feature, the last axis, normalised over all the others; weights and biases (f,), then a leaky ReLU: slope 0 is
    ReLU, 1 leaves values as they are."""
    if on_triton(values):
        rows = values.flatten(0, -2)
        return _BatchNormalise.apply(rows, weight, bias, slope)[0].view(values.shape)  # type: ignore[index]
    exact = values.to(torch.promote_types(values.dtype, torch.float32))
    return normalise(values, *moments(exact), weight, bias, slope)
