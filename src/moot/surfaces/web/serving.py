"""Runs the server: uvicorn on this process, with a word to the user on where it is."""

from __future__ import annotations

import asyncio
import gc
import re
import secrets
import socket
from typing import TYPE_CHECKING

import uvicorn

from moot.errors import ConfigInvalid, InvalidInput
from moot.surfaces.web.app import create_app
from moot.surfaces.web.guards import LOOPBACK

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from moot.application import Moot


async def serve(
    moot: Moot, host: str, port: int, grace: float, ready: Callable[[str], None], names: tuple[str, ...] = ()
) -> None:
    """Serves until it is told to stop. `ready` is told the address to open, once it is open. `names` are
    those under which others reach it, through a proxy."""
    listening = _listen(host, port)
    port = listening.getsockname()[1]
    token, told = _token(host, names, moot.env)
    shown = "127.0.0.1" if host in ("0.0.0.0", "") else f"[{host}]" if ":" in host else host
    names = (*LOOPBACK, shown, socket.gethostname(), *names)
    app = create_app(moot, hosts=names, token=token, grace=grace)
    config = uvicorn.Config(
        app,
        log_config=None,
        log_level="warning",
        lifespan="on",
        server_header=False,
        timeout_graceful_shutdown=3,
    )
    server = _Server(config, lambda: ready(f"http://{shown}:{port}/" + (f"?token={told}" if told else "")))
    getting_ready = asyncio.create_task(_get_ready(moot))
    try:
        await server.serve(sockets=[listening])
    finally:
        await asyncio.gather(getting_ready, return_exceptions=True)


def _token(host: str, names: tuple[str, ...], env: Mapping[str, str]) -> tuple[str | None, str]:
    """The token that every request must have, and what is told of it. None for this machine alone. Several
    servers under one name have to want the same, which comes from outside then, and is not told."""
    if host in ("127.0.0.1", "localhost", "::1") and not names:
        return None, ""
    given = env.get("MOOT_TOKEN", "").strip()
    if not given:
        made = secrets.token_urlsafe(24)
        return made, made
    if not re.fullmatch(r"[A-Za-z0-9_-]{16,}", given):
        raise ConfigInvalid("MOOT_TOKEN", "must be at least 16 letters, digits, hyphens or underscores")
    return given, ""


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
