"""Tutorials as notebooks: each page of docs/tutorials is the one source of its page and of its notebook.

Every ```python block, which the tests run, is a cell of code; what stands between is text. MkDocs puts the notebooks into the
site and links each from its page; `python -m website.notebooks FOLDER` writes them for work without the site. None is kept
in the repository.
"""

from __future__ import annotations

import json
import re
import sys
from base64 import b64encode
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

TUTORIALS = Path(__file__).parents[1] / "docs" / "tutorials"
_CODE = re.compile(r"^```python\n(.*?)\n?^```$", re.MULTILINE | re.DOTALL)
_PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)]+)\)")
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:)[^)]+\)")
_TYPES = {".svg": "image/svg+xml", ".webp": "image/webp"}


def tutorials() -> list[Path]:
    """The pages that are notebooks, too: all but the list of them."""
    return sorted(page for page in TUTORIALS.glob("*.md") if page.stem != "index")


def notebook(text: str, folder: Path = TUTORIALS) -> dict[str, Any]:
    """A page's text as a notebook, format 4.5. Pictures travel inside it; links to other pages become their words, since a
    notebook is read anywhere.

    >>> made = notebook("# Sum\\n\\nSee [metrics](../metrics/index.md).\\n\\n```python\\n1 + 1\\n```\\n")
    >>> [(cell["cell_type"], cell["source"]) for cell in made["cells"]]
    [('markdown', '# Sum\\n\\nSee metrics.'), ('code', '1 + 1')]
    """
    cells: list[dict[str, Any]] = []
    # Split by a pattern with one group, text and code take turns.
    for number, part in enumerate(_CODE.split(text)):
        if number % 2:
            cells.append({"cell_type": "code", "source": part, "execution_count": None, "outputs": []})
        elif words := part.strip():
            cells.append({"cell_type": "markdown", **_with_pictures(_LINK.sub(r"\1", words), folder)})
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    numbered = [{"id": f"cell-{number}", "metadata": {}, **cell} for number, cell in enumerate(cells)]
    return {"cells": numbered, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}


def _with_pictures(text: str, folder: Path) -> dict[str, Any]:
    """A cell's text, and the pictures that it shows as its attachments."""
    attached = {}
    for _, path in _PICTURE.findall(text):
        file = folder / path
        attached[file.name] = {_TYPES[file.suffix]: b64encode(file.read_bytes()).decode("ascii")}
    shown = _PICTURE.sub(lambda found: f"![{found[1]}](attachment:{Path(found[2]).name})", text)
    return {"source": shown, **({"attachments": attached} if attached else {})}


def as_json(page: Path) -> str:
    """The notebook of a page, as its file holds it."""
    return json.dumps(notebook(page.read_text(encoding="utf-8")), ensure_ascii=False, indent=1) + "\n"


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """MkDocs calls this once it has listed the pages."""
    for page in tutorials():
        files.append(File.generated(config, f"tutorials/{page.stem}.ipynb", content=as_json(page)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """A tutorial with the link to its notebook below the heading. MkDocs calls this for each page."""
    path = Path(page.file.src_uri)
    if path.parent.name != "tutorials" or path.stem == "index":
        return markdown
    heading, rest = markdown.split("\n", 1)
    return f"{heading}\n\n[This page as a notebook]({path.stem}.ipynb)\n{rest}"


def main() -> int:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "notebooks")
    folder.mkdir(parents=True, exist_ok=True)
    for page in tutorials():
        file = folder / f"{page.stem}.ipynb"
        if file.exists():
            print(f"{file} is there already; move it away, or name another folder", file=sys.stderr)
            return 1
        file.write_text(as_json(page), encoding="utf-8")
        print(file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
