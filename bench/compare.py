"""Everybody side by side, in one run: results.json, and from it the tables and plots of README.md."""

from __future__ import annotations

import uvloop

from bench import board, growth, mishaps, report, results
from bench.contenders import absent, contenders, databases
from bench.effort import FULL, QUICK


async def _measure(*, quick: bool) -> results.Results:
    effort = QUICK if quick else FULL
    found = results.started(quick=quick, absent=absent())
    for name in found.absent:
        print(f"{name} is left out: it is not installed in .venv-bench.")
    with databases() as known:
        all_of_them = contenders(known)
        await board.whole_board(all_of_them, effort, found)
        await board.cpu_per_token(all_of_them, effort, found)
        await board.memory_waiting(all_of_them, effort, found)
        await mishaps.memory_attached(known, effort, found)
        await mishaps.leaving(contenders(known, "--grace", "0"), known, effort, found)
        await mishaps.recovery(all_of_them, known, effort, found)
        await board.boards_held(all_of_them, effort, found)
        await growth.growth(all_of_them, effort, found)
    return found


def main(*, quick: bool = False) -> None:
    found = uvloop.run(_measure(quick=quick))
    if quick:
        print("\nA quick run: its figures mean nothing, and are not kept.")
        return
    results.save(found)
    report.write(found)
