"""Adam for a stack of models: one row of parameters for each, with its own settings (Kingma & Ba 2015, algorithm 1),
and its variant AdamW, in which weights also decay (Loshchilov & Hutter 2019): w ← w − η (Adam's step + λ w).

On CUDA a Triton kernel reads gradient, weights and moments once and writes them once; elsewhere PyTorch's fused Adam does,
model by model. Gradients come parameter by parameter, as they were computed, each in its own dtype. Where networks compute with
rounded weights, the same pass writes these. A row that is not alive keeps its weights.
"""

# Triton reads annotations as values.
# pyright: reportInvalidTypeForm=false

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from hackle.core.triton_shim import jit, launch, libdevice, on_triton, tl, triton


class Rows(NamedTuple):
    """One network's parameters in a fleet, (m, p), with Adam's two moments and, where they are needed, the rounded weights."""

    weights: Tensor
    first: Tensor
    second: Tensor
    rounded: Tensor | None = None


@jit
def _adam_kernel(
    weights, gradient, first, second, rounded, settings, factors, limits, kept, row, offset, width,
    ROUND: tl.constexpr, CLIP: tl.constexpr, LIMIT: tl.constexpr, DECAY: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    model = tl.program_id(1).to(tl.int64)
    column = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = column < width
    at = model * row + offset + column
    own = settings + model * 6
    rate = tl.load(own)
    beta1 = tl.load(own + 1)
    beta2 = tl.load(own + 2)
    epsilon = tl.load(own + 3)
    scale = tl.load(own + 4)
    alive = tl.load(own + 5)
    g = tl.load(gradient + model * width + column, mask=inside, other=0.0).to(tl.float32)
    if CLIP:
        g *= tl.load(factors + model)
    if LIMIT:
        most = tl.load(limits + model)
        g = tl.minimum(tl.maximum(g, -most), most)
    g = tl.where(alive > 0, g, 0.0)
    m = tl.load(first + at, mask=inside, other=0.0)
    v = tl.load(second + at, mask=inside, other=0.0)
    m += (1 - beta1) * (g - m)
    v += (1 - beta2) * (g * g - v)
    w = tl.load(weights + at, mask=inside, other=0.0)
    if DECAY:
        w *= tl.load(kept + model)
    w -= rate * m / (tl.sqrt(v * scale) + epsilon)
    tl.store(first + at, m, mask=inside)
    tl.store(second + at, v, mask=inside)
    tl.store(weights + at, w, mask=inside)
    if ROUND:
        tl.store(rounded + at, w.to(rounded.dtype.element_ty), mask=inside)


@jit
def _settings_kernel(learning_rates, betas1, betas2, epsilons, alive, updates, packed, models, BLOCK: tl.constexpr):
    """What `_adam_kernel` needs for each model: its learning rate, including the first moment's bias correction, 0 if
    it is not alive; both decay rates; ε; the second moment's bias correction; whether it is alive."""
    model = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = model < models
    count = tl.load(updates).to(tl.float32) + tl.zeros((BLOCK,), tl.float32)
    going = tl.load(alive + model, mask=inside, other=0).to(tl.float32)
    beta1 = tl.load(betas1 + model, mask=inside, other=0.5)
    beta2 = tl.load(betas2 + model, mask=inside, other=0.5)
    rate = tl.load(learning_rates + model, mask=inside, other=0.0)
    own = packed + model * 6
    tl.store(own, rate * going / (1.0 - libdevice.pow(beta1, count)), mask=inside)
    tl.store(own + 1, beta1, mask=inside)
    tl.store(own + 2, beta2, mask=inside)
    tl.store(own + 3, tl.load(epsilons + model, mask=inside, other=0.0), mask=inside)
    tl.store(own + 4, 1.0 / (1.0 - libdevice.pow(beta2, count)), mask=inside)
    tl.store(own + 5, going, mask=inside)


def adam_step(
    rows: Rows,
    gradients: Sequence[tuple[int, Tensor | Sequence[Tensor]]],
    updates: Tensor,
    settings: Any,
    alive: Tensor,
    factors: Tensor | None = None,
    *,
    limited: bool = False,
    decayed: Collection[int] = (),
) -> None:
    """Update weights and moments in place. Each gradient, (m, …) or off CUDA also one tensor for each model,
    comes with the column at which its parameter starts.

    `settings` has the fields of `Adam` as (m, 1) tensors; `updates` already counts this one; `alive` is (m, 1).
    `factors` (m, 1), if given, multiply each model's gradient. `limited`: the numbers of the gradient are then clipped
    at `clip_value`. `decayed`: the columns at which the parameters start that decay by `weight_decay`.
    """
    limits = torch.where(settings.clip_value > 0, settings.clip_value, torch.inf) if limited else None
    kept = 1 - settings.learning_rate * settings.weight_decay * alive if decayed else None
    if on_triton(rows.weights):
        stacks = [(start, gradient) for start, gradient in gradients if isinstance(gradient, Tensor)]
        _update(rows, stacks, _packed(settings, updates, alive), factors, limits, kept, decayed)
        return
    count = updates.to(torch.float32)
    own = (settings.learning_rate, settings.beta1, settings.beta2, settings.epsilon, alive)
    for model, (rate, beta1, beta2, epsilon, going) in enumerate(
        zip(*(value.flatten().tolist() for value in own), strict=True)
    ):
        if not going:
            continue
        given = [_ready(gradient[model], rows.weights.dtype, model, factors, limits) for _, gradient in gradients]
        columns = [slice(start, start + len(values)) for (start, _), values in zip(gradients, given, strict=True)]
        weights, first, second = ([values[model, each] for each in columns] for values in rows[:3])
        if kept is not None:
            for (start, _), values in zip(gradients, weights, strict=True):
                if start in decayed:
                    values *= kept[model]
        torch.ops.aten._fused_adam_(
            weights, given, first, second, [], [count] * len(given),
            lr=rate, beta1=beta1, beta2=beta2, weight_decay=0.0, eps=epsilon, amsgrad=False, maximize=False,
        )  # fmt: skip
        if rows.rounded is not None:
            rows.rounded[model] = rows.weights[model]


def _ready(gradient: Tensor, dtype: torch.dtype, model: int, factors: Tensor | None, limits: Tensor | None) -> Tensor:
    """One model's gradient as a row of numbers, scaled and clipped."""
    values = gradient.reshape(-1).to(dtype)
    if factors is not None:
        values = values * factors[model]
    return values if limits is None else values.clamp(-limits[model], limits[model])


def _packed(settings: Any, updates: Tensor, alive: Tensor) -> Tensor:
    """The six numbers of each model that `_adam_kernel` reads, (m, 6)."""
    fields = (settings.learning_rate, settings.beta1, settings.beta2, settings.epsilon, alive)
    columns = [value.contiguous() for value in fields]
    models = len(alive)
    packed = torch.empty(models, 6, dtype=torch.float32, device=alive.device)
    launch(_settings_kernel, (triton.cdiv(models, 128),), *columns, updates, packed, models, BLOCK=128)
    return packed


def _update(
    rows: Rows,
    gradients: Sequence[tuple[int, Tensor]],
    packed: Tensor,
    factors: Tensor | None,
    limits: Tensor | None,
    kept: Tensor | None,
    decayed: Collection[int],
) -> None:
    models, row = rows.weights.shape
    rounded = rows.weights if rows.rounded is None else rows.rounded
    for offset, gradient in gradients:
        width = gradient[0].numel()
        block = min(1024, triton.next_power_of_2(width))
        launch(
            _adam_kernel, (triton.cdiv(width, block), models),
            rows.weights, gradient.contiguous(), rows.first, rows.second, rounded, packed,
            packed if factors is None else factors, packed if limits is None else limits,
            packed if kept is None else kept, row, offset, width,
            ROUND=rows.rounded is not None, CLIP=factors is not None, LIMIT=limits is not None,
            DECAY=kept is not None and offset in decayed, BLOCK=block,
        )  # fmt: skip
