"""Charts as pictures: matplotlib figures, vector and pixel files, and drawings for the report's page.

Nothing is computed here except positions on paper. In panels with categories, runs are spread sideways so that none
hides another; beyond a few thousand, the dots are rasterised within the vector drawing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from hackle.core.errors import HackleError
from hackle.core.palette import DIVERGING, ON_DARK, ON_LIGHT, RISING, THEMES, Theme
from hackle.figures.chart import Axis, Chart, Frame, Panel, Series
from hackle.figures.labels import draw_labels
from hackle.figures.layout import (
    CELL,
    LEAST_WIDTH,
    LEGEND,
    Sheet,
    cell_text,
    crowded,
    slanted,
    widest,
    with_shared_axes,
    wrapped,
)
from hackle.figures.style import MARKERS, settings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MANY = 2500
"""The number of dots above which they are rasterised."""


class Dots(NamedTuple):
    """How the runs of a chart are drawn: in one size, set by the fullest panel; rasterised or not."""

    most: int
    pixels: bool

    @property
    def size(self) -> float:
        return 4.0 if self.most <= 150 else 2.4 if self.most <= 600 else 1.3


class FigureError(HackleError):
    """A figure that cannot be drawn or written."""


def draw(chart: Chart, theme: str = "light") -> Figure:
    """A chart as a matplotlib figure; theme is light or dark."""
    if not chart.panels:
        raise FigureError(f"nothing to draw: {'; '.join(chart.missing) or 'the chart has no panels'}")
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    colours = THEMES[theme]
    sheet = Sheet(with_shared_axes(chart))
    named = named_series(chart)
    counts = [0, *(len(panel.points) for panel in chart.panels if panel.x.ticks or not panel.joined)]
    dots = Dots(max(counts), sum(counts) > MANY)
    with rc_context(settings(colours)):
        figure = Figure(dpi=150)
        places = sheet.axes(figure)
        for at, axes in places.items():
            _draw_panel(axes, sheet.panels[at], chart.series, colours, dots, sheet.size(at))
            # The layout need not measure what lies inside the axes.
            for drawn in (*axes.lines, *axes.collections, *axes.texts):
                drawn.set_in_layout(False)
        if named:
            _legend(figure, named, colours, max(LEAST_WIDTH, sum(sheet.wide)))
        sheet.fit(figure, places)
        for at, axes in places.items():
            draw_labels(axes, sheet.panels[at], colours)
    return figure


def named_series(chart: Chart) -> tuple[Series, ...]:
    """The series that the legend names: those with something drawn, if the chart has several."""
    if len(chart.series) < 2:
        return ()
    names = {name for panel in chart.panels for frame in (panel.points, panel.summary) for name in frame["series"]}
    return tuple(one for one in chart.series if one.name in names)


def _draw_panel(
    axes: Axes, panel: Panel, series: Sequence[Series], theme: Theme, dots: Dots, size: tuple[float, float]
) -> None:
    axes.set_title(panel.title, loc="left", pad=4)
    if panel.picture is not None:
        _draw_picture(axes, panel, panel.picture)
        return
    if panel.cells is not None:
        _draw_cells(axes, panel, panel.cells, theme, size[0])
        return
    _set_axis(axes, "x", panel.x, size[0])
    _set_axis(axes, "y", panel.y, size[1])
    if panel.level is not None:
        axes.axhline(panel.level[0], color=theme.faint, linewidth=0.8, linestyle=(0, (4, 2)), zorder=1)
        axes.text(
            0.99,
            panel.level[0],
            panel.level[1],
            transform=axes.get_yaxis_transform(),
            ha="right",
            va="bottom",
            fontsize=6.5,
            color=theme.faint,
            bbox={"facecolor": theme.paper, "edgecolor": "none", "alpha": 0.75, "pad": 0.6},
            zorder=6,
        )
    if panel.diagonal is not None:
        axes.axline((0, panel.diagonal), slope=1, color=theme.faint, linewidth=0.8, linestyle=(0, (4, 2)), zorder=1)
    several = crowded(panel) or (panel.joined and bool(panel.x.ticks))
    shown = [
        one
        for one in series
        if (panel.points["series"] == one.name).any() or (panel.summary["series"] == one.name).any()
    ]
    room = 0.6 if panel.joined else 0.8
    width = room / max(1, len(shown)) if several else 0.8
    for index, one in enumerate(shown):
        offset = (index - (len(shown) - 1) / 2) * width if several else 0.0
        _draw_series(axes, panel, one, theme, offset, width, dots)


def _draw_picture(axes: Axes, panel: Panel, picture: np.ndarray) -> None:
    """Pixels, with names beside their rows and below their columns, if any."""
    axes.imshow(picture, interpolation="nearest", aspect="auto")
    height, width = picture.shape[:2]
    for names, length, place in ((panel.y.ticks, height, axes.set_yticks), (panel.x.ticks, width, axes.set_xticks)):
        place([(index + 0.5) * length / len(names) - 0.5 for index in range(len(names))], names)
    axes.set_xlabel(panel.x.label)
    axes.set_ylabel(panel.y.label)
    axes.tick_params(length=0)
    axes.grid(False)
    axes.spines[:].set_visible(False)


def _draw_series(axes: Axes, panel: Panel, one: Series, theme: Theme, offset: float, width: float, dots: Dots) -> None:
    colour, marker = theme.palette[one.colour % len(theme.palette)], MARKERS[one.marker % len(MARKERS)]
    points = panel.points[panel.points["series"] == one.name]
    if panel.joined and not panel.x.ticks:
        _draw_curves(axes, points, colour, panel.summary[panel.summary["series"] == one.name].sort_values("x"))
        return
    if len(points):
        x = points["x"].to_numpy(float) + offset
        if panel.x.ticks:
            x = x + _beside(points["x"].to_numpy(float), points["y"].to_numpy(float), 0.5 * width)
        axes.plot(
            x,
            points["y"].to_numpy(float),
            linestyle="none",
            marker=marker if dots.size > 2 else "o",
            markersize=dots.size,
            markerfacecolor=colour,
            markeredgecolor="none",
            alpha=0.45 if dots.pixels else 0.6,
            rasterized=dots.pixels,
            # A page finds them by these, to name the run of each.
            gid="dots",
            label=one.name,
            # A run on the very edge of the axes is not cut off.
            clip_on=False,
            zorder=2,
        )
    summary = panel.summary[panel.summary["series"] == one.name].sort_values("x")
    if not len(summary):
        return
    x, y = summary["x"].to_numpy(float) + offset, summary["y"].to_numpy(float)
    low, high = summary["low"].to_numpy(float), summary["high"].to_numpy(float)
    seen = np.isfinite(low) & np.isfinite(high)
    axes.vlines(
        x[seen], low[seen], high[seen], color=theme.ink if not panel.joined else colour, linewidth=1.1, zorder=4
    )
    if panel.joined:
        axes.plot(x, y, color=colour, linewidth=1.3, marker=marker, markersize=3.5, zorder=5)
    elif panel.x.ticks:
        half = 0.32 * width
        axes.hlines(y, x - half, x + half, color=theme.ink, linewidth=1.6, zorder=5)
    else:
        axes.plot(
            x,
            y,
            linestyle="none",
            marker=marker,
            markersize=6.5,
            markerfacecolor=colour,
            markeredgecolor=theme.ink,
            markeredgewidth=0.9,
            zorder=5,
        )


def _draw_curves(axes: Axes, points: Frame, colour: str, summary: Frame) -> None:
    from matplotlib.collections import LineCollection

    ordered = points.sort_values(["run", "x"])
    values = ordered[["x", "y"]].to_numpy(float)
    ends = np.flatnonzero(np.diff(pd.factorize(ordered["run"])[0])) + 1
    axes.add_collection(LineCollection(np.split(values, ends), colors=colour, linewidths=0.5, alpha=0.35, zorder=2))
    axes.plot(summary["x"].to_numpy(float), summary["y"].to_numpy(float), color=colour, linewidth=1.6, zorder=5)


def _beside(x: np.ndarray, y: np.ndarray, half: float) -> np.ndarray:
    """Sideways offsets of dots that share a category, by the van der Corput sequence: even and reproducible."""
    from scipy.stats.qmc import Halton

    places = np.zeros(len(x))
    for value in np.unique(x):
        here = np.flatnonzero(x == value)
        if len(here) > 1:
            # The Halton sequence in one dimension is van der Corput's; its first number, zero, is left out.
            spread = Halton(1, scramble=False).random(len(here) + 1)[1:, 0] - 0.5
            ordered = here[np.argsort(y[here], kind="stable")]
            places[ordered] = spread * 2 * half * min(1.0, 0.25 + len(here) / 12)
    return places


def _draw_cells(axes: Axes, panel: Panel, cells: Frame, theme: Theme, width: float) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    values = cells.to_numpy(float)
    most = float(np.nanmax(values)) if np.isfinite(values).any() else 1.0
    low, high = (-1.0, 1.0) if panel.signed else (0.0, max(1e-9, most))
    rows, columns = values.shape
    if panel.shaded:
        # One quadrilateral per cell stays sharp at any size; missing cells keep the colour of the paper.
        axes.pcolormesh(
            np.arange(columns + 1) - 0.5,
            np.arange(rows + 1) - 0.5,
            np.ma.masked_invalid(values),
            cmap=LinearSegmentedColormap.from_list("cells", DIVERGING if panel.signed else RISING),
            vmin=low,
            vmax=high,
            edgecolors=theme.paper,
            linewidth=0.8,
        )
    for (row, column), value in np.ndenumerate(values):
        shaded = panel.shaded and np.isfinite(value)
        ink = theme.ink if not shaded else ON_DARK if abs(value) / high > 0.6 else ON_LIGHT
        text = cell_text(value, panel.digits)
        axes.text(column, row, text, ha="center", va="center", fontsize=CELL, color=ink)
    axes.set_xlim(-0.5, columns - 0.5)
    axes.set_ylim(rows - 0.5, -0.5)
    _name_places(axes, list(map(str, cells.columns)), width)
    axes.set_yticks(range(rows), list(map(str, cells.index)))
    axes.tick_params(length=0, top=False, labeltop=not panel.shaded, labelbottom=panel.shaded)
    axes.grid(False)
    axes.spines[:].set_visible(False)


def _name_places(axes: Axes, names: Sequence[str], width: float) -> None:
    """Names under positions 0, 1, 2, … of an axis of this width, slanted if they are too long to fit side by side."""
    turned: dict[str, Any] = {"rotation": 35, "ha": "right"} if slanted(names, width) else {"ha": "center"}
    axes.set_xticks(range(len(names)), names, rotation_mode="anchor", **turned)


def _set_axis(axes: Axes, which: Literal["x", "y"], axis: Axis, length: float) -> None:
    from matplotlib.ticker import FuncFormatter, LogFormatter, MaxNLocator

    axes.set(**{f"{which}label": wrapped(axis.label, length), f"{which}scale": "log" if axis.log else "linear"})
    drawn = axes.xaxis if which == "x" else axes.yaxis
    if axis.low is not None or axis.high is not None:
        (axes.set_xlim if which == "x" else axes.set_ylim)(axis.low, axis.high)
    if axis.ticks:
        _name_places(axes, axis.ticks, length)
        axes.grid(False, axis=which)
        axes.tick_params(axis=which, length=0)
    elif not axis.log:
        drawn.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
    else:
        # Matplotlib's own are formulas.
        drawn.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        drawn.set_minor_formatter(LogFormatter(minor_thresholds=(1, 0.4)))
    if axis.label == "step":
        drawn.set_major_formatter(FuncFormatter(lambda value, _: _steps(value)))


def _steps(value: float) -> str:
    """A number of steps in short form: 300k for 300,000."""
    return f"{value / 1000:g}k" if abs(value) >= 1000 else f"{value:g}"


def _legend(figure: Figure, series: Sequence[Series], theme: Theme, width: float) -> None:
    from matplotlib.lines import Line2D

    marks = [
        Line2D(
            [],
            [],
            linestyle="none",
            marker=MARKERS[one.marker % len(MARKERS)],
            markersize=5.5,
            markerfacecolor=theme.palette[one.colour % len(theme.palette)],
            markeredgecolor="none",
            label=one.name,
        )
        for one in series
    ]
    # In multiples of the font size, a name takes its marker, a space and the distance to the next.
    column = widest([one.name for one in series], LEGEND) + (2.0 + 0.2 + 1.2) * LEGEND / 72
    figure.legend(
        handles=marks,
        loc="outside upper left",
        ncols=max(1, min(len(series), int(width / column))),
        frameon=False,
        fontsize=LEGEND,
        handlelength=2.0,
        handletextpad=0.2,
        columnspacing=1.2,
        borderaxespad=0.2,
    )
