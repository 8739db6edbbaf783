"""The gallery shows every figure that the shipped results can draw, names the others, and shows every shipped model."""

from __future__ import annotations

import re

import pytest
from PIL import Image
from website.pictures import FOLDER, GALLERY, pictures
from website.small_models import shown_small

from hackle.figures import FIGURES
from hackle.objectives import OBJECTIVES
from hackle.shipped.models import cards
from hackle.store import read
from hackle.store.tables import Tables
from website import gallery

PAGE = GALLERY.read_text(encoding="utf-8")
SHOWN = re.findall(r"\]\(pictures/figures/([\w-]+)\.webp\)\]", PAGE)
UNDRAWN = re.findall(r"^\| `([\w-]+)` \|", PAGE, re.MULTILINE)


@pytest.fixture(scope="module")
def tables() -> Tables:
    return read(gallery.RESULTS)


def test_the_gallery_lists_every_figure_once_and_shows_the_pictures_that_are_kept() -> None:
    assert sorted([*SHOWN, *UNDRAWN]) == sorted(FIGURES), "python -m website.pictures figures/"
    assert sorted(path.stem for path in (FOLDER / "figures").iterdir()) == sorted(SHOWN)
    assert f"{len(SHOWN)} of {len(FIGURES)}" in PAGE
    assert all(f"`{FIGURES[name].command}`" in PAGE for name in UNDRAWN)


@pytest.mark.parametrize("name", cards())
def test_the_gallery_shows_every_model(name: str) -> None:
    path = gallery.picture_of_model(name)
    assert path in pictures()
    assert f"(pictures/{path})\n\n*`{name}`, " in PAGE


def test_the_gallery_shows_every_method() -> None:
    assert [name for name in OBJECTIVES if f"(pictures/methods/{name}.webp)" not in PAGE] == []
    assert all(f"](methods/{name}.md), " in PAGE for name in shown_small())
    assert ", ," not in PAGE


def test_pictures_are_as_wide_as_a_page_can_show() -> None:
    for name in SHOWN:
        with Image.open(FOLDER / "figures" / f"{name}.webp") as picture:
            assert 400 < picture.width <= 14 * gallery.RESOLUTIONS[0]


def test_a_figure_is_drawn_as_it_is_kept(tables: Tables) -> None:
    name = "split-encoder-figure-3"
    with Image.open(FOLDER / "figures" / f"{name}.webp") as kept:
        made = next(gallery.drawn(FIGURES[name](tables, {})))
        assert made.size == kept.size
    empty = FIGURES["kim2018-figure-13"](tables, {})
    assert "kim2018-figure-13" in UNDRAWN
    assert not empty.panels


def test_wide_charts_are_broken_into_rows(tables: Tables) -> None:
    chart = FIGURES["locatello2019-figure-7"](tables, {})
    assert {len(row) for row in chart.rows} == {6}
    assert next(gallery.drawn(chart)).width <= gallery.INCHES * gallery.RESOLUTIONS[0]


@pytest.mark.slow
def test_the_page_says_what_the_table_says() -> None:
    assert gallery.page() == PAGE, "python -m website.pictures figures/"
