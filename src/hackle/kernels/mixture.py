"""Log densities of a weighted mixture of a batch's posteriors, for stacks of models, in one pass over all pairs.

    log q(z_i)  = log Σ_j w_ij q(z_i|x_j),      log q(z_ik) = log Σ_j w_ij q(z_ik|x_jk)

with one weight for a sample's own posterior, w_ii, and one for all others. The densities q(z|x) are those of
`hackle.core.gaussian`, correlation included. On CUDA one Triton program evaluates one sample under every posterior and
keeps running sums, so that nothing of size b² reaches memory; in the backward pass one program handles one row, first
as a sample and then as a posterior. Everything is computed in float32, in an order that depends on the batch alone.
There is no second derivative on CUDA, and none with respect to the correlation. Elsewhere, and in float64, PyTorch is
used.
"""

# Triton reads annotations as values.
# pyright: reportInvalidTypeForm=false

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from hackle.core.gaussian import Scalar, log_densities
from hackle.core.triton_shim import jit, launch, on_triton, tl, triton
from hackle.kernels.mapping import Stackable

_TILE = 1024


@jit
def _correlation(at, L: tl.constexpr):
    """The inverse eigenvalues of Σ across and along the vector of ones, and ½ log(1 / det Σ)."""
    sigma = tl.load(at).to(tl.float32)
    across = 1.0 / (1.0 - sigma)
    along = 1.0 / (1.0 - sigma + L * sigma)
    constant = -0.5 * ((L - 1) * tl.log(1.0 - sigma) + tl.log(1.0 + (L - 1) * sigma))
    return across, along, constant


@jit
def _rows(values, row, k, mask, L: tl.constexpr):
    return tl.load(values + row * L + k, mask=mask & (k < L), other=0.0).to(tl.float32)


@jit
def _columns(joint, marginals, row, k, mask, L: tl.constexpr):
    """The values of each latent and, in the column after them, of the whole vector."""
    whole = tl.load(joint + row + 0 * k, mask=mask & (k == L), other=0.0)
    return _rows(marginals, row, k, mask, L) + whole


@jit
def _densities(z, mean, logvar, k, across, along, constant, L: tl.constexpr):
    """Standardised values u with their mean, and the log density of each latent and, in the column after them, of all."""
    u = (z - mean) * tl.exp(-0.5 * logvar)
    each = tl.where(k < L, -0.5 * (u * u + (logvar + 1.8378770664093453)), 0.0)
    middle = tl.sum(u, 1) / L
    excess = (across - 1.0) * tl.sum(u * u, 1) + L * (along - across) * middle * middle
    joint = tl.sum(each, 1) - 0.5 * excess + constant
    return u, middle, tl.where(k == L, joint[:, None], each)


@jit
def _slopes(u, middle, shares, own, k, across, along, L: tl.constexpr):
    """Derivatives of the loss in u and in each latent's log density, from those in the terms of the mixture and in the
    sample's own density."""
    joint = tl.sum(tl.where(k == L, shares, 0.0), 1) + own
    each = tl.where(k < L, shares, 0.0) + joint[:, None]
    by_u = -each * u - joint[:, None] * ((across - 1.0) * u + (along - across) * middle[:, None])
    return by_u, each


@jit
def _mixture_kernel(
    z, means, logvars, correlation, conditional, joint, marginals, log_own, log_others,
    B: tl.constexpr, L: tl.constexpr, BB: tl.constexpr, BL: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    first = row // B * B
    latent = tl.arange(0, BL)
    k = latent[None, :]
    across, along, constant = _correlation(correlation + row // B, L)
    sample = _rows(z, row, k, k < L, L)
    # Lower than any log density of a model that still trains; −∞ would give ∞ − ∞ in a block without weight.
    best = tl.full((BL,), -1e30, tl.float32)
    total = tl.zeros((BL,), tl.float32)
    for start in range(0, B, BB):
        j = start + tl.arange(0, BB)
        inside = (j < B)[:, None]
        other = first + j
        mean = _rows(means, other[:, None], k, inside, L)
        logvar = _rows(logvars, other[:, None], k, inside, L)
        _, _, densities = _densities(sample, mean, logvar, k, across, along, constant, L)
        own = other == row
        tl.store(conditional + row + 0 * j, tl.sum(tl.where(k == L, densities, 0.0), 1), mask=own & (j < B))
        terms = tl.where(inside, densities + tl.where(own, log_own, log_others)[:, None], float("-inf"))
        top = tl.maximum(best, tl.max(terms, 0))
        total = total * tl.exp(best - top) + tl.sum(tl.exp(terms - top[None, :]), 0)
        best = top
    mixed = best + tl.log(total)
    tl.store(marginals + row * L + latent, mixed, mask=latent < L)
    tl.store(joint + row + 0 * latent, mixed, mask=latent == L)


@jit
def _gradient_kernel(
    z, means, logvars, correlation, joint, marginals, conditional_grad, joint_grad, marginals_grad,
    z_grad, means_grad, logvars_grad, log_own, log_others,
    B: tl.constexpr, L: tl.constexpr, BB: tl.constexpr, BL: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    first = row // B * B
    latent = tl.arange(0, BL)
    k = latent[None, :]
    here = k <= L
    across, along, constant = _correlation(correlation + row // B, L)
    sample = _rows(z, row, k, here, L)
    mixed = _columns(joint, marginals, row, k, here, L)
    weight = _columns(joint_grad, marginals_grad, row, k, here, L)
    own_weight = tl.load(conditional_grad + row)
    mean = _rows(means, row, k, here, L)
    logvar = _rows(logvars, row, k, here, L)
    by_sample = tl.zeros((BL,), tl.float32)
    by_mean = tl.zeros((BL,), tl.float32)
    by_logvar = tl.zeros((BL,), tl.float32)
    for start in range(0, B, BB):
        j = start + tl.arange(0, BB)
        inside = (j < B)[:, None]
        other = (first + j)[:, None]
        own = first + j == row
        log_weights = tl.where(own, log_own, log_others)[:, None]
        # The row as a sample, against posteriors.
        logvars_there = _rows(logvars, other, k, inside, L)
        u, middle, densities = _densities(
            sample, _rows(means, other, k, inside, L), logvars_there, k, across, along, constant, L
        )
        shares = tl.where(inside, weight * tl.exp(densities + log_weights - mixed), 0.0)
        by_u, _ = _slopes(u, middle, shares, tl.where(own, own_weight, 0.0), k, across, along, L)
        by_sample += tl.sum(by_u * tl.exp(-0.5 * logvars_there), 0)
        # The row as a posterior, at samples.
        u, middle, densities = _densities(_rows(z, other, k, inside, L), mean, logvar, k, across, along, constant, L)
        mixed_there = _columns(joint, marginals, other, k, inside, L)
        weight_there = _columns(joint_grad, marginals_grad, other, k, inside, L)
        shares = tl.where(inside, weight_there * tl.exp(densities + log_weights - mixed_there), 0.0)
        by_u, by_each = _slopes(u, middle, shares, tl.where(own, own_weight, 0.0), k, across, along, L)
        by_mean -= tl.sum(by_u, 0)
        by_logvar -= 0.5 * tl.sum(by_u * u + by_each, 0)
    by_mean = by_mean * tl.sum(tl.exp(-0.5 * logvar), 0)
    at = row * L + latent
    tl.store(z_grad + at, by_sample.to(z_grad.dtype.element_ty), mask=latent < L)
    tl.store(means_grad + at, by_mean.to(means_grad.dtype.element_ty), mask=latent < L)
    tl.store(logvars_grad + at, by_logvar.to(logvars_grad.dtype.element_ty), mask=latent < L)


def _sizes(z: Tensor) -> dict[str, int]:
    batch, latents = z.shape[-2:]
    wide = triton.next_power_of_2(latents + 1)
    high = min(triton.next_power_of_2(batch), max(1, _TILE // wide))
    return {"B": batch, "L": latents, "BB": high, "BL": wide}


class _Mixture(Stackable):
    """(…, b, l) samples, means and logvars and (…) correlations to (…, b), (…, b) and (…, b, l), on CUDA."""

    @staticmethod
    def forward(
        z: Tensor, means: Tensor, logvars: Tensor, correlation: Tensor, log_own: float, log_others: float
    ) -> tuple[Tensor, Tensor, Tensor]:
        z, means, logvars, correlation = (value.contiguous() for value in (z, means, logvars, correlation))
        marginals = torch.empty(z.shape, dtype=torch.float32, device=z.device)
        conditional, joint = (torch.empty_like(marginals[..., 0]).contiguous() for _ in range(2))
        given = z, means, logvars, correlation, conditional, joint, marginals
        launch(_mixture_kernel, (joint.numel(),), *given, log_own, log_others, **_sizes(z))
        return conditional, joint, marginals

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        *tensors, ctx.log_own, ctx.log_others = inputs
        ctx.save_for_backward(*tensors, *output[1:])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Any) -> Any:
        given = [value.contiguous() for value in (*ctx.saved_tensors, *grads)]
        answers = [torch.empty_like(value) for value in given[:3]]
        weights = ctx.log_own, ctx.log_others
        launch(_gradient_kernel, (given[4].numel(),), *given, *answers, *weights, **_sizes(given[0]))
        return *answers, None, None, None


def mixture_densities(
    z: Tensor, means: Tensor, logvars: Tensor, correlation: Scalar, log_own: float, log_others: float
) -> tuple[Tensor, Tensor, Tensor]:
    """At samples z (b, l) of posteriors with these means and logvars (b, l): log q(z|x) of each sample's own posterior (b,),
    the mixture's log q(z) (b,) and log q(z_k) of each latent (b, l), with the weights' natural logarithms."""
    if on_triton(z):
        shared = correlation if isinstance(correlation, Tensor) else z.new_full((), correlation)
        return _Mixture.apply(z, means, logvars, shared, log_own, log_others)  # type: ignore[no-any-return]
    own = torch.eye(len(z), dtype=torch.bool, device=z.device)
    weights = torch.where(own, z.new_full((), log_own), z.new_full((), log_others))
    joint, each = log_densities(z.unsqueeze(1), means.unsqueeze(0), logvars.unsqueeze(0), correlation)
    return (
        joint.diagonal(),
        torch.logsumexp(joint + weights, dim=1),
        torch.logsumexp(each + weights.unsqueeze(-1), dim=1),
    )
