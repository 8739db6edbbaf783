"""The explorer in a real browser: screens of any size, folders and servers that come and go, stops of the Tab key."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from browser_pages import changed, open_model
from playwright.sync_api import Page, expect
from small_runs import serving, train

from hackle.explorer import catalogue, create_app
from hackle.explorer.workbench import MOST_VALUES
from hackle.objectives import VAE
from hackle.store import Store
from hackle.train.model import Model
from made_up_outcomes import made_up
from train.test_fleet import small_run


def laid_out(page: Page) -> None:
    """Two frames later, when what was drawn in the first has its place."""
    page.evaluate("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")


@pytest.mark.parametrize("widths", [(1280, 1000, 390), (390, 1000, 1280)])
def test_nothing_is_wider_than_the_screen(page: Page, ids: dict[str, str], widths: tuple[int, ...]) -> None:
    """Neither on the screen on which a view is opened nor on one that it is moved to."""
    for place, wait in {
        "": ".runs tbody tr[data-id]",
        f"#/run/{ids['beta']}": ".tool[data-drawn]",
        f"#/run/{ids['beta']}/captured": ".tops canvas",
        f"#/run/{ids['beta']}/training": ".chart",
        f"#/compare/{ids['beta']},{ids['plain']}": ".columns .heat",
    }.items():
        page.set_viewport_size({"width": widths[0], "height": 740})
        page.goto(f"/{place}")
        page.wait_for_selector(wait)
        for width in widths:
            page.set_viewport_size({"width": width, "height": 740})
            laid_out(page)
            assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, f"{place} {width}"
            if place.endswith("captured"):
                # The last column of the scores, their references, is in sight.
                assert page.locator(".scores .wide").evaluate("table => table.scrollWidth - table.clientWidth") <= 0


WATCHED = """() => {
  window.widest = 0;
  const look = () => { window.widest = Math.max(window.widest, document.documentElement.scrollWidth - innerWidth); };
  new MutationObserver(look).observe(document, { childList: true, subtree: true, attributes: true });
}"""


def test_a_phone_never_moves_sideways_not_even_while_a_view_is_drawn(page: Page, ids: dict[str, str]) -> None:
    page.set_viewport_size({"width": 375, "height": 812})
    page.goto("/")
    page.wait_for_selector("tr[data-id]")
    page.evaluate(WATCHED)
    places = {f"run/{ids['beta']}": ".tool[data-drawn]", f"run/{ids['gan']}/captured": ".panel table"}
    places[f"compare/{ids['beta']},{ids['plain']}"] = ".columns .heat"
    for place, drawn in places.items():
        page.evaluate("place => { location.hash = `#/${place}`; }", place)
        page.wait_for_selector(drawn)
        assert page.evaluate("widest") <= 0, place


def test_menus_open_on_the_screen(page: Page, ids: dict[str, str]) -> None:
    for place, wait in {"": ".runs tbody tr[data-id]", f"#/run/{ids['beta']}": ".tool[data-drawn]"}.items():
        page.goto(f"/{place}")
        page.wait_for_selector(wait)
        menu = page.locator(".menu summary")
        for width in (1280, 900, 700, 375):
            page.set_viewport_size({"width": width, "height": 740})
            menu.click()
            # It is moved to where it fits right after it has opened.
            laid_out(page)
            box = page.locator(".menu .choices").bounding_box()
            assert box is not None
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
            menu.click()
            expect(page.locator(".menu .choices")).to_be_hidden()


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


def test_the_list_comes_first_and_once(unused: Page, address: str, ids: dict[str, str]) -> None:
    """The list is asked for before the scripts that draw it are there, and what other views need comes with them."""
    requests: list[str] = []
    unused.on("request", lambda request: requests.append(request.url.rsplit(":", 1)[1].partition("/")[2]))
    unused.goto(address)
    unused.wait_for_selector(".runs tbody tr[data-id]")
    unused.wait_for_function("() => performance.getEntriesByType('resource').some(one => one.name.endsWith('tour.js'))")
    assert requests.count("api/runs?") == 1
    assert requests.index("api/runs?") < requests.index("js/glossary.js")
    assert not [path for path in requests if path in ("js/run.js", "css/model.css", "css/findings.css")]
    unused.goto(f"{address}/#/run/{ids['beta']}")
    unused.wait_for_selector(".tool[data-drawn]")
    assert {"js/run.js", "css/model.css", "css/findings.css"} <= set(requests)
    assert requests.count("api/runs?") == 1


def test_light_and_dark(page: Page) -> None:
    page.emulate_media(color_scheme="dark")
    page.goto("/")
    paper = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(paper)
    page.get_by_role("button", name="Light or dark").click()
    page.wait_for_function(f"dark => {paper} !== dark", arg=dark)


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
    expect(elsewhere.locator(".tiny")).to_have_count(0)
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
    """The time at which the list is read again."""
    page.clock.fast_forward(11_000)


def test_the_list_follows_the_folder(
    unused: Page, served: Path, tmp_path: Path, visit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The server looks at its folder whenever it is asked, as if enough time had gone by.
    monkeypatch.setattr(catalogue, "PATIENCE", -1.0)
    place = copied(served, tmp_path / "runs", "training", "broken")
    client = visit(create_app(place))
    unused.clock.install()
    unused.goto(str(client.base_url))
    expect(unused.get_by_text("2 runs")).to_be_visible()
    unused.get_by_label("Compare training").focus()
    copied(served, place, "beta", "plain")
    later(unused)
    expect(unused.get_by_text("4 runs")).to_be_visible()
    expect(unused.get_by_label("Compare training")).to_be_focused()
    # Scores that come later have columns, and the list is sorted by the first of them.
    expect(unused.locator("th[aria-sort=descending]")).to_have_text("MIG")
    expect(unused.get_by_label("method").locator("option")).to_have_count(3)
    unused.get_by_label("Compare plain").check()
    for name in ("training", "broken", "beta", "plain"):
        shutil.rmtree(place / name)
    later(unused)
    expect(unused.get_by_text("No run is here any more")).to_be_visible()
    expect(unused.locator(".tools .button.primary")).to_be_hidden()
    shutil.rmtree(place)
    later(unused)
    expect(unused.locator("#notice")).to_contain_text("cannot be read any more")


def test_a_deleted_run_ends_its_curves(elsewhere: Page, served: Path, tmp_path: Path, visit: Any) -> None:
    place = copied(served, tmp_path / "runs", "training", "beta")
    # A point was written just now.
    (place / "training" / "curves.csv").touch()
    client = visit(create_app(place))
    elsewhere.goto(str(client.base_url))
    elsewhere.get_by_role("link", name="training").click()
    expect(elsewhere.get_by_text("live")).to_be_visible()
    elsewhere.get_by_role("tab", name="Explore").click()
    expect(elsewhere.get_by_role("alert").filter(has_text="no weights yet")).to_be_visible()
    elsewhere.get_by_role("tab", name="Training").click()
    # Curves that were never there are an error of another kind.
    expect(elsewhere.get_by_text("live")).to_be_visible()
    shutil.rmtree(place / "training")
    expect(elsewhere.get_by_text("no longer there")).to_be_visible()
    expect(elsewhere.get_by_text("live")).to_be_hidden()


def test_the_skip_link_stays_on_the_page(page: Page, ids: dict[str, str]) -> None:
    open_model(page, ids)
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    expect(page.locator("h1")).to_have_text("β-VAE")


SHARES = "cells => cells.map(cell => cell.style.getPropertyValue('--share'))"


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
    expect(elsewhere.locator(".latent .use")).to_have_text(re.compile(r"\d"))
    expect(elsewhere.locator(".latent .use")).not_to_contain_text("e-")
    elsewhere.get_by_role("tab", name="What it captured").click()
    elsewhere.wait_for_selector(".tops canvas")
    cells = elsewhere.locator(".heat tbody td")
    expect(cells.first).to_have_text(re.compile(r"\d"))
    # An untrained encoder has next to no information, and its cells are not painted as if they had.
    assert all(float(text) < 0.05 for text in cells.all_inner_texts())
    assert all(float(share) < 0.5 for share in cells.evaluate_all(SHARES))
    elsewhere.wait_for_selector(".responses .chart text[text-anchor=middle]", state="attached")
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
      const latents = Array.from({ length: 64 }, (_, index) => ({ index, prior: "normal", ends: [-2, 2] }));
      const shape = [128, 128, 3], valueText = () => "0";
      const session = { model: { shape }, ordered: () => latents, moved: () => [0], valueText };
      const view = { rows: 64, columns: 11, z: Array(704).fill([0]) }, film = sweep(session), png = fitting(session, view);
      return [png.rows, png.z.length / png.columns, film.columns, film.z.length / film.columns];
    }""")
    assert sizes == [44, 44, 20, 24]
    assert 44 * 11 * 128 * 128 * 3 <= MOST_VALUES < 45 * 11 * 128 * 128 * 3
    assert 20 * 24 * 128 * 128 * 3 <= MOST_VALUES < 21 * 24 * 128 * 128 * 3
