"""`moot workflow`: where the workflow stands, what waits, going on, and putting it away."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated

import typer

from moot.cli.brainstorm import carry_on
from moot.cli.running import (
    AnswersOption,
    DatabaseOption,
    JsonOption,
    ModelOption,
    WorkspaceOption,
    called_as,
    run,
)

if TYPE_CHECKING:
    from moot.app import Moot

workflow = typer.Typer(
    help="The workflow of this workspace, and those that wait.", no_args_is_help=True, rich_markup_mode=None
)


@workflow.command()
def status(as_json: JsonOption = False, workspace: WorkspaceOption = None) -> None:
    """Say where the workflow stands."""

    async def command(moot: Moot) -> int:
        from moot.cli import screen
        from moot.cli.brainstorm_screen import standing_lines
        from moot.workflow.service import Workflows
        from moot.workflow.service import as_json as plain

        workflows = Workflows(moot)
        state = await workflows.state()
        waiting = workflows.waiting()
        if as_json:
            queue = [dataclasses.asdict(one) for one in waiting]
            screen.show_json({"workflow": plain(state) if state else None, "queue": queue})
            return 0
        if state is None:
            screen.say(f'There is no workflow. Begin one with: {called_as()} brainstorm "your idea"')
        else:
            for line in standing_lines(state):
                screen.show(line)
        if waiting:
            screen.show(f"Waiting: {', '.join(one.title for one in waiting)}")
        if (state is not None and not state.finished) or waiting:
            screen.say(f"Go on with: {called_as()} workflow resume", "dim")
        return 0

    run(command, workspace=workspace, as_json=as_json)


@workflow.command()
def queue(as_json: JsonOption = False, workspace: WorkspaceOption = None) -> None:
    """List the workflows that wait, in order."""

    async def command(moot: Moot) -> int:
        from moot.cli import screen
        from moot.workflow.service import Workflows

        waiting = Workflows(moot).waiting()
        if as_json:
            screen.show_json([dataclasses.asdict(one) for one in waiting])
            return 0
        if not waiting:
            screen.say("No workflow waits.")
        for number, one in enumerate(waiting, start=1):
            screen.show(f"{number}. {one.id}  {one.title}")
        return 0

    run(command, workspace=workspace, as_json=as_json)


@workflow.command()
def resume(
    answers: AnswersOption = None,
    as_json: JsonOption = False,
    model: ModelOption = None,
    workspace: WorkspaceOption = None,
    database: DatabaseOption = None,
) -> None:
    """Go on where the workflow is; if there is none, begin the first that waits."""
    run(
        lambda moot: carry_on(moot, None, answers, as_json=as_json),
        workspace=workspace,
        model=model,
        database=database,
        as_json=as_json,
    )


@workflow.command()
def drop(
    waiting: Annotated[
        str | None, typer.Argument(metavar="ID", help="One that waits, by its id in the queue.")
    ] = None,
    as_json: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Put the workflow away, or one that waits. Designs and changes stay where they are."""

    async def command(moot: Moot) -> int:
        from moot.cli import screen
        from moot.workflow.service import Workflows

        workflows = Workflows(moot)
        if waiting is not None:
            workflows.queue.drop(waiting)
            kept = None
            screen.say(f"{waiting} waits no longer.")
        else:
            kept = str(workflows.drop().relative_to(moot.workspace.root))
            screen.say(f"The workflow was put away; it is kept in {kept}")
        if as_json:
            screen.show_json({"dropped": waiting or "workflow", "kept": kept})
        return 0

    run(command, workspace=workspace, as_json=as_json)
