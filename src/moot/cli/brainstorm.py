"""`moot brainstorm`: an idea becomes a design, and the design becomes reviewed and built changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from moot.cli.running import (
    AnswersOption,
    DatabaseOption,
    JsonOption,
    ModelOption,
    WorkspaceOption,
    called_as,
    error_document,
    run,
)

if TYPE_CHECKING:
    from pathlib import Path

    from moot.app import Moot
    from moot.cli.brainstorm_screen import BrainstormNarrator
    from moot.cli.talking import ConversationResult
    from moot.errors import MootError
    from moot.workflow.service import Workflow

_LONGEST_COMMENT = 80


def brainstorm(
    idea: Annotated[
        str | None, typer.Argument(metavar="IDEA", help="What you have in mind, in a sentence or more.")
    ] = None,
    answers: AnswersOption = None,
    as_json: JsonOption = False,
    model: ModelOption = None,
    workspace: WorkspaceOption = None,
    database: DatabaseOption = None,
) -> None:
    """Talk an idea through, then have it planned, reviewed and built.

    moot brainstorm "Let people read offline"

    Without an idea, the workflow that is under way goes on; if there is none, you are asked for an idea.
    """
    run(
        lambda moot: carry_on(moot, idea, answers, as_json=as_json, asks_idea=True),
        workspace=workspace,
        model=model,
        database=database,
        as_json=as_json,
    )


async def carry_on(
    moot: Moot, idea: str | None, answers: Path | None, *, as_json: bool, asks_idea: bool = False
) -> int:
    """Begins a workflow with an idea; without one, goes on with what is there, or asks for one."""
    from moot.cli import screen
    from moot.cli.brainstorm_screen import BrainstormNarrator
    from moot.cli.menu_person import MenuPerson
    from moot.cli.talking import ConversationResult, answering
    from moot.core.flow import AskPerson
    from moot.core.runner import UserQuit
    from moot.workflow.service import Company, Workflows

    with answering(answers, MenuPerson) as person:
        asks = answers is None and screen.interactive()
        narrator = BrainstormNarrator(lambda: moot.library, words_to_stdout=not as_json, asks=asks)
        company = Company(person, narrator, narrator.tell)
        workflows = Workflows(moot)
        if idea is None and asks_idea and not workflows.waiting() and not await workflows.under_way():
            try:
                ask = AskPerson("idea", "your idea, in a sentence or more", "0", free_text=True)
                idea = (await person.answer(ask, None)).text
            except UserQuit as left:
                return ConversationResult(interrupted=left.interrupted).exit_code(failed=False)
        opening = workflows.resume(company) if idea is None else workflows.begin(idea, company)
        async with opening as workflow:
            narrator.follow(lambda: workflow.state)
            narrator.introduce(workflow.model, tiny=workflow.tiny)
            if workflow.resumed:
                screen.say("Taking up the workflow that is under way.", "dim")
                narrator.take_up()
            elif idea is None:
                narrator.tell_next()
            return await _talk(workflow, narrator, as_json=as_json)


async def _talk(workflow: Workflow, narrator: BrainstormNarrator, *, as_json: bool) -> int:
    from moot.cli import screen
    from moot.cli.talking import talk
    from moot.workflow.state import Stage

    talked = await talk(workflow.runner, narrator.interrupted)
    if talked.interrupted and not talked.must_end and workflow.state.stage is Stage.BRAINSTORMING:
        talked = await _not_answered(workflow, narrator, talked)
    state = workflow.state
    if as_json:
        screen.show_json(document(workflow, talked.error))
    if not state.finished:
        screen.say(f"Saved. Go on with: {called_as()} workflow resume", "dim")
    elif state.waiting:
        screen.say(f"{len(state.waiting)} waiting. Begin the next with: {called_as()} workflow resume", "dim")
    return talked.exit_code(failed=state.failure is not None)


async def _not_answered(
    workflow: Workflow, narrator: BrainstormNarrator, talked: ConversationResult
) -> ConversationResult:
    """Ctrl-C while a comment was being answered: the flow offers to send it again or to withdraw it, now, and
    after leaving here."""
    import asyncio

    from moot.cli.talking import talk
    from moot.workflow.events import AttemptFailed
    from moot.workflow.menu import INTERRUPTED

    request = workflow.state.brainstorm.request
    if request is None:
        return talked
    line = " ".join(request.text.split())
    shown = line if len(line) <= _LONGEST_COMMENT else f"{line[: _LONGEST_COMMENT - 1]}…"
    await workflow.runner.put(AttemptFailed(INTERRUPTED, f"Interrupted before “{shown}” was answered"))
    task = asyncio.current_task()
    if not narrator.asks or task is None:
        return talked
    # It was this Ctrl-C that was meant, and not the command.
    task.uncancel()
    return await talk(workflow.runner, narrator.interrupted)


def document(workflow: Workflow, error: MootError | None = None) -> dict[str, Any]:
    """The --json form: what workflow.json says, and what kept it from going on."""
    from moot.workflow.service import as_json

    return {**as_json(workflow.state), **({"error": error_document(error)} if error else {})}
