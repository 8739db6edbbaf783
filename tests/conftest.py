"""A small data set and network that every test of training shares."""

from __future__ import annotations

import os

import numpy as np
import pytest
import torch

from hackle.core.factors import Factor, FactorGrid
from hackle.core.randomness import Stream
from hackle.core.types import Images
from hackle.datasets.source import render_rows

# Two test workers share the machine's cores; more threads than that only wait for each other.
torch.set_num_threads(1)
os.environ.setdefault("MPLBACKEND", "agg")


class Squares:
    """White squares on black, 16×16: position and side are the factors."""

    name = "squares"
    shape = (16, 16, 1)
    factors = FactorGrid([Factor("x", 4), Factor("y", 4), Factor("side", 2)])

    def images_on(self, device: torch.device | str) -> Images:
        x, y, side = self.factors.rows(np.arange(len(self.factors))).T[:, :, None, None]
        rows, columns = np.arange(16)[None, :, None], np.arange(16)[None, None, :]
        size = 3 + 2 * side
        inside = (rows >= 1 + 3 * y) & (rows < 1 + 3 * y + size) & (columns >= 1 + 3 * x) & (columns < 1 + 3 * x + size)
        pixels = torch.from_numpy((inside * 255).astype(np.uint8)[..., None]).to(device)

        def images(index: torch.Tensor, stream: Stream) -> torch.Tensor:
            return pixels[index]

        return images

    def render(self, rows: object, *, seed: int = 0) -> np.ndarray:
        return render_rows(self.images_on("cpu"), self.factors, rows, seed)  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def squares() -> Squares:
    return Squares()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of CUDA kernels are skipped where there is no CUDA device."""
    if torch.cuda.is_available():
        return
    skip = pytest.mark.skip(reason="needs a CUDA device; there is none here")
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(skip)
