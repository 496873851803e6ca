"""`moot implement`: an approved change is handed to a coding agent, task by task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from moot.cli import screen
from moot.cli.changes import ChangeArgument, said_yes
from moot.cli.command import AnswersOption, JsonOption, called_as, command

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from moot.app import Moot
    from moot.changes.implement import BuildResult
    from moot.core.flow import AskPerson
    from moot.errors import NotApproved
    from moot.repo.testing import Found


@command("model workspace database")
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
    comment: Annotated[
        str,
        typer.Option(metavar="TEXT", help="Say something to the agent, which tries the failed task again."),
    ] = "",
    skip: Annotated[int, typer.Option(metavar="N", min=0, help="Leave this task open, and go on.")] = 0,
    roll_back: Annotated[
        bool, typer.Option("--roll-back", help="Undo what was done for the failed task, and build nothing.")
    ] = False,
    answers: AnswersOption = None,
    as_json: JsonOption = False,
) -> int:
    """Have an approved change built, task by task. Without a coding agent, say what to hand over."""
    from moot.changes import retrying
    from moot.changes.implement import Implementing
    from moot.changes.service import Changes
    from moot.cli.progress import Steps
    from moot.diffs.task_judge import TaskJudge
    from moot.errors import NotApproved

    if roll_back:
        return _roll_back(moot, change_id, as_json=as_json)
    again = retrying.retry(Changes(moot).folders.open(change_id), comment, skip)
    judge, test = TaskJudge(moot), test or await _confirmed(moot, answers)
    implementing = Implementing(
        Changes(moot), agent=agent, test=test, commit=commit, judge=judge, retry=again
    )
    try:
        with Steps(f"Implement '{change_id}'") as tell:
            built = await implementing.implement(change_id, tell)
    except NotApproved as error:
        if not await _challenged_again(moot, error, answers):
            raise
        with Steps(f"Implement '{change_id}'") as tell:
            built = await implementing.implement(change_id, tell)
    if as_json:
        _show_json(change_id, built)
    else:
        _show(change_id, built)
    return 1 if built.handover or built.problem else 0


def _roll_back(moot: Moot, change_id: str, *, as_json: bool) -> int:
    from moot.changes import retrying
    from moot.changes.folder import ChangeFolders

    place = moot.workspace
    back = retrying.roll_back(ChangeFolders(place).open(change_id), place.root, place.own)
    if as_json:
        screen.show_json({"change": change_id, "rolled_back": list(back.files), "kept": list(back.kept)})
    else:
        screen.show(str(back))
    return 0


def _show_json(change_id: str, built: BuildResult) -> None:
    screen.show_json(
        {
            "change": change_id,
            "phase": built.phase,
            "done": list(built.done),
            "left": list(built.left),
            "tested": not built.untested,
            "reviewed": not built.unreviewed,
            "record": list(built.record),
            "cost_usd": built.cost_usd,
            "problem": built.problem or None,
            "handover": built.handover or None,
        }
    )


def _show(change_id: str, built: BuildResult) -> None:
    command = f"{called_as()} implement {change_id}"
    if built.handover:
        screen.show(built.handover)
        screen.say("No coding agent was found. Hand the text above to one, or do it yourself: tick the")
        screen.say(f"boxes in tasks.md as you go, then: {command}")
        return
    for task in built.done:
        screen.show(f"done  {task}")
    for task in built.left:
        screen.show(f"open  {task}")
    for line in built.record:
        screen.say(line, "dim")
    if built.cost_usd:
        screen.say(f"Agents and reviews have cost ${built.cost_usd:.2f}.", "dim")
    if built.unreviewed:
        screen.say("Nothing was reviewed: nobody has looked at what was built.", "bold")
    if built.untested:
        screen.say("Nothing was tested: no command has shown that what was built works.", "bold")
    if built.problem:
        screen.say(built.problem)
        screen.say(f"Fix that, then continue with: {command}", "dim")
        more = f"--comment TEXT, --skip {built.failed_task}, or --roll-back"
        screen.say(f"The same command takes {more}.", "dim")
    elif not built.left:
        screen.say(f"All tasks are done. Archive the change with: {called_as()} archive {change_id}", "dim")


def question_about_tests(found: Iterable[Found]) -> AskPerson:
    """Which command may be run, exactly as it is."""
    from moot.core.flow import AskPerson, Choice, Takes, numbered

    offered = numbered("tests", found).items()
    return AskPerson(
        "tests",
        "which command shows that a task is done? It is run after each, and kept for this workspace",
        "tests",
        (
            *(Choice(name, f"{one.command}  ({one.source})") for name, one in offered),
            Choice("other-command", "Other command", Takes.TEXT),
            Choice("no-tests", "None: nothing is tested"),
        ),
    )


async def _confirmed(moot: Moot, answers: Path | None) -> str:
    """The command that the person has confirmed, now or before. Nobody else can: without them, none runs."""
    from moot.changes.testing import ConfirmedTests
    from moot.cli.conversation import answering
    from moot.core.flow import PersonAnswered
    from moot.core.runner import UserQuit

    commands = ConfirmedTests(moot)
    if commands.command or not (answers is not None or screen.interactive()):
        return commands.command
    found = commands.found()
    if not found:
        return ""
    with answering(answers) as person:
        try:
            answered = await person.answer(question_about_tests(found), None)
        except UserQuit:
            return ""
    if not isinstance(answered, PersonAnswered) or answered.choice in (None, "no-tests"):
        return ""
    name, _, number = answered.choice.rpartition("-")
    commands.keep(found[int(number) - 1].command if name == "tests" else answered.text)
    return commands.command


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
