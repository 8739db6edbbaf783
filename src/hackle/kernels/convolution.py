"""The 4×4 stride-2 convolution that every network here is made of, as three operators closed under differentiation.

    down(x, w)    (…, h, w, c)      , (…, 4, 4, c, o) -> (…, h/2, w/2, o)     convolution, padding 1
    up(y, w)      (…, h/2, w/2, o)  , (…, 4, 4, c, o) -> (…, h, w, c)         its adjoint in x: transposed convolution
    taps(x, y)    (…, h, w, c)      , (…, h/2, w/2, o) -> (…, 4, 4, c, o)     its adjoint in w: weight gradient

Each is linear in both arguments and each one's gradients are the other two, so second derivatives (a gradient penalty)
need no further operators. Images are (b, h, w, c), channels last; a leading axis m, given or added by
`torch.func.vmap`, stacks models, each with its own weights. Images may be in bfloat16 while weights and their gradients
stay in float32.

`down_layer` and `up_layer` add a bias and a leaky ReLU; `hackle.kernels.tower` is several such layers in a row.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from hackle.core.triton_shim import on_triton
from hackle.kernels import triton_convolution
from hackle.kernels.mapping import Stackable
from hackle.kernels.product import times

_FEW = 4
"""The most channels of images."""


def _planes(images: Tensor) -> Tensor:
    """(b, h, w, c) seen as (b, c, h, w) in channels-last memory: no copy, and the fast layout."""
    return images.permute(0, 3, 1, 2)


def _filters(weight: Tensor, like: Tensor) -> Tensor:
    return weight.to(like.dtype).permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)


def _down_one(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    bias = None if bias is None else bias.to(x.dtype)
    return F.conv2d(_planes(x), _filters(weight, x), bias, stride=2, padding=1).permute(0, 2, 3, 1)


def _up_one(y: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    bias = None if bias is None else bias.to(y.dtype)
    if weight.shape[2] <= _FEW and y.dtype != torch.bfloat16:
        return _up_to_few(y, weight.to(y.dtype), bias)
    return F.conv_transpose2d(_planes(y), _filters(weight, y), bias, stride=2, padding=1).permute(0, 2, 3, 1)


def _up_to_few(y: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """`up` to the channels of images, of which PyTorch's convolution computes one at a time for each lane of a vector: six
    times as long for one channel, half as long again for three. Here the product of all positions with the sixteen taps,
    added where they overlap: row 2i is tap 1 of position i and tap 3 of i − 1, row 2i + 1 tap 2 of i and tap 0 of i + 1,
    and so are columns."""
    batch, height, width, channels = y.shape
    few = weight.shape[2]
    product = times(weight.reshape(16 * few, channels), y.reshape(-1, channels))
    products = product.view(4, 4, few, batch, height, width)
    image = y.new_empty(batch, height, 2, width, 2, few)
    products[1, ..., 1:, :] += products[3, ..., :-1, :]
    products[2, ..., :-1, :] += products[0, ..., 1:, :]
    for row, of_row in enumerate(products[1:3]):
        of_row[1, ..., 1:] += of_row[3, ..., :-1]
        of_row[2, ..., :-1] += of_row[0, ..., 1:]
        for column, pixels in enumerate(of_row[1:3]):
            image[:, :, row, :, column] = pixels.movedim(0, -1)
    if bias is not None:
        image += bias
    return image.view(batch, 2 * height, 2 * width, few)


def _taps_one(x: Tensor, y: Tensor) -> Tensor:
    # In the layout of the others: else the library copies this tensor into theirs, and the gradient back.
    like = x.new_empty(y.shape[-1], 4, 4, x.shape[-1]).permute(0, 3, 1, 2)
    twos, ones, zeros = [2, 2], [1, 1], [0, 0]
    gradient = torch.ops.aten.convolution_backward(
        _planes(y), _planes(x), like, None, twos, ones, ones, False, zeros, 1, [False, True, False]
    )[1]
    # Turned as a matrix: PyTorch copies those block by block, which takes a quarter of the time.
    turned = gradient.permute(0, 2, 3, 1).reshape(y.shape[-1], -1).T.contiguous()
    return turned.view(4, 4, x.shape[-1], y.shape[-1]).to(torch.promote_types(x.dtype, torch.float32))


def _each_model(operator: Any, *stacked: Tensor) -> Tensor:
    """The operator on each model of a stack, by PyTorch."""
    return torch.stack([operator(*given) for given in zip(*stacked, strict=True)])


_BY_PYTORCH = {"down": _down_one, "up": _up_one, "taps": _taps_one}


def convolve(name: str, *given: Tensor) -> Tensor:
    """An operator, with a bias or without, on one model or on a stack, wherever its tensors are."""
    by_triton, alone = on_triton(given[0]), given[0].dim() == 4
    if not by_triton:
        return _BY_PYTORCH[name](*given) if alone else _each_model(_BY_PYTORCH[name], *given)
    if alone:
        return convolve(name, *(value.unsqueeze(0) for value in given)).squeeze(0)
    return triton_convolution.taps(*given) if name == "taps" else getattr(triton_convolution, name)(*given)[0]


class _Convolve(Stackable):
    """`down` or `up`, which are each other's gradient in the values."""

    @staticmethod
    def forward(values: Tensor, weight: Tensor, upward: bool) -> Tensor:
        return convolve("up" if upward else "down", values, weight)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        *tensors, ctx.upward = inputs
        ctx.save_for_backward(*tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        values, weight = ctx.saved_tensors
        return *_gradients(ctx.upward, values, weight, grads[0], *ctx.needs_input_grad[:2]), None


class _Taps(Stackable):
    @staticmethod
    def forward(x: Tensor, y: Tensor) -> Tensor:
        return convolve("taps", x, y)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        (x, y), (grad,) = ctx.saved_tensors, grads
        return up(y, grad) if ctx.needs_input_grad[0] else None, down(x, grad) if ctx.needs_input_grad[1] else None


def _gradients(
    upward: bool, values: Tensor, weight: Tensor, grad: Tensor, needs_values: bool, needs_weight: bool
) -> tuple[Tensor | None, Tensor | None]:
    """The gradients of `down` or `up` in values and weight."""
    back = down if upward else up
    of_weight = None
    if needs_weight:
        of_weight = (taps(grad, values) if upward else taps(values, grad)).to(weight.dtype)
    return back(grad, weight) if needs_values else None, of_weight


def check_even(x: Tensor) -> None:
    if x.shape[-3] % 2 or x.shape[-2] % 2:
        raise ValueError(f"down halves the image, so height and width must be even; got {tuple(x.shape[-3:-1])}")


def down(x: Tensor, weight: Tensor) -> Tensor:
    """Convolve images (b, h, w, c) with (4, 4, c, o): stride 2, padding 1; h and w even."""
    check_even(x)
    return _Convolve.apply(x, weight, False)  # type: ignore[no-any-return]


def up(y: Tensor, weight: Tensor) -> Tensor:
    """Transposed convolution: (b, h, w, o) with (4, 4, c, o) gives (b, 2h, 2w, c)."""
    return _Convolve.apply(y, weight, True)  # type: ignore[no-any-return]


def taps(x: Tensor, y: Tensor) -> Tensor:
    """The weight gradient of `down` at input x for the output gradient y: (4, 4, c, o), in float32 or better."""
    return _Taps.apply(x, y)  # type: ignore[no-any-return]


def leaky(values: Tensor, slope: float) -> Tensor:
    """A leaky ReLU: slope 0 is ReLU, 1 leaves values as they are."""
    if slope == 1.0:
        return values
    return torch.relu(values) if slope == 0.0 else F.leaky_relu(values, slope)


def bent(values: Tensor, slope: float) -> Tensor:
    """The same in place, where a gradient is not asked for."""
    if slope == 1.0:
        return values
    return values.relu_() if slope == 0.0 else F.leaky_relu_(values, slope)


def through_leaky(grad: Tensor, output: Tensor, slope: float, *, in_place: bool = False) -> Tensor:
    """The gradient in a leaky ReLU's input, from the one in its output."""
    if slope == 1.0:
        return grad
    aten, into = torch.ops.aten, {"grad_input": grad} if in_place else {}
    if slope == 0.0:
        return (aten.threshold_backward.grad_input if in_place else aten.threshold_backward)(grad, output, 0.0, **into)
    back = aten.leaky_relu_backward.grad_input if in_place else aten.leaky_relu_backward
    return back(grad, output, slope, True, **into)


def bias_gradient(grad: Tensor, bias: Tensor) -> Tensor:
    return grad.sum(dim=(-4, -3, -2), dtype=torch.promote_types(grad.dtype, torch.float32)).to(bias.dtype)


class _Layer(Stackable):
    """`down` or `up` with bias and leaky ReLU; the output is kept, since it shows where the leaky ReLU was active."""

    @staticmethod
    def forward(values: Tensor, weight: Tensor, bias: Tensor, slope: float, upward: bool) -> Tensor:
        return bent(convolve("up" if upward else "down", values, weight, bias), slope)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        *tensors, ctx.slope, ctx.upward = inputs
        ctx.save_for_backward(*tensors, output)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        values, weight, bias, output = ctx.saved_tensors
        grad = through_leaky(grads[0], output, ctx.slope)
        gradients = _gradients(ctx.upward, values, weight, grad, ctx.needs_input_grad[0], True)
        return *gradients, bias_gradient(grad, bias), None, None


def down_layer(x: Tensor, weight: Tensor, bias: Tensor, slope: float = 1.0) -> Tensor:
    """`down` plus bias (o,), through a leaky ReLU: slope 0 is ReLU, 1 leaves values as they are."""
    check_even(x)
    return _Layer.apply(x, weight, bias, slope, False)  # type: ignore[no-any-return]


def up_layer(y: Tensor, weight: Tensor, bias: Tensor, slope: float = 1.0) -> Tensor:
    """`up` plus bias (c,), through a leaky ReLU: slope 0 is ReLU, 1 leaves values as they are."""
    return _Layer.apply(y, weight, bias, slope, True)  # type: ignore[no-any-return]
