"""Schedules of the learning rate and of the weight of the KL term: functions of a run's record and the step alone.

At step t = 0, 1, … of T an `Adam` with learning rate η, warm-up w, end e (`decay_steps`, or T) and final fraction f
(`decay_to`) has

    η · min(1, (t + 1) / w) · d(u),    u = (t − w) / (e − w) within [0, 1],

    d = 1 (constant),   1 − (1 − f) u (linear),   f + (1 − f) · ½ (1 + cos πu) (cosine),   f ^ ⌊(t − w)₊ / e⌋ (step),

and the KL term of a run with `kl_warmup` k the weight min(1, t / k). Rates are computed in float64 and rounded, so that cosines
and powers are the same numbers on every device and in every stack.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from hackle.core.types import Adam


def is_scheduled(settings: Adam) -> bool:
    """Whether the learning rate changes over the steps."""
    return settings.warmup > 0 or settings.decay != "constant"


def ends_with_the_run(settings: Adam) -> bool:
    """Whether the learning rate at a step depends on the run's number of steps."""
    return settings.decay in ("linear", "cosine") and settings.decay_steps == 0


def learning_rate(settings: Any, step: Tensor, steps: int) -> Tensor:
    """The rates of the models of a stack, (m, 1), at a step of a run of `steps` steps. `settings` has the float fields
    of `Adam` as (m, 1) tensors."""
    warmup, left, end = (value.double() for value in (settings.warmup, settings.decay_to, settings.decay_steps))
    rate = settings.learning_rate.double() * ((step + 1) / warmup).clamp(max=1)
    after = (step - warmup).clamp(min=0)
    if settings.decay == "step":
        rate = rate * left ** (after / end).floor()
    elif settings.decay != "constant":
        part = (after / (end + steps * (end == 0) - warmup).clamp(min=1)).clamp(max=1)
        gone = part if settings.decay == "linear" else 0.5 * (1 - torch.cos(math.pi * part))
        rate = rate * (1 - (1 - left) * gone)
    return rate.to(torch.float32)


def kl_weight(warmup: Tensor, step: Tensor) -> Tensor:
    """The weight of the KL term at a step of a run that warms it up over `warmup` steps; 1 where that is 0."""
    return ((step + (warmup == 0)) / warmup).clamp(max=1)
