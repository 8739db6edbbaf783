"""Fully connected layers for stacks of models: batched matrix products whose weight gradient is laid out like the weight.

    y = x Wᵀ + b        x (…, b, i), W (…, o, i), b (…, o)

A leaky ReLU may follow: slope 0 is ReLU, 1 none. Under `vmap` PyTorch's own linear layer leaves the weight's gradient
transposed, which costs the next reader a copy.

Without the leaky ReLU, gradients are products of the same kind, so they can be differentiated again. With it, a Triton
kernel on CUDA adds the bias and applies the leaky ReLU in one pass, and another, in the backward pass, takes the
gradient through it and sums it for the bias, in an order that depends on the layer alone; there is no second derivative
then. Elsewhere PyTorch is used. A weight's gradient is computed beside the one that goes further back.
"""

# Triton reads annotations as values, and its kernels name sizes as the formulas do.
# pyright: reportInvalidTypeForm=false
# ruff: noqa: E741

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from hackle.core.triton_shim import jit, launch, on_triton, tl, triton
from hackle.kernels.branch import Branch
from hackle.kernels.convolution import leaky
from hackle.kernels.mapping import Stackable
from hackle.kernels.product import times

_COLUMNS = 128
_TILE = 4096


@jit
def _leaky_kernel(values, bias, batch, stride, slope, O: tl.constexpr, BB: tl.constexpr, BO: tl.constexpr):
    """leaky(values + bias), in place, for a block of rows and columns."""
    model = tl.program_id(0).to(tl.int64)
    row = tl.program_id(2) * BB + tl.arange(0, BB)
    column = tl.program_id(1) * BO + tl.arange(0, BO)
    mask = (row < batch)[:, None] & (column < O)[None, :]
    at = values + (model * batch + row[:, None]) * O + column[None, :]
    added = tl.load(bias + model * stride + column, mask=column < O, other=0.0).to(tl.float32)
    y = tl.load(at, mask=mask, other=0.0).to(tl.float32) + added[None, :]
    tl.store(at, tl.where(y > 0, y, y * slope).to(values.dtype.element_ty), mask=mask)


@jit
def _gradient_kernel(
    grad, output, out, sums, slope, B: tl.constexpr, O: tl.constexpr, BB: tl.constexpr, BO: tl.constexpr
):
    """The gradient in the leaky ReLU's input, from the one in its output, and its sum over rows, for a block of
    columns."""
    model = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BO + tl.arange(0, BO)
    total = tl.zeros((BO,), tl.float32)
    for start in range(0, B, BB):
        row = start + tl.arange(0, BB)
        mask = (row < B)[:, None] & (column < O)[None, :]
        at = (model * B + row[:, None]) * O + column[None, :]
        passed = tl.load(output + at, mask=mask, other=0.0) > 0
        g = tl.load(grad + at, mask=mask, other=0.0).to(tl.float32)
        g = tl.where(passed, g, g * slope)
        tl.store(out + at, g.to(out.dtype.element_ty), mask=mask)
        total += tl.sum(g, 0)
    tl.store(sums + model * O + column, total.to(sums.dtype.element_ty), mask=column < O)


def _sizes(values: Tensor) -> dict[str, int]:
    batch, outputs = values.shape[-2:]
    wide = min(triton.next_power_of_2(outputs), _COLUMNS)
    return {"B": batch, "O": outputs, "BB": min(triton.next_power_of_2(batch), _TILE // wide), "BO": wide}


def _transposed(values: Tensor) -> Tensor:
    return values.transpose(-1, -2)


class _Linear(Stackable):
    @staticmethod
    def forward(values: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        if values.dim() == 2:
            return times(values, weight, bias)
        return torch.baddbmm(bias.unsqueeze(1), values, _transposed(weight))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.save_for_backward(*inputs[:2])

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        (values, weight), (grad,) = ctx.saved_tensors, grads
        needs_values, needs_weight, needs_bias = ctx.needs_input_grad
        if grad.dim() == 2:
            return (
                times(grad, weight.T) if needs_values else None,
                times(grad.T, values.T) if needs_weight else None,
                grad.sum(-2) if needs_bias else None,
            )
        with Branch(grad, alone=torch.is_grad_enabled()) as beside:
            of_weight = beside(torch.matmul, _transposed(grad), values) if needs_weight else None
            of_bias = beside(torch.sum, grad, -2) if needs_bias else None
            return grad @ weight if needs_values else None, of_weight, of_bias


class _LeakyLinear(Stackable):
    """A layer with its leaky ReLU, on CUDA; the output is kept, since it shows where the leaky ReLU was active."""

    @staticmethod
    def forward(values: Tensor, weight: Tensor, bias: Tensor, slope: float) -> Tensor:
        output = (values @ _transposed(weight)).contiguous()
        # The biases of different models may lie apart in memory, but each one is contiguous.
        bias = bias if bias.stride(-1) == 1 else bias.contiguous()
        sizes = _sizes(output)
        # Not a constant of the kernel, as in the backward pass: encoding a data set ends with a batch of another size.
        batch = sizes.pop("B")
        models = output.numel() // (batch * sizes["O"])
        grid = (models, triton.cdiv(sizes["O"], sizes["BO"]), triton.cdiv(batch, sizes["BB"]))
        launch(_leaky_kernel, grid, output, bias, batch, bias.stride(0) if bias.dim() == 2 else 0, slope, **sizes)
        return output

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        values, weight, _, ctx.slope = inputs
        ctx.save_for_backward(values, weight, output)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Any) -> Any:
        values, weight, output = ctx.saved_tensors
        needs_values, needs_weight, *_ = ctx.needs_input_grad
        output = output.contiguous()
        grad, sums = torch.empty_like(output), torch.empty_like(output[..., 0, :])
        sizes = _sizes(output)
        models = output.numel() // (sizes["B"] * sizes["O"])
        grid = (models, triton.cdiv(sizes["O"], sizes["BO"]))
        launch(_gradient_kernel, grid, grads[0].contiguous(), output, grad, sums, ctx.slope, **sizes)
        with Branch(grad) as beside:
            of_weight = beside(torch.matmul, _transposed(grad), values) if needs_weight else None
            return grad @ weight if needs_values else None, of_weight, sums, None


def linear(values: Tensor, weight: Tensor, bias: Tensor, slope: float = 1.0) -> Tensor:
    """(b, i) through weights (o, i), bias (o,) and a leaky ReLU to (b, o): slope 0 is ReLU, 1 leaves values as they are."""
    if slope == 1.0:
        return _Linear.apply(values, weight, bias)  # type: ignore[no-any-return]
    if on_triton(values):
        return _LeakyLinear.apply(values, weight, bias, slope)  # type: ignore[no-any-return]
    return leaky(linear(values, weight, bias), slope)
