"""Tutorials as notebooks: the cells are the page's blocks, and the page on the site leads to its notebook."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from website.notebooks import TUTORIALS, as_json, notebook, tutorials

from test_docs import blocks


@pytest.mark.parametrize("page", tutorials(), ids=lambda page: page.stem)
def test_the_cells_of_a_notebook_are_the_blocks_of_its_page(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    made = json.loads(as_json(page))
    # https://nbformat.readthedocs.io/en/latest/format_description.html
    assert (made["nbformat"], made["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in made["cells"]}) == len(made["cells"])
    code = [cell for cell in made["cells"] if cell["cell_type"] == "code"]
    assert [cell["source"] for cell in code] == [content for info, _, content in blocks(text) if info == "python"]
    assert code
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    words = "\n".join(cell["source"] for cell in made["cells"] if cell["cell_type"] == "markdown")
    assert words.startswith(text.partition("\n")[0])
    assert "```python" not in words
    assert ".md)" not in words
    assert page.name in (TUTORIALS / "index.md").read_text(encoding="utf-8")


def test_pictures_travel_inside_a_notebook(tmp_path: Path) -> None:
    (tmp_path / "dot.svg").write_text("<svg/>")
    (cell,) = notebook("# Dot\n\n![A dot](dot.svg)\n", tmp_path)["cells"]
    assert cell["source"] == "# Dot\n\n![A dot](attachment:dot.svg)"
    assert cell["attachments"] == {"dot.svg": {"image/svg+xml": "PHN2Zy8+"}}


def test_each_page_of_the_site_links_its_notebook(site: Path) -> None:
    for page in tutorials():
        kept = site / "tutorials" / f"{page.stem}.ipynb"
        assert kept.read_text(encoding="utf-8") == as_json(page)
        assert f'href="{page.stem}.ipynb"' in kept.with_suffix(".html").read_text(encoding="utf-8")
