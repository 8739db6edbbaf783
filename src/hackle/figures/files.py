"""Drawings as files, and as parts of a page."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path
from typing import Any

from hackle.figures.chart import Chart
from hackle.figures.drawing import FigureError, draw
from hackle.figures.style import LIGHT, THEMES, colours_as_variables, settings


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
    """A drawing to stand inside a page: colours are the page's variables, names within it begin with `prefix`."""
    from matplotlib import rc_context

    buffer = StringIO()
    with rc_context(settings(LIGHT, svg_hashsalt=prefix)):
        draw(chart).savefig(buffer, format="svg", dpi=150, transparent=True, metadata={"Date": None})
    return compact(buffer.getvalue(), prefix)


def compact(text: str, prefix: str) -> str:
    """Matplotlib's drawing without its preamble, with short numbers, the page's colours and its own names."""
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(
        r' id="(?:figure|axes|patch|line2d|text|xtick|ytick|matplotlib\.axis|legend|image|QuadMesh|PathCollection'
        r'|LineCollection|FillBetweenPolyCollection)_\d+"',
        "",
        text,
    )
    text = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{prefix}-", text)
    # Only within tags: between them stand the words, among which are the axes' numbers.
    text = re.sub(r"<[^>]*>", lambda tag: re.sub(r"(\d+\.\d{2})\d+", r"\1", tag.group()), text)
    for colour, variable in colours_as_variables().items():
        text = text.replace(colour, variable)
    text = text.replace("'DejaVu Sans'", "system-ui, sans-serif").replace("DejaVu Sans", "system-ui, sans-serif")
    size = re.search(r'<svg[^>]*?width="([\d.]+)pt"', text)
    points = float(size.group(1)) if size else 720.0
    text = re.sub(
        r'(<svg[^>]*?) width="[\d.]+pt"',
        rf'\1 style="max-width: {points * 1.45:.0f}px; --natural: {points:.0f}px"',
        text,
        count=1,
    )
    text = re.sub(r'(<svg[^>]*?) height="[\d.]+pt"', r"\1", text, count=1)
    return re.sub(r">\s+<", "><", text)
