"""The site in a real browser, opened from its files: no server, no network, any screen, light and dark."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("playwright")

from playwright.sync_api import Browser, Page, expect

from explorer.browser_pages import PATIENCE

LOOKED_AT = (
    "index.html",
    "tutorials/first-model.html",
    "tutorials/verdict.html",
    "methods/factor-vae.html",
    "metrics/mig.html",
    "datasets/dsprites.html",
    "datasets/cars3d.html",
    "which-metric.html",
    "replication.html",
    "claims.html",
    "own/metric.html",
    "speed.html",
    "reference/scoring.html",
)
AXE = (Path(__file__).parents[1] / "explorer" / "vendor" / "axe.min.js").read_text(encoding="utf-8")
UNREADABLE = """async () => {
  const runOnly = { type: "rule", values: ["color-contrast", "link-in-text-block"] };
  const { violations } = await axe.run("article", { runOnly, resultTypes: ["violations"] });
  return violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => node.html.slice(0, 120)).join(" | ")}`);
}"""
"""Letters with too little contrast, and links that colour alone tells from the words beside them."""
BROKEN = "[...document.querySelectorAll('article .whole')].filter((e) => e.getClientRects().length > 1).map((e) => e.innerText)"
"""Options and formulas with their stops that stand in two lines."""
WIDER = "document.documentElement.scrollWidth - innerWidth"
CUT = """() => [...document.querySelectorAll('article img')]
    .filter((e) => e.getBoundingClientRect().right > document.querySelector('article').getBoundingClientRect().right + 1)
    .map((e) => e.src)"""
"""Pictures that do not fit into the column of text."""
FETCHED = re.compile(
    r"""<(?:script|img|iframe|source|video|link rel="(?:stylesheet|icon|preload|preconnect)")[^>]*"""
    r"""(?:src|href)="(?:https?:)?//|url\(["']?(?:https?:)?//|@import"""
)
"""What a browser would fetch from another host."""


def opened(browser: Browser, width: int, scheme: str, complaints: list[str]) -> Page:
    """A page of this size that notes every error and every request to another place than the files."""
    page = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme).new_page()  # type: ignore[arg-type]
    page.set_default_timeout(PATIENCE)
    page.on(
        "console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None
    )
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("requestfailed", lambda request: complaints.append(f"failed: {request.url}"))
    page.on(
        "request",
        lambda request: None if request.url.startswith(("file:", "data:", "blob:")) else complaints.append(request.url),
    )
    return page


@pytest.mark.parametrize(("width", "other", "scheme"), [(1280, 390, "light"), (390, 1280, "dark")])
def test_pages_open_from_files_without_complaint(
    browser: Browser, site: Path, width: int, other: int, scheme: str
) -> None:
    """Pages are opened wide and narrow, light and dark, and made narrow and wide while they are open."""
    complaints: list[str] = []
    page = opened(browser, width, scheme, complaints)
    for name in LOOKED_AT:
        page.set_viewport_size({"width": width, "height": 800})
        page.goto((site / name).as_uri())
        assert page.evaluate(WIDER) <= 0, name
        # Pictures of many letters scroll on a phone.
        assert width < 1000 or page.evaluate(CUT) == [], name
        assert page.evaluate(BROKEN) == [], name
        page.evaluate(AXE)
        assert page.evaluate(UNREADABLE) == [], name
        # The menu takes a moment to move to its other place.
        page.set_viewport_size({"width": other, "height": 800})
        page.wait_for_function(f"{WIDER} <= 0")
        assert page.evaluate(BROKEN) == [], name
        if page.locator("math").count():
            assert page.evaluate("document.fonts.load('16px \"STIX Two Math\"').then((fonts) => fonts.length)") == 1
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
    assert (sum(paper) < 300) == (scheme == "dark")
    page.context.close()
    assert complaints == []


def test_no_page_fetches_anything_from_another_host(site: Path) -> None:
    pages = [*site.rglob("*.html"), *site.rglob("*.css")]
    assert len(pages) > 100
    assert [path.name for path in pages if FETCHED.search(path.read_text(encoding="utf-8"))] == []
    assert FETCHED.search('<script defer src="https://cdn.example/a.js">')
    assert FETCHED.search("src: url(//fonts.example/a.woff2)")


def test_no_page_is_wider_than_a_phone_and_no_formula_leaves_its_place(browser: Browser, site: Path) -> None:
    complaints: list[str] = []
    page = opened(browser, 390, "light", complaints)
    page.goto((site / "index.html").as_uri())
    wide = []
    # Contents are put into one page in turn, which takes a tenth of the time of opening each.
    for path in sorted(site.rglob("*.html")):
        content = path.read_text(encoding="utf-8").partition("<article")[2].partition(">")[2].partition("</article>")[0]
        content = content.replace('src="', 'data-src="')
        found = page.evaluate(
            "html => { const place = document.querySelector('article'); place.innerHTML = html; return [" + WIDER + ","
            " [...place.querySelectorAll('.formula')].filter((e) => e.getBoundingClientRect().right > innerWidth).length]; }",
            content,
        )
        if found[0] > 0 or found[1]:
            wide.append(path.relative_to(site).as_posix())
    page.context.close()
    assert wide == []
    assert complaints == []


@pytest.mark.parametrize("width", [1280, 390])
def test_search_works_from_files(browser: Browser, site: Path, width: int) -> None:
    complaints: list[str] = []
    page = opened(browser, width, "light", complaints)
    page.goto((site / "index.html").as_uri())
    page.locator(".js").first.wait_for()
    if width < 1000:
        page.locator("label.md-header__button[for=__search]").click()
    page.locator("input.md-search__input").click()
    page.keyboard.type("FactorVAE")
    result = page.locator(".md-search-result__link[href*='methods/factor-vae.html']").first
    expect(result).to_be_visible()
    result.click()
    expect(page.locator("h1")).to_contain_text("FactorVAE")
    page.context.close()
    assert complaints == []


def test_the_reader_chooses_light_or_dark(browser: Browser, site: Path) -> None:
    complaints: list[str] = []
    page = opened(browser, 1280, "light", complaints)
    page.goto((site / "index.html").as_uri())
    seen = [page.locator("body").get_attribute("data-md-color-scheme")]
    for _ in range(2):
        page.locator("form[data-md-component=palette] label:visible").click()
        seen.append(page.locator("body").get_attribute("data-md-color-scheme"))
    assert seen == ["default", "default", "slate"]
    # The choice is kept on the next page.
    page.goto((site / "metrics" / "mig.html").as_uri())
    expect(page.locator("body")).to_have_attribute("data-md-color-scheme", "slate")
    colours = (
        "new Set([...document.querySelectorAll('.highlight code span')].map((e) => getComputedStyle(e).color)).size"
    )
    assert page.evaluate(colours) >= 4
    page.context.close()
    assert complaints == []
