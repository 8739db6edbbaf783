"""hackle's colours, for its figures, pictures and pages, on a light and on a dark background.

Categories have the colours of Okabe & Ito (2008), which colour-blind readers can tell apart, three of them darkened until
they have a contrast of three to one to white, as WCAG 2.1 asks of what must be seen; each has a lighter variant for
dark backgrounds. Of more things than there are colours, those that share one differ in their marker (`look`). Ordered
values, such as weights, have shades of one hue instead, with more contrast to the background for larger values. Pages
take the colours as variables of their style sheet (`style_sheet`), each with a value for either background.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

KINDS, SHADES = 10, 13
"""The number of a theme's colours for categories, as many as markers, and of the shades of each of the first three colours,
which follow them."""


def look(place: int) -> tuple[int, int]:
    """The colour and the marker of one of several things without an order, methods say: no two of a hundred are alike.

    >>> look(3), look(13)
    ((3, 3), (3, 4))
    """
    return place % KINDS, (place + place // KINDS) % KINDS


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


@dataclass(frozen=True)
class Theme:
    """Colours on one background (`paper`). good, bad and warm mark success, failure and what needs attention; card,
    raised and stage are surfaces on the background, track is the unfilled part of a bar; palette has the colours of
    series."""

    paper: str
    ink: str
    faint: str
    line: str
    card: str
    raised: str
    stage: str
    track: str
    good: str
    bad: str
    warm: str
    palette: tuple[str, ...]

    @property
    def named(self) -> Iterator[tuple[str, str]]:
        """Each colour with the name of its variable on pages; `--bar` is the colour of links, bars and buttons."""
        for field in fields(self)[:-1]:
            yield f"--{field.name}", getattr(self, field.name)
        for index, colour in enumerate(self.palette):
            yield f"--series-{index}", colour
        yield "--bar", self.palette[0]


LIGHT = Theme(
    paper="#ffffff",
    ink="#1b1f24",
    faint="#5f6872",
    line="#d9dee3",
    card="#f6f8fa",
    raised="#ffffff",
    stage="#e9eef2",
    track="#dfe6ec",
    good="#00694c",
    bad="#b3261e",
    warm="#a8470a",
    palette=(
        *("#0072b2", "#d55e00", "#009e73", "#c76d9f", "#b07500", "#1691ca"),
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
    line="#343d46",
    card="#1c2127",
    raised="#232a32",
    stage="#0d0f12",
    track="#2d3640",
    good="#3ecfa0",
    bad="#ff8a80",
    warm="#f0955a",
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
"""From −1 through 0 to 1: red and blue differ for every kind of colour vision."""
RISING = ("#f7fbff", "#c6dbef", "#6baed6", "#2171b5", "#08306b")
"""From 0 upwards: one hue, darker is more."""
ON_DARK, ON_LIGHT = "#fefefe", "#16191d"
"""Text on the cells of these scales, the same on both backgrounds."""


def style_sheet() -> str:
    """The colours as CSS variables, which follow the reader's preference or `data-theme`; prints are light."""
    lines = [
        f"  {name}: light-dark({light}, {dark});"
        for (name, light), (_, dark) in zip(LIGHT.named, DARK.named, strict=True)
    ]
    return "\n".join(
        [
            *(":root {", "  color-scheme: light dark;", *lines, "}"),
            *(':root[data-theme="light"] {', "  color-scheme: light;", "}"),
            *(':root[data-theme="dark"] {', "  color-scheme: dark;", "}"),
            *("@media print {", "  :root,", "  :root[data-theme] {", "    color-scheme: light;", "  }", "}", ""),
        ]
    )
