"""Products of matrices in blocks, for stacks of models: (j, p, q) · (j, q, r) to (j, p, r), each block a product of its own.

In a stack the blocks of different models lie as far apart as models do, and a batched product takes one distance alone: PyTorch
copies such weights first, which takes longer than to multiply them. Here blocks, or models, whichever are fewer, have a batched
product each, on the tensors as they are. Gradients are products of the same kind, so that they can be differentiated again.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from hackle.kernels.branch import Branch
from hackle.kernels.mapping import Stackable


def _multiplied(first: Tensor, second: Tensor) -> Tensor:
    if first.dim() == 3:
        return torch.bmm(first, second)
    out = first.new_empty(*first.shape[:3], second.shape[-1])
    axis = 0 if first.shape[0] < first.shape[1] else 1
    for place in range(first.shape[axis]):
        torch.bmm(first.select(axis, place), second.select(axis, place), out=out.select(axis, place))
    return out


class _Products(Stackable):
    @staticmethod
    def forward(first: Tensor, second: Tensor) -> Tensor:
        return _multiplied(first, second)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        (first, second), (grad,) = ctx.saved_tensors, grads
        needs_first, needs_second = ctx.needs_input_grad
        with Branch(grad, alone=torch.is_grad_enabled()) as beside:
            of_second = beside(_Products.apply, first.mT, grad) if needs_second else None
            return _Products.apply(grad, second.mT) if needs_first else None, of_second


def products(first: Tensor, second: Tensor) -> Tensor:
    """(j, p, q) · (j, q, r) to (j, p, r)."""
    return _Products.apply(first, second)  # type: ignore[no-any-return]
