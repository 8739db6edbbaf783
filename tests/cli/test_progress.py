"""What a command shows of its progress: a bar on a terminal once it is known of what, a line now and then elsewhere."""

from __future__ import annotations

import io
from typing import Any

import pytest

from hackle.cli import progress
from hackle.core.terminal import Terminal


def test_a_bar_begins_with_the_first_report_and_never_counts_to_none(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.StringIO()
    monkeypatch.setattr(
        progress, "Terminal", lambda stderr: Terminal(file=written, force_terminal=True, width=80, color_system=None)
    )
    with progress.told("ranking") as tell:
        assert "ranking" not in written.getvalue()
        tell(3, 12)
        tell(4, 12, "the next")
    assert "ranking" in written.getvalue()
    assert "4/12 the next" in written.getvalue()
    assert "None" not in written.getvalue()


def test_a_file_gets_lines_but_not_of_short_work(capsys: Any) -> None:
    with progress.told("measuring") as tell:
        tell(0, 2, "β-VAE on dsprites")
    assert capsys.readouterr().err == ""
    with progress.told("measuring", first=0.0, every=60.0) as tell:
        tell(0, 2, "[bold]β-VAE")
        tell(1, 2, "VAE")
    assert capsys.readouterr().err == "measuring 0/2 [bold]β-VAE\n"
