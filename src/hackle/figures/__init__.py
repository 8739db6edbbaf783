"""Figures and tables of the papers, each a function of the results table: `FIGURES[id](tables)` is a chart, `draw` draws it."""

from hackle.figures import (
    do2020_ablations,
    do2020_scores,
    kim2018,
    kim2018_estimates,
    kim2018_rivals,
    locatello2019_agreement,
    locatello2019_scores,
    locatello2019_transfer,
    split_encoder,
    yang2020,
)
from hackle.figures.chart import Axis, Chart, Comparison, Exhibit, Panel, Series
from hackle.figures.drawing import FigureError, draw
from hackle.figures.files import save

_PAPERS = (
    (locatello2019_scores, locatello2019_agreement, locatello2019_transfer),
    (kim2018, kim2018_rivals, kim2018_estimates),
    (do2020_scores, do2020_ablations),
    (yang2020,),
    (split_encoder,),
)


def _place(exhibit: Exhibit) -> tuple[bool, float]:
    kind, number = exhibit.number.split(" ")
    return kind != "Figure", float(number) if number.isdigit() else float("inf")


FIGURES: dict[str, Exhibit] = {
    exhibit.id: exhibit
    for modules in _PAPERS
    for exhibit in sorted((item for module in modules for item in module.EXHIBITS), key=_place)
}
"""Every figure and table, by an id such as `yang2020-figure-1`."""

__all__ = ["FIGURES", "Axis", "Chart", "Comparison", "Exhibit", "FigureError", "Panel", "Series", "draw", "save"]
