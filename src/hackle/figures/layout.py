"""The sizes of panels on paper, in inches, and their positions by matplotlib's constrained layout.

A panel has the size that its dots, cells or pixels need. Matplotlib measures the names, titles and legend around the panels;
the paper is made as large as both together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from hackle.figures.chart import Chart, Panel
from hackle.figures.panels import shared

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEAST_WIDTH = 3.4
TITLE, LABEL, LEGEND, TICK, CELL = 8.5, 8.0, 7.5, 7.0, 6.3
"""Sizes, in points, of titles, of axes' labels, of the legend, of names along axes and of numbers in cells."""
_AIR = 0.1
"""The space between numbers or names side by side, in inches."""


@cache
def text_width(text: str, size: float) -> float:
    """The width in inches of a text's longest line, as matplotlib sets it."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(family="DejaVu Sans", size=size)
    return max(text_to_path.get_text_width_height_descent(line, font, False)[0] for line in text.split("\n")) / 72


def widest(names: Sequence[str], size: float) -> float:
    """The width in inches of the widest of several texts."""
    return max((text_width(name, size) for name in names), default=0.0)


def slanted(names: Sequence[str], width: float) -> bool:
    """Whether names under an axis of this width are too long to fit side by side."""
    return widest(names, TICK) + 0.5 * _AIR > width / max(1, len(names))


def wrapped(label: str, length: float) -> str:
    """The label, on two lines if it is longer than its axis."""
    if text_width(label, LABEL) <= length + _AIR or " " not in label:
        return label
    breaks = [place for place, letter in enumerate(label) if letter == " "]
    middle = min(breaks, key=lambda place: abs(place - len(label) / 2))
    return f"{label[:middle]}\n{label[middle + 1 :]}"


def with_shared_axes(chart: Chart) -> list[list[Panel | None]]:
    """The chart's panels, with one y axis per row if `shared_y`, and no label repeated on neighbouring panels."""
    rows = []
    for row in ([panel and _beside_its_row(panel) for panel in row] for row in chart.rows):
        plain = [panel for panel in row if panel is not None and panel.cells is None and panel.picture is None]
        low, high = shared(plain)
        alike = chart.shared_y and len(plain) > 1
        rows.append(
            [panel and (replace(panel, y=replace(panel.y, low=low, high=high)) if alike else panel) for panel in row]
        )
    return [[panel and _unlabelled(panel, rows, r, c) for c, panel in enumerate(row)] for r, row in enumerate(rows)]


def _beside_its_row(panel: Panel) -> Panel:
    """The panel with the name of its row above the label of its y axis."""
    label = "\n".join(text for text in (panel.row, panel.y.label) if text)
    return replace(panel, y=replace(panel.y, label=label))


def _unlabelled(panel: Panel, rows: Sequence[Sequence[Panel | None]], row: int, column: int) -> Panel:
    """The panel without a label that its left neighbour has, and without names that the panel below it shows."""
    x, y = panel.x, panel.y
    left = rows[row][column - 1] if column else None
    if left is not None and left.y.label == y.label:
        y = replace(y, label="")
    below = rows[row + 1][column] if row + 1 < len(rows) and column < len(rows[row + 1]) else None
    if below is not None and (below.x.label, below.x.ticks) == (x.label, x.ticks):
        x = replace(x, label="", ticks=("",) * len(x.ticks))
    return replace(panel, x=x, y=y)


def crowded(panel: Panel) -> bool:
    """Whether several series share a category and must be drawn side by side."""
    if not panel.x.ticks or panel.joined or not len(panel.points):
        return False
    return int(panel.points.groupby("x")["series"].nunique().max()) > 1


def cell_text(value: float, digits: int) -> str:
    """The text of a cell: its number, or a dash for NaN."""
    return "–" if value != value else f"{value:.{digits}f}".replace("-", "−")


def _panel_size(panel: Panel) -> tuple[float, float]:
    if panel.picture is not None:
        height, width = panel.picture.shape[:2]
        scale = min(4.2 / width, 4.2 / height)
        return width * scale, height * scale
    if panel.cells is not None:
        numbers = widest([cell_text(value, panel.digits) for value in panel.cells.to_numpy(float).ravel()], CELL)
        # A table's headings are horizontal; those of a heat map may slant.
        heads = 0.0 if panel.shaded else widest(list(map(str, panel.cells.columns)), TICK)
        rows, columns = panel.cells.shape
        return columns * max(0.34, numbers + _AIR, heads + _AIR), 0.24 * rows
    if panel.x.ticks:
        series = max(1, panel.points["series"].nunique()) if crowded(panel) else 1
        return max(1.7, 0.4 * len(panel.x.ticks) * (1 + 0.6 * (series - 1))), 1.9
    return 2.2, 1.9


def _grows(panel: Panel | None) -> bool:
    """Whether a panel fills its row and column; cells and pictures have a fixed size."""
    return panel is None or (panel.cells is None and panel.picture is None)


class Sheet:
    """The grid of a figure's panels, by row and column: their sizes, and the widths and heights of columns and rows."""

    def __init__(self, rows: Sequence[Sequence[Panel | None]]) -> None:
        self._grid = len(rows), max(map(len, rows))
        self.panels = {(r, c): panel for r, row in enumerate(rows) for c, panel in enumerate(row) if panel is not None}
        # Many panels are drawn smaller: six fit side by side on a page with letters that can be read.
        scale = 0.62 if self._grid[0] > 1 and self._grid[1] > 4 else 1.0
        self._own: dict[tuple[int, int], tuple[float, float]] = {}
        self.wide, self.high = [0.1] * self._grid[1], [0.1] * self._grid[0]
        for (r, c), panel in self.panels.items():
            width, height = _panel_size(panel)
            self._own[r, c] = scale * width, scale * height
            # No title overlaps its neighbour.
            self.wide[c] = max(self.wide[c], scale * width, text_width(panel.title, TITLE) + _AIR)
            self.high[r] = max(self.high[r], scale * height)

    def size(self, at: tuple[int, int]) -> tuple[float, float]:
        """Width and height of a panel."""
        return (self.wide[at[1]], self.high[at[0]]) if _grows(self.panels[at]) else self._own[at]

    def axes(self, figure: Figure) -> dict[tuple[int, int], Axes]:
        """Axes for every panel, on paper with room for any labels around them."""
        rows, columns = self._grid
        figure.set_size_inches(sum(self.wide) + 2 * columns + 1, sum(self.high) + 2 * rows + 2)
        grid = figure.add_gridspec(rows, columns, width_ratios=self.wide, height_ratios=self.high)
        return {at: figure.add_subplot(grid[at]) for at in self.panels}

    def fit(self, figure: Figure, axes: Mapping[tuple[int, int], Axes]) -> None:
        """Make the paper as large as the panels and their labels, and give the panels their intended sizes.

        The labels' sizes do not depend on the paper's, so matplotlib measures them once, which for many panels is most
        of the drawing time; the panels are then moved together by as much as the paper is too large.
        """
        from matplotlib.layout_engine import ConstrainedLayoutEngine

        ConstrainedLayoutEngine(w_pad=0.07, wspace=0, hspace=0).execute(figure)
        before = figure.get_size_inches()
        # Left and upper edges in inches.
        places = {at: one.get_position(original=True) for at, one in axes.items()}
        edges = {at: (place.x0 * before[0], (1 - place.y1) * before[1]) for at, place in places.items()}
        (r, c), place = next(iter(places.items()))
        scales = place.width * before[0] / self.wide[c], place.height * before[1] / self.high[r]
        around = {
            (r, c): (left - scales[0] * sum(self.wide[:c]), above - scales[1] * sum(self.high[:r]))
            for (r, c), (left, above) in edges.items()
        }
        width, height = (
            size + (1 - scale) * sum(sides)
            for size, scale, sides in zip(before, scales, (self.wide, self.high), strict=True)
        )
        # A narrow figure is widened to leave room for a legend.
        growing = [
            c for c in range(self._grid[1]) if all(_grows(self.panels.get((r, c))) for r in range(self._grid[0]))
        ]
        for column in growing:
            self.wide[column] += max(0.0, LEAST_WIDTH - width) / len(growing)
        width = max(LEAST_WIDTH, width)
        figure.set_size_inches(width, height)
        for (r, c), one in axes.items():
            (left, above), (wide, high) = around[r, c], self.size((r, c))
            left, above = left + sum(self.wide[:c]), above + sum(self.high[:r])
            one.set_position((left / width, 1 - (above + high) / height, wide / width, high / height))
