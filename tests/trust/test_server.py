"""What visitors can make the explorer's server do, say and wait for."""

from __future__ import annotations

import io
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hostile_folders import Visitor, changed, good_folder

pytest.importorskip("fastapi")
pytest.importorskip("httpx")

import uvicorn
from PIL import Image

from hackle.explorer import create_app, patience
from hackle.explorer.catalogue import without_places
from hackle.explorer.server import settings_of
from hackle.explorer.sheets import MOST_PIXELS, Labels, Sheet


@pytest.fixture
def port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The port of the explorer as `hackle explore` serves it, but with half a second of patience, and three in all."""
    good_folder(tmp_path / "run")
    monkeypatch.setattr(patience, "SECONDS", 0.5)
    monkeypatch.setattr(patience, "MOST_SECONDS", 3.0)
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(settings_of(create_app(tmp_path)))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    yield listening.getsockname()[1]
    server.should_exit = True
    thread.join(10)
    listening.close()


HEAD = b"POST /api/runs/x/upload HTTP/1.1\r\nHost: 127.0.0.1\r\n"
WHOLE = b"GET /api/runs HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


def asked(connection: socket.socket, question: bytes, end: bytes) -> bytes:
    """The answer up to some bytes of it."""
    connection.sendall(question)
    answer = b""
    while end not in answer:
        part = connection.recv(65_536)
        assert part, answer
        answer += part
    return answer


@pytest.mark.parametrize(
    "sent",
    [b"GET / HT", HEAD, HEAD + b"Content-Length: 1000\r\n\r\nabc"],
    ids=["half a line", "half a head", "half a body"],
)
@pytest.mark.parametrize("before", [b"", WHOLE], ids=["first", "second"])
def test_half_sent_requests_are_closed(port: int, before: bytes, sent: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        if before:
            asked(connection, before, b"]}")
        connection.sendall(sent)
        start = time.monotonic()
        while connection.recv(65_536):
            pass
    assert time.monotonic() - start < 5


def test_requests_that_come_slowly_and_wholly_are_answered(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(HEAD + b"Content-Length: 8\r\n\r\n")
        for _ in range(8):
            time.sleep(0.15)
            connection.sendall(b"a")
        assert asked(connection, b"", b"served here").startswith(b"HTTP/1.1 404")
        # An open connection may rest between two requests.
        time.sleep(1.0)
        assert asked(connection, WHOLE, b"]}").startswith(b"HTTP/1.1 200")


def test_requests_that_trickle_in_for_ever_are_closed(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        asked(connection, WHOLE, b"]}")
        connection.sendall(HEAD + b"Content-Length: 1000\r\n\r\n")
        start = time.monotonic()
        with suppress(OSError):
            while time.monotonic() - start < 20:
                connection.sendall(b"a")
                time.sleep(0.1)
    assert 2 < time.monotonic() - start < 10


def test_aborted_uploads_print_nothing(port: int, capfd: pytest.CaptureFixture[str], caplog: Any) -> None:
    for _ in range(3):
        with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
            connection.sendall(HEAD + b"Content-Length: 1000\r\n\r\nabc")
            time.sleep(0.1)
    time.sleep(0.5)
    assert capfd.readouterr() == ("", "")
    assert [record for record in caplog.records if record.name.startswith("uvicorn")] == []


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_pages_of_other_sites_may_not_make_models_work(site: str, tmp_path: Path) -> None:
    good_folder(tmp_path / "run")
    visitor = Visitor(create_app(tmp_path))
    (identifier,) = visitor.identifiers()
    for place in ("", f"/{identifier}/model", f"/{identifier}/thumbnail.png", f"/{identifier}/captured"):
        assert visitor("GET", f"/api/runs{place}", headers={"Sec-Fetch-Site": site}).status_code == 403
    # Links lead here, and this page asks for itself.
    assert visitor("GET", "/", headers={"Sec-Fetch-Site": site}).status_code == 200
    for own in ("same-origin", "none"):
        assert visitor("GET", "/api/runs", headers={"Sec-Fetch-Site": own}).status_code == 200


def test_messages_say_nothing_of_the_machine(tmp_path: Path) -> None:
    root = tmp_path / "a place" / "runs"
    changed(root / "bad", lambda text: text["record"].update(seed="0"))
    good_folder(root / "far", dataset=str(tmp_path / "data.npz"))
    good_folder(root / "home", dataset="~nobody/data.npz")
    good_folder(root / "training")
    (root / "training" / "weights.safetensors").unlink()
    visitor = Visitor(create_app(root))
    answers = []
    for identifier in visitor.identifiers():
        answers += [
            visitor.get(f"/api/runs/{identifier}{place}") for place in ("", "/model", "/thumbnail.png", "/captured")
        ]
    told = [
        str(content.get(key, ""))
        for answer in answers
        if "json" in answer.headers["content-type"]
        for content in [answer.json()]
        for key in ("detail", "problem")
    ]
    assert sum(map(bool, told)) >= 6
    assert not [text for text in told if str(tmp_path) in text or re.search(r"(^|[\s'(`])/\w", text)]


def test_places_are_left_out_of_messages() -> None:
    root = Path("/srv/my runs")
    said = (
        "/srv/my runs/a/run.json is bad: '/home/me/x.npz', see /srv/my runs; <Thing at 0x7f00> and/or 1/2 of http://a/b"
    )
    assert without_places(said, root) == "a/run.json is bad: 'x.npz', see my runs; <Thing> and/or 1/2 of http://a/b"


def gif_of(frames: np.ndarray, sheet: Sheet) -> Any:
    film = [(part, np.zeros(1, bool)) for part in frames]
    return Image.open(io.BytesIO(sheet.gif(film, 80)))


def test_long_animations_are_enlarged_less() -> None:
    few = gif_of(np.zeros((4, 1, 16, 16, 1), np.uint8), Sheet(Labels(), 1, 1, 16, 16, frames=4))
    assert min(few.size) >= 256
    # Frames that differ, as equal ones are stored as one.
    frames = np.arange(4096, dtype=np.uint8).repeat(256).reshape(4096, 1, 16, 16, 1)
    many = gif_of(frames, Sheet(Labels(), 1, 1, 16, 16, frames=4096))
    assert many.n_frames == 4096
    assert 4096 * many.size[0] * many.size[1] < 1.3 * MOST_PIXELS
    assert min(many.size) > 32
    for labels, frames in ((Labels(), MOST_PIXELS // 256 + 1), (Labels(title="a long title" * 16), 4096)):
        with pytest.raises(ValueError, match="too many for one file"):
            Sheet(labels, 1, 1, 16, 16, frames=frames)


@pytest.mark.parametrize(("header", "value"), [("Origin", "http://["), ("Content-Length", "9" * 5_000)])
def test_odd_headers_are_refused(tmp_path: Path, header: str, value: str) -> None:
    good_folder(tmp_path / "run")
    answer = Visitor(create_app(tmp_path))("GET", "/api/runs", headers={header: value})
    assert 400 <= answer.status_code < 500


def test_thousands_of_long_labels_are_drawn_short(tmp_path: Path) -> None:
    good_folder(tmp_path / "run")
    visitor = Visitor(create_app(tmp_path))
    (identifier,) = visitor.identifiers()
    question = {"format": "svg", "z": [[0, 0]] * 4, "columns": 4, "labels": {"tiles": ["W" * 200] * 4}}
    answer = visitor("POST", f"/api/runs/{identifier}/export", json=question)
    assert answer.text.count(f">{'W' * 23}…</text>") == 4
    # Half of a pair is no letter.
    odd = b'{"format": "svg", "z": [[0, 0]], "labels": {"title": "\\ud800"}}'
    answer = visitor(
        "POST", f"/api/runs/{identifier}/export", content=odd, headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == 422
