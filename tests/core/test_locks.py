from __future__ import annotations

import errno
import os
import socket
from contextlib import ExitStack
from pathlib import Path

import pytest

from hackle.core import locks
from hackle.core.locks import locked


class Busy(Exception):
    pass


def stop(holder: str) -> None:
    raise Busy(holder)


def test_the_lock_is_held_and_then_gone(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with locked(path, stop) as alone:
        assert alone
        with pytest.raises(Busy, match=f"process {os.getpid()} on "), locked(path, stop):
            pass
        assert path.exists()
    assert not path.exists()
    with locked(path, stop) as alone:
        assert alone


def test_an_error_lets_go_of_it(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), locked(tmp_path / "lock", stop):
        _ = 1 / 0
    assert not list(tmp_path.iterdir())


def test_one_who_waited_holds_a_file_that_is_there(tmp_path: Path) -> None:
    """The holder removes its file when it is done: a lock on that one would not keep a third process out."""
    path, told = tmp_path / "lock", []
    with ExitStack() as first:
        first.enter_context(locked(path, stop))

        def wait(holder: str) -> None:
            told.append(holder)
            first.close()

        with locked(path, wait) as alone:
            assert alone
            with pytest.raises(Busy), locked(path, stop):
                pass
    assert told == [f"process {os.getpid()} on {socket.gethostname()}"]
    assert not path.exists()


@pytest.mark.parametrize("code", [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_disk_that_cannot_lock_is_no_obstacle(code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(locks.fcntl, "flock", refuse)
    with locked(tmp_path / "lock", stop) as alone:
        assert not alone
    assert not list(tmp_path.iterdir())


def test_a_system_without_locks_is_no_obstacle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "fcntl", None)
    with locked(tmp_path / "lock", stop) as alone:
        assert not alone
        assert not list(tmp_path.iterdir())
