"""What a run has found, kept beside the benchmarks so that the tables can be made from it again."""

from __future__ import annotations

import os
import platform
import statistics
from datetime import UTC, datetime
from pathlib import Path

import msgspec

FILE = Path(__file__).parent / "results.json"

Figures = dict[str, list[float]]
"""By contender: the figure of each round."""


class Grown(msgspec.Struct, frozen=True):
    """So many sessions at once: the median board's wall time over its limit, and CPU milliseconds and memory
    in kB for each. Without figures where they did not end in time."""

    sessions: int
    wall: float | None = None
    cpu_ms: float | None = None
    memory_kb: float | None = None


class Results(msgspec.Struct):
    taken: str = ""
    machine: str = ""
    quick: bool = False
    """Taken with few rounds, to see that everything runs: its figures mean nothing."""
    absent: list[str] = []
    measures: dict[str, Figures] = {}
    growth: dict[str, list[Grown]] = {}


def started(*, quick: bool, absent: list[str]) -> Results:
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    return Results(datetime.now(UTC).date().isoformat(), machine, quick, absent)


def load() -> Results | None:
    return msgspec.json.decode(FILE.read_bytes(), type=Results) if FILE.exists() else None


def save(results: Results, file: Path = FILE) -> None:
    file.write_bytes(msgspec.json.format(msgspec.json.encode(results), indent=1) + b"\n")


def spread(figures: list[float], digits: int = 1) -> str:
    if not figures:
        return "–"
    low, high = min(figures), max(figures)
    middle = f"{statistics.median(figures):.{digits}f}"
    return middle if len(figures) == 1 else f"{middle} ({low:.{digits}f} … {high:.{digits}f})"


def ratio(figures: Figures, name: str, reference: str) -> float | None:
    """The median of the ratios within each round."""
    mine, theirs = figures.get(name), figures.get(reference)
    if not mine or not theirs or len(mine) != len(theirs):
        return None
    return statistics.median(one / other for one, other in zip(mine, theirs, strict=True))


def told(title: str, figures: Figures, reference: str | None = None, digits: int = 1) -> None:
    print(f"\n{title}")
    for name, seen in figures.items():
        beside = ratio(figures, name, reference) if reference else None
        print(f"  {name:<18} {spread(seen, digits):<28}" + (f" ratio {beside:.2f}" if beside else ""))
