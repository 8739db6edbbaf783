"""The explorer in a real browser: what a user does with pointer and keys, and what is seen then."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser_pages import PATIENCE, SCREENS, UNNAMED, changed, in_css, names, open_model
from PIL import Image
from playwright.sync_api import Browser, Page, expect
from small_runs import write_curves

from hackle.core.palette import THEMES
from hackle.datasets import load
from hackle.explorer import create_app
from hackle.store import Store
from hackle.train.model import Model
from made_up_outcomes import made_up, made_up_run


def test_the_list_sorts_filters_and_shows_tiny_traversals(page: Page) -> None:
    page.goto("/")
    expect(page.get_by_text("5 runs")).to_be_visible()
    mig = page.get_by_role("button", name="MIG", exact=True)
    assert names(page)[:2] == ["plain", "beta"]
    mig.click()
    assert names(page)[:2] == ["beta", "plain"]
    expect(page.locator("th[aria-sort=ascending]")).to_have_text(re.compile("MIG"))
    page.wait_for_selector(".tiny img.here")
    page.get_by_label("Filter runs").fill("mig>0.5")
    expect(page.get_by_text("1 of 5")).to_be_visible()
    assert names(page) == ["plain"]
    page.get_by_label("Filter runs").fill("nothing like it")
    expect(page.get_by_text("No run fits the filter.")).to_be_visible()
    page.get_by_label("Filter runs").fill("")
    page.get_by_label("status").select_option("training")
    expect(page.get_by_text("1 of 5")).to_be_visible()


def test_keys_move_through_the_list_and_open_a_run(page: Page) -> None:
    page.goto("/")
    page.get_by_role("link", name="plain").focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("link", name="beta")).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_selector(".tool[data-drawn]")
    expect(page.locator("h1")).to_have_text("β-VAE")


def test_dragging_a_slider_changes_the_image(page: Page, ids: dict[str, str]) -> None:
    open_model(page, ids)
    slider = page.locator(".latent input[type=range]").first
    box = slider.bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2

    def drag() -> None:
        page.mouse.move(box["x"] + box["width"] * 0.5, middle)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] * 0.95, middle, steps=8)
        page.mouse.up()

    changed(page, "canvas.picture", drag)
    assert float(slider.input_value()) > 2
    slider.focus()
    changed(page, "canvas.picture", lambda: [page.keyboard.press("ArrowLeft") for _ in range(150)])
    value = page.locator(".latent input.value").first
    value.fill("-1.5")
    changed(page, "canvas.picture", lambda: value.press("Enter"))
    assert float(slider.input_value()) == -1.5


def test_a_latent_that_has_drifted_is_seen_where_it_is(
    browser: Browser, served: Path, visit: Any, tmp_path: Path
) -> None:
    """The means of a latent are moved to about 9: its slider stands among its values, and its histogram is there."""
    model = Model.load(served / "beta")
    weights = model.weights()
    latent = int(np.argmax(np.ptp(model.encode(load(model.run.dataset).render([[0, 0, 0], [3, 3, 1]]))[0], axis=0)))
    name = next(name for name in weights if name.startswith("encoder") and name.endswith("linear.bias"))
    weights[name][latent] += 9
    Model(model.run, model.shape, weights).save(tmp_path / "runs" / "drifted")
    address = str(visit(create_app(tmp_path / "runs")).base_url)
    page = browser.new_page(base_url=address)
    page.set_default_timeout(PATIENCE)
    page.goto("/")
    page.wait_for_selector(".tool[data-drawn]")
    row = page.locator(f".latent[data-latent='{latent}']")
    slider = row.locator("input[type=range]")
    low, high = float(slider.get_attribute("min") or 0), float(slider.get_attribute("max") or 0)
    value = float(row.locator("input.value").input_value())
    assert low == -3
    assert 8 < high < 20
    assert low < value < high
    assert float(slider.input_value()) == pytest.approx(value, abs=0.011)
    drawn = row.locator(".histogram .seen").bounding_box()
    track = row.locator(".histogram").bounding_box()
    assert drawn is not None
    assert track is not None
    # Most of the bars stand where the values are, right of the middle, and in the box.
    assert drawn["width"] <= track["width"] + 1
    label = page.locator(".traversal", has_text=f"z{latent}").locator(".ends")
    expect(label).to_have_text(re.compile(r"^−2 … \d+(\.\d)?$"))
    assert float((label.text_content() or "").rpartition(" ")[2]) > 8
    others = [number for number in range(model.run.latents) if number != latent]
    expect(page.locator(".traversal", has_text=f"z{others[0]}").locator(".ends")).to_have_text(
        re.compile("^−2(\\.\\d)? … ")
    )
    page.close()


def test_latents_are_sorted_and_traversals_follow(page: Page, ids: dict[str, str], client: Any) -> None:
    open_model(page, ids)
    latents = client.get(f"/api/runs/{ids['beta']}/model").json()["latents"]

    def order() -> list[int]:
        return page.eval_on_selector_all(".latent", "rows => rows.map(row => Number(row.dataset.latent))")

    assert order() == sorted(range(3), key=lambda index: -latents[index]["kl"])
    page.get_by_label("sorted by").select_option("number")
    assert order() == [0, 1, 2]
    most = max(range(3), key=lambda index: latents[index]["kl"])
    changed(page, ".traversal canvas", lambda: page.locator(f"#latent-{most}").press("End"), at=1)
    changed(page, "canvas.picture", lambda: page.locator(".traversal .film").first.click(position={"x": 5, "y": 5}))


def test_a_class_has_one_tile_in_its_traversal_and_the_mark_is_in_it(page: Page, ids: dict[str, str]) -> None:
    open_model(page, ids, "gan")
    row = page.locator(".traversal", has_text="z2")
    film, canvas, mark = (row.locator(place) for place in (".film", "canvas", ".mark"))
    tile = page.evaluate("canvas => (canvas.width + 2) / 3 - 2", canvas.element_handle())
    assert tile == page.evaluate("canvas => canvas.height", canvas.element_handle())
    for wanted in (2, 0, 1):
        box = canvas.bounding_box()
        assert box is not None
        film.click(position={"x": (wanted + 0.5) * box["width"] / 3, "y": 5})
        expect(page.get_by_label("Class of latent z2").locator("input").nth(wanted)).to_be_checked()
        spot = mark.bounding_box()
        assert spot is not None
        assert spot["x"] + spot["width"] / 2 == pytest.approx(box["x"] + (wanted + 0.5) * box["width"] / 3, abs=1.5)


def test_starting_points(page: Page, ids: dict[str, str], tmp_path: Path) -> None:
    open_model(page, ids)
    start = ".original canvas"
    # A random image may be the one at hand; this one is not.
    page.evaluate("Math.random = () => 0.7")
    changed(page, start, lambda: [page.get_by_role("button", name="Random image").click(), page.wait_for_timeout(300)])
    page.get_by_text("Choose an image").click()
    page.wait_for_selector(".strip button")
    page.get_by_text("Factor combination").click()
    page.get_by_label("x", exact=True).fill("0")
    changed(page, start, lambda: page.get_by_label("x", exact=True).fill("3"))
    Image.new("RGB", (50, 40), "white").save(tmp_path / "white.png")
    changed(page, start, lambda: page.locator("#upload").set_input_files(tmp_path / "white.png"))
    changed(page, "canvas.picture", lambda: page.get_by_role("button", name="Draw prior").click())


def test_the_pad_moves_two_latents_by_pointer_and_keys(page: Page, ids: dict[str, str]) -> None:
    open_model(page, ids)
    page.get_by_role("tab", name="Two latents").click()
    pad = page.locator(".pad[data-drawn]")
    pad.scroll_into_view_if_needed()
    box = pad.bounding_box()
    assert box is not None

    def drag() -> None:
        page.mouse.move(box["x"] + 20, box["y"] + 20)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] - 20, box["y"] + box["height"] - 20, steps=6)
        page.mouse.up()

    changed(page, "canvas.picture", drag)
    values = page.locator(".latent input.value").evaluate_all("inputs => inputs.map(input => Number(input.value))")
    assert values[0] == pytest.approx(2, abs=0.2)
    assert values[1] == pytest.approx(2, abs=0.2)
    pad.focus()
    changed(page, "canvas.picture", lambda: [page.keyboard.press("Shift+ArrowLeft") for _ in range(5)])


def test_interpolation_and_samples(page: Page, ids: dict[str, str]) -> None:
    open_model(page, ids)
    page.get_by_role("tab", name="Interpolate").click()
    page.wait_for_selector(".tool[data-drawn] .between")
    # The random image at the far end may be the one at hand; a draw from the prior is not.
    page.get_by_role("button", name="Draw prior").last.click()
    changed(page, "canvas.picture", lambda: page.get_by_label("Way from the first image").fill("0.9"))
    said = {}
    for label in ("This picture with labels, PNG", "Moving latents, GIF"):
        page.locator(".exports summary").click()
        with page.expect_download(), page.expect_request("**/export") as asked:
            page.get_by_role("button", name=label).click()
        said[label[-3:]] = (asked.value.post_data_json or {})["labels"]
    # A picture has the values of its latents, a film in each frame how far it is; each says of which run it is.
    assert all(labels["title"].startswith("β-VAE, ") and "β = 2" in labels["title"] for labels in said.values())
    assert re.fullmatch(r"z\d = −?\d\.\d+, z\d = −?\d\.\d+, z\d = −?\d\.\d+", said["PNG"]["across"])
    assert [said["GIF"]["tiles"][frame] for frame in (0, 6, 12, 18)] == ["0%", "50%", "100%", "50%"]
    assert said["GIF"]["across"] == "way from the first image to the second"
    page.get_by_role("tab", name="Prior samples").click()
    samples = page.locator(".samples button")
    expect(samples).to_have_count(40)
    changed(page, "canvas.picture", samples.nth(3).click)


def test_what_was_captured_is_shown(page: Page, ids: dict[str, str]) -> None:
    page.goto(f"/#/run/{ids['beta']}/captured")
    page.wait_for_selector(".tops canvas")
    expect(page.locator(".heat tbody tr")).to_have_count(3)
    expect(page.locator(".scores .way")).to_have_count(1)
    for name, caption in {"DCI": "Importance", "MISJED": "MISJED of pairs", "MIG": "20 bins"}.items():
        page.get_by_role("tab", name=name, exact=True).click()
        expect(page.locator(".heat caption")).to_contain_text(caption)
    expect(page.locator(".responses .chart")).to_have_count(3)
    changed(page, ".responses canvas", lambda: page.get_by_role("tab", name="y", exact=True).click())


def test_curves_appear_while_a_run_trains(page: Page, ids: dict[str, str], served: Path) -> None:
    (served / "training" / "curves.csv").touch()
    page.goto(f"/#/run/{ids['training']}")
    expect(page.get_by_text("live")).to_be_visible()
    expect(page.locator(".chart")).to_have_count(3)
    write_curves(served / "training", range(10, 210, 10))
    expect(page.get_by_text("step 200")).to_be_visible()


def test_scores_that_begin_later_get_charts_of_their_own(page: Page, ids: dict[str, str], served: Path) -> None:
    table = served / "training" / "curves.csv"
    table.write_text("step,kl\n10,3\n20,2\n")
    page.goto(f"/#/run/{ids['training']}")
    expect(page.get_by_text("step 20")).to_be_visible()
    expect(page.get_by_role("heading", name="Scores")).to_be_hidden()
    table.write_text("step,kl,score_mig\n10,3,\n20,2,\n30,1,0.25\n40,1,\n50,1,0.5\n")
    expect(page.get_by_role("heading", name="Scores")).to_be_visible()
    chart = page.locator(".along .chart")
    expect(chart).to_have_count(1)
    expect(chart.locator("figcaption")).to_have_text("MIG")
    chart.locator("svg.zooms").hover()
    expect(chart.locator("figcaption")).to_contain_text(re.compile(r"MIG at step (30|50): 0\.(25|5)0*$"))
    expect(page.locator(".charts").first.locator(".chart")).to_have_count(1)
    write_curves(served / "training", range(10, 60, 10))


def test_names_that_objects_have_of_themselves_are_names_like_any_other(
    page: Page, ids: dict[str, str], served: Path
) -> None:
    (served / "training" / "curves.csv").write_text("step,constructor,__proto__\n10,3,1\n20,2,1\n")
    page.goto(f"/#/run/{ids['training']}")
    expect(page.locator(".charts").first.locator("figcaption")).to_have_text(["constructor", "  proto  "])
    write_curves(served / "training", range(10, 60, 10))


def test_two_runs_side_by_side(page: Page) -> None:
    page.goto("/")
    page.get_by_label("Compare beta").check()
    expect(page.get_by_text("Select one more to compare")).to_be_visible()
    page.get_by_label("Compare plain").check()
    page.get_by_role("link", name="Compare 2 runs").click()
    expect(page.locator(".columns .heat")).to_have_count(2)
    expect(page.locator(".columns .traversal canvas")).to_have_count(6)
    expect(page.locator(".best")).to_have_text(["0.750"])
    expect(page.locator(".curves .chart")).to_have_count(2)
    # One of 32 random images is the one at hand; this one is not.
    page.evaluate("Math.random = () => 0.5")
    changed(page, ".columns canvas", lambda: page.get_by_role("button", name="Another image").click())


def test_runs_that_differ_in_the_noise_alone_are_told_apart(elsewhere: Page, tmp_path: Path, visit: Any) -> None:
    with Store.create_or_open(tmp_path) as store:
        for correlation in (0.0, 0.9):
            store.add(replace(made_up(0), run=made_up_run(0, correlation=correlation)))
    client = visit(create_app(tmp_path))
    elsewhere.goto(str(client.base_url))
    expect(elsewhere.get_by_role("button", name="σ", exact=True)).to_be_visible()
    ids = elsewhere.locator("tr[data-id]").evaluate_all("rows => rows.map(row => row.dataset.id)")
    elsewhere.get_by_label("Filter runs").fill("σ>0.5")
    expect(elsewhere.get_by_text("1 of 2")).to_be_visible()
    expect(elsewhere.locator("tr[data-id]")).to_contain_text("0.9")
    elsewhere.locator("tr[data-id] a").first.click()
    expect(elsewhere.locator(".facts").first).to_contain_text("σ = 0.9")
    elsewhere.goto(f"{client.base_url}/#/compare/{','.join(ids)}")
    legend = elsewhere.locator(".curves .chart").first.locator(".legend .entry")
    expect(legend).to_have_count(2)
    # No weights were kept: there is no other image to show.
    expect(elsewhere.get_by_role("button", name="Another image")).to_be_hidden()
    assert sorted(text.split(", ")[-1] for text in legend.all_inner_texts()) == ["σ = 0", "σ = 0.9"]
    assert len(set(elsewhere.locator(".card h2 small").all_inner_texts())) == 2


def test_a_gan_has_controls_of_its_own(page: Page, ids: dict[str, str]) -> None:
    open_model(page, ids, "gan")
    expect(page.locator(".classes input")).to_have_count(3)
    page.locator(".classes label").nth(2).click()
    expect(page.locator(".classes input").nth(2)).to_be_checked()
    changed(page, "canvas.picture", lambda: page.get_by_role("button", name="New noise").click())


def test_exports_are_files_and_the_page_works_alone(
    page: Page, browser: Browser, ids: dict[str, str], tmp_path: Path
) -> None:
    open_model(page, ids)
    for label, ending in {
        "The view below with labels, PNG": "png",
        "Moving latents, GIF": "gif",
        "Traversals as an offline page": "html",
    }.items():
        page.locator(".exports summary").click()
        with page.expect_download() as waiting:
            page.get_by_role("button", name=label).click()
        waiting.value.save_as(tmp_path / f"file.{ending}")
    page.locator(".exports summary").click()
    page.keyboard.press("Escape")
    expect(page.locator(".exports details[open]")).to_have_count(0)
    for ending in ("png", "gif"):
        with Image.open(tmp_path / f"file.{ending}") as picture:
            assert picture.format == ending.upper()
    context = browser.new_context(offline=True)
    alone = context.new_page()
    requests: list[str] = []
    alone.on(
        "request",
        lambda request: requests.append(request.url) if not request.url.startswith(("file:", "data:")) else None,
    )
    alone.goto((tmp_path / "file.html").as_uri())
    expect(alone.locator(".block")).to_have_count(4)
    slider = alone.locator(".row input").first
    changed(alone, ".picture", lambda: [slider.press("Home"), slider.press("End")])
    expect(alone.get_by_role("heading", level=1)).to_contain_text("β = 2, seed")
    assert alone.evaluate(UNNAMED) == []
    for key, (width, scheme) in zip(("Home", "End") * 2, SCREENS, strict=True):
        alone.set_viewport_size({"width": width, "height": 400})
        alone.emulate_media(color_scheme=scheme)
        expect(alone.locator("body")).to_have_css("background-color", in_css(THEMES[scheme].paper))
        expect(alone.get_by_role("heading", level=1)).to_have_css("color", in_css(THEMES[scheme].ink))
        changed(alone, ".picture", lambda key=key: slider.press(key))
        assert alone.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    alone.set_viewport_size({"width": 375, "height": 400})
    alone.locator(".row input").nth(2).scroll_into_view_if_needed()
    expect(alone.locator(".picture").first).to_be_in_viewport()
    assert alone.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert requests == []
    context.close()
