"""`moot board`: a decision before the board, in the terminal."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

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
    from datetime import datetime

    from moot.app import Moot
    from moot.board.events import BoardEvent
    from moot.board.state import BoardState
    from moot.cli.board_screen import BoardNarrator
    from moot.core.runner import Runner
    from moot.errors import MootError


def board(
    context: typer.Context,
    decision: Annotated[str | None, typer.Argument(help="What is to be decided.")] = None,
    resume: Annotated[
        str | None, typer.Option("--resume", "-r", metavar="ID", help="Take a session up again.")
    ] = None,
    last: Annotated[bool, typer.Option("--last", "-l", help="Take the latest session up again.")] = False,
    questions: Annotated[
        bool, typer.Option("--questions/--no-questions", help="Have probing questions asked first.")
    ] = True,
    mode: Annotated[
        Literal["independent", "sequential"],
        typer.Option(help="All advisors at once, or one after the other, each hearing those before."),
    ] = "independent",
    panel: Annotated[
        str, typer.Option(metavar="ID", help="Who sits on the board: see `moot personas`.")
    ] = "board",
    export: Annotated[
        Path | None,
        typer.Option("--export", metavar="FILE", help="Write the record at the end: .md, .json or .html."),
    ] = None,
    model: ModelOption = None,
    answers: AnswersOption = None,
    as_json: JsonOption = False,
    workspace: WorkspaceOption = None,
    database: DatabaseOption = None,
) -> None:
    """Put a decision before the board: advisors, challenges, and a brief.

    moot board "Should we rewrite our billing service this quarter?"

    moot board --resume ID
    """
    if (resume is not None or last) == (decision is not None):
        raise typer.BadParameter(
            "name a decision, or take a session up again with --resume ID or --last", param_hint="DECISION"
        )
    if decision is None:
        _refuse_settled(context)
    if export is not None:
        from moot.board.events import RECORD_ENDINGS

        if export.suffix.lower() not in RECORD_ENDINGS:
            raise typer.BadParameter(f"must end in {', '.join(RECORD_ENDINGS)}", param_hint="--export")

    async def command(moot: Moot) -> int:
        from moot.board.service import advisors, new_board, present, resume_board
        from moot.cli import screen
        from moot.cli.board_screen import BoardNarrator
        from moot.cli.talking import answering
        from moot.cli.terminal import TINY, TerminalPerson

        narrator = BoardNarrator(lambda file: _export(session, Path(file)), words_to_stdout=not as_json)
        with answering(answers, TerminalPerson) as person:
            if decision is not None:
                first = await present(moot, decision, advisors(moot, panel), mode)
                begun = await new_board(moot, first, person, narrator, questions=questions)
            else:
                begun = await resume_board(moot, resume, person, narrator)
            head = begun.session
            session = BoardSession(head.id, head.created_at, begun.runner, narrator, begun.tiny, head.name)
            narrator.follow(begun.model, lambda: begun.runner.state, tiny=begun.tiny)
            if begun.tiny:
                screen.say(TINY, "dim")
            code = await _talk(session, as_json=as_json)
            if export is not None:
                _write_record(session, export)
            return code

    run(command, workspace=workspace, model=model, database=database, as_json=as_json)


def _refuse_settled(context: typer.Context) -> None:
    """Who sits on a board, and how, is settled when it begins. To ignore a wish silently would be worse."""
    options = {"mode": "--mode", "panel": "--panel", "questions": "--questions/--no-questions"}
    for name, option in options.items():
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise typer.BadParameter(
                "a session keeps to what it began with: leave this option out, or begin a new session "
                "by naming a decision",
                param_hint=option,
            )


@dataclass(frozen=True, slots=True)
class BoardSession:
    """A session, ready to run."""

    id: str
    created_at: datetime
    runner: Runner[BoardState, BoardEvent]
    narrator: BoardNarrator
    tiny: bool = False
    name: str = ""
    """What the person calls it, if they gave it a name."""

    @property
    def facts(self) -> dict[str, Any]:
        """What a record says besides what was said."""
        return {
            "session_id": self.id,
            "when": self.created_at,
            "tiny": self.tiny,
            "title": self.name,
        }

    @property
    def state(self) -> BoardState:
        return self.runner.state


# -- running -------------------------------------------------------------------------------------


async def _talk(session: BoardSession, *, as_json: bool) -> int:
    from moot.cli import screen
    from moot.cli.talking import talk

    narrator = session.narrator
    talked = await talk(session.runner, narrator.close)
    if not (talked.interrupted or screen.interactive() or narrator.brief_told):
        # Nobody was there to ask for it.
        narrator.tell_brief()
    if as_json:
        screen.show_json(document(session, talked.error))
    screen.say(f"Saved. Go on with: {called_as()} board --resume {session.id}", "dim")
    return talked.exit_code(failed=_failed(session.state))


def _failed(state: BoardState) -> bool:
    """One advisor who does not answer fails nothing; a board that nobody answers on has failed."""
    unheard = state.convened and state.contributions == 0
    return unheard or state.brief_failure is not None


def document(session: BoardSession, error: MootError | None = None) -> dict[str, Any]:
    """The --json form: the record, and what kept it from going on."""
    from moot.board.record import board_json

    return {
        "session": session.id,
        **board_json(session.state, **session.facts),
        **({"error": error_document(error)} if error else {}),
    }


# -- the record ----------------------------------------------------------------------------------


def _export(session: BoardSession, file: Path) -> None:
    """A file that cannot be written does not end the session."""
    from moot.cli import screen
    from moot.errors import MootError

    try:
        _write_record(session, file)
    except (MootError, OSError) as error:
        screen.say(f"{file} cannot be written: {error}")


def _write_record(session: BoardSession, file: Path) -> None:
    from moot.board import record
    from moot.cli import screen
    from moot.files.atomic import write_atomic

    state = session.state
    facts = session.facts
    match file.suffix.lower():
        case ".json":
            text = screen.json_text(record.board_json(state, **facts)) + "\n"
        case ".html":
            text = record.board_html(state, **facts)
        case _:
            text = record.board_markdown(state, **facts)
    write_atomic(file.expanduser(), text)
    screen.say(f"The record is in {file}.")
