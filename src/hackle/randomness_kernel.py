"""Philox in Triton: the words of `hackle.randomness.Stream` in one kernel launch instead of some eighty small ones."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor

_present = find_spec("triton") is not None
triton: Any = import_module("triton") if _present else None
tl: Any = import_module("triton.language") if _present else None


def jit(function: Any) -> Any:
    """`triton.jit` where there is Triton; elsewhere the plain function, which nobody launches."""
    return triton.jit(function) if _present else function


@jit
def philox(a, b, c, d, left, right):
    """`hackle.randomness.philox` in 32-bit arithmetic."""
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
def words_kernel(out, seeds, step, tag, count, BLOCK: tl.constexpr):  # pyright: ignore[reportInvalidTypeForm]
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
    row = out + model * count + position * 4
    tl.store(row, a.to(tl.int64), mask=position * 4 < count)
    tl.store(row + 1, b.to(tl.int64), mask=position * 4 + 1 < count)
    tl.store(row + 2, c.to(tl.int64), mask=position * 4 + 2 < count)
    tl.store(row + 3, d.to(tl.int64), mask=position * 4 + 3 < count)


def words(seeds: Tensor, step: Tensor, tag: int, count: int) -> Tensor:
    """(m, count) words as int64, on the device of the seeds."""
    out = torch.empty(len(seeds), count, dtype=torch.int64, device=seeds.device)
    if out.numel():
        block = 128
        grid = (len(seeds), triton.cdiv(triton.cdiv(count, 4), block))
        with torch.cuda.device_of(seeds):
            words_kernel[grid](out, seeds, step, tag, count, BLOCK=block)
    return out
