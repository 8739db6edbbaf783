"""A layer's outputs as two tensors, means and logvars: in float32, in one pass forward and one back, for stacks of models.

Taking the two apart, rounding their gradients and putting these together again are five launches of next to no work otherwise.
On CUDA a Triton kernel does each direction; elsewhere, and in float64, PyTorch is used.
"""

# Triton reads annotations as values.
# pyright: reportInvalidTypeForm=false

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from hackle.core.triton_shim import jit, launch, on_triton, tl, triton
from hackle.kernels.mapping import Stackable

_BLOCK = 1024


@jit
def _halves_kernel(whole, first, second, count, half, JOIN: tl.constexpr, BLOCK: tl.constexpr):
    """whole (n, 2·half) to first and second (n, half), or with JOIN back."""
    place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = place < count
    column = place % (2 * half)
    later = column >= half
    at = place // (2 * half) * half + tl.where(later, column - half, column)
    if JOIN:
        left = tl.load(first + at, mask=inside & (column < half), other=0.0)
        right = tl.load(second + at, mask=inside & later, other=0.0)
        tl.store(whole + place, tl.where(later, right, left).to(whole.dtype.element_ty), mask=inside)
    else:
        value = tl.load(whole + place, mask=inside, other=0.0).to(first.dtype.element_ty)
        tl.store(first + at, value, mask=inside & (column < half))
        tl.store(second + at, value, mask=inside & later)


def _launch(whole: Tensor, first: Tensor, second: Tensor, join: bool) -> None:
    grid = (triton.cdiv(whole.numel(), _BLOCK),)
    launch(_halves_kernel, grid, whole, first, second, whole.numel(), first.shape[-1], JOIN=join, BLOCK=_BLOCK)


class _Halves(Stackable):
    @staticmethod
    def forward(whole: Tensor) -> tuple[Tensor, Tensor]:
        shape = (*whole.shape[:-1], whole.shape[-1] // 2)
        first, second = (torch.empty(shape, dtype=torch.float32, device=whole.device) for _ in range(2))
        _launch(whole.contiguous(), first, second, False)
        return first, second

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.dtype = inputs[0].dtype

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return _Joined.apply(*grads, ctx.dtype)


class _Joined(Stackable):
    """The adjoint of `_Halves`."""

    @staticmethod
    def forward(first: Tensor, second: Tensor, dtype: torch.dtype) -> Tensor:
        shape = (*first.shape[:-1], 2 * first.shape[-1])
        whole = torch.empty(shape, dtype=dtype, device=first.device)
        _launch(whole, first.contiguous(), second.contiguous(), True)
        return whole

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        first, second = _Halves.apply(grads[0])  # type: ignore[misc]
        return first, second, None


def halves(whole: Tensor) -> tuple[Tensor, Tensor]:
    """The first and the second half of the last axis, of even length; on CUDA in float32."""
    if on_triton(whole):
        return _Halves.apply(whole)  # type: ignore[no-any-return]
    first, second = whole.chunk(2, dim=-1)
    return first, second
