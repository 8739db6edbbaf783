"""Views as files: PNG, GIF, and one HTML page of a model's traversals that works offline."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hackle.explorer.workbench import Bench
from hackle.pictures import data_address, gif_bytes, mosaic, png_bytes
from hackle.report.html import render

COLUMNS = 15
"""Steps of a slider on the offline page."""
_SMALLEST = 256
"""Small images are enlarged by a whole factor, to at most this many pixels on the picture's longer side."""
MOST_PIXELS = 16_000_000
"""The most pixels of all frames together: long animations are enlarged less."""


def _enlarged(images: NDArray[np.uint8], frames: int = 1) -> NDArray[np.uint8]:
    """Images (rows, columns, h, w, c) with every pixel repeated if the sheet would be very small."""
    rows, columns, height, width, _ = images.shape
    most = math.isqrt(MOST_PIXELS // (frames * rows * columns * height * width))
    times = max(1, min(_SMALLEST // max(rows * height, columns * width), most))
    return images.repeat(times, axis=2).repeat(times, axis=3)


def png_of(images: NDArray[np.uint8]) -> bytes:
    """Images (rows, columns, h, w, c) as one PNG."""
    return png_bytes(mosaic(_enlarged(images)))


def gif_of(frames: NDArray[np.uint8], milliseconds: int = 80) -> bytes:
    """Images (frames, rows, columns, h, w, c) as an endless GIF."""
    if frames.shape[0] * math.prod(frames.shape[1:5]) > MOST_PIXELS:
        raise ValueError(f"{len(frames)} frames of this size are too many for one file; ask for fewer")
    return gif_bytes([mosaic(_enlarged(frame, len(frames))) for frame in frames], milliseconds)


def _sprite(images: NDArray[np.uint8]) -> str:
    """Images (n, h, w, c) side by side as the address of an embedded PNG."""
    sheet = mosaic(images[None], gap=0)
    return data_address(png_bytes(sheet))


def traversal_page(bench: Bench, starts: NDArray[np.float32], order: list[int], title: str) -> str:
    """One HTML file: for each starting point a slider for every latent, with the images that it passes through
    embedded."""
    views = []
    for start in starts:
        rows = []
        for latent in order:
            values = bench.traversed[latent].values(COLUMNS)
            z = np.repeat(start[None], COLUMNS, axis=0)
            z[:, latent] = values
            nearest = int(np.abs(values - start[latent]).argmin())
            rows.append(
                {"latent": latent, "values": [round(float(value), 3) for value in values], "at": nearest}
                | {"sprite": _sprite(bench.decode(z))}
            )
        views.append({"image": _sprite(bench.decode(start[None])), "latents": rows})
    height, width, _ = bench.model.shape
    kl = [round(float(bench.look.kl[latent]), 3) if bench.dataset is not None else None for latent in order]
    content = {"height": height, "width": width, "columns": COLUMNS, "order": order, "kl": kl, "views": views}
    return render("traversals.html", title=title, data=content)
