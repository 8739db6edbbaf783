"""rooms3d's product of weights and colours as one CUDA kernel: each image's weights are read once, its bytes written once.

The same whole-number arithmetic as `rooms3d.render_chunks` and the same bytes; only the float32 intermediates, ten times
the size of the images, never reach memory. Triton exists beside CUDA alone, so it is imported on the first call.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import Tensor

_BLOCK = 4096


@cache
def _kernel() -> Any:
    import triton  # pyright: ignore[reportMissingImports]
    import triton.language as tl  # pyright: ignore[reportMissingImports]

    @triton.jit
    def fill(weights, colours, index, images, GEOMETRIES: tl.constexpr, PIXELS: tl.constexpr, BLOCK: tl.constexpr):
        image = tl.program_id(0).to(tl.int64)
        flat = tl.load(index + image)
        value = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
        pixel = value // 3
        # A pixel's four weights are the bytes of one word: floor, wall, object, white, lowest first.
        word = tl.load(weights + (flat % GEOMETRIES) * PIXELS + pixel)
        colour = colours + (flat // GEOMETRIES) * 12 + value % 3
        total = (word & 255) * tl.load(colour).to(tl.int32)
        total += ((word >> 8) & 255) * tl.load(colour + 3).to(tl.int32)
        total += ((word >> 16) & 255) * tl.load(colour + 6).to(tl.int32)
        total += ((word >> 24) & 255) * tl.load(colour + 9).to(tl.int32)
        tl.store(images + image * (3 * PIXELS) + value, ((total + 128) >> 8).to(tl.uint8))

    return fill


def render(weights: Tensor, colours: Tensor, index: Tensor, images: Tensor) -> None:
    """Fills images (m, b, h, w, 3) from weights (g, p, 4), colours (k, 4, 3), all uint8, and flat indices (m, b)."""
    geometries, pixels, _ = weights.shape
    if not index.numel():
        return
    with torch.cuda.device(index.device):
        grid = (index.numel(), 3 * pixels // _BLOCK)
        _kernel()[grid](weights.view(torch.int32), colours, index.contiguous(), images, geometries, pixels, _BLOCK)
