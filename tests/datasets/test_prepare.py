from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
import threading
import time
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from hackle.datasets import prepare as module
from hackle.datasets.damage import DamagedError
from hackle.datasets.prepare import Build, prepare
from hackle.datasets.source import DataError

IMAGES = np.arange(3 * 2 * 2, dtype=np.uint8).reshape(3, 2, 2, 1)
ROWS = np.array([[0], [1], [2]])


@pytest.fixture
def published(tmp_path: Path) -> Path:
    path = tmp_path / "toys" / "toys.bin"
    path.parent.mkdir()
    path.write_bytes(b"published")
    return path


def build() -> Build:
    return Build((3, 2, 2, 1), ROWS, [([2], IMAGES[2:]), (range(2), IMAGES[:2])])


def names(path: Path) -> list[str]:
    return sorted(child.name.split("-")[0] for child in path.parent.iterdir())


def test_parts_go_to_their_places_and_are_made_once(published: Path) -> None:
    calls = []

    def counted() -> Build:
        calls.append(1)
        return build()

    for _ in range(2):
        images, rows = prepare([published], counted)
        np.testing.assert_array_equal(images, IMAGES)
        np.testing.assert_array_equal(rows, ROWS)
        assert rows.dtype == np.int64
    assert len(calls) == 1
    assert names(published) == ["prepared", "toys.bin"]


def test_a_changed_file_is_prepared_anew_and_the_old_images_go(published: Path) -> None:
    prepare([published], build)
    os.utime(published, (1, 1))
    images, _ = prepare([published], lambda: Build((1, 2, 2, 1), ROWS[:1], [([0], IMAGES[:1])]))
    assert len(images) == 1
    assert names(published) == ["prepared", "toys.bin"]


def test_a_missing_image_is_named_and_nothing_is_left(published: Path) -> None:
    with pytest.raises(DamagedError, match="image 1 of 3 is missing"):
        prepare([published], lambda: Build((3, 2, 2, 1), ROWS, [([0, 2], IMAGES[:2])]))
    assert names(published) == ["toys.bin"]


def test_an_image_of_another_shape_is_refused(published: Path) -> None:
    with pytest.raises(DamagedError, match="expected uint8"):
        prepare([published], lambda: Build((3, 2, 3, 1), ROWS, [(range(3), IMAGES)]))
    assert names(published) == ["toys.bin"]


def test_too_little_space_is_said_at_once(published: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", ["total", "used", "free"])
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage(10, 9, 1))
    with pytest.raises(DataError, match=r"toys needs 12 bytes in .*, 1 bytes are free"):
        prepare([published], build)
    assert names(published) == ["toys.bin"]


@pytest.mark.parametrize(
    ("code", "message"), [(errno.ENOSPC, "is full"), (errno.EROFS, "cannot be written")], ids=["full", "read-only"]
)
def test_a_disk_that_fails_leaves_nothing_behind(
    code: int, message: str, published: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(module.os, "fsync", fail)
    with pytest.raises(DataError, match=message):
        prepare([published], build)
    assert names(published) == ["toys.bin"]


def test_an_interrupted_preparation_leaves_nothing_behind(published: Path) -> None:
    def parts():
        yield [0], IMAGES[:1]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prepare([published], lambda: Build((3, 2, 2, 1), ROWS, parts()))
    assert names(published) == ["toys.bin"]


def test_a_second_preparation_waits_for_the_first_and_uses_its_images(
    published: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    started = threading.Event()

    def parts():
        started.set()
        deadline = time.monotonic() + 10
        while "waiting for process" not in capsys.readouterr().err:
            assert time.monotonic() < deadline, "the second preparation does not wait"
            time.sleep(0.01)
        yield range(3), IMAGES

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(prepare, [published], lambda: Build((3, 2, 2, 1), ROWS, parts()))
        assert started.wait(10)
        second = pool.submit(prepare, [published], lambda: pytest.fail("prepared twice"))
        for images, _ in (first.result(10), second.result(10)):
            np.testing.assert_array_equal(images, IMAGES)
    assert names(published) == ["prepared", "toys.bin"]


def test_what_a_killed_preparation_left_is_removed(published: Path) -> None:
    killed = f"""
import os
from pathlib import Path
from hackle.datasets.prepare import Build, prepare
import numpy as np

def parts():
    yield [0], np.zeros((1, 2, 2, 1), np.uint8)
    os.kill(os.getpid(), 9)

prepare([Path({str(published)!r})], lambda: Build((3, 2, 2, 1), np.zeros((3, 1), int), parts()))
"""
    assert subprocess.run([sys.executable, "-c", killed], check=False).returncode == -9
    assert names(published) == ["preparing", "preparing.lock", "toys.bin"]
    images, _ = prepare([published], build)
    np.testing.assert_array_equal(images, IMAGES)
    assert names(published) == ["prepared", "toys.bin"]


def test_where_nothing_can_be_locked_the_faster_wins_and_others_are_left_alone(
    published: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)

    def parts():
        prepare([published], build)  # as another process would, meanwhile
        yield range(3), 255 - IMAGES

    images, _ = prepare([published], lambda: Build((3, 2, 2, 1), ROWS, parts()))
    np.testing.assert_array_equal(images, IMAGES)
    assert names(published) == ["prepared", "toys.bin"]


@pytest.mark.parametrize("file", ["images.npy", "rows.npy"])
def test_damaged_prepared_images_say_what_to_delete(file: str, published: Path) -> None:
    prepare([published], build)
    (folder,) = published.parent.glob("prepared-*")
    (folder / file).write_bytes(b"")
    with pytest.raises(DamagedError, match="delete it and load toys again"):
        prepare([published], build)
