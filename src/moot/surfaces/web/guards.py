"""What every request passes before it is heard: where it comes from, how large it is, who sent it.

A server on loopback is reachable by every page that the user's browser shows: by a name that is made to
point at it (so Host is checked) and by posts across sites (so Origin is checked). Plain ASGI, because these
must not touch streams.
"""

from __future__ import annotations

import hmac
import ipaddress
import json

from starlette.exceptions import HTTPException
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

OPEN_PATHS = ("/healthz", "/readyz")
"""Answered without a token: a load balancer has none, and nothing is told there that is worth one."""


class Guards:
    def __init__(self, app: ASGIApp, *, hosts: tuple[str, ...], token: str | None, max_body: int) -> None:
        """`hosts` are the names under which the server may be addressed; `token`, where there is one, must
        come with every request: as a bearer, or as the cookie that `?token=` leaves behind."""
        self._app = app
        self._hosts = frozenset(name.lower() for name in hosts)
        self._token = token
        self._max_body = max_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refused = self._refused(scope)
        if refused is not None:
            await _answer(send, *refused)
            return
        await self._app(scope, _Limited(receive, self._max_body), _with_headers(send, scope, self._token))

    def _refused(self, scope: Scope) -> tuple[int, str] | None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        host = headers.get("host", "").lower()
        if not self._answers_to(_name(host)):
            return 400, f"This server does not answer to the name '{_name(host)[:80]}'."
        origin = headers.get("origin")
        elsewhere = origin is not None and origin.partition("://")[2].lower() != host
        if elsewhere and scope["method"] not in ("GET", "HEAD"):
            return 403, "Requests from other sites are not answered."
        if self._token is not None and scope["path"] not in OPEN_PATHS and not self._known(scope, headers):
            return 401, "This server wants a token: open the address that it printed when it started."
        return None

    def _answers_to(self, name: str) -> bool:
        # Open to a network, it is reached by whatever address it has there. No page can make an address its
        # own, as it can a name.
        return name in self._hosts or (self._token is not None and _is_address(name))

    def _known(self, scope: Scope, headers: dict[str, str]) -> bool:
        assert self._token is not None
        # Taken apart by hand: the library's parser gives up on cookies that other servers of this host left.
        cookies = [part.strip() for part in headers.get("cookie", "").split(";")]
        offered = [
            headers.get("authorization", "").removeprefix("Bearer "),
            *(part.removeprefix("moot=") for part in cookies if part.startswith("moot=")),
            *_tokens(scope),
        ]
        return any(hmac.compare_digest(one.encode(), self._token.encode()) for one in offered)


class TooLarge(HTTPException):
    """The body turned out larger than allowed."""

    def __init__(self, most: int) -> None:
        super().__init__(413, f"The body is larger than {most:,} bytes.")


class _Limited:
    """Counts a body as it comes, whatever length it gave."""

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive = receive
        self._most = most
        self._left = most

    async def __call__(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.request":
            self._left -= len(message.get("body", b""))
            if self._left < 0:
                raise TooLarge(self._most)
        return message


def _with_headers(send: Send, scope: Scope, token: str | None) -> Send:
    left_behind = token in _tokens(scope)

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            extra = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
            if left_behind:
                cookie = f"moot={token}; HttpOnly; SameSite=Strict; Path=/"
                extra.append((b"set-cookie", cookie.encode("latin-1", "replace")))
            message = {**message, "headers": [*message["headers"], *extra]}
        await send(message)

    return sending


def _tokens(scope: Scope) -> list[str]:
    """Those in the address."""
    query: str = scope["query_string"].decode("latin-1")
    return [part.removeprefix("token=") for part in query.split("&") if part.startswith("token=")]


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


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
