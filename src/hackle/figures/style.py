"""The style of every figure: matplotlib's settings for a theme of `hackle.core.palette`, and the markers of series.

Markers repeat what colours say, so that a figure can be read in black and white. In a drawing for a page every colour
is a variable of the page's style sheet, so that one drawing serves the light and the dark theme.
"""

from __future__ import annotations

from typing import Any

from hackle.core.palette import KINDS, LIGHT, SHADES, Theme
from hackle.figures.layout import LABEL, TICK, TITLE

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "h", "*", "<")


def shade(hue: int, place: int, places: int) -> int:
    """The colour, as `Series` counts them, of one of several ordered things: blue (hue 0), vermilion (1) or green (2).

    A single thing has the middle shade.
    """
    step = round(place / (places - 1) * (SHADES - 1)) if places > 1 else SHADES // 2
    return KINDS + hue * SHADES + step


def colours_as_variables() -> dict[str, str]:
    """Each colour of the light theme and its CSS variable on a page, the first if two are the same."""
    return {colour: f"var({name})" for name, colour in reversed(list(LIGHT.named))}


def settings(theme: Theme, **more: Any) -> Any:
    """Matplotlib's settings for a theme; `more` has underscores for dots."""
    return {
        **{name.replace("_", "."): value for name, value in more.items()},
        "font.family": "DejaVu Sans",
        "font.size": 8,
        "axes.titlesize": TITLE,
        "axes.labelsize": LABEL,
        "xtick.labelsize": TICK,
        "ytick.labelsize": TICK,
        "axes.edgecolor": theme.faint,
        "axes.labelcolor": theme.ink,
        "axes.titlecolor": theme.ink,
        "axes.linewidth": 0.6,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": theme.line,
        "grid.linewidth": 0.5,
        "xtick.color": theme.faint,
        "ytick.color": theme.faint,
        "xtick.labelcolor": theme.ink,
        "ytick.labelcolor": theme.ink,
        "xtick.major.size": 2.5,
        "ytick.major.size": 2.5,
        "xtick.major.width": 0.6,
        "ytick.major.width": 0.6,
        "text.color": theme.ink,
        # A name may have dollar signs, between which matplotlib would look for a formula.
        "text.parse_math": False,
        "figure.facecolor": theme.paper,
        "axes.facecolor": "none",
        "savefig.facecolor": theme.paper,
        # Letters have the same widths at every resolution.
        "text.hinting": "none",
        "svg.fonttype": "none",
        "pdf.fonttype": 42,
        "path.simplify": True,
    }
