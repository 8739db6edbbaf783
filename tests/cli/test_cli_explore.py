"""`hackle explore` as a user types it."""

from __future__ import annotations

import os
import re
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import pytest

import forked
from hackle.cli.main import main
from hackle.objectives import VAE
from hackle.train.model import Model
from train.test_fleet import small_run

pytest.importorskip("fastapi")


@pytest.fixture
def run(tmp_path: Path, squares: Any) -> Path:
    return Model(small_run(VAE()), squares.shape).save(tmp_path / "run")


@contextmanager
def started(run: Path, *words: str) -> Iterator[str]:
    """The command in a process of its own, interrupted in the end; the address that it prints."""
    code = "from hackle.cli.main import main; main()"
    out, error = run.parent / "out", run.parent / "error"
    process = forked.start(code, "explore", run, *words, said=(out, error))
    assert process.pid is not None
    try:
        deadline = time.monotonic() + 120
        while not (out.exists() and "\n" in out.read_text()):
            assert process.is_alive(), error.read_text()
            assert time.monotonic() < deadline
            time.sleep(0.01)
        (line, *_) = out.read_text().splitlines()
        found = re.search(r"http://\S+", line)
        assert found is not None, line
        yield found.group()
    finally:
        os.kill(process.pid, signal.SIGINT)
        process.join(20)
        assert process.exitcode in (0, -signal.SIGINT, 130)


def answer(address: str, **headers: str) -> bytes:
    """What the server says, waiting until it listens."""
    for _ in range(100):
        try:
            with urlopen(Request(address, headers=headers), timeout=5) as found:
                return found.read()
        except (ConnectionError, URLError):
            time.sleep(0.1)
    raise AssertionError(f"{address} does not answer")


def test_it_serves_on_loopback_and_ends_with_an_interrupt(run: Path) -> None:
    with started(run, "--port", "0", "--no-browser") as address:
        assert address.startswith("http://127.0.0.1:")
        assert b"hackle explorer" in answer(address)
        assert b'"count":1' in answer(f"{address}api/runs")


def test_other_hosts_need_the_token_in_the_address(run: Path) -> None:
    with started(run, "--host", "0.0.0.0", "--port", "0", "--no-browser") as address:
        port, token = re.search(r":(\d+)/\?token=(\S+)", address).groups()  # type: ignore[union-attr]
        assert len(token) >= 24
        assert b"hackle explorer" in answer(f"http://127.0.0.1:{port}/", Authorization=f"Bearer {token}")
        with pytest.raises(HTTPError, match="401") as refused:
            urlopen(f"http://127.0.0.1:{port}/", timeout=5)
        refused.value.close()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere"], "there is no folder nowhere"),
        (["."], "holds no run"),
    ],
)
def test_mistakes_get_an_answer(words: list[str], message: str, tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stopped:
        main(["explore", *words, "--no-browser"])
    assert stopped.value.code == 1
    assert message in " ".join(capsys.readouterr().err.split())


def test_a_taken_port_is_said_so(run: Path, capsys: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = taken.getsockname()[1]
        with pytest.raises(SystemExit):
            main(["explore", str(run), "--port", str(number), "--no-browser"])
    assert f"cannot listen on 127.0.0.1:{number}" in " ".join(capsys.readouterr().err.split())
    with pytest.raises(SystemExit):
        main(["explore", str(run), "--port", "99999", "--no-browser"])
    assert "between 0 and 65535" in " ".join(capsys.readouterr().err.split())
