"""Runs the MCP server: over this process's stdin and stdout, or over HTTP on loopback."""

from __future__ import annotations

import asyncio
import os
import threading
from typing import TYPE_CHECKING, cast

from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings

from moot.server.http import MAX_EVIDENCE, HttpServer, listen

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    import anyio

    from moot.config import ServerSettings
    from moot.mcp.server import Server

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
    # Joined once a line: one with a file in it comes in hundreds of pieces.
    rest: list[bytes] = []
    while some := await waiting.get():
        *whole, last = some.split(b"\n")
        for line in whole:
            yield b"".join((*rest, line)).decode(errors="replace")
            rest.clear()
        rest.append(last)
    if line := b"".join(rest):
        yield line.decode(errors="replace")


async def serve_http(
    server: Server, port: int, settings: ServerSettings, ready: Callable[[str], None]
) -> None:
    """Serves until it is told to stop. `ready` is told the address, once it is open."""
    listening = listen(LOOPBACK, port)
    port = listening.getsockname()[1]
    # Any page in the user's browser can reach loopback, also by a name of its own: only requests to this very
    # server are heard, and of pages only its own, of which there are none.
    names = [f"{name}:{port}" for name in (LOOPBACK, "localhost", "[::1]")]
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=names,
        allowed_origins=[f"http://{name}" for name in names],
    )
    app = server.streamable_http_app(
        streamable_http_path=_PATH, transport_security=security, max_request_body_size=MAX_EVIDENCE
    )
    opened = f"http://{LOOPBACK}:{port}{_PATH}"
    await HttpServer(app, settings, lambda: ready(opened)).serve(sockets=[listening])
