"""What every HTTP server of moot is: a socket, uvicorn on it, and limits on what a connection may take.

Limits hold in the process itself, whether or not a proxy stands before it. It knows bytes, headers and time;
it refuses to know what is served, and who may be.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import uvicorn
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from moot.errors import InvalidInput

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from moot.config import ServerSettings

MAX_HEADER_BYTES = 32 * 1024
"""Of the address and all headers of one request."""
MAX_HEADERS = 100
MAX_BODY = 1024 * 1024
MAX_EVIDENCE = 16 * MAX_BODY
"""Bytes of a body that may hold evidence: a file of the size that is taken, as base64."""


def listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named, because asyncio switches Nagle's algorithm off only where it sees that this is TCP.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise InvalidInput(
            "--port", f"{host}:{port} cannot be used: {error.strerror}; try --port 0"
        ) from error
    return listening


class HttpServer(uvicorn.Server):
    """`ready` is called once it is open."""

    def __init__(self, app: ASGIApp, settings: ServerSettings, ready: Callable[[], None]) -> None:
        super().__init__(_Config(app, settings))
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()


class _Config(uvicorn.Config):
    def __init__(self, app: ASGIApp, settings: ServerSettings) -> None:
        super().__init__(
            app,
            http=LimitedConnection,
            ws="none",
            log_config=None,
            log_level="warning",
            lifespan="on",
            server_header=False,
            # Proxies are believed by `Proxies`, where the settings say so: not whoever is on loopback.
            proxy_headers=False,
            timeout_graceful_shutdown=3,
        )
        self.settings = settings


class _HeadersTooLarge(Exception):
    """Ends the parsing of a request."""


class LimitedConnection(HttpToolsProtocol):
    """A connection on which requests have to come in time and in measure.

    One timer runs at a time: for headers, from the connection or from a request's first byte; for a body,
    from the end of its headers. Between requests uvicorn's own runs. A response may take as long as it likes.
    """

    def __init__(self, config: _Config, *arguments: Any, **more: Any) -> None:
        super().__init__(config, *arguments, **more)
        self._settings = config.settings
        self.timeout_keep_alive = cast("int", config.settings.idle_seconds)
        self._timer: asyncio.TimerHandle | None = None
        self._in_headers = True
        self._received = 0
        """Bytes since the last request's end, while the headers of the next are not complete."""
        self._header_bytes = 0
        self._body_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_timer(self._settings.header_seconds, self._headers_are_late)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._in_headers:
            self._received += len(data)
        super().data_received(data)
        if not self._in_headers or not self._received or self.transport.is_closing():
            return
        if self._received > MAX_HEADER_BYTES:
            # One header without an end, of which the parser tells nothing yet.
            self._refuse_headers()
        elif self._timer is None:
            self._start_timer(self._settings.header_seconds, self._headers_are_late)

    # -- what the parser finds ---------------------------------------------------------------------

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._header_bytes = self._body_bytes = 0
        if self._timer is None:
            self._start_timer(self._settings.header_seconds, self._headers_are_late)

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(len(name) + len(value))
        super().on_header(name, value)

    def _count(self, size: int) -> None:
        self._header_bytes += size
        if self._header_bytes > MAX_HEADER_BYTES or len(self.headers) >= MAX_HEADERS:
            raise _HeadersTooLarge

    def on_headers_complete(self) -> None:
        self._in_headers = False
        self._start_timer(self._settings.body_seconds, self._body_is_late)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        super().on_body(body)
        # A body that is too large is refused by whoever reads it. What comes after the answer is thrown away,
        # so that the client gets to read it, but not for ever.
        if self.cycle.response_complete and self._body_bytes > 8 * MAX_BODY:
            self.transport.close()

    def on_message_complete(self) -> None:
        self._stop_timer()
        self._in_headers = True
        self._received = 0
        if self.cycle.response_complete:
            # It was answered before it ended, and uvicorn's timer for the time between requests was stopped.
            self._start_timer(self._settings.idle_seconds, self._headers_are_late)
        super().on_message_complete()

    # -- refusing ----------------------------------------------------------------------------------

    def send_400_response(self, msg: str) -> None:
        """What uvicorn does with a request that does not parse, or whose parsing was ended here."""
        if self._header_bytes > MAX_HEADER_BYTES or len(self.headers or ()) >= MAX_HEADERS:
            self._refuse_headers()
        else:
            self._refuse(400, msg)

    def _refuse_headers(self) -> None:
        self._refuse(
            431, f"The headers are more than {MAX_HEADERS} or larger than {MAX_HEADER_BYTES:,} bytes."
        )

    def _headers_are_late(self) -> None:
        self._timer = None
        if self._is_answering():
            # The next request has begun while this one is still being answered.
            self._start_timer(self._settings.header_seconds, self._headers_are_late)
        elif self._received:
            self._refuse(408, f"The headers did not come within {self._settings.header_seconds:g} seconds.")
        else:
            self.transport.close()

    def _body_is_late(self) -> None:
        self._timer = None
        self._refuse(408, f"The body did not come within {self._settings.body_seconds:g} seconds.")

    def _refuse(self, status: int, error: str) -> None:
        """Hangs up; with a word, unless an answer is under way or was given."""
        if self.transport.is_closing():
            return
        if not (self._is_answering() if self._in_headers else self.cycle.response_started):
            body = json.dumps({"error": error}).encode()
            headers = (
                f"content-type: application/json\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
            )
            self.transport.write(STATUS_LINE[status] + headers.encode() + body)
        self.transport.close()

    def _is_answering(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.response_complete

    def _start_timer(self, seconds: float, late: Callable[[], None]) -> None:
        self._stop_timer()
        self._timer = self.loop.call_later(seconds, late)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
