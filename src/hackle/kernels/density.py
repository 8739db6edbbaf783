"""The log density of correlated Gaussians and its gradient in one kernel launch each, where PyTorch needs about ninety.

With u = (z − mean) exp(−logvar / 2), s = Σ u², t = Σ u over l latents, and the two eigenvalues' inverses a = 1 / (1 − σ) and
b = 1 / (1 − σ + lσ), as in `hackle.core.gaussian.log_densities`,

    log q  = −½ (l log 2π + Σ logvar + a s + (b − a) t² / l) − ½ log det Σ
    ∂u     = −a u − (b − a) t / l,   ∂mean = −∂u exp(−logvar / 2),   ∂logvar = −½ (1 + u ∂u)

On CUDA, with a σ for each model, in float32. There is no gradient in z and σ there, and no second derivative.
"""

# Triton reads annotations as values.
# pyright: reportInvalidTypeForm=false

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from hackle.core.gaussian import Scalar, log_density
from hackle.core.triton_shim import jit, launch, on_triton, tl, triton
from hackle.kernels.mapping import Stackable

_ROWS = 64


@jit
def _load(
    z, means, logvars, correlation, row, rows, batch, z_step, mean_step, logvar_step, L: tl.constexpr, BL: tl.constexpr
):
    """u, exp(−logvar / 2), the logvars, and each row's σ."""
    l = tl.arange(0, BL)  # noqa: E741
    mask = (row < rows)[:, None] & (l < L)[None, :]
    logvar = tl.load(logvars + row[:, None] * logvar_step + l[None, :], mask=mask, other=0.0)
    mean = tl.load(means + row[:, None] * mean_step + l[None, :], mask=mask, other=0.0)
    value = tl.load(z + row[:, None] * z_step + l[None, :], mask=mask, other=0.0)
    sigma = tl.load(correlation + row // batch, mask=row < rows, other=0.0)
    scale = tl.exp(-0.5 * logvar)
    return (value - mean) * scale, scale, logvar, sigma


@jit
def _density_kernel(
    z, means, logvars, correlation, out, rows, batch, z_step, mean_step, logvar_step,
    L: tl.constexpr, BL: tl.constexpr, BR: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0) * BR + tl.arange(0, BR)
    u, _, logvar, sigma = _load(z, means, logvars, correlation, row, rows, batch, z_step, mean_step, logvar_step, L, BL)
    a = 1.0 / (1.0 - sigma)
    b = 1.0 / (1.0 - sigma + L * sigma)
    total = tl.sum(u, 1)
    exponent = tl.sum(logvar, 1) + a * tl.sum(u * u, 1) + (b - a) * total * total / L
    determinant = (L - 1) * tl.log(1.0 - sigma) + tl.log(1.0 + (L - 1) * sigma)
    density = -0.5 * (L * 1.8378770664093453 + exponent + determinant)
    tl.store(out + row, density, mask=row < rows)


@jit
def _gradient_kernel(
    z, means, logvars, correlation, grad, of_means, of_logvars, rows, batch, z_step, mean_step, logvar_step,
    L: tl.constexpr, BL: tl.constexpr, BR: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0) * BR + tl.arange(0, BR)
    u, scale, _, sigma = _load(z, means, logvars, correlation, row, rows, batch, z_step, mean_step, logvar_step, L, BL)
    a = 1.0 / (1.0 - sigma)
    b = 1.0 / (1.0 - sigma + L * sigma)
    l = tl.arange(0, BL)  # noqa: E741
    mask = (row < rows)[:, None] & (l < L)[None, :]
    at = row[:, None] * L + l[None, :]
    of_u = -a[:, None] * u - ((b - a) * tl.sum(u, 1) / L)[:, None]
    g = tl.load(grad + row, mask=row < rows, other=0.0)[:, None]
    tl.store(of_means + at, -g * of_u * scale, mask=mask)
    tl.store(of_logvars + at, -0.5 * g * (1.0 + u * of_u), mask=mask)


def _even_rows(values: Tensor) -> tuple[Tensor, int]:
    """Values (…, b, l) with contiguous rows at a constant stride, and that stride."""
    step = values.stride(-2)
    if values.stride(-1) != 1 or (values.dim() == 3 and values.stride(0) != values.shape[1] * step):
        values, step = values.contiguous(), values.shape[-1]
    return values, step


class _LogDensity(Stackable):
    """z, means and logvars (…, b, l) with correlations (…) to (…, b), on CUDA."""

    @staticmethod
    def forward(z: Tensor, means: Tensor, logvars: Tensor, correlation: Tensor) -> Tensor:
        out = torch.empty(means.shape[:-1], dtype=torch.float32, device=means.device)
        _on_rows(_density_kernel, (z, means, logvars, correlation), (out,))
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Any) -> Any:
        means = ctx.saved_tensors[1]
        answers = [torch.empty(means.shape, dtype=torch.float32, device=means.device) for _ in range(2)]
        _on_rows(_gradient_kernel, ctx.saved_tensors, (grads[0].contiguous(), *answers))
        return None, *answers, None


def _on_rows(kernel: Any, given: tuple[Tensor, ...], others: tuple[Tensor, ...]) -> None:
    *values, correlation = given
    pairs = [_even_rows(value) for value in values]
    rows, batch, latents = values[0].shape[:-1].numel(), values[0].shape[-2], values[0].shape[-1]
    launch(
        kernel, (triton.cdiv(rows, _ROWS),),
        *(value for value, _ in pairs), correlation.contiguous(), *others, rows, batch,
        *(step for _, step in pairs), L=latents, BL=max(16, triton.next_power_of_2(latents)), BR=_ROWS,
    )  # fmt: skip


def gaussian_log_density(z: Tensor, means: Tensor, logvars: Tensor, correlation: Scalar) -> Tensor:
    """log q(z|x) of each row, (b,), for z, means and logvars (b, l): `hackle.core.gaussian.log_density` for training."""
    single = (torch.float32,)
    if isinstance(correlation, Tensor) and on_triton(z, means, logvars, correlation, dtypes=single):
        return _LogDensity.apply(z, means, logvars, correlation)  # type: ignore[no-any-return]
    return log_density(z, means, logvars, correlation)
