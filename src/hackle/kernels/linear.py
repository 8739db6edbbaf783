"""Fully connected layers for stacks of models: batched matrix products whose weight gradient lies in memory as the weight does.

    y = x Wᵀ + b        x (…, b, i), W (…, o, i), b (…, o)

PyTorch's own mapping of its linear layer leaves the weight's gradient transposed, and whoever reads it next pays for a copy.
Gradients are products of the same kind, so they can be differentiated again.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from hackle.kernels.mapping import stacked


def _transposed(values: Tensor) -> Tensor:
    return values.transpose(-1, -2)


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(values: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        if values.dim() == 2:
            return F.linear(values, weight, bias)
        return torch.baddbmm(bias.unsqueeze(1), values, _transposed(weight))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.save_for_backward(*inputs[:2])

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        (values, weight), (grad,) = ctx.saved_tensors, grads
        needs_values, needs_weight, needs_bias = ctx.needs_input_grad
        return (
            grad @ weight if needs_values else None,
            _transposed(grad) @ values if needs_weight else None,
            grad.sum(-2) if needs_bias else None,
        )

    @staticmethod
    def vmap(info: Any, in_dims: Any, *tensors: Any) -> Any:
        return _Linear.apply(*stacked(info.batch_size, in_dims, tensors)), 0


def linear(values: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """(b, i) through weights (o, i) and bias (o,) to (b, o)."""
    return _Linear.apply(values, weight, bias)  # type: ignore[no-any-return]
