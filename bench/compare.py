"""Everybody side by side: results.json, and from it the tables and plots of README.md. Whatever is compared
is taken in one run; parts can be taken again by themselves, and some contenders alone, just to see."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import uvloop

from bench import board, growth, mishaps, report, results
from bench.contenders import REFERENCE, absent, contenders, databases
from bench.effort import FULL, QUICK, Effort

PARTS = ("whole", "cpu", "waiting", "attached", "leaving", "recovery", "held", "growth")


async def _measure(found: results.Results, effort: Effort, parts: Sequence[str], some: Sequence[str]) -> None:
    for name in found.absent:
        print(f"{name} is left out: it is not installed in .venv-bench.")
    with databases() as known:
        everybody = [
            one for one in contenders(known) if one.name == REFERENCE or not some or one.name in some
        ]
        measuring: dict[str, Callable[[], Coroutine[Any, Any, None]]] = {
            "whole": lambda: board.whole_board(everybody, effort, found),
            "cpu": lambda: board.cpu_per_token(everybody, effort, found),
            "waiting": lambda: board.memory_waiting(everybody, effort, found),
            "attached": lambda: mishaps.memory_attached(known, effort, found),
            "leaving": lambda: mishaps.leaving(contenders(known, "--grace", "0"), known, effort, found),
            "recovery": lambda: mishaps.recovery(everybody, known, effort, found),
            "held": lambda: board.boards_held(everybody, effort, found),
            "growth": lambda: growth.growth(everybody, effort, found),
        }
        for part in parts:
            await measuring[part]()


def main(*, quick: bool = False, only: Sequence[str] = (), some: Sequence[str] = ()) -> None:
    """With `only` parts, the others' figures stay as they were kept. With `some` contenders beside the
    reference, nothing is kept."""
    kept = results.load() if only else None
    found = results.started(quick=quick, absent=absent())
    if kept is not None:
        found.measures, found.growth = kept.measures, {} if "growth" in only else kept.growth
    uvloop.run(_measure(found, QUICK if quick else FULL, only or PARTS, some))
    if quick or some:
        print("\nNot kept: " + ("in a quick run figures mean nothing." if quick else "not all took part."))
        return
    results.save(found)
    report.write(found)
