"""A page of the reference that lists every part by name: what `hackle parts` prints, with a sentence on each.

Parts are found and not listed, so this page is the one for which the package is imported.
"""

from __future__ import annotations

from typing import Any

from mkdocs.structure.files import File, Files

from hackle.core.papers import paper_named
from hackle.core.parts import HOMES, parts_of

PLURALS = {"study": "Studies"}


def sentence(kind: str, part: Any) -> str:
    """What a part is, in a few words."""
    if kind == "claim":
        return f"{part.where}: {part.statement}"
    if kind == "figure":
        return f"{part.number}: {part.title}"
    if kind == "metric":
        return ", ".join(row.label for row in part.rows)
    if kind == "protocol":
        of = f"; for {', '.join(part.metrics)}" if part.metrics else ""
        return f"{part.sizes.train:,} training and {part.sizes.test:,} test points{of}"
    if kind == "paper":
        return part.citation
    if kind == "preset":
        return paper_named(part.name).citation
    if kind == "study":
        return part.about
    said = part.summary if kind == "data set" else (part.__doc__ or "")
    return " ".join(said.partition("\n\n")[0].split())


def page() -> str:
    """The page's text."""
    lines = [
        "# Every part by name",
        "",
        "What can be named on the command line, in records and in studies, beside [parts of your own](../own/index.md).",
    ]
    for kind in HOMES:
        plural = PLURALS.get(kind, f"{kind}s".capitalize())
        lines += ["", f"## {plural}", "", "| name | |", "|---|---|"]
        for name, part in parts_of(kind).items():
            lines.append(f"| `{name}` | {sentence(kind, part).replace('|', chr(92) + '|')} |")
    return "\n".join([*lines, ""])


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """MkDocs calls this once it has listed the pages."""
    files.append(File.generated(config, "reference/parts.md", content=page()))
    return files
