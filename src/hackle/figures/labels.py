"""Labels beside dots: each is placed where it covers the fewest dots and no other label, with a thin line to its dot if
it is not right beside it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from hackle.core.palette import Theme
from hackle.figures.layout import text_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hackle.figures.chart import Panel

SIZE = 6.5
"""The font size of labels, in points."""
_NEAR = 5.0
_DISTANCES = (_NEAR, 11.0, 18.0, 26.0, 36.0)
_DIRECTIONS = tuple(math.radians(angle) for angle in (45, 0, 90, 135, 315, 180, 270, 225))
_REACH = 3.0
"""A dot's radius with a small margin, in points."""


def draw_labels(axes: Axes, panel: Panel, theme: Theme) -> None:
    """Draw the panel's labels, after everything that they must not cover and once the axes are in their final place."""
    if panel.labels is None:
        return
    dots, window = _obstacles(axes, panel)
    taken: list[tuple[float, float, float, float]] = []
    for row in panel.labels.itertuples():
        text = str(row.text)
        anchor = _in_points(axes, np.array([[row.x, row.y]], float))[0]
        size = (72 * text_width(text, SIZE) + 2, 1.1 * SIZE)
        distance, box = _best(anchor, size, dots, taken, window)
        taken.append(box)
        axes.annotate(
            text,
            (row.x, row.y),
            xytext=((box[0] + box[2]) / 2 - anchor[0], (box[1] + box[3]) / 2 - anchor[1]),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=SIZE,
            color=theme.ink,
            zorder=7,
            arrowprops={"arrowstyle": "-", "color": theme.faint, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 2.5}
            if distance > _NEAR
            else None,
        )


def _in_points(axes: Axes, places: np.ndarray) -> np.ndarray:
    """Data coordinates in points (1/72 inch) on the paper."""
    return axes.transData.transform(places) * 72 / axes.get_figure(root=True).dpi  # type: ignore[union-attr]


def _obstacles(axes: Axes, panel: Panel) -> tuple[np.ndarray, np.ndarray]:
    """Where dots, means and the diagonal lie, and the corners of the axes."""
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    parts = [frame[["x", "y"]].to_numpy(float) for frame in (panel.points, panel.summary) if len(frame)]
    if panel.diagonal is not None:
        x = np.linspace(left, right, 60)
        parts.append(np.column_stack([x, x + panel.diagonal]))
    dots = _in_points(axes, np.concatenate(parts)) if parts else np.empty((0, 2))
    return dots, _in_points(axes, np.array([[left, low], [right, high]]))


def _best(
    anchor: np.ndarray,
    size: tuple[float, float],
    dots: np.ndarray,
    taken: list[tuple[float, float, float, float]],
    window: np.ndarray,
) -> tuple[float, tuple[float, float, float, float]]:
    """The distance and the box (left, bottom, right, top) of the position with the lowest cost; the first of equals."""
    best, least = (_NEAR, (0.0, 0.0, 0.0, 0.0)), math.inf
    for distance in _DISTANCES:
        for angle in _DIRECTIONS:
            x = anchor[0] + distance * math.cos(angle) + 0.5 * size[0] * np.sign(round(math.cos(angle), 6))
            y = anchor[1] + distance * math.sin(angle) + 0.5 * size[1] * np.sign(round(math.sin(angle), 6))
            box = (x - size[0] / 2, y - size[1] / 2, x + size[0] / 2, y + size[1] / 2)
            inside = (dots > (box[0] - _REACH, box[1] - _REACH)) & (dots < (box[2] + _REACH, box[3] + _REACH))
            over = sum(box[0] < b[2] and b[0] < box[2] and box[1] < b[3] and b[1] < box[3] for b in taken)
            beyond = box[0] < window[0, 0] or box[1] < window[0, 1] or box[2] > window[1, 0] or box[3] > window[1, 1]
            cost = int(inside.all(axis=1).sum()) + 6 * over + 20 * beyond + 0.04 * distance
            if cost < least:
                best, least = (distance, box), cost
    return best
