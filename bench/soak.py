"""`python -m bench soak --minutes 30`: boards come and go at half of what one process holds, for a long time.

Memory must stay flat and no stream may be left open. A board lasts twenty seconds, then another takes
its place; one listener in four leaves in the middle, as people do.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import statistics
import tempfile
import time
from pathlib import Path

import uvloop

from bench import results
from bench.contenders import SQLITE
from bench.fast_stub import Script
from bench.listening import listen, state_of, until
from bench.processes import Process, moot, stub

SCRIPT = Script(tokens=1000, pace=50, first_token_delay=0.2, brief_tokens=20)
"""What a process holds was measured with boards that only speak; to convene one takes as much as some seconds
of speaking, so these last for a while."""
DEFAULT_BOARDS = 16
LEAVING = 0.25
GOAL_PER_TEN_MINUTES = 0.01
_WARM_UP_SHARE = 0.2
"""What a process learns and loads in its first minutes is no leak."""


def half_of_capacity() -> int:
    """Of the last full run, where there was one."""
    found = results.load()
    held = found.measures.get("held", {}).get(SQLITE) if found and not found.quick else None
    return max(1, int(held[0]) // 2) if held else DEFAULT_BOARDS


async def _seat(server: Process, until_: float, dice: random.Random, ended: list[float]) -> None:
    """One of so many at once: board after board."""
    while time.monotonic() < until_:
        listener = await listen(server, [])
        if dice.random() < LEAVING:
            await asyncio.sleep(dice.uniform(0.1, 20.0))
            listener.leave()
            continue
        await listener.ended
        ended.append(listener.began)


def slope(samples: list[tuple[float, int]]) -> float:
    """Growth of memory in ten minutes, as a share of what there was, over all samples after the warm-up."""
    began, last = samples[0][0], samples[-1][0]
    counted = [(at, used) for at, used in samples if at - began >= (last - began) * _WARM_UP_SHARE]
    fitted = statistics.linear_regression([at for at, _ in counted], [used for _, used in counted])
    return fitted.slope * 600 / counted[0][1]


async def _soak(minutes: float, boards: int) -> bool:
    samples: list[tuple[float, int]] = []
    ended: list[float] = []
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="moot-soak-"))
        model = stack.enter_context(stub(SCRIPT))
        server = stack.enter_context(moot(model.url, Path(folder), "--grace", "0.5"))
        began = time.monotonic()
        until_ = began + minutes * 60
        seats = [
            asyncio.create_task(_seat(server, until_, random.Random(number), ended))
            for number in range(boards)
        ]
        sitting = asyncio.gather(*seats)
        next_line = began
        while not sitting.done():
            await asyncio.wait((sitting,), timeout=1.0)
            samples.append((time.monotonic(), server.memory()))
            if samples[-1][0] >= next_line:
                next_line += max(10.0, minutes * 3)
                open_ = (await state_of(model))["open"]
                passed = (samples[-1][0] - began) / 60
                used = samples[-1][1] / 2**20
                print(f"  {passed:5.1f} min  {used:7.1f} MB  {len(ended):6} boards, {open_} streams open")
        await sitting
        # What was left in the middle may go on for the time of grace.
        try:
            last = await until(model, lambda state: state["open"] == 0, 10)
        except TimeoutError:
            last = await state_of(model)
    grew = slope(samples)
    flat, closed = grew < GOAL_PER_TEN_MINUTES, last["open"] == 0
    print(
        f"\n  {len(ended)} boards to their end, {last['asked']} replies asked for, {len(last['left'])} left"
    )
    verdicts = {True: "met", False: "MISSED"}
    print(f"  memory: {grew * 100:+.2f} % in ten minutes, goal below 1 %: {verdicts[flat]}")
    print(f"  streams still open at the model: {last['open']}, goal none: {verdicts[closed]}")
    return flat and closed


def main(*, minutes: float = 30.0, boards: int | None = None) -> None:
    count = boards or half_of_capacity()
    print(f"\n{minutes:g} minutes with {count} boards at once")
    if not uvloop.run(_soak(minutes, count)):
        raise SystemExit(1)
