"""Runs the server: uvicorn on this process, with a word to the user on where it is."""

from __future__ import annotations

import asyncio
import gc
import secrets
import socket
from typing import TYPE_CHECKING

import uvicorn

from moot.errors import InvalidInput
from moot.surfaces.web.app import create_app
from moot.surfaces.web.guards import LOOPBACK

if TYPE_CHECKING:
    from collections.abc import Callable

    from moot.application import Moot


async def serve(moot: Moot, host: str, port: int, grace: float, ready: Callable[[str], None]) -> None:
    """Serves until it is told to stop. `ready` is told the address to open, once it is open."""
    listening = _listen(host, port)
    port = listening.getsockname()[1]
    token = None if host in ("127.0.0.1", "localhost", "::1") else secrets.token_urlsafe(24)
    shown = "127.0.0.1" if host in ("0.0.0.0", "") else f"[{host}]" if ":" in host else host
    names = (*LOOPBACK, shown, socket.gethostname())
    app = create_app(moot, hosts=names, token=token, grace=grace)
    config = uvicorn.Config(
        app, log_level="warning", lifespan="on", server_header=False, timeout_graceful_shutdown=3
    )
    server = _Server(config, lambda: ready(f"http://{shown}:{port}/" + (f"?token={token}" if token else "")))
    getting_ready = asyncio.create_task(_get_ready(moot))
    try:
        await server.serve(sockets=[listening])
    finally:
        await asyncio.gather(getting_ready, return_exceptions=True)


async def _get_ready(moot: Moot) -> None:
    """Loads what the first word would wait for, and takes all that was loaded out of the garbage collector's
    rounds: going through everything takes a tenth of a second, in which nobody is told anything. For the
    same reason it goes through everything less often than it would by itself."""
    await moot.warm_up()
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()


def _listen(host: str, port: int) -> socket.socket:
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
