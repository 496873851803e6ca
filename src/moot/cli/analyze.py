"""`moot analyze`: an item step by step, with a roundtable at every step boundary."""

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
    from moot.analysis.service import Analysis
    from moot.app import Moot
    from moot.cli.analysis_screen import AnalysisNarrator
    from moot.errors import MootError


def analyze(
    item: Annotated[str, typer.Argument(metavar="ITEM", help="An item's name, or what is to be analysed.")],
    description: Annotated[
        str, typer.Option("--about", metavar="TEXT", help="More about a new item, in your own words.")
    ] = "",
    answers: AnswersOption = None,
    as_json: JsonOption = False,
    model: ModelOption = None,
    workspace: WorkspaceOption = None,
    database: DatabaseOption = None,
) -> None:
    """Analyse an item step by step. After every step, three colleagues can be asked to discuss it.

    moot analyze "Offline mode"
    """

    async def command(moot: Moot) -> int:
        from moot.analysis.service import Analyses, greeting
        from moot.cli import screen
        from moot.cli.analysis_screen import AnalysisNarrator
        from moot.cli.talking import answering
        from moot.cli.terminal import TerminalPerson

        narrator = AnalysisNarrator(lambda: moot.library, words_to_stdout=not as_json)
        analyses = Analyses(moot)
        held = analyses.claimed(analyses.item(item, description))
        with held, answering(answers, TerminalPerson) as person:
            analysis = await analyses.analysis(item, description, person, narrator, narrator.tell)
            narrator.follow(lambda: analysis.state)
            narrator.introduce(analysis.model, tiny=analysis.tiny)
            for note in analysis.notes:
                screen.say(f"Note: {note}", "dim")
            if analysis.resumed:
                narrator.greet(greeting(analysis.state, analysis.item.meta()))
                narrator.recall()
            return await _talk(analysis, narrator, as_json=as_json)

    run(command, workspace=workspace, model=model, database=database, as_json=as_json)


async def _talk(analysis: Analysis, narrator: AnalysisNarrator, *, as_json: bool) -> int:
    from moot.analysis.state import Step
    from moot.cli import screen
    from moot.cli.talking import talk

    talked = await talk(analysis.runner, narrator.interrupted)
    state = analysis.state
    if as_json:
        screen.show_json(document(analysis, talked.error))
    if state.step is Step.FINISHED:
        screen.say(f"The analysis is {state.status}. It is in {analysis.item.path}", "dim")
    else:
        screen.say(f"Saved. Go on with: {called_as()} analyze {state.slug}", "dim")
    return talked.exit_code(failed=state.failure is not None)


def document(analysis: Analysis, error: MootError | None = None) -> dict[str, Any]:
    """The --json form: where the item stands, and what was said in this log."""
    import msgspec

    state = analysis.state
    return {
        "item": state.slug,
        "title": state.title,
        "step": str(state.step),
        "status": state.status,
        "steps_completed": list(state.completed),
        "phases_completed": list(state.phases_completed),
        "left_out": [{"step": ref.id, "why": why} for ref, why in state.left_out],
        "steps": [
            {
                "id": record.ref.id,
                "depth": record.depth,
                "opening": record.opening,
                "exchanges": [{"asked": asked, "answered": answered} for asked, answered in record.exchanges],
                "asked_back": [{"asked": one.text, "replied": one.reply} for one in record.asked_back],
                "summary": record.summary,
                "feedback": [{"said": said, "reply": reply} for said, reply, _ in record.feedback],
            }
            for record in state.done
        ],
        "elaborations": [
            {"step": e.step, "summary": e.summary, "open_questions": list(e.open_questions)}
            for e in state.elaborations
        ],
        "cost": msgspec.to_builtins(state.bills),
        "failure": {"kind": state.failure.kind, "message": state.failure.message} if state.failure else None,
        **({"error": error_document(error)} if error else {}),
    }
