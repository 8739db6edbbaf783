"""A sample of each posterior of a batch and its KL to the prior, for stacks of models: one pass forward and one back.

    z = mean + s ε,   s = exp(logvar / 2),   ε ~ N(0, Σ) made from independent noise,   KL = ½ (mean² + s² − logvar − 1)

as `hackle.core.gaussian` defines them. Each term is a few numbers per image, and on CUDA launching a kernel takes
longer than its work; so one Triton kernel does them all, in float32, with the KL's mean over the batch in an order that
depends on the batch alone. There is no second derivative on CUDA, and none with respect to noise or correlation.
Elsewhere, and in float64, PyTorch is used.
"""

# Triton reads annotations as values.
# pyright: reportInvalidTypeForm=false

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from hackle.core.gaussian import Scalar, kl_per_latent, reparameterise
from hackle.core.triton_shim import jit, launch, on_triton, tl, triton
from hackle.kernels.mapping import Stackable

_TILE = 1024


@jit
def _correlated(noise, correlation, L: tl.constexpr):
    """Independent noise to N(0, Σ), as in `hackle.core.gaussian.correlate`."""
    sigma = tl.load(correlation).to(tl.float32)
    across = tl.sqrt(1.0 - sigma)
    along = tl.sqrt(1.0 - sigma + L * sigma)
    return across * noise + (along - across) * (tl.sum(noise, 1) / L)[:, None]


@jit
def _sample_kernel(
    means, logvars, noise, correlation, z, divergences,
    B: tl.constexpr, L: tl.constexpr, BB: tl.constexpr, BL: tl.constexpr,
):  # fmt: skip
    model = tl.program_id(0).to(tl.int64)
    latent = tl.arange(0, BL)
    total = tl.zeros((BL,), tl.float32)
    for start in range(0, B, BB):
        row = start + tl.arange(0, BB)
        mask = (row < B)[:, None] & (latent < L)[None, :]
        at = (model * B + row[:, None]) * L + latent[None, :]
        mean = tl.load(means + at, mask=mask, other=0.0).to(tl.float32)
        logvar = tl.load(logvars + at, mask=mask, other=0.0).to(tl.float32)
        drawn = tl.load(noise + at, mask=mask, other=0.0).to(tl.float32)
        sample = mean + tl.exp(0.5 * logvar) * _correlated(drawn, correlation + model, L)
        tl.store(z + at, sample, mask=mask)
        # Outside the batch, mean and logvar are 0, and so is this.
        total += tl.sum(0.5 * (mean * mean + tl.exp(logvar) - logvar - 1.0), 0)
    tl.store(divergences + model * L + latent, total / B, mask=latent < L)


@jit
def _gradient_kernel(
    means, logvars, noise, correlation, z_grad, divergences_grad, means_grad, logvars_grad,
    B: tl.constexpr, L: tl.constexpr, BB: tl.constexpr, BL: tl.constexpr,
):  # fmt: skip
    model = tl.program_id(0).to(tl.int64)
    row = tl.program_id(1) * BB + tl.arange(0, BB)
    latent = tl.arange(0, BL)
    mask = (row < B)[:, None] & (latent < L)[None, :]
    at = (model * B + row[:, None]) * L + latent[None, :]
    mean = tl.load(means + at, mask=mask, other=0.0).to(tl.float32)
    logvar = tl.load(logvars + at, mask=mask, other=0.0).to(tl.float32)
    drawn = tl.load(noise + at, mask=mask, other=0.0).to(tl.float32)
    by_z = tl.load(z_grad + at, mask=mask, other=0.0)
    by_kl = tl.load(divergences_grad + model * L + latent, mask=latent < L, other=0.0)[None, :] / B
    deviation = tl.exp(0.5 * logvar) * _correlated(drawn, correlation + model, L)
    by_mean = by_z + by_kl * mean
    by_logvar = 0.5 * (by_z * deviation + by_kl * (tl.exp(logvar) - 1.0))
    tl.store(means_grad + at, by_mean.to(means_grad.dtype.element_ty), mask=mask)
    tl.store(logvars_grad + at, by_logvar.to(logvars_grad.dtype.element_ty), mask=mask)


def _sizes(values: Tensor) -> dict[str, int]:
    batch, latents = values.shape[-2:]
    wide = triton.next_power_of_2(latents)
    return {"B": batch, "L": latents, "BB": min(triton.next_power_of_2(batch), max(1, _TILE // wide)), "BL": wide}


class _Sample(Stackable):
    """(…, b, l) means, logvars and noise and (…) correlations to (…, b, l) and (…, l), on CUDA."""

    @staticmethod
    def forward(means: Tensor, logvars: Tensor, noise: Tensor, correlation: Tensor) -> tuple[Tensor, Tensor]:
        given = [value.contiguous() for value in (means, logvars, noise, correlation)]
        z = torch.empty(means.shape, dtype=torch.float32, device=means.device)
        divergences = torch.empty((*means.shape[:-2], means.shape[-1]), dtype=torch.float32, device=means.device)
        models = divergences.numel() // means.shape[-1]
        launch(_sample_kernel, (models,), *given, z, divergences, **_sizes(means))
        return z, divergences

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Any) -> Any:
        given = [value.contiguous() for value in (*ctx.saved_tensors, *grads)]
        answers = [torch.empty_like(value) for value in given[:2]]
        sizes = _sizes(given[0])
        models = given[0].numel() // (sizes["B"] * sizes["L"])
        launch(_gradient_kernel, (models, triton.cdiv(sizes["B"], sizes["BB"])), *given, *answers, **sizes)
        return *answers, None, None


def posterior_sample(means: Tensor, logvars: Tensor, noise: Tensor, correlation: Scalar) -> tuple[Tensor, Tensor]:
    """A sample (b, l) of each of a batch's posteriors, and their KL to the prior per latent (l,), averaged over the
    batch."""
    if on_triton(means):
        shared = correlation if isinstance(correlation, Tensor) else means.new_full((), correlation)
        return _Sample.apply(means, logvars, noise, shared)  # type: ignore[no-any-return]
    return reparameterise(means, logvars, noise, correlation), kl_per_latent(means, logvars).mean(0)
