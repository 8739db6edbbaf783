"""Convolution layers in a row off CUDA, as one operator: the gradient goes through each leaky ReLU in place, since nothing
else reads it there, and gradients of weights that no one asks for are not computed.

Where the gradient itself is to be differentiated, for a gradient penalty, the layers are computed again one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from hackle.kernels.convolution import bent, bias_gradient, check_even, convolve, down_layer, through_leaky, up_layer
from hackle.kernels.mapping import Stackable


def _by_layers(upward: bool, slopes: Sequence[float], x: Tensor, *parameters: Tensor) -> Tensor:
    layer = up_layer if upward else down_layer
    for weight, bias, slope in zip(parameters[: len(slopes)], parameters[len(slopes) :], slopes, strict=True):
        x = layer(x, weight, bias, slope)
    return x


class HostTower(Stackable):
    """Returns every layer's output, the last one being the tower's; `parameters` are all weights, then all biases."""

    @staticmethod
    def forward(upward: bool, slopes: Sequence[float], x: Tensor, *parameters: Tensor) -> tuple[Tensor, ...]:
        results = [x]
        for weight, bias, slope in zip(parameters[: len(slopes)], parameters[len(slopes) :], slopes, strict=True):
            if not upward:
                check_even(results[-1])
            results.append(bent(convolve("up" if upward else "down", results[-1], weight, bias), slope))
        return tuple(results[1:])

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.upward, ctx.slopes, *tensors = inputs
        ctx.save_for_backward(*tensors, *output)
        ctx.mark_non_differentiable(*output[:-1])
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        layers = len(ctx.slopes)
        x, parameters, results = (
            ctx.saved_tensors[0],
            ctx.saved_tensors[1 : 2 * layers + 1],
            ctx.saved_tensors[-layers:],
        )
        if torch.is_grad_enabled():

            def again(*given: Tensor) -> Tensor:
                return _by_layers(ctx.upward, ctx.slopes, *given)

            return None, None, *torch.func.vjp(again, x, *parameters)[1](grads[-1])
        needs_x, *needs = ctx.needs_input_grad[2:]
        values = (x, *results)
        found: list[Tensor | None] = [None] * (2 * layers)
        grad = through_leaky(grads[-1], values[-1], ctx.slopes[-1])
        for layer in reversed(range(layers)):
            before = values[layer]
            if needs[layer]:
                found[layer] = convolve("taps", *((grad, before) if ctx.upward else (before, grad)))
            if needs[layers + layer]:
                found[layers + layer] = bias_gradient(grad, parameters[layers + layer])
            if layer or needs_x:
                grad = convolve("down" if ctx.upward else "up", grad, parameters[layer])
            if layer:
                grad = through_leaky(grad, before, ctx.slopes[layer - 1], in_place=True)
        return None, None, grad if needs_x else None, *found
