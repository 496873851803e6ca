"""`moot challenge`: a reviewer reads a change and appends its review; the verdict moves the change on."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from moot.cli import screen
from moot.cli.changes import ChangeArgument
from moot.cli.command import JsonOption, called_as, command

if TYPE_CHECKING:
    from moot.app import Moot
    from moot.changes.challenge import Challenged

VERDICT_COUNTS = 3
"""The exit code of a verdict that --fail-on names."""


@command("model workspace")
async def challenge(
    moot: Moot,
    change_id: ChangeArgument,
    engine: Annotated[
        Literal["auto", "codex", "claude", "model"],
        typer.Option(help="Who reviews; auto takes the first available, in this order."),
    ] = "auto",
    revise: Annotated[
        bool, typer.Option("--revise", help="Revise and challenge again until it is approved or stuck.")
    ] = False,
    fail_on: Annotated[
        Literal["needs_revision", "rejected"] | None,
        typer.Option(help="Exit with 3 on this verdict, or a worse one."),
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """Have a change reviewed. The review is appended to its proposal, and its verdict moves the change on."""
    from moot.changes.challenge import Challenging
    from moot.changes.service import Changes
    from moot.cli.progress import Steps

    challenging = Challenging(Changes(moot))
    stopped, rounds = "", 1
    with Steps(f"Challenge '{change_id}'") as tell:
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
    bad = {"rejected": ("REJECTED",), "needs_revision": ("REJECTED", "NEEDS_REVISION")}
    return VERDICT_COUNTS if fail_on is not None and last.verdict in bad[fail_on] else 0


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

    program = called_as()
    if last.verdict is Verdict.APPROVED:
        return f"Build it: {program} implement {last.change_id}"
    if last.verdict is Verdict.NEEDS_REVISION:
        return f"Revise it: {program} reproposal {last.change_id}"
    return f'Think it over, then say what should be different: {program} reproposal {last.change_id} "…"'


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
        "issues": [dataclasses.asdict(issue) for issue in last.review.issues],
        "summary": last.review.summary,
        "engine": last.engine,
        "model": last.model,
        "takenUp": last.taken_up,
    }
