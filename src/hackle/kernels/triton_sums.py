"""Sums over many parts in an order that does not depend on the number of stacked models, in Triton."""

# Triton reads annotations as values.
# pyright: reportInvalidTypeForm=false

from __future__ import annotations

import math

import torch
from torch import Tensor

from hackle.core.triton_shim import jit, launch, tl, triton


@jit
def _sum_kernel(parts, out, width, count, chunks, ROWS: tl.constexpr, BN: tl.constexpr, BW: tl.constexpr):
    """out[chunk] = Σ over up to ROWS parts, in order."""
    model = tl.program_id(0).to(tl.int64)
    chunk = tl.program_id(2)
    column = tl.program_id(1) * BW + tl.arange(0, BW)
    acc = tl.zeros((BW,), tl.float32)
    for start in range(0, ROWS, BN):
        row = chunk * ROWS + start + tl.arange(0, BN)
        at = (model * count + row[:, None]) * width + column[None, :]
        acc += tl.sum(
            tl.load(parts + at, mask=(row < count)[:, None] & (column < width)[None, :], other=0.0).to(tl.float32), 0
        )
    tl.store(out + (model * chunks + chunk) * width + column, acc, mask=column < width)


def add_parts(parts: Tensor) -> Tensor:
    """The sum over the second axis of (m, n, …) in float32, in an order that does not depend on m."""
    models, count = parts.shape[:2]
    parts = parts.contiguous()
    width = parts[0, 0].numel()
    together = 128 // math.gcd(width, 128)
    if width < 128 and together > 1 and count > together and count % together == 0:
        # Narrow parts are first summed a few hundred numbers wide, as memory is read.
        wide_rows = add_parts(parts.view(models, count // together, together * width))
        return add_parts(wide_rows.view(models, together, *parts.shape[2:]))
    at_once = min(triton.next_power_of_2(count), 32)
    wide = min(triton.next_power_of_2(width), 4096 // at_once)
    rows = at_once if count <= at_once else 4 * at_once
    chunks = triton.cdiv(count, rows)
    out = torch.empty(models, chunks, *parts.shape[2:], dtype=torch.float32, device=parts.device)
    grid = (models, triton.cdiv(width, wide), chunks)
    launch(_sum_kernel, grid, parts, out, width, count, chunks, ROWS=rows, BN=at_once, BW=wide)
    return out[:, 0] if chunks == 1 else add_parts(out)
