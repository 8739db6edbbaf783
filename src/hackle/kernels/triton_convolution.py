"""The three convolution operators for stacks of models, in Triton, as specified in `hackle.kernels.convolution`.

Every tensor has a leading model axis and channels last. Products are taken in the images' dtype and summed in
float32; weights stay float32 in memory and are rounded as they are loaded. What follows a product is applied as its
result is stored: bias and leaky ReLU in the forward pass, and in the backward pass the derivative of the previous leaky
ReLU, whose stored output is the `gate`, with the sums over positions that are the bias's gradient.

Sums run in an order that depends on the layer alone, never on the number of stacked models: a model's numbers are
bit-identical in any fleet. Matrix units need at least 16 channels. With fewer on the image side, `down` folds the 16
taps into the summed axis, and `up` takes two passes: each position's contribution to each tap, then the four taps that
meet at a pixel.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from hackle.core.triton_shim import launch, triton
from hackle.kernels.triton_convolution_kernels import (
    down_kernel,
    down_with_taps_kernel,
    gate_kernel,
    gather_kernel,
    spread_kernel,
    taps_kernel,
    up_kernel,
    up_to_taps_kernel,
)
from hackle.kernels.triton_sums import add_all

POSITIONS_PER_SPLIT = 1024
"""Positions that one program of the weight gradient sums; the partial sums are then added in order."""


class Tiling(NamedTuple):
    """How a kernel is tiled: positions in a block, warps per block, pipeline stages."""

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
    ("down", 64, 640): Tiling(128, 8, 2),
    ("up", 64, 640): Tiling(128, 4, 3),
    ("taps", 64, 640): Tiling(32, 4, 4),
    ("down_with_taps", 1, 32): Tiling(128, 4, 1),
    ("down_with_taps", 3, 32): Tiling(256, 4, 1),
    ("up_to_taps", 1, 32): Tiling(256, 4, 2),
    ("up_to_taps", 3, 32): Tiling(256, 4, 2),
}
"""Tilings for bfloat16 by operator and the channels on its image and feature side, measured but for those of 640, the split
encoder's with ten latents; others take the default."""


def _tiling(operator: str, c: int, o: int, images: Tensor) -> Tiling:
    default = Tiling(64, 4, 2)
    return TILINGS.get((operator, c, o), default) if images.dtype == torch.bfloat16 else default


def _power(count: int) -> int:
    return max(16, triton.next_power_of_2(count))


def _precision(images: Tensor) -> str:
    """How products are computed: float32 as three lower-precision products on the tensor cores, which keeps its
    precision."""
    return "tf32x3" if images.dtype == torch.float32 else "tf32"


def _rows(stacked: Tensor) -> Tensor:
    """Parameters (m, …) whose models may lie apart in memory but are contiguous each."""
    return stacked if stacked[0].is_contiguous() else stacked.contiguous()


def down(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, slope: float = 1.0,
    gate: Tensor | None = None, sums: bool = True,
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    """The convolution (m, b, h, w, c), (m, 4, 4, c, o) to (m, b, h/2, w/2, o).

    With a bias (m, o) a leaky ReLU follows. With a gate, shaped like the result, the result is scaled by the leaky ReLU's
    derivative where the gate is its output; with `sums` the second output is the result's sum over positions, in parts (m, n,
    o) that `add_all` adds.
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
    launch(
        down_kernel, (programs, models, triton.cdiv(o, bo)),
        x, weight, weight if bias is None else _rows(bias), x if gate is None else gate.contiguous(), y, parts, total,
        weight.stride(0), 0 if bias is None else _rows(bias).stride(0), slope,
        H=height, W=width, C=c, O=o, BC=bc, BO=bo, BM=bm,
        BIAS=bias is not None, GATE=gate is not None, SUMS=sums, PRECISION=_precision(x),
        num_warps=warps, num_stages=stages,
    )  # fmt: skip
    return y, parts if sums else None


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
    settings = {"PRECISION": _precision(y), "num_warps": warps, "num_stages": stages}
    if c < 16:
        # float16 rounds more finely than the result's dtype, in as many bytes; it ends at 65,504, where values stay.
        between = torch.float32 if y.dtype == torch.float32 else torch.float16
        spread = torch.empty(models, 16 * c, total, dtype=between, device=y.device)
        launch(
            spread_kernel, (triton.cdiv(total, bm), models), y, weight, spread, total, weight.stride(0),
            K=16 * c, O=o, BK=_power(16 * c), BO=min(_power(o), 64), BM=bm, **settings,
        )  # fmt: skip
        launch(
            gather_kernel, (programs, models), spread, given_bias, given_gate, x, parts, total, 4 * total, b_stride, slope,
            H=height, W=width, C=c, BLOCK=block, **flags,
        )  # fmt: skip
    else:
        bc = min(_power(c), 128)
        launch(
            up_kernel, (programs, models, triton.cdiv(c, bc)),
            y, weight, given_bias, given_gate, x, parts, total, weight.stride(0), b_stride, slope,
            H=height, W=width, C=c, O=o, BC=bc, BO=min(_power(o), 64), BM=bm, **flags, **settings,
        )  # fmt: skip
    return x, parts if sums else None


def gated(grad: Tensor, output: Tensor, slope: float) -> tuple[Tensor, Tensor]:
    """The gradient in a leaky ReLU's input, from the one in its output, (m, b, h, w, o) each, and its sum over positions, in
    parts (m, n, o)."""
    models, o = len(grad), grad.shape[-1]
    grad, output = grad.contiguous(), output.contiguous()
    total, bo = grad[0].numel() // o, min(triton.next_power_of_2(o), 128)
    bm = 4096 // bo
    programs = triton.cdiv(total, bm)
    out, sums = torch.empty_like(grad), torch.empty(models, programs, o, device=grad.device)
    grid = (programs, models, triton.cdiv(o, bo))
    launch(gate_kernel, grid, grad, output, out, sums, total, slope, O=o, BO=bo, BM=bm)
    return out, sums


def taps(x: Tensor, y: Tensor) -> Tensor:
    """The weight gradient (m, 4, 4, c, o) in float32, for x (m, b, h, w, c) and y (m, b, h/2, w/2, o)."""
    return add_all([taps_in_parts(x, y)])[0]


def taps_in_parts(x: Tensor, y: Tensor) -> Tensor:
    """The weight gradient in parts (m, n, 4, 4, c, o), each over some of the positions."""
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
    launch(
        taps_kernel, (triton.cdiv(o, bo) * programs, models, splits),
        x, y, dw, total, splits,
        H=height, W=width, C=c, O=o, TAPS=taps, ROWS=rows, BO=bo, BK=bk, PER_SPLIT=per_split,
        PROGRAMS_PER_O=programs, PRECISION=_precision(x), num_warps=warps, num_stages=stages,
    )  # fmt: skip
    return dw


def takes_taps_along(images: Tensor, features: int) -> bool:
    """Whether `down_with_taps` and `up_to_taps` work on this image side, of few channels, and so many features."""
    return images.shape[-1] < 16 and features <= 64


def down_with_taps(x: Tensor, weight: Tensor, gate: Tensor, slope: float) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """`down` with a gate, and in parts: the sums over positions of x and of the result, and taps(x, gate). All that goes back
    through an `up` to few channels; the largest feature map is read once for all."""
    models, batch, height, width, c = x.shape
    o = weight.shape[-1]
    x, weight, gate = x.contiguous(), _rows(weight), gate.contiguous()
    y = torch.empty_like(gate)
    total = batch * (height // 2) * (width // 2)
    bm, warps, stages = _tiling("down_with_taps", c, o, x)
    programs = triton.cdiv(total, bm)
    x_sums, sums = (torch.empty(models, programs, channels, device=x.device) for channels in (c, o))
    dw = torch.empty(models, programs, 4, 4, c, o, device=x.device)
    launch(
        down_with_taps_kernel, (programs, models), x, weight, gate, y, x_sums, sums, dw, total, weight.stride(0), slope,
        H=height, W=width, C=c, O=o, ROWS=_power(16 * c), MIDDLE=triton.next_power_of_2(4 * c), BO=_power(o), BM=bm,
        PRECISION=_precision(x), num_warps=warps, num_stages=stages,
    )  # fmt: skip
    return y, x_sums, sums, dw


def up_to_taps(y: Tensor, weight: Tensor, gate: Tensor, slope: float, images: Tensor) -> tuple[Tensor, Tensor]:
    """The sum over positions of g = up(y, weight) with a gate, and taps(images, g), both in parts, for images of few
    channels: all that goes back through a `down` from images that need no gradient. g, as large as the gate, is not stored."""
    models, batch, height, width, o = y.shape
    c, i = weight.shape[-2], images.shape[-1]
    y, weight, gate, images = y.contiguous(), _rows(weight), gate.contiguous(), images.contiguous()
    total = batch * height * width
    bm, warps, stages = _tiling("up_to_taps", i, c, y)
    programs = 4 * triton.cdiv(total, bm)
    sums = torch.empty(models, programs, c, device=y.device)
    dw = torch.empty(models, programs, 4, 4, i, c, device=y.device)
    launch(
        up_to_taps_kernel, (programs, models), y, weight, gate, images, sums, dw, total, weight.stride(0), slope,
        H=height, W=width, I=i, C=c, O=o, ROWS=_power(16 * i), BC=_power(c), BO=min(_power(o), 64), BM=bm,
        PRECISION=_precision(y), num_warps=warps, num_stages=stages,
    )  # fmt: skip
    return sums, dw
