"""Tabs of a browser for the page of a study."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

LOOKS = [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]
"""A wide and a narrow screen, light and dark."""


@contextmanager
def tab_of(browser: Any) -> Iterator[tuple[Any, list[str]]]:
    """A tab that reaches nothing but files, and its complaints."""
    complaints: list[str] = []
    tab = browser.new_page(viewport={"width": 1280, "height": 900})
    tab.on("console", lambda message: complaints.append(message.text))
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.on("request", lambda request: request.url.startswith(("file:", "data:")) or complaints.append(request.url))
    yield tab, complaints
    tab.close()


def look(tab: Any, width: int, theme: str) -> None:
    """Show the page on a screen of this width, light or dark as the system wishes."""
    tab.set_viewport_size({"width": width, "height": 900})
    tab.emulate_media(color_scheme=theme, reduced_motion="reduce")
    paper = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == ("rgb(255, 255, 255)" if theme == "light" else "rgb(20, 23, 27)")
