"""The page on coverage names files that exist, parts that are defined in them, and all that belongs to the five papers."""

from __future__ import annotations

import importlib
import re
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

from hackle.core.parts import parts_of

ROOT = Path(__file__).parents[1]
PAPERS = ("split-encoder", "yang2020", "kim2018", "do2020", "locatello2019")
KINDS = {"method": "methods", "network": "networks", "data set": "data sets", "metric": "metrics", "name": "names"}
KINDS |= {"protocol": "protocols", "study": "studies", "figure": "figures", "claim": "claims"}
REGISTRIES = {kind: kind for kind in KINDS if kind != "name"} | {"network": "architecture"}
"""The word of the page for a kind of part, and that of its registry."""
_LISTED = re.compile(rf"\b({'|'.join([*KINDS, *KINDS.values()])}) (`[^`]+`(?:, `[^`]+`)*)")


class Row(NamedTuple):
    """A row of a table: where in which paper, what it names, by kind, and the files that have it."""

    paper: str
    where: str
    named: tuple[tuple[str, str], ...]
    files: tuple[str, ...]
    says: str


def of_page(text: str) -> list[Row]:
    """The rows of all tables; a heading names the paper."""
    rows, paper = [], ""
    for line in text.splitlines():
        if line.startswith("### "):
            paper = re.findall(r"`([^`]+)`", line)[0]
        elif line.startswith("| ") and not line.startswith("| where "):
            where, _, says, files = (cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1])
            singular = {plural: kind for kind, plural in KINDS.items()} | {kind: kind for kind in KINDS}
            found = [(singular[kind], name) for kind, names in _LISTED.findall(says) for name in _quoted(names)]
            rows.append(Row(paper, where, tuple(found), tuple(_quoted(files)), says))
    return rows


def _quoted(words: str) -> list[str]:
    return re.findall(r"`([^`]+)`", words)


ROWS = of_page((ROOT / "docs" / "coverage.md").read_text(encoding="utf-8"))


def place(file: str) -> Path:
    return ROOT / file if file.startswith("docs/") else ROOT / "src" / "hackle" / file


@cache
def module(file: str) -> ModuleType:
    return importlib.import_module("hackle." + file.removesuffix(".py").replace("/", "."))


@cache
def defined(kind: str, file: str) -> frozenset[str]:
    """The names of the parts of a kind that a file defines; of the kind `name`, all of its names."""
    if kind == "name":
        return frozenset(vars(module(file)))
    return frozenset(found.name for found in parts_of(REGISTRIES[kind]).of_module(module(file), "hackle"))


def test_every_row_has_a_file_that_exists_or_a_reason() -> None:
    assert {row.paper for row in ROWS} == set(PAPERS)
    for row in ROWS:
        assert row.says.startswith("no: ") != bool(row.files), row
        for file in row.files:
            assert place(file).is_file(), f"{row.paper}, {row.where}: no file {file}"


@pytest.mark.parametrize("paper", PAPERS)
def test_every_name_is_in_its_registry_and_defined_in_a_file_of_its_row(paper: str) -> None:
    for row in ROWS:
        code = [file for file in row.files if file.endswith(".py")]
        for kind, name in row.named if row.paper == paper else ():
            assert kind == "name" or name in parts_of(REGISTRIES[kind]), f"{row.where}: no {kind} {name}"
            assert any(name in defined(kind, file) for file in code), f"{row.where}: {kind} {name} is not in {code}"


@pytest.mark.parametrize("paper", PAPERS)
def test_a_file_of_code_has_something_that_its_row_names(paper: str) -> None:
    for row in ROWS:
        for file in row.files if row.paper == paper else ():
            if file.endswith(".py"):
                assert any(name in defined(kind, file) for kind, name in row.named), f"{row.where}: why {file}?"


@pytest.mark.parametrize("kind", ["figure", "claim", "study"])
def test_nothing_of_the_five_papers_is_left_out(kind: str) -> None:
    listed = {name for row in ROWS for one, name in row.named if one == kind}
    ours = {
        name for name in parts_of(kind) if name.startswith(tuple(f"{paper}{end}" for paper in PAPERS for end in ".-"))
    }
    ours |= {name for name in parts_of(kind) if name in PAPERS}
    assert ours - listed == set()
    assert len(ours) > 10


def test_what_a_row_says_is_read() -> None:
    (row,) = of_page(
        "### Figures of `kim2018`\n| where | what | in hackle | file |\n|---|---|---|---|\n"
        "| 2 | a | methods `vae`, `beta-vae`; name `a_name`. Not `that` | `objectives/vae.py`, `docs/index.md` |"
    )
    assert row.named == (("method", "vae"), ("method", "beta-vae"), ("name", "a_name"))
    assert row.files == ("objectives/vae.py", "docs/index.md")
