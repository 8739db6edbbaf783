"""Hostile requests get a refusal that says why, and the server goes on as before."""

from __future__ import annotations

import http.client
import io
import socket
import struct
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import numpy as np
import pytest
from PIL import Image

from hackle.core.errors import HackleError
from hackle.datasets import own
from hackle.datasets.pixels import Reading
from hackle.explorer import create_app
from hackle.explorer.guard import MOST_BODY, allowed_host, host_of, is_loopback
from hackle.explorer.uploads import UploadError, decode_upload
from hackle.explorer.workbench import Busy, LastUsed, RequestLimit
from hackle.train.model import Model


@pytest.fixture(autouse=True)
def _still_up(client: httpx.Client, ids: dict[str, str]) -> Iterator[None]:
    """After each of these tests the server must answer as it did before."""
    yield
    assert client.post(f"/api/runs/{ids['beta']}/decode", json={"z": [[0, 0, 0]]}).status_code == 200


def raw(address: str, path: str, method: str = "GET", **headers: str) -> tuple[int, bytes]:
    """A request whose path and headers reach the server as they are."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=30)
    connection.putrequest(method, path, skip_host="Host" in headers)
    for name, value in headers.items():
        connection.putheader(name.replace("_", "-"), value)
    connection.endheaders()
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, content


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt",
        "/../../secret.txt",
        "/%2e%2e/%2e%2e/secret.txt",
        "/..%2f..%2fsecret.txt",
        "/js/../../server.py",
        "/js/%2e%2e/%2e%2e/server.py",
        "/..\\..\\secret.txt",
        "//etc/passwd",
        "/etc/passwd",
        "/js/%00",
        "/api/runs/..%2f..%2fsecret.txt",
        "/api/runs/../../secret.txt",
        "/api/runs/%2e%2e/model",
        "/api/runs/outside/model",
        "/api/runs/outside%2fsecret.txt",
        "/api/runs/%00/model",
        "/api/runs/" + "a" * 5000,
    ],
)
def test_no_path_leads_out(address: str, path: str) -> None:
    status, content = raw(address, path)
    assert 400 <= status < 500
    assert b"secret" not in content.replace(path.encode(), b"").replace(b"secret.txt", b"")
    assert b"root:" not in content


def test_links_that_lead_out_are_not_listed(ids: dict[str, str]) -> None:
    assert set(ids) == {"beta", "plain", "gan", "training", "broken"}


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "a b", "[::1", "10.0.0.1"]
)
def test_other_host_names_are_refused(address: str, host: str) -> None:
    status, content = raw(address, "/api/runs", Host=host)
    assert 400 <= status < 500
    assert b"columns" not in content


@pytest.mark.parametrize("host", ["localhost", "localhost:1234", "127.0.0.1", "[::1]:80"])
def test_loopback_names_are_served(address: str, host: str) -> None:
    assert raw(address, "/api/runs", Host=host)[0] == 200


def test_other_sites_may_not_ask(address: str, ids: dict[str, str]) -> None:
    place = f"/api/runs/{ids['beta']}/upload"
    assert raw(address, place, "POST", Origin="http://evil.example", Content_Length="0")[0] == 403
    assert raw(address, place, "POST", Origin="null", Content_Length="0")[0] == 403
    assert raw(address, place, "POST", Sec_Fetch_Site="cross-site", Content_Length="0")[0] == 403


@pytest.mark.parametrize(
    "question",
    [
        {},
        {"z": []},
        {"z": [[]]},
        {"z": "text"},
        {"z": [["a", "b", "c"]]},
        {"z": [[1, 2]]},
        {"z": [[1, 2, 3, 4]]},
        {"z": [[1, 2, 3], [1, 2]]},
        {"z": [[1, 2, None]]},
        {"z": [[[1, 2, 3]]]},
        {"z": [[1, 2, 3]], "more": 1},
        {"z": [[0, 0, 0]] * 5000},
        [1, 2, 3],
        None,
        7,
    ],
)
def test_wrong_latents_are_refused(client: httpx.Client, ids: dict[str, str], question: Any) -> None:
    answer = client.post(f"/api/runs/{ids['beta']}/decode", json=question)
    assert answer.status_code == 422
    assert answer.json()["detail"]


@pytest.mark.parametrize(
    "body", [b"", b"{", b"\xff\xfe", b'{"z": [[NaN, 0, 0]]}', b'{"z": [[1e999, 0, 0]]}', b"[" * 5000]
)
def test_broken_json_is_refused(client: httpx.Client, ids: dict[str, str], body: bytes) -> None:
    answer = client.post(f"/api/runs/{ids['beta']}/decode", content=body, headers={"Content-Type": "application/json"})
    assert 400 <= answer.status_code < 500


@pytest.mark.parametrize(
    ("place", "question"),
    [
        ("start", {"row": [9, 9, 9]}),
        ("start", {"row": [0]}),
        ("start", {"row": [0.5, 0, 0]}),
        ("start", {"row": [-1, 0, 0]}),
        ("start", {"row": [2**70, 0, 0]}),
        ("start", {"seed": -1}),
        ("start", {"seed": 2**64}),
        ("start", {"seed": 0, "count": 100_000}),
        ("vary", {"row": [0, 0, 0], "factor": 3}),
        ("vary", {"row": [0, 0, 0], "factor": -1}),
        ("vary", {"row": [0, 0, 4], "factor": 0}),
        ("export", {"format": "exe", "z": [[0, 0, 0]]}),
        ("export", {"format": "png", "z": [[0, 0, 0]], "rows": 7}),
        ("export", {"format": "png", "z": [[0, 0, 0]], "rows": 0}),
        ("export", {"format": "html", "z": [[0, 0, 0]] * 17}),
        ("export", {"format": "html", "z": [[0, 0]]}),
    ],
)
def test_wrong_questions_are_refused(client: httpx.Client, ids: dict[str, str], place: str, question: Any) -> None:
    answer = client.post(f"/api/runs/{ids['beta']}/{place}", json=question)
    assert answer.status_code == 422
    assert answer.json()["detail"]


def test_unknown_runs_and_unready_ones(client: httpx.Client, ids: dict[str, str]) -> None:
    assert client.get("/api/runs/ffffffffffffffff").status_code == 404
    assert client.get("/api/runs/ffffffffffffffff/model").status_code == 404
    assert client.get(f"/api/runs/{ids['training']}/model").status_code == 409
    assert client.get(f"/api/runs/{ids['broken']}/model").status_code == 409
    assert client.get(f"/api/runs/{ids['beta']}/curves?after=x").status_code == 422
    assert client.delete(f"/api/runs/{ids['beta']}").status_code == 405
    assert client.get("/openapi.json").status_code == 404


def test_weights_are_never_unpickled(tmp_path: Path, served: Path, visit: Any) -> None:
    import pickle
    import shutil

    shutil.copytree(served / "beta", tmp_path / "run")
    (tmp_path / "run" / "weights.safetensors").write_bytes(pickle.dumps({"a": 1}))
    client = visit(create_app(tmp_path / "run"))
    identifier = next(column for column in client.get("/api/runs").json()["columns"] if column["key"] == "id")["words"][
        0
    ]
    answer = client.get(f"/api/runs/{identifier}/model")
    assert answer.status_code == 409
    assert "damaged" in answer.json()["detail"]


def bomb(width: int, height: int) -> bytes:
    """A small PNG that says it has very many pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = zlib.compress(bytes(1_000_000), 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def picture(kind: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    pixels = np.random.default_rng(0).integers(256, size=(40, 60, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(buffer, kind, **options)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not a picture",
        b"\x89PNG\r\n\x1a\n",
        picture("png")[:200],
        picture("jpeg")[:100],
        b"GIF89a" + b"\xff" * 50,
        bomb(20_000, 20_000),
        bomb(6000, 6000),
        bomb(2**31 - 1, 2**31 - 1),
        picture("tiff"),
        picture("ppm"),
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        bytes(np.random.default_rng(1).integers(256, size=5000, dtype=np.uint8)),
    ],
)
def test_what_is_no_picture_is_refused(client: httpx.Client, ids: dict[str, str], data: bytes) -> None:
    answer = client.post(f"/api/runs/{ids['beta']}/upload", content=data)
    assert answer.status_code == 422
    assert answer.json()["detail"]


@pytest.mark.parametrize("kind", ["png", "jpeg", "webp", "gif", "bmp"])
def test_pictures_of_every_known_kind_are_taken(kind: str) -> None:
    for shape in ((16, 16, 1), (28, 20, 3)):
        assert decode_upload(picture(kind), shape).shape == shape
    with pytest.raises(UploadError, match="2 channels"):
        decode_upload(picture(kind), (16, 16, 2))


def test_pictures_damaged_anywhere_are_refused_or_read() -> None:
    rng = np.random.default_rng(3)
    for kind in ("png", "jpeg", "webp", "gif", "bmp"):
        whole = np.frombuffer(picture(kind), np.uint8)
        for _ in range(60):
            damaged = whole.copy()
            damaged[rng.integers(len(whole), size=8)] = rng.integers(256, size=8)
            with suppress(UploadError):
                assert decode_upload(damaged.tobytes(), (16, 16, 3)).shape == (16, 16, 3)


def test_large_requests_are_cut_off(client: httpx.Client, address: str, ids: dict[str, str]) -> None:
    place = f"/api/runs/{ids['beta']}/upload"
    assert raw(address, place, "POST", Content_Length=str(MOST_BODY + 1))[0] == 413
    assert raw(address, place, "POST", Content_Length="-5")[0] == 400

    def endless() -> Iterator[bytes]:
        for _ in range(MOST_BODY // 65536 + 8):
            yield bytes(65536)

    # The server may hang up before all of it is sent.
    with suppress(httpx.WriteError):
        assert client.post(place, content=endless()).status_code == 413


def test_many_at_once_are_answered_or_sent_away(address: str, ids: dict[str, str]) -> None:
    def ask(number: int) -> int:
        # Without certificates, which take longer to load than the questions to answer.
        with httpx.Client(base_url=address, timeout=60, verify=False) as client:
            if number % 3 == 0:
                return client.post(
                    f"/api/runs/{ids['beta']}/decode", json={"z": [[0.1 * number, 0, 0]] * 50}
                ).status_code
            if number % 3 == 1:
                return client.get(f"/api/runs/{ids['plain']}/thumbnail.png").status_code
            return client.post(f"/api/runs/{ids['gan']}/upload", content=b"x" * 1000).status_code

    with ThreadPoolExecutor(40) as pool:
        found = list(pool.map(ask, range(120)))
    assert set(found) <= {200, 422, 429}
    assert 200 in found


def test_half_requests_do_not_stop_others(client: httpx.Client, address: str, ids: dict[str, str]) -> None:
    host, port = urlsplit(address).hostname, urlsplit(address).port
    assert host is not None
    assert port is not None
    idle = [socket.create_connection((host, port)) for _ in range(50)]
    for connection in idle:
        connection.sendall(b"POST /api/runs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n")
    assert client.get("/api/runs").status_code == 200
    for connection in idle:
        connection.sendall(b"\x00\xff garbage\r\n\r\n")
        connection.close()


def test_turns_bound_who_works_and_who_waits() -> None:
    limit = RequestLimit(1, waiting=1)
    with limit.turn():
        waiting = ThreadPoolExecutor(1).submit(lambda: limit.turn().__enter__())
        while limit._room._value:
            pass
        with pytest.raises(Busy), limit.turn():
            pass
    waiting.result(10)


def test_a_shelf_makes_each_value_once_and_keeps_the_last_used() -> None:
    made: list[int] = []
    cache = LastUsed(2)

    def get(key: int) -> int:
        return cache.get(key, lambda: made.append(key) or key)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(get, [1] * 32)) == [1] * 32
    assert made == [1]
    assert [get(key) for key in (2, 1, 3, 1, 2)] == [2, 1, 3, 1, 2]
    assert made == [1, 2, 3, 2]


def test_hosts_are_told_apart() -> None:
    assert is_loopback("127.0.0.1")
    assert is_loopback("::1")
    assert is_loopback("localhost")
    assert not is_loopback("0.0.0.0")
    assert not is_loopback("example.com")
    assert host_of("LOCALHOST.:80") == "localhost"
    assert host_of("[::1]:80") == "::1"
    for odd in ("evil.example@127.0.0.1", "127.0.0.1/evil.example", "127.0.0.1?a", "127.0.0.1#a"):
        assert host_of(odd) == ""
    assert allowed_host("10.1.2.3", "0.0.0.0")
    assert allowed_host(socket.gethostname().lower(), "0.0.0.0")
    assert not allowed_host("evil.example", "0.0.0.0")
    assert not allowed_host("10.1.2.3", "127.0.0.1")


def test_other_machines_need_the_token(served: Path, visit: Any) -> None:
    with pytest.raises(HackleError, match="give a token"):
        create_app(served, host="0.0.0.0")
    client = visit(create_app(served, host="0.0.0.0", token="sesame"))
    for path in ("/", "/api/runs", "/js/main.js", "/?token=wrong", "/api/runs?token=sesame"):
        assert client.get(path).status_code == 401
    assert client.get("/api/runs", headers={"Authorization": "Bearer sesame"}).status_code == 200
    assert client.get("/api/runs", headers={"Cookie": "hackle_token=wrong; ;;=,"}).status_code == 401
    welcome = client.get("/?token=sesame")
    assert welcome.status_code == 303
    assert "httponly" in welcome.headers["set-cookie"].lower()
    assert client.get("/api/runs").status_code == 200
    assert client.get("/api/runs", headers={"Host": "evil.example"}).status_code == 421


def test_a_record_makes_no_images_larger_than_its_model(
    served: Path, visit: Callable[..., httpx.Client], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A data set's name may ask for a size; where it is not the model's nothing is scaled."""
    model = Model.load(served / "beta")
    sizes, load = [], own.load

    def noted(path: Path, how: Reading) -> Any:
        sizes.append(how.resize)
        return load(path, how)

    monkeypatch.setattr(own, "load", noted)
    for side in (16, 9000):
        run = replace(model.run, dataset=f"{model.run.dataset}+resize={side}")
        Model(run, model.shape, model.weights()).save(tmp_path / "runs" / str(side))
    client = visit(create_app(tmp_path / "runs"))
    (column,) = (column for column in client.get("/api/runs").json()["columns"] if column["key"] == "id")
    problems = [client.get(f"/api/runs/{name}/model").json()["problem"] for name in column["words"]]
    assert sizes == [16]
    assert sorted(bool(problem) for problem in problems) == [False, True]
    assert any("another size" in problem for problem in problems)
