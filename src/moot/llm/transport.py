"""HTTP below the SDKs: aiohttp, whose parser is compiled, behind the interface that their clients ask for.

The body of a response can be read the ordinary way, or, through an extension, from aiohttp's own reader: four
asynchronous generators between a token and its reader cost more than decoding it.

A body is unpacked here, in pieces of bounded size. What is read the ordinary way is an error, a redirect or a
list, and is read no further than BODY_BYTES.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import ssl
import zlib
from collections.abc import AsyncIterator, Iterable, Iterator
from contextvars import ContextVar
from functools import cached_property, partial
from typing import cast

import aiohttp
import httpx2
import yarl
from aiohttp.client_proto import ResponseHandler
from aiohttp.helpers import get_env_proxy_for_url

from moot.llm.protocol import Tally

BODY_BYTES = 256 * 1024
"""Of a body that is no stream; of a longer one, this is the beginning."""
_PIECE_BYTES = 64 * 1024

sending: ContextVar[Tally | None] = ContextVar("sending", default=None)
"""Who is to know that a request has gone out."""

REPLY = "moot.reply"
"""The extension of a response that holds the `aiohttp.ClientResponse` that it was made of."""


class Transport(httpx2.AsyncBaseTransport):
    """Heeds the environment's proxies and certificates, as the SDKs' own transports do."""

    def __init__(self, max_connections: int) -> None:
        self._max_connections = max_connections
        self._made: aiohttp.ClientSession | None = None
        self._proxies: dict[str, tuple[yarl.URL, aiohttp.BasicAuth | None] | None] = {}

    @cached_property
    def _ssl(self) -> ssl.SSLContext:
        """Takes a while to make, and a server on this machine needs none."""
        return httpx2.create_ssl_context()

    def _session(self) -> aiohttp.ClientSession:
        if self._made is None:
            connector = _Connector(limit=self._max_connections)
            self._made = aiohttp.ClientSession(
                connector=connector,
                auto_decompress=False,
                trace_configs=[_tracing()],
                cookie_jar=aiohttp.DummyCookieJar(),
                # The SDKs set every header themselves.
                skip_auto_headers=("User-Agent", "Content-Type", "Accept", "Accept-Encoding"),
            )
        return self._made

    async def _proxy(self, url: httpx2.URL) -> tuple[yarl.URL, aiohttp.BasicAuth | None] | None:
        """What the environment says, read once for each server: aiohttp would have a thread read it, and
        the user's .netrc, for every request."""
        origin = f"{url.scheme}://{url.netloc.decode()}"
        if origin not in self._proxies:
            try:
                self._proxies[origin] = await asyncio.to_thread(get_env_proxy_for_url, yarl.URL(origin))
            except LookupError:
                self._proxies[origin] = None
        return self._proxies[origin]

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        limits = request.extensions.get("timeout", {})
        # Not aiohttp's own limit for reading: it sets a timer for every piece that arrives.
        timeout = aiohttp.ClientTimeout(connect=limits.get("pool"), sock_connect=limits.get("connect"))
        patience = limits.get("read")
        body = await request.aread()
        # Unpacking costs more than it saves on a line of a few words at a time.
        request.headers["accept-encoding"] = "identity"
        proxy = await self._proxy(request.url)
        with _translated():
            async with asyncio.timeout(patience):
                response = await self._session().request(
                    request.method,
                    str(request.url),
                    headers=request.headers,
                    data=body or None,
                    allow_redirects=False,
                    timeout=timeout,
                    ssl=self._ssl if request.url.scheme == "https" else True,
                    proxy=proxy[0] if proxy else None,
                    proxy_auth=proxy[1] if proxy else None,
                )
        if response.status < 300:
            _forget_body(request)
        headers = [pair for pair in response.raw_headers if pair[0].lower() not in _OF_THE_PACKED_BODY]
        return httpx2.Response(
            status_code=response.status,
            headers=headers,
            stream=_Body(response, patience),
            request=request,
            extensions={"http_version": b"HTTP/1.1", REPLY: response},
        )

    async def aclose(self) -> None:
        if self._made is not None:
            await self._made.close()
            self._made = None


class _Connector(aiohttp.TCPConnector):
    """Makes connections of the class below: aiohttp has no option for it."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit=limit)
        self._factory = partial(_Connection, loop=asyncio.get_running_loop())  # type: ignore[assignment]


class _Connection(ResponseHandler):
    def resume_reading(self, resume_parser: bool = True) -> None:
        """Called after every piece that is read, paused or not. Where it is not paused there is nothing to
        resume, and parsing an empty piece takes as long as decoding a token."""
        if self._reading_paused:
            super().resume_reading(resume_parser)


def _forget_body(request: httpx2.Request) -> None:
    """Of a request that was taken: it will not be sent again, and a reply, which refers to it, may take
    minutes. Not so of one that is redirected."""
    request.stream = httpx2.ByteStream(b"")
    request.__dict__.pop("_content", None)


def _tracing() -> aiohttp.TraceConfig:
    async def note(*_: object) -> None:
        if (tally := sending.get()) is not None:
            tally.is_sent = True

    config = aiohttp.TraceConfig()
    config.on_request_headers_sent.append(note)
    return config


_OF_THE_PACKED_BODY = (b"content-encoding", b"content-length")


class NotUnpacked(Exception):
    """A body that is not packed as it says, or in a way that is not known."""


class Unpacking:
    """Undoes the compression of a body, piece by piece: a few bytes may stand for gigabytes."""

    def __init__(self, encoding: str) -> None:
        if encoding not in ("gzip", "x-gzip", "deflate"):
            raise NotUnpacked(f"it came in an encoding that was not asked for ({encoding[:40]})")
        self._made = _unpacker()

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        try:
            while True:
                piece = self._made.decompress(chunk, _PIECE_BYTES)
                if piece:
                    yield piece
                chunk = self._made.unconsumed_tail
                if self._made.eof and self._made.unused_data:
                    chunk, self._made = self._made.unused_data, _unpacker()
                elif not chunk and len(piece) < _PIECE_BYTES:
                    return
        except zlib.error as error:
            raise NotUnpacked("it is not compressed in the way that it says") from error


def _unpacker() -> zlib._Decompress:
    # gzip or zlib, whichever it begins with.
    return zlib.decompressobj(wbits=47)


def _at_most(count: int, pieces: Iterable[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        yield piece[:count]
        count -= len(piece)
        if count <= 0:
            return


def unpacking(response: httpx2.Response) -> Unpacking | None:
    """How the body has to be unpacked; None where it comes as it is."""
    return _unpacking(_reply(response))


def _unpacking(reply: aiohttp.ClientResponse) -> Unpacking | None:
    encoding = reply.headers.get("Content-Encoding", "").strip().lower()
    return None if encoding in ("", "identity") else Unpacking(encoding)


def content(response: httpx2.Response) -> aiohttp.StreamReader:
    return _reply(response).content


def connection(response: httpx2.Response) -> asyncio.Transport | None:
    """Where more of the body will come from; None when all of it is here."""
    reply = _reply(response)
    if reply.content.is_eof() or reply.connection is None:
        return None
    return reply.connection.transport


def _reply(response: httpx2.Response) -> aiohttp.ClientResponse:
    return cast("aiohttp.ClientResponse", response.extensions[REPLY])


class _Body(httpx2.AsyncByteStream):
    def __init__(self, response: aiohttp.ClientResponse, patience: float | None) -> None:
        self._response = response
        self._patience = patience

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = BODY_BYTES
        with _translated():
            unpacking = _unpacking(self._response)
        while left > 0:
            with _translated():
                async with asyncio.timeout(self._patience):
                    chunk = await self._response.content.readany()
                if not chunk:
                    return
                begun = b"".join(_at_most(left, unpacking.feed(chunk) if unpacking else (chunk,)))
            left -= len(begun)
            yield begun

    async def aclose(self) -> None:
        # A connection in the middle of a reply is closed by this, one at its end is kept for the next.
        self._response.release()


def _unreachable(error: aiohttp.ClientConnectorError) -> str:
    """In words: asyncio's own name addresses and internals, and aiohttp adds its settings."""
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return f"there is no host {error.host}, or no network to find it by"
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        why = getattr(error.certificate_error, "verify_message", "") or "it cannot be checked"
        return f"the certificate of {error.host} is not valid: {why}"
    if isinstance(error, aiohttp.ClientConnectorSSLError):
        return f"{error.host}:{error.port} does not speak TLS as it should"
    number = error.os_error.errno
    why = os.strerror(number).lower() if number else "nobody answers there"
    return f"{error.host}:{error.port}: {why}"


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    """The SDKs know the names that httpx2 has for what goes wrong."""
    try:
        yield
    except aiohttp.ConnectionTimeoutError as error:
        raise httpx2.ConnectTimeout(str(error)) from error
    except TimeoutError as error:
        raise httpx2.ReadTimeout(str(error)) from error
    except aiohttp.InvalidURL as error:
        raise httpx2.UnsupportedProtocol(str(error)) from error
    except aiohttp.ClientConnectorError as error:
        raise httpx2.ConnectError(_unreachable(error)) from error
    except (aiohttp.ClientError, NotUnpacked, OSError) as error:
        raise httpx2.ReadError(str(error)) from error
