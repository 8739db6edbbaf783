"""The page of one model: what it says in words, where ranges end, what stands on axes and in files, and what it refuses."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from browser_pages import PIXELS, changed, in_css, open_model, screens
from playwright.sync_api import Page, expect
from small_runs import write_checkpoint

from hackle.core.palette import LIGHT
from hackle.core.types import Adam
from hackle.datasets import load
from hackle.explorer import create_app
from hackle.explorer.sheets import Labels, Sheet
from hackle.nets import MLP
from hackle.objectives import VAE, FactorVAE
from hackle.pictures import Look
from hackle.train.fleet import Fleet
from hackle.train.model import Model
from hackle.train.record_files import write_record
from train.test_fleet import small_run


def both(page: Page, ids: dict[str, str], name: str = "beta") -> Iterator[int]:
    """A model opened on a narrow screen, then moved to a wide one."""
    page.set_viewport_size({"width": 390, "height": 800})
    open_model(page, ids, name)
    yield 390
    page.set_viewport_size({"width": 1280, "height": 800})
    yield 1280


def middle(page: Page, selector: str, at: int = 0) -> float:
    box = page.locator(selector).nth(at).bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2


def test_one_sentence_says_what_was_captured(page: Page, client: httpx.Client, ids: dict[str, str]) -> None:
    said = client.get(f"/api/runs/{ids['beta']}/captured").json()["sentence"]
    assert said.endswith(".")
    for _ in both(page, ids):
        expect(page.locator(".sentence")).to_have_text(said)
        expect(page.locator(".sentence")).to_have_attribute("title", "From all 32 images")
        expect(page.locator("h1")).to_have_text("β-VAE")
        expect(page.locator(".facts")).to_contain_text("β = 2")


def test_sliders_say_where_data_and_prior_end(page: Page, ids: dict[str, str], served: Path) -> None:
    model = Model.load(served / "beta")
    look = Look.of(model, load(model.run.dataset), n=2000)
    for _ in both(page, ids):
        for latent, (low, high) in enumerate(look.seen):
            row = page.locator(f".latent[data-latent='{latent}']")
            digits = 2 if high - low < 1 else 1
            ends = " … ".join(f"{round(end, digits):g}".replace("-", "−") for end in (low, high))
            expect(row.locator(".known")).to_have_text(re.compile(f"^data {re.escape(ends)}, prior −2 … 2$"))
            first, last = look.reach[latent]
            track, span = (row.locator(place).bounding_box() for place in (".spans", ".span.data"))
            assert track is not None
            assert span is not None
            for end, edge in ((low, span["x"]), (high, span["x"] + span["width"])):
                assert edge == pytest.approx(track["x"] + track["width"] * (end - first) / (last - first), abs=1.5)


def test_the_mark_stands_on_the_tile_of_the_value(page: Page, ids: dict[str, str]) -> None:
    for _ in both(page, ids):
        film = page.locator(".traversal .film").first
        box = film.bounding_box()
        assert box is not None
        values = page.locator(".traversal .axis").first.locator("span").all_text_contents()
        assert len(values) == 11
        for tile in (10, 3, 0):
            film.click(position={"x": (tile + 0.5) * box["width"] / 11, "y": 4})
            shown = page.locator(".latent input.value").first.input_value().replace("−", "-")
            assert float(shown) == pytest.approx(float(values[tile].replace("−", "-")), abs=0.051)
            assert (middle(page, ".film .mark") - box["x"]) / box["width"] * 11 == pytest.approx(tile + 0.5, abs=0.2)
        # Keys go the same way.
        film.press("ArrowRight")
        assert (middle(page, ".film .mark") - box["x"]) / box["width"] * 11 == pytest.approx(1.5, abs=0.2)
        expect(film).to_have_attribute("aria-valuetext", values[1])


def test_the_line_between_two_images_has_room_and_an_axis(page: Page, ids: dict[str, str]) -> None:
    open_model(page, ids)
    page.get_by_role("tab", name="Interpolate").click()
    page.wait_for_selector(".tool[data-drawn] .between")
    box = page.locator(".between .film").bounding_box()
    assert box is not None
    assert box["width"] > 600
    expect(page.locator(".between .axis span").last).to_have_text("100%")
    assert page.locator(".between .axis span").all_text_contents()[::5] == ["0%", "50%", "100%"]


def test_a_number_that_cannot_be_decoded_is_refused_at_its_field(page: Page, ids: dict[str, str]) -> None:
    value, row = page.locator(".latent input.value").first, page.locator(".latent").first
    for width in both(page, ids):
        before = page.locator(".latent input[type=range]").first.input_value()
        for given in ("1e40", "-5000", "two"):
            value.fill(given)
            value.press("Enter")
            expect(row.locator(".refused[role=alert]")).to_contain_text(
                f"takes a number from −1,000 to 1,000; “{given}” is none."
            )
            expect(value).to_have_attribute("aria-invalid", "true")
            assert page.locator(".latent input[type=range]").first.input_value() == before
        value.press("Escape")
        expect(row.locator(".refused[role=alert]")).to_be_empty()
        value.fill("−1.25" if width == 390 else "0.75")
        changed(page, "canvas.picture", lambda: value.press("Enter"))
        expect(row.locator(".refused[role=alert]")).to_be_empty()
    # A code with bounds keeps to them.
    row = page.locator(".latent[data-latent='0']")
    for _ in both(page, ids, "gan"):
        row.locator("input.value").fill("1e40")
        row.locator("input.value").press("Enter")
        expect(row.locator(".refused[role=alert]")).to_contain_text("z0 takes a number from −")
        row.locator("input.value").press("Escape")
        expect(row.locator(".refused[role=alert]")).to_be_empty()


def test_factor_sliders_follow_what_is_shown(page: Page, ids: dict[str, str]) -> None:
    open_model(page, ids)
    page.get_by_text("Factor combination").click()
    sliders = page.locator(".factor input")
    page.get_by_text("Choose an image").click()
    seen = set()
    for image, _ in zip((0, 3, 9, 6), screens(page), strict=True):
        with page.expect_response("**/decode"):
            page.locator(".strip button").nth(image).click()
        seen.add(tuple(sliders.evaluate_all("inputs => inputs.map(input => input.value)")))
        page.get_by_role("button", name="Draw prior").click()
        expect(page.locator(".factors")).to_contain_text("its factors are not known")
        expect(page.locator(".factor output").first).to_have_text("–")
        page.get_by_label("x", exact=True).fill("2")
        expect(page.locator(".factor output").first).to_have_text("2")
        expect(page.locator(".factors")).not_to_contain_text("not known")
    assert len(seen) > 1


@pytest.fixture(scope="module")
def sprites(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An untrained FactorVAE of dSprites, whose shapes have names."""
    data = load("dsprites")
    run = small_run(FactorVAE(gamma=10.0), dataset="dsprites", latents=3, architecture=MLP((16,)))
    folder = tmp_path_factory.mktemp("sprites") / "run"
    Model(run, data.shape).save(folder)
    return folder


def test_values_of_factors_have_their_names(elsewhere: Page, sprites: Path, visit: Any) -> None:
    client = visit(create_app(sprites))
    elsewhere.goto(str(client.base_url))
    elsewhere.wait_for_selector(".tool[data-drawn]")
    elsewhere.get_by_text("Factor combination").click()
    shape = elsewhere.locator(".factor", has_text="shape")
    names = ("square", "ellipse", "heart", "square")
    for name, _ in zip(names, screens(elsewhere), strict=True):
        expect(elsewhere.locator("h1")).to_have_text("FactorVAE")
        expect(elsewhere.locator(".facts").get_by_text("γ = 10")).to_be_visible()
        shape.locator("input").fill(str(names.index(name)))
        expect(shape.locator("output")).to_have_text(name)
        expect(shape.locator("input")).to_have_attribute("aria-valuetext", name)
    elsewhere.get_by_role("tab", name="What it captured").click()
    chart = elsewhere.locator(".responses .chart").first
    for theme in screens(elsewhere):
        elsewhere.get_by_role("tab", name="orientation", exact=True).click()
        values = elsewhere.locator(".moving .axis span")
        # Of forty values as many as there is room for, from the first to the last.
        expect(values.first).to_have_text("0")
        expect(values.last).to_have_text("6.28")
        assert values.evaluate_all("texts => texts.every(text => text.scrollWidth <= text.clientWidth)")
        elsewhere.get_by_role("tab", name="shape", exact=True).click()
        expect(values).to_have_text(["square", "ellipse", "heart"])
        expect(chart.locator("text", has_text="ellipse")).to_have_css("fill", in_css(theme.faint))
        expect(chart.locator(".axis")).to_have_text(["shape", "value of the latent"])


def test_classes_have_a_column_each_and_bars(page: Page, ids: dict[str, str]) -> None:
    open_model(page, ids, "gan")
    page.get_by_role("tab", name="Two latents").click()
    page.get_by_label("across").select_option("2")
    expect(page.locator(".pad canvas")).to_have_js_property("width", 3 * 16)
    files: dict[str, set[bytes]] = {"PNG": set(), "SVG": set()}
    for _ in screens(page):
        expect(page.locator(".pad-frame .across span")).to_have_text(["0", "1", "2"])
        expect(page.locator(".pad-frame .across b")).to_have_text("z2 →")
        for format, saved in files.items():
            page.locator(".exports summary").click()
            with page.expect_download() as waiting, page.expect_request("**/export") as asked:
                page.get_by_role("button", name=f"The view below with labels, {format}").click()
            question = json.loads(asked.value.post_data or "")
            assert question["columns"] == 3
            assert [row[2] for row in question["z"][:3]] == [0, 1, 2]
            assert question["labels"]["heads"] == ["0", "1", "2"]
            saved.add(waiting.value.path().read_bytes())
    # Files are for paper: dark on white, whatever the page looks like, and as large.
    ((picture,), (text,)) = files.values()
    assert picture.startswith(b"\x89PNG")
    assert ">value of z2</text>" in text.decode()
    assert ">InfoGAN" in text.decode()
    assert f'fill="{LIGHT.ink}"' in text.decode()
    # On the sheet of traversals no class stands twice: the tiles after the last one are blank.
    before = page.locator(".tool").get_attribute("data-drawn")
    page.get_by_role("tab", name="Traversals").click()
    page.wait_for_selector(".tool .traversal")
    # Until it is drawn, a view that was drawn there before is the one that would be exported.
    drawn = "before => ![undefined, before].includes(document.querySelector('.tool').dataset.drawn)"
    page.wait_for_function(drawn, arg=before)
    page.locator(".exports summary").click()
    with page.expect_download(), page.expect_request("**/export") as asked:
        page.get_by_role("button", name="The view below with labels, SVG").click()
    question = json.loads(asked.value.post_data or "")
    row = next(at for at, name in enumerate(question["labels"]["names"]) if name.startswith("z2"))
    tiles = slice(row * question["columns"], (row + 1) * question["columns"])
    assert [z and z[2] for z in question["z"][tiles]] == [0, 1, 2, *[None] * (question["columns"] - 3)]
    assert question["labels"]["tiles"][tiles][:4] == ["0", "1", "2", ""]
    page.get_by_role("tab", name="What it captured").click()
    chart = page.locator(".responses .chart", has_text="z2")
    for theme in screens(page):
        expect(chart.locator(".share")).to_have_count(4)
        expect(chart.locator(".share").first).to_have_css("fill", in_css(theme.palette[0]))
        expect(chart.locator(".axis.y")).to_have_text("class")
        expect(chart.locator(".line")).to_have_count(0)


def test_trees_show_how_far_they_are(page: Page, ids: dict[str, str]) -> None:
    page.goto(f"/#/run/{ids['plain']}/captured")
    page.wait_for_selector(".tops canvas")
    held: list[Any] = []
    page.route("**/importance/1", lambda route: held.append(route))
    page.get_by_role("tab", name="DCI", exact=True).click()
    fitted = page.get_by_role("progressbar", name="Trees fitted")
    for theme in screens(page):
        expect(page.locator(".map")).to_contain_text("Fitting trees to y, factor 2 of 3")
        expect(fitted).to_be_visible()
        expect(fitted).to_have_js_property("value", 1)
        expect(fitted).to_have_css("accent-color", in_css(theme.palette[0]))
    held[0].continue_()
    expect(page.locator(".heat caption")).to_contain_text("Importance")


def test_files_say_what_they_show(client: httpx.Client, ids: dict[str, str]) -> None:
    """Blank tiles stay white, labels are text of the SVG, and what would be markup is not."""
    labels = {
        "title": "β-VAE <b>, β = 4",
        "names": ["z0", "z1"],
        "tiles": ["−2.0", "2.0", "−1.5", ""],
        "across": "value",
    }
    question = {"z": [[0, 0, 0], [1, 0, 0], [0, 1, 0], None], "rows": 2, "columns": 2, "labels": labels}
    svg = client.post(f"/api/runs/{ids['beta']}/export", json={"format": "svg", **question})
    assert svg.headers["content-type"] == "image/svg+xml"
    assert re.findall(r"<text[^>]*>([^<]*)</text>", svg.text) == [
        *("β-VAE &lt;b&gt;, β = 4", "z0", "z1", "−2.0", "2.0", "−1.5", "value"),
    ]
    png = client.post(f"/api/runs/{ids['beta']}/export", json={"format": "png", **question})
    assert png.headers["content-type"] == "image/png"
    bad = client.post(f"/api/runs/{ids['beta']}/export", json={"format": "png", **question, "z": [None] * 4})
    assert bad.status_code == 422
    assert "no rows of latents" in bad.json()["detail"]


def test_a_run_in_training_is_explored_at_its_last_checkpoint(
    elsewhere: Page, served: Path, squares: Any, visit: Any, tmp_path: Path
) -> None:
    fast = Adam(learning_rate=1e-2)
    run = small_run(VAE(), dataset=str(served.parent / "squares.npz"), steps=100, optimiser=fast)
    folder = tmp_path / "runs" / "young"
    folder.mkdir(parents=True)
    write_record(folder, run, squares.shape)
    fleet = Fleet([run], squares.images_on("cpu"), squares.factors, squares.shape)
    fleet.step()
    write_checkpoint(folder, fleet)
    client = visit(create_app(tmp_path / "runs"))
    elsewhere.goto(str(client.base_url))
    expect(elsewhere.get_by_role("tab", name="Training")).to_have_attribute("aria-selected", "true")
    elsewhere.get_by_role("tab", name="Explore").click()
    elsewhere.wait_for_selector(".tool[data-drawn]")
    note, picture = elsewhere.locator(".unfinished"), elsewhere.locator("canvas.picture")
    slider = elsewhere.locator(".latent input[type=range]").first
    young = {}
    for key in ("End", "Home"):
        changed(elsewhere, "canvas.picture", lambda key=key: slider.press(key))
        young[key] = picture.evaluate(PIXELS)
    for _ in range(40):
        fleet.step()
    write_checkpoint(folder, fleet)
    # What is shown stays what it is until one asks for the next, which the page finds meanwhile.
    for key, theme in zip(("End", "Home") * 2, screens(elsewhere), strict=True):
        expect(note).to_contain_text("Still training: this is step 1 of 100.")
        expect(note).to_have_css("border-left-color", in_css(theme.warm))
        changed(elsewhere, "canvas.picture", lambda key=key: slider.press(key))
        assert picture.evaluate(PIXELS) == young[key]
    changed(elsewhere, "canvas.picture", elsewhere.get_by_role("button", name="Show step 41").click)
    expect(note).to_contain_text("this is step 41 of 100")
    (folder / "run.json").unlink()
    Model(run, squares.shape, fleet.weights(0)).save(folder)
    elsewhere.get_by_role("button", name="Show the finished model").click()
    expect(note).to_be_hidden()
    elsewhere.wait_for_selector(".tool[data-drawn]")


def test_each_frame_of_a_film_has_its_own_values() -> None:
    labels = Labels("run", tiles=("0%", "50%", "100%"), across="way")
    sheet = Sheet(labels, 1, 1, 8, 8, frames=3)
    assert [[word.text for word in sheet.words(frame)] for frame in range(3)] == [
        ["run", text, "way"] for text in labels.tiles
    ]
    # One frame's values are those of all.
    assert [word.text for word in Sheet(Labels(tiles=("a", "b")), 1, 2, 8, 8, frames=3).words(2)] == ["a", "b"]
