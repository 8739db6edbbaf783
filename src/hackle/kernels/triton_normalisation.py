"""Batch normalisation with the leaky ReLU that follows, for stacks of models, in Triton: see
`hackle.kernels.normalisation`.

Values are read in the networks' dtype, (m, n, f) with features last, and computed with in float32. In either direction
one pass sums and the other applies the sums. The normalised values are recomputed where they are needed, so
that only the layer's input is kept. Variances are sums of squares around a feature's first value, which lies near the
mean, so that no precision is lost. Sums run in an order that depends on the layer alone: a model's numbers are
bit-identical in any fleet.
"""

# Triton reads annotations as values.
# pyright: reportInvalidTypeForm=false

from __future__ import annotations

import torch
from torch import Tensor

from hackle.core.triton_shim import jit, launch, tl, triton
from hackle.kernels.triton_sums import add_parts

_TILE = 4096
_ROWS_PER_SPLIT = 1024
"""Rows that one program sums; the partial sums are then added in order."""


@jit
def _moments(x, sums, model, rows, f, inverse, epsilon, F: tl.constexpr):
    """Mean and 1/√(variance + ε) of each feature, from its sums around its first value."""
    first = tl.load(sums + model * 2 * F + f, mask=f < F, other=0.0) * inverse
    second = tl.load(sums + model * 2 * F + F + f, mask=f < F, other=0.0) * inverse
    shift = tl.load(x + model * rows * F + f, mask=f < F, other=0.0).to(tl.float32)
    return shift + first, 1.0 / tl.sqrt(tl.maximum(second - first * first, 0.0) + epsilon)


@jit
def _statistics_kernel(x, parts, rows, F: tl.constexpr, BR: tl.constexpr, BF: tl.constexpr, PER_SPLIT: tl.constexpr):
    """One split's Σ (x − x₀) and Σ (x − x₀)², where x₀ is the first row."""
    model = tl.program_id(1).to(tl.int64)
    split = tl.program_id(0)
    f = tl.program_id(2) * BF + tl.arange(0, BF)
    base = x + model * rows * F
    shift = tl.load(base + f, mask=f < F, other=0.0).to(tl.float32)
    first = tl.zeros((BR, BF), tl.float32)
    second = tl.zeros((BR, BF), tl.float32)
    for start in range(0, PER_SPLIT, BR):
        row = split * PER_SPLIT + start + tl.arange(0, BR)
        mask = (row < rows)[:, None] & (f < F)[None, :]
        value = tl.load(base + row[:, None] * F + f[None, :], mask=mask, other=0.0).to(tl.float32) - shift[None, :]
        value = tl.where(mask, value, 0.0)
        first += value
        second += value * value
    part = parts + (model * tl.num_programs(0) + split) * 2 * F + f
    tl.store(part, tl.sum(first, 0), mask=f < F)
    tl.store(part + F, tl.sum(second, 0), mask=f < F)


@jit
def _apply_kernel(
    x, weight, bias, sums, y, rows, w_stride, b_stride, slope, inverse, epsilon,
    F: tl.constexpr, BR: tl.constexpr, BF: tl.constexpr,
):  # fmt: skip
    model = tl.program_id(1).to(tl.int64)
    f = tl.program_id(2) * BF + tl.arange(0, BF)
    row = tl.program_id(0) * BR + tl.arange(0, BR)
    mask = (row < rows)[:, None] & (f < F)[None, :]
    at = model * rows * F + row[:, None] * F + f[None, :]
    value = tl.load(x + at, mask=mask, other=0.0).to(tl.float32)
    mean, scale = _moments(x, sums, model, rows, f, inverse, epsilon, F)
    w = tl.load(weight + model * w_stride + f, mask=f < F, other=0.0)
    b = tl.load(bias + model * b_stride + f, mask=f < F, other=0.0)
    value = (value - mean[None, :]) * scale[None, :] * w[None, :] + b[None, :]
    value = tl.where(value > 0, value, value * slope)
    tl.store(y + at, value.to(y.dtype.element_ty), mask=mask)


@jit
def _back_statistics_kernel(
    x, grad, weight, bias, sums, parts, rows, w_stride, b_stride, slope, inverse, epsilon,
    F: tl.constexpr, BR: tl.constexpr, BF: tl.constexpr, PER_SPLIT: tl.constexpr,
):  # fmt: skip
    """One split's Σ g and Σ g x̂."""
    model = tl.program_id(1).to(tl.int64)
    split = tl.program_id(0)
    f = tl.program_id(2) * BF + tl.arange(0, BF)
    mean, scale = _moments(x, sums, model, rows, f, inverse, epsilon, F)
    w = tl.load(weight + model * w_stride + f, mask=f < F, other=0.0)
    b = tl.load(bias + model * b_stride + f, mask=f < F, other=0.0)
    first = tl.zeros((BR, BF), tl.float32)
    second = tl.zeros((BR, BF), tl.float32)
    for start in range(0, PER_SPLIT, BR):
        row = split * PER_SPLIT + start + tl.arange(0, BR)
        mask = (row < rows)[:, None] & (f < F)[None, :]
        at = model * rows * F + row[:, None] * F + f[None, :]
        g = tl.load(grad + at, mask=mask, other=0.0).to(tl.float32)
        normal = (tl.load(x + at, mask=mask, other=0.0).to(tl.float32) - mean[None, :]) * scale[None, :]
        g = tl.where(normal * w[None, :] + b[None, :] > 0, g, g * slope)
        first += g
        second += g * normal
    part = parts + (model * tl.num_programs(0) + split) * 2 * F + f
    tl.store(part, tl.sum(first, 0), mask=f < F)
    tl.store(part + F, tl.sum(second, 0), mask=f < F)


@jit
def _back_apply_kernel(
    x, grad, weight, bias, sums, back_sums, out, rows, w_stride, b_stride, slope, inverse, epsilon,
    F: tl.constexpr, BR: tl.constexpr, BF: tl.constexpr,
):  # fmt: skip
    model = tl.program_id(1).to(tl.int64)
    f = tl.program_id(2) * BF + tl.arange(0, BF)
    row = tl.program_id(0) * BR + tl.arange(0, BR)
    mask = (row < rows)[:, None] & (f < F)[None, :]
    at = model * rows * F + row[:, None] * F + f[None, :]
    g = tl.load(grad + at, mask=mask, other=0.0).to(tl.float32)
    value = tl.load(x + at, mask=mask, other=0.0).to(tl.float32)
    mean, scale = _moments(x, sums, model, rows, f, inverse, epsilon, F)
    w = tl.load(weight + model * w_stride + f, mask=f < F, other=0.0)
    b = tl.load(bias + model * b_stride + f, mask=f < F, other=0.0)
    of_bias = tl.load(back_sums + model * 2 * F + f, mask=f < F, other=0.0) * inverse
    of_weight = tl.load(back_sums + model * 2 * F + F + f, mask=f < F, other=0.0) * inverse
    normal = (value - mean[None, :]) * scale[None, :]
    g = tl.where(normal * w[None, :] + b[None, :] > 0, g, g * slope)
    g = (g - of_bias[None, :] - normal * of_weight[None, :]) * (w * scale)[None, :]
    tl.store(out + at, g.to(out.dtype.element_ty), mask=mask)


def _cut(rows: int, features: int) -> tuple[int, int, int, int]:
    """Features and rows of a tile, rows of a split, number of splits: fixed by the layer alone."""
    wide = min(max(16, triton.next_power_of_2(features)), 128)
    tall = _TILE // wide
    per_split = min(_ROWS_PER_SPLIT, triton.cdiv(rows, tall) * tall)
    return wide, tall, per_split, triton.cdiv(rows, per_split)


def _whole_rows(stacked: Tensor) -> Tensor:
    """Parameters (m, f) whose models may lie apart in memory but are contiguous each."""
    return stacked if stacked.stride(1) == 1 else stacked.contiguous()


def forward(x: Tensor, weight: Tensor, bias: Tensor, slope: float, epsilon: float) -> tuple[Tensor, Tensor]:
    """Values (m, n, f) normalised, and the sums (m, 2, f) that give their moments."""
    models, rows, features = x.shape
    x, weight, bias = x.contiguous(), _whole_rows(weight), _whole_rows(bias)
    wide, tall, per_split, splits = _cut(rows, features)
    across = triton.cdiv(features, wide)
    parts = torch.empty(models, splits, 2, features, device=x.device)
    y = torch.empty_like(x)
    tile = {"F": features, "BR": tall, "BF": wide}
    launch(_statistics_kernel, (splits, models, across), x, parts, rows, **tile, PER_SPLIT=per_split)
    sums = parts[:, 0] if splits == 1 else add_parts(parts)
    settings = (rows, weight.stride(0), bias.stride(0), slope, 1 / rows, epsilon)
    launch(_apply_kernel, (triton.cdiv(rows, tall), models, across), x, weight, bias, sums, y, *settings, **tile)
    return y, sums


def back(
    grad: Tensor, x: Tensor, weight: Tensor, bias: Tensor, sums: Tensor, slope: float, epsilon: float
) -> tuple[Tensor, Tensor]:
    """The gradient in x, and the sums (m, 2, f) that are the gradients in bias and weight."""
    models, rows, features = x.shape
    x, grad, weight, bias = x.contiguous(), grad.contiguous(), _whole_rows(weight), _whole_rows(bias)
    wide, tall, per_split, splits = _cut(rows, features)
    across = triton.cdiv(features, wide)
    parts = torch.empty(models, splits, 2, features, device=x.device)
    out = torch.empty_like(x)
    settings = (rows, weight.stride(0), bias.stride(0), slope, 1 / rows, epsilon)
    given, tile = (x, grad, weight, bias, sums), {"F": features, "BR": tall, "BF": wide}
    launch(_back_statistics_kernel, (splits, models, across), *given, parts, *settings, **tile, PER_SPLIT=per_split)
    back_sums = parts[:, 0] if splits == 1 else add_parts(parts)
    grid = (triton.cdiv(rows, tall), models, across)
    launch(_back_apply_kernel, grid, *given, back_sums, out, *settings, **tile)
    return out, back_sums
