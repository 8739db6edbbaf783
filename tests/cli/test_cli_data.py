"""The command line's `data` verb: what it says before it reaches for the network."""

from __future__ import annotations

from pathlib import Path

import pytest

from hackle.cli.main import main
from hackle.datasets.inventory import entries


def test_what_hackle_makes_itself_is_said_before_it_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said_first: list[str] = []

    def fetch(*_: object, **__: object) -> list[Path]:
        said_first.append(capsys.readouterr().err)
        return [tmp_path / "archive.npz"]

    monkeypatch.setattr("hackle.datasets.inventory.fetch", fetch)
    main(["data", "fetch", "dsprites", "--root", str(tmp_path)])
    assert "hackle makes dsprites itself: nothing needs to be downloaded" in said_first.pop()
    assert capsys.readouterr().out == f"{tmp_path / 'archive.npz'}\n"
    main(["data", "fetch", "mnist", "--root", str(tmp_path)])
    assert said_first.pop() == ""


def test_the_list_breaks_no_word_on_a_terminal_of_80_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    main(["data", "list", "--root", str(tmp_path)])
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    shown = set(text.split())
    for entry in entries(tmp_path):
        for cell in (entry.name, entry.images, entry.factors, entry.licence, entry.download, entry.here):
            assert set(cell.split()) <= shown


def test_a_narrow_terminal_still_sees_what_is_here(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "45")
    main(["data", "list", "--root", str(tmp_path)])
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split()[0] == "name"
    assert head.split()[-1] == "here"
    assert any(line.split()[0] == "mnist" and line.split()[-1] == "no" for line in lines)
