"""The page's own files, kept in memory: the first view needs more than a dozen, and reading each in a thread of its own
takes longer than the browser takes to draw them."""

from __future__ import annotations

import hashlib
import mimetypes
from pathlib import Path

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

_KINDS = {".js": "text/javascript", ".css": "text/css", ".json": "application/json", ".svg": "image/svg+xml"}
"""What a machine's own list of types may lack or have wrong."""


def _answers(path: Path) -> tuple[Response, Response]:
    """A file's answer, and the shorter one for a browser that has it already."""
    content = path.read_bytes()
    # Asked for again each time: scripts of two versions must not meet in one page.
    headers = {"ETag": f'"{hashlib.sha256(content).hexdigest()[:16]}"', "Cache-Control": "no-cache"}
    kind = _KINDS.get(path.suffix) or mimetypes.guess_type(path.name)[0]
    return Response(content, media_type=kind, headers=headers), Response(status_code=304, headers=headers)


class Assets:
    """Every file of a folder as an ASGI application, read once; the folder itself is its index.html."""

    def __init__(self, folder: Path) -> None:
        files = (path for path in folder.rglob("*") if path.is_file())
        self._answers = {f"/{path.relative_to(folder).as_posix()}": _answers(path) for path in files}
        self._answers["/"] = self._answers["/index.html"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] not in ("GET", "HEAD"):
            raise HTTPException(405)
        if scope["path"] not in self._answers:
            raise HTTPException(404)
        whole, same = self._answers[scope["path"]]
        known = Headers(scope=scope).get("if-none-match") == whole.headers["ETag"]
        await (same if known else whole)(scope, receive, send)
