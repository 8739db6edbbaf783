"""Figures and tables of the papers, each a function of the results table: `FIGURES[id](tables)` is a chart, `draw` draws it."""

from hackle.core.papers import paper_named
from hackle.core.parts import Found, Parts
from hackle.figures.chart import Axis, Chart, Comparison, Panel, Series
from hackle.figures.drawing import FigureError, draw
from hackle.figures.exhibit import Exhibit
from hackle.figures.files import save
from hackle.figures.panels import panels
from hackle.figures.selection import Runs, Selected


def _place(entry: Found[Exhibit]) -> tuple[int, str, bool, float]:
    """Papers in their usual order, then others by name; within each, figures by number, then tables and appendices."""
    paper, number = entry.part.paper, entry.part.number.rpartition(" ")
    rank, place = paper_named(paper).rank, float(number[2]) if number[2].isdigit() else float("inf")
    return rank, paper, number[0] != "Figure", place


FIGURES: Parts[Exhibit] = Parts(
    "figure",
    ("hackle.papers.*.figures*",),
    lambda thing: isinstance(thing, Exhibit),
    name_of=lambda exhibit: exhibit.id,
    order=_place,
)
"""Every figure and table, by an id such as `yang2020-figure-1`."""

__all__ = [
    "FIGURES",
    "Axis",
    "Chart",
    "Comparison",
    "Exhibit",
    "FigureError",
    "Panel",
    "Runs",
    "Selected",
    "Series",
    "draw",
    "panels",
    "save",
]
