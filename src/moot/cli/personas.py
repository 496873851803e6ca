"""`moot personas`: list, read, scaffold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from moot.cli.running import JsonOption, WorkspaceOption, run

if TYPE_CHECKING:
    from moot.app import Moot
    from moot.personas.library import Persona

personas = typer.Typer(help="Who can speak: list, read, or add your own.", invoke_without_command=True)


@personas.callback(invoke_without_command=True)
def list_personas(
    context: typer.Context, as_json: JsonOption = False, workspace: WorkspaceOption = None
) -> None:
    """List the personas and panels."""
    if context.invoked_subcommand is not None:
        if as_json or workspace is not None:
            raise typer.BadParameter(f"put options after `{context.invoked_subcommand}`")
        return

    async def command(moot: Moot) -> int:
        from moot.cli import screen

        library = moot.library
        if as_json:
            screen.show_json(
                {
                    "personas": [_brief(persona) for persona in library.personas],
                    "panels": [
                        {"id": panel.id, "name": panel.name, "members": list(panel.members)}
                        for panel in library.panels
                    ],
                    "faults": [str(fault) for fault in library.faults.values()],
                }
            )
            return 0
        widest = max(len(persona.id) for persona in library.personas)
        for persona in library.personas:
            screen.show(
                f"{persona.id:<{widest}}  {persona.contribution:<13}  {persona.shown}: {persona.role}"
            )
        screen.show()
        for panel in library.panels:
            screen.show(f"panel {panel.id}: {', '.join(panel.members)}")
        for fault in library.faults.values():
            screen.say(f"Left out: {fault}")
        return 0

    run(command, workspace=workspace, as_json=as_json)


@personas.command("show")
def show_persona(
    id_: Annotated[str, typer.Argument(metavar="ID")],
    prompt: Annotated[bool, typer.Option("--prompt", help="The system prompt made from it.")] = False,
    as_json: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Show one persona: its file, or the prompt that is made from it."""

    async def command(moot: Moot) -> int:
        from moot.cli import screen

        persona = moot.library.persona(id_)
        if as_json:
            screen.show_json(_brief(persona) | {"systemPrompt": moot.system_prompt(persona)})
        elif prompt:
            screen.show(moot.system_prompt(persona))
        else:
            screen.say(str(persona.source), "dim")
            screen.show(persona.source.read_text(encoding="utf-8").rstrip())
        return 0

    run(command, workspace=workspace, as_json=as_json)


@personas.command("new")
def new_persona(
    id_: Annotated[str, typer.Argument(metavar="ID")],
    name: Annotated[str | None, typer.Option(help="The name it goes by (default: made from the id).")] = None,
    workspace: WorkspaceOption = None,
) -> None:
    """Write a persona file to fill in."""

    async def command(moot: Moot) -> int:
        from moot.cli import screen

        file = moot.new_persona(id_, name)
        screen.show(str(file))
        screen.say(f"Edit it, then try it: moot ask {id_} '…'")
        return 0

    run(command, workspace=workspace)


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
