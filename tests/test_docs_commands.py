"""Commands of the documentation are understood: each `hackle …` of a block names a verb and options that there are."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from functools import wraps
from inspect import isclass
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
import tyro

from hackle.cli.main import main
from test_docs import PAGES, ROOT, blocks

COMMAND = re.compile(r" *(?:\$ )?hackle ([a-z].*)")
FIRST = ("README.md", "docs/index.md")
"""Pages whose commands are tried each time; those of all take half a minute."""


class UnderstoodError(Exception):
    """The words were those of a command."""


def commands(page: Path) -> Iterator[list[str]]:
    """The words of every command, without what a shell would do with the output; parts in files of one's own are left out."""
    for info, _, content in blocks(page.read_text(encoding="utf-8")):
        if info.partition(" ")[0] in ("", "console", "sh", "text"):
            for line in re.sub(r" *\\\n *", " ", content).splitlines():
                found = COMMAND.fullmatch(line)
                # In a list of commands what they do stands behind them, without a mark.
                words = shlex.split(re.split(r" {2,}(?!#)", found[1])[0], comments=True) if found else []
                words = list(takewhile(lambda word: word not in ("|", ">"), words))
                if words and ".py:" not in line and words != ["study", "run"]:
                    yield words


def understood(words: list[str], monkeypatch: pytest.MonkeyPatch) -> bool:
    parse = tyro.cli

    def parsed(function: Callable[..., Any], **options: Any) -> Any:
        @wraps(function)
        def nothing(*_: Any, **__: Any) -> None:
            raise UnderstoodError

        if isclass(function):
            parse(function, **options)
            raise UnderstoodError
        return parse(nothing, **options)

    with monkeypatch.context() as patch:
        patch.setattr(tyro, "cli", parsed)
        try:
            main(words)
        except UnderstoodError:
            return True
        except SystemExit:
            return False
    return False


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[] if name in FIRST else pytest.mark.slow, id=name)
        for page in PAGES
        if any(commands(page)) and (name := page.relative_to(ROOT).as_posix())
    ],
)
def test_the_commands_of_a_page_are_understood(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [words for words in commands(page) if not understood(words, monkeypatch)] == []


def test_commands_that_are_not_there_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert understood(["score", "runs/beta4", "--protocol", "quick"], monkeypatch)
    assert not understood(["score", "runs/beta4", "--protokoll", "quick"], monkeypatch)
    assert not understood(["scores", "runs/beta4"], monkeypatch)
