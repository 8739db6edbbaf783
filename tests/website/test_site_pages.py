"""What the site is made of besides its pages: the citation, release notes and the page on contributing."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from hackle import __version__

ROOT = Path(__file__).parents[2]


def test_the_citation_is_of_this_version_and_has_what_the_format_requires() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    # https://github.com/citation-file-format/citation-file-format/blob/1.2.0/schema-guide.md
    assert cited["cff-version"] == "1.2.0"
    assert cited.keys() >= {"message", "title", "authors"}
    assert cited.keys() <= {
        *("abstract", "authors", "cff-version", "commit", "contact", "date-released", "doi", "identifiers", "keywords"),
        *("license", "license-url", "message", "preferred-citation", "references", "repository"),
        *("repository-artifact", "repository-code", "title", "type", "url", "version"),
    }
    assert cited["type"] == "software"
    assert all(author.keys() & {"name", "family-names", "given-names", "alias"} for author in cited["authors"])
    assert cited["license"] == "MIT"
    assert str(cited["version"]) == __version__


def test_every_version_has_its_release_notes(site: Path) -> None:
    versions = re.findall(r"^## (\d\S*)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert versions[0] == __version__
    written = {page.stem for page in (site / "releases").glob("*.html")}
    assert written == {"index", *versions}
    assert "DCI-ES" in (site / "releases" / f"{__version__}.html").read_text(encoding="utf-8")


def test_contributing_names_every_kind_of_part() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for kind in ("method", "architecture", "data set", "metric", "protocol", "study", "claim", "figure"):
        assert re.search(rf"^\| {kind} \|", text, re.MULTILINE), kind
    for link in re.findall(r"\]\((?!http)([^)#]+)", text):
        assert (ROOT / link).is_file(), link
    for command in re.findall(r"`make ([\w-]+)|^\$ make ([\w-]+)", text, re.MULTILINE):
        assert re.search(rf"^{''.join(command)}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE), (
            command
        )
