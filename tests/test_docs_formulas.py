"""The site's formulas: every one of them is drawn, and code that has dollars in it is left alone."""

from __future__ import annotations

import importlib.util
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from markdown import markdown

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").rglob("*.md"))


@pytest.fixture(scope="module")
def formulas() -> Any:
    spec = importlib.util.spec_from_file_location("mkdocs_formulas", ROOT / "mkdocs_formulas.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_formulas_become_mathml_and_code_stays(formulas: Any) -> None:
    page = "<p>$q(z) &lt; 1$ and $$\\sum_j z_j$$</p><pre><code>echo $HOME $PATH</code></pre><p><code>$x$</code></p>"
    drawn = formulas.on_page_content(page)
    assert drawn.count("<math") == 2
    assert drawn.count('display="block"') == 1
    assert "<mo><</mo>" in unescape(drawn)
    assert drawn.endswith("<pre><code>echo $HOME $PATH</code></pre><p><code>$x$</code></p>")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT / "docs").as_posix())
def test_no_formula_of_a_page_stays_behind(formulas: Any, path: Path) -> None:
    page = formulas.on_page_content(markdown(path.read_text(encoding="utf-8"), extensions=["tables", "fenced_code"]))
    text = re.sub(r"<(pre|code)\b.*?</\1>", "", page, flags=re.DOTALL)
    assert "$" not in text
    # A command that the converter does not know is left as its name.
    assert not re.findall(r"<m[ion]>\\", text)
