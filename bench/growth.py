"""How wall time, CPU and memory grow from one board to a thousand at once, of advisors who speak slowly."""

from __future__ import annotations

import asyncio
import statistics

from bench.board import FAILURES
from bench.contenders import Contender
from bench.effort import Effort
from bench.listening import Listener, NotHeard, listen
from bench.pass_through import ADVISORS
from bench.processes import Process, stub
from bench.results import Grown, Results


async def growth(contenders: list[Contender], effort: Effort, results: Results) -> None:
    script = effort.slow
    limit = 2 * script.first_token_delay + (script.tokens - 1 + script.brief_tokens - 1) / script.pace
    print(f"\nBoards at once, of advisors at {script.pace:g} tokens/s; limit {limit:.1f} s")
    for one in contenders:
        seen = results.growth.setdefault(one.name, [])
        for sessions in effort.grown:
            with stub(script) as model, one.start(model.url, 0) as server:
                grown = await _at_once(server, sessions, script.tokens, limit * effort.patience, limit)
            seen.append(grown)
            print(f"  {one.name:<18} {sessions:>5}: {_described(grown)}")
            if grown.wall is None:
                break


def _described(grown: Grown) -> str:
    if grown.wall is None:
        return "did not end, or not whole"
    return (
        f"{grown.wall:6.2f} times the limit, {grown.cpu_ms:7.1f} ms of CPU and {grown.memory_kb:6.0f} kB each"
    )


async def _at_once(server: Process, sessions: int, tokens: int, patience: float, limit: float) -> Grown:
    # The first board of a process loads what it needs.
    await (await listen(server, [])).ended
    before, used = server.memory(), server.cpu()
    listeners: list[Listener] = await asyncio.gather(*(listen(server, []) for _ in range(sessions)))
    most = before
    ended = asyncio.gather(*(one.ended for one in listeners))
    # Who is given up is not asked any more.
    ended.add_done_callback(lambda done: done.cancelled() or done.exception())
    try:
        async with asyncio.timeout(patience):
            while not ended.done():
                await asyncio.wait((ended,), timeout=0.25)
                most = max(most, server.memory())
            short = sum(one.heard != ADVISORS * tokens for one in listeners)
            if short:
                raise NotHeard(f"{short} boards ended before everything was said")
            walls = [end - one.began for end, one in zip(await ended, listeners, strict=True)]
    except FAILURES as why:
        print(f"  {sessions} at once: {str(why) or type(why).__name__}")
        for one in listeners:
            if not one.ended.done():
                one.ended.cancel()
            elif not one.ended.cancelled():
                one.ended.exception()
        return Grown(sessions)
    return Grown(
        sessions,
        statistics.median(walls) / limit,
        (server.cpu() - used) / sessions * 1e3,
        (most - before) / sessions / 1024,
    )
