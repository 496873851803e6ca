"""What happens when somebody leaves or something dies: upstreams closed, sessions taken up, memory kept low.

Where a server and a worker are two processes on one PostgreSQL, the same is measured across them.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.board import STALLED
from bench.contenders import POSTGRESQL, SQLITE, Contender, Databases
from bench.effort import Effort
from bench.fast_stub import Script
from bench.listening import Listener, Resumed, listen, until
from bench.pass_through import ADVISORS
from bench.processes import Process, free_port, moot, stub, worker
from bench.results import Figures, Results, told

ACROSS = "moot, PostgreSQL, two processes"
_PATIENCE = 30.0
_SPEAKING = Script(tokens=10**9, pace=20)


@contextlib.contextmanager
def _apart(known: Databases, model: Process, *arguments: str) -> Iterator[tuple[Process, Process, str, Path]]:
    """A server that serves and a worker that drives, their database and the folder of their settings."""
    database = known.new()
    with tempfile.TemporaryDirectory(prefix="moot-bench-") as name:
        folder = Path(name)
        with (
            moot(model.url, folder, "--database", database, "--no-work", *arguments) as server,
            worker(model.url, folder, "--database", database) as working,
        ):
            yield server, working, database, folder


# -- leaving -------------------------------------------------------------------------------------


async def _left(model: Process, server: Process, rounds: int) -> list[float]:
    """Milliseconds from a client's leaving until the model has seen the last of its streams closed."""
    took = []
    for number in range(rounds + 1):
        listener = await listen(server, [])
        await listener.all_speak.wait()
        gone = (await until(model, lambda _: True, 1))["left"]
        at = listener.leave()
        state = await until(model, lambda s: len(s["left"]) >= len(gone) + ADVISORS, _PATIENCE)
        if number:
            took.append((max(state["left"]) - at) * 1e3)
    return took


async def leaving(contenders: list[Contender], known: Databases, effort: Effort, results: Results) -> None:
    """`contenders` are those whose sessions have no grace."""
    figures: Figures = {}
    for one in contenders:
        with stub(_SPEAKING) as model, one.start(model.url, 0) as server:
            figures[one.name] = await _left(model, server, effort.rounds)
    with stub(_SPEAKING) as model, _apart(known, model, "--grace", "0") as (server, *_):
        figures[ACROSS] = await _left(model, server, effort.rounds)
    results.measures["leaving"] = figures
    told("A client leaves: until all upstreams are closed, ms", figures)


# -- dying ---------------------------------------------------------------------------------------


async def _accepting(server: Process, began: float) -> float:
    """Seconds until a new board is answered."""
    while True:
        with contextlib.suppress(ConnectionError, OSError):
            listener = await listen(server, [])
            await asyncio.wait(
                (asyncio.ensure_future(listener.answered.wait()), listener.ended),
                return_when=asyncio.FIRST_COMPLETED,
            )
            if listener.answered.is_set():
                listener.leave()
                return time.monotonic() - began
            listener.ended.exception()
        if time.monotonic() - began > _PATIENCE:
            raise TimeoutError("the server does not accept again")
        await asyncio.sleep(0.01)


async def recovery(contenders: list[Contender], known: Databases, effort: Effort, results: Results) -> None:
    """The process is killed and started again at once, as a supervisor would."""
    accepting: Figures = {}
    going_on: Figures = {}
    for one in contenders:
        if one.name in (SQLITE, POSTGRESQL):
            continue
        for _ in range(effort.rounds):
            port = free_port()
            with stub(_SPEAKING) as model:
                with one.start(model.url, port) as server:
                    listener = await listen(server, [])
                    await listener.all_speak.wait()
                    server.kill()
                    began = time.monotonic()
                    await asyncio.gather(listener.ended, return_exceptions=True)
                with one.start(model.url, port) as server:
                    accepting.setdefault(one.name, []).append(await _accepting(server, began))
    for name in (SQLITE, POSTGRESQL):
        for _ in range(effort.rounds):
            took = await _moot_recovers(known.new() if name == POSTGRESQL else None)
            accepting.setdefault(name, []).append(took[0])
            going_on.setdefault(name, []).append(took[1])
    for _ in range(effort.rounds):
        going_on.setdefault(ACROSS, []).append(await _goes_on_elsewhere(known))
    results.measures |= {"accepting": accepting, "going_on": going_on}
    told("Killed and started again: until a new board is answered, s", accepting, digits=2)
    told("Killed: until the session that it drove goes on, s", going_on, digits=2)


async def _moot_recovers(database: str | None) -> tuple[float, float]:
    arguments = ("--database", database) if database else ()
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="moot-bench-") as name, stub(_SPEAKING) as model:
        folder = Path(name)
        with moot(model.url, folder, *arguments, port=port) as server:
            listener = await listen(server, [])
            await listener.all_speak.wait()
            server.kill()
            began = time.monotonic()
            await asyncio.gather(listener.ended, return_exceptions=True)
        with moot(model.url, folder, *arguments, port=port) as server:
            accepting = await _accepting(server, began)
            again = await listen(server, [], Resumed(listener.session, listener.last_id))
            await _first_token(again)
            again.leave()
            return accepting, again.first - began


async def _goes_on_elsewhere(known: Databases) -> float:
    """Two workers; the one that drives is killed. The client stays where it is and hears the session go on."""
    with stub(_SPEAKING) as model, _apart(known, model) as (server, first, database, folder):
        listener = await listen(server, [])
        await listener.all_speak.wait()
        with worker(model.url, folder, "--database", database):
            first.kill()
            began = time.monotonic()
            # What was on its way is still heard.
            await asyncio.sleep(0.5)
            heard = listener.heard
            while listener.heard == heard:
                if time.monotonic() - began > _PATIENCE:
                    raise TimeoutError("nobody takes the session over")
                await asyncio.sleep(0.01)
            listener.leave()
            return listener.latest - began


async def _first_token(listener: Listener) -> None:
    async with asyncio.timeout(_PATIENCE):
        while not listener.first:
            await asyncio.sleep(0.005)


# -- idle listeners ------------------------------------------------------------------------------


async def memory_attached(known: Databases, effort: Effort, results: Results) -> None:
    """Of a session that somebody listens to and that nothing happens in: in one process as a further listener
    to a session that waits, across processes as a session that another process drives."""
    each: Figures = {}
    spare = max(1, effort.idle // 10)
    with tempfile.TemporaryDirectory(prefix="moot-bench-") as folder:
        with stub(STALLED) as model, moot(model.url, Path(folder)) as server:
            first = await listen(server, [])
            await first.all_speak.wait()
            each[SQLITE] = [await _attached(server, effort.idle, spare, Resumed(first.session))]
    with stub(STALLED) as model, _apart(known, model) as (server, *_):
        each[ACROSS] = [await _attached(server, effort.idle, spare, None)]
    results.measures["memory_attached"] = each
    told("Memory of an idle session that somebody listens to, kB", each, digits=0)


async def _attached(server: Process, count: int, spare: int, resumed: Resumed | None) -> float:
    listeners = []
    before = 0
    for number in range(count + spare):
        if number == spare:
            before = server.memory()
        listeners.append(await listen(server, [], resumed))
        await listeners[-1].all_speak.wait()
    each = (server.memory() - before) / count / 1024
    for listener in listeners:
        listener.ended.cancel()
    return each
