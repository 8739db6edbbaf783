"""Adam for a stack of models: one row of parameters for each, with its own settings (Kingma & Ba 2015, algorithm 1),
and its variant AdamW, in which weights also decay (Loshchilov & Hutter 2019): w ← w − η (Adam's step + λ w).

On CUDA a Triton kernel reads gradients, weights and moments once and writes them once, for all parameters of a network in one
launch; elsewhere PyTorch's fused Adam does, model by model. Gradients come parameter by parameter, as they were computed, each
in its own dtype. Where networks compute with rounded weights, the same pass writes these. A row that is not alive keeps its
weights.
"""

# Triton reads annotations as values.
# pyright: reportInvalidTypeForm=false

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import torch
from torch import Tensor

from hackle.core.triton_shim import jit, launch, libdevice, on_triton, tl, triton

_BLOCK = 1024
_AT_ONCE = 24
"""The most parameters that one launch updates."""


class Rows(NamedTuple):
    """One network's parameters in a fleet, (m, p), with Adam's two moments and, where they are needed, the rounded weights."""

    weights: Tensor
    first: Tensor
    second: Tensor
    rounded: Tensor | None = None


@jit
def _gradient(address, model, width, wide, column, inside, form):
    """A block of one parameter's gradient, float32 or bfloat16 (form 0 or 1). Only where its rows have whole numbers of 16
    (form below 2) are they loaded in wide words."""
    if form == 0:
        singles = tl.multiple_of(address.to(tl.pointer_type(tl.float32)), 16)
        g = tl.load(singles + model * wide + column, mask=inside, other=0.0)
    elif form == 1:
        halves = tl.multiple_of(address.to(tl.pointer_type(tl.bfloat16)), 16)
        g = tl.load(halves + model * wide + column, mask=inside, other=0.0).to(tl.float32)
    elif form == 2:
        singles = address.to(tl.pointer_type(tl.float32))
        g = tl.load(singles + model * width + column, mask=column < width, other=0.0)
    else:
        halves = address.to(tl.pointer_type(tl.bfloat16))
        g = tl.load(halves + model * width + column, mask=column < width, other=0.0).to(tl.float32)
    return g


@jit
def _adam_kernel(
    weights, first, second, rounded, settings, factors, limits, kept, row,
    addresses, offsets, widths, begins, forms, decays,
    COUNT: tl.constexpr, ROUND: tl.constexpr, CLIP: tl.constexpr, LIMIT: tl.constexpr, DECAY: tl.constexpr,
    BLOCK: tl.constexpr,
):  # fmt: skip
    """The last arguments tell of each of COUNT parameters where its gradient is, its column in the rows, its width, its first
    block, the gradient's form and whether it decays. Weights in the gap after a parameter stay."""
    model = tl.program_id(1).to(tl.int64)
    block = tl.program_id(0)
    address = addresses[0]
    offset = offsets[0]
    width = widths[0]
    begin = begins[0]
    form = forms[0]
    decay = decays[0]
    for each in tl.static_range(1, COUNT):
        here = block >= begins[each]
        address = tl.where(here, addresses[each], address)
        offset = tl.where(here, offsets[each], offset)
        width = tl.where(here, widths[each], width)
        begin = tl.where(here, begins[each], begin)
        form = tl.where(here, forms[each], form)
        decay = tl.where(here, decays[each], decay)
    column = (block - begin) * BLOCK + tl.arange(0, BLOCK)
    wide = (width + 15) // 16 * 16
    inside = column < wide
    at = model * row + tl.multiple_of(offset, 16) + column
    own = settings + model * 6
    rate = tl.load(own)
    beta1 = tl.load(own + 1)
    beta2 = tl.load(own + 2)
    epsilon = tl.load(own + 3)
    scale = tl.load(own + 4)
    alive = tl.load(own + 5)
    g = _gradient(address, model, width, wide, column, inside, form)
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
    before = tl.load(weights + at, mask=inside, other=0.0)
    w = before
    if DECAY:
        w *= tl.where(decay > 0, tl.load(kept + model), 1.0)
    w -= rate * m / (tl.sqrt(v * scale) + epsilon)
    w = tl.where(column < width, w, before)
    tl.store(first + at, m, mask=inside)
    tl.store(second + at, v, mask=inside)
    tl.store(weights + at, w, mask=inside)
    if ROUND:
        tl.store(rounded + at, w.to(rounded.dtype.element_ty), mask=inside)


@jit
def _settings_kernel(learning_rates, betas1, betas2, epsilons, alive, updates, packed, models, BLOCK: tl.constexpr):
    """Counts this update, and writes what `_adam_kernel` needs for each model: its learning rate, including the first moment's
    bias correction, 0 if it is not alive; both decay rates; ε; the second moment's bias correction; whether it is alive."""
    number = tl.load(updates) + 1
    tl.debug_barrier()  # All threads have read the count before one writes it.
    tl.store(updates, number)
    for start in range(0, models, BLOCK):
        model = start + tl.arange(0, BLOCK)
        inside = model < models
        count = number.to(tl.float32) + tl.zeros((BLOCK,), tl.float32)
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
    """Update weights and moments in place, and count the update. Each gradient, (m, …) or off CUDA also one tensor for each
    model, comes with the column at which its parameter starts, a multiple of 16.

    `settings` has the fields of `Adam` as (m, 1) tensors; `updates` counts those so far; `alive` is (m, 1).
    `factors` (m, 1), if given, multiply each model's gradient. `limited`: the numbers of the gradient are then clipped
    at `clip_value`. `decayed`: the columns at which the parameters start that decay by `weight_decay`.
    """
    limits = torch.where(settings.clip_value > 0, settings.clip_value, torch.inf) if limited else None
    kept = 1 - settings.learning_rate * settings.weight_decay * alive if decayed else None
    if on_triton(rows.weights):
        stacks = [(start, gradient) for start, gradient in gradients if isinstance(gradient, Tensor)]
        _update(rows, stacks, _packed(settings, updates, alive), factors, limits, kept, decayed)
        return
    updates += 1
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
    launch(_settings_kernel, (1,), *columns, updates, packed, models, BLOCK=128)
    return packed


def _loadable(gradient: Tensor) -> Tensor:
    """The gradient as the kernel loads it: float32 or bfloat16, contiguous, at a multiple of 16 bytes."""
    dense = gradient if gradient.dtype == torch.bfloat16 else gradient.to(torch.float32)
    return dense.contiguous() if dense.data_ptr() % 16 == 0 else dense.clone(memory_format=torch.contiguous_format)


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
    for part in range(0, len(gradients), _AT_ONCE):
        given = [(offset, _loadable(gradient)) for offset, gradient in gradients[part : part + _AT_ONCE]]
        widths = [gradient[0].numel() for _, gradient in given]
        ends = list(accumulate(triton.cdiv(width, _BLOCK) for width in widths))
        forms = [
            int(gradient.dtype == torch.bfloat16) + 2 * (width % 16 > 0)
            for (_, gradient), width in zip(given, widths, strict=True)
        ]
        launch(
            _adam_kernel, (ends[-1], models), rows.weights, rows.first, rows.second, rounded, packed,
            packed if factors is None else factors, packed if limits is None else limits,
            packed if kept is None else kept, row,
            tuple(gradient.data_ptr() for _, gradient in given), tuple(offset for offset, _ in given), tuple(widths),
            (0, *ends[:-1]), tuple(forms), tuple(int(offset in decayed) for offset, _ in given),
            COUNT=len(given), ROUND=rows.rounded is not None, CLIP=factors is not None, LIMIT=limits is not None,
            DECAY=kept is not None, BLOCK=_BLOCK,
        )  # fmt: skip
