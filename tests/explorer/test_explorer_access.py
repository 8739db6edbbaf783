"""Whoever uses the explorer: axe-core finds no violation of WCAG AA in any view, no letter is too small, and keys suffice.

axe-core is vendored, so that no test needs a network: vendor/axe.min.js is version 4.14.0 as npm has it, under the Mozilla
Public License 2.0, vendor/axe.LICENSE.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from browser_pages import PATIENCE, UNNAMED, Windows, complaints_of, in_css, open_model, screens
from playwright.sync_api import Browser, Page, expect

AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text(encoding="utf-8")
VIOLATIONS = """async ([place, ...rules]) => {
  const standard = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
  const runOnly = rules.length ? { type: "rule", values: rules } : { type: "tag", values: standard };
  const found = await axe.run(place, { runOnly, resultTypes: ["violations"] });
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) =>
    node.html.slice(0, 130) + " " + (node.any[0]?.message ?? "")).slice(0, 3).join(" | ")}`);
}"""
SMALL = """least => {
  const found = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const holder = node.parentElement, box = holder.getBoundingClientRect();
    if (!node.data.trim() || !box.width || !box.height || !holder.checkVisibility({ visibilityProperty: true })) continue;
    if (holder.closest("script, noscript, .hidden, [aria-hidden=true].waiting")) continue;
    const scale = holder instanceof SVGElement ? holder.getScreenCTM().a : 1;
    const size = parseFloat(getComputedStyle(holder).fontSize) * scale;
    if (size < least - 0.01) found.push(`${size.toFixed(1)} px: ${node.data.trim().slice(0, 40)}`);
  }
  return found;
}"""
FREE = """() => {
  const box = (what) => document.querySelector(what).getBoundingClientRect();
  return box("#tour").bottom <= box(".toured").top;
}"""
"""Whether the tour leaves free what it speaks of, for which the page makes room in the next frame."""
SCREENS = [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]


def refused(page: Page, place: str = "html") -> list[str]:
    """What is wrong with a place in the view at hand, at both widths and in both sets of colours."""
    wrong = []
    for width, theme in SCREENS:
        page.set_viewport_size({"width": width, "height": 800})
        page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
        # Of all that is required, colours alone change with the theme.
        rules = ["color-contrast"] if theme == "dark" else []
        wrong += [f"{width} {theme} {text}" for text in page.evaluate(VIOLATIONS, [place, *rules])]
        if theme == "light":
            wrong += [f"{width}: no name: {text}" for text in page.evaluate(UNNAMED)]
            wrong += [f"{width} {text}" for text in page.evaluate(SMALL, 11)]
            wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
            wrong += [f"{width}: {wide} px too wide"] * (wide > 0)
    page.set_viewport_size({"width": 1280, "height": 800})
    return wrong


@pytest.fixture
def seen(windows: Windows, address: str, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page with axe-core in it, whose colours change at once."""
    options = {"viewport": {"width": 1280, "height": 800}, "base_url": address}
    with windows.lent("seen", request.session, address, AXE, **options) as page:
        page.emulate_media(reduced_motion="reduce")
        yield page


def test_the_list_and_comparisons(seen: Page, ids: dict[str, str]) -> None:
    seen.goto("/")
    seen.wait_for_selector(".tiny img.here")
    assert refused(seen) == []
    explained(seen, ".runs thead [data-term=MIG]", "mutual information gap")
    for view in ("Scatter", "Parallel coordinates"):
        seen.get_by_role("tab", name=view).click()
        expect(seen.locator(".plot")).to_be_visible()
        assert refused(seen, ".listing") == [], view
    seen.goto(f"/#/compare/{ids['beta']},{ids['plain']}")
    expect(seen.locator(".columns .heat")).to_have_count(2)
    every_tint(seen)
    assert refused(seen) == []
    explained(seen, ".plain [data-term=reference]", "perfect codes")


def explained(page: Page, selector: str, meaning: str) -> None:
    """A word has its tooltip, which all can read."""
    for width, theme in SCREENS:
        page.set_viewport_size({"width": width, "height": 800})
        page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
        page.locator(selector).first.focus()
        expect(page.locator("#tip")).to_contain_text(meaning)
        rules = ["color-contrast"] if theme == "dark" else []
        assert page.evaluate(VIOLATIONS, ["#tip", *rules]) == [], f"{width} {theme}"
        page.keyboard.press("Escape")
        page.evaluate("document.activeElement.blur()")
    page.set_viewport_size({"width": 1280, "height": 800})


def every_tint(page: Page) -> None:
    """A model of little training has pale cells: here is every tint."""
    page.locator(".heat tbody td").evaluate_all(
        "cells => cells.forEach((cell, at) => cell.style.setProperty('--share', (at % 9) / 8))"
    )


@pytest.mark.parametrize("name", ["beta", "gan"])
def test_exploring(seen: Page, ids: dict[str, str], name: str) -> None:
    open_model(seen, ids, name)
    seen.get_by_text("Choose an image").click()
    seen.wait_for_selector(".strip button")
    seen.get_by_text("Factor combination").click()
    assert refused(seen) == []
    for tool, wait in {
        "Two latents": ".pad[data-drawn]",
        "Interpolate": ".between",
        "Prior samples": ".samples canvas",
    }.items():
        seen.get_by_role("tab", name=tool).click()
        seen.wait_for_selector(wait)
        assert refused(seen, ".tools-below") == [], tool


def test_a_field_that_refuses_and_an_open_menu(seen: Page, ids: dict[str, str]) -> None:
    open_model(seen, ids)
    seen.locator("input.value").first.fill("1e40")
    seen.locator("input.value").first.press("Enter")
    seen.locator(".exports summary").click()
    for place in (".panel-latents", ".title"):
        assert refused(seen, place) == []


@pytest.mark.parametrize("name", ["beta", "gan"])
def test_what_was_captured(seen: Page, ids: dict[str, str], name: str) -> None:
    seen.goto(f"/#/run/{ids[name]}/captured")
    seen.wait_for_selector(".tops canvas")
    seen.wait_for_selector(".responses .chart")
    every_tint(seen)
    assert refused(seen) == []
    for name, caption in {"MIG": "20 bins", "DCI": "Importance", "MISJED": "MISJED of pairs"}.items():
        seen.get_by_role("tab", name=name, exact=True).click()
        expect(seen.locator(".heat caption")).to_contain_text(caption)
        every_tint(seen)
        assert refused(seen, ".card:has(.heat)") == [], name


def test_training_record_and_what_is_not_there(seen: Page, ids: dict[str, str]) -> None:
    for place, wait in {
        f"#/run/{ids['training']}/training": ".chart",
        f"#/run/{ids['beta']}/record": "pre",
        f"#/run/{ids['broken']}": ".note:has-text('this run cannot be read: ') + pre",
    }.items():
        seen.goto(f"/{place}")
        seen.wait_for_selector(wait)
        assert refused(seen) == [], place
    explained(seen, ".note [data-term=run]", "the record of one training run")


@pytest.fixture
def newcomer(browser: Browser, address: str) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 800}, base_url=address)
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.add_init_script(AXE)
    complaints = complaints_of(page, address)
    yield page
    context.close()
    assert complaints == []


@pytest.mark.parametrize("width", [1280, 390])
def test_a_tour_of_five_steps_on_the_first_visit(newcomer: Page, width: int) -> None:
    page = newcomer
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(reduced_motion="reduce")
    page.goto("/")
    tour = page.get_by_role("dialog")
    expect(tour).to_contain_text("Step 1 of 5")
    expect(page.locator(".viewport")).to_have_class("viewport toured")
    page.wait_for_function(FREE)
    assert page.evaluate(VIOLATIONS, ["html"]) == []
    # The second step opens a model, and each step marks what it speaks of.
    tour.get_by_role("button", name="Next").click()
    for step, marked in enumerate((".sentence", ".latents", ".traversals", '[data-key="captured"]'), start=2):
        for theme in screens(page, width):
            expect(tour).to_contain_text(f"Step {step} of 5")
            expect(tour).to_have_css("background-color", in_css(theme.raised))
            expect(page.locator(f"{marked}.toured")).to_have_css("outline-color", in_css(theme.warm))
            expect(page.locator(f"{marked}.toured")).to_be_in_viewport()
            page.wait_for_function(FREE)
            assert page.evaluate(VIOLATIONS, ["#tour", "color-contrast"]) == []
        tour.get_by_role("button", name="Back").focus()
        if step < 5:
            page.keyboard.press("ArrowRight")
    assert page.evaluate(VIOLATIONS, ["#tour"]) == []
    page.keyboard.press("ArrowLeft")
    expect(tour).to_contain_text("Step 4 of 5")
    tour.get_by_role("button", name="Next").click()
    tour.get_by_role("button", name="Done").click()
    expect(tour).to_be_hidden()
    # It is not shown again, but there when it is asked for, and left by a key.
    page.reload()
    page.wait_for_selector(".tool[data-drawn]")
    expect(tour).to_be_hidden()
    page.get_by_role("button", name="Tour").press("Enter")
    expect(tour.get_by_role("button", name="Next")).to_be_focused()
    page.keyboard.press("Escape")
    expect(tour).to_be_hidden()
    expect(page.get_by_role("button", name="Tour")).to_be_focused()


def test_the_tour_can_be_skipped(newcomer: Page) -> None:
    newcomer.goto("/")
    newcomer.get_by_role("button", name="Skip the tour").click()
    expect(newcomer.get_by_role("dialog")).to_be_hidden()
    newcomer.reload()
    # The script that brings it shows it at once, or not at all.
    newcomer.wait_for_selector("#tour", state="attached")
    expect(newcomer.get_by_role("dialog")).to_be_hidden()


NAMED = """
  const named = (node) => {
    const label = node.getAttribute("aria-label") ?? node.getAttribute("href") ?? node.textContent.slice(0, 60);
    return [node.localName, node.type, node.id, label].join(" ");
  };"""
"""What a control is called: a list that is read again meanwhile makes its rows anew."""
REACHED = (
    "() => {"
    + NAMED
    + """
  const node = document.activeElement;
  const shown = [node, node.nextElementSibling, node.closest("label")].filter(Boolean).map((one) => getComputedStyle(one));
  window.reached ??= new Map();
  window.reached.set(named(node), shown.some((style) => style.outlineStyle !== "none"));
  return node.localName;
}"""
)
"""Notes what has the focus, and whether that can be seen."""
USED = (
    "() => {"
    + NAMED
    + """
  const can = "a[href], button, input, select, summary, [tabindex='0']";
  // Of radio buttons, as of tabs, one is a stop.
  const stop = (node) => node.tabIndex >= 0 && !node.disabled && node.type !== "radio" && node.checkVisibility();
  const nodes = [...document.querySelectorAll(can)].filter(stop), text = (node) => node.outerHTML.slice(0, 90);
  return [nodes.length, nodes.filter((node) => !window.reached.has(named(node))).map(text),
    nodes.filter((node) => window.reached.get(named(node)) === false).map(text)];
}"""
)
"""How many controls there are, those that were not reached, and those that did not show that they were."""
LISTED = """() => {
  const rows = document.querySelectorAll("tr[data-id]").length;
  return !rows || rows === parseInt(document.querySelector(".listing .count").textContent);
}"""
"""Whether a list of few runs has the rows, too, that it draws a moment after those in sight."""


@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (390, "dark")])
def test_every_control_is_reached_by_the_tab_key(
    page: Page, ids: dict[str, str], width: int, theme: Literal["light", "dark"]
) -> None:
    """All that can be used has its turn in every view, shows that it has it, and lets go of it."""
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=theme)
    for place, drawn in {
        f"run/{ids['beta']}": ".tool[data-drawn]",
        f"run/{ids['beta']}/captured": ".tops canvas",
        f"run/{ids['beta']}/training": ".chart",
        f"compare/{ids['beta']},{ids['gan']}": ".colour-scale",
        "": "tr[data-id]",
        "?view=scatter": ".plot",
        "?view=parallel": ".plot",
    }.items():
        page.goto(f"/#/{place}")
        # Else the Tab key would go on from where it was in the view before.
        page.reload()
        page.wait_for_selector(drawn)
        page.wait_for_function(LISTED)
        for _ in range(150):
            page.keyboard.press("Tab")
            if page.evaluate(REACHED) == "body":
                break
        assert page.evaluate("document.activeElement.localName") == "body", place
        used, missed, unseen = page.evaluate(USED)
        assert used > 12, place
        assert (missed, unseen) == ([], []), place
