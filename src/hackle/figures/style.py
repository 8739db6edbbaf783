"""How every figure looks: colours that colour-blind readers tell apart, a marker for each, light and dark.

The colours are Okabe & Ito's (2008), each with a lighter twin for dark paper; markers repeat what colours say, so that a figure
survives a black-and-white printer. What is ordered, such as weights, has shades of one hue instead (`shade`), the stronger the
farther from the paper: hue tells what differs in kind, shade what differs in degree. In a picture for the report's page every
colour is a variable of the page's style sheet (`css_variables`), so one drawing serves both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "h", "*", "<")
KINDS, SHADES = 10, 13
"""How many colours a palette has for what differs in kind, and how many shades of each of its first hues follow them."""


def _shades(*anchors: str) -> tuple[str, ...]:
    """Evenly spaced colours from the first anchor through the second to the third."""
    mixed = []
    for step in range(SHADES):
        place = 2 * step / (SHADES - 1)
        start, end = anchors[min(1, int(place))], anchors[min(1, int(place)) + 1]
        share = place - min(1, int(place))
        parts = ((int(start[at : at + 2], 16), int(end[at : at + 2], 16)) for at in (1, 3, 5))
        mixed.append("#" + "".join(f"{round(a + share * (b - a)):02x}" for a, b in parts))
    return tuple(mixed)


def shade(hue: int, place: int, places: int) -> int:
    """The colour, as `Series` counts them, of one of several ordered things: blue (hue 0), vermilion (1) or green (2).

    A single thing has the middle shade.
    """
    step = round(place / (places - 1) * (SHADES - 1)) if places > 1 else SHADES // 2
    return KINDS + hue * SHADES + step


@dataclass(frozen=True)
class Theme:
    """Colours of paper, text, lines and of the series."""

    paper: str
    ink: str
    faint: str
    line: str
    palette: tuple[str, ...]


LIGHT = Theme(
    paper="#ffffff",
    ink="#1b1f24",
    faint="#5f6872",
    line="#d3d9df",
    palette=(
        *("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"),
        *("#6a6f75", "#8c564b", "#3d3d8f", "#7a9a01"),
        *_shades("#5cb6ea", "#0071b1", "#012a45"),
        *_shades("#f6a15c", "#d45d00", "#5c2400"),
        *_shades("#4fcfa8", "#009d72", "#00402e"),
    ),
)
DARK = Theme(
    paper="#14171b",
    ink="#e6e9ec",
    faint="#98a2ad",
    line="#39424c",
    palette=(
        *("#4ba6e0", "#f28a45", "#2fc698", "#e39cc5", "#f0b93a", "#8fd0f5"),
        *("#a9b0b8", "#c08a7e", "#8f8fe0", "#a9c93b"),
        *_shades("#2a6a97", "#4ba5e0", "#d3ecfc"),
        *_shades("#a04a12", "#f28a44", "#fde0c8"),
        *_shades("#14795b", "#2fc598", "#c6f5e5"),
    ),
)
THEMES = {"light": LIGHT, "dark": DARK}

DIVERGING = ("#b2182b", "#ef8a62", "#fddbc7", "#f7f7f7", "#d1e5f0", "#67a9cf", "#2166ac")
"""From −1 over 0 to 1: red and blue differ for every kind of colour vision."""
RISING = ("#f7fbff", "#c6dbef", "#6baed6", "#2171b5", "#08306b")
"""From 0 upwards: one hue, darker is more."""


def settings(theme: Theme, **more: Any) -> Any:
    """Matplotlib's settings for a theme; `more` has underscores for dots."""
    return {
        **{name.replace("_", "."): value for name, value in more.items()},
        "font.family": "DejaVu Sans",
        "font.size": 8,
        "axes.titlesize": 8.5,
        "axes.labelsize": 8,
        "xtick.labelsize": 7,
        "ytick.labelsize": 7,
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
        "figure.facecolor": theme.paper,
        "axes.facecolor": "none",
        "savefig.facecolor": theme.paper,
        "svg.fonttype": "none",
        "pdf.fonttype": 42,
        "path.simplify": True,
    }


def _variables(theme: Theme) -> dict[str, str]:
    plain = {"--figure-ink": theme.ink, "--figure-faint": theme.faint, "--figure-line": theme.line}
    plain["--figure-paper"] = theme.paper
    return plain | {f"--series-{index}": colour for index, colour in enumerate(theme.palette)}


def css_variables(name: str) -> str:
    """The declarations of a theme's colours for a style sheet."""
    return " ".join(f"{key}: {value};" for key, value in _variables(THEMES[name]).items())


def colours_as_variables() -> dict[str, str]:
    """Each colour of the light theme and the variable that stands for it on a page."""
    return {value: f"var({key})" for key, value in _variables(LIGHT).items()}
