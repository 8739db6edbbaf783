"""What visitors can make the explorer's server do, say and wait for."""

from __future__ import annotations

import asyncio
import io
import json
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from importlib import reload
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hostile_folders import SCORES, Visitor, changed, good_folder

pytest.importorskip("fastapi")
pytest.importorskip("httpx")

import uvicorn
from PIL import Image
from uvicorn.protocols.http.h11_impl import H11Protocol

from hackle.explorer import create_app, patience
from hackle.explorer.catalogue import CatalogueError, identifier_of, without_places
from hackle.explorer.server import settings_of
from hackle.explorer.sheets import MOST_PIXELS, Labels, Sheet


class Clock(asyncio.SelectorEventLoop):
    """An event loop whose time stands still but for jumps, so that no test waits and none depends on how busy the machine
    is."""

    now = 0.0
    server: uvicorn.Server

    def time(self) -> float:
        return self.now

    def jump(self, seconds: float) -> None:
        """Let time go by, after everything that was sent has been seen; what it brings about has then happened."""

        async def after_all() -> None:
            for skipped in (0.0, seconds):
                self.now += skipped
                for _ in range(20):
                    await asyncio.sleep(0)

        asyncio.run_coroutine_threadsafe(after_all(), self).result(60)

    def asked(self, connection: socket.socket, question: bytes, end: bytes) -> bytes:
        """The answer up to some bytes of it; the server has then done with it, too."""
        connection.sendall(question)
        answer = b""
        while end not in answer:
            part = connection.recv(65_536)
            assert part, answer
            answer += part
        while self.server.server_state.tasks:
            self.jump(0.0)
        return answer


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[int, Clock]]:
    """The port of the explorer as `hackle explore` serves it, but with half a second of patience, and three in all; and its
    clock."""
    good_folder(tmp_path / "run")
    monkeypatch.setattr(patience, "SECONDS", 0.5)
    monkeypatch.setattr(patience, "MOST_SECONDS", 3.0)
    listening, clock = socket.create_server(("127.0.0.1", 0)), Clock()
    # The system takes little of an answer off the server's hands.
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    clock.server = server = uvicorn.Server(settings_of(create_app(tmp_path)))
    thread = threading.Thread(target=clock.run_until_complete, args=(server.serve(sockets=[listening]),), daemon=True)
    thread.start()
    yield listening.getsockname()[1], clock
    server.should_exit = True
    while thread.is_alive():
        clock.call_soon_threadsafe(setattr, clock, "now", clock.now + 1)
        thread.join(0.01)
    clock.close()
    listening.close()


def connected(port: int) -> socket.socket:
    """A connection that sends what it is given at once."""
    found = socket.create_connection(("127.0.0.1", port), timeout=10)
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return found


HEAD = b"POST /api/runs/x/upload HTTP/1.1\r\nHost: 127.0.0.1\r\n"
WHOLE = b"GET /api/runs HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


@pytest.mark.parametrize(
    "sent",
    [b"GET / HT", HEAD, HEAD + b"Content-Length: 1000\r\n\r\nabc"],
    ids=["half a line", "half a head", "half a body"],
)
@pytest.mark.parametrize("before", [b"", WHOLE], ids=["first", "second"])
def test_half_sent_requests_are_closed(served: tuple[int, Clock], before: bytes, sent: bytes) -> None:
    port, clock = served
    with connected(port) as connection:
        if before:
            clock.asked(connection, before, b"]}")
        connection.sendall(sent)
        clock.jump(0.6)
        while connection.recv(65_536):
            pass


def test_requests_that_come_slowly_and_wholly_are_answered(served: tuple[int, Clock]) -> None:
    port, clock = served
    with connected(port) as connection:
        connection.sendall(HEAD + b"Content-Length: 8\r\n\r\n")
        for _ in range(8):
            clock.jump(0.3)
            connection.sendall(b"a")
        assert clock.asked(connection, b"", b"served here").startswith(b"HTTP/1.1 404")
        # An open connection may rest between two requests.
        clock.jump(5.0)
        assert clock.asked(connection, WHOLE, b"]}").startswith(b"HTTP/1.1 200")


def test_requests_that_trickle_in_for_ever_are_closed(served: tuple[int, Clock]) -> None:
    port, clock = served
    with connected(port) as connection:
        clock.asked(connection, WHOLE, b"]}")
        connection.sendall(HEAD + b"Content-Length: 1000\r\n\r\n")
        start = clock.now
        with suppress(OSError):
            while clock.now - start < 20:
                connection.sendall(b"a")
                clock.jump(0.1)
    assert 2 < clock.now - start < 10


@pytest.mark.parametrize("taken", [True, False])
def test_answers_that_nobody_takes_do_not_stay_in_memory(served: tuple[int, Clock], taken: bool) -> None:
    port, clock = served
    question = json.dumps({"z": [[0, 0]] * 4096}).encode()
    head = f"POST /api/runs/{identifier_of('run')}/decode HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    answer = b""
    with socket.socket() as connection, suppress(ConnectionError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(30)
        connection.connect(("127.0.0.1", port))
        connection.sendall(f"{head}Content-Length: {len(question)}\r\n\r\n".encode() + question)
        answer = connection.recv(1000)
        for turn in range(8):
            # As much as the system holds on the way and more, so that the server has to send the next part.
            while taken and len(answer) < 100_000 * (turn + 1) and (part := connection.recv(65_536)):
                answer += part
            clock.jump(0.6)
        while len(answer) < 2**20 and (part := connection.recv(65_536)):
            answer += part
    assert answer.startswith(b"HTTP/1.1 200")
    assert (len(answer) > 2**20) == taken


def test_a_head_may_not_be_of_any_size_whatever_else_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """uvicorn takes httptools where it is there, which reads a head without end."""
    monkeypatch.setattr("uvicorn.protocols.http.auto.AutoHTTPProtocol", type("HttpToolsProtocol", (), {}))
    try:
        assert issubclass(reload(patience).PatientProtocol, H11Protocol)
    finally:
        monkeypatch.undo()
        reload(patience)


def test_aborted_uploads_print_nothing(
    served: tuple[int, Clock], capfd: pytest.CaptureFixture[str], caplog: Any
) -> None:
    port, clock = served
    for _ in range(3):
        with connected(port) as connection:
            connection.sendall(HEAD + b"Content-Length: 1000\r\n\r\nabc")
            clock.jump(0.1)
    clock.jump(0.6)
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


def test_links_in_a_circle_are_no_folder(tmp_path: Path) -> None:
    """Python's own `resolve` ends in an error that is for programmers."""
    (tmp_path / "link").symlink_to(tmp_path / "link")
    with pytest.raises(CatalogueError, match="there is no folder"):
        create_app(tmp_path / "link")


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


@pytest.mark.parametrize("column", ["protocol", "representation"])
def test_names_of_scores_stay_out_of_headers(column: str, tmp_path: Path) -> None:
    """No header can hold them: the list of all runs would be an error."""
    forged = [{**SCORES[0], column: "\u202e\x1b[2J\r\nSet-Cookie: a=b"}]
    (good_folder(tmp_path / "run") / "scores.json").write_text(json.dumps(forged))
    visitor = Visitor(create_app(tmp_path))
    answer = visitor.get("/api/runs")
    assert (answer.status_code, answer.json()[f"{column}s"]) == (200, [forged[0][column]])
    assert re.fullmatch('"[0-9a-f]+"', answer.headers["ETag"])
    again = visitor("GET", "/api/runs", headers={"If-None-Match": answer.headers["ETag"]})
    assert again.status_code == 304
