"""Sums over many parts in an order that does not depend on the number of stacked models, in Triton."""

# Triton reads annotations as values.
# pyright: reportInvalidTypeForm=false

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate

import torch
from torch import Tensor

from hackle.core.triton_shim import jit, launch, tl, triton

_TALL, _FLAT = (256, 16), (16, 256)
"""Rows and columns of the blocks in which `add_all` sums many parts and few."""
_AT_ONCE = 16
"""The most sums of one launch."""
_MOST_PARTS = 4096
"""More are first summed by `add_parts`, in several launches that fill the device."""


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


@jit
def _add_block(parts, out, model, count, width, wide, block, BN: tl.constexpr, BW: tl.constexpr):
    """A block of columns of Σ over the parts of one model, in order. Of rows of whole sixteens `wide` is the width, known to
    be such, so that they are loaded in wide words."""
    column = block * BW + tl.arange(0, BW)
    inside = column < wide
    acc = tl.zeros((BW,), tl.float32)
    for start in range(0, count, BN):
        row = start + tl.arange(0, BN)
        at = (model * count + row[:, None]) * width + column[None, :]
        acc += tl.sum(tl.load(parts + at, mask=(row < count)[:, None] & inside[None, :], other=0.0), 0)
    tl.store(out + model * width + column, acc, mask=inside)


@jit
def _sums_kernel(
    out, addresses, offsets, counts, widths, begins, COUNT: tl.constexpr,
    TALL_ROWS: tl.constexpr, TALL_COLUMNS: tl.constexpr, FLAT_ROWS: tl.constexpr, FLAT_COLUMNS: tl.constexpr,
):  # fmt: skip
    """COUNT sums in one launch. The arguments tell of each where its float32 parts are, where its result goes, how many parts
    there are, how wide, and its first block."""
    model = tl.program_id(1).to(tl.int64)
    block = tl.program_id(0)
    address = addresses[0]
    offset = offsets[0]
    count = counts[0]
    width = widths[0]
    begin = begins[0]
    for each in tl.static_range(1, COUNT):
        here = block >= begins[each]
        address = tl.where(here, addresses[each], address)
        offset = tl.where(here, offsets[each], offset)
        count = tl.where(here, counts[each], count)
        width = tl.where(here, widths[each], width)
        begin = tl.where(here, begins[each], begin)
    parts = tl.multiple_of(address.to(tl.pointer_type(tl.float32)), 16)
    there = out + offset
    block -= begin
    sixteens = width // 16 * 16
    if count <= FLAT_ROWS:
        if sixteens == width:
            _add_block(parts, there, model, count, sixteens, sixteens, block, FLAT_ROWS, FLAT_COLUMNS)
        else:
            _add_block(parts, there, model, count, width, width, block, FLAT_ROWS, FLAT_COLUMNS)
    elif sixteens == width:
        _add_block(parts, there, model, count, sixteens, sixteens, block, TALL_ROWS, TALL_COLUMNS)
    else:
        _add_block(parts, there, model, count, width, width, block, TALL_ROWS, TALL_COLUMNS)


def add_all(several: Sequence[Tensor]) -> list[Tensor]:
    """What `add_parts` gives for each of several, in one launch: each sum's order depends on its own shape alone."""
    found = [_few(parts) for parts in several]
    left = [place for place, parts in enumerate(found) if parts.shape[1] > 1]
    for start in range(0, len(left), _AT_ONCE):
        chosen = left[start : start + _AT_ONCE]
        for place, total in zip(chosen, _added([found[place] for place in chosen]), strict=True):
            found[place] = total[:, None]
    return [total[:, 0] for total in found]


def _few(parts: Tensor) -> Tensor:
    """Not too many parts with the same sum, in float32 and where the kernel's wide words can begin."""
    if parts.shape[1] > _MOST_PARTS or parts.dtype != torch.float32:
        return add_parts(parts)[:, None]
    return parts.contiguous() if parts.data_ptr() % 16 == 0 else parts.clone(memory_format=torch.contiguous_format)


def _added(several: Sequence[Tensor]) -> list[Tensor]:
    models = len(several[0])
    counts, widths = [parts.shape[1] for parts in several], [parts[0, 0].numel() for parts in several]
    columns = [(_FLAT if count <= _FLAT[0] else _TALL)[1] for count in counts]
    ends = list(accumulate(triton.cdiv(width, wide) for width, wide in zip(widths, columns, strict=True)))
    # Every result begins at a multiple of 16 numbers.
    offsets = list(accumulate((models * (width + -width % 16) for width in widths), initial=0))
    out = torch.empty(offsets[-1], dtype=torch.float32, device=several[0].device)
    # The last begins behind all blocks: with it no width is known when a sum alone is compiled, which would change its order.
    launch(
        _sums_kernel, (ends[-1], models), out, (*(parts.data_ptr() for parts in several), out.data_ptr()), tuple(offsets),
        (*counts, 3), (*widths, 3), (0, *ends), COUNT=len(several) + 1,
        TALL_ROWS=_TALL[0], TALL_COLUMNS=_TALL[1], FLAT_ROWS=_FLAT[0], FLAT_COLUMNS=_FLAT[1],
    )  # fmt: skip
    return [
        out[offset : offset + models * width].view(models, *parts.shape[2:])
        for offset, width, parts in zip(offsets, widths, several, strict=False)
    ]
