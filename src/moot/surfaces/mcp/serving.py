"""Runs the MCP server: over this process's stdin and stdout, or over HTTP on loopback."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from typing import TYPE_CHECKING, cast

import uvicorn
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings

from moot.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    import anyio

    from moot.surfaces.mcp.server import Server

LOOPBACK = "127.0.0.1"
_PATH = "/mcp"


async def serve_stdio(server: Server) -> None:
    """Serves until the client closes stdin, or until it is cancelled. The package would wait for stdin in a
    thread that only the client can end."""
    lines = cast("anyio.AsyncFile[str]", _lines(_take_stdin()))
    async with stdio_server(stdin=lines) as (reading, writing):
        mcp = server._lowlevel_server
        await mcp.run(reading, writing, mcp.create_initialization_options())


def _take_stdin() -> int:
    """Tools, and what they start, find nothing to read there."""
    private = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return private


async def _lines(source: int) -> AsyncIterator[str]:
    loop = asyncio.get_running_loop()
    waiting: asyncio.Queue[bytes] = asyncio.Queue(16)

    def read() -> None:
        while True:
            try:
                some = os.read(source, 1 << 16)
                # Waits for a slow server, so that a client cannot fill the memory.
                asyncio.run_coroutine_threadsafe(waiting.put(some), loop).result()
            except (OSError, RuntimeError, asyncio.CancelledError):
                return
            if not some:
                return

    # Nobody waits for it at the end of the process.
    threading.Thread(target=read, name="moot-stdin", daemon=True).start()
    rest = b""
    while some := await waiting.get():
        *whole, rest = (rest + some).split(b"\n")
        for line in whole:
            yield line.decode(errors="replace")
    if rest:
        yield rest.decode(errors="replace")


async def serve_http(server: Server, port: int, ready: Callable[[str], None]) -> None:
    """Serves until it is told to stop. `ready` is told the address, once it is open."""
    listening = _listen(port)
    port = listening.getsockname()[1]
    # Any page in the user's browser can reach loopback, also by a name of its own: only requests to this very
    # server are heard, and of pages only its own, of which there are none.
    names = [f"{name}:{port}" for name in (LOOPBACK, "localhost", "[::1]")]
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=names,
        allowed_origins=[f"http://{name}" for name in names],
    )
    app = server.streamable_http_app(streamable_http_path=_PATH, transport_security=security)
    config = uvicorn.Config(
        app,
        log_level="warning",
        lifespan="on",
        server_header=False,
        # Nobody stands between: it listens on loopback alone.
        proxy_headers=False,
        timeout_graceful_shutdown=3,
    )
    await _Announced(config, lambda: ready(f"http://{LOOPBACK}:{port}{_PATH}")).serve(sockets=[listening])


class _Announced(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()


def _listen(port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((LOOPBACK, port))
    except OSError as error:
        listening.close()
        raise InvalidInput("--port", f"{port} cannot be used: {error.strerror}; try --port 0") from error
    return listening
