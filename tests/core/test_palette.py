"""One set of colours for figures, pictures and pages, which can be read on both papers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import hackle
from hackle.core.palette import DARK, DIVERGING, KINDS, LIGHT, RISING, Theme, look, style_sheet
from hackle.figures.style import MARKERS
from hackle.objectives import OBJECTIVES
from hackle.report.alternatives import _SYMBOLS

SOURCE = Path(hackle.__file__).parent
EXPLORER = SOURCE / "explorer/static/css/palette.css"
HEAD = "/* The colours of hackle.core.palette: tests/core/test_palette.py says how to write this file again. */\n"


def test_the_explorers_colours_are_the_palettes() -> None:
    # To write the file again: EXPLORER.write_text(HEAD + style_sheet()).
    assert EXPLORER.read_text(encoding="utf-8") == HEAD + style_sheet()


def test_no_colour_is_written_anywhere_else() -> None:
    known = {*LIGHT.palette, *DARK.palette, *DIVERGING, *RISING}
    own = ("palette.py", "palette.css")
    files = [path for kind in ("py", "css", "js", "html", "svg") for path in SOURCE.rglob(f"*.{kind}")]
    assert len(files) > 100
    for path in files:
        colours = re.findall(r"#[0-9a-fA-F]{6}\b", path.read_text(encoding="utf-8"))
        # An image has no style sheet; its colours are the palette's.
        assert path.name in own or not colours or (path.suffix == ".svg" and set(colours) <= known), path


def test_every_variable_that_a_page_uses_is_there() -> None:
    texts = {
        path: path.read_text(encoding="utf-8") for kind in ("css", "js", "html") for path in SOURCE.rglob(f"*.{kind}")
    }
    # Colours come from the palette; others are set by style sheets, and by scripts and templates on single elements.
    defined = set(re.findall(r"(--[\w-]+):", style_sheet()))
    for text in texts.values():
        defined |= {
            first or second for first, second in re.findall(r"(--[\w-]+)\"?:|setProperty\(\"(--[\w-]+)\"", text)
        }
    for path, text in texts.items():
        # Templates end names with the number of a series.
        assert path.suffix == ".html" or set(re.findall(r"var\((--[\w-]+)", text)) <= defined, path


def contrast(first: str, second: str) -> float:
    """As the Web Content Accessibility Guidelines 2.1 define it."""

    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_what_tells_methods_apart_can_be_seen_on_every_paper(theme: Theme) -> None:
    # What WCAG 2.1 asks of graphics (1.4.11).
    for colour in theme.palette[:KINDS]:
        for paper in (theme.paper, theme.card, theme.raised):
            assert contrast(colour, paper) >= 3, (colour, paper)


def test_no_two_methods_look_alike() -> None:
    assert len({look(place) for place in range(len(OBJECTIVES))}) == len(OBJECTIVES) <= 100
    assert len(MARKERS) == len(_SYMBOLS) == KINDS
    # Those that share a colour differ in their marker, and neighbours in both.
    assert all(look(place)[1] != look(place + KINDS)[1] for place in range(90))


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_words_can_be_read_on_their_paper(theme: Theme) -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    for words in (theme.ink, theme.faint, theme.good, theme.bad, theme.warm, theme.palette[0]):
        for paper in (theme.paper, theme.card, theme.raised):
            assert contrast(words, paper) >= 4.5, (words, paper)
