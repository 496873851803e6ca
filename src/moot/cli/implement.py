"""`moot implement`: an approved change is handed to a coding agent, task by task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from moot.cli import screen
from moot.cli.changes import ChangeArgument, said_yes
from moot.cli.command import AnswersOption, JsonOption, called_as, command

if TYPE_CHECKING:
    from pathlib import Path

    from moot.app import Moot
    from moot.errors import NotApproved


@command()
async def implement(
    moot: Moot,
    change_id: ChangeArgument,
    agent: Annotated[
        Literal["auto", "codex", "claude", "command"],
        typer.Option(help="Who does the work; command is the one in your configuration."),
    ] = "auto",
    test: Annotated[
        str, typer.Option(metavar="COMMAND", help="Command to run after every task; it has to succeed.")
    ] = "",
    commit: Annotated[bool, typer.Option("--commit", help="Commit after every task.")] = False,
    answers: AnswersOption = None,
    as_json: JsonOption = False,
) -> int:
    """Have an approved change built, task by task. Without a coding agent, say what to hand over."""
    from moot.changes.implement import Implementing
    from moot.changes.service import Changes
    from moot.cli.progress import Steps
    from moot.errors import NotApproved

    implementing = Implementing(Changes(moot), agent=agent, test=test, commit=commit)
    try:
        with Steps(f"Implement '{change_id}'") as tell:
            built = await implementing.implement(change_id, tell)
    except NotApproved as error:
        if not await _challenged_again(moot, error, answers):
            raise
        with Steps(f"Implement '{change_id}'") as tell:
            built = await implementing.implement(change_id, tell)
    if as_json:
        screen.show_json(
            {
                "change": change_id,
                "phase": built.phase,
                "done": list(built.done),
                "left": list(built.left),
                "tested": not built.untested,
                "problem": built.problem or None,
                "handover": built.handover or None,
            }
        )
    elif built.handover:
        screen.show(built.handover)
        screen.say("No coding agent was found. Hand the text above to one, or do it yourself: tick the")
        screen.say(f"boxes in tasks.md as you go, then: {called_as()} implement {change_id}")
    else:
        for task in built.done:
            screen.show(f"done  {task}")
        for task in built.left:
            screen.show(f"open  {task}")
        if built.untested:
            screen.say("Nothing was tested: no command has shown that what was built works.", "bold")
        if built.problem:
            screen.say(built.problem)
            screen.say(f"Fix that, then continue with: {called_as()} implement {change_id}", "dim")
        elif not built.left:
            screen.say(
                f"All tasks are done. Archive the change with: {called_as()} archive {change_id}", "dim"
            )
    return 1 if built.handover or built.problem else 0


async def _challenged_again(moot: Moot, error: NotApproved, answers: Path | None) -> bool:
    """Offers it to whoever can be asked. Whether the change is approved now, `implement` sees by itself."""
    from moot.changes.challenge import Challenging
    from moot.changes.service import Changes
    from moot.cli.challenge import headline
    from moot.cli.progress import Steps

    if answers is None and not screen.interactive():
        return False
    asked = f"{error}. Challenge it again now? (y or n)"
    if not await said_yes(answers, "challenge", asked):
        return False
    screen.say(str(error))
    with Steps(f"Challenge '{error.change_id}'") as tell:
        last = await Challenging(Changes(moot)).challenge(error.change_id, "auto", tell)
    screen.say(headline(last))
    return True
