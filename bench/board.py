"""What a board costs through HTTP: a real `moot serve`, next to a pass-through that only copies bytes.

Model, servers and listener are processes of their own on one machine. Where the cores are fewer than those,
the last figures (sessions at once) are of the machine as a whole: the shares of CPU are printed with them.
"""

from __future__ import annotations

import asyncio
import contextlib
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import uvloop

from bench.fast_stub import Script
from bench.harness import cpu
from bench.listening import Listener, Process, listen, moot, pass_through, stub
from bench.pass_through import ADVISORS

RUNS = 5

WHOLE = Script(tokens=200, pace=100, first_token_delay=0.2, brief_tokens=200)
LIMIT = 2 * (WHOLE.first_token_delay + (WHOLE.tokens - 1) / WHOLE.pace)

STEADY = Script(tokens=150, pace=50, first_token_delay=0.2)

ENDLESS = Script(tokens=10**9, pace=50)
LEVELS = (8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 128)
WINDOW = 1.5
WINDOWS = 4
DELAY_LIMIT = 0.1

STALLED = Script(tokens=1, pace=50, ends=False)
IDLE = 100


@contextlib.contextmanager
def _contenders(script: Script) -> Iterator[tuple[Process, dict[str, Process]]]:
    """The model, and those who serve it, the reference first."""
    with stub(script) as model, pass_through(model.url) as reference, moot(model.url) as ours:
        yield model, {"pass-through": reference, "moot serve": ours}


async def _heard(server: Process, script: Script) -> tuple[Listener, float]:
    """One board to its end, and when that was."""
    delays: list[float] = []
    listener = await listen(server, delays)
    ended = await listener.ended
    if len(delays) != ADVISORS * script.tokens:
        raise RuntimeError(f"{len(delays)} tokens were heard instead of {ADVISORS * script.tokens}")
    return listener, ended


def _spread(figures: list[float], digits: int = 1) -> str:
    low, high = min(figures), max(figures)
    return f"{statistics.median(figures):>8.{digits}f}  ({low:.{digits}f} … {high:.{digits}f})"


# -- the whole board -----------------------------------------------------------------------------


async def _whole_board() -> None:
    walls: dict[str, list[float]] = {}
    firsts: dict[str, list[float]] = {}
    with _contenders(WHOLE) as (_, servers):
        for run in range(RUNS + 1):
            for name, server in servers.items():
                listener, ended = await _heard(server, WHOLE)
                first = listener.first - listener.began - WHOLE.first_token_delay
                if run == 0:
                    print(
                        f"  {name}: first board of a new process, {first * 1e3:.0f} ms late at its first word"
                    )
                    continue
                walls.setdefault(name, []).append((ended - listener.began) / LIMIT)
                firsts.setdefault(name, []).append(first * 1e3)
    for name, ratios in walls.items():
        print(f"  {name:<14} wall time over the limit       {_spread(ratios, 3)}")
    for name, late in firsts.items():
        print(f"  {name:<14} first word after the model's, ms {_spread(late)}")


# -- CPU per token -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Cost:
    """CPU seconds per token: while tokens stream, and of the board from request to end."""

    streaming: float
    whole: float


async def _served_cost(server: Process) -> _Cost:
    listener, _ = await _heard(server, STEADY)
    tokens = ADVISORS * STEADY.tokens
    return _Cost(
        (listener.last_cpu - listener.first_cpu) / tokens, (server.cpu() - listener.began_cpu) / tokens
    )


async def _sdk_cost(client: Any) -> _Cost:
    """The SDK's own events in this process, which serves nobody."""
    marks: list[float] = []

    async def advisor() -> None:
        chunks = await client.chat.completions.create(
            model="stub-model", messages=[{"role": "user", "content": "Should we?"}], stream=True
        )
        async for chunk in chunks:
            if chunk.choices and chunk.choices[0].delta.content:
                marks.append(time.process_time())

    with cpu() as used:
        await asyncio.gather(*(advisor() for _ in range(ADVISORS)))
    return _Cost((marks[-1] - marks[0]) / len(marks), used() / len(marks))


async def _cpu_per_token() -> None:
    import openai

    costs: dict[str, list[_Cost]] = {}
    with _contenders(STEADY) as (model, servers):
        client = openai.AsyncOpenAI(
            api_key="bench", base_url=f"{model.url}/v1", http_client=openai.DefaultAioHttpClient()
        )
        async with client:
            for run in range(RUNS):
                for name, server in servers.items():
                    costs.setdefault(name, []).append(await _served_cost(server))
                costs.setdefault("SDK, no server", []).append(await _sdk_cost(client))
                if run == 0:
                    costs.clear()
    reference = costs["pass-through"]
    for name, seen in costs.items():
        for what in ("streaming", "whole"):
            figures = [getattr(cost, what) * 1e6 for cost in seen]
            ratios = [
                figure / getattr(other, what) / 1e6 for figure, other in zip(figures, reference, strict=True)
            ]
            title = "while streaming" if what == "streaming" else "whole board"
            print(f"  {name:<14} {title:<15} µs {_spread(figures)}  ratio {statistics.median(ratios):.2f}")


# -- sessions at once ----------------------------------------------------------------------------


async def _window(model: Process, server: Process, delays: list[float]) -> tuple[float, str]:
    """The delay that one token in a hundred exceeds, and who used how much of a core meanwhile."""
    delays.clear()
    began = time.monotonic()
    before = (server.cpu(), model.cpu(), time.process_time())
    await asyncio.sleep(WINDOW)
    took = time.monotonic() - began
    after = (server.cpu(), model.cpu(), time.process_time())
    late = sorted(delays)[len(delays) * 99 // 100]
    shares = [(end - start) / took for start, end in zip(before, after, strict=True)]
    told = "server {:.2f}, model {:.2f}, listeners {:.2f} of a core".format(*shares)
    return late, f"99 % within {late * 1e3:6.1f} ms, {len(delays) / took:6.0f} tokens/s; {told}"


async def _sessions_held(name: str, model: Process, server: Process) -> int:
    """Sessions are added to those that go on, until no window of several is in time: one may be disturbed by
    whatever else the machine does, but a server that cannot keep up only falls further behind."""
    delays: list[float] = []
    listeners: list[Listener] = []
    held = 0
    for sessions in LEVELS:
        while len(listeners) < sessions:
            listeners.append(await listen(server, delays))
            await listeners[-1].all_speak.wait()
        late, told = await _window(model, server, delays)
        windows = 1
        while late > DELAY_LIMIT and windows < WINDOWS:
            late, told = await _window(model, server, delays)
            windows += 1
        print(
            f"  {name:<14} {sessions:>3} sessions: {told}" + (f" (window {windows})" if windows > 1 else "")
        )
        if late > DELAY_LIMIT:
            break
        held = sessions
    for listener in listeners:
        listener.ended.cancel()
    return held


async def _sessions_at_once() -> None:
    held: dict[str, int] = {}
    # One server at a time: the other would still be busy with sessions that were left.
    for name, serving in (("pass-through", pass_through), ("moot serve", moot)):
        with stub(ENDLESS) as model, serving(model.url) as server:
            held[name] = await _sessions_held(name, model, server)
    ratio = held["moot serve"] / held["pass-through"]
    print(f"  held: pass-through {held['pass-through']}, moot serve {held['moot serve']}, ratio {ratio:.2f}")


# -- memory --------------------------------------------------------------------------------------


async def _memory() -> None:
    with _contenders(STALLED) as (_, servers):
        for name, server in servers.items():
            delays: list[float] = []
            listeners: list[Listener] = []
            before = 0
            for number in range(IDLE + IDLE // 10):
                if number == IDLE // 10:
                    before = server.memory()
                listeners.append(await listen(server, delays))
                await listeners[-1].all_speak.wait()
            now = server.memory()
            each = (now - before) / IDLE / 1024
            print(
                f"  {name:<14} {each:6.0f} kB a session, {now / 2**20:.0f} MB with {len(listeners)} of them"
            )
            for listener in listeners:
                listener.ended.cancel()


def main() -> None:
    speech = f"{ADVISORS} advisors of {WHOLE.tokens} tokens at {WHOLE.pace:.0f} tokens/s, then a brief"
    print(f"\nA whole board: {speech}; limit {LIMIT:.2f} s")
    uvloop.run(_whole_board())
    print(f"\nCPU per delivered token, {ADVISORS} advisors at {STEADY.pace:.0f} tokens/s")
    uvloop.run(_cpu_per_token())
    print(f"\nSessions of {ADVISORS} × {ENDLESS.pace:.0f} tokens/s until 99 % are no longer within 100 ms")
    uvloop.run(_sessions_at_once())
    print(f"\nMemory of a session that waits for its {ADVISORS} advisors, with a listener")
    uvloop.run(_memory())
