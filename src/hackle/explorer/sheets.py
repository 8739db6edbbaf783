"""Sheets of images with their labels, as PNG, SVG or GIF: one layout for all three.

Beside each row stands its name, above the columns their heads, below each tile its value, and the title above it all. In
an SVG the labels are text, so that they can be searched and changed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from html import escape
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont
from pydantic import Field

from hackle.core.palette import LIGHT
from hackle.core.tiles import in_colour
from hackle.pictures import data_address, gif_bytes, png_bytes

Text = Annotated[str, Field(max_length=200)]
GAP, EDGE, LINE, FONT = 4, 10, 17, 13
"""Pixels between tiles, around the sheet, of a line of text and of its letters."""
LEAST_TILE, LEAST_SHEET = 56, 256
"""Tiles are enlarged by a whole factor, so that a value fits below each and so that a small sheet is not tiny."""
MOST_PIXELS = 16_000_000
"""The most pixels of the tiles of all frames together: long animations are enlarged less. Labels may double it."""


_MOST_LETTERS = 24
"""The most letters of a tile's value, which has a tile's width: to draw thousands of long ones takes a quarter of a minute."""


@dataclass(frozen=True)
class Labels:
    """What a sheet says: a title, names of rows, heads of columns, values of tiles in reading order, of one frame or of
    all, and what they are."""

    title: Text = ""
    names: Annotated[tuple[Text, ...], Field(max_length=256)] = ()
    heads: Annotated[tuple[Text, ...], Field(max_length=256)] = ()
    tiles: Annotated[tuple[Text, ...], Field(max_length=4096)] = ()
    across: Text = ""


class _Word(NamedTuple):
    """A text with the point that it is anchored at, horizontally by start, middle or end, vertically by its middle."""

    x: float
    y: float
    anchor: str
    text: str


@lru_cache(maxsize=1)
def _font() -> ImageFont.FreeTypeFont:
    """The font that matplotlib brings along: it has Greek letters and the minus sign."""
    import matplotlib

    return ImageFont.truetype(Path(matplotlib.get_data_path()) / "fonts/ttf/DejaVuSans.ttf", FONT)


@dataclass(frozen=True)
class Sheet:
    """The layout of `rows` × `columns` tiles of a size, each pixel of an image repeated `times` times."""

    labels: Labels
    rows: int
    columns: int
    height: int
    width: int
    frames: int = 1

    def __post_init__(self) -> None:
        if self._pixels > MOST_PIXELS or self.frames * math.prod(self.size) > 2 * MOST_PIXELS:
            raise ValueError(f"{self.frames} frames of this size are too many for one file; ask for fewer")

    @property
    def _pixels(self) -> int:
        return self.frames * self.rows * self.columns * self.height * self.width

    @cached_property
    def times(self) -> int:
        small = LEAST_SHEET // max(self.rows * self.height, self.columns * self.width)
        return max(1, min(max(small, -(-LEAST_TILE // self.width)), math.isqrt(MOST_PIXELS // self._pixels)))

    @cached_property
    def _left(self) -> int:
        return EDGE + math.ceil(max((_font().getlength(name) + EDGE for name in self.labels.names), default=0))

    @cached_property
    def _top(self) -> int:
        return EDGE + LINE * (bool(self.labels.title) + bool(self.labels.heads))

    @cached_property
    def _row(self) -> int:
        return self.height * self.times + GAP + LINE * bool(self.labels.tiles)

    @cached_property
    def _column(self) -> int:
        return self.width * self.times + GAP

    @cached_property
    def size(self) -> tuple[int, int]:
        """Width and height of the whole sheet, in pixels."""
        wide = self._left + self.columns * self._column - GAP + EDGE
        title = EDGE + math.ceil(_font().getlength(self.labels.title)) + EDGE
        high = self._top + self.rows * self._row - GAP + LINE * bool(self.labels.across) + EDGE
        return max(wide, title), high

    def _middle(self, column: int) -> float:
        return self._left + column * self._column + self.width * self.times / 2

    def words(self, frame: int = 0) -> list[_Word]:
        """Every label of a frame with its place."""
        labels, tall, tiles = self.labels, self.height * self.times, self.rows * self.columns
        values = labels.tiles[frame * tiles : (frame + 1) * tiles] if len(labels.tiles) > tiles else labels.tiles
        placed = [_Word(EDGE, EDGE + LINE / 2 - 2, "start", labels.title)] if labels.title else []
        placed += [
            _Word(self._middle(at), self._top - LINE / 2, "middle", head) for at, head in enumerate(labels.heads)
        ]
        placed += [
            _Word(self._left - EDGE, self._top + at * self._row + tall / 2, "end", name)
            for at, name in enumerate(labels.names)
        ]
        for at, text in enumerate(values):
            row, column = divmod(at, self.columns)
            short = text if len(text) <= _MOST_LETTERS else f"{text[: _MOST_LETTERS - 1]}…"
            placed.append(_Word(self._middle(column), self._top + row * self._row + tall + LINE / 2, "middle", short))
        if labels.across:
            middle = self._left + (self.columns * self._column - GAP) / 2
            placed.append(_Word(middle, self.size[1] - EDGE / 2 - LINE / 2, "middle", labels.across))
        return [word for word in placed if word.text]

    def _tiled(self, images: NDArray[np.uint8], blank: NDArray[np.bool_]) -> NDArray[np.uint8]:
        """Images (n, h, w, c) in reading order on white; tiles that are blank stay white."""
        sheet = np.full((self.size[1], self.size[0], 3), 255, np.uint8)
        pixels = iter(in_colour(images).repeat(self.times, axis=1).repeat(self.times, axis=2))
        for at in np.flatnonzero(~blank).tolist():
            row, column = divmod(at, self.columns)
            top, left = self._top + row * self._row, self._left + column * self._column
            sheet[top : top + self.height * self.times, left : left + self.width * self.times] = next(pixels)
        return sheet

    def picture(self, images: NDArray[np.uint8], blank: NDArray[np.bool_], frame: int = 0) -> NDArray[np.uint8]:
        """The sheet with the labels of a frame, (height, width, 3)."""
        drawn = Image.fromarray(self._tiled(images, blank))
        pen = ImageDraw.Draw(drawn)
        for word in self.words(frame):
            side = {"start": "l", "middle": "m", "end": "r"}[word.anchor]
            pen.text((word.x, word.y), word.text, fill=LIGHT.ink, font=_font(), anchor=f"{side}m")
        return np.asarray(drawn)

    def png(self, images: NDArray[np.uint8], blank: NDArray[np.bool_]) -> bytes:
        return png_bytes(self.picture(images, blank))

    def svg(self, images: NDArray[np.uint8], blank: NDArray[np.bool_]) -> bytes:
        """The same as SVG: the images embedded, the labels as text."""
        width, height = self.size
        address = data_address(png_bytes(self._tiled(images, blank)))
        texts = "\n".join(
            f'<text x="{word.x:g}" y="{word.y:g}" text-anchor="{word.anchor}">{escape(word.text)}</text>'
            for word in self.words()
        )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
            f'font-family="DejaVu Sans, sans-serif" font-size="{FONT}" fill="{LIGHT.ink}" dominant-baseline="central">\n'
            f"<title>{escape(self.labels.title)}</title>\n"
            f'<image width="{width}" height="{height}" href="{address}"/>\n{texts}\n</svg>\n'
        ).encode()

    def gif(self, frames: Sequence[tuple[NDArray[np.uint8], NDArray[np.bool_]]], milliseconds: int) -> bytes:
        """Frames, each of images and blanks, as an endless GIF."""
        return gif_bytes(
            [self.picture(images, blank, frame) for frame, (images, blank) in enumerate(frames)], milliseconds
        )
