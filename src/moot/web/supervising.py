"""Several server processes on one port: started, watched, started again when one ends, stopped together.

All accept from one socket, so the system gives each connection to whichever is free. Each process has a line
to the one that started it: on it it says that it is ready, and at its end it knows that it is alone, and
stops.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Mapping, Sequence

from moot.processes import environment, moot_command

RESTART_SECONDS = 1.0
STOP_SECONDS = 10.0


async def supervise(
    count: int,
    arguments: Sequence[str],
    listening: socket.socket,
    env: Mapping[str, str],
    ready: Callable[[], None],
) -> None:
    """Runs `moot` with these arguments so many times, until it is cancelled. `ready` is called when all are.
    Returns where one could not even begin."""
    started = [asyncio.Event() for _ in range(count)]
    keeping = [asyncio.create_task(_keep(arguments, listening, env, one)) for one in started]
    waiting = asyncio.create_task(_all(started))
    try:
        await asyncio.wait((waiting, *keeping), return_when=asyncio.FIRST_COMPLETED)
        if waiting.done():
            ready()
        await asyncio.wait(keeping, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (*keeping, waiting):
            task.cancel()
        await asyncio.gather(*keeping, waiting, return_exceptions=True)


async def _all(started: Sequence[asyncio.Event]) -> None:
    for one in started:
        await one.wait()


async def _keep(
    arguments: Sequence[str], listening: socket.socket, env: Mapping[str, str], started: asyncio.Event
) -> None:
    """Returns where a process ends that has never been ready."""
    while True:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        with ours:
            with theirs:
                process = await asyncio.create_subprocess_exec(
                    *moot_command(*arguments, "--supervised", f"{listening.fileno()}:{theirs.fileno()}"),
                    pass_fds=(listening.fileno(), theirs.fileno()),
                    env=environment.for_moot(env),
                )
            try:
                if await asyncio.get_running_loop().sock_recv(ours, 1):
                    started.set()
                await process.wait()
                if not started.is_set():
                    # It has said why.
                    return
            except asyncio.CancelledError:
                await _stop(process)
                raise
        await asyncio.sleep(RESTART_SECONDS)


async def _stop(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
        try:
            await asyncio.wait_for(process.wait(), STOP_SECONDS)
        except TimeoutError:
            process.kill()
            await process.wait()


class Supervised:
    """The other end: in a process that was started so. `said` is what it was given."""

    def __init__(self, said: str) -> None:
        listening, line = (int(part) for part in said.split(":"))
        self.listening = socket.socket(fileno=listening)
        self._line = socket.socket(fileno=line)
        self._line.setblocking(False)

    def ready(self) -> None:
        with contextlib.suppress(OSError):
            self._line.send(b".")

    async def alone(self) -> None:
        """Returns when nobody supervises any more."""
        with contextlib.suppress(OSError):
            await asyncio.get_running_loop().sock_recv(self._line, 1)
