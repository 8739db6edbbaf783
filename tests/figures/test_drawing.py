"""Charts as pictures: what is drawn is what the chart holds, files are what they say, drawings belong to their page."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection, QuadMesh
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.text import Text
from PIL import Image

from figures import tables as made
from hackle.core.palette import DARK, LIGHT, style_sheet
from hackle.figures import FIGURES, Axis, Chart, FigureError, Panel, Series, draw, save
from hackle.figures.drawing import MANY
from hackle.figures.files import svg
from hackle.figures.style import colours_as_variables


def dots(count: int, series: str = "runs", categories: int = 0) -> Panel:
    rng = np.random.default_rng(0)
    x = rng.integers(categories, size=count).astype(float) if categories else rng.random(count)
    points = pd.DataFrame({"x": x, "y": rng.random(count), "series": series, "run": [str(i) for i in range(count)]})
    ticks = tuple("abcdefgh"[:categories])
    return Panel("dots", Axis("x", ticks=ticks), Axis("y", 0.0, 1.0), points)


def drawn_points(chart: Chart) -> np.ndarray:
    """Heights of every dot that matplotlib was given."""
    lines = [line for axes in draw(chart).axes for line in axes.lines if line.get_linestyle() == "None"]
    return np.sort(np.concatenate([np.asarray(line.get_ydata(), float) for line in lines]))


def test_every_point_is_drawn_at_its_height() -> None:
    panel = dots(40, categories=3)
    chart = Chart(((panel,),), (Series("runs"),))
    np.testing.assert_array_equal(drawn_points(chart), np.sort(panel.points["y"]))


def test_dots_of_a_category_stay_with_it() -> None:
    panel = dots(300, categories=4)
    (axes,) = draw(Chart(((panel,),), (Series("runs"),))).axes
    (line,) = [line for line in axes.lines if line.get_linestyle() == "None"]
    shift = np.asarray(line.get_xdata(), float) - panel.points["x"].to_numpy()
    assert np.abs(shift).max() < 0.5
    assert len(np.unique(np.round(shift, 6))) > 50


def test_series_of_a_category_stand_side_by_side() -> None:
    panel = dots(40, categories=2)
    points = panel.points.assign(series=["left", "right"] * 20)
    chart = Chart(((Panel("", panel.x, panel.y, points),),), (Series("left", 0), Series("right", 1)))
    lines = [line for line in draw(chart).axes[0].lines if line.get_linestyle() == "None"]
    for place in (0, 1):
        left, right = (np.asarray(line.get_xdata(), float) for line in lines)
        assert left[np.round(left) == place].max() < right[np.round(right) == place].min()


def test_intervals_and_cells_are_drawn_as_given() -> None:
    summary = pd.DataFrame(
        {"x": [0.0, 1.0], "y": [0.4, 0.5], "low": [0.3, np.nan], "high": [0.5, np.nan], "n": 3, "series": "runs"}
    )
    panel = Panel("", Axis(ticks=("a", "b")), Axis(low=0.0, high=1.0), summary=summary)
    collections = [
        item
        for item in draw(Chart(((panel,),), (Series("runs"),))).axes[0].collections
        if isinstance(item, LineCollection)
    ]
    bars = [segment for item in collections for segment in item.get_segments() if segment[0][0] == segment[1][0]]
    assert len(bars) == 1  # one run has no interval
    np.testing.assert_allclose(bars[0][:, 1], [0.3, 0.5])
    cells = pd.DataFrame([[0.25, np.nan]], ["row"], ["a", "b"])
    axes = draw(Chart(((Panel("", cells=cells),),))).axes[0]
    (mesh,) = [item for item in axes.collections if isinstance(item, QuadMesh)]
    values = np.ma.asarray(mesh.get_array()).ravel()
    assert float(values[0]) == 0.25
    assert bool(np.ma.getmaskarray(values)[1])
    assert [text.get_text() for text in axes.texts] == ["0.25", "–"]


def test_a_legend_names_what_is_drawn() -> None:
    chart = Chart(((dots(5, "here"),),), (Series("elsewhere"), Series("here", 1), Series("nowhere", 2)))
    (legend,) = draw(chart).legends
    assert [text.get_text() for text in legend.get_texts()] == ["here"]


def test_panels_of_a_row_share_their_axis() -> None:
    first, second = dots(5), dots(5)
    second = Panel("", second.x, Axis("y", 0.0, 3.0), second.points)
    limits = [axes.get_ylim() for axes in draw(Chart(((first, second),), (Series("runs"),))).axes]
    assert limits == [(0.0, 3.0), (0.0, 3.0)]
    limits = [axes.get_ylim() for axes in draw(Chart(((first, second),), (Series("runs"),), shared_y=False)).axes]
    assert limits == [(0.0, 1.0), (0.0, 3.0)]


def test_files(tmp_path: Path) -> None:
    chart = Chart(((dots(10),),), (Series("runs"),))
    assert save(chart, tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")
    assert ElementTree.parse(save(chart, tmp_path / "a.svg")).getroot().tag.endswith("svg")
    with Image.open(save(chart, tmp_path / "a.png", theme="dark")) as picture:
        assert picture.convert("RGB").getpixel((1, 1)) == tuple(int(DARK.paper[i : i + 2], 16) for i in (1, 3, 5))
    assert save(chart, tmp_path / "b.svg").read_bytes() == (tmp_path / "a.svg").read_bytes()
    with pytest.raises(FigureError, match="there already"):
        save(chart, tmp_path / "a.pdf")
    with pytest.raises(FigureError, match=r"expected \.svg, \.pdf or \.png"):
        save(chart, tmp_path / "a.jpg")
    with pytest.raises(FigureError, match="nothing to draw: no runs"):
        draw(Chart(missing=("no runs",)))


def test_a_drawing_for_a_page_has_the_pages_colours_and_names_of_its_own() -> None:
    chart = FIGURES["yang2020-figure-1"](made.tables(made.yang2020(2, ("dsprites",))))
    text = svg(chart, "yang2020-figure-1")
    root = ElementTree.fromstring(text)
    assert root.tag.endswith("svg")
    for colour in (LIGHT.ink, LIGHT.palette[0], LIGHT.palette[1]):
        assert colour not in text
        assert colours_as_variables()[colour] in text
        assert colours_as_variables()[colour][4:-1] in style_sheet()
    named = re.findall(r'\bid="([^"]+)"', text)
    assert named
    assert all(name.startswith("yang2020-figure-1-") for name in named)
    assert set(re.findall(r'(?:url\(#|href="#)([^")]+)', text)) <= set(named)


def test_a_drawing_for_a_page_keeps_the_digits_of_its_words() -> None:
    panel = Panel("at 1.23456", Axis("x"), Axis("y", 0.0, 0.1), dots(10).points.assign(y=0.05))
    text = svg(Chart(((panel,),), (Series("runs"),)), "figure")
    words = [element.text for element in ElementTree.fromstring(text).iter() if element.tag.endswith("text")]
    assert {"0.025", "0.075", "at 1.23456"} <= set(words)
    assert not any(re.search(r"\d\.\d{3}", tag) for tag in re.findall(r"<[^>]*>", text))


def test_many_dots_are_pixels_in_a_vector_drawing() -> None:
    few, many = (svg(Chart(((dots(count),),), (Series("runs"),)), "figure") for count in (50, MANY + 1))
    assert "<image" not in few
    assert "<image" in many
    assert "<text" in many
    assert len(many) < 200_000


def test_pictures_are_shown_pixel_for_pixel() -> None:
    picture = np.zeros((8, 12, 3), np.uint8)
    picture[2:4, 3:5] = 255
    axes = draw(Chart(((Panel("traversals", picture=picture),),))).axes[0]
    np.testing.assert_array_equal(np.asarray(axes.images[0].get_array()), picture)


def test_a_word_beside_a_dot_covers_no_dot() -> None:
    crowd = pd.DataFrame(
        {"x": np.linspace(0.40, 0.60, 9), "y": 0.5, "series": "runs", "run": [str(i) for i in range(9)]}
    )
    words = pd.DataFrame({"x": [0.45, 0.5], "y": [0.5, 0.5], "text": ["a long name", "another one"]})
    panel = Panel("", Axis("x", 0.0, 1.0), Axis("y", 0.0, 1.0), crowd, labels=words)
    figure = draw(Chart(((panel,),), (Series("runs"),)))
    (axes,) = figure.axes
    figure.canvas.draw()
    boxes = [text.get_window_extent() for text in axes.texts]
    places = axes.transData.transform(crowd[["x", "y"]])
    assert [text.get_text() for text in axes.texts] == ["a long name", "another one"]
    assert not any(box.contains(*place) for box in boxes for place in places)
    assert not boxes[0].overlaps(boxes[1])
    assert all(axes.get_window_extent().contains(*corner) for box in boxes for corner in box.corners())


def test_weights_are_shades_and_no_weight_of_one_kind_looks_like_one_of_another() -> None:
    chart = FIGURES["kim2018-figure-4"](made.tables(made.kim2018(2)))
    for theme in (LIGHT, DARK):
        assert len(set(theme.palette)) == len(theme.palette)
        colours = [theme.palette[one.colour] for one in chart.series]
        assert len(set(colours)) == len(colours)

    def light(colour: str) -> int:
        return sum(int(colour[at : at + 2], 16) for at in (1, 3, 5))

    for symbol in "βγ":
        strengths = [light(LIGHT.palette[one.colour]) for one in chart.series if one.name.startswith(symbol)]
        assert len(strengths) > 2
        assert strengths == sorted(strengths, reverse=True)


def test_names_stand_beside_the_rows_of_a_picture() -> None:
    picture = np.zeros((8, 12, 3), np.uint8)
    panel = Panel("", Axis("value", ticks=("−2", "", "2")), Axis(ticks=("z1", "z0")), picture=picture)
    axes = draw(Chart(((panel,),))).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["z1", "z0"]
    assert axes.get_yticks().tolist() == [1.5, 5.5]
    assert axes.get_xticks().tolist() == [1.5, 5.5, 9.5]


def test_a_narrow_figure_fills_its_paper() -> None:
    figure = draw(Chart(((dots(5, categories=2),),), (Series("runs"),)))
    assert figure.axes[0].get_position().x1 > 0.95


def test_words_stay_on_the_paper_and_off_each_other() -> None:
    names = ("a convolutional encoder", "a split encoder", "iii")
    swarm = dots(9, categories=3)
    swarm = Panel("a title much longer than its axes are wide", Axis("settings", ticks=names), swarm.y, swarm.points)
    cells = Panel("a heat map of long names", cells=pd.DataFrame(np.eye(3) - 1, names, names))
    table = Panel("a table", cells=pd.DataFrame(np.eye(2) * 1e4, names[:2], names[:2]), shaded=False)
    tall = Panel(
        "", Axis("x"), Axis("a score whose name is far longer than its axis is high", 0.0, 1.0), dots(5).points
    )
    rows = ((swarm, swarm, cells), (table, tall, None))
    figure = draw(Chart(rows, (Series("runs"), Series("others")), shared_y=False))
    figure.draw_without_rendering()
    shown = [text for axes in figure.axes for text in axes.findobj(Text) if text.get_text() and text.get_visible()]
    boxes = [text.get_window_extent() for text in shown]
    assert len(boxes) > 40
    assert all(figure.bbox.padded(1).contains(*corner) for box in boxes for corner in box.corners())
    upright = [box for text, box in zip(shown, boxes, strict=True) if not text.get_rotation() % 90]
    for index, box in enumerate(upright):
        assert not any(box.padded(-0.5).overlaps(other.padded(-0.5)) for other in upright[:index])


def test_panels_have_the_size_of_what_they_hold() -> None:
    cells = pd.DataFrame(np.eye(5), list("abcde"), list("abcde"))
    small, large = Panel("", cells=cells.iloc[:2, :2]), Panel("", cells=cells)
    figure = draw(Chart(((large, small),)))
    sizes = [axes.get_position().size for axes in figure.axes]
    np.testing.assert_allclose(np.divide(sizes[0], sizes[1]), [2.5, 2.5], rtol=1e-6)
    assert figure.axes[0].get_position().y1 == pytest.approx(figure.axes[1].get_position().y1)


def test_a_figure_is_laid_out_and_drawn_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Measuring the names around many panels takes most of the time that drawing does."""
    counts = {"laid out": 0, "drawn": 0}

    def counted(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            counts[name] += 1
            return method(*arguments)

        return call

    monkeypatch.setattr(ConstrainedLayoutEngine, "execute", counted("laid out", ConstrainedLayoutEngine.execute))
    monkeypatch.setattr(Figure, "draw", counted("drawn", Figure.draw))
    save(Chart(((dots(20), dots(20)),), (Series("runs"),)), tmp_path / "figure.svg")
    assert counts == {"laid out": 1, "drawn": 1}
