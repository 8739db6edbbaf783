"""The page's own files, and the socket that they are sent through."""

from __future__ import annotations

import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from hackle.explorer.server import STATIC, _bind


def test_every_file_of_the_page_is_served_with_its_type_and_again_only_if_it_changed(client: httpx.Client) -> None:
    kinds = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
    kinds |= {".json": "application/json"}
    files = [path for path in STATIC.rglob("*") if path.is_file()]
    assert len(files) > 30
    for path in files:
        answer = client.get(f"/{path.relative_to(STATIC).as_posix()}")
        assert (answer.status_code, answer.content) == (200, path.read_bytes()), path
        assert answer.headers["content-type"].split(";")[0] == kinds[path.suffix], path
        # A browser that kept a script of an earlier version asks before it runs it.
        assert answer.headers["cache-control"] == "no-cache"
        again = client.get(answer.url.path, headers={"If-None-Match": answer.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
    assert client.get("/").content == (STATIC / "index.html").read_bytes()


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/js", 404), ("GET", "/js/", 404), ("GET", "/js/none.js", 404), ("POST", "/js/main.js", 405)],
)
def test_what_is_no_file_of_the_page_is_refused(client: httpx.Client, method: str, path: str, status: int) -> None:
    assert client.request(method, path).status_code == status


def test_an_answer_is_sent_at_once() -> None:
    # An answer is written in two parts. Where the second waits until the first is acknowledged, each takes 40 ms more.
    async def waits() -> int:
        seen: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            accepted = writer.get_extra_info("socket")
            seen.set_result(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        async with await asyncio.start_server(connected, sock=listening):
            with socket.create_connection(listening.getsockname()):
                return await seen

    # In a thread of its own: a browser that other tests have open keeps an event loop running in this one.
    with _bind("127.0.0.1", 0) as listening, ThreadPoolExecutor(1) as thread:
        assert thread.submit(asyncio.run, waits()).result()
