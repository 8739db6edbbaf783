"""Adam for a stack of models: one row of parameters for each, with its own settings (Kingma & Ba 2015, algorithm 1),
and its variant AdamW, in which weights also decay (Loshchilov & Hutter 2019): w ← w − η (Adam's step + λ w).

On CUDA a Triton kernel reads gradient, weights and moments once and writes them once; elsewhere PyTorch's operations do the
same. Gradients come parameter by parameter, as they were computed, each in its own dtype. Where networks compute with
rounded weights, the same pass writes these. A row that is not alive keeps its weights.
"""

# Triton reads annotations as values.
# pyright: reportInvalidTypeForm=false

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from hackle.core.triton_shim import jit, launch, libdevice, on_triton, tl, triton

_BLOCK = 2**18
"""Numbers that are updated at once off CUDA; gradient, weights and moments of so many fit into a core's cache."""
_GAP = 16
"""Parameters that follow each other have fewer columns than this between them, which hold zeros."""


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
    gradients: Sequence[tuple[int, Tensor]],
    updates: Tensor,
    settings: Any,
    alive: Tensor,
    factors: Tensor | None = None,
    *,
    limited: bool = False,
    decayed: Collection[int] = (),
) -> None:
    """Update weights and moments in place. Each gradient (m, …) comes with the column at which its parameter starts.

    `settings` has the fields of `Adam` as (m, 1) tensors; `updates` already counts this one; `alive` is (m, 1).
    `factors` (m, 1), if given, multiply each model's gradient. `limited`: the numbers of the gradient are then clipped
    at `clip_value`. `decayed`: the columns at which the parameters start that decay by `weight_decay`.
    """
    limits = torch.where(settings.clip_value > 0, settings.clip_value, torch.inf) if limited else None
    kept = 1 - settings.learning_rate * settings.weight_decay * alive if decayed else None
    if on_triton(rows.weights):
        _update(rows, gradients, _packed(settings, updates, alive), factors, limits, kept, decayed)
        return
    correction1 = 1 - settings.beta1**updates
    correction2 = 1 - settings.beta2**updates
    rate = settings.learning_rate * alive / correction1
    share1, share2 = 1 - settings.beta1, 1 - settings.beta2
    frozen = not bool(alive.all())
    for offset, gradient, decays in _blocks(gradients, decayed):
        if factors is not None:
            gradient = factors * gradient
        if frozen:
            gradient = torch.where(alive, gradient, 0.0)
        if limits is not None:
            gradient = gradient.clamp(-limits, limits)
        columns = slice(offset, offset + gradient.shape[1])
        weights, first, second = (values[:, columns] for values in rows[:3])
        first.lerp_(gradient, share1.expand_as(first))
        second.lerp_(gradient.square(), share2.expand_as(second))
        if kept is not None and decays:
            weights.mul_(kept)
        weights.sub_((rate * first).div_(second.div(correction2).sqrt_().add_(settings.epsilon)))
        if rows.rounded is not None:
            rows.rounded[:, columns] = weights


def _blocks(gradients: Sequence[tuple[int, Tensor]], decayed: Collection[int]) -> Iterator[tuple[int, Tensor, bool]]:
    """The gradients (m, columns) in float32, each with its first column and whether its weights decay.

    Every piece has about `_BLOCK` numbers, so that it stays in the processor's cache from the first operation on it to
    the last: large gradients are cut, small ones that follow each other joined, with zeros in the gaps between them.
    """
    waiting: list[tuple[int, Tensor]] = []

    def joined() -> Iterator[tuple[int, Tensor, bool]]:
        if waiting:
            (start, _), (last, final) = waiting[0], waiting[-1]
            together = torch.zeros(len(final), last + final.shape[1] - start, device=final.device)
            for offset, values in waiting:
                together[:, offset - start : offset - start + values.shape[1]] = values
            waiting.clear()
            yield start, together, False

    for offset, gradient in gradients:
        values = gradient.flatten(1)
        most = max(1, _BLOCK // len(values))
        if values.shape[1] < most and offset not in decayed:
            apart = waiting and offset - waiting[-1][0] - waiting[-1][1].shape[1] >= _GAP
            if apart or (waiting and offset + values.shape[1] - waiting[0][0] > most):
                yield from joined()
            waiting.append((offset, values))
            continue
        yield from joined()
        for start in range(0, values.shape[1], most):
            yield offset + start, values[:, start : start + most].to(torch.float32), offset in decayed
    yield from joined()


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
