"""dSprites drawn from its geometry: a square, an ellipse and a heart, scaled, turned, moved and filled without smoothing.

The data set (Matthey et al. 2017, the test bed of Higgins et al. 2017) was published as images alone. The outlines below
reproduce them: in continuous pixel coordinates (pixel i covers [i, i + 1], y points down) the outline is scaled by 9.6
times the scale, turned counter-clockwise on the screen and moved to (16 + 32 x, 16 + 32 y). Vertices are then snapped to
1/256 pixel, and a pixel is filled when its centre is inside; a centre on a left or bottom edge counts as inside.

After snapping everything is integer arithmetic, so the fill is exact. Before it, float64 is needed and enough: no vertex
comes nearer than 2·10⁻⁷ of a step to the middle between two steps, while the rounding error stays below 10⁻¹⁰.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SIDE = 64
SCALES = np.linspace(0.5, 1.0, 6)
ORIENTATIONS = np.linspace(0.0, 2 * np.pi, 40)
POSITIONS = np.linspace(0.0, 1.0, 32)

_STEPS = 256
_EVERY_COLUMN = np.uint64(0xFFFF_FFFF_FFFF_FFFF)

Words = NDArray[np.int64]


def _outlines() -> tuple[NDArray[np.float64], ...]:
    """Square, ellipse and heart as polygons of unit size, each (2, vertices)."""
    ellipse, heart = (2 * np.pi * np.arange(vertices) / vertices for vertices in (100, 150))
    lobes = 13 * np.cos(heart) - 5 * np.cos(2 * heart) - 2 * np.cos(3 * heart) - np.cos(4 * heart)
    return (
        np.array([[-1.0, 1.0, 1.0, -1.0], [-1.0, -1.0, 1.0, 1.0]]),
        np.stack([1.33 * np.cos(ellipse), np.sin(ellipse) / 1.33]),
        np.stack([np.sin(heart) ** 3, -(lobes / 14.5 + 0.15)]),
    )


_OUTLINES = _outlines()


def _snapped(shape: int, scale: int, orientation: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The polygon's x at every horizontal and its y at every vertical position, in steps: (positions, vertices) each."""
    across, down = _OUTLINES[shape] * (9.6 * SCALES[scale])
    cosine, sine = np.cos(ORIENTATIONS[orientation]), np.sin(ORIENTATIONS[orientation])
    centres = 16 + 32 * POSITIONS[:, None]
    x = centres + (across * cosine + down * sine)
    y = centres + (down * cosine - across * sine)
    return np.rint(x * _STEPS).astype(np.int64), np.rint(y * _STEPS).astype(np.int64)


def _crossings(y: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Which edges cross which rows' centre lines at which vertical position: (position, edge, row), by position and row.

    An edge crosses the rows whose centre c has low < c ≤ high, which puts bottom edges inside and top edges outside.
    """
    following = np.roll(y, -1, axis=1)
    low, high = np.minimum(y, following), np.maximum(y, following)
    first = (low - _STEPS // 2) // _STEPS + 1
    count = ((high - _STEPS // 2) // _STEPS + 1 - first).ravel()
    owner = np.repeat(np.arange(count.size), count)
    row = np.arange(owner.size) - np.repeat(np.cumsum(count) - count - first.ravel(), count)
    position, edge = np.divmod(owner, y.shape[1])
    order = np.argsort(position * SIDE + row, kind="stable")
    return position[order], edge[order], row[order]


def sheet(shape: int, scale: int, orientation: int) -> Words:
    """One polygon at all 32×32 positions: (x, y, image row) words whose bit c is the pixel in column c.

    Each edge that crosses a row's centre line flips all pixels whose centres lie on or to the right of the crossing:
    what has been flipped an odd number of times is inside.
    """
    x, y = _snapped(shape, scale, orientation)
    position, edge, row = _crossings(y)
    start = y[position, edge]
    rise = np.roll(y, -1, axis=1)[position, edge] - start
    run = (np.roll(x, -1, axis=1) - x)[:, edge]
    climbed = (row * _STEPS + _STEPS // 2 - start) * np.sign(rise)
    rise = np.abs(rise)
    # The crossing is at start + run·climbed/rise; the first column c has 256 c + 128 on or to the right of it.
    column = -((((_STEPS // 2 - x[:, edge]) * rise) - run * climbed) // (rise * _STEPS))
    flips = np.left_shift(_EVERY_COLUMN, column.astype(np.uint64))
    line = position * SIDE + row
    begins = np.flatnonzero(np.diff(line, prepend=-1))
    words = np.zeros((len(x), len(y) * SIDE), np.uint64)
    words[:, line[begins]] = np.bitwise_xor.reduceat(flips, begins, axis=1)
    return words.view(np.int64).reshape(len(x), len(y), SIDE)


def rasterise(rows: NDArray[np.int64]) -> Words:
    """(n, 64) words, one for each image row, for factor rows (n, 5): shape, scale, orientation, x, y.

    >>> [bin(word).count("1") for word in rasterise(np.array([[0, 5, 0, 0, 0]]))[0][14:18]]
    [20, 20, 20, 20]
    """
    words = np.empty((len(rows), SIDE), np.int64)
    polygons, member = np.unique(rows[:, :3], axis=0, return_inverse=True)
    member = member.ravel()
    for number, polygon in enumerate(polygons):
        mine = np.flatnonzero(member == number)
        words[mine] = sheet(*polygon.tolist())[rows[mine, 3], rows[mine, 4]]
    return words
