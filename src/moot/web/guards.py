"""What every request passes before it is heard: where it comes from, how large it is, who sent it.

A server on loopback is reachable by every page that the user's browser shows: by a name that is made to
point at it (so Host is checked) and by requests across sites (so Origin and Sec-Fetch-Site are checked, of
reading too: to listen to a session is to have it go on, which costs). Plain ASGI, because these must not
touch streams.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
from collections.abc import Callable, Mapping

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from moot.errors import MootError
from moot.web.door import PERSON, SIGN_IN, Door, came_by_tls
from moot.web.streams import ClientLeft

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
_ENCODED = [(name.encode(), value.encode()) for name, value in HEADERS.items()]

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")

OPEN_PATHS = ("/healthz", "/readyz", SIGN_IN)
"""Answered without a token: a load balancer has none, and nothing is told there that is worth one."""

SHOWN_TO_WHO_IS_KNOWN = ("/openapi.json", "/docs")
"""Besides the interface. All else is the page, which is in the package: it asks to sign in."""

LOOK_AGAIN_SECONDS = 5.0
"""How often it is asked, while something is told, whether a listener may still hear it."""

NOT_KNOWN = "Sign in first: on the page with your token, or with the header Authorization: Bearer TOKEN."


class Guards:
    def __init__(
        self, app: ASGIApp, *, hosts: tuple[str, ...], door: Door | None, most: Callable[[str], int]
    ) -> None:
        """`hosts` are the names under which the server may be addressed. Where there is a door, only who is
        known is answered. `most` says how large a body may be that is sent to a path."""
        self._app = app
        self._hosts = frozenset(name.lower() for name in hosts)
        self._door = door
        self._most = most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        elsewhere = _from_elsewhere(headers)
        refused = self._refused(scope, headers, elsewhere=elsewhere)
        if refused is not None:
            await _answer(send, *refused)
            return
        if self._door is not None:
            try:
                if scope["method"] == "GET" and _tokens(scope):
                    await self._exchange(self._door, scope, headers, send, elsewhere=elsewhere)
                    return
                if _is_guarded(scope["path"]):
                    person = await self._door.who(headers)
                    if person is None:
                        await _answer(send, 401, NOT_KNOWN)
                        return
                    scope[PERSON] = person
                    send = _while_known(send, self._door, headers)
            except MootError as error:
                await _answer(send, 503, str(error))
                return
        del headers  # They would be kept for as long as somebody listens.
        await self._app(scope, _Limited(receive, self._most(scope["path"])), _with_headers(send))

    def _refused(
        self, scope: Scope, headers: Mapping[str, str], *, elsewhere: bool
    ) -> tuple[int, str] | None:
        name = _name(headers.get("host", "").lower())
        if not self._answers_to(name):
            return 400, f"This server does not answer to the name '{name[:80]}'."
        reading = scope["method"] in ("GET", "HEAD")
        if elsewhere and not (reading and not scope["path"].startswith("/api/")):
            return 403, "Requests from other sites are not answered."
        return None

    def _answers_to(self, name: str) -> bool:
        # Open to a network, it is reached by whatever address it has there. No page can make an address its
        # own, as it can a name.
        return name in self._hosts or (self._door is not None and _is_address(name))

    async def _exchange(
        self, door: Door, scope: Scope, headers: Mapping[str, str], send: Send, *, elsewhere: bool
    ) -> None:
        """A token in the address buys a cookie, and is gone from the address: what stands there is seen over
        shoulders, and kept in histories. A link on another site signs nobody in."""
        extra = {"location": _without_tokens(scope), "cache-control": "no-store"}
        if not elsewhere:
            signed_in = await door.sign_in(_tokens(scope)[0], secure=came_by_tls(scope, headers))
            if signed_in is not None:
                extra["set-cookie"] = signed_in[1]
        await _answer(send, 303, "The token is gone from the address.", extra)


def _is_guarded(path: str) -> bool:
    if path in OPEN_PATHS:
        return False
    return path == "/api" or path.startswith("/api/") or path in SHOWN_TO_WHO_IS_KNOWN


def _from_elsewhere(headers: Mapping[str, str]) -> bool:
    """Whether a browser says that another site's page is behind a request."""
    if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        return True
    origin = headers.get("origin")
    return origin is not None and origin.partition("://")[2].lower() != headers.get("host", "").lower()


def _while_known(send: Send, door: Door, headers: Mapping[str, str]) -> Send:
    """Ends a stream whose listener is not known any more."""
    loop = asyncio.get_running_loop()
    looked = loop.time()

    async def sending(message: Message) -> None:
        nonlocal looked
        if message.get("more_body") and loop.time() - looked > LOOK_AGAIN_SECONDS:
            looked = loop.time()
            if not await _is_still_known(door, headers):
                await send({"type": "http.response.body", "body": b""})
                raise ClientLeft
        await send(message)

    return sending


async def _is_still_known(door: Door, headers: Mapping[str, str]) -> bool:
    try:
        return await door.who(headers) is not None
    except MootError:
        # A database that is away says nothing about anybody; it is asked again.
        return True


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


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], *_ENCODED]}
            if message["status"] == 413:
                # The client is to send nothing more on this connection. Spelled so that uvicorn passes it on
                # and does not hang up at once, on a client who is still sending and has not read the answer.
                message["headers"].append((b"Connection", b"close"))
        await send(message)

    return sending


def _query(scope: Scope) -> list[str]:
    query: str = scope["query_string"].decode("latin-1")
    return query.split("&") if query else []


def _tokens(scope: Scope) -> list[str]:
    """Those in the address."""
    return [part.removeprefix("token=") for part in _query(scope) if part.startswith("token=")]


def _without_tokens(scope: Scope) -> str:
    kept = "&".join(part for part in _query(scope) if not part.startswith("token="))
    # One slash: two would begin the name of another server.
    raw: bytes = scope.get("raw_path", b"/")
    path = "/" + raw.decode("latin-1").partition("?")[0].lstrip("/\\")
    return path + (f"?{kept}" if kept else "")


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


async def _answer(send: Send, status: int, error: str, extra: Mapping[str, str] | None = None) -> None:
    headers = {"content-type": "application/json", **HEADERS, **(extra or {})}
    encoded = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": json.dumps({"error": error}).encode()})
