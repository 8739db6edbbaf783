"""Pages in a browser, which must not complain, and what tests of the explorer do with them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, expect

from hackle.core.palette import THEMES, Theme

# The machine may be busy with other tests.
PATIENCE = 90_000
"""Milliseconds to wait for what a page does: the machine may be busy."""
expect.set_options(timeout=PATIENCE)
PIXELS = "canvas => Array.from(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data).join()"
TOURED = "localStorage.getItem('hackle-tour') ?? localStorage.setItem('hackle-tour', 'seen')"
"""A visitor who has taken the tour."""
GONE = re.compile(r"Failed to load resource: (the server responded with a status of 404|net::ERR_)")
"""What the console says of a request for what is not there any more, or that no server answers."""
ANYWHERE = "http://127.0.0.1:"
"""The addresses of all servers of tests."""
UNNAMED = """() => {
  const seen = (node) => !node.closest("[aria-hidden=true]"), all = (what) => [...document.querySelectorAll(what)].filter(seen);
  const texts = (node) => [node.getAttribute("aria-label"), node.title, node.textContent, node.labels?.[0]?.textContent];
  const used = all("a, button, input, select, summary, [tabindex='0'], [role=tabpanel]");
  const drawn = all("canvas, svg").filter((node) => !node.closest("button"));
  const picture = (node) => node.getAttribute("role") === "img" && node.getAttribute("aria-label");
  return [...used.filter((node) => !texts(node).some((text) => text?.trim())), ...drawn.filter((node) => !picture(node))]
    .map((node) => node.outerHTML.slice(0, 120));
}"""


def complaints_of(page: Page, address: str) -> list[str]:
    """Errors that a page reports from now on, and what it asks of another host than the one at this address. That a run or
    a server is gone is no error where there are servers of tests' own."""
    found: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        if message.type == "error" and not (address == ANYWHERE and GONE.match(message.text)):
            found.append(message.text)

    page.on("console", hear)
    page.on("pageerror", lambda error: found.append(str(error)))
    page.on(
        "request",
        lambda request: found.append(request.url) if not request.url.startswith((address, "data:", "blob:")) else None,
    )
    return found


class Windows:
    """Pages that tests use in turn, each by its name: a new page, for which every script is read anew, takes three times
    as long to show a model as one that has shown one before."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._open: dict[str, tuple[Page, list[str]]] = {}

    @contextmanager
    def lent(self, name: str, session: pytest.Session, address: str, *scripts: str, **options: Any) -> Iterator[Page]:
        """A page of a visitor who has taken the tour, which must not complain. It begins as a new one does, since what a
        test left there is removed, and after a failure the page itself."""
        if name not in self._open:
            page = self._browser.new_context(**options).new_page()
            for script in (TOURED, *scripts):
                page.add_init_script(script)
            page.set_default_timeout(PATIENCE)
            self._open[name] = page, complaints_of(page, address)
        page, complaints = self._open[name]
        complaints.clear()
        failures = session.testsfailed
        yield page
        found = complaints.copy()
        if found or session.testsfailed > failures:
            page.context.close()
            del self._open[name]
        else:
            _tidy(page, options.get("viewport") or VIEWPORT)
        assert found == []


VIEWPORT = {"width": 1280, "height": 720}
"""Of pages for which no other is asked."""


def _tidy(page: Page, viewport: Any) -> None:
    """A page as a new one is, but for the scripts that it has in its cache. What it stored belongs to an address, of which
    one that was never anywhere has none."""
    origin = page.evaluate("location.origin")
    page.unroute_all(behavior="ignoreErrors")
    page.goto("about:blank")
    if origin != "null":
        devtools = page.context.new_cdp_session(page)
        devtools.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "all"})
        devtools.detach()
    page.emulate_media(color_scheme="light", reduced_motion="no-preference")
    page.set_viewport_size(viewport)
    page.mouse.move(0, 0)


@pytest.fixture(scope="session")
def windows(browser: Browser) -> Windows:
    return Windows(browser)


@pytest.fixture
def page(windows: Windows, address: str, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page that must not complain."""
    options = {"viewport": {"width": 1280, "height": 800}, "accept_downloads": True, "base_url": address}
    with windows.lent("page", request.session, address, **options) as page:
        yield page


@pytest.fixture
def elsewhere(windows: Windows, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page for servers of a test's own, whose runs may be gone."""
    with windows.lent("elsewhere", request.session, ANYWHERE) as page:
        yield page


@pytest.fixture
def unused(browser: Browser) -> Iterator[Page]:
    """A page that no test has used and none will use, for servers of a test's own."""
    page = browser.new_page()
    page.add_init_script(TOURED)
    page.set_default_timeout(PATIENCE)
    complaints = complaints_of(page, ANYWHERE)
    yield page
    page.close()
    assert complaints == []


SCREENS: list[tuple[int, Literal["light", "dark"]]] = [(1280, "light"), (1280, "dark"), (390, "dark"), (390, "light")]
"""Every width in both sets of colours, so that each step changes one of them."""


def screens(page: Page, *widths: int) -> Iterator[Theme]:
    """The view at hand at both widths, or those given, and in both sets of colours, chosen by the page's own button, and what
    its colours are then; afterwards nothing may be wider than the screen."""
    for width, name in SCREENS:
        if widths and width not in widths:
            continue
        page.set_viewport_size({"width": width, "height": 800})
        if page.locator("html").get_attribute("data-theme") != name:
            page.get_by_role("button", name="Light or dark").click()
        expect(page.locator("body")).to_have_css("background-color", in_css(THEMES[name].paper))
        yield THEMES[name]
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, f"{width} {name}"


def in_css(colour: str) -> str:
    """A colour as a browser says it."""
    return f"rgb({', '.join(str(int(colour[at : at + 2], 16)) for at in (1, 3, 5))})"


def names(page: Page) -> list[str]:
    return page.locator("table.runs tbody th[scope=row] a").all_inner_texts()


def open_model(page: Page, ids: dict[str, str], name: str = "beta") -> None:
    page.goto(f"/#/run/{ids[name]}")
    page.wait_for_selector(".tool[data-drawn]")


def shows(canvas: Locator, pixels: str) -> None:
    """Wait until a canvas shows these."""
    for _ in range(PATIENCE // 100):
        if canvas.evaluate(PIXELS) == pixels:
            return
        canvas.page.wait_for_timeout(100)
    raise AssertionError("the canvas shows something else")


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
