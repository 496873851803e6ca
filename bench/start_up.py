"""CPU time of `moot --help`, against an empty Python."""

from __future__ import annotations

import asyncio
import resource
import subprocess
import sys

from bench.harness import Measure, show, side_by_side

ROUNDS = 10


def _cpu_of(*command: str) -> Measure:
    async def measure() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: ASYNC221
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)

    return measure


def main() -> None:
    contenders = {
        "python -c pass": _cpu_of(sys.executable, "-c", "pass"),
        "import typer": _cpu_of(sys.executable, "-c", "import typer"),
        "moot --help": _cpu_of(sys.executable, "-m", "moot", "--help"),
    }
    show("CPU time to start", "ms", asyncio.run(side_by_side(contenders, ROUNDS)), scale=1e3)
