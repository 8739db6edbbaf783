"""What is printed of other people's files is text, in bars too."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import hackle
from hackle.cli.words import say
from hackle.core.progress import advance, bar, progress
from hackle.core.terminal import Terminal

ODD = "data \x1b]0;owned\x07\u202e[/bold] of theirs"
SHOWN = "data ]0;owned[/bold] of theirs"
STYLES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")


@pytest.mark.usefixtures("terminal")
def test_titles_of_bars_are_text(capfd: pytest.CaptureFixture[str]) -> None:
    assert list(progress([1, 2], f"reading {ODD}")) == [1, 2]
    with bar(True):
        advance(ODD, 0.5)
    said = STYLES.sub("", capfd.readouterr().err)
    assert f"reading {SHOWN} " in said
    assert f"\r{SHOWN} " in said
    assert "\x1b" not in said
    assert "\u202e" not in said


def test_every_console_drops_control_characters() -> None:
    """None is rich's own, which does not."""
    package = Path(hackle.__file__).parent
    found = [
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if re.search(r"import .*\bConsole\b|\bConsole\(", path.read_text("utf-8"))
    ]
    assert found == ["core/terminal.py"]


def test_names_between_colons_are_no_emoji(capfd: pytest.CaptureFixture[str]) -> None:
    Terminal(stderr=True).print("mine.py:two: 3 runs", markup=False)
    say("mine.py:fire:")
    assert capfd.readouterr() == ("mine.py:fire:\n", "mine.py:two: 3 runs\n")
