"""The Bernoulli error of images: one pass over the pixels for the error and one for its gradient, for stacks of models; and
the conversion of bytes to numbers, also in one pass.

    error(l, x) = Σ max(l, 0) − l x + log(1 + e^−|l|)        over the pixels of an image, logits l, soft targets x
    its gradient in l is sigmoid(l) − x

On CUDA a Triton kernel reads logits in the networks' dtype and sums in float32; elsewhere, and in float64, PyTorch is
used. The order of the sum depends on the image alone. There is no second derivative on CUDA, and none with respect to
the targets.
"""

# Triton reads annotations as values.
# pyright: reportInvalidTypeForm=false

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from hackle.core.triton_shim import KERNEL_DTYPES, jit, launch, on_triton, tl, triton
from hackle.kernels.mapping import Stackable

_BLOCK = 1024


@jit
def _targets(at, inside):
    x = tl.load(at, mask=inside, other=0).to(tl.float32)
    if at.dtype.element_ty == tl.uint8:
        x = x / 255.0
    return x


@jit
def _error_kernel(logits, images, errors, PIXELS: tl.constexpr, BLOCK: tl.constexpr):
    image = tl.program_id(0).to(tl.int64)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, PIXELS, BLOCK):
        pixel = start + tl.arange(0, BLOCK)
        inside = pixel < PIXELS
        l = tl.load(logits + image * PIXELS + pixel, mask=inside, other=0.0).to(tl.float32)  # noqa: E741
        x = _targets(images + image * PIXELS + pixel, inside)
        error = tl.maximum(l, 0.0) - l * x + tl.log(1.0 + tl.exp(-tl.abs(l)))
        total += tl.where(inside, error, 0.0)
    tl.store(errors + image, tl.sum(total, 0))


@jit
def _gradient_kernel(logits, images, weights, out, pixels, BLOCK: tl.constexpr):
    image = tl.program_id(0).to(tl.int64)
    pixel = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = pixel < pixels
    at = image * pixels + pixel
    l = tl.load(logits + at, mask=inside, other=0.0).to(tl.float32)  # noqa: E741
    x = _targets(images + at, inside)
    gradient = tl.load(weights + image) * (1.0 / (1.0 + tl.exp(-l)) - x)
    tl.store(out + at, gradient.to(out.dtype.element_ty), mask=inside)


@jit
def _unit_kernel(images, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    tl.store(out + at, _targets(images + at, inside).to(out.dtype.element_ty), mask=inside)


class _UnitInterval(Stackable):
    """Bytes to numbers in [0, 1] in one pass, on CUDA."""

    @staticmethod
    def forward(images: Tensor, dtype: torch.dtype) -> Tensor:
        images = images.contiguous()
        out = torch.empty(images.shape, dtype=dtype, device=images.device)
        launch(_unit_kernel, (triton.cdiv(out.numel(), _BLOCK),), images, out, out.numel(), BLOCK=_BLOCK)
        return out

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Bytes have no gradient."""


class _BernoulliError(Stackable):
    """(…, b, h, w, c) logits and targets to (…, b), on CUDA."""

    @staticmethod
    def forward(logits: Tensor, images: Tensor) -> Tensor:
        logits, images = logits.contiguous(), images.contiguous()
        errors = torch.empty(logits.shape[:-3], dtype=torch.float32, device=logits.device)
        pixels = logits.numel() // errors.numel()
        launch(_error_kernel, (errors.numel(),), logits, images, errors, PIXELS=pixels, BLOCK=_BLOCK)
        return errors

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Any) -> Any:
        logits, images = (value.contiguous() for value in ctx.saved_tensors)
        weights = grads[0].contiguous()
        pixels = logits.numel() // weights.numel()
        out = torch.empty_like(logits)
        grid = (weights.numel(), triton.cdiv(pixels, _BLOCK))
        launch(_gradient_kernel, grid, logits, images, weights, out, pixels, BLOCK=_BLOCK)
        return out, None


def unit_interval(images: Tensor, dtype: torch.dtype | None = None) -> Tensor:
    """Images in [0, 1]: bytes are divided by 255 and rounded once, to float32 by default; floats are only converted to
    the dtype, if one is given."""
    if images.dtype == torch.uint8:
        wanted = dtype or torch.float32
        if wanted in KERNEL_DTYPES and on_triton(images, dtypes=(torch.uint8,)):
            return _UnitInterval.apply(images, wanted)  # type: ignore[no-any-return]
        return images.to(wanted).div(255)
    return images if dtype is None else images.to(dtype)


def bernoulli_error(logits: Tensor, images: Tensor) -> Tensor:
    """−log p(x) of each image in nats, (b,), for logits and soft targets (b, h, w, c), bytes or numbers in [0, 1]."""
    if on_triton(logits):
        return _BernoulliError.apply(logits, images)  # type: ignore[no-any-return]
    targets = unit_interval(images, torch.promote_types(logits.dtype, torch.float32))
    return F.binary_cross_entropy_with_logits(logits.to(targets.dtype), targets, reduction="none").flatten(1).sum(1)
