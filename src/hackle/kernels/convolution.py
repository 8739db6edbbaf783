"""The 4×4 stride-2 convolution that every network here is made of, as three operators closed under differentiation.

    down(x, w)    (…, h, w, c)      , (…, 4, 4, c, o) -> (…, h/2, w/2, o)     convolution, padding 1
    up(y, w)      (…, h/2, w/2, o)  , (…, 4, 4, c, o) -> (…, h, w, c)         its adjoint in x: transposed convolution
    taps(x, y)    (…, h, w, c)      , (…, h/2, w/2, o) -> (…, 4, 4, c, o)     its adjoint in w: weight gradient

Each is linear in both arguments and each one's gradients are the other two, so second derivatives (a gradient penalty)
need nothing more. Images are (b, h, w, c), channels last; a leading axis m, given or added by `torch.func.vmap`, stacks
models with weights of their own.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor


def _planes(images: Tensor) -> Tensor:
    """(b, h, w, c) seen as (b, c, h, w) in channels-last memory: no copy, and the layout that is fast."""
    return images.permute(0, 3, 1, 2)


def _filters(weight: Tensor) -> Tensor:
    return weight.permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)


def _down_one(x: Tensor, weight: Tensor) -> Tensor:
    return F.conv2d(_planes(x), _filters(weight), stride=2, padding=1).permute(0, 2, 3, 1)


def _up_one(y: Tensor, weight: Tensor) -> Tensor:
    return F.conv_transpose2d(_planes(y), _filters(weight), stride=2, padding=1).permute(0, 2, 3, 1)


def _taps_one(x: Tensor, y: Tensor) -> Tensor:
    like = x.new_empty(y.shape[-1], x.shape[-1], 4, 4)
    twos, ones, zeros = [2, 2], [1, 1], [0, 0]
    gradient = torch.ops.aten.convolution_backward(
        _planes(y), _planes(x), like, None, twos, ones, ones, False, zeros, 1, [False, True, False]
    )[1]
    return gradient.permute(2, 3, 1, 0)


def _over_models(operator: Any, first: Tensor, second: Tensor, single: int) -> Tensor:
    """The operator for one model, or for each model of a stack."""
    if first.dim() == single:
        return operator(first, second)
    if len(first) == 1:
        return operator(first[0], second[0]).unsqueeze(0)
    return torch.stack([operator(a, b) for a, b in zip(first, second, strict=True)])


def _stack(size: int, dims: tuple[int | None, ...], tensors: tuple[Tensor, ...]) -> list[Tensor]:
    return [
        tensor.unsqueeze(0).expand(size, *tensor.shape) if dim is None else tensor.movedim(dim, 0)
        for tensor, dim in zip(tensors, dims, strict=True)
    ]


class _Bilinear(torch.autograd.Function):
    """What the three operators share: both arguments are kept for the gradients, and mapping stacks them."""

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.save_for_backward(*inputs)

    @classmethod
    def mapped(cls, info: Any, in_dims: tuple[int | None, ...], *tensors: Tensor) -> tuple[Tensor, int]:
        return cls.apply(*_stack(info.batch_size, in_dims, tensors)), 0  # type: ignore[no-any-return]


class _Down(_Bilinear):
    @staticmethod
    def forward(x: Tensor, weight: Tensor) -> Tensor:
        return _over_models(_down_one, x, weight, single=4)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        (x, weight), (grad,) = ctx.saved_tensors, grads
        return (
            up(grad, weight) if ctx.needs_input_grad[0] else None,
            taps(x, grad) if ctx.needs_input_grad[1] else None,
        )

    @staticmethod
    def vmap(info: Any, in_dims: Any, *tensors: Any) -> Any:
        return _Down.mapped(info, in_dims, *tensors)


class _Up(_Bilinear):
    @staticmethod
    def forward(y: Tensor, weight: Tensor) -> Tensor:
        return _over_models(_up_one, y, weight, single=4)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        (y, weight), (grad,) = ctx.saved_tensors, grads
        return (
            down(grad, weight) if ctx.needs_input_grad[0] else None,
            taps(grad, y) if ctx.needs_input_grad[1] else None,
        )

    @staticmethod
    def vmap(info: Any, in_dims: Any, *tensors: Any) -> Any:
        return _Up.mapped(info, in_dims, *tensors)


class _Taps(_Bilinear):
    @staticmethod
    def forward(x: Tensor, y: Tensor) -> Tensor:
        return _over_models(_taps_one, x, y, single=4)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        (x, y), (grad,) = ctx.saved_tensors, grads
        return (
            up(y, grad) if ctx.needs_input_grad[0] else None,
            down(x, grad) if ctx.needs_input_grad[1] else None,
        )

    @staticmethod
    def vmap(info: Any, in_dims: Any, *tensors: Any) -> Any:
        return _Taps.mapped(info, in_dims, *tensors)


def down(x: Tensor, weight: Tensor) -> Tensor:
    """Convolve images (b, h, w, c) with (4, 4, c, o): stride 2, padding 1; h and w even."""
    if x.shape[-3] % 2 or x.shape[-2] % 2:
        raise ValueError(f"down halves the image, so height and width must be even; got {tuple(x.shape[-3:-1])}")
    return _Down.apply(x, weight)  # type: ignore[no-any-return]


def up(y: Tensor, weight: Tensor) -> Tensor:
    """Transposed convolution: (b, h, w, o) with (4, 4, c, o) gives (b, 2h, 2w, c)."""
    return _Up.apply(y, weight)  # type: ignore[no-any-return]


def taps(x: Tensor, y: Tensor) -> Tensor:
    """The weight gradient of `down` at input x for the output gradient y: (4, 4, c, o)."""
    return _Taps.apply(x, y)  # type: ignore[no-any-return]
