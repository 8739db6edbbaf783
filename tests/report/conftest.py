"""A study's page, also in a browser in which it must not complain, for all tests of reports."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from figures import tables as made
from hackle.claims import Judgement, judge
from hackle.report import write_study_page
from hackle.store.tables import Tables
from report.tabs import LOOKS, look, tab_of


@pytest.fixture(scope="session")
def study() -> Tables:
    runs = made.yang2020(3, ("dsprites",)) + made.split_encoder(3, ("dsprites",))
    runs[0] = {**runs[0], "status": "failed", "reason": "step 812: <kl> is not finite"}
    return made.tables(runs, protocols=("yang2020",))


@pytest.fixture(scope="session")
def judged(study: Tables) -> list[Judgement]:
    return judge(study)


@pytest.fixture(scope="session")
def page(study: Tables, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_study_page(
        study, tmp_path_factory.mktemp("page") / "report.html", folder="studies/first", command="hackle report first"
    )


@pytest.fixture(scope="module", params=LOOKS, ids=lambda look: f"{look[0]}-{look[1]}")
def shown(browser: Any, page: Path, request: pytest.FixtureRequest) -> Iterator[tuple[Any, list[str]]]:
    with tab_of(browser) as (tab, complaints):
        tab.goto(page.as_uri())
        look(tab, *request.param)
        yield tab, complaints


@pytest.fixture
def looked_at(shown: tuple[Any, list[str]]) -> Iterator[Any]:
    """The page on a wide and a narrow screen, light and dark, for tests that change nothing of what it says: they share it.
    It never complains and is never wider than the screen."""
    tab, complaints = shown
    tab.evaluate("scrollTo({ top: 0, behavior: 'instant' })")
    yield tab
    assert tab.evaluate("document.documentElement.scrollWidth") <= tab.viewport_size["width"]
    assert not complaints


@pytest.fixture(scope="session")
def window(browser: Any) -> Iterator[tuple[Any, list[str]]]:
    with tab_of(browser) as found:
        yield found


@pytest.fixture
def opened(window: tuple[Any, list[str]], page: Path) -> Iterator[Any]:
    """The page as it is when it was loaded; its complaints are failures."""
    tab, complaints = window
    complaints.clear()
    tab.set_viewport_size({"width": 1280, "height": 900})
    tab.emulate_media(color_scheme="light", reduced_motion="no-preference")
    tab.mouse.move(0, 0)
    tab.goto("about:blank")
    tab.goto(page.as_uri())
    yield tab
    assert not complaints
