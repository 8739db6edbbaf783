"""Drawings as files, and as parts of a page."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from hackle.core.palette import LIGHT, THEMES
from hackle.figures.chart import Chart
from hackle.figures.drawing import FigureError, draw
from hackle.figures.style import colours_as_variables, settings

_SVG, _LINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_ENLARGED = 1.45
"""Page pixels per point of paper, where the page has room: 7-point text becomes as large as the page's own."""


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
    """A drawing to embed in a page: colours are the page's CSS variables, ids begin with `prefix`."""
    from matplotlib import rc_context

    buffer = StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with rc_context(settings(LIGHT, svg_hashsalt=prefix)):
        draw(chart).savefig(buffer, format="svg", dpi=150, transparent=True, metadata=nothing)
    return _embedded(ElementTree.fromstring(buffer.getvalue()), prefix)


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
        if name in used:
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
