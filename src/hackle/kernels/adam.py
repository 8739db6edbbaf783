"""Adam for a stack of models: one row of parameters each, with settings of its own (Kingma & Ba 2015, algorithm 1).

On CUDA a Triton kernel reads gradient, weights and moments once and writes them once; elsewhere PyTorch's operations do the
same. A row that is not alive keeps its weights.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from hackle.randomness_kernel import jit, tl, triton


@jit
def _adam_kernel(weights, gradient, first, second, settings, width, BLOCK: tl.constexpr):  # pyright: ignore[reportInvalidTypeForm]
    model = tl.program_id(1).to(tl.int64)
    column = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = column < width
    at = model * width + column
    own = settings + model * 6
    rate = tl.load(own)
    beta1 = tl.load(own + 1)
    beta2 = tl.load(own + 2)
    epsilon = tl.load(own + 3)
    scale = tl.load(own + 4)
    alive = tl.load(own + 5)
    g = tl.load(gradient + at, mask=inside, other=0.0)
    g = tl.where(alive > 0, g, 0.0)
    m = tl.load(first + at, mask=inside, other=0.0)
    v = tl.load(second + at, mask=inside, other=0.0)
    m += (1 - beta1) * (g - m)
    v += (1 - beta2) * (g * g - v)
    w = tl.load(weights + at, mask=inside, other=0.0)
    w -= rate * m / (tl.sqrt(v * scale) + epsilon)
    tl.store(first + at, m, mask=inside)
    tl.store(second + at, v, mask=inside)
    tl.store(weights + at, w, mask=inside)


def adam_step(
    weights: Tensor, gradient: Tensor, first: Tensor, second: Tensor, updates: Tensor, settings: Any, alive: Tensor
) -> None:
    """Update weights and moments (m, p) in place. `settings` has the fields of `Adam` as (m, 1) tensors; `updates` counts
    this one already; `alive` is (m, 1)."""
    correction1 = 1 - settings.beta1**updates
    correction2 = 1 - settings.beta2**updates
    rate = settings.learning_rate * alive / correction1
    if weights.is_cuda:
        rows = (rate, settings.beta1, settings.beta2, settings.epsilon, 1 / correction2, alive.to(rate.dtype))
        packed = torch.cat(rows, dim=1).contiguous()
        block = 1024
        with torch.cuda.device_of(weights):
            _adam_kernel[(triton.cdiv(weights.shape[1], block), len(weights))](
                weights, gradient.contiguous(), first, second, packed, weights.shape[1], BLOCK=block
            )
        return
    gradient = torch.where(alive, gradient, 0.0)
    first.lerp_(gradient, (1 - settings.beta1).expand_as(first))
    second.lerp_(gradient.square(), (1 - settings.beta2).expand_as(second))
    weights.sub_(rate * first / (second.div(correction2).sqrt_() + settings.epsilon))
