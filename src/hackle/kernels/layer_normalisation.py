"""Layer normalisation with the leaky ReLU that follows, twice differentiable: a kernel for each derivative on CUDA.

Each row of f features has mean μ and scale r = 1 / √(variance + ε). With x̂ = (x − μ) r, m the mean over features, gates
a = leaky′(w x̂ + b), h = a w ∂y and the symmetric P(v) = r (v − m(v) − x̂ m(v x̂)),

    forward             y = leaky(w x̂ + b)
    back                ∂x = P(h),   ∂w = Σ a ∂y x̂,   ∂b = Σ a ∂y over rows
    back through ∂x     for t: ∂(∂y) = a w P(t),   ∂w = Σ a ∂y P(t) over rows,
                        ∂x = −r² x̂ (m(t h) − m(t) m(h) − m(t x̂) m(h x̂)) − r (m(t x̂) P(h) + m(h x̂) P(t))

The last chain is for gradient penalties; the gradients of w and b are not differentiated again. One program
handles whole rows, in float32, and sums over rows run in an order that depends on the layer alone. Elsewhere PyTorch is
used.
"""

# Triton reads annotations as values.
# pyright: reportInvalidTypeForm=false

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from hackle.core.triton_shim import jit, launch, on_triton, tl, triton
from hackle.kernels.convolution import leaky
from hackle.kernels.mapping import Stackable
from hackle.kernels.triton_sums import add_parts

EPSILON = 1e-5
"""Added to variances; the default of PyTorch's layer."""
_TILE = 2048


@jit
def _normal(x, weight, bias, model, row, f, rows, w_stride, b_stride, epsilon, F: tl.constexpr):
    """x̂, r of each row, weights, and whether the leaky ReLU passes; zeros outside."""
    mask = (row < rows)[:, None] & (f < F)[None, :]
    value = tl.load(x + (model * rows + row)[:, None] * F + f[None, :], mask=mask, other=0.0).to(tl.float32)
    value = tl.where(mask, value - (tl.sum(value, 1) / F)[:, None], 0.0)
    scale = 1.0 / tl.sqrt(tl.sum(value * value, 1) / F + epsilon)
    normal = value * scale[:, None]
    w = tl.load(weight + model * w_stride + f, mask=f < F, other=0.0)
    b = tl.load(bias + model * b_stride + f, mask=f < F, other=0.0)
    return normal, scale, w, normal * w[None, :] + b[None, :]


@jit
def _project(v, normal, scale, inside, F: tl.constexpr):
    """P(v), and m(v x̂); zeros outside."""
    along = tl.sum(v * normal, 1) / F
    left = v - (tl.sum(v, 1) / F)[:, None] - normal * along[:, None]
    return tl.where(inside[None, :], left * scale[:, None], 0.0), along


@jit
def _forward_kernel(
    x, weight, bias, y, rows, w_stride, b_stride, slope, epsilon, F: tl.constexpr, BR: tl.constexpr, BF: tl.constexpr
):
    model = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * BR + tl.arange(0, BR)
    f = tl.arange(0, BF)
    _, _, _, result = _normal(x, weight, bias, model, row, f, rows, w_stride, b_stride, epsilon, F)
    result = tl.where(result > 0, result, result * slope)
    at = (model * rows + row)[:, None] * F + f[None, :]
    tl.store(y + at, result.to(y.dtype.element_ty), mask=(row < rows)[:, None] & (f < F)[None, :])


@jit
def _back_kernel(
    x, weight, bias, grad, of_x, parts, rows, w_stride, b_stride, slope, epsilon,
    F: tl.constexpr, BR: tl.constexpr, BF: tl.constexpr, SUMS: tl.constexpr,
):  # fmt: skip
    model = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * BR + tl.arange(0, BR)
    f = tl.arange(0, BF)
    mask = (row < rows)[:, None] & (f < F)[None, :]
    at = (model * rows + row)[:, None] * F + f[None, :]
    normal, scale, w, before = _normal(x, weight, bias, model, row, f, rows, w_stride, b_stride, epsilon, F)
    q = tl.load(grad + at, mask=mask, other=0.0).to(tl.float32)
    q = tl.where(before > 0, q, q * slope)
    gradient, _ = _project(q * w[None, :], normal, scale, f < F, F)
    tl.store(of_x + at, gradient.to(of_x.dtype.element_ty), mask=mask)
    if SUMS:
        part = parts + (model * tl.num_programs(0) + tl.program_id(0)) * 2 * F + f
        tl.store(part, tl.sum(q * normal, 0), mask=f < F)
        tl.store(part + F, tl.sum(q, 0), mask=f < F)


@jit
def _back_through_kernel(
    x, weight, bias, grad, t, of_grad, of_x, parts, rows, w_stride, b_stride, slope, epsilon,
    F: tl.constexpr, BR: tl.constexpr, BF: tl.constexpr,
):  # fmt: skip
    model = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * BR + tl.arange(0, BR)
    f = tl.arange(0, BF)
    mask = (row < rows)[:, None] & (f < F)[None, :]
    at = (model * rows + row)[:, None] * F + f[None, :]
    normal, scale, w, before = _normal(x, weight, bias, model, row, f, rows, w_stride, b_stride, epsilon, F)
    q = tl.load(grad + at, mask=mask, other=0.0).to(tl.float32)
    q = tl.where(before > 0, q, q * slope)
    h = q * w[None, :]
    given = tl.load(t + at, mask=mask, other=0.0).to(tl.float32)
    of_h, along_h = _project(h, normal, scale, f < F, F)
    of_t, along_t = _project(given, normal, scale, f < F, F)
    back = of_t * w[None, :]
    back = tl.where(before > 0, back, back * slope)
    tl.store(of_grad + at, back.to(of_grad.dtype.element_ty), mask=mask)
    means = tl.sum(given, 1) / F * tl.sum(h, 1) / F
    bracket = (tl.sum(given * h, 1) / F - means - along_h * along_t) * scale
    gradient = -(normal * bracket[:, None] + of_h * along_t[:, None] + of_t * along_h[:, None]) * scale[:, None]
    tl.store(of_x + at, gradient.to(of_x.dtype.element_ty), mask=mask)
    part = parts + (model * tl.num_programs(0) + tl.program_id(0)) * F + f
    tl.store(part, tl.sum(q * of_t, 0), mask=f < F)


def _on_rows(
    kernel: Any, x: Tensor, parameters: tuple[Tensor, ...], others: tuple[Tensor, ...], slope: float, **flags: Any
) -> None:
    """Run a kernel on rows (m, n, f), with one program for each block of rows."""
    models, rows, features = x.shape
    weight, bias = (value if value.stride(1) == 1 else value.contiguous() for value in parameters)
    launch(
        kernel, (_programs(x), models),
        x.contiguous(), weight, bias, *others, rows, weight.stride(0), bias.stride(0), slope, EPSILON,
        F=features, BR=_block(features), BF=max(16, triton.next_power_of_2(features)), **flags,
    )  # fmt: skip


def _block(features: int) -> int:
    return max(2, _TILE // max(16, triton.next_power_of_2(features)))


def _programs(x: Tensor) -> int:
    return triton.cdiv(x.shape[1], _block(x.shape[2]))


def _stacks(*values: Tensor) -> tuple[Tensor, ...]:
    """Rows (m, n, f) and parameters (m, f), with the model axis added where there is one model without it."""
    return tuple(value[None] for value in values) if values[0].dim() == 2 else values


class _Normalise(Stackable):
    @staticmethod
    def forward(x: Tensor, weight: Tensor, bias: Tensor, slope: float) -> tuple[Tensor]:
        y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
        rows, *parameters = _stacks(x, weight, bias)
        _on_rows(_forward_kernel, rows, tuple(parameters), (y,), slope)
        return (y,)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        *tensors, ctx.slope = inputs
        ctx.save_for_backward(*tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        needs_parameters = any(ctx.needs_input_grad[1:3])
        gradients: Any = _Gradient.apply(grads[0], *ctx.saved_tensors, ctx.slope, needs_parameters)
        return *(gradients if needs_parameters else (*gradients, None, None)), None


class _Gradient(Stackable):
    """∂x from ∂y and, if asked for, ∂w and ∂b."""

    @staticmethod
    def forward(
        grad: Tensor, x: Tensor, weight: Tensor, bias: Tensor, slope: float, needs_parameters: bool
    ) -> tuple[Tensor, ...]:
        rows, *parameters = _stacks(x, weight, bias)
        of_x = torch.empty(x.shape, dtype=x.dtype, device=x.device)
        count = _programs(rows) if needs_parameters else 0
        parts = torch.empty(len(rows), count, 2, x.shape[-1], dtype=torch.float32, device=x.device)
        others = (grad.contiguous(), of_x, parts)
        _on_rows(_back_kernel, rows, tuple(parameters), others, slope, SUMS=needs_parameters)
        if not needs_parameters:
            return (of_x,)
        of_weight, of_bias = add_parts(parts).view(*weight.shape[:-1], 2, -1).unbind(-2)
        return of_x, of_weight, of_bias

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        *tensors, ctx.slope, _ = inputs
        ctx.save_for_backward(*tensors)
        ctx.set_materialize_grads(False)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Any) -> Any:
        if any(value is not None for value in grads[1:]):
            raise RuntimeError(
                "on CUDA the gradients of a layer normalisation's weight and bias cannot be differentiated again; only the "
                "gradient in its input can"
            )
        grad, x, weight, bias = ctx.saved_tensors
        rows, *parameters = _stacks(x, weight, bias)
        of_grad, of_x = (torch.empty(x.shape, dtype=x.dtype, device=x.device) for _ in range(2))
        parts = torch.empty(len(rows), _programs(rows), x.shape[-1], dtype=torch.float32, device=x.device)
        others = (grad.contiguous(), grads[0].contiguous(), of_grad, of_x, parts)
        _on_rows(_back_through_kernel, rows, tuple(parameters), others, ctx.slope)
        return of_grad, of_x, add_parts(parts).view(weight.shape), None, None, None


def layer_normalise(values: Tensor, weight: Tensor, bias: Tensor, slope: float = 1.0) -> Tensor:
    """Each row (b, f) normalised over its features, with weights and biases (f,), then a leaky ReLU: slope 0 is ReLU, 1
    leaves values as they are."""
    if on_triton(values) and values.dim() == 2:
        return _Normalise.apply(values, weight, bias, slope)[0]  # type: ignore[index]
    exact = values.to(torch.promote_types(values.dtype, torch.float32))
    return leaky(F.layer_norm(exact, weight.shape, weight, bias, EPSILON).to(values.dtype), slope)
