"""Pages of the site that no file of docs/ holds, the order of those that a folder holds, and what a phone needs of all.

Release notes are cut from CHANGELOG.md, one page for each version; the page on contributing is CONTRIBUTING.md. In the
navigation a folder stands for its pages. Names in tables may break after their signs, and pictures with many letters are
marked as wide.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files
from PIL import Image

ROOT = Path(__file__).parents[1]
_VERSION = re.compile(r"^## (?=\d)", re.MULTILINE)
_CELL = re.compile(r"<td>(.+?)(?=</td>)", re.DOTALL)
_CODE = re.compile(r"(?<!<pre>)<code>(.+?)</code>")
_TEXT = re.compile(r"(?:^|(?<=>))[^<]+")
_OPTION = re.compile(r"--\w[\w-]*")
_PICTURE = re.compile(r'<img alt="[^"]*" src="[^"]*pictures/(?!explorer)([^"]+)"')
MANY = 6
"""A cell with more words than this needs some width to be read in a table of many columns."""
WIDE = 700
"""Pictures with more pixels than this side by side have letters that a phone cannot show whole. The explorer's is to be seen
as a whole."""
_LINK = re.compile(r"\]\(([\w./-]+\.md)[)#]")


def release_notes(changelog: str) -> dict[str, str]:
    """The pages of the release notes by their paths: one for each version, newest first, after a list of them. Links to pages
    of the documentation lead there from below it.

    >>> pages = release_notes("# Changelog\\n\\n## 0.2.0 — soon\\n\\n- New.\\n\\n## 0.1.0 — May\\n\\n- [First](docs/a.md).\\n")
    >>> list(pages)
    ['releases/index.md', 'releases/0.2.0.md', 'releases/0.1.0.md']
    >>> print(pages["releases/0.1.0.md"])
    # 0.1.0 — May
    <BLANKLINE>
    - [First](../a.md).
    <BLANKLINE>
    """
    versions = _VERSION.split(changelog.replace("](docs/", "](../"))[1:]
    headings = [version.partition("\n")[0] for version in versions]
    pages = {f"releases/{head.split()[0]}.md": f"# {version}" for head, version in zip(headings, versions, strict=True)}
    listed = "".join(f"- [{head}]({head.split()[0]}.md)\n" for head in headings)
    return {"releases/index.md": f"# Release notes\n\n{listed}", **pages}


def contributing(text: str) -> str:
    """CONTRIBUTING.md as a page of the site, on which links lead from docs/ instead of the repository's root.

    >>> contributing("See [training](docs/training.md#fleets).")
    'See [training](training.md#fleets).'
    """
    return text.replace("](docs/", "](")


def expanded(nav: list[Any], pages: dict[str, str]) -> list[Any]:
    """A navigation in which each folder, `methods/`, is the list of its pages, in the order in which its index.md links them;
    pages that it does not link come last. What is not written yet is left out. `pages` holds every page's text by its path.

    >>> pages = {"a/index.md": "[two](two.md), [one](one.md)", "a/one.md": "", "a/two.md": "", "b.md": ""}
    >>> expanded(["b.md", {"A": "a/"}], pages)
    ['b.md', {'A': ['a/index.md', 'a/two.md', 'a/one.md']}]
    >>> expanded([{"All": ["a/", "b.md", "unwritten.md"]}, {"Later": "c/"}], pages)
    [{'All': ['a/index.md', 'a/two.md', 'a/one.md', 'b.md']}]
    """
    found: list[Any] = []
    for entry in nav:
        if isinstance(entry, dict):
            ((title, inside),) = entry.items()
            if within := expanded([inside] if isinstance(inside, str) else inside, pages):
                found.append({title: within})
        elif entry.endswith("/"):
            held = [path for path in pages if path.startswith(entry) and "/" not in path.removeprefix(entry)]
            linked = [entry + name for name in _LINK.findall(pages.get(f"{entry}index.md", ""))]
            order = dict.fromkeys([f"{entry}index.md", *linked, *sorted(held)])
            found += [path for path in order if path in held]
        elif entry in pages:
            found.append(entry)
    return found


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """MkDocs calls this once it has listed the pages."""
    made = release_notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    made["contributing.md"] = contributing((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    for path, text in made.items():
        files.append(File.generated(config, path, content=text))
    config.nav = expanded(config.nav, {file.src_uri: file.content_string for file in files.documentation_pages()})
    return files


def breakable(html: str) -> str:
    """A page whose names in tables may break after `_`, `.`, `-` and `/`, and nowhere else; cells of many words are marked.
    Among words an option stays whole.

    >>> breakable("<td><code>kl_per_latent</code></td>")
    '<td><code>kl_<wbr>per_<wbr>latent</code></td>'
    >>> breakable("<td><code>--decay-to</code></td>")
    '<td><code><span class="whole">--decay-</span><wbr>to</code></td>'
    >>> breakable('<td><code><a href="a_b">kl_split</a></code></td>')
    '<td><code><a href="a_b">kl_<wbr>split</a></code></td>'
    >>> breakable("<p>as <code>hackle train --out runs</code></p>")
    '<p>as <code>hackle train <span class="whole">--out</span> runs</code></p>'
    """

    def cell(found: re.Match[str]) -> str:
        start = '<td class="words">' if len(re.sub("<[^>]+>", "", found[1]).split()) > MANY else "<td>"
        return start + _CODE.sub(lambda code: _TEXT.sub(lambda text: _pieces(text[0]), code[0]), found[1])

    html = _CELL.sub(cell, html)
    return _CODE.sub(lambda code: code[0] if "<" in code[1] else _OPTION.sub(_whole, code[0]), html)


def _whole(option: re.Match[str]) -> str:
    return f'<span class="whole">{option[0]}</span>'


def _pieces(name: str) -> str:
    """A name that may break after its signs; the dashes of an option are no such place."""
    first, *others = re.split(r"(?<=[\w)][_./-])(?=\w)", name)
    whole = f'<span class="whole">{first}</span>' if first.startswith("--") else first
    return "<wbr>".join([whole, *others])


def wide_marked(html: str) -> str:
    """A page whose wide pictures have the class `wide`."""

    def marked(picture: re.Match[str]) -> str:
        path = ROOT / "docs" / "pictures" / picture[1]
        if path.suffix == ".svg":
            found = re.search(r'<svg[^>]* width="(\d+)"', path.read_text(encoding="utf-8"))
            width = int(found[1]) if found else 0
        else:
            with Image.open(path) as opened:
                width = opened.width
        return picture[0].replace("<img", '<img class="wide"') if width > WIDE else picture[0]

    return _PICTURE.sub(marked, html)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """MkDocs calls this for each page. A search finds pages that explain before signatures of the reference."""
    if page.file.src_uri.startswith("reference/"):
        page.meta.setdefault("search", {"boost": 0.3})
    return markdown


def on_page_content(html: str, **_: Any) -> str:
    """MkDocs calls this for each page."""
    return wide_marked(breakable(html))
