"""The web server: routes, the page, and error messages."""

from __future__ import annotations

import os
import secrets
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect

from hackle.core.errors import HackleError
from hackle.explorer.assets import Assets
from hackle.explorer.catalogue import CatalogueError
from hackle.explorer.gathered import catalogue_of
from hackle.explorer.guard import Guard, is_loopback
from hackle.explorer.patience import PatientProtocol
from hackle.explorer.routes import make_routes
from hackle.explorer.workbench import Busy, Missing, Workbench
from hackle.train.record_files import ModelError

STATIC = Path(__file__).parent / "static"
PORT = 8421
_STATUS: dict[type[Exception], int] = {CatalogueError: 404, Missing: 409, ModelError: 409, Busy: 429}


def create_app(
    *directories: str | Path,
    host: str = "127.0.0.1",
    token: str | None = None,
    root: str | Path | None = None,
    trust: bool = False,
) -> FastAPI:
    """The explorer of a folder, or of several in one list, as an ASGI application.

    host: the address to bind to, which decides the host names that are answered. token: what visitors must present;
    required unless the host is loopback. root: the folder of data sets. trust: import what records name, as in
    `Model.load`, when a model is opened; the list of runs never imports anything.
    """
    if token is None and not is_loopback(host):
        raise HackleError(f"{host} can be reached from other machines: give a token, which visitors must bring")
    catalogue = catalogue_of(directories)
    app = FastAPI(
        title="hackle explorer",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        middleware=[Middleware(Guard, host=host, token=token)],
    )
    app.include_router(make_routes(catalogue, Workbench(catalogue, None if root is None else Path(root), trust=trust)))
    app.mount("/", Assets(STATIC))
    for kind in (HackleError, ValueError):
        app.add_exception_handler(kind, partial(_explain, catalogue.for_visitors))
    app.add_exception_handler(ClientDisconnect, lambda request, error: Response(status_code=400))
    app.add_exception_handler(RequestValidationError, _explain_question)
    return app


def _explain(for_visitors: Callable[[str], str], request: Request, error: Exception) -> JSONResponse:
    """An error that the user can fix, as a sentence."""
    status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 422)
    return JSONResponse(
        {"detail": for_visitors(str(error))}, status, headers={"Retry-After": "1"} if status == 429 else None
    )


def _explain_question(request: Request, error: Exception) -> JSONResponse:
    """What is wrong with a request, without echoing its content."""
    assert isinstance(error, RequestValidationError)
    problems = [f"{'.'.join(str(part) for part in item['loc'])}: {item['msg']}" for item in error.errors()[:5]]
    return JSONResponse({"detail": "; ".join(problems)}, 422)


def _bind(host: str, port: int | None) -> socket.socket:
    """A socket bound to the port, or, if none is given, to the usual one or any free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for candidate in (PORT, 0) if port is None else (port,):
        # By its protocol's name asyncio knows to send at once: else the end of an answer waits 40 ms for its beginning to
        # be acknowledged.
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, candidate))
            return listener
        except OSError as error:
            listener.close()
            if candidate == 0 or port is not None:
                raise HackleError(f"cannot listen on {host}:{candidate} ({error}); choose another --port") from error
        except OverflowError as error:
            listener.close()
            raise HackleError(f"port {candidate} is not between 0 and 65535; choose another --port") from error
    raise AssertionError("unreachable: the last candidate is any free port")


def _has_screen() -> bool:
    """Whether a browser can open a window here."""
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def serve(
    *directories: str | Path,
    host: str = "127.0.0.1",
    port: int | None = None,
    browser: bool = True,
    root: str | Path | None = None,
    trust: bool = False,
    announce: Callable[[str], Any] = print,
) -> None:
    """Serve the explorer of a folder, or of several, until interrupted; `announce` is called with its address."""
    token = None if is_loopback(host) else secrets.token_urlsafe(24)
    app = create_app(*directories, host=host, token=token, root=root, trust=trust)
    listening = _bind(host, port)
    number = listening.getsockname()[1]
    shown = {"0.0.0.0": socket.gethostname(), "::": socket.gethostname()}.get(
        host, f"[{host}]" if ":" in host else host
    )
    address = f"http://{shown}:{number}/" + (f"?token={token}" if token else "")
    announce(address)
    if browser and _has_screen():
        threading.Timer(0.5, webbrowser.open, [address]).start()
    with listening:
        uvicorn.Server(settings_of(app)).run(sockets=[listening])


def settings_of(app: FastAPI) -> uvicorn.Config:
    """How the explorer's own server runs."""
    return uvicorn.Config(
        app, http=PatientProtocol, log_level="warning", access_log=False, server_header=False, timeout_keep_alive=10
    )
