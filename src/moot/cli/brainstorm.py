"""`moot brainstorm`: an idea becomes a design, and the design becomes reviewed and built changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from moot.cli import screen
from moot.cli.command import AnswersOption, JsonOption, WithOption, called_as, command

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from moot.app import Moot
    from moot.cli.brainstorm_screen import BrainstormNarrator
    from moot.cli.conversation import Ended
    from moot.evidence.gather import Gathered
    from moot.workflow.service import Workflow

_LONGEST_COMMENT = 80

YesOption = Annotated[
    bool, typer.Option("--yes", help="Build every plan that a reviewer approves, without asking.")
]


@command("model workspace database")
async def brainstorm(
    moot: Moot,
    idea: Annotated[
        str | None, typer.Argument(metavar="IDEA", help="What you have in mind, in a sentence or more.")
    ] = None,
    evidence: WithOption = None,
    unattended: YesOption = False,
    answers: AnswersOption = None,
    as_json: JsonOption = False,
) -> int:
    """Talk an idea through, then have it planned, reviewed and built.

    moot brainstorm "Let people read offline"

    Without an idea, the workflow that is under way continues; if there is none, you are asked for an idea.
    """
    return await carry_on(
        moot, idea, answers, evidence or (), unattended=unattended, as_json=as_json, asks_idea=True
    )


async def carry_on(
    moot: Moot,
    idea: str | None,
    answers: Path | None,
    evidence: Sequence[str] = (),
    *,
    unattended: bool = False,
    as_json: bool,
    asks_idea: bool = False,
) -> int:
    """Begins a workflow with an idea; without one, continues the one that is there, or asks for an idea."""
    from moot.cli import failures
    from moot.cli.brainstorm_screen import BrainstormNarrator
    from moot.cli.conversation import answering
    from moot.cli.desk import gather
    from moot.core.flow import AskPerson, PersonAnswered
    from moot.core.runner import UserQuit
    from moot.workflow.flow import WORKFLOW
    from moot.workflow.service import Company, Workflows

    with answering(answers) as person:
        asks = answers is None and screen.interactive()
        narrator = BrainstormNarrator(lambda: moot.library, words_to_stdout=not as_json, asks=asks)
        company = Company(person, narrator, narrator.tell, unattended)
        workflows = Workflows(moot)
        if idea is None and asks_idea and not workflows.waiting() and not await workflows.under_way():
            try:
                ask = AskPerson("idea", "your idea, in a sentence or more", "0", free_text=True)
                answered = await person.answer(ask, None)
                assert isinstance(answered, PersonAnswered), "nothing can be given before it is open"
                idea = answered.text
            except UserQuit as left:
                return failures.INTERRUPTED if left.interrupted else failures.DONE
        given = await gather(moot, WORKFLOW, evidence, idea or "")
        opening = workflows.resume(company) if idea is None else workflows.begin(idea, company)
        async with opening as workflow:
            narrator.follow(lambda: workflow.state)
            narrator.introduce(workflow.model, tiny=workflow.tiny)
            if workflow.resumed:
                screen.say("Resuming the workflow.", "dim")
                narrator.recall()
            elif idea is None:
                narrator.tell_next()
            return await _converse(moot, workflow, narrator, given, as_json=as_json)


async def _converse(
    moot: Moot, workflow: Workflow, narrator: BrainstormNarrator, given: Gathered, *, as_json: bool
) -> int:
    from moot.cli.conversation import converse
    from moot.workflow.service import as_json as document

    async def goes_on(ended: Ended) -> bool:
        return await _goes_on_unanswered(workflow, narrator, ended)

    ended = await converse(moot, workflow.runner, narrator, workflow.asking, given, goes_on)
    state, resume = workflow.state, f"{called_as()} workflow resume"
    hint = ""
    if not state.finished:
        hint = f"Saved. Continue with: {resume}"
    elif state.waiting:
        hint = f"{len(state.waiting)} queued. Start the next with: {resume}"
    return ended.report(lambda: document(state), hint, as_json=as_json, failed=state.failure is not None)


async def _goes_on_unanswered(workflow: Workflow, narrator: BrainstormNarrator, ended: Ended) -> bool:
    """Ctrl-C while a comment was being answered: the flow offers to send it again or to withdraw it, now, and
    after leaving here."""
    import asyncio

    from moot.workflow.events import AttemptFailed
    from moot.workflow.menu import INTERRUPTED
    from moot.workflow.state import Stage

    request = workflow.state.brainstorm.request
    if ended.must_end or not ended.interrupted or workflow.state.stage is not Stage.BRAINSTORMING:
        return False
    if request is None:
        return False
    line = " ".join(request.text.split())
    shown = line if len(line) <= _LONGEST_COMMENT else f"{line[: _LONGEST_COMMENT - 1]}…"
    await workflow.runner.put(AttemptFailed(INTERRUPTED, f"Interrupted before “{shown}” was answered"))
    task = asyncio.current_task()
    if not narrator.asks or task is None:
        return False
    # It was this Ctrl-C that was meant, and not the command.
    task.uncancel()
    return True
