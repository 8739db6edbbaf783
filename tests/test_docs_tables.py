"""Tables of methods, architectures and data sets in the documentation list what there is, and each part has its page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from website.pages import expanded

from hackle.datasets import DATASETS
from hackle.nets import ARCHITECTURES
from hackle.objectives import OBJECTIVES

DOCS = Path(__file__).parents[1] / "docs"


def rows(page: str) -> list[list[str]]:
    """The cells of each row of a page's first table, without its head."""
    lines = (DOCS / page).read_text(encoding="utf-8").splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("|---"))
    table = lines[start + 1 : lines.index("", start)]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in table]


def names(cell: str) -> list[str]:
    return re.findall(r"`([\w.-]+)`", cell)


@pytest.mark.parametrize(
    ("page", "parts"), [("methods/index.md", OBJECTIVES), ("networks.md", ARCHITECTURES)], ids=["methods", "networks"]
)
def test_a_table_lists_every_class_by_its_name(page: str, parts: dict[str, type]) -> None:
    listed = {names(cells[0])[0]: names(cells[1])[0] for cells in rows(page)}
    assert listed == {name: cls.__name__ for name, cls in parts.items()}


def test_every_method_has_a_page() -> None:
    pages = {path.relative_to(DOCS).as_posix(): path.read_text(encoding="utf-8") for path in DOCS.rglob("*.md")}
    listed = expanded(["methods/"], pages)
    assert "  - Methods: methods/\n" in (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8")
    for name in OBJECTIVES:
        assert (DOCS / "methods" / f"{name}.md").is_file(), f"write docs/methods/{name}.md"
        assert f"methods/{name}.md" in listed


def test_the_table_of_data_sets_says_what_their_sources_say() -> None:
    listed = {name: cells for cells in rows("datasets/index.md") for name in names(cells[0])}
    assert listed.keys() == DATASETS.keys()
    for name, cells in listed.items():
        assert cells[1].removesuffix(" each").removesuffix(", drawn anew each time") == DATASETS[name].images, name
        assert ("by hackle" in cells[3]) == DATASETS[name].made_by_hackle, name
