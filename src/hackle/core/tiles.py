"""Images laid side by side. Pictures are uint8 arrays (height, width, 3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Picture = NDArray[np.uint8]
"""Pixels (h, w, 1 or 3)."""


def to_bytes(images: NDArray) -> Picture:
    """Images in [0, 1] as uint8; uint8 images as they are."""
    if images.dtype == np.uint8:
        return np.asarray(images)
    return (np.clip(images, 0, 1) * 255).round().astype(np.uint8)


def in_colour(images: Picture) -> Picture:
    """Images of any number of channels converted to three: grey is repeated, transparency (two or four channels) is blended
    with white, and of more channels the first three are used."""
    channels = images.shape[-1]
    colours = images[..., :1].repeat(3, axis=-1) if channels < 3 else images[..., :3]
    if channels not in (2, 4):
        return colours
    share = images[..., -1:] / 255
    return (share * colours + (1 - share) * 255).round().astype(np.uint8)


def mosaic(images: NDArray, *, gap: int = 2) -> Picture:
    """Images (rows, columns, h, w, c) as one picture with white gaps between them."""
    tiles = in_colour(to_bytes(images))
    rows, columns, height, width, _ = tiles.shape
    sheet = np.full((rows * (height + gap) + gap, columns * (width + gap) + gap, 3), 255, np.uint8)
    for row in range(rows):
        for column in range(columns):
            top, left = gap + row * (height + gap), gap + column * (width + gap)
            sheet[top : top + height, left : left + width] = tiles[row, column]
    return sheet
