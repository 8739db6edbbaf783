"""Write what a page's python blocks print into its output blocks: `python -m benchmarks.outputs docs/tutorials/verdict.md …`.

A test compares the two, numbers within a fiftieth (tests/test_docs.py); this makes them equal again after the table of results
has changed. A block in which … stands for what is left out stays as it is.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

BLOCK = re.compile(r"^```(python|output)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def with_outputs(page: str) -> str:
    """The page with each output block as the python blocks since the last one print it; they share one namespace.

    >>> print(with_outputs("```python\\nprint(1 + 1)\\n```\\n\\n```output\\n3\\n```"))
    ```python
    print(1 + 1)
    ```
    <BLANKLINE>
    ```output
    2
    ```
    """
    namespace: dict[str, Any] = {"__name__": "page"}
    printed = StringIO()

    def block(found: re.Match[str]) -> str:
        nonlocal printed
        kind, content = found.groups()
        if kind == "python":
            with redirect_stdout(printed):
                exec(compile(content, "page", "exec"), namespace)
            return found[0]
        lines, printed = printed.getvalue().splitlines(), StringIO()
        return found[0] if "…" in content else "\n".join(["```output", *(line.rstrip() for line in lines), "```"])

    return BLOCK.sub(block, page)


def write_outputs(path: Path) -> None:
    """Write a page anew, running its blocks in a folder of their own."""
    page, here = path.resolve(), Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            text = with_outputs(page.read_text(encoding="utf-8"))
        finally:
            os.chdir(here)
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        write_outputs(Path(name))
