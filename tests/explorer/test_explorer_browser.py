"""The explorer in a real browser: what a user does with pointer and keys, and what is seen then."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright
from small_runs import serving, train, write_curves

from hackle.explorer import create_app
from hackle.explorer.catalogue import PATIENCE as FOLDER_PATIENCE
from hackle.explorer.workbench import MOST_VALUES
from hackle.model import Model
from hackle.objectives import VAE
from hackle.store import Store
from made_up_outcomes import made_up, made_up_run
from test_fleet import small_run

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
QUIET = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
]
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium on the path: install it to test the page in a browser"
)

# The machine may be busy with other tests.
PATIENCE = 90_000
"""Milliseconds to wait for what a page does: the machine may be busy."""
expect.set_options(timeout=PATIENCE)
PIXELS = "canvas => Array.from(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data).join()"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """A page that must not complain."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, accept_downloads=True, base_url=address)
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "request",
        lambda request: (
            complaints.append(request.url) if not request.url.startswith((address, "data:", "blob:")) else None
        ),
    )
    yield page
    context.close()
    assert complaints == []


@pytest.fixture
def elsewhere(browser: Browser) -> Iterator[Page]:
    """A page for servers of a test's own, where refusals are expected."""
    page = browser.new_page()
    page.set_default_timeout(PATIENCE)
    yield page
    page.close()


def names(page: Page) -> list[str]:
    return page.locator("table.runs tbody th[scope=row] a").all_inner_texts()


def open_model(page: Page, ids: dict[str, str], name: str = "beta") -> None:
    page.goto(f"/#/run/{ids[name]}")
    page.wait_for_selector(".tool[data-drawn]")


def changed(page: Page, selector: str, work: Callable[[], Any], at: int = 0) -> None:
    """Do something and wait until a canvas shows something else."""
    canvas = page.locator(selector).nth(at)
    before = canvas.evaluate(PIXELS)
    work()
    for _ in range(PATIENCE // 100):
        if canvas.evaluate(PIXELS) != before:
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"{selector} still shows what it did")


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
    assert page.locator("h1").inner_text() == "beta-vae"


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
    page.get_by_role("tab", name="Prior samples").click()
    samples = page.locator(".samples button")
    expect(samples).to_have_count(40)
    changed(page, "canvas.picture", samples.nth(3).click)


def test_what_was_captured_is_shown(page: Page, ids: dict[str, str]) -> None:
    page.goto(f"/#/run/{ids['beta']}/captured")
    page.wait_for_selector(".tops canvas")
    expect(page.locator(".heat tbody tr")).to_have_count(3)
    expect(page.locator(".scores .meter")).to_have_count(1)
    for name, caption in {"DCI": "Importance", "MISJED": "MISJED of pairs", "MIG": "20 bins"}.items():
        page.get_by_role("tab", name=name, exact=True).click()
        expect(page.locator(".heat caption")).to_contain_text(caption)
    expect(page.locator(".responses .chart")).to_have_count(3)
    changed(page, ".responses canvas", lambda: page.get_by_role("tab", name="y", exact=True).click())


def test_curves_appear_while_a_run_trains(page: Page, ids: dict[str, str], served: Path) -> None:
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
    chart.locator("svg").hover()
    expect(chart.locator("figcaption")).to_contain_text(re.compile(r"MIG at (30|50): 0\.(25|5)0*$"))
    expect(page.locator(".charts").first.locator(".chart")).to_have_count(1)
    write_curves(served / "training", range(10, 60, 10))


def test_two_runs_side_by_side(page: Page) -> None:
    page.goto("/")
    page.get_by_label("Compare beta").check()
    expect(page.get_by_text("Select one more to compare")).to_be_visible()
    page.get_by_label("Compare plain").check()
    page.get_by_role("link", name="Compare 2 runs").click()
    expect(page.locator(".columns .heat")).to_have_count(2)
    assert page.locator(".columns .traversal canvas").count() == 6
    assert page.locator(".best").all_inner_texts() == ["0.750"]
    expect(page.locator(".curves .chart")).to_have_count(2)
    changed(
        page, ".columns canvas", lambda: [page.get_by_role("button", name="Another image").click() for _ in range(2)]
    )


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
    elsewhere.get_by_role("link", name=re.compile("[0-9a-f]{8}")).click()
    expect(elsewhere.locator(".facts").first).to_contain_text("σ = 0.9")
    elsewhere.goto(f"{client.base_url}/#/compare/{','.join(ids)}")
    legend = elsewhere.locator(".curves .legend .entry")
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
        "The view below, PNG": "png",
        "Moving latents, GIF": "gif",
        "Traversals as an offline page": "html",
    }.items():
        page.locator(".exports summary").click()
        with page.expect_download() as waiting:
            page.get_by_role("button", name=label).click()
        waiting.value.save_as(tmp_path / f"file.{ending}")
    page.locator(".exports summary").click()
    page.keyboard.press("Escape")
    assert page.locator(".exports details[open]").count() == 0
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
    expect(alone.get_by_role("heading", level=1)).to_contain_text("strength 2, seed")
    assert alone.evaluate(UNNAMED) == []
    alone.set_viewport_size({"width": 375, "height": 400})
    alone.locator(".row input").nth(2).scroll_into_view_if_needed()
    expect(alone.locator(".picture").first).to_be_in_viewport()
    assert alone.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert requests == []
    context.close()


@pytest.mark.parametrize("width", [1280, 375])
def test_nothing_is_wider_than_the_screen(page: Page, ids: dict[str, str], width: int) -> None:
    page.set_viewport_size({"width": width, "height": 740})
    for place, wait in {
        "": ".runs tbody tr[data-id]",
        f"#/run/{ids['beta']}": ".tool[data-drawn]",
        f"#/run/{ids['beta']}/captured": ".tops canvas",
        f"#/run/{ids['beta']}/training": ".chart",
        f"#/compare/{ids['beta']},{ids['plain']}": ".columns .heat",
    }.items():
        page.goto(f"/{place}")
        page.wait_for_selector(wait)
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, place


@pytest.mark.parametrize("width", [1280, 375])
def test_menus_open_on_the_screen(page: Page, ids: dict[str, str], width: int) -> None:
    page.set_viewport_size({"width": width, "height": 740})
    for place, wait in {"": ".runs tbody tr[data-id]", f"#/run/{ids['beta']}": ".tool[data-drawn]"}.items():
        page.goto(f"/{place}")
        page.wait_for_selector(wait)
        page.locator(".menu summary").click()
        box = page.locator(".menu .choices").bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width


@pytest.mark.parametrize("width", [1280, 375])
def test_a_run_keeps_its_name_while_the_list_moves_sideways(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 740})
    page.goto("/")
    page.wait_for_selector(".runs tbody tr[data-id]")
    page.locator(".viewport").evaluate("viewport => { viewport.scrollLeft = 150; }")
    edges = """rows => rows.map(row => [...row.children].slice(0, 2).map(cell => cell.getBoundingClientRect()))
      .map(([pick, name]) => [pick.left, pick.right - name.left])"""
    # No gap through which other columns would be seen, in the head as in the rows.
    found = page.locator(".runs tr:not(.space)").evaluate_all(edges)
    assert len(found) == 6
    assert found == [[0, 0]] * 6


def test_light_and_dark(page: Page) -> None:
    page.emulate_media(color_scheme="dark")
    page.goto("/")
    paper = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(paper)
    page.get_by_role("button", name="Light or dark").click()
    assert page.evaluate(paper) != dark


def test_a_run_that_is_not_there_is_said_so(elsewhere: Page, address: str) -> None:
    elsewhere.goto(f"{address}/#/run/ffffffffffffffff")
    expect(elsewhere.locator(".problem")).to_contain_text("no run")
    elsewhere.goto(f"{address}/#/run/%E0%A4%A")
    expect(elsewhere.locator(".problem")).to_contain_text("%E0%A4%A")


def test_a_model_without_its_data_moves_all_the_same(elsewhere: Page, served: Path, tmp_path: Path, visit: Any) -> None:
    model = Model.load(served / "beta")
    Model(replace(model.run, dataset="./gone.npz"), model.shape, model.weights()).save(tmp_path / "run")
    client = visit(create_app(tmp_path / "run"))
    # A folder with a single run opens that run.
    elsewhere.goto(str(client.base_url))
    elsewhere.wait_for_selector(".tool[data-drawn]")
    expect(elsewhere.locator(".note")).to_contain_text("gone.npz")
    changed(elsewhere, "canvas.picture", lambda: elsewhere.locator(".latent input[type=range]").nth(0).press("End"))
    for tool in ("Two latents", "Interpolate", "Prior samples"):
        elsewhere.get_by_role("tab", name=tool).click()
    expect(elsewhere.locator(".samples button")).to_have_count(40)


def test_a_stored_run_without_weights_shows_its_scores_and_curves(elsewhere: Page, tmp_path: Path, visit: Any) -> None:
    with Store.create_or_open(tmp_path) as store:
        for seed in range(3):
            store.add(made_up(seed))
    client = visit(create_app(tmp_path))
    elsewhere.goto(str(client.base_url))
    expect(elsewhere.get_by_text("3 runs")).to_be_visible()
    assert elsewhere.locator(".tiny").count() == 0
    elsewhere.locator("tbody a").first.click()
    expect(elsewhere.locator(".note")).to_contain_text("were not kept")
    expect(elsewhere.locator(".scores tbody tr")).to_have_count(8)
    elsewhere.get_by_role("tab", name="Training").click()
    expect(elsewhere.locator(".chart")).to_have_count(2)


def copied(served: Path, place: Path, *names: str) -> Path:
    """Some of the runs in a folder of their own."""
    for name in names:
        shutil.copytree(served / name, place / name)
    return place


def test_a_server_that_was_stopped_is_said_so_until_it_is_back(elsewhere: Page, served: Path, tmp_path: Path) -> None:
    app = create_app(copied(served, tmp_path / "runs", "beta"))
    with serving(app) as address:
        elsewhere.goto(address)
        elsewhere.wait_for_selector(".tool[data-drawn]")
    lost = elsewhere.locator("#lost")
    elsewhere.locator(".latent input[type=range]").first.press("End")
    expect(lost).to_contain_text("does not answer")
    with serving(app, int(address.rsplit(":", 1)[1])):
        expect(lost).to_be_empty()
        changed(elsewhere, "canvas.picture", lambda: elsewhere.locator(".latent input[type=range]").first.press("Home"))


def later(page: Page) -> None:
    """The time at which the list is read again, and by the server too."""
    time.sleep(FOLDER_PATIENCE + 0.1)
    page.clock.fast_forward(11_000)


def test_the_list_follows_the_folder(elsewhere: Page, served: Path, tmp_path: Path, visit: Any) -> None:
    place = copied(served, tmp_path / "runs", "training", "broken")
    client = visit(create_app(place))
    elsewhere.clock.install()
    elsewhere.goto(str(client.base_url))
    expect(elsewhere.get_by_text("2 runs")).to_be_visible()
    elsewhere.get_by_label("Compare training").focus()
    copied(served, place, "beta", "plain")
    later(elsewhere)
    expect(elsewhere.get_by_text("4 runs")).to_be_visible()
    expect(elsewhere.get_by_label("Compare training")).to_be_focused()
    # Scores that come later have columns, and the list is sorted by the first of them.
    expect(elsewhere.locator("th[aria-sort=descending]")).to_have_text("MIG")
    expect(elsewhere.get_by_label("method").locator("option")).to_have_count(3)
    elsewhere.get_by_label("Compare plain").check()
    for name in ("training", "broken", "beta", "plain"):
        shutil.rmtree(place / name)
    later(elsewhere)
    expect(elsewhere.get_by_text("No run is here any more")).to_be_visible()
    expect(elsewhere.locator(".tools .button.primary")).to_be_hidden()
    shutil.rmtree(place)
    later(elsewhere)
    expect(elsewhere.locator("#notice")).to_contain_text("cannot be read any more")


def test_a_deleted_run_ends_its_curves(elsewhere: Page, served: Path, tmp_path: Path, visit: Any) -> None:
    place = copied(served, tmp_path / "runs", "training", "beta")
    client = visit(create_app(place))
    elsewhere.goto(str(client.base_url))
    elsewhere.get_by_role("link", name="training").click()
    expect(elsewhere.get_by_text("live")).to_be_visible()
    elsewhere.get_by_role("tab", name="Explore").click()
    expect(elsewhere.get_by_role("alert").filter(has_text="no weights yet")).to_be_visible()
    elsewhere.get_by_role("tab", name="Training").click()
    shutil.rmtree(place / "training")
    expect(elsewhere.get_by_text("no longer there")).to_be_visible()
    expect(elsewhere.get_by_text("live")).to_be_hidden()


def test_the_skip_link_stays_on_the_page(page: Page, ids: dict[str, str]) -> None:
    open_model(page, ids)
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    expect(page.locator("h1")).to_have_text("beta-vae")


SHARES = "cells => cells.map(cell => cell.style.getPropertyValue('--share'))"
UNNAMED = """() => {
  const seen = (node) => !node.closest("[aria-hidden=true]"), all = (what) => [...document.querySelectorAll(what)].filter(seen);
  const texts = (node) => [node.getAttribute("aria-label"), node.title, node.textContent, node.labels?.[0]?.textContent];
  const used = all("a, button, input, select, summary, [tabindex='0'], [role=tabpanel]");
  const drawn = all("canvas, svg").filter((node) => !node.closest("button"));
  const picture = (node) => node.getAttribute("role") === "img" && node.getAttribute("aria-label");
  return [...used.filter((node) => !texts(node).some((text) => text?.trim())), ...drawn.filter((node) => !picture(node))]
    .map((node) => node.outerHTML.slice(0, 120));
}"""


def test_whatever_is_used_or_seen_has_a_name(page: Page, ids: dict[str, str]) -> None:
    page.goto("/")
    page.wait_for_selector(".runs tbody tr[data-id]")
    assert page.evaluate(UNNAMED) == []
    for name in ("beta", "gan"):
        open_model(page, ids, name)
        page.get_by_text("Choose an image").click()
        page.wait_for_selector(".strip button")
        for tool in ("Traversals", "Two latents", "Interpolate", "Prior samples"):
            page.get_by_role("tab", name=tool).click()
            expect(page.get_by_role("tabpanel", name=tool)).to_be_visible()
            assert page.evaluate(UNNAMED) == [], tool
    for place, wait in {
        f"#/run/{ids['beta']}/captured": ".tops canvas",
        f"#/run/{ids['beta']}/training": ".chart",
        f"#/run/{ids['beta']}/record": "pre",
        f"#/compare/{ids['beta']},{ids['plain']}": ".columns .heat",
    }.items():
        page.goto(f"/{place}")
        page.wait_for_selector(wait)
        assert page.evaluate(UNNAMED) == [], place


NOTED = """document.getElementById("upload").addEventListener("click", (event) => {
  event.preventDefault();
  event.target.dataset.asked = "1";
})"""


def test_the_upload_is_one_stop_of_the_tab_key(page: Page, ids: dict[str, str]) -> None:
    open_model(page, ids)
    page.get_by_role("button", name="Random image").focus()
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Upload…")).to_be_focused()
    page.evaluate(NOTED)
    page.keyboard.press("Enter")
    expect(page.locator("#upload")).to_have_attribute("data-asked", "1")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Draw prior")).to_be_focused()


def test_the_pad_never_has_one_latent_twice(page: Page, ids: dict[str, str]) -> None:
    open_model(page, ids)
    page.get_by_role("tab", name="Two latents").click()
    across, down = page.get_by_label("across"), page.get_by_label("down")
    before = across.input_value(), down.input_value()
    across.select_option(before[1])
    assert (across.input_value(), down.input_value()) == before[::-1]


def test_a_single_latent_that_says_nothing(
    elsewhere: Page, served: Path, squares: Any, tmp_path: Path, visit: Any
) -> None:
    run = small_run(VAE(), latents=1, dataset=str(served.parent / "squares.npz"))
    train(run, squares, 1).save(tmp_path / "run")
    (tmp_path / "run" / "curves.csv").write_text("step,kl\n40,8520.25\n")
    client = visit(create_app(tmp_path / "run"))
    elsewhere.goto(str(client.base_url))
    elsewhere.wait_for_selector(".tool[data-drawn]")
    expect(elsewhere.get_by_text("1 latent", exact=True)).to_be_visible()
    expect(elsewhere.get_by_role("tab", name="Two latents")).to_have_count(0)
    assert "e-" not in elsewhere.locator(".latent .use").inner_text()
    elsewhere.get_by_role("tab", name="What it captured").click()
    elsewhere.wait_for_selector(".tops canvas")
    cells = elsewhere.locator(".heat tbody td")
    # An untrained encoder has next to no information, and its cells are not painted as if they had.
    assert all(float(text) < 0.05 for text in cells.all_inner_texts())
    assert all(float(share) < 0.5 for share in cells.evaluate_all(SHARES))
    whole = elsewhere.locator(".responses .chart text[text-anchor=middle]").all_text_contents()
    assert whole
    assert all(text.isdigit() for text in whole)
    elsewhere.get_by_role("tab", name="Training").click()
    labels = elsewhere.locator(".charts .chart text")
    expect(labels.first).to_be_visible()
    assert len(set(labels.all_text_contents())) == labels.count()


def test_files_hold_no_more_than_the_server_decodes(page: Page) -> None:
    page.goto("/")
    sizes = page.evaluate("""async () => {
      const { fitting, sweep } = await import("./js/exports.js");
      const latents = Array.from({ length: 64 }, (_, index) => ({ index, prior: "normal" }));
      const session = { model: { shape: [128, 128, 3] }, ordered: () => latents, moved: () => [0] };
      const view = { rows: 64, columns: 11, z: Array(704).fill([0]) }, film = sweep(session), png = fitting(session, view);
      return [png.rows, png.z.length / png.columns, film.columns, film.z.length / film.columns];
    }""")
    assert sizes == [44, 44, 20, 24]
    assert 44 * 11 * 128 * 128 * 3 <= MOST_VALUES < 45 * 11 * 128 * 128 * 3
    assert 20 * 24 * 128 * 128 * 3 <= MOST_VALUES < 21 * 24 * 128 * 128 * 3
