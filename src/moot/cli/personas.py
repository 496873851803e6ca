"""`moot personas`: list, show, scaffold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from moot.cli import screen
from moot.cli.command import JsonOption, command

if TYPE_CHECKING:
    from moot.app import Moot
    from moot.personas.library import Persona

personas = typer.Typer(
    name="personas", help="List personas, show one, or add your own.", invoke_without_command=True
)

IdArgument = Annotated[str, typer.Argument(metavar="ID")]


@personas.callback(invoke_without_command=True)
@command()
async def list_personas(
    moot: Moot,
    context: typer.Context,  # noqa: ARG001
    as_json: JsonOption = False,
) -> None:
    """List the personas and panels."""
    library = moot.library
    if as_json:
        panels = [{"id": p.id, "name": p.name, "members": list(p.members)} for p in library.panels]
        screen.show_json(
            {
                "personas": [_brief(persona) for persona in library.personas],
                "panels": panels,
                "faults": [str(fault) for fault in library.faults.values()],
            }
        )
        return
    widest = max(len(persona.id) for persona in library.personas)
    for persona in library.personas:
        screen.show(f"{persona.id:<{widest}}  {persona.contribution:<13}  {persona.shown}: {persona.role}")
    screen.show()
    for panel in library.panels:
        screen.show(f"panel {panel.id}: {', '.join(panel.members)}")
    for fault in library.faults.values():
        screen.say(f"Left out: {fault}")


@personas.command("show")
@command()
async def show_persona(
    moot: Moot,
    id_: IdArgument,
    prompt: Annotated[
        bool, typer.Option("--prompt", help="Show the system prompt that is made from it.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show one persona: its file, or the prompt that is made from it."""
    persona = moot.library.persona(id_)
    if as_json:
        screen.show_json(_brief(persona) | {"systemPrompt": moot.system_prompt(persona)})
    elif prompt:
        screen.show(moot.system_prompt(persona))
    else:
        screen.say(str(persona.source), "dim")
        screen.show(persona.source.read_text(encoding="utf-8").rstrip())


@personas.command("new")
@command()
async def new_persona(
    moot: Moot,
    id_: IdArgument,
    name: Annotated[str | None, typer.Option(help="The persona's name (default: made from the id).")] = None,
) -> None:
    """Write a persona file to fill in."""
    screen.show(str(moot.new_persona(id_, name)))
    screen.say(f"Edit it, then try it: moot ask {id_} '…'")


def _brief(persona: Persona) -> dict[str, Any]:
    return {
        "id": persona.id,
        "name": persona.name,
        "role": persona.role,
        "contributionType": str(persona.contribution),
        "rubric": {name: dimension.score for name, dimension in persona.rubric.dimensions()},
        "model": persona.model,
        "file": str(persona.source),
        "replacesShipped": bool(persona.origin),
    }
