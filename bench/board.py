"""What a board costs through HTTP: wall time, first word, CPU, how many at once, memory.

Model, servers and listener are processes of their own on one machine. Where the cores are fewer than those,
boards at once are of the machine as a whole: the shares of CPU are printed with them.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

from bench.contenders import REFERENCE, Contender
from bench.effort import Effort
from bench.fast_stub import Script
from bench.listening import Listener, NotHeard, begun, listen
from bench.pass_through import ADVISORS
from bench.processes import Process, stub
from bench.results import Figures, Results, told

ENDLESS = Script(tokens=10**9, pace=50)
STALLED = Script(tokens=1, pace=50, ends=False)
DELAY_LIMIT = 0.1
FAILURES = (NotHeard, ConnectionError, TimeoutError)


@contextlib.contextmanager
def serving(script: Script, contenders: list[Contender]) -> Iterator[tuple[Process, dict[str, Process]]]:
    """The model, and those who serve it, all at once: they take turns."""
    with stub(script) as model, contextlib.ExitStack() as stack:
        yield model, {one.name: stack.enter_context(one.start(model.url, 0)) for one in contenders}


@contextlib.contextmanager
def tolerated(name: str) -> Iterator[None]:
    """Whoever fails at one thing is left out of it, and said to be."""
    try:
        yield
    except FAILURES as why:
        print(f"  {name}: left out: {str(why) or type(why).__name__}")


async def _rounds(
    servers: dict[str, Process], script: Script, rounds: int
) -> AsyncIterator[tuple[str, Process, Listener, float]]:
    """Each hears a board in turn, so often. The first of a process, which loads what it needs, is not told;
    whoever fails takes no further part."""
    for number in range(rounds + 1):
        for name, server in list(servers.items()):
            try:
                listener, ended = await _heard(server, script)
            except FAILURES as why:
                print(f"  {name}: left out from round {number}: {str(why) or type(why).__name__}")
                del servers[name]
                continue
            if number:
                yield name, server, listener, ended


async def _heard(server: Process, script: Script) -> tuple[Listener, float]:
    """One board to its end, and when that was."""
    delays: list[float] = []
    listener = await listen(server, delays)
    async with asyncio.timeout(60):
        ended = await listener.ended
    if len(delays) != ADVISORS * script.tokens:
        raise NotHeard(f"{len(delays)} tokens were heard instead of {ADVISORS * script.tokens}")
    return listener, ended


# -- the whole board -----------------------------------------------------------------------------


async def whole_board(contenders: list[Contender], effort: Effort, results: Results) -> None:
    walls: Figures = {}
    firsts: Figures = {}
    asked: Figures = {}
    with serving(effort.whole, contenders) as (_, servers):
        async for name, _, listener, ended in _rounds(servers, effort.whole, effort.rounds):
            walls.setdefault(name, []).append((ended - listener.began) / effort.limit)
            late = listener.first - listener.began - effort.whole.first_token_delay
            asked.setdefault(name, []).append(late * 1e3)
            firsts.setdefault(name, []).append(listener.first_delay * 1e3)
    results.measures |= {"wall": walls, "first": firsts, "first_asked": asked}
    told(f"Wall time of a whole board over its limit of {effort.limit:.2f} s", walls, digits=3)
    told("First word after the model's, ms", firsts)
    told("First word from the request, less what the model takes for it, ms", asked)


# -- CPU per token -------------------------------------------------------------------------------


async def cpu_per_token(contenders: list[Contender], effort: Effort, results: Results) -> None:
    streaming: Figures = {}
    whole: Figures = {}
    tokens = ADVISORS * effort.steady.tokens
    with serving(effort.steady, contenders) as (_, servers):
        async for name, server, listener, _ in _rounds(servers, effort.steady, effort.rounds):
            used = listener.last_cpu - listener.first_cpu
            streaming.setdefault(name, []).append(used / tokens * 1e6)
            whole.setdefault(name, []).append((server.cpu() - listener.began_cpu) / tokens * 1e6)
    results.measures |= {"cpu_streaming": streaming, "cpu_whole": whole}
    told(f"CPU per token at {ADVISORS} × {effort.steady.pace:.0f} tokens/s, µs", streaming, REFERENCE)
    told("CPU per token, the whole board, µs", whole, REFERENCE)


# -- boards at once ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Window:
    late: float
    """The delay that one token in a hundred exceeds."""
    described: str


async def _window(model: Process, server: Process, delays: list[float], seconds: float) -> _Window:
    delays.clear()
    began = time.monotonic()
    before = (server.cpu(), model.cpu(), time.process_time())
    await asyncio.sleep(seconds)
    took = time.monotonic() - began
    after = (server.cpu(), model.cpu(), time.process_time())
    late = sorted(delays)[len(delays) * 99 // 100] if delays else float("inf")
    shares = [(end - start) / took for start, end in zip(before, after, strict=True)]
    used = "server {:.2f}, model {:.2f}, listeners {:.2f} of a core".format(*shares)
    return _Window(late, f"99 % within {late * 1e3:6.1f} ms, {len(delays) / took:6.0f} tokens/s; {used}")


async def _held(contender: Contender, effort: Effort) -> int:
    """Boards are added to those that go on, until no window of several is in time: one may be disturbed by
    whatever else the machine does, but a server that cannot keep up only falls further behind."""
    delays: list[float] = []
    listeners: list[Listener] = []
    held = 0
    with stub(ENDLESS) as model, contender.start(model.url, 0) as server:
        # The first board of a process loads what it needs.
        first = await begun(server, [])
        await asyncio.sleep(effort.window)
        first.leave()
        for boards in effort.levels:
            try:
                while len(listeners) < boards:
                    listeners.append(await begun(server, delays))
            except FAILURES as why:
                print(f"  {contender.name:<18} {boards:>3} boards: {why}")
                break
            number, window = 1, await _window(model, server, delays, effort.window)
            while window.late > DELAY_LIMIT and number < effort.windows:
                number, window = number + 1, await _window(model, server, delays, effort.window)
            print(f"  {contender.name:<18} {boards:>3} boards: {window.described} (window {number})")
            if window.late > DELAY_LIMIT:
                break
            held = boards
        for listener in listeners:
            listener.ended.cancel()
    return held


async def boards_held(contenders: list[Contender], effort: Effort, results: Results) -> None:
    """One server at a time: the others would still be busy with boards that were left."""
    print(f"\nBoards of {ADVISORS} × {ENDLESS.pace:.0f} tokens/s until 99 % are no longer within 100 ms")
    held: Figures = {}
    for one in contenders:
        with tolerated(one.name):
            held[one.name] = [float(await _held(one, effort))]
    results.measures["held"] = held
    told("Boards held", held, REFERENCE, digits=0)


# -- memory --------------------------------------------------------------------------------------


async def memory_waiting(contenders: list[Contender], effort: Effort, results: Results) -> None:
    """Of a board that waits for its eight advisors, whose connections to the model are open."""
    each: Figures = {}
    for one in contenders:
        with tolerated(one.name), stub(STALLED) as model, one.start(model.url, 0) as server:
            listeners: list[Listener] = []
            before = 0
            spare = effort.idle // 10
            for number in range(effort.idle + spare):
                if number == spare:
                    before = server.memory()
                listeners.append(await begun(server, []))
            each[one.name] = [(server.memory() - before) / effort.idle / 1024]
            for listener in listeners:
                listener.ended.cancel()
    results.measures["memory_waiting"] = each
    told(f"Memory of a board that waits for its {ADVISORS} advisors, kB", each, REFERENCE, digits=0)
