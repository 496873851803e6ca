"""`moot ask`: one persona answers; follow up as often as wanted."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moot.cli.command import AnswersOption, JsonOption, LookOption, WithOption, called_as, command

if TYPE_CHECKING:
    from moot.app import Moot
    from moot.ask.service import AskConversation


@command("model workspace database")
async def ask(
    moot: Moot,
    persona: Annotated[str | None, typer.Argument(help="Whom to ask; `moot personas` lists them.")] = None,
    question: Annotated[
        str | None, typer.Argument(help="The question; if left out, you are asked for it.")
    ] = None,
    resume: Annotated[
        str | None, typer.Option("--resume", "-r", metavar="ID", help="Resume a conversation.")
    ] = None,
    last: Annotated[bool, typer.Option("--last", "-l", help="Resume the latest conversation.")] = False,
    look: LookOption = False,
    evidence: WithOption = None,
    answers: AnswersOption = None,
    as_json: JsonOption = False,
) -> int:
    """Ask one persona a question, and follow up as often as you want.

    moot ask the-strategist "Should we open a second office?"

    moot ask --resume ID "And if rents fall?"
    """
    from moot.ask.flow import ASK
    from moot.ask.service import PROMPTS, new_ask, resume_ask
    from moot.cli.ask_screen import AskNarrator, recount
    from moot.cli.conversation import answering, converse
    from moot.cli.desk import gather
    from moot.core.estimate import Asking

    resuming = resume is not None or last
    if resuming and persona is not None and question is None:
        # With --resume the persona is known already, so the one text is a question.
        persona, question = None, persona
    if resuming == (persona is not None):
        raise typer.BadParameter(
            "name a persona (`moot personas` lists them), or continue with --resume ID or --last",
            param_hint="PERSONA",
        )
    if resuming and look:
        raise typer.BadParameter(
            "a conversation keeps to what it began with: leave this option out, or begin a new one",
            param_hint="--look",
        )
    narrator = AskNarrator(lambda: moot.library, words_to_stdout=not as_json)
    given = await gather(moot, ASK, evidence or (), "" if resuming else question or "")
    with answering(answers, question if resuming else None) as person:
        if persona is not None:
            conversation = await new_ask(moot, persona, question, person, narrator, looks=look)
        else:
            conversation = await resume_ask(moot, resume, person, narrator)
            recount(moot.library, conversation.state)
        narrator.follow(lambda: conversation.state)
        narrator.introduce(conversation.model, tiny=conversation.tiny)
        asking = Asking(conversation.model, PROMPTS, conversation.session.id)
        ended = await converse(moot, conversation.runner, narrator, asking, given)
        failed = conversation.state.failure is not None
        again = f"{called_as()} ask --resume {conversation.session.id}{' r' if failed else ''}"
        return ended.report(
            lambda: document(conversation),
            f"Saved. Continue with: {again}",
            as_json=as_json,
            failed=failed,
        )


def document(conversation: AskConversation) -> dict[str, Any]:
    """The --json form: every question with its answer and its bill."""
    import msgspec

    from moot.core.citing import cited

    state = conversation.state
    known = (items for _, items in state.answers)
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
                **(
                    {"citations": msgspec.to_builtins(cited(answered.content, next(known)))}
                    if answered
                    else {}
                ),
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
    }
