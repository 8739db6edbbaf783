"""A study with a limit of time ends by itself, in good order, and the same call goes on."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from small_study import assert_same, some_runs, study

from hackle.core.errors import HackleError
from hackle.engine import tasks
from hackle.engine.executor import Event, Inline
from hackle.engine.limit import TimeLimit
from hackle.engine.summary import Summary
from hackle.engine.tasks import References, ScoreRun
from hackle.store import Store
from hackle.train.checkpoints import Checkpoints
from hackle.train.fleet import Fleet
from hackle.train.model import WEIGHTS


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


def trained(limit: TimeLimit, clock: Clock, group: str, *, runs: int, steps: int, seconds: float) -> int:
    """A fleet that has ended."""
    number = int(clock.seconds)
    limit.begin(number, group, runs)
    clock.seconds += seconds
    limit.tell(number, steps)
    limit.end(number)
    return number


def test_a_fleet_begins_if_it_can_be_expected_to_be_trained_and_scored_in_time() -> None:
    clock = Clock()
    limit = TimeLimit(20, clock)
    # Nothing is known: it begins, however long it is.
    assert limit.fitting("a", [10**9] * 8) == 8
    # 8 runs of 100 steps took 100 s; half a minute is for checkpoints.
    trained(limit, clock, "a", runs=8, steps=800, seconds=100)
    assert limit.rate("a") == 8
    assert limit.left == 1100
    assert limit.fitting("a", [800] * 8) == 8
    # 1,100 − 30 s at 8 a second, and a tenth longer than the rate says: 7,781 steps.
    assert limit.fitting("a", [7_781]) == 1
    assert limit.fitting("a", [7_782]) == 0
    # As many as fit, but not fewer than half: 5 of 1,500 steps take 1,031 s.
    assert limit.fitting("a", [1_500] * 8) == 5
    assert limit.fitting("a", [1_500] * 10) == 5
    assert limit.fitting("a", [1_500] * 11) == 0
    # Runs that have a checkpoint have less to do: 6 and 7 of these have as much as the 7,781 steps allow.
    assert limit.fitting("a", [1_500] * 5 + [140] * 6) == 7


def test_what_is_trained_has_to_be_scored_in_time() -> None:
    clock = Clock()
    limit = TimeLimit(20, clock)
    trained(limit, clock, "a", runs=8, steps=800, seconds=100)
    limit.scorers = 3
    for seconds in (80, 120):
        limit.scored(seconds)
    # Four runs by three workers take 200 s, and training 550.
    assert limit.scoring(4) == 200
    assert limit.fitting("a", [1_000] * 4) == 4
    # With five more in training it is 300 s for nine; with seventeen more, 700 for 19 to 21, and two train in 275.
    limit.begin(1, "b", 5)
    assert limit.fitting("a", [1_000] * 4) == 4
    limit.begin(2, "b", 12)
    assert limit.fitting("a", [1_000] * 4) == 2
    limit.end(2)
    # Runs that wait are scored while it trains, sixteen in 600 s.
    assert limit.fitting("a", [1_000] * 4, waiting=16) == 4
    assert limit.fitting("a", [1_000] * 4, waiting=28) == 0
    clock.seconds += 869
    assert not limit.ends_training(4)
    clock.seconds += 1
    assert limit.ends_training(4)
    assert not limit.ends_training(3)


def test_a_group_without_a_rate_takes_that_of_the_others_and_fleets_in_training_count() -> None:
    clock = Clock()
    limit = TimeLimit(60, clock)
    trained(limit, clock, "a", runs=1, steps=1_000, seconds=100)
    trained(limit, clock, "b", runs=1, steps=100, seconds=100)
    assert (limit.rate("a"), limit.rate("b"), limit.rate("c")) == (10, 1, 5.5)
    limit.begin(1, "c", 4)
    clock.seconds += 50
    assert limit.rate("c") == 5.5
    limit.tell(1, 100)
    assert limit.rate("c") == 2
    clock.seconds += 50
    assert limit.rate("c") == 1


def test_without_minutes_there_is_no_end() -> None:
    clock = Clock()
    limit = TimeLimit(None, clock)
    trained(limit, clock, "a", runs=1, steps=1, seconds=1e9)
    assert limit.fitting("a", [10**9] * 8) == 8
    assert not limit.ends_training(10**6)
    assert limit.left > 1e300


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A step of a model takes a second and a scoring one, by a clock that nothing else moves."""
    clock, step, encode = Clock(), Fleet.step, tasks.encode_images

    def slow_step(self: Fleet) -> None:
        step(self)
        clock.seconds += len(self)

    def slow_encode(*rest: Any) -> Any:
        clock.seconds += 1
        return encode(*rest)

    monkeypatch.setattr(Fleet, "step", slow_step)
    monkeypatch.setattr(tasks, "encode_images", slow_encode)
    monkeypatch.setattr("hackle.engine.TimeLimit", partial(TimeLimit, clock=clock))
    # What workers tell and measure is told and measured by this clock.
    monkeypatch.setattr(tasks, "time", SimpleNamespace(monotonic=clock, perf_counter=clock))
    return clock


@pytest.mark.parametrize(("seconds", "done"), [(42, 2), (43, 3), (58, 4), (69, 4), (70, 5), (85, 6)])
def test_no_fleet_begins_that_would_not_end_in_time(
    clock: Clock, seconds: float, done: int, data: Path, undisturbed: Path, tmp_path: Path
) -> None:
    """A fleet of two runs takes 24 s, and 26 with their scoring, of which another expects 26.4 + 2, or 13.2 + 1 with one run.

    A twentieth of the time is kept for checkpoints. So the second fleet needs (26 + 28.4) / 0.95 = 57.3 s, with one run 42.3,
    and the third, which begins after 52 s, 84.6 or 69.7.
    """
    summary = study(some_runs(data), tmp_path / "study", minutes=seconds / 60)
    assert (summary.done, summary.left, summary.trained, summary.to_score) == (done, 9 - done, done, 0)
    assert clock.seconds == 1000 + 13 * done
    assert f"the time is over, and {9 - done} runs are left\n" in f"{summary}\n"
    assert not (tmp_path / "study" / "fleets").exists()
    rest = study(some_runs(data), tmp_path / "study")
    assert (rest.done, rest.left, rest.trained) == (9, 0, 9 - done)
    assert_same(undisturbed, tmp_path / "study")


def test_a_fleet_that_trains_leaves_a_checkpoint_from_which_the_same_call_goes_on(
    clock: Clock, data: Path, undisturbed: Path, tmp_path: Path, capsys: Any
) -> None:
    out = tmp_path / "study"
    summary = study(some_runs(data), out, minutes=0.3, progress=True)
    assert (summary.done, summary.left, summary.trained) == (0, 9, 0)
    assert "the time is nearly over: fleets leave a checkpoint" in " ".join(capsys.readouterr().err.split())
    # 18 s, of which nine tenths of one are for the checkpoint, are nine steps of two models.
    assert clock.seconds == 1018
    assert list(Checkpoints(out / "fleets").steps().values()) == [9, 9]
    # What is left of the first fleet takes 8 s, and 15 are not enough for a run more.
    summary = study(some_runs(data), out, minutes=23 / 60)
    assert (summary.done, summary.trained, clock.seconds) == (2, 2, 1026)
    study(some_runs(data), out)
    assert clock.seconds == 1000 + 9 * 13
    assert_same(undisturbed, out)


def test_a_fleet_with_a_checkpoint_takes_only_what_is_left_of_it(clock: Clock, data: Path, tmp_path: Path) -> None:
    runs, out = some_runs(data)[:4], tmp_path / "study"
    for two in (runs[:2], runs[2:]):
        study(two, out, minutes=0.3)
    assert list(Checkpoints(out / "fleets").steps().values()) == [9] * 4
    # Three steps of two models: 8 s, and another 6.6 + 2 are expected, which is less than 18 s and a twentieth.
    assert study(runs, out, minutes=18 / 60).done == 4
    assert clock.seconds == 1000 + 2 * 18 + 2 * 8


def test_what_could_not_be_scored_in_time_is_scored_by_the_next_call(
    clock: Clock, data: Path, undisturbed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, score = tmp_path / "study", ScoreRun.perform

    def slower(self: ScoreRun, *rest: Any) -> Any:
        clock.seconds += 100
        return score(self, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(ScoreRun, "perform", slower)
        summary = study(some_runs(data), out, minutes=1)
    assert (summary.done, summary.left, summary.to_score) == (1, 8, 1)
    assert "8 runs are left, 1 of them trained" in str(summary)
    assert len(list(out.glob(f"runs/*/{WEIGHTS}"))) == 2
    with Store.open(out) as store:
        assert len(store.known()) == 1
    assert study(some_runs(data), out).trained == 7
    assert_same(undisturbed, out)


def test_references_that_are_lost_while_training_ends_are_computed_all_the_same(
    clock: Clock, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without them, what is scored could not be stored."""
    out, waited = tmp_path / "study", []

    class Unlucky(Inline):
        def wait(self, seconds: float) -> list[Event]:
            if not self._waiting or not isinstance(self._waiting[0][1], References) or len(waited) == 2:
                return super().wait(seconds)
            waited.append(self._waiting[0][0])
            if len(waited) == 1:
                clock.seconds += 58
                return []
            return [Event(self._waiting.popleft()[0], "lost", "its worker died")]

        def stop(self) -> None:
            """Workers of their own go on with what is no training."""

    with monkeypatch.context() as patch:
        patch.setattr(ScoreRun, "perform", lambda *_: time_is_over())
        with pytest.raises(KeyboardInterrupt):
            study(some_runs(data), out)
    monkeypatch.setattr("hackle.engine.Inline", Unlucky)
    summary = study(some_runs(data), out, minutes=1)
    assert (summary.done, summary.trained, summary.left) == (2, 0, 7)


def time_is_over() -> None:
    raise KeyboardInterrupt


@pytest.mark.usefixtures("forked_workers")
def test_workers_are_asked_to_leave_checkpoints(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    """The clock jumps to half a minute before the end of ten once both fleets have a checkpoint."""
    out = tmp_path / "study"

    def clock() -> float:
        return 575.0 if len(Checkpoints(out / "fleets").steps()) == 4 else 0.0

    monkeypatch.setattr("hackle.engine.TimeLimit", partial(TimeLimit, clock=clock))
    runs = some_runs(data, steps=20_000)[:4]
    summary = study(runs, out, workers=2, minutes=10, checkpoint_seconds=0.0, progress=True)
    assert (summary.done, summary.left, summary.trained) == (0, 4, 0)
    said = " ".join(capfd.readouterr().err.split())
    assert "the time is nearly over" in said
    assert "trying again" not in said
    assert all(0 < step < 20_000 for step in Checkpoints(out / "fleets").steps().values())


@pytest.mark.parametrize("minutes", [0, -1, float("nan")])
def test_a_limit_that_is_none_is_refused(data: Path, tmp_path: Path, minutes: float) -> None:
    with pytest.raises(HackleError, match=r"minutes is .*; expected more than 0, or none for no limit"):
        study(some_runs(data)[:1], tmp_path / "study", minutes=minutes)
    assert not (tmp_path / "study").exists()


@pytest.mark.parametrize(("total", "words"), [(3, "1 run is left"), (1_002, "1,000 runs are left")])
def test_what_is_left_is_counted_in_words(total: int, words: str) -> None:
    assert f"the time is over, and {words}" in str(Summary(Path("study"), total, 2, 0, 2, 2, 1.0))
