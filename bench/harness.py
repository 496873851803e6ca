"""Side-by-side measurement on a noisy machine.

Every contender runs in the same process against the same stub, turn by turn, so that whatever disturbs the
machine disturbs them all. What is reported is the ratio within each round, as the median over the rounds.
"""

from __future__ import annotations

import contextlib
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent

Measure = Callable[[], Awaitable[float]]


@dataclass(frozen=True, slots=True)
class Result:
    """One contender against the reference: the median of its figures, and of its ratios per round."""

    name: str
    median: float
    ratio: float
    low: float
    high: float


async def side_by_side(contenders: Mapping[str, Measure], rounds: int) -> list[Result]:
    """The first contender is the reference. One unmeasured round comes first."""
    figures: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(rounds + 1):
        for name, measure in contenders.items():
            figure = await measure()
            if number:
                figures[name].append(figure)
    reference = next(iter(figures.values()))
    results = []
    for name, seen in figures.items():
        ratios = sorted(one / other for one, other in zip(seen, reference, strict=True))
        results.append(
            Result(name, statistics.median(seen), statistics.median(ratios), ratios[0], ratios[-1])
        )
    return results


def show(title: str, unit: str, results: list[Result], scale: float = 1.0) -> None:
    print(f"\n{title}")
    widest = max(len(result.name) for result in results)
    print(f"  {'':<{widest}}  {unit:>10}   ratio  (lowest … highest round)")
    for result in results:
        print(
            f"  {result.name:<{widest}}  {result.median * scale:>10.1f}  {result.ratio:>6.2f}  "
            f"({result.low:.2f} … {result.high:.2f})"
        )


@contextlib.contextmanager
def stub_process(default: Mapping[str, Any]) -> Iterator[str]:
    """The stub model server in a process of its own, so that its CPU is not counted. Yields its URL."""
    command = [sys.executable, "-m", "tests.stub", "--port", "0", "--default", json.dumps(default)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


@contextlib.contextmanager
def cpu() -> Iterator[Callable[[], float]]:
    """CPU seconds of this process within the block."""
    began = time.process_time()
    ended: list[float] = []
    yield lambda: (ended[0] if ended else time.process_time()) - began
    ended.append(time.process_time())
