"""The tables and plots of README.md, made of a run's results: `python -m bench report`.

Goals are of moot, and are said to be met or missed by the figures beside them.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench import results
from bench.contenders import POSTGRESQL, REFERENCE, SQLITE
from bench.mishaps import ACROSS
from bench.plots import Points, chart
from bench.results import Grown, Results, ratio, spread

README = Path(__file__).parent / "README.md"
FRONT = Path(__file__).parent.parent / "README.md"
"""Shows a few of the figures."""
PLOTS = Path(__file__).parent / "plots"
BEGIN = "<!-- Written by `python -m bench`: begin -->"
END = "<!-- Written by `python -m bench`: end -->"
FRAME_MS = 16


@dataclass(frozen=True, slots=True)
class _Row:
    measure: str
    title: str
    digits: int = 1
    beside: bool = False
    """Whether the ratio to the pass-through counts."""
    goals: tuple[tuple[str, float], ...] = ()
    """By contender. At most that, or, where more is better, at least."""
    more_is_better: bool = False


ROWS = (
    _Row("wall", "wall time of a whole board, over its limit", 3, goals=((SQLITE, 1.02), (POSTGRESQL, 1.03))),
    _Row(
        "first",
        "first word after the model's, ms",
        goals=((SQLITE, FRAME_MS + 15), (POSTGRESQL, FRAME_MS + 15)),
    ),
    _Row("first_asked", "first word from the request, less what the model takes for it, ms"),
    _Row(
        "cpu_streaming",
        "CPU per token while streaming, µs",
        0,
        beside=True,
        goals=((SQLITE, 1.5), (POSTGRESQL, 1.8)),
    ),
    _Row("cpu_whole", "CPU per token of the whole board, µs", 0, beside=True),
    _Row(
        "held",
        "boards of 8 × 50 tokens/s held, 99 % within 100 ms",
        0,
        beside=True,
        goals=((SQLITE, 0.9), (POSTGRESQL, 0.9)),
        more_is_better=True,
    ),
    _Row("memory_waiting", "memory of a board that waits for its eight advisors, kB", 0, beside=True),
    _Row(
        "memory_attached",
        "memory of an idle session that somebody listens to, kB",
        0,
        goals=((SQLITE, 25), (ACROSS, 25)),
    ),
    _Row(
        "leaving",
        "a client leaves: until all upstreams are closed, ms",
        1,
        goals=((SQLITE, 50), (POSTGRESQL, 50), (ACROSS, 500)),
    ),
    _Row("accepting", "killed: until it accepts again, s", 2, goals=((SQLITE, 4), (POSTGRESQL, 4))),
    _Row("going_on", "killed: until the session it drove goes on, s", 2, goals=((ACROSS, 10),)),
)

GROWTH: tuple[tuple[str, str, str, Callable[[Grown], float | None]], ...] = (
    ("wall", "Wall time of a board", "times its limit", lambda grown: grown.wall),
    ("cpu", "CPU of a board", "ms", lambda grown: grown.cpu_ms),
    ("memory", "Memory of a board", "kB", lambda grown: grown.memory_kb),
)


def tables(found: Results) -> str:
    names = list(found.measures["wall"])
    every = [*names, ACROSS]
    lines = [
        f"Taken {found.taken} on {found.machine}; medians, and lowest … highest of several rounds.",
        "",
    ]
    if found.absent:
        lines += [f"Left out, because they could not be installed: {', '.join(found.absent)}.", ""]
    lines.append("| | " + " | ".join(every) + " |")
    lines.append("| --- |" + " ---: |" * len(every))
    for row in ROWS:
        figures = found.measures.get(row.measure, {})
        cells = [_cell(figures, name, row) for name in every]
        lines.append(f"| {row.title} | " + " | ".join(cells) + " |")
    lines += ["", "Goals:", ""]
    lines += [line for row in ROWS for line in _goals(found, row)]
    lines += ["", "How it grows, from one board to a thousand at once:", ""]
    lines += [f"![{title}](plots/{name}.svg)" for name, title, _, _ in GROWTH]
    return "\n".join(lines)


_SHOWN = (
    ("wall", "a whole board, over the time that its model takes", 3),
    ("first_asked", "first word, beyond what the model takes for it, ms", 0),
    ("cpu_streaming", "CPU per token, µs", 0),
    ("held", "boards of 8 × 50 tokens/s that one process holds", 0),
    ("going_on", "killed: until the session goes on, s", 1),
)


def summary(found: Results) -> str:
    """For those who do not want to know it all: medians alone."""
    names = [name for name in found.measures["wall"] if name != POSTGRESQL]
    lines = [
        f"Taken {found.taken} on {found.machine}, each row in one run:",
        "",
        "| | " + " | ".join(f"**{name}**" if name == SQLITE else name for name in names) + " |",
        "| --- |" + " ---: |" * len(names),
    ]
    for measure, title, digits in _SHOWN:
        figures = found.measures.get(measure, {})
        absent = "never" if measure == "going_on" else "–"
        cells = [
            f"{statistics.median(figures[name]):.{digits}f}" if figures.get(name) else absent
            for name in names
        ]
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(figures: results.Figures, name: str, row: _Row) -> str:
    if name not in figures:
        return "–"
    times = ratio(figures, name, REFERENCE) if row.beside and name != REFERENCE else None
    return spread(figures[name], row.digits) + (f", {times:.2f} ×" if times is not None else "")


def _goals(found: Results, row: _Row) -> list[str]:
    figures = found.measures.get(row.measure, {})
    lines = []
    for name, goal in row.goals:
        if name not in figures:
            lines.append(f"- {row.title}, {name}: not measured")
            continue
        value = ratio(figures, name, REFERENCE) if row.beside else statistics.median(figures[name])
        if value is None:
            lines.append(f"- {row.title}, {name}: not measured")
            continue
        met = value >= goal if row.more_is_better else value <= goal
        bound = "at least" if row.more_is_better else "at most"
        unit = " times the pass-through's" if row.beside else ""
        verdict = "met" if met else "**missed**"
        lines.append(f"- {row.title}, {name}: {value:.3g}{unit}, goal {bound} {goal:g}: {verdict}")
    return lines


def plots(found: Results) -> dict[str, str]:
    """SVG texts by name."""
    drawn = {}
    for name, title, unit, figure in GROWTH:
        lines: dict[str, Points] = {
            contender: [(grown.sessions, value) for grown in seen if (value := figure(grown)) is not None]
            for contender, seen in found.growth.items()
        }
        drawn[name] = chart(title, "boards at once", unit, lines)
    return drawn


def filled(readme: str, text: str) -> str:
    """The README with the text between its markers."""
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"README.md has no lines {BEGIN!r} and {END!r}")
    return f"{before}{BEGIN}\n{text}\n{END}{after}"


def write(found: Results) -> None:
    for file, text in ((README, tables(found)), (FRONT, summary(found))):
        file.write_text(filled(file.read_text(encoding="utf-8"), text), encoding="utf-8")
    PLOTS.mkdir(exist_ok=True)
    for name, svg in plots(found).items():
        (PLOTS / f"{name}.svg").write_text(svg, encoding="utf-8")
    print(f"\nWritten: {README.name}, {', '.join(f'plots/{name}.svg' for name in plots(found))}")


def main() -> None:
    found = results.load()
    if found is None:
        raise SystemExit("There are no results yet: run `python -m bench compare` first.")
    write(found)
