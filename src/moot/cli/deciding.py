"""`moot approve`, `dismiss`, `reopen` and `abandon`: what the person decides about a change.

An approval and a dismissal are the person's own: they are asked once more, at the terminal or in `--answers`.
A program that only runs the command is nobody's person.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from moot.cli.proposal import ChangeArgument
from moot.cli.running import AnswersOption, JsonOption, WorkspaceOption, called_as, run

if TYPE_CHECKING:
    from pathlib import Path

    from moot.app import Moot

BecauseOption = Annotated[str, typer.Option("--because", metavar="TEXT", help="Why; it is kept with it.")]


def approve(
    change_id: ChangeArgument,
    because: BecauseOption,
    answers: AnswersOption = None,
    as_json: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Approve a change yourself, as it is now. It is recorded as yours, never as a reviewer's verdict."""

    async def command(moot: Moot) -> int:
        from moot.changes.decisions import Deciding
        from moot.changes.service import Changes
        from moot.cli import screen

        deciding = Deciding(Changes(moot))
        deciding.check_approval(change_id, because, screen.say)
        asked = f"approve '{change_id}' yourself, as it is now? (y or n)"
        if not await said_yes(answers, "approve", asked):
            return _left_alone(change_id, as_json=as_json)
        phase = deciding.approve(change_id, because, lambda _: None)
        if as_json:
            told = {"change": change_id, "phase": phase, "approvedBy": "person", "because": because}
            screen.show_json(told)
        else:
            screen.show(f"Approved by you, and by no reviewer: {because}")
            screen.say(f"Build it: {called_as()} implement {change_id}", "dim")
        return 0

    run(command, workspace=workspace, as_json=as_json)


def dismiss(
    change_id: ChangeArgument,
    issue: Annotated[int, typer.Argument(metavar="ISSUE", help="Its number in the last review.", min=1)],
    because: BecauseOption,
    answers: AnswersOption = None,
    as_json: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Dismiss one issue of a change's last review. The next reviewer is told, with your reason."""

    async def command(moot: Moot) -> int:
        from moot.changes.decisions import Deciding
        from moot.changes.service import Changes
        from moot.cli import screen

        deciding = Deciding(Changes(moot))
        found = deciding.dismissible(change_id, issue, because, screen.say)
        described = f"{found.severity}: {' '.join(found.description.split())}"
        asked = f"issue {issue} of '{change_id}', {described} Dismiss it? (y or n)"
        if not await said_yes(answers, "dismiss", asked):
            return _left_alone(change_id, as_json=as_json)
        found = deciding.dismiss(change_id, issue, because, lambda _: None)
        if as_json:
            told = {"severity": found.severity, "description": found.description, "because": because}
            screen.show_json({"change": change_id, "issue": issue, **told})
        else:
            screen.show(f"Dismissed by you: {described}")
            step = f"{called_as()} approve {change_id} --because …"
            screen.say(f"If nothing else is in the way, you can approve it yourself: {step}", "dim")
        return 0

    run(command, workspace=workspace, as_json=as_json)


def reopen(change_id: ChangeArgument, as_json: JsonOption = False, workspace: WorkspaceOption = None) -> None:
    """Take a change up once more. It is proposed again, and has to be approved again."""

    async def command(moot: Moot) -> int:
        from moot.changes.decisions import Deciding
        from moot.changes.service import Changes
        from moot.cli import screen

        phase = Deciding(Changes(moot)).reopen(change_id, screen.say)
        if as_json:
            screen.show_json({"change": change_id, "phase": phase})
        else:
            screen.show(f"Change '{change_id}' is {phase} again.")
            screen.say(f"Edit its files, then: {called_as()} challenge {change_id}", "dim")
        return 0

    run(command, workspace=workspace, as_json=as_json)


def abandon(
    change_id: ChangeArgument,
    because: BecauseOption,
    as_json: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Give a change up. It is kept in the archive, with the reason."""

    async def command(moot: Moot) -> int:
        from moot.changes.decisions import Deciding
        from moot.changes.service import Changes
        from moot.cli import screen

        place = Deciding(Changes(moot)).abandon(change_id, because)
        where = place.relative_to(moot.workspace.root).as_posix()
        if as_json:
            screen.show_json({"change": change_id, "archived": where, "because": because})
        else:
            screen.show(f"Change '{change_id}' was given up, and is now in {where}.")
        return 0

    run(command, workspace=workspace, as_json=as_json)


async def said_yes(answers: Path | None, step: str, asked: str) -> bool:
    """Asked of the person at the terminal, or of their answers; nobody else can say so."""
    from moot.cli.menu_person import MenuPerson
    from moot.cli.talking import answering
    from moot.core.flow import AskPerson, Choice
    from moot.core.runner import UserQuit

    ask = AskPerson(step, asked, step, (Choice("yes", "yes"), Choice("no", "no")))
    with answering(answers, MenuPerson) as person:
        try:
            return (await person.answer(ask, None)).choice == "yes"
        except UserQuit:
            return False


def _left_alone(change_id: str, *, as_json: bool) -> int:
    from moot.cli import screen

    told: dict[str, Any] = {"change": change_id, "decided": False}
    if as_json:
        screen.show_json(told)
    else:
        screen.say(f"Change '{change_id}' stays as it is.")
    return 1
