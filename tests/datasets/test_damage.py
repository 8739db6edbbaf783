from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hackle.datasets.damage import DamagedError, reading, writing
from hackle.datasets.source import DataError


def failing(code: int) -> OSError:
    return OSError(code, os.strerror(code))


@contextmanager
def reading_toys() -> Iterator[None]:
    with reading(Path("toys.tar"), "a tar archive"):
        yield


@pytest.mark.parametrize("error", [EOFError(), KeyError("im"), ValueError("odd"), failing(errno.EIO)], ids=repr)
def test_what_readers_raise_means_damage(error: Exception) -> None:
    with pytest.raises(DamagedError, match=r"toys\.tar cannot be read as a tar archive .* damaged"), reading_toys():
        raise error


def test_a_file_that_may_not_be_read_is_not_called_damaged() -> None:
    with pytest.raises(DataError, match=r"toys\.tar cannot be read \(Permission denied\)") as caught, reading_toys():
        raise failing(errno.EACCES)
    assert not isinstance(caught.value, DamagedError)


def test_a_full_disk_is_told_by_writing() -> None:
    with pytest.raises(DataError, match="the disk that holds toys is full"), writing(Path("toys")), reading_toys():
        raise failing(errno.ENOSPC)


def test_other_errors_pass() -> None:
    with pytest.raises(OSError, match="Too many open files"), writing(Path("toys")):
        raise failing(errno.EMFILE)
    with pytest.raises(ZeroDivisionError), reading_toys():
        _ = 1 / 0
