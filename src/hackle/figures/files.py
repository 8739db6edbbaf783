"""Drawings as files, and as parts of a page."""

from __future__ import annotations

import json
import re
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np

from hackle.core.palette import LIGHT, THEMES
from hackle.figures.chart import Chart
from hackle.figures.drawing import FigureError, draw
from hackle.figures.layout import with_shared_axes
from hackle.figures.style import colours_as_variables, settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SVG, _LINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_ENLARGED = 1.45
"""Page pixels per point of paper, where the page has room: 7-point text becomes as large as the page's own."""
_PANEL = "panel-"
"""How the ids of panels' groups begin, by which a page lays panels out one by one."""


def save(chart: Chart, path: str | Path, theme: str = "light", overwrite: bool = False) -> Path:
    """Write a chart as .svg, .pdf or .png, by the path's ending."""
    path = Path(path)
    if path.suffix not in (".svg", ".pdf", ".png"):
        raise FigureError(f"{path} ends in {path.suffix or 'nothing'}; expected .svg, .pdf or .png")
    if path.exists() and not overwrite:
        raise FigureError(f"{path} is there already; choose another name, or pass overwrite=True")
    from matplotlib import rc_context

    metadata: dict[str, Any] = {"png": {"Software": None}, "pdf": {"CreationDate": None}, "svg": {"Date": None}}
    with rc_context(settings(THEMES[theme], svg_hashsalt="hackle")):
        draw(chart, theme).savefig(path, dpi=200, metadata=metadata[path.suffix[1:]])
    return path


def svg(chart: Chart, prefix: str) -> str:
    """A drawing to embed in a page: colours are the page's CSS variables, ids begin with `prefix`.

    Panels are groups `prefix-panel-0`, …, and their x axes `prefix-panel-0-x`. `data-panels` has for each what a page needs to
    show it alone: see `_panels`.
    """
    from matplotlib import rc_context

    buffer = StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with rc_context(settings(LIGHT, svg_hashsalt=prefix)):
        figure = draw(chart)
        for index, axes in enumerate(figure.axes):
            axes.set_gid(f"{_PANEL}{index}")
            axes.xaxis.set_gid(f"{_PANEL}{index}-x")
        figure.savefig(buffer, format="svg", dpi=150, transparent=True, metadata=nothing)
    root = ElementTree.fromstring(buffer.getvalue())
    root.set("data-panels", json.dumps(_panels(figure, chart), ensure_ascii=False, separators=(",", ":")))
    return _embedded(root, prefix)


def _panels(figure: Figure, chart: Chart) -> list[dict[str, Any]]:
    """For each panel, what its drawing leaves to its neighbours, and where its dots are.

    row: the name of its row. said: its title and labels where only a neighbour shows them. axis: the panel that shows the names
    along its x axis. dots: x and y of each row of `Panel.points`, in the drawing's units, −1 for those without a dot.
    """
    shown = [panel for row in with_shared_axes(chart) for panel in row if panel is not None]
    places = [(r, c) for r, row in enumerate(chart.rows) for c, panel in enumerate(row) if panel is not None]
    scale, height = 72 / figure.dpi, 72 * figure.get_figheight()
    panels = []
    for index, (axes, panel, drawn) in enumerate(zip(figure.axes, chart.panels, shown, strict=True)):
        row, column = places[index]
        below = [other for other, (r, c) in enumerate(places) if c == column and r > row]
        unnamed = bool(panel.x.ticks) and not any(drawn.x.ticks)
        labels = ("y", panel.y, drawn.y), *(() if unnamed else (("x", panel.x, drawn.x),))
        said = [] if drawn.title else [chart.titles[index].removeprefix(panel.row).removeprefix(", ")]
        said += [f"{name}: {axis.label}" for name, axis, seen in labels if axis.label not in seen.label]
        dots = np.full((len(panel.points), 2), np.nan)
        for line in axes.lines:
            if line.get_gid() == "dots":
                mine = (panel.points["series"] == line.get_label()).to_numpy()
                dots[mine] = line.get_transform().transform(line.get_xydata()) * scale
        dots[:, 1] = height - dots[:, 1]
        kept = np.round(np.nan_to_num(dots, nan=-1.0), 1).ravel().tolist() if np.isfinite(dots).any() else []
        named = next((other for other in below if any(shown[other].x.ticks)), index) if unnamed else index
        panels.append({"row": panel.row, "said": [text for text in said if text], "axis": named, "dots": kept})
    return panels


def _embedded(root: ElementTree.Element, prefix: str) -> str:
    """Matplotlib's drawing with the page's colours and font, short numbers and unique ids.

    Matplotlib has no setting for these four: it writes colours as numbers, coordinates with six digits, ids of groups
    that are the same in every drawing, and its own font in place of the page's.
    """
    elements = list(root.iter())
    values = [value for element in elements for value in element.attrib.values()]
    used = {value[1:] for value in values if value.startswith("#")} | set(
        re.findall(r"url\(#([^)]+)", " ".join(values))
    )
    for element in elements:
        element.tail = None
        element.text = element.text if element.text and element.text.strip() else None
        name = element.attrib.pop("id", "")
        for key, value in element.items():
            if value.startswith("#"):
                element.set(key, f"#{prefix}-{value[1:]}")
            elif not value.startswith("data:"):
                short = re.sub(r"(\d+\.\d{2})\d+", r"\1", value).replace("url(#", f"url(#{prefix}-")
                element.set(key, short.replace("'DejaVu Sans'", "system-ui, sans-serif"))
        if name in used or name.startswith(_PANEL):
            element.set("id", f"{prefix}-{name}")
    points = float(root.attrib.pop("width").removesuffix("pt"))
    del root.attrib["height"]
    root.set("width", f"{points * _ENLARGED:.0f}")
    root.set("style", f"--natural: {points:.0f}px")
    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", _LINK)
    text = ElementTree.tostring(root, encoding="unicode")
    for colour, variable in colours_as_variables().items():
        text = text.replace(colour, variable)
    return text
