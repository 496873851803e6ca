"""`moot challenge`: a reviewer reads a change and appends its review; the verdict moves the change on."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moot.cli.proposal import ChangeArgument
from moot.cli.running import JsonOption, ModelOption, WorkspaceOption, called_as, run

if TYPE_CHECKING:
    from moot.app import Moot
    from moot.changes.challenge import Challenged
    from moot.changes.review_block import Verdict

VERDICT_COUNTS = 3
"""The exit code of a verdict that --fail-on names."""


class Engine(StrEnum):
    AUTO = "auto"
    CODEX = "codex"
    CLAUDE = "claude"
    MODEL = "model"


class FailOn(StrEnum):
    NEEDS_REVISION = "needs_revision"
    REJECTED = "rejected"


def challenge(
    change_id: ChangeArgument,
    engine: Annotated[
        Engine, typer.Option(help="Who reviews; auto takes the first that is there, in this order.")
    ] = Engine.AUTO,
    revise: Annotated[
        bool, typer.Option("--revise", help="Revise and challenge again until it is approved or stuck.")
    ] = False,
    fail_on: Annotated[
        FailOn | None, typer.Option(help="Exit with 3 on this verdict, or a worse one.")
    ] = None,
    as_json: JsonOption = False,
    model: ModelOption = None,
    workspace: WorkspaceOption = None,
) -> None:
    """Have a change reviewed. The review is appended to its proposal, and its verdict moves the change on."""

    async def command(moot: Moot) -> int:
        from moot.changes.challenge import Challenging
        from moot.changes.service import Changes
        from moot.cli import screen
        from moot.cli.progress import Progress

        challenging = Challenging(Changes(moot))
        stopped, rounds = "", 1
        with Progress(f"Challenge '{change_id}'") as tell:
            if revise:
                argued = await challenging.argue(change_id, engine, tell)
                last, stopped, rounds = argued.last, argued.stopped, argued.rounds
            else:
                last = await challenging.challenge(change_id, engine, tell)
        if as_json:
            screen.show_json({**document(last), "rounds": rounds, "stopped": stopped or None})
        else:
            _show(last)
            if stopped:
                screen.show(f"Stopped after {rounds} rounds: {stopped}.")
            screen.say(_next(last), "dim")
        return VERDICT_COUNTS if fail_on is not None and _counts(last.verdict, fail_on) else 0

    run(command, workspace=workspace, model=model, as_json=as_json)


def headline(last: Challenged) -> str:
    from moot.changes.review_block import Severity, Verdict

    counts = last.counts
    if last.verdict is Verdict.APPROVED:
        return "APPROVED - Ready for implementation!"
    if last.verdict is Verdict.REJECTED:
        return "REJECTED - Fundamental problems"
    high, medium = counts[Severity.HIGH], counts[Severity.MEDIUM]
    return f"NEEDS_REVISION - Found {high} HIGH, {medium} MEDIUM severity issues"


def _show(last: Challenged) -> None:
    from moot.changes.findings import in_words
    from moot.changes.review_block import Severity
    from moot.cli import screen

    screen.show(headline(last))
    counts = last.counts
    screen.show(
        f"Issues: {counts[Severity.HIGH]} high, {counts[Severity.MEDIUM]} medium, {counts[Severity.LOW]} low"
        f" ({in_words(last.matched)})"
    )
    # By this number, an issue is dismissed.
    for number, issue in enumerate(last.review.issues, start=1):
        where = f" [{issue.location}]" if issue.location else ""
        screen.show(f"  {number} {issue.severity:<6} {' '.join(issue.description.split())}{where}")
    screen.show(" ".join(last.review.summary.split()))


def _next(last: Challenged) -> str:
    from moot.changes.review_block import Verdict

    command = called_as()
    if last.verdict is Verdict.APPROVED:
        return f"Build it: {command} implement {last.change_id}"
    if last.verdict is Verdict.NEEDS_REVISION:
        return f"Revise it: {command} reproposal {last.change_id}"
    return f'Think it over; then say what should be different: {command} reproposal {last.change_id} "…"'


def _counts(verdict: Verdict, fail_on: FailOn) -> bool:
    from moot.changes.review_block import Verdict

    worse = {FailOn.NEEDS_REVISION: {Verdict.NEEDS_REVISION, Verdict.REJECTED}}
    return verdict in worse.get(fail_on, {Verdict.REJECTED})


def document(last: Challenged) -> dict[str, Any]:
    from moot.changes.review_block import Severity

    counts = last.counts
    return {
        "change": last.change_id,
        "verdict": last.verdict,
        "phase": last.phase,
        "counts": {severity.lower(): counts[severity] for severity in Severity},
        "compared": {
            "new": len(last.matched.new),
            "repeated": len(last.matched.repeated),
            "resolved": len(last.matched.resolved),
        },
        "issues": [
            {
                "severity": issue.severity,
                "description": issue.description,
                "location": issue.location,
                "recommendation": issue.recommendation,
            }
            for issue in last.review.issues
        ],
        "summary": last.review.summary,
        "engine": last.engine,
        "model": last.model,
        "takenUp": last.taken_up,
    }
