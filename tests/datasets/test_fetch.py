"""Fetching, against a server on this machine that misbehaves in the ways real ones do."""

from __future__ import annotations

import errno
import hashlib
import socket
import threading
from collections import namedtuple
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from hackle.core.errors import HackleError
from hackle.datasets import fetch as fetching
from hackle.datasets.fetch import data_root, fetch_file
from hackle.datasets.source import DataError, RemoteFile
from hackle.datasets.verify import file_state

CONTENT = bytes(range(256)) * 1024
DIGEST = hashlib.sha256(CONTENT).hexdigest()
MD5 = hashlib.md5(CONTENT).hexdigest()


@dataclass
class Behaviour:
    """What the server does; it notes the Range header of each request it gets."""

    content: bytes = CONTENT
    ranges: bool = True
    length: bool = True
    tag: str = '"one"'
    cuts: list[int] = field(default_factory=list)  # bytes to send before hanging up, for the first requests
    errors: list[int] = field(default_factory=list)  # codes to answer the first requests with
    wrong_range: bool = False
    pause: threading.Event | None = None  # what to wait for in the middle of the body
    paused: threading.Event = field(default_factory=threading.Event)
    asked: list[str | None] = field(default_factory=list)


class Handler(BaseHTTPRequestHandler):
    behaviour: Behaviour

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        does = self.behaviour
        asked = self.headers.get("Range")
        does.asked.append(asked)
        if does.errors:
            self.send_error(does.errors.pop(0))
            return
        start = 0
        if asked and does.ranges and self.headers.get("If-Range", does.tag) == does.tag:
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
            if start >= len(does.content):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(does.content)}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
        if does.wrong_range and start:
            does.wrong_range, start = False, start + 1
        body = does.content[start:]
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(does.content) - 1}/{len(does.content)}")
        if does.length:
            self.send_header("Content-Length", str(len(body)))
        if does.tag:
            self.send_header("ETag", does.tag)
        self.end_headers()
        if does.pause is not None:
            self.wfile.write(body[:1000])
            body = body[1000:]
            does.paused.set()
            does.pause.wait(10)
        self.wfile.write(body[: does.cuts.pop(0)] if does.cuts else body)


Server = namedtuple("Server", ["address", "does"])


@pytest.fixture(autouse=True)
def _straight_to_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def server() -> Iterator[Server]:
    behaviour = Behaviour()
    handler = type("Handler", (Handler,), {"behaviour": behaviour})
    http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield Server(f"http://127.0.0.1:{http.server_address[1]}/file.bin", behaviour)
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


def remote(server: Server, sha256: str | None = DIGEST, size: int | None = len(CONTENT)) -> RemoteFile:
    return RemoteFile("file.bin", server.address, sha256, size)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_fetched_and_nothing_is_left_beside_it(server: Server, tmp_path: Path) -> None:
    path = fetch_file(remote(server), tmp_path / "set")
    assert path.read_bytes() == CONTENT
    assert names(tmp_path / "set") == ["file.bin"]


def test_a_verified_file_is_not_fetched_again(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file.bin").write_bytes(CONTENT)
    fetch_file(remote(server), tmp_path)
    assert server.does.asked == []


def test_a_cut_connection_is_picked_up_where_it_ended(server: Server, tmp_path: Path) -> None:
    server.does.cuts = [1000, 70_000]
    assert fetch_file(remote(server), tmp_path, pause=0).read_bytes() == CONTENT
    assert server.does.asked == [None, "bytes=1000-", "bytes=71000-"]


def test_a_part_of_an_earlier_call_is_picked_up(server: Server, tmp_path: Path) -> None:
    server.does.cuts = [5000, 0, 0]
    with pytest.raises(DataError, match=r"5,000 bytes are kept in .*run the same command again"):
        fetch_file(remote(server), tmp_path, attempts=3, pause=0)
    assert names(tmp_path) == ["file.bin.part", "file.bin.part.tag"]
    assert fetch_file(remote(server), tmp_path).read_bytes() == CONTENT
    assert server.does.asked[-1] == "bytes=5000-"


def test_a_server_without_ranges_starts_over(server: Server, tmp_path: Path) -> None:
    server.does.ranges, server.does.cuts = False, [3000]
    assert fetch_file(remote(server), tmp_path, pause=0).read_bytes() == CONTENT
    assert server.does.asked == [None, "bytes=3000-"]


def test_a_range_other_than_asked_for_starts_over(server: Server, tmp_path: Path) -> None:
    server.does.cuts, server.does.wrong_range = [3000], True
    assert fetch_file(remote(server), tmp_path, pause=0).read_bytes() == CONTENT


def test_a_file_that_changed_between_two_calls_is_not_joined_with_its_old_start(server: Server, tmp_path: Path) -> None:
    server.does.content, server.does.cuts = bytes(len(CONTENT)), [4000, 0]
    with pytest.raises(DataError):
        fetch_file(remote(server, sha256=None), tmp_path, attempts=1)
    server.does.content, server.does.tag, server.does.cuts = CONTENT, '"two"', []
    assert fetch_file(remote(server, sha256=None), tmp_path).read_bytes() == CONTENT


@pytest.mark.parametrize("size", [len(CONTENT), None])
def test_a_whole_part_needs_no_more_bytes(size: int | None, server: Server, tmp_path: Path) -> None:
    (tmp_path / "file.bin.part").write_bytes(CONTENT)
    assert fetch_file(remote(server, size=size), tmp_path).read_bytes() == CONTENT


def test_a_part_longer_than_the_file_is_dropped(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file.bin.part").write_bytes(CONTENT + b"more")
    assert fetch_file(remote(server), tmp_path, pause=0).read_bytes() == CONTENT


def test_a_body_of_unannounced_length_is_read_to_its_end(server: Server, tmp_path: Path) -> None:
    server.does.length = False
    assert fetch_file(remote(server), tmp_path).read_bytes() == CONTENT


def test_a_wrong_checksum_puts_nothing_in_place(server: Server, tmp_path: Path) -> None:
    server.does.content = CONTENT[:-1] + b"\0"
    with pytest.raises(DataError) as caught:
        fetch_file(remote(server), tmp_path)
    assert DIGEST in str(caught.value)
    assert hashlib.sha256(server.does.content).hexdigest() in str(caught.value)
    assert names(tmp_path) == []


def test_a_body_of_another_size_is_refused_before_it_is_fetched(server: Server, tmp_path: Path) -> None:
    server.does.content = b"<html>too many downloads</html>"
    with pytest.raises(DataError, match=r"offers 31 bytes, the published file\.bin has 262,144"):
        fetch_file(remote(server), tmp_path)
    assert names(tmp_path) == []


def test_a_body_without_end_is_left_where_the_file_would_end(server: Server, tmp_path: Path) -> None:
    server.does.length, server.does.content = False, bytes(8 * 2**20)
    with pytest.raises(DataError, match=r"did not give the published file.bin: 1,048,576 bytes"):
        fetch_file(remote(server), tmp_path, pause=0.0)
    assert names(tmp_path) == []


def test_a_busy_server_is_asked_again(server: Server, tmp_path: Path) -> None:
    server.does.errors = [503, 429]
    assert fetch_file(remote(server), tmp_path, pause=0).read_bytes() == CONTENT


def test_a_server_that_stays_busy_is_given_up(server: Server, tmp_path: Path) -> None:
    server.does.errors = [503] * 9
    with pytest.raises(DataError, match="503"):
        fetch_file(remote(server), tmp_path, attempts=3, pause=0)
    assert len(server.does.asked) == 3


def test_a_file_that_is_gone_is_not_asked_for_again(server: Server, tmp_path: Path) -> None:
    server.does.errors = [404]
    with pytest.raises(DataError, match=r"answers 404 .*file\.bin was not fetched"):
        fetch_file(remote(server), tmp_path)
    assert len(server.does.asked) == 1


@pytest.mark.parametrize("ending", ["part", "part.tag", "sha256"])
def test_nothing_is_written_through_a_link_that_leaves_the_folder(server: Server, tmp_path: Path, ending: str) -> None:
    """A folder of data sets may be somebody else's."""
    (tmp_path / "mine").write_text("precious")
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / f"file.bin.{ending}").symlink_to(tmp_path / "mine")
    with pytest.raises(HackleError, match="is a link that leaves"):
        fetch_file(remote(server, None, None), folder, pause=0.0)
    assert (tmp_path / "mine").read_text() == "precious"
    assert server.does.asked == []


def test_an_unreachable_server_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        address = f"http://127.0.0.1:{closed.getsockname()[1]}/x"
    with pytest.raises(DataError, match=f"could not be fetched from {address}: .*belongs at {tmp_path / 'x'}$"):
        fetch_file(RemoteFile("x", address, None, None), tmp_path, attempts=2, pause=0)


def test_a_file_of_the_users_is_never_overwritten_unasked(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file.bin").write_bytes(b"mine")
    with pytest.raises(DataError, match="--force"):
        fetch_file(remote(server), tmp_path)
    assert (tmp_path / "file.bin").read_bytes() == b"mine"
    assert fetch_file(remote(server), tmp_path, force=True).read_bytes() == CONTENT


def test_a_failed_forced_fetch_keeps_the_old_file(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file.bin").write_bytes(b"mine")
    server.does.content = bytes(len(CONTENT))
    with pytest.raises(DataError):
        fetch_file(remote(server), tmp_path, force=True)
    assert (tmp_path / "file.bin").read_bytes() == b"mine"


def test_too_little_space_is_said_before_fetching(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", ["total", "used", "free"])
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage(10**6, 10**6, 1000))
    with pytest.raises(DataError, match=r"needs 262 kB in .*, 1 kB are free.* HACKLE_DATA"):
        fetch_file(remote(server), tmp_path)
    assert names(tmp_path) == []


def test_a_second_fetch_of_the_same_file_stops_and_harms_nothing(server: Server, tmp_path: Path) -> None:
    server.does.pause = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        try:
            first = pool.submit(fetch_file, remote(server), tmp_path)
            assert server.does.paused.wait(10)
            for force in (False, True):
                with pytest.raises(DataError, match=r"file\.bin is being fetched by process \d+ on .*: let it finish"):
                    fetch_file(remote(server), tmp_path, force=force)
        finally:
            server.does.pause.set()
        assert first.result(10).read_bytes() == CONTENT
    assert server.does.asked == [None]
    assert names(tmp_path) == ["file.bin"]


def test_a_file_that_another_process_put_in_place_is_not_fetched_again(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def late(path: Path, busy: object) -> Iterator[bool]:
        (tmp_path / "file.bin").write_bytes(CONTENT)
        yield True

    monkeypatch.setattr(fetching, "locked", late)
    assert fetch_file(remote(server), tmp_path).read_bytes() == CONTENT
    assert server.does.asked == []


class FullDisk:
    """A file that takes a number of bytes and then fails as a full disk does."""

    def __init__(self, file, room: int) -> None:
        self._file, self._room = file, room

    def __enter__(self) -> FullDisk:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __getattr__(self, name: str) -> object:
        return getattr(self._file, name)

    def write(self, data: bytes) -> int:
        if len(data) > self._room:
            self._file.write(data[: self._room])
            raise OSError(errno.ENOSPC, "No space left on device")
        self._room -= len(data)
        return self._file.write(data)


def test_a_disk_that_fills_up_keeps_the_part_and_puts_nothing_in_place(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_open = Path.open

    def open_part(path: Path, *arguments, **keywords):
        file = real_open(path, *arguments, **keywords)
        return FullDisk(file, 100_000) if path.suffix == ".part" and "b" in arguments[0] else file

    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", open_part)
        with pytest.raises(DataError, match=r"is full: free some space"):
            fetch_file(remote(server), tmp_path)
    assert not (tmp_path / "file.bin").exists()
    assert (tmp_path / "file.bin.part").stat().st_size == 100_000
    assert fetch_file(remote(server), tmp_path).read_bytes() == CONTENT
    assert server.does.asked[-1] == "bytes=100000-"


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_, **__):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(DataError, match=r"cannot be written \(Permission denied\).*HACKLE_DATA"):
        fetch_file(RemoteFile("x", "http://127.0.0.1:9/x", None, None), tmp_path / "new")


def test_without_a_published_checksum_the_fetched_one_is_recorded(server: Server, tmp_path: Path) -> None:
    file = remote(server, sha256=None, size=None)
    path = fetch_file(file, tmp_path)
    assert (tmp_path / "file.bin.sha256").read_text() == f"{DIGEST}  file.bin\n"
    found = file_state(file, tmp_path)
    assert found.state == "verified"
    assert found.detail == "unchanged since it was fetched (SHA-256); no published checksum"
    path.write_bytes(CONTENT[::-1])
    assert file_state(file, tmp_path).state == "damaged"
    (tmp_path / "file.bin.sha256").write_text("\n")
    assert file_state(file, tmp_path).detail == "present; no published checksum"


def test_an_md5_verifies_where_no_sha256_is_published(server: Server, tmp_path: Path) -> None:
    file = RemoteFile("file.bin", server.address, None, None, md5=MD5)
    path = fetch_file(file, tmp_path)
    assert names(tmp_path) == ["file.bin"]
    assert file_state(file, tmp_path).detail == "verified by MD5"
    path.write_bytes(CONTENT[::-1])
    reversed_md5 = hashlib.md5(CONTENT[::-1]).hexdigest()
    assert file_state(file, tmp_path).detail == f"damaged: MD5 {reversed_md5}, {MD5} expected"
    server.does.content = CONTENT[::-1]
    with pytest.raises(DataError, match=f"262,144 bytes with MD5 {reversed_md5} came, MD5 {MD5} expected"):
        fetch_file(file, tmp_path, force=True)
    assert names(tmp_path) == ["file.bin"]


def test_a_sha256_goes_before_an_md5(server: Server, tmp_path: Path) -> None:
    file = RemoteFile("file.bin", server.address, DIGEST, None, md5="0" * 32)
    fetch_file(file, tmp_path)
    assert file_state(file, tmp_path).detail == "verified by SHA-256"


def test_states_of_a_file(server: Server, tmp_path: Path) -> None:
    file, path = remote(server), tmp_path / "file.bin"
    assert file_state(file, tmp_path).detail == "missing"
    (tmp_path / "file.bin.part").write_bytes(b"abc")
    assert file_state(file, tmp_path).detail == "missing; 3 bytes of it received, fetch goes on from there"
    path.write_bytes(CONTENT)
    assert file_state(file, tmp_path).state == "verified"
    path.write_bytes(CONTENT[:-1])
    assert file_state(file, tmp_path).detail == "damaged: 262,143 bytes, 262,144 expected"
    path.write_bytes(CONTENT[::-1])
    assert DIGEST in file_state(file, tmp_path).detail
    assert file_state(remote(server, sha256=None), tmp_path).detail == "present; no published checksum"


def test_an_unpacked_file_cannot_be_verified(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(b"unpacked")
    found = file_state(RemoteFile("data.gz", "", "0" * 64, 3), tmp_path)
    assert (found.state, found.path.name) == ("unverified", "data")


def test_data_root_goes_by_argument_then_variable_then_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HACKLE_DATA", "/variable")
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    monkeypatch.setenv("HOME", "/home/me")
    assert data_root("/argument") == Path("/argument")
    assert data_root() == Path("/variable")
    monkeypatch.delenv("HACKLE_DATA")
    assert data_root() == Path("/cache/hackle")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert data_root() == Path("/home/me/.cache/hackle")
    assert data_root("~/data") == Path("/home/me/data")
