"""What models, filters and curves do, they do at both widths, light and dark; plots have such a test of their own."""

from __future__ import annotations

import re

import pytest
from browser_pages import UNNAMED, changed, in_css, names, open_model, screens
from playwright.sync_api import Page, expect


def test_a_model(page: Page, ids: dict[str, str]) -> None:
    open_model(page, ids)
    row, film = page.locator(".latent").first, page.locator(".traversal .film").first
    field = row.locator("input.value")
    values = page.locator(".traversal .axis").first.locator("span").all_text_contents()
    for at, theme in enumerate(screens(page)):
        expect(page.locator(".sentence")).to_be_visible()
        expect(row.locator(".known")).to_have_text(re.compile("^data .* … .*, prior −2 … 2$"))
        expect(row.locator(".span.data")).to_have_css("background-color", in_css(theme.palette[0]))
        box = film.bounding_box()
        assert box is not None
        tile = (10, 3, 7, 0)[at]
        x = (tile + 0.5) * box["width"] / 11
        changed(page, "canvas.picture", lambda x=x: film.click(position={"x": x, "y": 4}))
        shown = float(field.input_value().replace("−", "-"))
        assert shown == pytest.approx(float(values[tile].replace("−", "-")), abs=0.051)
        mark = film.locator(".mark").bounding_box()
        assert mark is not None
        assert mark["x"] + mark["width"] / 2 - box["x"] == pytest.approx(x, abs=0.2 * box["width"] / 11)
        field.fill("1e40")
        field.press("Enter")
        expect(row.locator(".refused[role=alert]")).to_have_css("color", in_css(theme.bad))
        field.press("Escape")
        expect(row.locator(".refused[role=alert]")).to_be_empty()
        tools = page.get_by_role("tablist", name="Tools")
        assert tools.evaluate("tabs => tabs.scrollWidth - tabs.clientWidth") <= 0
        for tool in ("Two latents", "Interpolate", "Prior samples", "Traversals"):
            page.get_by_role("tab", name=tool).click()
            expect(page.locator(".tool canvas").first).to_be_visible()
            if tool == "Interpolate":
                expect(page.locator(".between .axis span").last).to_have_text("100%")
        page.wait_for_selector(".tool[data-drawn]")


CROWDED = """async () => {
  const { heatMap } = await import("./js/heatmap.js");
  const names = Array.from({ length: 10 }, (_, at) => `z${at}`), values = names.map(() => names.map(() => 0.888));
  const map = heatMap({ title: "ten codes", rows: names, columns: names, values });
  document.querySelector(".map").append(map);
  const cells = [...map.querySelectorAll("tbody td")], range = document.createRange();
  const wide = cells.filter((cell) => {
    range.selectNodeContents(cell);
    return range.getBoundingClientRect().width > cell.getBoundingClientRect().width;
  });
  const found = [wide.length, Math.max(0, map.scrollWidth - map.clientWidth)];
  map.remove();
  return found;
}"""
"""Of a matrix of ten codes, the cells that are narrower than their numbers, and how much of it is out of sight."""


def test_what_was_captured(page: Page, ids: dict[str, str]) -> None:
    page.goto(f"/#/run/{ids['beta']}/captured")
    expect(page.locator(".responses .line").first).to_be_visible()
    for theme in screens(page):
        for view in ("MIG", "RMIG"):
            page.get_by_role("tab", name=view, exact=True).click()
            expect(page.locator(".heat tbody td").first).to_have_text(re.compile(r"^\d\.\d\d$|^<0\.01$"))
            # What was asked for is not covered by what the word means.
            expect(page.locator("#tip")).to_be_hidden()
        assert page.evaluate(CROWDED) == [0, 0]
        expect(page.locator(".scores .unit")).to_have_text("nats")
        expect(page.locator(".scores .way i").first).to_have_css("background-color", in_css(theme.palette[0]))
        expect(page.locator(".responses .chart path.line").first).to_have_css("stroke", in_css(theme.palette[0]))


def test_filters(page: Page) -> None:
    page.goto("/")
    field, said = page.get_by_label("Filter runs"), page.locator(".filter-words")
    for theme in screens(page):
        # A method's weight has the method's own symbol.
        expect(page.locator("tr[data-id]", has=page.get_by_role("link", name="beta"))).to_contain_text("β-VAEβ = 2")
        field.fill("mig>0.01, method is not β-VAE, migg is 1")
        expect(page.locator(".condition")).to_have_text(["MIG > 0.01 ×", "method is not β-VAE ×"])
        expect(said.locator(".unknown")).to_have_text("no column ‘migg’; did you mean mig?")
        expect(said.locator(".unknown")).to_have_css("color", in_css(theme.warm))
        assert names(page) == ["plain"]
        expect(page).to_have_url(re.compile("filter=mig"))
        page.get_by_role("button", name="Remove the condition method is not β-VAE").click()
        assert names(page) == ["plain", "beta"]
        field.fill("")
        expect(page.get_by_text("5 runs")).to_be_visible()


def test_curves(page: Page, ids: dict[str, str]) -> None:
    page.goto(f"/#/run/{ids['beta']}/training")
    charts, captions = page.locator(".chart svg.zooms"), page.locator(".chart figcaption")
    expect(charts).to_have_count(3)
    for theme in screens(page):
        assert page.evaluate(UNNAMED) == []
        expect(page.locator(".chart .axis.x")).to_have_text(["step"] * 3)
        expect(page.locator(".chart .axis.y")).to_have_text(["nats"] * 3)
        expect(page.locator(".chart path.line").first).to_have_css("stroke", in_css(theme.palette[0]))
        page.get_by_label("Smoothing").fill("0.6")
        expect(page.locator(".line.raw")).to_have_count(4)
        page.get_by_role("checkbox", name="Logarithmic").check()
        expect(page.get_by_role("img", name="reconstruction, across: step, up: nats, logarithmic")).to_be_visible()
        page.get_by_role("checkbox", name="Logarithmic").uncheck()
        page.get_by_label("Smoothing").fill("0")
        charts.first.hover()
        expect(captions.nth(1)).to_have_text(re.compile(r"^KL at step \d+: 0\.\d"))
        expect(page.locator(".chart .cursor[visibility=visible]")).to_have_count(3)
        page.mouse.move(0, 0)
        page.get_by_label("From step").fill("40")
        page.get_by_label("From step").press("Enter")
        expect(charts.nth(2).locator("text[text-anchor=middle]").first).to_have_text("40")
        page.get_by_role("button", name="All steps").click()
        expect(page.get_by_label("From step")).to_have_value("10")
