"""rooms3d's product of weights and colours as one CUDA kernel: each image's weights are read once, its bytes written once.

The arithmetic and the bytes are those of `rooms3d.render_chunks`, but the float32 intermediates, ten times the size of
the images, never reach memory.
"""

# Triton reads annotations as values.
# pyright: reportInvalidTypeForm=false

from __future__ import annotations

import torch
from torch import Tensor

from hackle.core.triton_shim import jit, launch, tl

_BLOCK = 4096


@jit
def fill_kernel(images, weights, colours, index, GEOMETRIES: tl.constexpr, PIXELS: tl.constexpr, BLOCK: tl.constexpr):
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


def render(weights: Tensor, colours: Tensor, index: Tensor, images: Tensor) -> None:
    """Fills images (m, b, h, w, 3) from weights (g, p, 4), colours (k, 4, 3), all uint8, and flat indices (m, b)."""
    geometries, pixels, _ = weights.shape
    if index.numel():
        launch(
            fill_kernel, (index.numel(), 3 * pixels // _BLOCK),
            images, weights.view(torch.int32), colours, index.contiguous(),
            GEOMETRIES=geometries, PIXELS=pixels, BLOCK=_BLOCK,
        )  # fmt: skip
