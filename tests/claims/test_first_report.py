"""The report that is kept in benchmarks/results/first-report says what its table says."""

from __future__ import annotations

from html import unescape
from pathlib import Path

import pytest

from hackle.claims import judge
from hackle.cli.claims import print_verdicts
from hackle.store import read

FOLDER = Path(__file__).parents[2] / "benchmarks" / "results" / "first-report"


def test_the_kept_verdicts_are_those_of_the_kept_table(capsys: pytest.CaptureFixture[str]) -> None:
    print_verdicts(judge(read(FOLDER)))
    printed = capsys.readouterr().out.splitlines()
    kept = (FOLDER / "verdicts.txt").read_text(encoding="utf-8").splitlines()
    assert [line.split() for line in printed] == [line.split() for line in kept]


def test_the_kept_page_tells_the_same_verdicts() -> None:
    page = (FOLDER / "report.html").read_text(encoding="utf-8")
    for judgement in judge(read(FOLDER)):
        fate = judgement.verdict if judgement.evidence.runs else "no runs"
        assert f'<details id="claim-{judgement.claim.id}" data-verdict="{fate}">' in page
        assert judgement.claim.effect in unescape(page)
    assert "hackle report benchmarks/results/first-report" in page
