"""Figures and tables of the papers, each a function of the results table: `FIGURES[id](tables)` is a chart, `draw` draws it."""

from hackle.figures import split_encoder, yang2020
from hackle.figures.chart import Axis, Chart, Comparison, Exhibit, Panel, Series
from hackle.figures.drawing import FigureError, draw
from hackle.figures.files import save

FIGURES: dict[str, Exhibit] = {
    exhibit.id: exhibit for module in (yang2020, split_encoder) for exhibit in module.EXHIBITS
}
"""Every figure and table, by an id such as `yang2020-figure-1`."""

__all__ = ["FIGURES", "Axis", "Chart", "Comparison", "Exhibit", "FigureError", "Panel", "Series", "draw", "save"]
