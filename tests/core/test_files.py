from __future__ import annotations

import errno
import fcntl
import os
import re
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from hackle.core import files
from hackle.core.errors import HackleError
from hackle.core.files import lock_holder, locked, locked_folder, replacing


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

    monkeypatch.setattr(fcntl, "flock", refuse)
    with locked(tmp_path / "lock", stop) as alone:
        assert not alone
    assert not list(tmp_path.iterdir())


class NoLocks:
    """What file locks are where the system has none."""

    def __init__(self, path: Path, **options: object) -> None:
        pass

    def acquire(self, **options: object) -> None:
        raise NotImplementedError


def test_a_system_without_locks_is_no_obstacle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "FileLock", NoLocks)
    with locked(tmp_path / "lock", stop) as alone:
        assert not alone
        assert not list(tmp_path.iterdir())


_HOLDS = """
import sys, time
from pathlib import Path
from hackle.core.files import locked_folder
from hackle.core.errors import HackleError
with locked_folder(Path(sys.argv[1]), HackleError):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_folder_is_one_process_own_until_that_dies_however_it_dies(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", _HOLDS, str(tmp_path)], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        try:
            who = rf"process {other.pid} on .* since 20\d\d-.*"
            assert re.fullmatch(who, lock_holder(tmp_path))
            with pytest.raises(HackleError, match=f"in use by {who}; wait until"), locked_folder(tmp_path, HackleError):
                pass
        finally:
            other.kill()
    assert f"process {other.pid} " in lock_holder(tmp_path)
    with locked_folder(tmp_path, HackleError):
        assert f"process {os.getpid()} " in lock_holder(tmp_path)
    assert lock_holder(tmp_path) == ""


def test_a_folder_that_cannot_be_written_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with locked_folder(tmp_path, HackleError), locked_folder(tmp_path, HackleError):
        assert not list(tmp_path.iterdir())


def test_a_file_is_replaced_whole_or_stays(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), replacing(path) as partial:
        partial.write_text(f"half{1 / partial.write_text('')}")
    assert path.read_text() == "old"
    with replacing(path) as partial:
        partial.write_text("new")
    assert path.read_text() == "new"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]
