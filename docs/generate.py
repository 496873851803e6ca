"""Writes the parts of the documentation, and the page's types, that follow from the code: `make docs`. A test
holds them to it."""

from __future__ import annotations

import ast
import contextlib
import io
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from unittest import mock

from docs.typescript import wire_types

from moot.analysis import flow as analysis
from moot.ask import flow as ask
from moot.board import flow as board
from moot.brainstorm import flow as brainstorm
from moot.changes import flow as change
from moot.changes import phases
from moot.cli.main import app
from moot.diffs import flow as diff
from moot.personas.library import load_library
from moot.roundtable import flow as roundtable
from moot.web.app import create_app
from moot.workflow import flow as workflow

if TYPE_CHECKING:
    from moot.app import Moot

DOCS = Path(__file__).parent
WEB = DOCS.parent / "web"
SOURCE = DOCS.parent / "src" / "moot"
ARCHITECTURE = DOCS / "architecture.md"
_PACKAGES_BEGIN = "<!-- packages: written by docs/generate.py from the packages' docstrings -->"
_PACKAGES_END = "<!-- /packages -->"

COMMANDS = (
    (),
    ("serve",),
    ("board",),
    ("brainstorm",),
    ("workflow",),
    ("workflow", "status"),
    ("workflow", "queue"),
    ("workflow", "resume"),
    ("workflow", "drop"),
    ("analyze",),
    ("items",),
    ("ask",),
    ("doctor",),
    ("sessions",),
    ("sessions", "rename"),
    ("sessions", "pin"),
    ("sessions", "unpin"),
    ("sessions", "delete"),
    ("spending",),
    ("backup",),
    ("proposal",),
    ("challenge",),
    ("reproposal",),
    ("implement",),
    ("archive",),
    ("approve",),
    ("dismiss",),
    ("reopen",),
    ("abandon",),
    ("validate-proposal",),
    ("validate-challenge",),
    ("changes",),
    ("mcp",),
    ("worker",),
    ("people",),
    ("people", "add"),
    ("people", "list"),
    ("people", "revoke"),
    ("people", "log"),
    ("personas",),
    ("personas", "show"),
    ("personas", "new"),
    ("models",),
    ("models", "list"),
    ("models", "pull"),
)

FLOWS: Mapping[str, Mapping[Any, Any]] = {
    "ask": ask.TRANSITIONS,
    "board": board.TRANSITIONS,
    "analysis": analysis.TRANSITIONS,
    "roundtable": roundtable.TRANSITIONS,
    "change": change.TRANSITIONS,
    "phases of a change": phases.TRANSITIONS,
    "brainstorm": brainstorm.TRANSITIONS,
    "workflow": workflow.TRANSITIONS,
    "diff": diff.TRANSITIONS,
}
MOST_NAMES = 4
"""On one arrow: more would hide the drawing."""
MOST_TARGETS = 8
"""An event that can lead to more of them leads to wherever things were."""
ANYWHERE = "wherever_it_was"

_WIDTH = {"COLUMNS": "80", "TERMINAL_WIDTH": "80"}

NOTE = "<!-- Written by docs/generate.py: change the code, then run `make docs`. -->\n"


def commands() -> str:
    parts = [NOTE, "# Commands\n", "What each command says of itself with `--help`.\n"]
    for words in COMMANDS:
        name = " ".join(("moot", *words))
        parts.append(f"## `{name}`\n\n```text\n{_help(words)}```\n")
    return "\n".join(parts)


def _help(words: tuple[str, ...]) -> str:
    said = io.StringIO()
    with mock.patch.dict("os.environ", _WIDTH), contextlib.redirect_stdout(said):
        app([*words, "--help"], prog_name="moot", standalone_mode=False)
    return "\n".join(line.rstrip() for line in said.getvalue().strip().splitlines()) + "\n"


def personas() -> str:
    library = load_library()
    parts = [NOTE, "# Personas and panels\n"]
    parts.append("| id | name | role | contribution | in one sentence |\n| --- | --- | --- | --- | --- |")
    parts.extend(
        f"| `{p.id}` | {p.name} | {p.role} | {p.contribution} | {p.purpose} |" for p in library.personas
    )
    parts.append("\nHow far each goes, from 1 to 10:\n")
    names = [name for name, _ in library.personas[0].rubric.dimensions()]
    parts.append("| id | " + " | ".join(name.replace("_", " ") for name in names) + " |")
    parts.append("| --- |" + " ---: |" * len(names))
    parts.extend(
        f"| `{p.id}` | " + " | ".join(str(d.score) for _, d in p.rubric.dimensions()) + " |"
        for p in library.personas
    )
    parts.append("\n## Panels\n")
    parts.extend(
        f"- **{panel.id}**: {', '.join(f'`{member}`' for member in panel.members)}"
        + (f"; `{panel.opposes}` makes the other case" if panel.opposes else "")
        for panel in library.panels
    )
    return "\n".join(parts) + "\n"


def flows() -> str:
    parts = [
        NOTE,
        "# Flows\n",
        "Every transition of every flow, drawn from the tables in each `flow.py`.\n",
    ]
    for name, table in FLOWS.items():
        first = _place(next(iter(table))[0])
        arrows = "\n".join(
            f"    {step} --> {target}: {_label(names)}" for (step, target), names in _arrows(table)
        )
        parts.append(f"## {name}\n\n```mermaid\nstateDiagram-v2\n    [*] --> {first}\n{arrows}\n```\n")
    return "\n".join(parts)


def _arrows(table: Mapping[Any, Any]) -> Iterable[tuple[tuple[str, str], list[str]]]:
    """One from a step to another, with everything that leads there."""
    found: dict[tuple[str, str], list[str]] = {}
    for (step, event), led_to in table.items():
        targets = led_to if isinstance(led_to, tuple) else (led_to,)
        for target in (ANYWHERE,) if len(targets) > MOST_TARGETS else map(_place, targets):
            found.setdefault((_place(step), target), []).append(_name(event))
    return found.items()


def _label(names: list[str]) -> str:
    if len(names) <= MOST_NAMES:
        return ", ".join(names)
    return f"{', '.join(names[: MOST_NAMES - 1])} and {len(names) - MOST_NAMES + 1} more"


def _name(event: object) -> str:
    """Of a kind of event, or of a move."""
    return event.__name__ if isinstance(event, type) else str(event)


def _place(step: object) -> str:
    return str(step).replace("-", "_").replace(" ", "_")


def page_types() -> str:
    return wire_types(create_app(cast("Moot", None)).openapi())


def architecture() -> str:
    """The page as it is, with the table of packages made anew."""
    above, begin, rest = ARCHITECTURE.read_text(encoding="utf-8").partition(_PACKAGES_BEGIN)
    _, end, below = rest.partition(_PACKAGES_END)
    assert begin, "architecture.md has lost the place of its table"
    assert end
    rows = ["| package | what it is | what it knows, and refuses to know |", "| --- | --- | --- |"]
    for package in sorted(file.parent for file in SOURCE.rglob("__init__.py") if file.parent != SOURCE):
        said = ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8")))
        first, *more = (said or "").split("\n\n")
        assert any("efuses to" in part for part in more), f"{package} does not say what it refuses to know"
        # A list of details is for whoever opens the file.
        told = " ".join(" ".join(more).split(" - ")[0].split("\n- ")[0].split())
        rows.append(f"| `{package.relative_to(SOURCE).as_posix()}` | {' '.join(first.split())} | {told} |")
    return f"{above}{begin}\n" + "\n".join(rows) + f"\n{end}{below}"


PAGES: Mapping[Path, Callable[[], str]] = {
    DOCS / "reference" / "commands.md": commands,
    DOCS / "reference" / "personas.md": personas,
    DOCS / "reference" / "flows.md": flows,
    ARCHITECTURE: architecture,
    WEB / "src" / "wire.generated.ts": page_types,
}
"""What is written, and by whom: nothing is run before it is asked for."""


if __name__ == "__main__":
    for page, write in PAGES.items():
        page.write_text(write(), encoding="utf-8")
