"""What the page is told of a model: its latents, its factors, and a thumbnail for the list."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hackle.core.factors import Factor, scored_factors
from hackle.explorer.workbench import Bench
from hackle.pictures import mosaic, png_bytes

HISTOGRAM_BINS = 48
MOST_VALUES = 2000
"""The most values of a factor that are sent by name."""
THUMBNAIL_LATENTS, THUMBNAIL_COLUMNS, THUMBNAIL_SIDE, THUMBNAIL_GAP = 3, 4, 28, 6


def finite(values: NDArray[Any]) -> list[Any]:
    """An array as nested lists, with None for what is not finite."""
    rounded = np.round(np.asarray(values, np.float64), 5)
    if rounded.ndim > 1:
        return [finite(part) for part in rounded]
    return [value if math.isfinite(value) else None for value in rounded.tolist()]


def _histogram(bench: Bench, draws: NDArray[np.float32], code: int) -> list[float]:
    """Shares of q(z) in equal bins over the slider's range, or of images in each class."""
    axis = bench.axes[code]
    if axis.prior == "categorical":
        counts = np.bincount(bench.look.means[:, code].astype(int), minlength=axis.classes)
    else:
        counts, _ = np.histogram(draws[:, code], HISTOGRAM_BINS, bench.look.reach[code])
    return [round(float(share), 5) for share in counts / len(draws)]


def latents_of(bench: Bench) -> list[dict[str, Any]]:
    """Each latent: its prior, the ends of its traversals, of its slider and of the prior's bulk, and, if the data set is
    available, the range of the data, how much the latent is used and the histogram of its values."""
    reach = [axis.reach() for axis in bench.axes] if bench.dataset is None else bench.look.reach
    latents: list[dict[str, Any]] = [
        {"prior": axis.prior, "classes": axis.classes, "ends": axis.ends, "reach": reach[code], "bulk": own.ends}
        for code, (axis, own) in enumerate(zip(bench.traversed, bench.axes, strict=True))
    ]
    if bench.dataset is None:
        return [
            {**code, "data": None, "kl": None, "informativeness": None, "active": True, "histogram": None}
            for code in latents
        ]
    draws = bench.look.draws()
    for code, entry in enumerate(latents):
        entry |= {
            "data": finite(np.array(bench.look.seen[code])),
            "kl": round(float(bench.look.kl[code]), 4),
            "informativeness": round(float(bench.informativeness[code]), 4),
            "active": bool(bench.active[code]),
            "histogram": _histogram(bench, draws, code),
        }
    return latents


def _labels(factor: Factor) -> list[str] | None:
    """The values of a factor by name or by the number behind them; None if it has only class numbers, or too many."""
    if factor.size > MOST_VALUES or (factor.words is None and factor.values is None):
        return None
    return list(factor.words) if factor.words else [f"{number:.3g}".replace("-", "−") for number in factor.numbers]


def factors_of(bench: Bench) -> list[dict[str, Any]]:
    """Each factor of the data set, with its values as people name them."""
    if bench.dataset is None:
        return []
    grid = bench.dataset.factors
    scored = scored_factors(grid)
    return [
        {
            "name": factor.name,
            "size": factor.size,
            "kind": factor.kind,
            "guessed": factor.guessed,
            "labels": _labels(factor),
            "scored": column in scored,
        }
        for column, factor in enumerate(grid.factors)
    ]


def thumbnail_of(bench: Bench) -> bytes:
    """Small traversals of the most used latents on one line, to fit a table's row."""
    known = bench.dataset is not None
    order = bench.glance.order if known else np.arange(len(bench.axes))
    chosen = order[:THUMBNAIL_LATENTS]
    start = bench.glance.means[0] if known else np.zeros(len(bench.axes), np.float32)
    axes = bench.glance.axes if known else bench.axes
    levels = [axes[code].levels(THUMBNAIL_COLUMNS) for code in chosen]
    z = np.repeat(start[None], sum(map(len, levels)), axis=0)
    z[np.arange(len(z)), np.repeat(chosen, [len(values) for values in levels])] = np.concatenate(levels)
    images = bench.decode(z)
    step = max(1, bench.model.shape[0] // THUMBNAIL_SIDE)
    height, width = (size // step * step for size in bench.model.shape[:2])
    blocks = images[:, :height, :width].reshape(len(images), height // step, step, width // step, step, -1)
    tiles = blocks.mean(axis=(2, 4)).round().astype(np.uint8)
    # Transparent between the latents, and where a latent has fewer classes than columns.
    height, width = tiles.shape[1:3]
    apart = THUMBNAIL_COLUMNS * width + THUMBNAIL_GAP
    sheet = np.zeros((height, len(levels) * apart - THUMBNAIL_GAP, 4), np.uint8)
    for place, part in enumerate(np.split(tiles, np.cumsum([len(values) for values in levels])[:-1])):
        line = mosaic(part[None], gap=0)
        area = sheet[:, place * apart : place * apart + line.shape[1]]
        area[..., :3], area[..., 3] = line, 255
    return png_bytes(sheet)
