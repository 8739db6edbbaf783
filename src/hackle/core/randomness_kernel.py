"""Philox in Triton: what `hackle.core.randomness.Stream` draws, in one kernel launch instead of some eighty small ones."""

# Triton reads annotations as values.
# pyright: reportInvalidTypeForm=false

from __future__ import annotations

import torch
from torch import Tensor

from hackle.core.triton_shim import jit, launch, libdevice, tl, triton


@jit
def philox(a, b, c, d, left, right):
    """`hackle.core.randomness.philox` in 32-bit arithmetic."""
    for _ in tl.static_range(10):
        high_a = tl.umulhi(a, 0xD2511F53)
        high_c = tl.umulhi(c, 0xCD9E8D57)
        low_a = a * 0xD2511F53
        low_c = c * 0xCD9E8D57
        a = high_c ^ b ^ left
        c = high_a ^ d ^ right
        b = low_c
        d = low_a
        left = left + 0x9E3779B9
        right = right + 0xBB67AE85
    return a, b, c, d


@jit
def words_kernel(out, seeds, step, tag, count, high, BLOCK: tl.constexpr):
    """Words as they come or, with `high` above 0, scaled to whole numbers below it."""
    model = tl.program_id(0).to(tl.int64)
    position = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    seed = tl.load(seeds + model)
    now = tl.load(step)
    a, b, c, d = philox(
        position.to(tl.uint32),
        tag.to(tl.uint32),
        now.to(tl.uint32),
        (now >> 32).to(tl.uint32),
        seed.to(tl.uint32),
        (seed >> 32).to(tl.uint32),
    )
    if high > 0:
        below = tl.cast(high, tl.uint32)
        a = tl.umulhi(a, below)
        b = tl.umulhi(b, below)
        c = tl.umulhi(c, below)
        d = tl.umulhi(d, below)
    row = out + model * count + position * 4
    tl.store(row, a.to(tl.int64), mask=position * 4 < count)
    tl.store(row + 1, b.to(tl.int64), mask=position * 4 + 1 < count)
    tl.store(row + 2, c.to(tl.int64), mask=position * 4 + 2 < count)
    tl.store(row + 3, d.to(tl.int64), mask=position * 4 + 3 < count)


def words(seeds: Tensor, step: Tensor, tag: int, count: int, high: int = 0) -> Tensor:
    """(m, count) words as int64, on the device of the seeds; with `high`, whole numbers below it."""
    out = torch.empty(len(seeds), count, dtype=torch.int64, device=seeds.device)
    if out.numel():
        block = 128
        grid = (len(seeds), triton.cdiv(triton.cdiv(count, 4), block))
        launch(words_kernel, grid, out, seeds, step, tag, count, high, BLOCK=block)
    return out


@jit
def word_at(position, tag, now, seed):
    """The word at each position: of four that Philox gives at once, the one that is asked for."""
    a, b, c, d = philox(
        (position // 4).to(tl.uint32),
        tag.to(tl.uint32),
        now.to(tl.uint32),
        (now >> 32).to(tl.uint32),
        seed.to(tl.uint32),
        (seed >> 32).to(tl.uint32),
    )
    which = position % 4
    return tl.where(which < 2, tl.where(which == 0, a, b), tl.where(which == 2, c, d))


@jit
def normal_kernel(out, seeds, step, tag, count, pairs, BLOCK: tl.constexpr):
    model = tl.program_id(0).to(tl.int64)
    pair = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    seed = tl.load(seeds + model)
    now = tl.load(step)
    first = (word_at(pair, tag, now, seed) >> 8).to(tl.float32)
    second = (word_at(pairs + pair, tag, now, seed) >> 8).to(tl.float32)
    radius = tl.sqrt(-2.0 * libdevice.log((first + 1.0) * 5.9604644775390625e-08))
    angle = second * 3.7450702829239286e-07
    row = out + model * count
    tl.store(row + pair, radius * libdevice.cos(angle), mask=pair < pairs)
    tl.store(row + pairs + pair, radius * libdevice.sin(angle), mask=pairs + pair < count)


def normal(seeds: Tensor, step: Tensor, tag: int, count: int) -> Tensor:
    """(m, count) standard normal numbers, on the device of the seeds."""
    out = torch.empty(len(seeds), count, dtype=torch.float32, device=seeds.device)
    if out.numel():
        block, pairs = 128, triton.cdiv(count, 2)
        grid = (len(seeds), triton.cdiv(pairs, block))
        launch(normal_kernel, grid, out, seeds, step, tag, count, pairs, BLOCK=block)
    return out
