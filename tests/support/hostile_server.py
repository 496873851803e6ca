"""A web server that means harm, on one loopback address, and a service that nobody outside may reach, on
another. Names lead to them as a test says; nothing is looked up."""

from __future__ import annotations

import asyncio
import gzip
import ipaddress
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import unquote

from moot.evidence.urls import Address, Fetcher, is_public

PUBLIC, INNER = "127.0.0.2", "127.0.0.1"
INNER_WORDS = "interior-words-8f31c0"
"""What the inner service says to whoever reaches it."""

Serve = Callable[[str, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
_PIECE = 65_536


@dataclass
class Hostile:
    """`reached` counts connections to the inner service, `lookups` how often each name was looked up."""

    pages: dict[str, bytes] = field(default_factory=dict)
    port: int = 0
    inner_port: int = 0
    reached: int = 0
    lookups: dict[str, int] = field(default_factory=dict)
    requests: list[bytes] = field(default_factory=list)
    """The heads of what was asked of the public server."""

    @property
    def fetcher(self) -> Fetcher:
        return Fetcher(resolve=self._resolve, allows=_allows)

    def url(self, path: str, host: str = "public.example") -> str:
        return f"http://{host}:{self.port}{path}"

    async def _resolve(self, host: str, port: int) -> list[str]:
        del port
        self.lookups[host] = self.lookups.get(host, 0) + 1
        known = {
            "public.example": [PUBLIC],
            "inner.example": [INNER],
            "localhost": [INNER],
            "router.example": ["192.168.0.1"],
            "v6.example": ["::1"],
            "mapped.example": ["::ffff:127.0.0.1"],
            "nat64.example": ["64:ff9b::7f00:1"],
            "both.example": [PUBLIC, INNER],
            "metadata.google.internal": ["169.254.169.254"],
            "rebinding.example": [PUBLIC if self.lookups[host] == 1 else INNER],
        }
        if host not in known:
            raise OSError(f"{host} is not known")
        return known[host]

    # -- the two servers -------------------------------------------------------------------------

    async def serve_inner(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reached += 1
        await self._answer(writer, page(INNER_WORDS.encode()))
        await self._close(writer)

    async def serve_public(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            self.requests.append(head)
            path = head.split(b" ")[1].decode()
            kind, _, rest = path.removeprefix("/").partition("?")
            if path in self.pages:
                await self._answer(writer, self.pages[path])
            elif kind == "to":
                await self._answer(writer, _moved(unquote(rest)))
            else:
                await _MISCHIEF[kind](head.decode(), reader, writer)
        await self._close(writer)

    @staticmethod
    async def _answer(writer: asyncio.StreamWriter, answer: bytes) -> None:
        with suppress(ConnectionError):
            writer.write(answer)
            await writer.drain()

    @staticmethod
    async def _close(writer: asyncio.StreamWriter) -> None:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


def page(body: bytes, kind: str = "text/plain; charset=utf-8", *more: str) -> bytes:
    head = [f"Content-Type: {kind}", f"Content-Length: {len(body)}", "Connection: close", *more]
    return ("HTTP/1.1 200 OK\r\n" + "\r\n".join(head) + "\r\n\r\n").encode() + body


def _moved(where: str) -> bytes:
    return (
        f"HTTP/1.1 302 Found\r\nLocation: {where}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()
    )


def _allows(address: Address) -> bool:
    """The public server's address, and what is public: nothing is there, but it may be asked for."""
    return address == ipaddress.ip_address(PUBLIC) or is_public(address)


# -- mischief: each goes on until the client has left --------------------------------------------


async def _endless(_: str, __: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
    while True:
        writer.write(b"more and more of it\n" * 3_000)
        await writer.drain()


async def _endless_headers(_: str, __: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        writer.write(b"X-More: and more of it\r\n" * 1_000)
        await writer.drain()


async def _endless_header(_: str, __: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
    while True:
        writer.write(b"x" * _PIECE)
        await writer.drain()


async def _drip(_: str, __: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A byte now and then: never so long silent that a server would be thought dead."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100000\r\n\r\n")
    while True:
        writer.write(b"d")
        await writer.drain()
        await asyncio.sleep(0.02)


async def _silent(_: str, reader: asyncio.StreamReader, __: asyncio.StreamWriter) -> None:
    await reader.read()


async def _loop(head: str, __: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    number = int(head.split(" ")[1].partition("?")[2].partition("&")[0] or 0)
    writer.write(_moved(f"/loop?{number + 1}"))
    await writer.drain()


async def _bomb(_: str, __: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    packed = gzip.compress(b"\0" * 30_000_000, 6)
    writer.write(page(packed, "text/plain", "Content-Encoding: gzip"))
    await writer.drain()


async def _huge(_: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 50000000\r\n\r\nbegins")
    await writer.drain()
    await reader.read()


async def _cut(_: str, __: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1000\r\n\r\nhalf a sen")
    await writer.drain()


async def _garbage(_: str, __: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"\x00\xff\xfe SSH-2.0-nothing\r\n\r\n")
    await writer.drain()


async def _rebound(_: str, __: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """To its own name, which leads elsewhere by then."""
    port = writer.get_extra_info("sockname")[1]
    writer.write(_moved(f"http://rebinding.example:{port}/inner"))
    await writer.drain()


_MISCHIEF: dict[str, Serve] = {
    "endless": _endless,
    "endless-headers": _endless_headers,
    "endless-header": _endless_header,
    "drip": _drip,
    "silent": _silent,
    "loop": _loop,
    "bomb": _bomb,
    "huge": _huge,
    "cut": _cut,
    "garbage": _garbage,
    "rebound": _rebound,
}


@contextmanager
def running() -> Iterator[Hostile]:
    """Both, on a thread of their own."""
    hostile = Hostile()
    ready, stop = threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        inner = await asyncio.start_server(hostile.serve_inner, INNER, 0)
        public = await asyncio.start_server(hostile.serve_public, PUBLIC, 0)
        hostile.inner_port = inner.sockets[0].getsockname()[1]
        hostile.port = public.sockets[0].getsockname()[1]
        ready.set()
        await stop.wait()
        inner.close()
        public.close()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), daemon=True)
    thread.start()
    ready.wait()
    try:
        yield hostile
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()
