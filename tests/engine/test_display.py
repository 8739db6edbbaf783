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
        assert capsys.readouterr().err == (
            "12/60 runs · 100 model-steps/s · 4 min of training left · 2 failed · 3 to score\n"
        )
        clock.seconds += 30
        display.update()
        assert capsys.readouterr().err.startswith("12/60 runs · 50 model-steps/s · 9 min of training left")
        display.ended(1, 30_000)
        display.done, display.backlog, display.to_score = 58, 0, 0
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
    assert lines[2].endswith("222 model-steps/s · 2 h 28 min of training left")


def test_the_time_left_counts_what_is_still_to_be_scored(capsys: pytest.CaptureFixture[str]) -> None:
    """10,000 of 30,000 steps and 2 of 12 scorings of 90 s each were done in 300 s."""

    def line(scorers: int, shared: bool, to_score: int = 10) -> str:
        clock = Clock()
        with Display(12, 2, 0, model_steps=30_000, shown=True, scorers=scorers, shared=shared, clock=clock) as display:
            clock.seconds += 300
            display.training(1, 10_000)
            for _ in range(2):
                display.scored(90)
            display.to_score = to_score
            display.update()
        return capsys.readouterr().err.splitlines()[0].split(" · ")[2]

    # One worker: 120 s of its 300 were training, so 240 s are left of it, and 10 times 90 s of scoring.
    assert line(scorers=1, shared=True) == "19 min left"
    # Three that do both: 60 s of each went into scoring; 2 times 240 s of training and 900 / 3 of scoring are left.
    assert line(scorers=3, shared=True) == "13 min left"
    # Others score beside the training: 600 s of training, or 900 s of scoring by so many.
    assert line(scorers=1, shared=False) == "15 min left"
    assert line(scorers=2, shared=False) == "10 min left"
    assert line(scorers=1, shared=True, to_score=0) == "4 min left"


def test_what_is_only_scored_has_a_time_left_too(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with Display(8, done=0, failed=0, model_steps=0, shown=True, scorers=2, clock=clock) as display:
        clock.seconds += 60
        display.scored(60)
        display.to_score = display.backlog = 6
        display.update()
    assert capsys.readouterr().err.splitlines()[0] == "0/8 runs · 3 min left · 6 to score"


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


def test_lines_are_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    with Display(1, done=0, failed=0, model_steps=0, shown=True) as display:
        display.say("a run failed: expected [/x], got [0, 1] \x1b[2J")
    assert "expected [/x], got [0, 1] [2J\n" in capsys.readouterr().err
