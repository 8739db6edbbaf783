"""A study's page, also in a browser in which it must not complain, for all tests of reports."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from figures import tables as made
from hackle.report import write_study_page
from hackle.store.tables import Tables


@pytest.fixture(scope="session")
def study() -> Tables:
    runs = made.yang2020(3, ("dsprites",)) + made.split_encoder(3, ("dsprites",))
    runs[0] = {**runs[0], "status": "failed", "reason": "step 812: <kl> is not finite"}
    return made.tables(runs, protocols=("yang2020",))


@pytest.fixture(scope="session")
def page(study: Tables, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_study_page(
        study, tmp_path_factory.mktemp("page") / "report.html", folder="studies/first", command="hackle report first"
    )


LOOKS = [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]


@pytest.fixture(params=LOOKS, ids=lambda look: f"{look[0]}-{look[1]}")
def looked_at(opened: Any, request: pytest.FixtureRequest) -> Any:
    """The page on a wide and a narrow screen, light and dark, as the system wishes; it is never wider than the screen."""
    width, theme = request.param
    opened.set_viewport_size({"width": width, "height": 900})
    opened.emulate_media(color_scheme=theme, reduced_motion="reduce")
    paper = opened.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == ("rgb(255, 255, 255)" if theme == "light" else "rgb(20, 23, 27)")
    yield opened
    assert opened.evaluate("document.documentElement.scrollWidth") <= width


@pytest.fixture
def opened(browser: Any, page: Path) -> Iterator[Any]:
    """The page in a browser that reaches nothing but files; its complaints are failures."""
    complaints: list[str] = []
    tab = browser.new_page(viewport={"width": 1280, "height": 900})
    tab.on("console", lambda message: complaints.append(message.text))
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.on("request", lambda request: request.url.startswith(("file:", "data:")) or complaints.append(request.url))
    tab.goto(page.as_uri())
    yield tab
    tab.close()
    assert not complaints
