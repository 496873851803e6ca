"""What happens when somebody leaves or something dies: upstreams closed, sessions taken up, memory kept low.

Where a server and a worker are two processes on one PostgreSQL, the same is measured across them.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.board import STALLED, tolerated
from bench.contenders import POSTGRESQL, SQLITE, Contender, Databases
from bench.effort import Effort
from bench.fast_stub import Script
from bench.listening import Resumed, begun, listen, state_of, until
from bench.pass_through import ADVISORS
from bench.processes import SETTINGS, Process, free_port, moot, stub, worker
from bench.results import Figures, Results, told

ACROSS = "moot, PostgreSQL, two processes"
_PATIENCE = 30.0
_SPEAKING = Script(tokens=10**9, pace=20)


@dataclass(frozen=True, slots=True)
class _Apart:
    """A server that serves and a worker that drives, their database and the folder of their settings."""

    server: Process
    worker: Process
    database: str
    folder: Path


@contextlib.contextmanager
def _apart(known: Databases, model: Process, grace: float = 3.0) -> Iterator[_Apart]:
    database = known.new()
    with tempfile.TemporaryDirectory(prefix="moot-bench-") as name:
        folder = Path(name)
        # Who drives decides how long without a listener, so both have to know.
        settings = folder / "config" / "moot" / "config.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text(f"{SETTINGS}grace_seconds = {grace}\n", encoding="utf-8")
        with (
            moot(model.url, folder, "--database", database, "--no-work") as server,
            worker(model.url, folder, "--database", database) as working,
        ):
            yield _Apart(server, working, database, folder)


# -- leaving -------------------------------------------------------------------------------------


async def _left(model: Process, server: Process, rounds: int) -> list[float]:
    """Milliseconds from a client's leaving until the model has seen the last of its streams closed."""
    took = []
    for number in range(rounds + 1):
        listener = await begun(server, [])
        expected = len((await state_of(model))["left"]) + ADVISORS
        at = listener.leave()
        state = await until(model, lambda told, count=expected: len(told["left"]) >= count, _PATIENCE)
        if number:
            took.append((max(state["left"]) - at) * 1e3)
    return took


async def leaving(contenders: list[Contender], known: Databases, effort: Effort, results: Results) -> None:
    """`contenders` are those whose sessions have no grace."""
    figures: Figures = {}
    for one in contenders:
        with tolerated(one.name), stub(_SPEAKING) as model, one.start(model.url, 0) as server:
            figures[one.name] = await _left(model, server, effort.rounds)
    with tolerated(ACROSS), stub(_SPEAKING) as model, _apart(known, model, grace=0) as two:
        figures[ACROSS] = await _left(model, two.server, effort.rounds)
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
                    listener = await begun(server, [])
                    server.kill()
                    began = time.monotonic()
                    await asyncio.gather(listener.ended, return_exceptions=True)
                with one.start(model.url, port) as server:
                    accepting.setdefault(one.name, []).append(await _accepting(server, began))
    for name in (SQLITE, POSTGRESQL):
        for _ in range(effort.rounds):
            with tolerated(name):
                took = await _moot_recovers(known.new() if name == POSTGRESQL else None)
                accepting.setdefault(name, []).append(took[0])
                going_on.setdefault(name, []).append(took[1])
    for _ in range(effort.rounds):
        with tolerated(ACROSS):
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
            listener = await begun(server, [])
            server.kill()
            began = time.monotonic()
            await asyncio.gather(listener.ended, return_exceptions=True)
        with moot(model.url, folder, *arguments, port=port) as server:
            accepting = await _accepting(server, began)
            again = await listen(server, [], Resumed(listener.session, listener.last_id))
            async with asyncio.timeout(_PATIENCE):
                await again.spoke.wait()
            again.leave()
            return accepting, again.first - began


async def _goes_on_elsewhere(known: Databases) -> float:
    """Two workers; the one that drives is killed. The client stays where it is and hears the rest."""
    with stub(_SPEAKING) as model, _apart(known, model) as two:
        listener = await begun(two.server, [])
        with worker(model.url, two.folder, "--database", two.database):
            two.worker.kill()
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


# -- idle listeners ------------------------------------------------------------------------------


async def memory_attached(known: Databases, effort: Effort, results: Results) -> None:
    """Of a session that somebody listens to and that nothing happens in: in one process as a further listener
    to a session that waits, across processes as a session that another process drives."""
    each: Figures = {}
    spare = max(1, effort.idle // 10)
    with (
        tolerated(SQLITE),
        tempfile.TemporaryDirectory(prefix="moot-bench-") as folder,
        stub(STALLED) as model,
        moot(model.url, Path(folder)) as server,
    ):
        first = await begun(server, [])
        each[SQLITE] = [await _attached(server, effort.idle, spare, Resumed(first.session))]
    with tolerated(ACROSS), stub(STALLED) as model, _apart(known, model) as two:
        each[ACROSS] = [await _attached(two.server, effort.idle, spare, None)]
    results.measures["memory_attached"] = each
    told("Memory of an idle session that somebody listens to, kB", each, digits=0)


async def _attached(server: Process, count: int, spare: int, resumed: Resumed | None) -> float:
    listeners = []
    before = 0
    await _loaded(server)
    for number in range(count + spare):
        if number == spare:
            before = server.memory()
        listeners.append(await begun(server, [], resumed))
    each = (server.memory() - before) / count / 1024
    for listener in listeners:
        listener.ended.cancel()
    return each


async def _loaded(server: Process) -> None:
    """A server loads what it needs while it serves already: waits until it has nothing to do."""
    used = -1.0
    while server.cpu() - used > 0.05:
        used = server.cpu()
        await asyncio.sleep(0.5)
