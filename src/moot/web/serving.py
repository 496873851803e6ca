"""Runs the server: uvicorn on this process, with a word to the user on where it is."""

from __future__ import annotations

import asyncio
import gc
import re
import secrets
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING

from moot.errors import ConfigInvalid
from moot.server.http import HttpServer, listen
from moot.web.app import create_app
from moot.web.guards import LOOPBACK
from moot.web.supervising import Supervised, supervise

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from moot.app import Moot
    from moot.server import Drives

MAX_OPEN_FILES = 65_536


@dataclass(frozen=True, slots=True)
class Served:
    """Where and how a server serves. `names` are those under which others reach it, through a proxy."""

    host: str
    port: int
    names: tuple[str, ...] = ()
    grace: float | None = None
    work: Drives = "all"

    @property
    def shown(self) -> str:
        host = self.host
        return "127.0.0.1" if host in ("0.0.0.0", "") else f"[{host}]" if ":" in host else host

    def address(self, listening: socket.socket, told: str) -> str:
        port = listening.getsockname()[1]
        return f"http://{self.shown}:{port}/" + (f"?token={told}" if told else "")


async def serve(
    moot: Moot, served: Served, ready: Callable[[str], None], supervised: Supervised | None = None
) -> None:
    """Serves until it is told to stop. `ready` is told the address to open, once it is open."""
    listening = supervised.listening if supervised else listen(served.host, served.port)
    token, told = _token(served, moot)
    names = (*LOOPBACK, served.shown, socket.gethostname(), *served.names)
    settings = moot.config.user.server
    app = create_app(
        moot,
        hosts=names,
        token=token,
        trusted_proxies=settings.trusted_proxies,
        identity_header=settings.identity_header,
        grace=served.grace,
        work=served.work,
    )
    opened = supervised.ready if supervised else lambda: ready(served.address(listening, told))
    server = HttpServer(app, moot.config.user.server, opened)
    # What is wrong with the database is said in a sentence here; uvicorn would show a traceback.
    await (await moot.store()).check_file()
    besides = [asyncio.create_task(_get_ready(moot))]
    if supervised is not None:
        besides.append(asyncio.create_task(_stop_when_alone(server, supervised)))
    try:
        async with moot.telemetry():
            await server.serve(sockets=[listening])
    finally:
        for task in besides[1:]:
            task.cancel()
        await asyncio.gather(*besides, return_exceptions=True)


async def serve_several(
    moot: Moot, served: Served, count: int, arguments: Sequence[str], ready: Callable[[str], None]
) -> None:
    """The same in so many processes, each of which is `moot` with these arguments. Returns where one could
    not begin."""
    listening = listen(served.host, served.port)
    token, told = _token(served, moot)
    env = {**moot.env, "MOOT_TOKEN": token} if token else moot.env
    with listening:
        opened = served.address(listening, told)
        await supervise(count, arguments, listening, env, lambda: ready(opened))


async def _stop_when_alone(server: HttpServer, supervised: Supervised) -> None:
    await supervised.alone()
    server.should_exit = True


def _token(served: Served, moot: Moot) -> tuple[str | None, str]:
    """The token that opens everything, and what is told of it. None for this machine alone, where nobody
    signs in. Several servers under one name have to want the same, which comes from outside then, and is not
    told."""
    others = served.names or moot.config.user.server.identity_header
    if served.host in ("127.0.0.1", "localhost", "::1") and not others:
        return None, ""
    given = moot.env.get("MOOT_TOKEN", "").strip()
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
    _allow_many_connections()
    await moot.warm_up()
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 3, 100)


def _allow_many_connections() -> None:
    """A hundred boards are a thousand connections, which is where most systems stop a process that has not
    asked for more."""
    try:
        import resource
    except ImportError:  # Windows has no such limit.
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
