"""The documentation tells the truth: every ```python block runs, page by page, in a folder of its own.

The blocks of a page share one namespace, in order. There is no way to mark a block as not to be run: what is not meant to
run is no python block but text, a console session (```console, ```pycon) or the like. A block that begins with a file's name,
`# my_claims.py`, is that file, too, for the commands after it. An ```output block is what the python blocks since the last
one print: word for word, numbers within a fiftieth, with … for what is left out.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from types import ModuleType

import pytest

from hackle.core.parts import KINDS

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^(?P<indent> *)(?P<mark>`{3,}|~{3,})(?P<info>[^`\n]*)$")


def blocks(text: str) -> list[tuple[str, int, str]]:
    """Info string, first line number and content of each fenced block of a page."""
    found: list[tuple[str, int, str]] = []
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        opening = FENCE.match(lines[at])
        at += 1
        if opening is None:
            continue
        start, closing = at, re.compile(rf"^ *{opening['mark'][0]}{{{len(opening['mark'])},}} *$")
        while at < len(lines) and not closing.match(lines[at]):
            at += 1
        if at == len(lines):
            raise ValueError(f"the block that opens in line {start} is never closed")
        indent = len(opening["indent"])
        content = "\n".join(line[indent:] if line[:indent].isspace() else line for line in lines[start:at])
        found.append((opening["info"].strip(), start + 1, content))
        at += 1
    return found


def agree(shown: Sequence[str], printed: Sequence[str]) -> bool:
    """Whether the words that a page shows are those that were printed, numbers nearly, with … for any number of words."""
    if not shown:
        return not printed
    if shown[0] == "…":
        return any(agree(shown[1:], printed[start:]) for start in range(len(printed) + 1))
    return bool(printed) and _same(shown[0], printed[0]) and agree(shown[1:], printed[1:])


def _same(shown: str, printed: str) -> bool:
    try:
        return float(shown) == pytest.approx(float(printed), rel=0.02, abs=0.02)
    except ValueError:
        return shown == printed


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_python_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    printed = StringIO()
    for info, line, content in blocks(page.read_text(encoding="utf-8")):
        assert not info.startswith("py") or info in ("python", "pycon"), (
            f"{page.name}:{line} is marked {info!r}; python blocks are run, so mark what is not to run as text"
        )
        if info == "python":
            if named := re.match(r"# (\w+\.py)\n", content):
                Path(named[1]).write_text(content, encoding="utf-8")
            # Blank lines before the block give its errors the line numbers of the page.
            with redirect_stdout(printed):
                exec(compile("\n" * (line - 1) + content, str(page), "exec"), module.__dict__)
        if info == "output":
            assert agree(content.split(), printed.getvalue().split()), (
                f"{page.name}:{line} prints\n{printed.getvalue()}"
            )
            printed = StringIO()
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
    forget_parts_below(tmp_path)


def forget_parts_below(folder: Path) -> None:
    """Modules and parts of files in a folder are no longer known to this process."""
    for name, module in [*sys.modules.items()]:
        if (file := getattr(module, "__file__", None)) and Path(file).is_relative_to(folder):
            del sys.modules[name]
    for parts in KINDS.values():
        known = vars(parts).get("found", {})
        for name in [name for name, found in known.items() if found.origin.endswith(".py")]:
            del known[name]


def test_blocks_are_found_with_their_lines() -> None:
    page = "text\n```python\na = 1\n\nb = 2\n```\n- item\n\n  ```text\n  no\n  ```\n````python\n```\n````\n"
    assert blocks(page) == [("python", 3, "a = 1\n\nb = 2"), ("text", 10, "no"), ("python", 13, "```")]
    with pytest.raises(ValueError, match="opens in line 2 is never closed"):
        blocks("text\n```python\na = 1\n")


def test_errors_in_a_page_are_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nx = 1\n```\n\n```python\nassert x == 2\n```\n")
    with pytest.raises(AssertionError) as caught:
        test_the_python_of_a_page_runs(page, tmp_path, monkeypatch)
    assert caught.traceback[-1].lineno == 5
    page.write_text("```python no-run\nx = 1\n```\n")
    with pytest.raises(AssertionError, match="is marked 'python no-run'"):
        test_the_python_of_a_page_runs(page, tmp_path, monkeypatch)


def test_output_is_what_was_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nprint('MIG', 0.5)\nprint('end')\n```\n\n```output\nMIG 0.505\nend\n```\n")
    test_the_python_of_a_page_runs(page, tmp_path, monkeypatch)
    page.write_text("```python\nprint('MIG', 0.5)\n```\n\n```output\nMIG 0.6\n```\n")
    with pytest.raises(AssertionError, match=r"page.md:6 prints\s+MIG 0.5"):
        test_the_python_of_a_page_runs(page, tmp_path, monkeypatch)
    for shown in ("a … d", "… c d", "a b …", "a b c d"):
        assert agree(shown.split(), ["a", "b", "c", "d"])
    for shown in ("a … c", "a b c", "a … c … e", "a b c d e"):
        assert not agree(shown.split(), ["a", "b", "c", "d"])
