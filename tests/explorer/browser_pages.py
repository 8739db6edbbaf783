"""Pages in a browser, which must not complain, and what tests of the explorer do with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

# The machine may be busy with other tests.
PATIENCE = 90_000
"""Milliseconds to wait for what a page does: the machine may be busy."""
expect.set_options(timeout=PATIENCE)
PIXELS = "canvas => Array.from(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data).join()"
TOURED = "localStorage.getItem('hackle-tour') ?? localStorage.setItem('hackle-tour', 'seen')"
"""A visitor who has taken the tour."""
REFUSED = "Failed to load resource"
"""What the console says of a request that the server refused, or did not answer."""
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
    """Errors that a page reports from now on, and what it asks of another host than the one at this address."""
    found: list[str] = []
    page.on("console", lambda message: found.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: found.append(str(error)))
    page.on(
        "request",
        lambda request: found.append(request.url) if not request.url.startswith((address, "data:", "blob:")) else None,
    )
    return found


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """A page that must not complain."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, accept_downloads=True, base_url=address)
    page = context.new_page()
    page.add_init_script(TOURED)
    page.set_default_timeout(PATIENCE)
    complaints = complaints_of(page, address)
    yield page
    context.close()
    assert complaints == []


@pytest.fixture
def elsewhere(browser: Browser) -> Iterator[Page]:
    """A page for servers of a test's own, where refusals are expected."""
    page = browser.new_page()
    page.add_init_script(TOURED)
    page.set_default_timeout(PATIENCE)
    complaints = complaints_of(page, "http://127.0.0.1:")
    yield page
    page.close()
    assert [text for text in complaints if not text.startswith(REFUSED)] == []


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
