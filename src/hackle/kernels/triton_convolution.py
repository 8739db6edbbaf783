"""The convolution triad for stacks of models, in Triton. The contract is that of `hackle.kernels.convolution`.

Every tensor has a leading model axis and channels last. Products are taken in the images' number format and summed in
float32; weights stay float32 in memory and are rounded as they are loaded. What follows a product is done as its result is
stored: bias and leaky ReLU going forward, and going back the derivative of the leaky ReLU before it, whose own stored result
is the `gate`, with the sums over positions that are the bias's gradient.

Sums run in an order that depends on the layer alone, never on how many models are stacked: a model's numbers are the same
bits in any fleet. Matrix units want at least 16 channels. With fewer on the image side `down` folds the 16 taps into the
summed axis, and `up` takes two passes: what each position gives to each tap, then the four taps that meet at each pixel.
"""

# Triton reads annotations as values, and its kernels name sizes as the formulas do.
# pyright: reportInvalidTypeForm=false
# ruff: noqa: E741

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from hackle.kernels.triton_sums import add_parts
from hackle.randomness_kernel import jit, tl, triton

POSITIONS_PER_SPLIT = 1024
"""Positions that one program of the weight gradient sums; parts are then added in order."""


@jit
def _leaky(values, slope):
    return tl.where(values > 0, values, values * slope)


@jit
def _down_kernel(
    x, w, bias, gate, y, sums, total, w_stride, b_stride, slope,
    H: tl.constexpr, W: tl.constexpr, C: tl.constexpr, O: tl.constexpr,
    BC: tl.constexpr, BO: tl.constexpr, BM: tl.constexpr,
    BIAS: tl.constexpr, GATE: tl.constexpr, SUMS: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """y[p, o] = Σ_{t, c} x[2p − 1 + t, c] w[t, c, o] for a block of output positions and output channels."""
    model = tl.program_id(1).to(tl.int64)
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    o = tl.program_id(2) * BO + tl.arange(0, BO)
    h: tl.constexpr = H // 2
    ww: tl.constexpr = W // 2
    ox = m % ww
    oy = (m // ww) % h
    image = m // (ww * h)
    inside = m < total
    xb = x + model * total * 4 * C
    wb = w + model * w_stride
    at = model * total * O + m[:, None] * O + o[None, :]
    mask = inside[:, None] & (o < O)[None, :]
    if GATE:  # Asked for before the product, so that it arrives meanwhile.
        passed = tl.load(gate + at, mask=mask, other=0.0) > 0
    acc = tl.zeros((BM, BO), tl.float32)
    if C < 16:
        k = tl.arange(0, BC)
        tap = k // C
        iy = 2 * oy[:, None] - 1 + tap[None, :] // 4
        ix = 2 * ox[:, None] - 1 + tap[None, :] % 4
        ok = inside[:, None] & (tap < 16)[None, :] & (iy >= 0) & (iy < H) & (ix >= 0) & (ix < W)
        tile = tl.load(xb + ((image[:, None] * H + iy) * W + ix) * C + (k % C)[None, :], mask=ok, other=0.0)
        weights = tl.load(wb + k[:, None] * O + o[None, :], mask=(tap < 16)[:, None] & (o < O)[None, :], other=0.0)
        acc = tl.dot(tile, weights.to(tile.dtype), acc, input_precision=PRECISION)
    else:
        blocks: tl.constexpr = (C + BC - 1) // BC
        for number in range(16 * blocks):
            tap = number // blocks
            c = number % blocks * BC + tl.arange(0, BC)
            iy = 2 * oy - 1 + tap // 4
            ix = 2 * ox - 1 + tap % 4
            ok = inside & (iy >= 0) & (iy < H) & (ix >= 0) & (ix < W)
            here = (((image * H + iy) * W + ix) * C)[:, None] + c[None, :]
            tile = tl.load(xb + here, mask=ok[:, None] & (c < C)[None, :], other=0.0)
            there = (tap * C + c[:, None]) * O + o[None, :]
            weights = tl.load(wb + there, mask=(c < C)[:, None] & (o < O)[None, :], other=0.0)
            acc = tl.dot(tile, weights.to(tile.dtype), acc, input_precision=PRECISION)
    if BIAS:
        acc += tl.load(bias + model * b_stride + o, mask=o < O, other=0.0)[None, :]
        acc = _leaky(acc, slope)
    if GATE:
        acc = tl.where(passed, acc, acc * slope)
    if SUMS:
        part = (model * tl.num_programs(0) + tl.program_id(0)) * O + o
        tl.store(sums + part, tl.sum(tl.where(mask, acc, 0.0), 0), mask=o < O)
    tl.store(y + at, acc.to(y.dtype.element_ty), mask=mask)


@jit
def _up_kernel(
    y, w, bias, gate, x, sums, total, w_stride, b_stride, slope,
    H: tl.constexpr, W: tl.constexpr, C: tl.constexpr, O: tl.constexpr,
    BC: tl.constexpr, BO: tl.constexpr, BM: tl.constexpr,
    BIAS: tl.constexpr, GATE: tl.constexpr, SUMS: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """x[2p + phase, c] = Σ_{t, o} y[q, o] w[t, c, o] over the inputs q and taps t that meet there; (H, W) is y's size.

    A program writes one of the four phases of its positions, from four taps.
    """
    model = tl.program_id(1).to(tl.int64)
    yb = y + model * total * O
    wb = w + model * w_stride
    m = (tl.program_id(0) // 4) * BM + tl.arange(0, BM)
    phase = tl.program_id(0) % 4
    c = tl.program_id(2) * BC + tl.arange(0, BC)
    xx = m % W
    yy = (m // W) % H
    image = m // (W * H)
    inside = m < total
    py = phase // 2
    px = phase % 2
    row = (image * 2 * H + 2 * yy + py) * 2 * W + 2 * xx + px
    at = model * total * 4 * C + row[:, None] * C + c[None, :]
    mask = inside[:, None] & (c < C)[None, :]
    if GATE:  # Asked for before the product, so that it arrives meanwhile.
        passed = tl.load(gate + at, mask=mask, other=0.0) > 0
    acc = tl.zeros((BM, BC), tl.float32)
    blocks: tl.constexpr = (O + BO - 1) // BO
    for number in range(4 * blocks):
        t = number // blocks
        o = number % blocks * BO + tl.arange(0, BO)
        dy = py - t // 2
        dx = px - t % 2
        tap = (py + 1 - 2 * dy) * 4 + px + 1 - 2 * dx
        iy = yy + dy
        ix = xx + dx
        ok = inside & (iy >= 0) & (iy < H) & (ix >= 0) & (ix < W)
        here = (((image * H + iy) * W + ix) * O)[:, None] + o[None, :]
        tile = tl.load(yb + here, mask=ok[:, None] & (o < O)[None, :], other=0.0)
        there = (tap * C + c)[None, :] * O + o[:, None]
        weights = tl.load(wb + there, mask=(c < C)[None, :] & (o < O)[:, None], other=0.0)
        acc = tl.dot(tile, weights.to(tile.dtype), acc, input_precision=PRECISION)
    if BIAS:
        acc += tl.load(bias + model * b_stride + c, mask=c < C, other=0.0)[None, :]
        acc = _leaky(acc, slope)
    if GATE:
        acc = tl.where(passed, acc, acc * slope)
    if SUMS:
        part = (model * tl.num_programs(0) + tl.program_id(0)) * C + c
        tl.store(sums + part, tl.sum(tl.where(mask, acc, 0.0), 0), mask=c < C)
    tl.store(x + at, acc.to(x.dtype.element_ty), mask=mask)


@jit
def _spread_kernel(
    y, w, spread, total, w_stride,
    K: tl.constexpr, O: tl.constexpr, BK: tl.constexpr, BO: tl.constexpr, BM: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """spread[k, p] = Σ_o y[p, o] w[k, o]: what each position gives to each of K taps and channels."""
    model = tl.program_id(1).to(tl.int64)
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    k = tl.arange(0, BK)
    inside = m < total
    acc = tl.zeros((BM, BK), tl.float32)
    for start in range(0, O, BO):
        o = start + tl.arange(0, BO)
        tile = tl.load(
            y + model * total * O + m[:, None] * O + o[None, :], mask=inside[:, None] & (o < O)[None, :], other=0.0
        )
        weights = tl.load(
            w + model * w_stride + k[None, :] * O + o[:, None], mask=(k < K)[None, :] & (o < O)[:, None], other=0.0
        )
        acc = tl.dot(tile, weights.to(tile.dtype), acc, input_precision=PRECISION)
    at = model * total * K + k[None, :] * total + m[:, None]
    tl.store(spread + at, acc.to(spread.dtype.element_ty), mask=inside[:, None] & (k < K)[None, :])


@jit
def _gather_kernel(
    spread, bias, gate, x, sums, total, pixels, b_stride, slope,
    H: tl.constexpr, W: tl.constexpr, C: tl.constexpr, BLOCK: tl.constexpr,
    BIAS: tl.constexpr, GATE: tl.constexpr, SUMS: tl.constexpr,
):  # fmt: skip
    """x[q, c] = Σ over the four positions and taps that meet at pixel q of what was spread; (H, W) is y's size.

    Channels are taken one after another: neighbouring pixels of one channel lie side by side in what was spread.
    """
    model = tl.program_id(1).to(tl.int64)
    q = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = q < pixels
    column = q % (2 * W)
    row = q // (2 * W) % (2 * H)
    image = q // (4 * W * H)
    from_ = spread + model * pixels * 4 * C
    for c in tl.static_range(C):
        acc = tl.zeros((BLOCK,), tl.float32)
        for t in tl.static_range(4):
            dy = row % 2 - t // 2
            dx = column % 2 - t % 2
            tap = (row % 2 + 1 - 2 * dy) * 4 + column % 2 + 1 - 2 * dx
            iy = row // 2 + dy
            ix = column // 2 + dx
            ok = inside & (iy >= 0) & (iy < H) & (ix >= 0) & (ix < W)
            here = from_ + (tap * C + c) * total + (image * H + iy) * W + ix
            acc += tl.load(here, mask=ok, other=0.0).to(tl.float32)
        at = (model * pixels + q) * C + c
        if BIAS:
            acc = _leaky(acc + tl.load(bias + model * b_stride + c), slope)
        if GATE:
            acc = tl.where(tl.load(gate + at, mask=inside, other=0.0) > 0, acc, acc * slope)
        if SUMS:
            part = (model * tl.num_programs(0) + tl.program_id(0)) * C + c
            tl.store(sums + part, tl.sum(tl.where(inside, acc, 0.0), 0))
        tl.store(x + at, acc.to(x.dtype.element_ty), mask=inside)


@jit
def _taps_kernel(
    x, y, dw, total, splits,
    H: tl.constexpr, W: tl.constexpr, C: tl.constexpr, O: tl.constexpr,
    TAPS: tl.constexpr, ROWS: tl.constexpr, BO: tl.constexpr, BK: tl.constexpr, PER_SPLIT: tl.constexpr,
    PROGRAMS_PER_O: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """dw[t, c, o] = Σ_p x[2p − 1 + t, c] y[p, o] over one split of the positions.

    A program's rows are TAPS taps of all channels, or with TAPS 0 a block of one tap's channels.
    """
    model = tl.program_id(1).to(tl.int64)
    split = tl.program_id(2)
    h: tl.constexpr = H // 2
    ww: tl.constexpr = W // 2
    row = tl.arange(0, ROWS)
    position = tl.program_id(0) % PROGRAMS_PER_O
    o = tl.program_id(0) // PROGRAMS_PER_O * BO + tl.arange(0, BO)
    if TAPS > 0:
        tap = position * TAPS + row // C
        c = row % C
        real = (row < TAPS * C) & (tap < 16)
    else:
        tap = position % 16 + tl.zeros((ROWS,), tl.int32)
        c = position // 16 * ROWS + row
        real = c < C
    ky = tap // 4
    kx = tap % 4
    xb = x + model * total * 4 * C
    yb = y + model * total * O
    acc = tl.zeros((ROWS, BO), tl.float32)
    for start in range(0, PER_SPLIT, BK):
        p = split * PER_SPLIT + start + tl.arange(0, BK)
        inside = p < total
        ox = p % ww
        oy = (p // ww) % h
        image = p // (ww * h)
        iy = 2 * oy[None, :] - 1 + ky[:, None]
        ix = 2 * ox[None, :] - 1 + kx[:, None]
        ok = real[:, None] & inside[None, :] & (iy >= 0) & (iy < H) & (ix >= 0) & (ix < W)
        left = tl.load(xb + ((image[None, :] * H + iy) * W + ix) * C + c[:, None], mask=ok, other=0.0)
        right = tl.load(yb + p[:, None] * O + o[None, :], mask=inside[:, None] & (o < O)[None, :], other=0.0)
        acc = tl.dot(left, right, acc, input_precision=PRECISION)
    at = ((model * splits + split) * 16 * C + tap * C + c)[:, None] * O + o[None, :]
    tl.store(dw + at, acc, mask=real[:, None] & (o < O)[None, :])


class Tiling(NamedTuple):
    """How a kernel is cut: positions in a block, warps that work on it, loads in flight."""

    positions: int
    warps: int
    stages: int


TILINGS: dict[tuple[str, int, int], Tiling] = {
    ("down", 1, 32): Tiling(128, 4, 4),
    ("up", 1, 32): Tiling(128, 4, 3),
    ("taps", 1, 32): Tiling(128, 4, 2),
    ("down", 3, 32): Tiling(128, 4, 3),
    ("up", 3, 32): Tiling(64, 4, 4),
    ("taps", 3, 32): Tiling(128, 4, 3),
    ("down", 32, 32): Tiling(256, 4, 4),
    ("up", 32, 32): Tiling(256, 4, 3),
    ("taps", 32, 32): Tiling(32, 4, 4),
    ("down", 32, 64): Tiling(128, 4, 4),
    ("up", 32, 64): Tiling(64, 4, 2),
    ("taps", 32, 64): Tiling(32, 4, 4),
    ("down", 64, 64): Tiling(128, 8, 4),
    ("up", 64, 64): Tiling(128, 4, 3),
    ("taps", 64, 64): Tiling(32, 4, 4),
}
"""Measured choices for bfloat16 by operator and the channels on its image and feature side; others take the default."""


def _tiling(operator: str, c: int, o: int, images: Tensor) -> Tiling:
    default = Tiling(64, 4, 2)
    return TILINGS.get((operator, c, o), default) if images.dtype == torch.bfloat16 else default


def _power(count: int) -> int:
    return max(16, triton.next_power_of_2(count))


def _precision(images: Tensor) -> str:
    """How products are taken: float32 as three products of halves on the tensor cores, which keeps its precision."""
    return "tf32x3" if images.dtype == torch.float32 else "tf32"


def _rows(stacked: Tensor) -> Tensor:
    """Parameters (m, …) whose models may lie apart but each of which is whole."""
    return stacked if stacked[0].is_contiguous() else stacked.contiguous()


def down(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, slope: float = 1.0,
    gate: Tensor | None = None, sums: bool = True,
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    """The convolution (m, b, h, w, c), (m, 4, 4, c, o) to (m, b, h/2, w/2, o).

    With a bias (m, o) a leaky ReLU follows. With a gate, shaped like the result, the result is scaled by the leaky ReLU's
    derivative where the gate is its output; with `sums` the second answer is then the result's sum over positions, (m, o).
    """
    models, batch, height, width, c = x.shape
    o = weight.shape[-1]
    sums = sums and gate is not None
    x, weight = x.contiguous(), _rows(weight)
    y = torch.empty(models, batch, height // 2, width // 2, o, dtype=x.dtype, device=x.device)
    total = batch * (height // 2) * (width // 2)
    bm, warps, stages = _tiling("down", c, o, x)
    bc = _power(16 * c) if c < 16 else min(_power(c), 64)
    bo = min(_power(o), 128)
    programs = triton.cdiv(total, bm)
    parts = torch.empty(models, programs if sums else 0, o, device=x.device)
    with torch.cuda.device_of(x):
        _down_kernel[(programs, models, triton.cdiv(o, bo))](
            x, weight, weight if bias is None else _rows(bias), x if gate is None else gate.contiguous(), y, parts, total,
            weight.stride(0), 0 if bias is None else _rows(bias).stride(0), slope,
            H=height, W=width, C=c, O=o, BC=bc, BO=bo, BM=bm,
            BIAS=bias is not None, GATE=gate is not None, SUMS=sums, PRECISION=_precision(x),
            num_warps=warps, num_stages=stages,
        )  # fmt: skip
    return y, add_parts(parts) if sums else None


def up(
    y: Tensor, weight: Tensor, bias: Tensor | None = None, slope: float = 1.0,
    gate: Tensor | None = None, sums: bool = True,
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    """The transposed convolution (m, b, h, w, o), (m, 4, 4, c, o) to (m, b, 2h, 2w, c); the rest as in `down`."""
    models, batch, height, width, o = y.shape
    c = weight.shape[-2]
    sums = sums and gate is not None
    y, weight = y.contiguous(), _rows(weight)
    x = torch.empty(models, batch, 2 * height, 2 * width, c, dtype=y.dtype, device=y.device)
    total = batch * height * width
    bm, warps, stages = _tiling("up", c, o, y)
    block = 1024
    programs = triton.cdiv(4 * total, block) if c < 16 else 4 * triton.cdiv(total, bm)
    parts = torch.empty(models, programs if sums else 0, c, device=y.device)
    given_bias = weight if bias is None else _rows(bias)
    given_gate = y if gate is None else gate.contiguous()
    b_stride = 0 if bias is None else given_bias.stride(0)
    flags = {"BIAS": bias is not None, "GATE": gate is not None, "SUMS": sums}
    with torch.cuda.device_of(y):
        if c < 16:
            # Half precision: a rounding finer than that of the result, in as many bytes.
            between = torch.float32 if y.dtype == torch.float32 else torch.float16
            spread = torch.empty(models, 16 * c, total, dtype=between, device=y.device)
            _spread_kernel[(triton.cdiv(total, bm), models)](
                y, weight, spread, total, weight.stride(0), K=16 * c, O=o, BK=_power(16 * c), BO=min(_power(o), 64), BM=bm,
                PRECISION=_precision(y), num_warps=warps, num_stages=stages,
            )  # fmt: skip
            _gather_kernel[(programs, models)](
                spread, given_bias, given_gate, x, parts, total, 4 * total, b_stride, slope,
                H=height, W=width, C=c, BLOCK=block, **flags,
            )  # fmt: skip
        else:
            bc = min(_power(c), 128)
            _up_kernel[(programs, models, triton.cdiv(c, bc))](
                y, weight, given_bias, given_gate, x, parts, total, weight.stride(0), b_stride, slope,
                H=height, W=width, C=c, O=o, BC=bc, BO=min(_power(o), 64), BM=bm, **flags,
                PRECISION=_precision(y), num_warps=warps, num_stages=stages,
            )  # fmt: skip
    return x, add_parts(parts) if sums else None


def taps(x: Tensor, y: Tensor) -> Tensor:
    """The weight gradient (m, 4, 4, c, o) in float32, for x (m, b, h, w, c) and y (m, b, h/2, w/2, o)."""
    models, batch, height, width, c = x.shape
    o = y.shape[-1]
    x, y = x.contiguous(), y.contiguous()
    total = batch * (height // 2) * (width // 2)
    bk, warps, stages = _tiling("taps", c, o, x)
    per_split = min(POSITIONS_PER_SPLIT, triton.cdiv(total, bk) * bk)
    splits = triton.cdiv(total, per_split)
    bo = min(_power(o), 64)
    if c < 16:
        taps, rows, programs = 16, _power(16 * c), 1
    elif c <= 64 and c == triton.next_power_of_2(c):
        taps = 128 // c
        rows, programs = 128, 16 // taps
    else:
        taps, rows = 0, min(_power(c), 64)
        programs = 16 * triton.cdiv(c, rows)
    dw = torch.empty(models, splits, 4, 4, c, o, dtype=torch.float32, device=x.device)
    with torch.cuda.device_of(x):
        _taps_kernel[(triton.cdiv(o, bo) * programs, models, splits)](
            x, y, dw, total, splits,
            H=height, W=width, C=c, O=o, TAPS=taps, ROWS=rows, BO=bo, BK=bk, PER_SPLIT=per_split,
            PROGRAMS_PER_O=programs, PRECISION=_precision(x), num_warps=warps, num_stages=stages,
        )  # fmt: skip
    return dw[:, 0] if splits == 1 else add_parts(dw)
