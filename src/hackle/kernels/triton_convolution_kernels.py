"""The kernels of the three convolution operators, which `hackle.kernels.triton_convolution` tiles and launches.

Each works on one model of the stack, `program_id(1)`. C are the channels of the image side, O those of the feature side; H and
W are the sides of the operator's first argument, and t counts the taps of the 4×4 kernel row by row.
"""

# Triton reads annotations as values, and its kernels name sizes as the formulas do.
# pyright: reportInvalidTypeForm=false
# ruff: noqa: E741

from __future__ import annotations

from hackle.core.triton_shim import jit, tl


@jit
def _leaky(values, slope):
    return tl.where(values > 0, values, values * slope)


@jit
def gate_kernel(grad, output, out, sums, total, slope, O: tl.constexpr, BO: tl.constexpr, BM: tl.constexpr):
    """The gradient in a leaky ReLU's input, from the one in its output, and its sum over a block of positions."""
    model = tl.program_id(1).to(tl.int64)
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    o = tl.program_id(2) * BO + tl.arange(0, BO)
    mask = (m < total)[:, None] & (o < O)[None, :]
    at = model * total * O + m[:, None] * O + o[None, :]
    passed = tl.load(output + at, mask=mask, other=0.0) > 0
    g = tl.load(grad + at, mask=mask, other=0.0).to(tl.float32)
    g = tl.where(passed, g, g * slope).to(out.dtype.element_ty)
    tl.store(out + at, g, mask=mask)
    part = (model * tl.num_programs(0) + tl.program_id(0)) * O + o
    tl.store(sums + part, tl.sum(g.to(tl.float32), 0), mask=o < O)


@jit
def down_kernel(
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
def up_kernel(
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
def spread_kernel(
    y, w, spread, total, w_stride,
    K: tl.constexpr, O: tl.constexpr, BK: tl.constexpr, BO: tl.constexpr, BM: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """spread[k, p] = Σ_o y[p, o] w[k, o]: each position's contribution to each of K taps and channels."""
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
    if spread.dtype.element_ty == tl.float16:  # No infinity: one of a background pixel's would make its error NaN.
        acc = tl.where(tl.abs(acc) > 65504.0, tl.where(acc > 0, 65504.0, -65504.0), acc)
    at = model * total * K + k[None, :] * total + m[:, None]
    tl.store(spread + at, acc.to(spread.dtype.element_ty), mask=inside[:, None] & (k < K)[None, :])


@jit
def gather_kernel(
    spread, bias, gate, x, sums, total, pixels, b_stride, slope,
    H: tl.constexpr, W: tl.constexpr, C: tl.constexpr, BLOCK: tl.constexpr,
    BIAS: tl.constexpr, GATE: tl.constexpr, SUMS: tl.constexpr,
):  # fmt: skip
    """x[q, c] = Σ over the four positions and taps that meet at pixel q of what was spread; (H, W) is y's size.

    Channels are processed one after another: neighbouring pixels of one channel are adjacent in what was spread.
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
def taps_kernel(
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


@jit
def up_to_taps_kernel(
    y, w, gate, images, sums, dw, total, w_stride, slope,
    H: tl.constexpr, W: tl.constexpr, I: tl.constexpr, C: tl.constexpr, O: tl.constexpr,
    ROWS: tl.constexpr, BC: tl.constexpr, BO: tl.constexpr, BM: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """`up_kernel` with a gate, whose result g goes at once into Σ_p g[p] and Σ_p images[2p − 1 + t] g[p] and is not stored.

    (H, W) is y's size; g is twice and the images, of I channels, four times as high and wide.
    """
    model = tl.program_id(1).to(tl.int64)
    yb = y + model * total * O
    wb = w + model * w_stride
    m = (tl.program_id(0) // 4) * BM + tl.arange(0, BM)
    phase = tl.program_id(0) % 4
    c = tl.arange(0, BC)
    xx = m % W
    yy = (m // W) % H
    image = m // (W * H)
    inside = m < total
    py = phase // 2
    px = phase % 2
    gy = 2 * yy + py
    gx = 2 * xx + px
    at = model * total * 4 * C + ((image * 2 * H + gy) * 2 * W + gx)[:, None] * C + c[None, :]
    mask = inside[:, None] & (c < C)[None, :]
    row = tl.arange(0, ROWS)
    iy = 2 * gy[None, :] - 1 + (row // I // 4)[:, None]
    ix = 2 * gx[None, :] - 1 + (row // I % 4)[:, None]
    ok = inside[None, :] & (row < 16 * I)[:, None] & (iy >= 0) & (iy < 4 * H) & (ix >= 0) & (ix < 4 * W)
    here = ((image[None, :] * 4 * H + iy) * 4 * W + ix) * I + (row % I)[:, None]
    patches = tl.load(images + model * total * 16 * I + here, mask=ok, other=0.0)
    passed = tl.load(gate + at, mask=mask, other=0.0) > 0
    acc = tl.zeros((BM, BC), tl.float32)
    blocks: tl.constexpr = (O + BO - 1) // BO
    for number in range(4 * blocks):
        t = number // blocks
        o = number % blocks * BO + tl.arange(0, BO)
        dy = py - t // 2
        dx = px - t % 2
        tap = (py + 1 - 2 * dy) * 4 + px + 1 - 2 * dx
        near = inside & (yy + dy >= 0) & (yy + dy < H) & (xx + dx >= 0) & (xx + dx < W)
        beside = (((image * H + yy + dy) * W + xx + dx) * O)[:, None] + o[None, :]
        tile = tl.load(yb + beside, mask=near[:, None] & (o < O)[None, :], other=0.0)
        weights = tl.load(
            wb + (tap * C + c)[None, :] * O + o[:, None], mask=(c < C)[None, :] & (o < O)[:, None], other=0.0
        )
        acc = tl.dot(tile, weights.to(tile.dtype), acc, input_precision=PRECISION)
    acc = tl.where(mask, tl.where(passed, acc, acc * slope), 0.0)
    part = model * tl.num_programs(0) + tl.program_id(0)
    tl.store(sums + part * C + c, tl.sum(acc, 0), mask=c < C)
    found = tl.dot(patches, acc.to(patches.dtype), input_precision=PRECISION)
    there = part * 16 * I * C + row[:, None] * C + c[None, :]
    tl.store(dw + there, found, mask=(row < 16 * I)[:, None] & (c < C)[None, :])


@jit
def down_with_taps_kernel(
    x, w, gate, y, x_sums, sums, dw, total, w_stride, slope,
    H: tl.constexpr, W: tl.constexpr, C: tl.constexpr, O: tl.constexpr,
    ROWS: tl.constexpr, MIDDLE: tl.constexpr, BO: tl.constexpr, BM: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """`down_kernel` from few channels with a gate, and beside it Σ_p x[2p − 1 + t, c] gate[p]: the gate and what x has
    around each position are loaded once for both. First the sum of x: the four taps in the middle meet every pixel once. They
    are loaded by themselves, since summing what is multiplied later would keep it in more registers."""
    model = tl.program_id(1).to(tl.int64)
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    o = tl.arange(0, BO)
    k = tl.arange(0, ROWS)
    h: tl.constexpr = H // 2
    ww: tl.constexpr = W // 2
    ox = m % ww
    oy = (m // ww) % h
    image = m // (ww * h)
    inside = m < total
    part = model * tl.num_programs(0) + tl.program_id(0)
    middle = tl.arange(0, MIDDLE)
    my = 2 * oy[:, None] + (middle // C // 2)[None, :]
    mx = 2 * ox[:, None] + (middle // C % 2)[None, :]
    there = ((image[:, None] * H + my) * W + mx) * C + (middle % C)[None, :]
    own = tl.load(x + model * total * 4 * C + there, mask=inside[:, None] & (middle < 4 * C)[None, :], other=0.0)
    pixels = tl.sum(own.to(tl.float32), 0)
    for c in tl.static_range(C):
        tl.store(x_sums + part * C + c, tl.sum(tl.where(middle % C == c, pixels, 0.0), 0))
    at = model * total * O + m[:, None] * O + o[None, :]
    mask = inside[:, None] & (o < O)[None, :]
    values = tl.load(gate + at, mask=mask, other=0.0)
    tap = k // C
    iy = 2 * oy[:, None] - 1 + tap[None, :] // 4
    ix = 2 * ox[:, None] - 1 + tap[None, :] % 4
    ok = inside[:, None] & (tap < 16)[None, :] & (iy >= 0) & (iy < H) & (ix >= 0) & (ix < W)
    here = ((image[:, None] * H + iy) * W + ix) * C + (k % C)[None, :]
    tile = tl.load(x + model * total * 4 * C + here, mask=ok, other=0.0)
    real = (tap < 16)[:, None] & (o < O)[None, :]
    weights = tl.load(w + model * w_stride + k[:, None] * O + o[None, :], mask=real, other=0.0)
    acc = tl.dot(tile, weights.to(tile.dtype), input_precision=PRECISION)
    acc = tl.where(mask, tl.where(values > 0, acc, acc * slope), 0.0)
    tl.store(y + at, acc.to(y.dtype.element_ty), mask=mask)
    tl.store(sums + part * O + o, tl.sum(acc, 0), mask=o < O)
    found = tl.dot(tl.trans(tile), values, input_precision=PRECISION)
    tl.store(dw + part * 16 * C * O + k[:, None] * O + o[None, :], found, mask=real)
