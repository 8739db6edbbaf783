"""The 4×4 stride-2 convolution that every network here is made of, as three operators closed under differentiation.

    down(x, w)    (…, h, w, c)      , (…, 4, 4, c, o) -> (…, h/2, w/2, o)     convolution, padding 1
    up(y, w)      (…, h/2, w/2, o)  , (…, 4, 4, c, o) -> (…, h, w, c)         its adjoint in x: transposed convolution
    taps(x, y)    (…, h, w, c)      , (…, h/2, w/2, o) -> (…, 4, 4, c, o)     its adjoint in w: weight gradient

Each is linear in both arguments and each one's gradients are the other two, so second derivatives (a gradient penalty)
need nothing more. Images are (b, h, w, c), channels last; a leading axis m, given or added by `torch.func.vmap`, stacks
models with weights of their own. Images may be in bfloat16 while weights and their gradients stay in float32.

`down_layer` and `up_layer` add a bias and a leaky ReLU; `hackle.kernels.tower` is several such layers in a row.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from hackle.kernels.mapping import stacked

_KERNEL_FORMATS = (torch.float32, torch.bfloat16, torch.float16)


def has_kernels(values: Tensor) -> bool:
    """Whether Triton kernels run on these values."""
    return values.is_cuda and values.dtype in _KERNEL_FORMATS and find_spec("triton") is not None


def triton_kernels(images: Tensor) -> ModuleType | None:
    """The Triton kernels of this module's operators where they run."""
    return import_module("hackle.kernels.triton_convolution") if has_kernels(images) else None


def _planes(images: Tensor) -> Tensor:
    """(b, h, w, c) seen as (b, c, h, w) in channels-last memory: no copy, and the layout that is fast."""
    return images.permute(0, 3, 1, 2)


def _filters(weight: Tensor, like: Tensor) -> Tensor:
    return weight.to(like.dtype).permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)


def _down_one(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    bias = None if bias is None else bias.to(x.dtype)
    return F.conv2d(_planes(x), _filters(weight, x), bias, stride=2, padding=1).permute(0, 2, 3, 1)


def _up_one(y: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    bias = None if bias is None else bias.to(y.dtype)
    return F.conv_transpose2d(_planes(y), _filters(weight, y), bias, stride=2, padding=1).permute(0, 2, 3, 1)


def _taps_one(x: Tensor, y: Tensor) -> Tensor:
    like = x.new_empty(y.shape[-1], x.shape[-1], 4, 4)
    twos, ones, zeros = [2, 2], [1, 1], [0, 0]
    gradient = torch.ops.aten.convolution_backward(
        _planes(y), _planes(x), like, None, twos, ones, ones, False, zeros, 1, [False, True, False]
    )[1]
    return gradient.permute(2, 3, 1, 0).to(torch.promote_types(x.dtype, torch.float32))


def _each_model(operator: Any, *stacked: Tensor) -> Tensor:
    """The operator for each model of a stack, by PyTorch."""
    if len(stacked[0]) == 1:
        return operator(*(value[0] for value in stacked)).unsqueeze(0)
    return torch.stack([operator(*given) for given in zip(*stacked, strict=True)])


def _run(name: str, operator: Any, *given: Tensor) -> Tensor:
    """An operator, with a bias or without, on one model or on a stack, wherever its tensors are."""
    if given[0].dim() == 4:
        return _run(name, operator, *(value.unsqueeze(0) for value in given)).squeeze(0)
    kernels = triton_kernels(given[0])
    if kernels is None:
        return _each_model(operator, *given)
    return kernels.taps(*given) if name == "taps" else getattr(kernels, name)(*given)[0]


class _Operator(torch.autograd.Function):
    """What the three operators share: both arguments are kept for the gradients, and mapping stacks them."""

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.save_for_backward(*inputs)


class _Down(_Operator):
    @staticmethod
    def forward(x: Tensor, weight: Tensor) -> Tensor:
        return _run("down", _down_one, x, weight)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        (x, weight), (grad,) = ctx.saved_tensors, grads
        needs_x, needs_weight = ctx.needs_input_grad
        return up(grad, weight) if needs_x else None, taps(x, grad).to(weight.dtype) if needs_weight else None

    @staticmethod
    def vmap(info: Any, in_dims: Any, *tensors: Any) -> Any:
        return _Down.apply(*stacked(info.batch_size, in_dims, tensors)), 0


class _Up(_Operator):
    @staticmethod
    def forward(y: Tensor, weight: Tensor) -> Tensor:
        return _run("up", _up_one, y, weight)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        (y, weight), (grad,) = ctx.saved_tensors, grads
        needs_y, needs_weight = ctx.needs_input_grad
        return down(grad, weight) if needs_y else None, taps(grad, y).to(weight.dtype) if needs_weight else None

    @staticmethod
    def vmap(info: Any, in_dims: Any, *tensors: Any) -> Any:
        return _Up.apply(*stacked(info.batch_size, in_dims, tensors)), 0


class _Taps(_Operator):
    @staticmethod
    def forward(x: Tensor, y: Tensor) -> Tensor:
        return _run("taps", _taps_one, x, y)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        (x, y), (grad,) = ctx.saved_tensors, grads
        return up(y, grad) if ctx.needs_input_grad[0] else None, down(x, grad) if ctx.needs_input_grad[1] else None

    @staticmethod
    def vmap(info: Any, in_dims: Any, *tensors: Any) -> Any:
        return _Taps.apply(*stacked(info.batch_size, in_dims, tensors)), 0


def down(x: Tensor, weight: Tensor) -> Tensor:
    """Convolve images (b, h, w, c) with (4, 4, c, o): stride 2, padding 1; h and w even."""
    if x.shape[-3] % 2 or x.shape[-2] % 2:
        raise ValueError(f"down halves the image, so height and width must be even; got {tuple(x.shape[-3:-1])}")
    return _Down.apply(x, weight)  # type: ignore[no-any-return]


def up(y: Tensor, weight: Tensor) -> Tensor:
    """Transposed convolution: (b, h, w, o) with (4, 4, c, o) gives (b, 2h, 2w, c)."""
    return _Up.apply(y, weight)  # type: ignore[no-any-return]


def taps(x: Tensor, y: Tensor) -> Tensor:
    """The weight gradient of `down` at input x for the output gradient y: (4, 4, c, o), in float32 or better."""
    return _Taps.apply(x, y)  # type: ignore[no-any-return]


def leaky(values: Tensor, slope: float) -> Tensor:
    """A leaky ReLU: slope 0 is ReLU, 1 leaves values as they are."""
    if slope == 1.0:
        return values
    return torch.relu(values) if slope == 0.0 else F.leaky_relu(values, slope)


def through_leaky(grad: Tensor, output: Tensor, slope: float) -> Tensor:
    """A gradient before the leaky ReLU, from the one behind it."""
    if slope == 1.0:
        return grad
    if slope == 0.0:
        return torch.ops.aten.threshold_backward(grad, output, 0.0)
    return torch.ops.aten.leaky_relu_backward(grad, output, slope, True)


def _bias_gradient(grad: Tensor, bias: Tensor) -> Tensor:
    return grad.sum(dim=(-4, -3, -2), dtype=torch.promote_types(grad.dtype, torch.float32)).to(bias.dtype)


class _Layer(torch.autograd.Function):
    """An operator with bias and leaky ReLU; the output is kept, since it tells where the leaky ReLU was active."""

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        x, weight, bias, slope = inputs
        ctx.save_for_backward(x, weight, bias, output)
        ctx.slope = slope


class _DownLayer(_Layer):
    @staticmethod
    def forward(x: Tensor, weight: Tensor, bias: Tensor, slope: float) -> Tensor:
        return leaky(_run("down", _down_one, x, weight, bias), slope)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        x, weight, bias, output = ctx.saved_tensors
        grad = through_leaky(grads[0], output, ctx.slope)
        x_grad = up(grad, weight) if ctx.needs_input_grad[0] else None
        return x_grad, taps(x, grad).to(weight.dtype), _bias_gradient(grad, bias), None

    @staticmethod
    def vmap(info: Any, in_dims: Any, *arguments: Any) -> Any:
        return _DownLayer.apply(*stacked(info.batch_size, in_dims, arguments)), 0


class _UpLayer(_Layer):
    @staticmethod
    def forward(y: Tensor, weight: Tensor, bias: Tensor, slope: float) -> Tensor:
        return leaky(_run("up", _up_one, y, weight, bias), slope)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        y, weight, bias, output = ctx.saved_tensors
        grad = through_leaky(grads[0], output, ctx.slope)
        y_grad = down(grad, weight) if ctx.needs_input_grad[0] else None
        return y_grad, taps(grad, y).to(weight.dtype), _bias_gradient(grad, bias), None

    @staticmethod
    def vmap(info: Any, in_dims: Any, *arguments: Any) -> Any:
        return _UpLayer.apply(*stacked(info.batch_size, in_dims, arguments)), 0


def down_layer(x: Tensor, weight: Tensor, bias: Tensor, slope: float = 1.0) -> Tensor:
    """`down` plus bias (o,), through a leaky ReLU: slope 0 is ReLU, 1 leaves values as they are."""
    if x.shape[-3] % 2 or x.shape[-2] % 2:
        raise ValueError(f"down halves the image, so height and width must be even; got {tuple(x.shape[-3:-1])}")
    return _DownLayer.apply(x, weight, bias, slope)  # type: ignore[no-any-return]


def up_layer(y: Tensor, weight: Tensor, bias: Tensor, slope: float = 1.0) -> Tensor:
    """`up` plus bias (c,), through a leaky ReLU: slope 0 is ReLU, 1 leaves values as they are."""
    return _UpLayer.apply(y, weight, bias, slope)  # type: ignore[no-any-return]
