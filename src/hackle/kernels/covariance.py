"""How far a batch's covariance is from the identity, for stacks of models: the two penalties of DIP-VAE.

    C = 1/b Σ_b (mean − average)(mean − average)ᵀ  [+ 1/b Σ_b diag(s) Σ diag(s)]        s = exp(logvar / 2)
    off-diagonal Σ_{i≠j} C_ij²,   diagonal Σ_i (C_ii − 1)²

The part in brackets, the mean of the posteriors' own covariances, is added if logvars are given. On CUDA one Triton
program handles one model's batch, in float32, in an order that depends on the batch alone. There is no second
derivative on CUDA, and none with respect to the correlation. Elsewhere, in float64 and with more than 64 latents,
PyTorch is used.
"""

# Triton reads annotations as values.
# pyright: reportInvalidTypeForm=false

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from hackle.core.gaussian import Scalar, covariance
from hackle.core.triton_shim import jit, launch, on_triton, tl, triton
from hackle.kernels.mapping import Stackable

_MOST_LATENTS = 64
_ROWS = 32


@jit
def _average(means, model, latent, B: tl.constexpr, L: tl.constexpr, BB: tl.constexpr, BL: tl.constexpr):
    total = tl.zeros((BL,), tl.float32)
    for start in range(0, B, BB):
        row = start + tl.arange(0, BB)
        mask = (row < B)[:, None] & (latent < L)[None, :]
        at = (model * B + row[:, None]) * L + latent[None, :]
        total += tl.sum(tl.load(means + at, mask=mask, other=0.0).to(tl.float32), 0)
    return total / B


@jit
def _deviations_kernel(
    means, logvars, correlation, matrices, off_diagonal, diagonal,
    WITHIN: tl.constexpr, B: tl.constexpr, L: tl.constexpr, BB: tl.constexpr, BL: tl.constexpr,
):  # fmt: skip
    model = tl.program_id(0).to(tl.int64)
    latent = tl.arange(0, BL)
    average = _average(means, model, latent, B, L, BB, BL)
    between = tl.zeros((BL, BL), tl.float32)
    within = tl.zeros((BL, BL), tl.float32)
    for start in range(0, B, BB):
        row = start + tl.arange(0, BB)
        mask = (row < B)[:, None] & (latent < L)[None, :]
        at = (model * B + row[:, None]) * L + latent[None, :]
        centred = tl.load(means + at, mask=mask, other=0.0).to(tl.float32) - average[None, :]
        centred = tl.where(mask, centred, 0.0)
        between = tl.dot(tl.trans(centred), centred, between, input_precision="ieee")
        if WITHIN:
            spread = tl.exp(0.5 * tl.load(logvars + at, mask=mask, other=0.0).to(tl.float32))
            spread = tl.where(mask, spread, 0.0)
            within = tl.dot(tl.trans(spread), spread, within, input_precision="ieee")
    same = latent[:, None] == latent[None, :]
    real = (latent < L)[:, None] & (latent < L)[None, :]
    matrix = between / B
    if WITHIN:
        matrix += tl.where(same, 1.0, tl.load(correlation + model).to(tl.float32)) * within / B
    tl.store(matrices + model * L * L + latent[:, None] * L + latent[None, :], matrix, mask=real)
    off = tl.where(real & (latent[:, None] != latent[None, :]), matrix * matrix, 0.0)
    own = tl.where(real & same, (matrix - 1.0) * (matrix - 1.0), 0.0)
    tl.store(off_diagonal + model, tl.sum(tl.sum(off, 1), 0))
    tl.store(diagonal + model, tl.sum(tl.sum(own, 1), 0))


@jit
def _gradient_kernel(
    means, logvars, correlation, matrices, off_grad, diagonal_grad, means_grad, logvars_grad,
    WITHIN: tl.constexpr, B: tl.constexpr, L: tl.constexpr, BB: tl.constexpr, BL: tl.constexpr,
):  # fmt: skip
    model = tl.program_id(0).to(tl.int64)
    latent = tl.arange(0, BL)
    average = _average(means, model, latent, B, L, BB, BL)
    same = latent[:, None] == latent[None, :]
    real = (latent < L)[:, None] & (latent < L)[None, :]
    matrix = tl.load(matrices + model * L * L + latent[:, None] * L + latent[None, :], mask=real, other=0.0)
    # Twice the penalties' derivative in C: C is symmetric, and each row of the batch is on both sides of its product.
    slope = (
        4.0 / B * tl.where(same, tl.load(diagonal_grad + model) * (matrix - 1.0), tl.load(off_grad + model) * matrix)
    )
    slope = tl.where(real, slope, 0.0)
    row = tl.program_id(1) * BB + tl.arange(0, BB)
    mask = (row < B)[:, None] & (latent < L)[None, :]
    at = (model * B + row[:, None]) * L + latent[None, :]
    centred = tl.load(means + at, mask=mask, other=0.0).to(tl.float32) - average[None, :]
    by_mean = tl.dot(tl.where(mask, centred, 0.0), slope, input_precision="ieee")
    tl.store(means_grad + at, by_mean.to(means_grad.dtype.element_ty), mask=mask)
    if WITHIN:
        spread = tl.exp(0.5 * tl.load(logvars + at, mask=mask, other=0.0).to(tl.float32))
        correlated = slope * tl.where(same, 1.0, tl.load(correlation + model).to(tl.float32))
        by_logvar = 0.5 * spread * tl.dot(tl.where(mask, spread, 0.0), correlated, input_precision="ieee")
        tl.store(logvars_grad + at, by_logvar.to(logvars_grad.dtype.element_ty), mask=mask)


def _sizes(means: Tensor) -> dict[str, int]:
    batch, latents = means.shape[-2:]
    return {"B": batch, "L": latents, "BB": _ROWS, "BL": max(16, triton.next_power_of_2(latents))}


class _Deviations(Stackable):
    """(…, b, l) means and logvars and (…) correlations to (…), (…) and the covariances (…, l, l), on CUDA."""

    @staticmethod
    def forward(means: Tensor, logvars: Tensor, correlation: Tensor, within: bool) -> tuple[Tensor, Tensor, Tensor]:
        given = [value.contiguous() for value in (means, logvars, correlation)]
        *models, _, latents = means.shape
        matrices = torch.empty((*models, latents, latents), dtype=torch.float32, device=means.device)
        off_diagonal, diagonal = (torch.empty(models, dtype=torch.float32, device=means.device) for _ in range(2))
        answers = matrices, off_diagonal, diagonal
        launch(_deviations_kernel, (diagonal.numel(),), *given, *answers, WITHIN=within, **_sizes(means))
        return off_diagonal, diagonal, matrices

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        *tensors, ctx.within = inputs
        ctx.save_for_backward(*tensors, output[2])
        ctx.mark_non_differentiable(output[2])
        # Otherwise zeros would be allocated for missing gradients.
        ctx.set_materialize_grads(False)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Any) -> Any:
        given = [value.contiguous() for value in ctx.saved_tensors]
        matrices = given[-1]
        pulls = [
            torch.zeros(matrices.shape[:-2], device=matrices.device) if grad is None else grad.contiguous()
            for grad in grads[:2]
        ]
        means_grad = torch.empty_like(given[0])
        logvars_grad = torch.empty_like(given[1]) if ctx.within else None
        sizes = _sizes(given[0])
        launch(
            _gradient_kernel, (pulls[0].numel(), triton.cdiv(sizes["B"], sizes["BB"])),
            *given, *pulls, means_grad, means_grad if logvars_grad is None else logvars_grad, WITHIN=ctx.within, **sizes,
        )  # fmt: skip
        return means_grad, logvars_grad, None, None


def covariance_of_means(means: Tensor) -> Tensor:
    """The covariance (l, l) of a batch of means (b, l), divided by b."""
    centred = means - means.mean(0)
    return centred.T @ centred / len(means)


def deviations_from_identity(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """Σ_{i≠j} C_ij² and Σ_i (C_ii − 1)² of a matrix (l, l)."""
    diagonal = matrix.diagonal()
    off_diagonal = matrix - torch.diag_embed(diagonal)
    return off_diagonal.square().sum(), (diagonal - 1).square().sum()


def covariance_deviations(
    means: Tensor, logvars: Tensor | None = None, correlation: Scalar = 0.0
) -> tuple[Tensor, Tensor]:
    """Σ_{i≠j} C_ij² and Σ_i (C_ii − 1)² of the covariance C of a batch's means (b, l), divided by b; with logvars (b, l), of
    that plus the mean of the posteriors' covariances."""
    if on_triton(means) and means.shape[-1] <= _MOST_LATENTS:
        within = logvars is not None
        shared = correlation if isinstance(correlation, Tensor) else means.new_full((), correlation)
        return _Deviations.apply(means, logvars if within else means, shared, within)[:2]  # type: ignore[index]
    matrix = covariance_of_means(means)
    if logvars is not None:
        matrix = matrix + covariance(logvars, correlation).mean(0)
    return deviations_from_identity(matrix)
