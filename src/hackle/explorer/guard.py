"""What every request must pass: the right host, the token where one is needed, the same origin, and a bounded body.

The check of the host name prevents DNS rebinding: another site's page, whose name resolves here, cannot read answers.
"""

from __future__ import annotations

import ipaddress
import secrets
import socket
from http.cookies import CookieError, SimpleCookie
from urllib.parse import SplitResult, parse_qs, urlsplit

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BODY = 8 * 2**20
"""The largest request body in bytes."""
_DIGITS = 20
"""The most digits of the length that a request announces."""
_NEVER_IN_HOSTS = set("@/?#")
"""What would make only a part of the header the host."""
COOKIE = "hackle_token"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
]


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """A numeric address; None if it is a name."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def is_loopback(host: str) -> bool:
    """Whether an address to bind to can be reached only from this machine."""
    address = _address(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def _parts(address: str) -> SplitResult:
    """The parts of an address in a header, all empty if it is invalid."""
    try:
        return urlsplit(address)
    except ValueError:
        return urlsplit("")


def host_of(header: str) -> str:
    """The name or address in a Host header, without its port; "" if it is invalid."""
    if set(header) & _NEVER_IN_HOSTS:
        return ""
    return (_parts(f"//{header}").hostname or "").rstrip(".").lower()


def allowed_host(name: str, bound: str) -> bool:
    """Whether a request for this host may be answered by a server bound to `bound`.

    Bound to loopback: only loopback names. Otherwise also the bound name, this machine's own name, and any numeric
    address, which no name server can redirect.
    """
    if is_loopback(name):
        return True
    if is_loopback(bound):
        return False
    own = (bound.lower(), socket.gethostname().lower(), socket.getfqdn().lower())
    return name in own or _address(name) is not None


class Guard:
    """The middleware. `token` is None if none is needed."""

    def __init__(self, app: ASGIApp, host: str, token: str | None) -> None:
        self.app, self.host, self.token = app, host, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            elif scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            return

        async def send_marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *_HEADERS]
            await send(message)

        refusal = self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, send_marked)
            return
        await self.app(scope, _bounded(receive), send_marked)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if not allowed_host(host_of(host), self.host):
            return _refuse(421, "this host name is not served; open the address that `hackle explore` printed")
        origin = headers.get("origin")
        # Pages of other sites may link here, but may not send requests, which would load models and draw pictures.
        asks = scope["method"] not in ("GET", "HEAD") or scope["path"].startswith("/api/")
        if asks and headers.get("sec-fetch-site") in ("cross-site", "same-site"):
            return _refuse(403, "requests from other sites are refused")
        if origin is not None and _parts(origin).netloc.lower() != host.lower():
            return _refuse(403, "requests from other sites are refused")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > _DIGITS:
            return _refuse(400, "the length of the request is not a number")
        if int(length) > MOST_BODY:
            return _refuse(413, f"the request is larger than {MOST_BODY // 2**20} MiB")
        return None if self.token is None else self._unknown(scope, headers)

    def _unknown(self, scope: Scope, headers: Headers) -> Response | None:
        """The refusal for a visitor without the token; a cookie for one who has it in the address."""
        assert self.token is not None
        given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [""])[0]
        if scope["path"] == "/" and self._is_token(given):
            answer = RedirectResponse("/", 303)
            answer.set_cookie(COOKIE, self.token, httponly=True, samesite="strict")
            return answer
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        if self._is_token(bearer) or self._is_token(_cookie(headers.get("cookie", ""))):
            return None
        return _refuse(401, "this server needs its token; open the address that `hackle explore` printed")

    def _is_token(self, given: str) -> bool:
        return self.token is not None and secrets.compare_digest(given.encode(), self.token.encode())


def _cookie(header: str) -> str:
    try:
        cookie = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return ""
    return "" if cookie is None else cookie.value


def _refuse(status: int, reason: str) -> Response:
    return JSONResponse({"detail": reason}, status)


def _bounded(receive: Receive) -> Receive:
    """The request's body, refused once it exceeds the limit, whatever length it announced."""
    seen = 0

    async def counted() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > MOST_BODY:
            raise HTTPException(413, f"the request is larger than {MOST_BODY // 2**20} MiB")
        return message

    return counted
