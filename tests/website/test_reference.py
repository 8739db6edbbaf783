"""The reference that is built from docstrings names everything that is public, and shows it well."""

from __future__ import annotations

import re
from html import unescape
from importlib import import_module
from pathlib import Path

import pytest

import hackle
from hackle.core.parts import HOMES, parts_of
from hackle.metrics import METRICS

ROOMS = (
    *("datasets", "objectives", "nets", "train", "scoring", "metrics", "information", "pictures", "studies", "engine"),
    *("store", "claims", "selection", "figures", "report"),
)


@pytest.fixture(scope="module")
def names(site: Path) -> set[str]:
    """Every name that the reference explains."""
    pages = [page.read_text(encoding="utf-8") for page in (site / "reference").glob("*.html")]
    return {name for page in pages for name in re.findall(r'\bid="(hackle\.[\w.]+)"', page)}


def test_every_name_of_the_package_is_in_the_reference(names: set[str], site: Path) -> None:
    expected = {f"hackle.{name}" for name in hackle.__all__} - {"hackle.metrics", "hackle.__version__"}
    assert expected - names == set()
    index = (site / "reference" / "index.html").read_text(encoding="utf-8")
    assert "<code>hackle.metrics</code>" in index
    assert "<code>hackle.__version__</code>" in index


@pytest.mark.parametrize("room", ROOMS)
def test_every_name_of_a_room_is_in_the_reference(room: str, names: set[str]) -> None:
    missing = {name for name in import_module(f"hackle.{room}").__all__ if f"hackle.{room}.{name}" not in names}
    assert missing == set(), f"give {', '.join(sorted(missing))} of hackle.{room} a docstring"


def test_methods_and_networks_are_explained_by_their_classes_and_metrics_by_a_function(names: set[str]) -> None:
    for kind, room in (("method", "objectives"), ("architecture", "nets")):
        expected = {f"hackle.{room}.{part.__name__}" for part in parts_of(kind).values()}
        assert expected - names == set()
    # What a metric's module defines or, as that of the total correlations, takes from hackle.information.
    for metric in METRICS.values():
        module = import_module(metric.compute.__module__)
        assert any(f"hackle.metrics.{name}" in names for name in vars(module)), metric.name


@pytest.mark.parametrize("kind", HOMES)
def test_every_part_is_listed_by_its_name(kind: str, site: Path) -> None:
    page = unescape((site / "reference" / "parts.html").read_text(encoding="utf-8")).replace("<wbr>", "")
    listed = set(re.findall(r"<td><code>(.*?)</code></td>", page))
    assert set(parts_of(kind)) - listed == set()


def test_docstrings_are_shown_as_they_are_meant(site: Path) -> None:
    for page in (site / "reference").glob("*.html"):
        content = page.read_text(encoding="utf-8").partition("<article")[2].partition("</article>")[0]
        content = re.sub(r"<pre\b.*?</pre>", "", content, flags=re.DOTALL)
        # A doctest outside of code is a quotation to Markdown; a single star or underscore becomes emphasis.
        assert "<blockquote" not in content, page.name
        assert not re.findall(r"<em>.*?</em>", content), page.name
        assert "&gt;&gt;&gt;" not in content, page.name
        # A reference in brackets that leads nowhere is left as it was written.
        assert "][]" not in content, page.name
