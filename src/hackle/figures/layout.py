"""Where panels stand on paper, in inches, and which of their labels are said once for several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hackle.figures.chart import Chart, Panel, Series
from hackle.figures.panels import shared

Place = tuple[float, float, float, float]
"""Left, bottom, width, height."""
LEAST_WIDTH = 3.4
LETTER = 0.062
"""The width of a letter, on average, in inches."""
SLANTED = 0.039
"""How far down a letter of a slanted name reaches."""


def with_shared_axes(chart: Chart) -> list[list[Panel | None]]:
    """The chart's panels with one y axis to a row where that is wanted, and no label said twice side by side."""
    rows = []
    for row in chart.rows:
        plain = [panel for panel in row if panel is not None and panel.cells is None and panel.picture is None]
        low, high = shared(plain)
        alike = chart.shared_y and len(plain) > 1
        rows.append(
            [panel and (replace(panel, y=replace(panel.y, low=low, high=high)) if alike else panel) for panel in row]
        )
    return [[panel and _unlabelled(panel, rows, r, c) for c, panel in enumerate(row)] for r, row in enumerate(rows)]


def _unlabelled(panel: Panel, rows: Sequence[Sequence[Panel | None]], row: int, column: int) -> Panel:
    """The panel without the label that its left neighbour has, and without names that stand under the one below it."""
    x, y = panel.x, panel.y
    left = rows[row][column - 1] if column else None
    if left is not None and left.y.label == y.label:
        y = replace(y, label="")
    below = rows[row + 1][column] if row + 1 < len(rows) and column < len(rows[row + 1]) else None
    if below is not None and (below.x.label, below.x.ticks) == (x.label, x.ticks):
        x = replace(x, label="", ticks=("",) * len(x.ticks))
    return replace(panel, x=x, y=y)


def crowded(panel: Panel) -> bool:
    """Whether several series share a category and must stand beside each other."""
    if not panel.x.ticks or panel.joined or not len(panel.points):
        return False
    return int(panel.points.groupby("x")["series"].nunique().max()) > 1


def _panel_size(panel: Panel) -> tuple[float, float]:
    if panel.picture is not None:
        height, width = panel.picture.shape[:2]
        scale = min(4.2 / width, 4.2 / height)
        return width * scale, height * scale
    if panel.cells is not None:
        # A table's headings lie side by side; those of a heat map may slant.
        longest = 0 if panel.shaded else max(len(str(name)) for name in panel.cells.columns)
        column = max(0.34, 0.085 * (panel.digits + 2) + 0.1, 0.07 * longest)
        return panel.cells.shape[1] * column, panel.cells.shape[0] * 0.24
    if panel.x.ticks:
        series = max(1, panel.points["series"].nunique()) if crowded(panel) else 1
        return max(1.7, 0.4 * len(panel.x.ticks) * (1 + 0.6 * (series - 1))), 1.9
    return 2.2, 1.9


def layout(
    rows: Sequence[Sequence[Panel | None]], series: Sequence[Series]
) -> tuple[dict[tuple[int, int], Place], float, float]:
    """Where each panel stands, in inches from the lower left, and the paper's size."""
    columns = max(len(row) for row in rows)
    sizes = [[_panel_size(panel) if panel is not None else (0.0, 0.0) for panel in row] for row in rows]
    dense = columns > 4 and len(rows) > 2
    shrink = 0.66 if dense else 1.0
    wide = [max(shrink * row[c][0] for row in sizes if c < len(row)) for c in range(columns)]
    high = [shrink * max(size[1] for size in row) for row in sizes]
    left = [max(_left_margin(row[c], c) for row in rows if c < len(row)) for c in range(columns)]
    # A panel that is lower than its row has room for its names within the row.
    below = [
        max(
            _bottom_margin(panel, shrink) - _room(panel, top - shrink * size[1])
            for panel, size in zip(row, line, strict=True)
        )
        for row, line, top in zip(rows, sizes, high, strict=True)
    ]
    above = [max(_top_margin(panel) for panel in row) for row in rows]
    # A figure has room for its legend: what is narrower grows, but for panels whose cells or pixels have their own size.
    growing = [c for c in range(columns) if all(c >= len(row) or _grows(row[c]) for row in rows)]
    spare = LEAST_WIDTH - sum(wide) - sum(left) - 0.12
    for c in growing:
        wide[c] += max(0.0, spare) / len(growing)
    width = sum(wide) + sum(left) + 0.12 + (0.0 if growing else max(0.0, spare))
    top = 0.08 + 0.17 * -(-len(series) // legend_columns(series, width)) if series else 0.06
    height = sum(high) + sum(below) + sum(above) + top
    places, y = {}, height - top
    for r, row in enumerate(rows):
        y -= above[r] + high[r]
        x = 0.0
        for c, panel in enumerate(row):
            x += left[c]
            if panel is not None:
                own = (shrink * sizes[r][c][0], shrink * sizes[r][c][1])
                if _grows(panel):
                    own = (wide[c], high[r])
                places[r, c] = (x, y + high[r] - own[1], *own)
            x += wide[c]
        y -= below[r]
    return places, width, height


def _room(panel: Panel | None, spare: float) -> float:
    """What a panel of its own size leaves free below it; other panels fill their row."""
    return 0.0 if _grows(panel) else spare


def _grows(panel: Panel | None) -> bool:
    """Whether a panel takes the room that its row and column have."""
    return panel is None or (panel.cells is None and panel.picture is None)


def headed(panel: Panel) -> bool:
    """Whether a panel is a table of plain numbers, whose columns have their names above them."""
    return panel.cells is not None and not panel.shaded


def _top_margin(panel: Panel | None) -> float:
    title = 0.2 + 0.13 * panel.title.count("\n") if panel is not None and panel.title else 0.0
    return 0.1 + title + (0.2 if panel is not None and headed(panel) else 0.0)


def wrapped(label: str, height: float) -> str:
    """A label in two lines where it is longer than its axis."""
    if len(label) * LETTER <= height + 0.15 or " " not in label:
        return label
    breaks = [place for place, letter in enumerate(label) if letter == " "]
    middle = min(breaks, key=lambda place: abs(place - len(label) / 2))
    return f"{label[:middle]}\n{label[middle + 1 :]}"


def _left_margin(panel: Panel | None, column: int) -> float:
    if panel is None:
        return 0.1
    if panel.cells is not None:
        return 0.2 + 0.068 * max((len(str(name)) for name in panel.cells.index), default=0)
    if panel.picture is not None:
        return 0.2 + LETTER * max(map(len, panel.y.ticks), default=0) + 0.16 * bool(panel.y.label)
    return 0.66 if column == 0 or panel.y.label else 0.42


def _bottom_margin(panel: Panel | None, shrink: float) -> float:
    if panel is None or headed(panel):
        return 0.12
    if panel.picture is not None:
        return 0.12 + 0.2 * bool(panel.x.ticks) + 0.16 * bool(panel.x.label)
    if panel.cells is not None:
        longest = max((len(str(name)) for name in panel.cells.columns), default=0)
        return 0.16 + (SLANTED * longest if slanted_names(panel, shrink) else 0.1)
    label = 0.16 * bool(panel.x.label)
    if not panel.x.ticks:
        return 0.3 + label
    if not any(panel.x.ticks):
        return 0.1
    return 0.16 + label + (SLANTED * max(map(len, panel.x.ticks)) if slanted_names(panel, shrink) else 0.16)


def slanted_names(panel: Panel, shrink: float) -> bool:
    """Whether names under the axis are too long to lie side by side."""
    names = [str(name) for name in (panel.cells.columns if panel.cells is not None else panel.x.ticks)]
    room = shrink * _panel_size(panel)[0] / max(1, len(names))
    lines = max((max(len(part) for part in name.split("\n")) for name in names), default=0)
    return LETTER * lines > room


def legend_columns(series: Sequence[Series], width: float) -> int:
    """How many names stand side by side above the panels."""
    return max(1, min(len(series), int(width / (0.32 + 0.068 * max(len(one.name) for one in series)))))
