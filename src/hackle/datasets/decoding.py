"""Decoding, cropping and resizing pictures to uint8 arrays with Pillow."""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from hackle.datasets.damage import reading

_BATCH = 256
FORMATS = ("PNG", "JPEG", "BMP", "GIF", "WEBP", "TIFF", "PPM")
"""What is read, whatever a file's ending: Pillow would start Ghostscript for PostScript that is called a PNG."""


def resized(image: Image.Image, size: int) -> NDArray[np.uint8]:
    """The picture resized to size × size pixels with an antialiasing Lanczos filter."""
    return np.asarray(image.resize((size, size), Image.Resampling.LANCZOS), dtype=np.uint8)


def _cropped_and_resized(data: bytes, crop: int, size: int) -> NDArray[np.uint8]:
    """An encoded picture as RGB: its central crop × crop pixels, resized to (size, size, 3)."""
    with Image.open(io.BytesIO(data), formats=("PNG", "JPEG")) as image:
        if min(image.size) < crop:
            raise ValueError(f"the picture is {image.width}×{image.height}, less than its {crop}×{crop} crop")
        left, top = (image.width - crop) // 2, (image.height - crop) // 2
        return resized(image.convert("RGB").crop((left, top, left + crop, top + crop)), size)


def cropped_pictures(
    path: Path, expected: str, items: Iterable[tuple[int, bytes]], *, crop: int, size: int
) -> Iterator[tuple[tuple[int, ...], NDArray[np.uint8]]]:
    """(positions, images) of an archive's encoded pictures in batches: their central crop × crop pixels, resized. Several
    threads decode, because Pillow releases the interpreter lock. expected: what errors say that the archive should be."""
    items = iter(items)
    decode = partial(_cropped_and_resized, crop=crop, size=size)
    with reading(path, expected), ThreadPoolExecutor() as pool:
        while batch := list(itertools.islice(items, _BATCH)):
            positions, data = zip(*batch, strict=True)
            yield positions, np.stack(list(pool.map(decode, data)))
