"""What a study says of itself where nobody watches a terminal."""

from __future__ import annotations

import pytest

from hackle.engine.display import Display


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


def test_a_plain_line_every_half_minute_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with Display(60, done=10, failed=2, model_steps=30_000, shown=True, clock=clock) as display:
        for _ in range(29):
            clock.seconds += 1
            display.update()
        assert capsys.readouterr().err == ""
        clock.seconds += 1
        display.training(1, 3_000)
        display.backlog = 3
        display.update()
        display.update()
        assert capsys.readouterr().err == "12/60 runs · 100 model-steps/s · 4 min left · 2 failed · 3 to score\n"
        clock.seconds += 30
        display.update()
        assert capsys.readouterr().err.startswith("12/60 runs · 50 model-steps/s · 9 min left")
        display.ended(1, 30_000)
        display.done, display.backlog = 58, 0
        clock.seconds += 1
    # How it ended is said however short ago the last line was.
    assert capsys.readouterr().err == "60/60 runs · 49 model-steps/s · 0 min left · 2 failed\n"


def test_the_first_steps_do_not_foretell_months(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with Display(20, done=0, failed=0, model_steps=2_000_000, shown=True, clock=clock) as display:
        for steps in (0, 30, 20_000):
            clock.seconds += 30
            display.training(1, steps)
            display.update()
        lines = capsys.readouterr().err.splitlines()
    assert lines[:2] == ["0/20 runs · 0 model-steps/s · starting", "0/20 runs · 0 model-steps/s · starting"]
    assert lines[2].endswith("222 model-steps/s · 2 h 28 min left")


def test_no_rate_of_steps_where_nothing_is_trained(capsys: pytest.CaptureFixture[str]) -> None:
    with Display(8, done=8, failed=0, model_steps=0, shown=True, clock=Clock()) as display:
        display.backlog = 3
        display.update(last=True)
        display.backlog = 0
    assert capsys.readouterr().err.splitlines() == ["8/8 runs · 3 to score", "8/8 runs"]


def test_silent_where_it_is_not_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with Display(60, done=0, failed=0, model_steps=100, shown=False, clock=clock) as display:
        clock.seconds += 100
        display.update()
        display.say("a word")
    assert capsys.readouterr().err == ""
