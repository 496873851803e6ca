"""`moot board`: a decision before the board, in the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from moot.cli import screen
from moot.cli.command import AnswersOption, JsonOption, LookOption, WithOption, called_as, command

if TYPE_CHECKING:
    from moot.app import Conversation, Moot
    from moot.board.events import BoardEvent
    from moot.board.state import BoardState

    Begun = Conversation[BoardState, BoardEvent]


@command("model workspace database")
async def board(
    moot: Moot,
    context: typer.Context,
    decision: Annotated[str | None, typer.Argument(help="The decision to make.")] = None,
    resume: Annotated[
        str | None, typer.Option("--resume", "-r", metavar="ID", help="Resume a session.")
    ] = None,
    last: Annotated[bool, typer.Option("--last", "-l", help="Resume the latest session.")] = False,
    questions: Annotated[
        bool, typer.Option("--questions/--no-questions", help="Ask probing questions first.")
    ] = True,
    mode: Annotated[
        Literal["independent", "sequential"],
        typer.Option(help="All advisors at once, or one after the other, each reading those before."),
    ] = "independent",
    panel: Annotated[
        str, typer.Option(metavar="ID", help="Who sits on the board; `moot personas` lists the panels.")
    ] = "board",
    export: Annotated[
        Path | None,
        typer.Option("--export", metavar="FILE", help="Write the record at the end: .md, .json or .html."),
    ] = None,
    look: LookOption = False,
    evidence: WithOption = None,
    answers: AnswersOption = None,
    as_json: JsonOption = False,
) -> int:
    """Put a decision before the board: advisors, challenges, and a brief.

    moot board "Should we rewrite our billing service this quarter?"

    moot board --resume ID
    """
    from moot.board.events import RECORD_ENDINGS
    from moot.board.flow import BOARD
    from moot.board.service import PROMPTS, advisors, new_board, present, resume_board
    from moot.cli.board_screen import BoardNarrator
    from moot.cli.changes import tell_made
    from moot.cli.conversation import answering, converse
    from moot.cli.desk import gather
    from moot.core.estimate import Asking

    if (resume is not None or last) == (decision is not None):
        raise typer.BadParameter(
            "name a decision, or resume a session with --resume ID or --last", param_hint="DECISION"
        )
    if decision is None:
        _refuse_settled(context)
    if export is not None and export.suffix.lower() not in RECORD_ENDINGS:
        raise typer.BadParameter(f"must end in {', '.join(RECORD_ENDINGS)}", param_hint="--export")
    narrator = BoardNarrator(
        lambda: moot.library, lambda file: _export(begun, Path(file)), words_to_stdout=not as_json
    )
    given = await gather(moot, BOARD, evidence or (), decision or "")
    with answering(answers) as person:
        if decision is not None:
            first = await present(moot, decision, advisors(moot, panel), mode, panel, looks=look)
            begun = await new_board(moot, first, person, narrator, questions=questions)
        else:
            begun = await resume_board(moot, resume, person, narrator)
        narrator.follow(lambda: begun.runner.state, tiny=begun.tiny)
        narrator.introduce(begun.model, tiny=begun.tiny)
        tell_made(moot, "board", begun.session.id)
        asking = Asking(begun.model, PROMPTS, begun.session.id)
        ended = await converse(moot, begun.runner, narrator, asking, given)
        if not (ended.interrupted or screen.interactive() or narrator.brief_told):
            # Nobody was there to ask for it.
            narrator.tell_brief()
        code = ended.report(
            lambda: document(begun),
            _go_on(begun),
            as_json=as_json,
            failed=_failed(begun.state),
        )
        if export is not None:
            _write_record(begun, export)
        return code


def _go_on(begun: Begun) -> str:
    hint = f"Saved. Continue with: {called_as()} board --resume {begun.session.id}"
    if begun.state.brief is None:
        return hint
    return (
        f"{hint}\nMake it a change, under its conditions: {called_as()} proposal ID --from {begun.session.id}"
    )


def _refuse_settled(context: typer.Context) -> None:
    """Who sits on a board, and how, is settled when it begins. To ignore a wish silently would be worse."""
    options = {
        "mode": "--mode",
        "panel": "--panel",
        "questions": "--questions/--no-questions",
        "look": "--look",
    }
    for name, option in options.items():
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise typer.BadParameter(
                "a session keeps to what it began with: leave this option out, or begin a new session "
                "by naming a decision",
                param_hint=option,
            )


def _failed(state: BoardState) -> bool:
    """One advisor who does not answer fails nothing; a board that nobody answers on has failed."""
    unheard = state.convened and state.contributions == 0
    return unheard or state.brief_failure is not None


def _facts(begun: Begun) -> dict[str, Any]:
    """What a record says besides what was said."""
    session = begun.session
    return {
        "session_id": session.id,
        "when": session.created_at,
        "tiny": begun.tiny,
        "title": session.name,
    }


def document(begun: Begun) -> dict[str, Any]:
    """The --json form: the record."""
    from moot.board.record import board_json

    return {"session": begun.session.id, **board_json(begun.state, **_facts(begun))}


def _export(begun: Begun, file: Path) -> None:
    """A file that cannot be written does not end the session."""
    from moot.errors import MootError

    try:
        _write_record(begun, file)
    except (MootError, OSError) as error:
        screen.say(f"{file} cannot be written: {error}")


def _write_record(begun: Begun, file: Path) -> None:
    from moot.board import record
    from moot.files.atomic import write_atomic

    state, facts = begun.state, _facts(begun)
    match file.suffix.lower():
        case ".json":
            text = screen.json_text(record.board_json(state, **facts)) + "\n"
        case ".html":
            text = record.board_html(state, **facts)
        case _:
            text = record.board_markdown(state, **facts)
    write_atomic(file.expanduser(), text)
    screen.say(f"The record is in {file}.")
