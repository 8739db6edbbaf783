"""One HTML page of a model's traversals that works offline."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hackle.explorer.workbench import Bench
from hackle.pictures import data_address, mosaic, png_bytes
from hackle.report.html import render

COLUMNS, MOST_CLASSES = 15, 24
"""Steps of a slider on the offline page; up to so many classes have a step each."""


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
            axis = bench.traversed[latent]
            values = axis.levels(max(COLUMNS, min(axis.classes, MOST_CLASSES)))
            z = np.repeat(start[None], len(values), axis=0)
            z[:, latent] = values
            nearest = int(np.abs(values - start[latent]).argmin())
            rows.append(
                {"latent": latent, "values": [round(float(value), 3) for value in values], "at": nearest}
                | {"classes": axis.prior == "categorical", "sprite": _sprite(bench.decode(z))}
            )
        views.append({"image": _sprite(bench.decode(start[None])), "latents": rows})
    height, width, _ = bench.model.shape
    kl = [round(float(bench.look.kl[latent]), 3) if bench.dataset is not None else None for latent in order]
    columns = max(len(row["values"]) for row in views[0]["latents"])
    content = {"height": height, "width": width, "columns": columns, "order": order, "kl": kl, "views": views}
    return render("traversals.html", title=title, data=content)
