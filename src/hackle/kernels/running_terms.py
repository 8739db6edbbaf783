"""What a fleet notes of its losses at every step, for all models in one launch: running sums of each term, which terms are not
finite, and from which step on a model has failed.

Each term is a few numbers, and PyTorch would take a dozen launches of next to no work. On CUDA alone; `hackle.train.terms` says
the same by PyTorch.
"""

# Triton reads annotations as values.
# pyright: reportInvalidTypeForm=false

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from hackle.core.triton_shim import jit, launch, tl, triton


class Term(NamedTuple):
    """Values (k, w) in float32 of the models `rows`, which stand in a row's columns from `column` on."""

    values: Tensor
    rows: slice
    column: int


@jit
def _note_kernel(
    sums, broken, failed_at, step, alive, width, values, firsts, ends, widths, columns,
    COUNT: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    model = tl.program_id(0)
    failed = tl.load(failed_at + model)
    place = tl.arange(0, BLOCK)
    breaks = tl.zeros((BLOCK,), tl.int32)
    for each in tl.static_range(COUNT):
        if (model >= firsts[each]) & (model < ends[each]):
            inside = place < widths[each]
            value = tl.load(values[each] + (model - firsts[each]) * widths[each] + place, mask=inside, other=0.0)
            at = model * width + columns[each] + place
            total = tl.load(sums + at, mask=inside, other=0.0)
            marked = tl.load(broken + at, mask=inside, other=0).to(tl.int32)
            finite = tl.abs(value) < float("inf")
            bad = tl.where(finite | (failed >= 0), 0, 1)
            tl.store(sums + at, total + value, mask=inside)
            tl.store(broken + at, (marked | bad) > 0, mask=inside)
            breaks |= bad
    failed = tl.where(tl.max(breaks, 0) > 0, tl.load(step), failed)
    tl.store(failed_at + model, failed)
    tl.store(alive + model, failed < 0)


def note_terms(terms: Sequence[Term], sums: Tensor, broken: Tensor, failed_at: Tensor, step: Tensor) -> Tensor:
    """Add the terms to their sums (m, p), mark in `broken` (m, p) those of models going on that are not finite, and put the
    step into `failed_at` (m,) of their models, where −1 is none. Returns which models go on, (m, 1)."""
    alive = torch.empty(len(failed_at), 1, dtype=torch.bool, device=failed_at.device)
    widths = [term.values.shape[1] for term in terms]
    launch(
        _note_kernel, (len(failed_at),), sums, broken, failed_at, step, alive, sums.shape[1],
        tuple(term.values.contiguous() for term in terms), tuple(term.rows.start for term in terms),
        tuple(term.rows.stop for term in terms), tuple(widths), tuple(term.column for term in terms),
        COUNT=len(terms), BLOCK=triton.next_power_of_2(max(widths)), num_warps=1,
    )  # fmt: skip
    return alive
