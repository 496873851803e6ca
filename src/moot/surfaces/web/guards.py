"""What every request passes before it is heard: where it comes from, how large it is, who sent it.

A server on loopback is reachable by every page that the user's browser shows: by a name that is made to
point at it (so Host is checked) and by posts across sites (so Origin is checked). Plain ASGI, because these
must not touch streams.
"""

from __future__ import annotations

import hmac
import json
from http.cookies import SimpleCookie
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


class Guards:
    def __init__(self, app: ASGIApp, *, hosts: tuple[str, ...], token: str | None, max_body: int) -> None:
        """`hosts` are the names under which the server may be addressed; `token`, where there is one, must
        come with every request: as a bearer, or as the cookie that `?token=` leaves behind."""
        self._app = app
        self._hosts = frozenset(hosts)
        self._token = token
        self._max_body = max_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        refused = self._refused(scope, headers)
        if refused is not None:
            await _answer(send, *refused)
            return
        await self._app(scope, _Limited(receive, self._max_body), _with_headers(send, scope, self._token))

    def _refused(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str] | None:
        host = headers.get("host", "")
        if _name(host) not in self._hosts:
            return 400, f"This server does not answer to the name '{_name(host)[:80]}'."
        origin = headers.get("origin")
        if origin is not None and scope["method"] not in ("GET", "HEAD") and urlsplit(origin).netloc != host:
            return 403, "Requests from other sites are not answered."
        if self._token is not None and scope["path"] != "/healthz" and not self._known(scope, headers):
            return 401, "This server wants a token: open the address that it printed when it started."
        length = headers.get("content-length", "")
        if length.isdigit() and int(length) > self._max_body:
            return 413, f"The body is larger than {self._max_body:,} bytes."
        return None

    def _known(self, scope: Scope, headers: dict[str, str]) -> bool:
        assert self._token is not None
        cookie: SimpleCookie = SimpleCookie(headers.get("cookie", ""))
        query = scope["query_string"].decode("latin-1")
        offered = [
            headers.get("authorization", "").removeprefix("Bearer "),
            cookie["moot"].value if "moot" in cookie else "",
            *(part.removeprefix("token=") for part in query.split("&") if part.startswith("token=")),
        ]
        return any(hmac.compare_digest(one.encode(), self._token.encode()) for one in offered)


class TooLarge(Exception):
    """The body turned out larger than allowed."""


class _Limited:
    """Counts a body that did not say its length."""

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive = receive
        self._left = most

    async def __call__(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.request":
            self._left -= len(message.get("body", b""))
            if self._left < 0:
                raise TooLarge
        return message


def _with_headers(send: Send, scope: Scope, token: str | None) -> Send:
    query = scope["query_string"].decode("latin-1")
    tokens = [part.removeprefix("token=") for part in query.split("&") if part.startswith("token=")]

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            extra = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
            if token in tokens:
                cookie = f"moot={token}; HttpOnly; SameSite=Strict; Path=/"
                extra.append((b"set-cookie", cookie.encode("latin-1", "replace")))
            message = {**message, "headers": [*message["headers"], *extra]}
        await send(message)

    return sending


def _name(host: str) -> str:
    """A Host header without its port."""
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]


async def _answer(send: Send, status: int, error: str) -> None:
    headers = {"content-type": "application/json", **HEADERS}
    encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": json.dumps({"error": error}).encode()})
