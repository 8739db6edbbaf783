"""What a figure shows, before it is drawn: tables of points, summaries and cells.

A figure is made in two steps. An `Exhibit` turns `Tables` into a `Chart`, which holds every number on the page and can
be compared with the table it came from. `hackle.figures.drawing` turns any chart into a picture and adds no numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Frame = Any
"""A pandas frame, typed as `Any` because pandas' annotations say too little about what its methods return."""

POINTS = ("x", "y", "series", "run")
"""Columns of `Panel.points`: a row for each run."""
SUMMARY = ("x", "y", "low", "high", "n", "series")
"""Columns of `Panel.summary`: a row for each group of runs."""


def no_points() -> Frame:
    """A frame of points without rows."""
    return pd.DataFrame(columns=list(POINTS))


def no_summary() -> Frame:
    """A frame of summaries without rows."""
    return pd.DataFrame(columns=list(SUMMARY))


@dataclass(frozen=True)
class Axis:
    """One axis. With `ticks`, values 0, 1, 2, … are categories with these names; low and high are its limits, if
    given."""

    label: str = ""
    low: float | None = None
    high: float | None = None
    ticks: tuple[str, ...] = ()
    log: bool = False


@dataclass(frozen=True)
class Series:
    """Points that share a colour and a marker: `colour` and `marker` index those of `hackle.figures.style`."""

    name: str
    colour: int = 0
    marker: int = 0


@dataclass(frozen=True)
class Panel:
    """One pair of axes.

    points: every run. summary: means or medians with intervals. joined: whether those of a series are joined by a line.
    cells: a matrix with named rows and columns, drawn as a heat map from −1 to 1 (`signed`), from 0 up, or as plain
    numbers (`shaded` false). level: a horizontal line and its name. diagonal: the line y = x + diagonal. picture: uint8
    pixels.
    """

    title: str = ""
    x: Axis = Axis()
    y: Axis = Axis()
    points: Frame = field(default_factory=no_points)
    summary: Frame = field(default_factory=no_summary)
    joined: bool = False
    cells: Frame | None = None
    signed: bool = False
    shaded: bool = True
    digits: int = 2
    level: tuple[float, str] | None = None
    diagonal: float | None = None
    labels: Frame | None = None
    """Labels beside points: x, y, text."""
    picture: NDArray[np.uint8] | None = None
    row: str = ""
    """What its row of the figure shows, such as a data set; drawn beside the row."""


@dataclass(frozen=True)
class Comparison:
    """What a paper reports and what these runs give: numbers, or a few words if the paper gives none.

    claim, verdict: the claim it is taken from, if any; single strata of a claim have no verdict. n: how many numbers
    `here` is the mean of: runs, or seeds for a claim.
    """

    what: str
    paper: float | str
    here: float | str
    low: float = float("nan")
    high: float = float("nan")
    n: int = 0
    claim: str = ""
    verdict: str = ""

    @classmethod
    def of(cls, what: str, paper: float | str, row: Any) -> Comparison:
        """A comparison with a row of `Panel.summary`."""
        return cls(what, paper, float(row.y), float(row.low), float(row.high), int(row.n))


@dataclass(frozen=True)
class Chart:
    """A figure as data. rows: panels from top to bottom and left to right, None for an empty place.

    reading: how to read it and what the marks and intervals are. missing: what the figure needs and the table does not
    have. notes: choices made when selecting runs (protocol, steps).
    """

    rows: tuple[tuple[Panel | None, ...], ...] = ()
    series: tuple[Series, ...] = ()
    reading: str = ""
    comparisons: tuple[Comparison, ...] = ()
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    shared_y: bool = True
    """Panels of a row share one y axis."""

    @property
    def panels(self) -> list[Panel]:
        return [panel for row in self.rows for panel in row if panel is not None]

    @property
    def titles(self) -> list[str]:
        """What each panel shows: its row, and its title or that of the panel above it, which a grid shows once."""
        columns: dict[int, str] = {}
        titles = []
        for row in self.rows:
            for column, panel in enumerate(row):
                if panel is not None:
                    columns[column] = panel.title or columns.get(column, "")
                    titles.append(", ".join(text for text in (panel.row, columns[column]) if text))
        return titles

    @property
    def runs(self) -> int:
        """How many runs are shown as points."""
        names = [panel.points["run"] for panel in self.panels if len(panel.points)]
        together: Frame = pd.concat(names) if names else None
        return int(together.nunique()) if names else 0

    @property
    def group_sizes(self) -> str:
        """How many runs each mean or median summarises, in words; empty if there is none."""
        counts = [panel.summary["n"] for panel in self.panels if len(panel.summary)]
        if not counts:
            return ""
        n: Frame = pd.concat(counts)
        low, high = int(n.min()), int(n.max())
        return f"n = {low} run{'s' if low > 1 else ''} each." if low == high else f"n = {low} to {high} runs each."

    def data(self) -> Frame:
        """Every point of every panel in one frame, for your own plots."""
        named = zip(self.titles, self.panels, strict=True)
        parts = [panel.points.assign(panel=title) for title, panel in named if len(panel.points)]
        columns = ["panel", *POINTS]
        return pd.concat(parts, ignore_index=True)[columns] if parts else pd.DataFrame(columns=columns)
