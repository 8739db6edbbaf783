"""A picture of what each factor changes: one line per factor, the others held fixed, values from left to right.

The held factors have the values of one random row. In an incomplete grid the exact row for a value may not exist, so
the one that shares the most factors with it is shown. A set without known factors is shown as random images.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image, ImageDraw, ImageFont

from hackle.core.factors import FactorGrid, Rows
from hackle.core.files import replacing
from hackle.core.types import Dataset
from hackle.datasets.source import DataError

_COLUMNS = 10
_TILE = 64
_GAP = 4
_TEXT = 13


def write_contact_sheet(dataset: Dataset, path: Path | str, *, overwrite: bool = False, seed: int = 0) -> Path:
    """Writes the sheet as a PNG; an existing file is kept unless `overwrite` is given."""
    path = Path(path)
    if path.exists() and not overwrite:
        raise DataError(f"{path} is there already: choose another name, or overwrite it on purpose (--force)")
    try:
        with replacing(path) as partial:
            contact_sheet(dataset, seed=seed).save(partial, "PNG")
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror or error}") from error
    return path


def contact_sheet(dataset: Dataset, *, seed: int = 0) -> Image.Image:
    """The sheet as a picture. The seed picks the held row, or the images of a set without factors."""
    grid, rng = dataset.factors, np.random.default_rng(seed)
    if grid.observed:
        held = grid.draw(1, rng)[0]
        lines = [
            (f"{factor.name} ({factor.size})", vary(grid, column, held)) for column, factor in enumerate(grid.factors)
        ]
    else:
        drawn = rng.permutation(grid.size)[: _COLUMNS * _COLUMNS]
        rows = grid.rows(drawn)
        lines = [("", rows[start : start + _COLUMNS]) for start in range(0, len(rows), _COLUMNS)]
    # All in one call, so that a stochastic set draws different noise for every line.
    images = dataset.render(np.concatenate([rows for _, rows in lines]), seed=seed)
    ends = np.cumsum([len(rows) for _, rows in lines])
    return _lay_out(list(zip([label for label, _ in lines], np.split(images, ends[:-1]), strict=True)))


def vary(grid: FactorGrid, factor: str | int, held: ArrayLike) -> Rows:
    """Rows in which one factor goes through its range, in at most ten steps, with the others held if possible.

    >>> from hackle.core.factors import Factor
    >>> vary(FactorGrid([Factor("a", 2), Factor("b", 3)]), "b", [1, 0]).tolist()
    [[1, 0], [1, 1], [1, 2]]
    """
    column = grid.column(factor)
    size = grid.sizes[column]
    values = np.unique(np.linspace(0, size - 1, min(_COLUMNS, size)).round().astype(np.int64))
    if grid.complete:
        rows = np.tile(np.asarray(held, dtype=np.int64), (len(values), 1))
        rows[:, column] = values
        return rows
    every = grid.rows(np.arange(grid.size))
    # Rows share unobserved factors only by accident, so these count for little.
    weights = np.array([1.0 if known.observed else 0.5 / len(grid.factors) for known in grid.factors])
    weights[column] = 0
    shared = (every == np.asarray(held)) @ weights
    chosen = [np.flatnonzero(every[:, column] == value) for value in values]
    return np.stack([every[rows[shared[rows].argmax()]] for rows in chosen if len(rows)])


def _lay_out(lines: list[tuple[str, NDArray[np.uint8]]]) -> Image.Image:
    height, width = lines[0][1].shape[1:3]
    scale = max(1, _TILE // max(height, width))
    tile = (width * scale, height * scale)
    font = ImageFont.load_default(size=_TEXT)
    label_width = max(round(font.getlength(label)) for label, _ in lines)
    left = label_width + 2 * _GAP if label_width else _GAP
    columns = max(len(images) for _, images in lines)
    sheet = Image.new("RGB", (left + columns * (tile[0] + _GAP), _GAP + len(lines) * (tile[1] + _GAP)), "white")
    draw = ImageDraw.Draw(sheet)
    for number, (label, images) in enumerate(lines):
        top = _GAP + number * (tile[1] + _GAP)
        draw.text((_GAP, top + tile[1] / 2), label, "black", font, anchor="lm")
        for column, image in enumerate(images):
            sheet.paste(
                _as_picture(image).resize(tile, Image.Resampling.NEAREST), (left + column * (tile[0] + _GAP), top)
            )
    return sheet


def _as_picture(image: NDArray[np.uint8]) -> Image.Image:
    """Three or four channels as colours (without the fourth), any other number as the grey of their mean."""
    if image.shape[2] in (3, 4):
        return Image.fromarray(np.ascontiguousarray(image[..., :3]))
    return Image.fromarray(image.mean(axis=2).round().astype(np.uint8))
