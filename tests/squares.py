"""Small data sets of white squares."""

from __future__ import annotations

import numpy as np
import torch

from hackle.core.factors import Factor, FactorGrid
from hackle.core.randomness import Stream
from hackle.core.types import Images
from hackle.datasets.source import render_rows


class Squares:
    """White squares on black, 16×16: position and side are the factors."""

    name = "squares"
    shape = (16, 16, 1)
    factors = FactorGrid([Factor("x", 4), Factor("y", 4), Factor("side", 2)])

    def images_on(self, device: torch.device | str) -> Images:
        x, y, side = Squares.factors.rows(np.arange(len(Squares.factors))).T[:, :, None, None]
        rows, columns = np.arange(16)[None, :, None], np.arange(16)[None, None, :]
        size = 3 + 2 * side
        inside = (rows >= 1 + 3 * y) & (rows < 1 + 3 * y + size) & (columns >= 1 + 3 * x) & (columns < 1 + 3 * x + size)
        pixels = torch.from_numpy((inside * 255).astype(np.uint8)[..., None]).to(device)

        def images(index: torch.Tensor, stream: Stream) -> torch.Tensor:
            return pixels[index]

        return images

    def render(self, rows: object, *, seed: int = 0) -> np.ndarray:
        return render_rows(self.images_on("cpu"), self.factors, rows, seed)  # type: ignore[arg-type]


class CopiedSquares(Squares):
    """The 32 squares 128 times, so that small protocols draw their points as papers do. No score speaks of the copy."""

    factors = FactorGrid([Factor("copy", 128, observed=False), *Squares.factors.factors])

    def images_on(self, device: torch.device | str) -> Images:
        images = Squares().images_on(device)
        return lambda index, stream: images(index % len(Squares.factors), stream)
