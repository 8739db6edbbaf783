"""Figures in words, for readers who do not see them, and their legends as text."""

from __future__ import annotations

import numpy as np

from hackle.figures import words
from hackle.figures.chart import Chart, Panel
from hackle.figures.drawing import named_series

_SYMBOLS = "●■▲◆▼✚✖⬢★◀"
"""The markers of `hackle.figures.style` as letters."""


def legend(chart: Chart) -> list[tuple[str, int, str]]:
    """Symbol, number of the colour and name of each series, if there are several."""
    shown = named_series(chart)
    return [(_SYMBOLS[one.marker % len(_SYMBOLS)], one.colour, one.name) for one in shown]


def alternative(chart: Chart, title: str, caption: str) -> str:
    """A drawing in words, for readers who do not see it: what each panel shows, of how many runs, and its range."""
    said = map(panel_in_words, chart.panels, chart.titles)
    return " ".join([f"{title}.", caption, *said])


def panel_in_words(panel: Panel, title: str) -> str:
    """One panel in words."""
    name = f"{title}: " if title else ""
    if panel.picture is not None:
        return f"{name}a picture of {words.listing(panel.y.ticks) if panel.y.ticks else 'images'}."
    if panel.cells is not None:
        rows, columns = panel.cells.shape
        values = panel.cells.to_numpy(float)
        return f"{name}a table of {rows} by {columns} numbers{_ends(values)}."
    values = np.concatenate([frame["y"].to_numpy(float) for frame in (panel.points, panel.summary)])
    axes = f"{panel.y.label or 'values'} against {panel.x.label or words.listing(panel.x.ticks or ['groups'])}"
    count = f", {words.counted(len(panel.points), 'point')}" if len(panel.points) else ""
    return f"{name}{axes}{count}{_ends(values)}."


def _ends(values: np.ndarray) -> str:
    """The range of some numbers in words, empty if none is finite."""
    known = values[np.isfinite(values)]
    return f", from {known.min():.3g} to {known.max():.3g}".replace("-", "−") if len(known) else ""
