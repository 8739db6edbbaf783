"""Plots of all runs of the list in a real browser, with 2,000 runs: what a point says and opens, and that it stays fluid."""

from __future__ import annotations

import gzip
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, cast

import numpy as np
import pandas as pd
import pytest
from browser_pages import UNNAMED, in_css, screens
from playwright.sync_api import CDPSession, Page, Route, expect

from hackle.core.design import DEFAULTS
from hackle.core.palette import look
from hackle.explorer import create_app
from hackle.explorer.catalogue import COLUMNS, Contents
from hackle.explorer.listing import Listing
from hackle.figures import words
from hackle.objectives import OBJECTIVES

COUNT = 2000
METHODS = ("beta-vae", "factor-vae", "beta-tcvae", "dip-vae-i", "annealed-vae")
METRICS = ("mig", "dci_disentanglement", "sap", "modularity", "kl")


def made_up_list(methods: Sequence[str], strengths: Sequence[float], count: int = COUNT) -> bytes:
    """The list of made-up runs without weights, as the server would send it."""
    rng, rows = np.random.default_rng(0), range(count)
    runs = pd.DataFrame({name: DEFAULTS.get(name) for name in COLUMNS}, index=rows).assign(
        id=[f"{row:016x}" for row in rows],
        name=[f"run {row}" for row in rows],
        dataset=[("dsprites", "cars3d")[row % 2] for row in rows],
        method=[methods[row % len(methods)] for row in rows],
        strength=[strengths[row // 10 % 4] for row in rows],
        architecture="convolutional",
        seed=[row // 40 for row in rows],
        status="scores only",
    )
    scores = pd.DataFrame(
        {
            "run": np.tile(runs["id"], len(METRICS)),
            "metric": np.repeat(METRICS, count),
            "representation": "mean",
            "score": rng.random(count * len(METRICS)),
            "reference": np.repeat([0.9, 0.9, 0.9, 0.9, np.nan], count),
            "better": "higher",
            "protocol": "locatello2019",
        }
    )
    scores.loc[0, "score"] = 5.0
    known = SimpleNamespace(title="hackle-2026", contents=Contents(runs, {}, scores, {}), refresh=lambda: "made up")
    return gzip.decompress(Listing(cast(Any, known)).answer()[1])


def showing(page: Page, address: str, listed: bytes) -> Page:
    def answer(route: Route) -> None:
        route.fulfill(body=listed, content_type="application/json", headers={"ETag": '"made up"'})

    page.route(re.compile(r"/api/runs\?"), answer)
    page.goto(address)
    page.wait_for_selector("tr[data-id]")
    return page


@pytest.fixture(scope="module")
def listed() -> bytes:
    """Of 2,000 runs."""
    return made_up_list(METHODS, (1.0, 2.0, 4.0, 8.0))


@pytest.fixture
def many(elsewhere: Page, address: str, listed: bytes) -> Page:
    return showing(elsewhere, address, listed)


FILTERED = """async (text) => {
  const field = document.querySelector("input[type=search]"), count = document.querySelector(".count");
  const before = count.textContent;
  field.value = text;
  field.dispatchEvent(new Event("input"));
  while (count.textContent === before) await new Promise((done) => requestAnimationFrame(done));
}"""


def busy(devtools: CDPSession) -> float:
    """The seconds that a page's own thread has worked: unlike the clock's, they are the same on a busy machine."""
    found = devtools.send("Performance.getMetrics")["metrics"]
    return next(one["value"] for one in found if one["name"] == "TaskDuration")


def test_two_thousand_runs_are_listed_plotted_and_filtered_at_once(many: Page) -> None:
    devtools = many.context.new_cdp_session(many)
    devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
    for view, shown in {"Table": "tr[data-id]", "Scatter": ".dots", "Parallel coordinates": ".lines.s0"}.items():
        many.get_by_role("tab", name=view).click()
        many.wait_for_selector(shown)
        times = [busy(devtools)]
        for text in ("MIG > 0.5", "method is β-VAE", "seed < 5", ""):
            many.evaluate(FILTERED, text)
            times.append(busy(devtools))
        assert np.median(np.diff(times)) < 0.2
        expect(many.get_by_text("2,000 runs").first).to_be_visible()
        # Rows out of sight and single dots are no elements of the page.
        assert many.evaluate("document.querySelectorAll('*').length") < 1500
    devtools.detach()


@pytest.mark.parametrize("width", [1280, 390])
def test_a_scatter_plot_of_any_columns_whose_points_open_their_runs(many: Page, width: int) -> None:
    many.set_viewport_size({"width": width, "height": 800})
    many.get_by_role("tab", name="Scatter").click()
    expect(many.get_by_role("img", name="MIG against strength of 2,000 runs")).to_be_visible()
    expect(many.locator(".plots .legend .entry")).to_have_count(5)
    expect(many.locator(".plot .axis")).to_have_text(["MIG", "strength"])
    # Runs of one strength, one of each method, stand side by side, and not so far that one takes it for another strength.
    expect(many.locator(".said")).to_contain_text(
        "2,000 runs. Runs of one strength stand side by side, by method. Point"
    )
    frame, ring = many.locator(".frame"), many.locator(".plot .ring")
    frame.press("Home")
    places = [float(ring.get_attribute("cx") or "nan")]
    for row in range(1, 5):
        frame.press("ArrowRight")
        expect(many.locator(".said")).to_contain_text(f"run {row}: ")
        places.append(float(ring.get_attribute("cx") or "nan"))
    assert len(set(places)) == 5
    assert max(places) - min(places) < 0.04 * width
    many.locator("select[data-name=x]").select_option("sap")
    many.locator("select[data-name=by]").select_option("dataset")
    expect(many.locator(".plots .legend .entry")).to_have_text(["Cars3D", "dSprites"])
    expect(many).to_have_url(re.compile("view=scatter&x=sap&by=dataset"))
    many.get_by_label("Filter runs").fill("seed is 0, method is β-VAE")
    expect(many.get_by_role("img", name="of 8 runs")).to_be_visible()
    expect(many.locator(".said")).to_contain_text("8 runs. Point")
    assert many.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert many.evaluate(UNNAMED) == []
    # The first run has a MIG far above all others: its point is at the top.
    dots = many.locator(".plot .dots").evaluate_all("paths => paths.map(path => path.getAttribute('d')).join('')")
    x, y = min(
        (tuple(map(float, dot.split(" "))) for dot in re.findall(r"M([\d.]+ [\d.]+)m", dots)), key=lambda dot: dot[1]
    )
    box = many.locator(".plot").bounding_box()
    assert box is not None
    many.mouse.move(box["x"] + x + 3, box["y"] + y + 3)
    expect(many.locator(".said")).to_have_text(re.compile(r"^run 0: method β-VAE, β = 1, seed 0, SAP 0\.\d+, MIG 5$"))
    many.mouse.click(box["x"] + x + 3, box["y"] + y + 3)
    expect(many).to_have_url(re.compile("#/run/0000000000000000$"))
    many.go_back()
    expect(many.get_by_role("img", name="of 8 runs")).to_be_visible()


@pytest.mark.parametrize("width", [1280, 390])
def test_parallel_coordinates_of_a_study(many: Page, width: int) -> None:
    many.set_viewport_size({"width": width, "height": 800})
    many.get_by_role("tab", name="Parallel coordinates").click()
    axes = many.locator(".plot .axis")
    expected = ["strength", "MIG", "DCI D", "SAP", "modularity", "KL"] if width > 500 else ["strength", "MIG", "DCI D"]
    expect(axes).to_have_text(expected)
    many.get_by_text("Axes").click()
    many.get_by_role("checkbox", name="SAP").click()
    expect(axes).to_have_count(len(expected) + (1 if width < 500 else -1))
    expect(many).to_have_url(re.compile("axes=strength"))
    assert many.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    many.get_by_label("Filter runs").fill("seed is 0")
    expect(many.locator(".said")).to_have_text(re.compile("^40 runs"))
    many.locator(".frame").focus()
    many.keyboard.press("ArrowRight")
    expect(many.locator(".said")).to_have_text(re.compile(r"^run \d+: method"))
    expect(many.locator(".lines.above")).not_to_have_attribute("d", "M0 0")
    assert many.evaluate(UNNAMED) == []
    many.keyboard.press("Enter")
    expect(many).to_have_url(re.compile("#/run/"))


@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (390, "dark")])
def test_a_single_run_is_plotted_too(
    elsewhere: Page, served: Path, tmp_path: Path, visit: Any, width: int, theme: Literal["light", "dark"]
) -> None:
    shutil.copytree(served / "beta", tmp_path / "beta")
    address = str(visit(create_app(tmp_path)).base_url)
    elsewhere.set_viewport_size({"width": width, "height": 800})
    elsewhere.emulate_media(color_scheme=theme)
    elsewhere.goto(address)
    elsewhere.wait_for_selector(".tool[data-drawn]")
    elsewhere.goto(f"{address}/#/?view=scatter")
    expect(elsewhere.get_by_role("img", name="MIG against strength β of 1 run")).to_be_visible()
    (dot,) = re.findall(r"M([\d.]+) ([\d.]+)m", str(elsewhere.locator(".plot .dots").get_attribute("d")))
    box = elsewhere.locator(".plot").bounding_box()
    assert box is not None
    # In the middle of its frame, since there is nothing to compare it with.
    assert 0.3 < float(dot[0]) / box["width"] < 0.7
    assert 0.3 < float(dot[1]) / box["height"] < 0.7
    elsewhere.goto(f"{address}/#/?view=parallel")
    expect(elsewhere.get_by_role("img", name="Parallel coordinates of 1 run")).to_be_visible()
    elsewhere.locator(".frame").focus()
    elsewhere.keyboard.press("ArrowRight")
    expect(elsewhere.locator(".said")).to_have_text(re.compile("^beta: method β-VAE"))
    elsewhere.keyboard.press("Enter")
    expect(elsewhere).to_have_url(re.compile("#/run/"))


def test_plots_light_and_dark(many: Page) -> None:
    for theme in screens(many):
        many.get_by_role("tab", name="Scatter").click()
        many.locator("select[data-name=x]").select_option("sap")
        expect(many.get_by_role("img", name="MIG against SAP of 2,000 runs")).to_be_visible()
        for place in range(5):
            expect(many.locator(f".plot .dots.s{place}")).to_have_css("fill", in_css(theme.palette[place]))
        many.locator(".frame").hover()
        many.locator(".frame").focus()
        many.keyboard.press("Home")
        expect(many.locator(".said")).to_have_text(re.compile(r"^run \d+: method .*, SAP 0\.\d+, MIG 0\.\d+$"))
        expect(many.locator(".plot .ring")).to_have_css("stroke", in_css(theme.ink))
        many.get_by_role("tab", name="Parallel coordinates").click()
        expect(many.locator(".plot .lines.s4")).to_have_css("stroke", in_css(theme.palette[4]))
        many.get_by_text("Axes").click()
        many.get_by_role("checkbox", name="modularity").click()
        expect(many.get_by_role("checkbox", name="modularity")).to_be_focused()
        many.get_by_text("Axes").click()
        many.locator(".frame").focus()
        many.keyboard.press("End")
        expect(many.locator(".said")).to_have_text(re.compile(r"^run \d+: method"))
        expect(many.locator(".plot .above")).to_have_css("stroke", in_css(theme.ink))
        many.keyboard.press("Enter")
        expect(many).to_have_url(re.compile("#/run/"))
        many.go_back()
        expect(many.get_by_role("img", name="Parallel coordinates of 2,000 runs")).to_be_visible()


LOOKS = """paths => paths.map(path => [
  path.parentElement.parentElement.textContent,
  Number(/ s(\\d+)/.exec(path.getAttribute("class"))[1]),
  path.getAttribute("d").replace(/^M[\\d.]+ [\\d.]+/, "")
])"""


def test_every_method_has_a_colour_and_a_marker_of_its_own_whatever_is_filtered(elsewhere: Page, address: str) -> None:
    methods = sorted(OBJECTIVES)
    assert len(methods) > 30
    page = showing(elsewhere, address, made_up_list(methods, (0.01, 1.0, 40.0, 100.0), 4 * len(methods)))
    page.get_by_role("tab", name="Scatter").click()
    marks = page.locator(".legend .dots")
    expect(marks).to_have_count(len(methods))
    before = {name: (colour, marker) for name, colour, marker in marks.evaluate_all(LOOKS)}
    assert len(set(before.values())) == len(methods)
    # As in figures: the same place has the same colour, and markers in the same order.
    shapes = list(dict.fromkeys(before[words.method(method)][1] for method in methods[:10]))
    for place, method in enumerate(methods):
        colour, marker = look(place)
        assert before[words.method(method)] == (colour, shapes[marker]), method
    # Each group is drawn as its legend says.
    drawn = page.locator(".plot .dots").evaluate_all("paths => paths.map(path => path.getAttribute('d'))")
    assert len(drawn) == len(methods)
    assert all(sum(shape in path for shape in shapes) == 1 for path in drawn)
    # Settings that differ ten thousandfold are spread out, unless one wants them otherwise.
    expect(page.get_by_label("logarithmic across")).to_be_checked()
    page.get_by_label("logarithmic across").uncheck()
    expect(page).to_have_url(re.compile("log=0"))
    page.get_by_role("tab", name="Parallel coordinates").click()
    for _ in screens(page):
        expect(page.locator(".plot .axis").first).to_have_text("strength, logarithmic")
    page.get_by_role("tab", name="Scatter").click()
    page.get_by_label("Filter runs").fill("method is VAE or β-VAE or Tripod")
    expect(marks).to_have_count(3)
    assert all(before[name] == (colour, marker) for name, colour, marker in marks.evaluate_all(LOOKS))
