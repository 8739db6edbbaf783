"""Figures and tables of the papers, each a function of the results table: `FIGURES[id](tables)` is a chart, `draw` draws it."""

from hackle.core.papers import paper_order
from hackle.core.parts import Found, Parts
from hackle.figures.chart import Axis, Chart, Comparison, Exhibit, Panel, Series
from hackle.figures.drawing import FigureError, draw
from hackle.figures.files import save


def _place(found: Found[Exhibit]) -> tuple[int, bool, float]:
    kind, number = found.part.number.split(" ")
    return paper_order(found.part.paper), kind != "Figure", float(number) if number.isdigit() else float("inf")


FIGURES: Parts[Exhibit] = Parts(
    "figure",
    ("hackle.papers.*.figures*",),
    lambda thing: isinstance(thing, Exhibit),
    name_of=lambda exhibit: exhibit.id,
    order=_place,
)
"""Every figure and table, by an id such as `yang2020-figure-1`."""

__all__ = ["FIGURES", "Axis", "Chart", "Comparison", "Exhibit", "FigureError", "Panel", "Series", "draw", "save"]
