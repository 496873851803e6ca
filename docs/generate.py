"""Writes the parts of the documentation, and the page's types, that follow from the code: `make docs`. A test
holds them to it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from docs.typescript import wire_types

from moot.flows import ask, board, change
from moot.personas import load_library
from moot.surfaces.web.app import create_app

if TYPE_CHECKING:
    from moot.application import Moot

DOCS = Path(__file__).parent
WEB = DOCS.parent / "web"

COMMANDS = (
    (),
    ("serve",),
    ("board",),
    ("ask",),
    ("doctor",),
    ("sessions",),
    ("proposal",),
    ("challenge",),
    ("reproposal",),
    ("implement",),
    ("archive",),
    ("validate-proposal",),
    ("validate-challenge",),
    ("changes",),
    ("mcp",),
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
    "change": change.TRANSITIONS,
}

NOTE = "<!-- Written by docs/generate.py: change the code, then run `make docs`. -->\n"


def pages() -> dict[Path, str]:
    return {
        DOCS / "reference" / "commands.md": commands(),
        DOCS / "reference" / "personas.md": personas(),
        DOCS / "reference" / "flows.md": flows(),
        WEB / "src" / "wire.generated.ts": wire_types(create_app(cast("Moot", None)).openapi()),
    }


def commands() -> str:
    parts = [NOTE, "# Commands\n", "What each command says of itself with `--help`.\n"]
    for words in COMMANDS:
        name = " ".join(("moot", *words))
        parts.append(f"## `{name}`\n\n```text\n{_help(words)}```\n")
    return "\n".join(parts)


def _help(words: tuple[str, ...]) -> str:
    done = subprocess.run(
        [Path(sys.executable).parent / "moot", *words, "--help"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": "80", "TERMINAL_WIDTH": "80"},
    )
    return "\n".join(line.rstrip() for line in done.stdout.strip().splitlines()) + "\n"


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
        for panel in library.panels
    )
    return "\n".join(parts) + "\n"


def flows() -> str:
    parts = [
        NOTE,
        "# Flows\n",
        "Every transition of every flow, drawn from the tables in `src/moot/flows/`.\n",
    ]
    for name, table in FLOWS.items():
        arrows = "\n".join(
            f"    {_place(step)} --> {_place(target)}: {_name(event)}"
            for (step, event), targets in table.items()
            for target in (targets if isinstance(targets, tuple) else (targets,))
        )
        first = _place(next(iter(table))[0])
        parts.append(f"## {name}\n\n```mermaid\nstateDiagram-v2\n    [*] --> {first}\n{arrows}\n```\n")
    return "\n".join(parts)


def _name(event: object) -> str:
    """Of a kind of event, or of a move."""
    return event.__name__ if isinstance(event, type) else str(event)


def _place(step: object) -> str:
    return str(step).replace("-", "_")


if __name__ == "__main__":
    for page, text in pages().items():
        page.write_text(text, encoding="utf-8")
