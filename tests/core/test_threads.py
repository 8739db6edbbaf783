"""Threads sleep while they wait only where another program runs and the user has not said how they wait."""

import os
from pathlib import Path

import pytest

from hackle.core import threads
from hackle.core.threads import wait_asleep_where_others_run


@pytest.fixture(autouse=True)
def _unset(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in threads._SETTINGS:
        # Set and removed again, so that what the test leaves is undone.
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


def looks(monkeypatch: pytest.MonkeyPatch, *running: str) -> list[str]:
    """Have the machine say these numbers of running threads, one at each look; returns those that were not asked for."""
    left = [f"0.50 0.40 0.30 {number}/312 4711\n" for number in running]
    monkeypatch.setattr(Path, "read_text", lambda path, encoding: left.pop(0))
    return left


def test_on_a_free_machine_the_first_look_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    left = looks(monkeypatch, "1", "2", "2")
    assert not wait_asleep_where_others_run()
    assert "OMP_WAIT_POLICY" not in os.environ
    assert len(left) == 2


def test_where_others_run_at_every_look_threads_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    looks(monkeypatch, "2", "3", "2")
    assert wait_asleep_where_others_run()
    assert os.environ["OMP_WAIT_POLICY"] == "passive"


@pytest.mark.parametrize("running", [("2", "1"), ("2", "2", "1"), ("nonsense",)])
def test_what_runs_for_a_moment_is_no_load(monkeypatch: pytest.MonkeyPatch, running: tuple[str, ...]) -> None:
    looks(monkeypatch, *running)
    assert not wait_asleep_where_others_run()


@pytest.mark.parametrize("name", threads._SETTINGS)
def test_what_the_user_has_set_stays(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "active")
    looks(monkeypatch, "9", "9", "9")
    assert not wait_asleep_where_others_run()
    assert [os.environ.get(each) for each in threads._SETTINGS].count("active") == 1


def test_systems_that_do_not_tell_keep_their_default(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(path: Path, encoding: str) -> str:
        raise FileNotFoundError(path)

    monkeypatch.setattr(Path, "read_text", fails)
    assert not wait_asleep_where_others_run()
