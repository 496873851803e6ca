"""`moot workflow`: where the workflow stands, the queue, resuming, and dropping it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated

import typer

from moot.cli import screen
from moot.cli.brainstorm import YesOption, carry_on
from moot.cli.command import AnswersOption, JsonOption, called_as, command

if TYPE_CHECKING:
    from moot.app import Moot

workflow = typer.Typer(
    name="workflow",
    help="The workflow of this workspace, and its queue.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@workflow.command()
@command()
async def status(moot: Moot, as_json: JsonOption = False) -> None:
    """Show where the workflow stands."""
    from moot.cli.brainstorm_screen import standing_lines
    from moot.workflow.service import Workflows
    from moot.workflow.service import as_json as document

    workflows = Workflows(moot)
    state = await workflows.state()
    waiting = workflows.waiting()
    if as_json:
        queue = [dataclasses.asdict(one) for one in waiting]
        screen.show_json({"workflow": document(state) if state else None, "queue": queue})
        return
    if state is None:
        screen.say(f'There is no workflow. Start one with: {called_as()} brainstorm "your idea"')
    else:
        for line in standing_lines(state):
            screen.show(line)
    if waiting:
        screen.show(f"Queued: {', '.join(one.title for one in waiting)}")
    if (state is not None and not state.finished) or waiting:
        screen.say(f"Continue with: {called_as()} workflow resume", "dim")


@workflow.command()
@command()
async def queue(moot: Moot, as_json: JsonOption = False) -> None:
    """List the queued workflows, in order."""
    from moot.workflow.service import Workflows

    waiting = Workflows(moot).waiting()
    if as_json:
        screen.show_json([dataclasses.asdict(one) for one in waiting])
        return
    if not waiting:
        screen.say("No workflow is queued.")
    for number, one in enumerate(waiting, start=1):
        screen.show(f"{number}. {one.id}  {one.title}")


@workflow.command()
@command("model workspace database")
async def resume(
    moot: Moot, unattended: YesOption = False, answers: AnswersOption = None, as_json: JsonOption = False
) -> int:
    """Resume the workflow; if there is none, start the first in the queue."""
    return await carry_on(moot, None, answers, unattended=unattended, as_json=as_json)


@workflow.command()
@command()
async def drop(
    moot: Moot,
    waiting: Annotated[str | None, typer.Argument(metavar="ID", help="The id of a queued workflow.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Archive the workflow, or drop one from the queue. Designs and changes stay where they are."""
    from moot.workflow.service import Workflows

    workflows = Workflows(moot)
    if waiting is not None:
        workflows.queue.drop(waiting)
        kept = None
        screen.say(f"Dropped {waiting} from the queue.")
    else:
        kept = str(workflows.drop().relative_to(moot.workspace.root))
        screen.say(f"The workflow is archived in {kept}")
    if as_json:
        screen.show_json({"dropped": waiting or "workflow", "kept": kept})
