"""Pictures of data sets and of trained models for their pages, drawn by the package's own functions."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image

from hackle.core.tiles import mosaic, to_bytes
from hackle.core.types import Dataset
from hackle.datasets import DATASETS, load
from hackle.datasets.contact_sheet import contact_sheet
from hackle.pictures import Look, traversals
from hackle.train.model import Model
from website.small_models import small_model, squares


def webp(picture: Image.Image, quality: int = 70, *, lossless: bool = False) -> bytes:
    """A picture as WebP."""
    buffer = BytesIO()
    picture.save(buffer, "webp", quality=quality, method=6, lossless=lossless)
    return buffer.getvalue()


def sheet(name: str) -> Image.Image:
    """Two lines of random images of a data set, and below them one line for each factor, the others held."""
    dataset = load(name)
    below = contact_sheet(dataset)
    rows = dataset.factors.draw(20, np.random.default_rng(1))
    images = dataset.render(rows, seed=1).reshape(2, 10, *dataset.shape)
    above = Image.fromarray(mosaic(images, gap=4)).convert("RGB")
    above = above.resize((below.width, round(above.height * below.width / above.width)), Image.Resampling.LANCZOS)
    whole = Image.new("RGB", (below.width, above.height + 12 + below.height), "white")
    whole.paste(above, (0, 0))
    whole.paste(below, (0, above.height + 12))
    return whole


def traversal(folder: Path) -> Image.Image:
    """What the most used latents of a trained model do."""
    model = Model.load(folder)
    return moved(model, load(model.run.dataset))


def small_traversal(method: str, steps: int | None = None) -> Image.Image:
    """What the latents of a small model do, which is trained for it; twice its size."""
    shown = moved(small_model(method, steps), squares())
    return shown.resize((2 * shown.width, 2 * shown.height), Image.Resampling.NEAREST)


def moved(model: Model, dataset: Dataset, rows: int = 6, columns: int = 9) -> Image.Image:
    """A line for each of a model's most used latents, from end to end of the latent."""
    shown = traversals(Look.of(model, dataset), columns=columns)[:rows]
    return Image.fromarray(mosaic(to_bytes(shown), gap=4)).convert("RGB")


def drawn_data_sets() -> list[str]:
    """The data sets that hackle draws itself, so that their pictures need no download."""
    return [name for name, source in DATASETS.items() if source.made_by_hackle]
