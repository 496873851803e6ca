"""`moot analyze`: an item step by step, with a roundtable at every step boundary. `moot items` lists them."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moot.cli import screen
from moot.cli.command import AnswersOption, JsonOption, WithOption, called_as, command

if TYPE_CHECKING:
    from moot.analysis.service import Analysis
    from moot.app import Moot

_STATUS = {"raw": "not begun", "partial": "finished but for what was skipped", "analyzed": "complete"}


@command("model workspace database")
async def analyze(
    moot: Moot,
    item: Annotated[str, typer.Argument(metavar="ITEM", help="An item's name, or what to analyse.")],
    description: Annotated[
        str, typer.Option("--about", metavar="TEXT", help="More about a new item, in your own words.")
    ] = "",
    evidence: WithOption = None,
    answers: AnswersOption = None,
    as_json: JsonOption = False,
) -> int:
    """Analyse an item step by step. After every step, three colleagues can be asked to discuss it.

    moot analyze "Offline mode"
    """
    from moot.analysis.flow import ANALYSIS
    from moot.analysis.service import Analyses, greeting
    from moot.analysis.state import Step
    from moot.cli.analysis_screen import AnalysisNarrator
    from moot.cli.changes import tell_made
    from moot.cli.conversation import answering, converse
    from moot.cli.desk import gather

    narrator = AnalysisNarrator(lambda: moot.library, words_to_stdout=not as_json)
    analyses = Analyses(moot)
    given = await gather(moot, ANALYSIS, evidence or (), f"{item}\n{description}")
    with analyses.claimed(analyses.item(item, description)), answering(answers) as person:
        analysis = await analyses.analysis(item, description, person, narrator, narrator.tell)
        narrator.follow(lambda: analysis.state)
        narrator.introduce(analysis.model, tiny=analysis.tiny)
        for note in analysis.notes:
            screen.say(f"Note: {note}", "dim")
        tell_made(moot, "analysis", analysis.item.slug)
        if analysis.resumed:
            narrator.recall(greeting(analysis.state, analysis.item.meta()))
        ended = await converse(moot, analysis.runner, narrator, analysis.asking, given)
        state = analysis.state
        hint = f"Saved. Continue with: {called_as()} analyze {state.slug}"
        if state.step is Step.FINISHED:
            hint = (
                f"The analysis is {_STATUS[state.status]}. It is in {analysis.item.path}\n"
                f"Write the proposal: {called_as()} proposal {state.slug} --from {state.slug}"
            )
        return ended.report(
            lambda: document(analysis), hint, as_json=as_json, failed=state.failure is not None
        )


@command()
async def items(moot: Moot, as_json: JsonOption = False) -> None:
    """List the items of the workspace and how far their analyses are."""
    from moot.analysis.service import Analyses
    from moot.changes.origins import made_from

    standings = Analyses(moot).standings()
    made = {one.slug: made_from(moot.workspace, "analysis", one.slug) for one in standings}
    if as_json:
        screen.show_json(
            [
                {**dataclasses.asdict(one), "changes": [dataclasses.asdict(each) for each in made[one.slug]]}
                for one in standings
            ]
        )
        return
    if not standings:
        screen.say(f'No items yet. Start with: {called_as()} analyze "what you have in mind"')
    for one in standings:
        if one.problem:
            screen.show(f"{one.slug:<28} !! {one.problem}")
        else:
            held = f", {one.elaborations} roundtables" if one.elaborations else ""
            screen.show(f"{one.slug:<28} {one.status:<9} {one.steps} steps{held}  {one.title}")
        for change in made[one.slug]:
            screen.show(f"{'':<28} change {change}")


def document(analysis: Analysis) -> dict[str, Any]:
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
                "decided": [*record.decided, *record.decided_there],
                "ruled_out": [*record.rejected, *record.rejected_there],
                "left_open": [*record.left_open, *record.left_open_there],
                "still_open": list(record.missing),
                "read": list(record.looked_at),
                "cited_but_not_there": list(record.unknown),
                "feedback": [{"said": said, "reply": reply} for said, reply, _ in record.feedback],
            }
            for record in state.done
        ],
        "elaborations": [
            {"step": e.step, "summary": e.summary, "open_questions": list(e.open_questions)}
            for e in state.elaborations
        ],
        "changed_by_hand": msgspec.to_builtins(state.edits),
        "cost": msgspec.to_builtins(state.bills),
        "failure": {"kind": state.failure.kind, "message": state.failure.message} if state.failure else None,
    }
