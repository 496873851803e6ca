"""`moot ask`: one persona answers; follow up as often as wanted."""

from __future__ import annotations

import itertools
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
    from moot.app import Moot
    from moot.ask.flow import AskState
    from moot.ask.service import AskConversation
    from moot.cli.terminal import Narrator
    from moot.errors import MootError


def ask(
    persona: Annotated[str | None, typer.Argument(help="Who is asked: see `moot personas`.")] = None,
    question: Annotated[
        str | None, typer.Argument(help="The question; left out, you are asked for it.")
    ] = None,
    resume: Annotated[
        str | None, typer.Option("--resume", "-r", metavar="ID", help="Take a conversation up again.")
    ] = None,
    last: Annotated[
        bool, typer.Option("--last", "-l", help="Take the latest conversation up again.")
    ] = False,
    model: ModelOption = None,
    answers: AnswersOption = None,
    as_json: JsonOption = False,
    workspace: WorkspaceOption = None,
    database: DatabaseOption = None,
) -> None:
    """Ask one persona a question, and follow up as often as you want.

    moot ask the-strategist "Should we open a second office?"

    moot ask --resume ID "And if rents fall?"
    """
    from moot.cli.talking import answering

    resuming = resume is not None or last
    if resuming and persona is not None and question is None:
        # With --resume the persona is known already, so the one text is a question.
        persona, question = None, persona
    if resuming == (persona is not None):
        raise typer.BadParameter(
            "name a persona (`moot personas` lists them), or go on with --resume ID or --last",
            param_hint="PERSONA",
        )

    async def command(moot: Moot) -> int:
        from moot.ask.service import new_ask, resume_ask
        from moot.cli.terminal import Narrator, TerminalPerson

        narrator = Narrator(lambda: moot.library, words_to_stdout=not as_json)
        with answering(answers, TerminalPerson, question if resuming else None) as person:
            if persona is not None:
                conversation = await new_ask(moot, persona, question, person, narrator)
            else:
                conversation = await resume_ask(moot, resume, person, narrator)
                recount(moot, conversation.state)
            narrator.introduce(conversation.model, tiny=conversation.tiny)
            return await _talk(conversation, narrator, as_json=as_json)

    run(command, workspace=workspace, model=model, database=database, as_json=as_json)


async def _talk(conversation: AskConversation, narrator: Narrator, *, as_json: bool) -> int:
    from moot.cli import screen
    from moot.cli.talking import talk

    talked = await talk(conversation.runner, narrator.interrupted)
    failed = conversation.state.failure is not None
    if as_json:
        screen.show_json(document(conversation, talked.error))
    again = " r" if failed else ""
    screen.say(f"Saved. Go on with: {called_as()} ask --resume {conversation.session.id}{again}", "dim")
    return talked.exit_code(failed=failed)


def recount(moot: Moot, state: AskState) -> None:
    """What was said before, for whoever takes a conversation up again."""
    from moot.cli import screen
    from moot.core.conversation import PERSON

    for number, entry in enumerate(state.conversation):
        who = "You" if entry.speaker == PERSON else moot.library.persona(entry.speaker).shown
        if number:
            screen.say()
        screen.say(f"{who}:", "bold")
        screen.say(screen.wrapped(entry.content))


def document(conversation: AskConversation, error: MootError | None = None) -> dict[str, Any]:
    """The --json form: every question with its answer and its bill."""
    import msgspec

    state = conversation.state
    said = list(state.conversation)
    turns: list[dict[str, Any]] = []
    bills = iter(state.bills)
    for asked, answered in itertools.zip_longest(said[::2], said[1::2]):
        usage = next(bills) if answered else None
        turns.append(
            {
                "question": asked.content,
                "answer": answered.content if answered else None,
                **({"spoken": msgspec.to_builtins(usage)} if usage else {}),
            }
        )
    failure = state.failure
    return {
        "session": conversation.session.id,
        "persona": state.persona,
        "model": conversation.model,
        "step": str(state.step),
        "turns": turns,
        "failure": {"kind": failure.kind, "message": failure.message} if failure else None,
        **({"error": error_document(error)} if error else {}),
    }
