"""`moot challenge`: a reviewer reads a change and appends its review; the verdict moves the change on. With
--diff, reviewers read code, and nothing is moved."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from moot.cli import screen
from moot.cli.command import JsonOption, called_as, command

if TYPE_CHECKING:
    from moot.app import Moot
    from moot.changes.challenge import Challenged, ChallengeResult

ENGINES = ("auto", "codex", "claude", "model")
VERDICT_COUNTS = 3
"""The exit code of what --fail-on names."""


@command("model workspace database")
async def challenge(
    moot: Moot,
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="[CHANGE|BASE]",
            help="The change's id. With --diff: a branch or commit to compare with (default: what is not "
            "committed), a range as A..B or A...B, or - for a patch on standard input.",
        ),
    ] = None,
    diff: Annotated[bool, typer.Option("--diff", help="Review code, without any change.")] = False,
    staged: Annotated[
        bool, typer.Option("--staged", help="Review what is staged, since BASE or HEAD.")
    ] = False,
    plan: Annotated[
        str | None,
        typer.Option(
            "--plan",
            metavar="PATH|-",
            help="A plan to hold the diff against; alone, the plan is reviewed. A file, or a folder of them.",
        ),
    ] = None,
    engine: Annotated[
        list[str] | None,
        typer.Option(
            "--engine",
            "--by",
            metavar="WHO",
            help="Who reviews: codex, claude, model, or auto, which takes the first available, in this "
            "order. Of code also a persona's id or a model's name; several review at once.",
        ),
    ] = None,
    resume: Annotated[
        str | None,
        typer.Option(
            "--resume",
            metavar="ID",
            help="A review of code again: go on with it, ask whoever failed, and show it.",
        ),
    ] = None,
    revise: Annotated[
        bool,
        typer.Option("--revise", help="Revise and challenge again until it is approved, or a rule ends it."),
    ] = False,
    fail_on: Annotated[
        Literal["needs_revision", "rejected", "high", "medium", "low", "never"],
        typer.Option(help="Exit with 3 on this verdict or finding, or a worse one."),
    ] = "never",
    format_: Annotated[
        Literal["text", "json", "sarif", "github"],
        typer.Option("--format", help="How findings in code are told; github: as annotations."),
    ] = "text",
    as_json: JsonOption = False,
) -> int:
    """Have a change reviewed, or code. The review of a change is appended to its proposal, and its verdict
    moves the change on; of code, findings are told with file and line.

    Exit codes: 0 reviewed, whatever was found; 3 as --fail-on says; 1 where a reviewer failed; 2 wrong usage.
    """
    from moot.cli import challenge_diff

    told = "json" if as_json else format_
    if resume is not None:
        if target or diff or staged or plan is not None or engine:
            raise typer.BadParameter("the session knows what it reviews, and who does", param_hint="--resume")
        return await challenge_diff.resume(moot, resume, fail_on, told)
    if diff or staged or plan is not None:
        if revise:
            raise typer.BadParameter(
                "is for changes: code is fixed by whoever wrote it", param_hint="--revise"
            )
        wanted = challenge_diff.Wanted(target or "", diff, staged, plan)
        return await challenge_diff.review(moot, wanted, tuple(engine or ()), fail_on, told)
    if target is None:
        raise typer.BadParameter("name a change, or review code with --diff", param_hint="CHANGE")
    if format_ != "text":
        raise typer.BadParameter("is for --diff; a change has --json", param_hint="--format")
    return await _challenge_change(moot, target, engine or ["auto"], revise, fail_on, as_json)


async def _challenge_change(
    moot: Moot, change_id: str, engines: list[str], revise: bool, fail_on: str, as_json: bool
) -> int:
    from moot.changes.challenge import Challenging
    from moot.changes.service import Changes
    from moot.cli.progress import Steps

    if len(engines) > 1 or engines[0] not in ENGINES:
        known = ", ".join(ENGINES)
        raise typer.BadParameter(f"of a change, one reviews: {known}", param_hint="--engine")
    challenging = Challenging(Changes(moot))
    argued: ChallengeResult | None = None
    with Steps(f"Challenge '{change_id}'") as tell:
        if revise:
            argued = await challenging.argue(change_id, engines[0], tell)
            last = argued.last
        else:
            last = await challenging.challenge(change_id, engines[0], tell)
    if as_json:
        screen.show_json({**document(last), **_loop(argued)})
    else:
        _show(last)
        if argued and argued.stopped:
            count = len(argued.rounds)
            screen.show(f"Stopped after {count} round{'' if count == 1 else 's'}: {argued.stopped.why}.")
        _show_disputes(last)
        screen.say(_next(last), "dim")
    return VERDICT_COUNTS if _fails(last, fail_on) else 0


def _loop(argued: ChallengeResult | None) -> dict[str, Any]:
    stopped = argued.stopped if argued else None
    return {
        "rounds": len(argued.rounds) if argued else 1,
        "found": [dataclasses.asdict(one) for one in argued.rounds] if argued else [],
        "stopped": stopped.why if stopped else None,
        "rule": stopped.rule if stopped else None,
    }


def _show_disputes(last: Challenged) -> None:
    """What the person can do about each: fix it, accept the risk, or reject it."""
    program, change = called_as(), last.change_id
    for number, name in last.disputed.items():
        screen.show(f"Issue {number} ({name}) keeps coming back; it is yours to decide:")
        screen.show(f'  have it fixed:   {program} reproposal {change} "{name}: …"')
        screen.show(f"  accept the risk: {program} dismiss {change} {number} --accept --because …")
        screen.show(f"  reject it:       {program} dismiss {change} {number} --because …")


def _fails(last: Challenged, fail_on: str) -> bool:
    counted = {severity.lower(): count for severity, count in last.counts.items()}
    return is_bad(last.verdict, counted, fail_on)


def is_bad(verdict: str, counts: Mapping[str, int], fail_on: str) -> bool:
    """Whether --fail-on names the verdict, or a finding that there is, or something less bad."""
    verdicts = {"rejected": ("REJECTED",), "needs_revision": ("REJECTED", "NEEDS_REVISION")}
    if fail_on in verdicts:
        return verdict in verdicts[fail_on]
    worst_first = ("high", "medium", "low")
    if fail_on not in worst_first:
        return False
    return any(counts[one] for one in worst_first[: worst_first.index(fail_on) + 1])


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
        nowhere = "" if issue.grounded else " (its quote is in none of the files: it blocks nothing)"
        screen.show(f"  {number} {issue.severity:<6} {' '.join(issue.description.split())}{where}{nowhere}")
        if issue.recommendation:
            screen.show(f"    Fix: {' '.join(issue.recommendation.split())}")
    screen.show(" ".join(last.review.summary.split()))


def _next(last: Challenged) -> str:
    from moot.changes.review_block import Verdict

    program = called_as()
    if last.verdict is Verdict.APPROVED:
        return f"Build it: {program} implement {last.change_id}"
    if last.verdict is Verdict.NEEDS_REVISION:
        decide = f"{program} dismiss {last.change_id} NUMBER --because …"
        return f"Revise it: {program} reproposal {last.change_id}\nOr set aside what does not hold: {decide}"
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
        "disputed": list(last.disputed.values()),
        "summary": last.review.summary,
        "engine": last.engine,
        "model": last.model,
        "takenUp": last.taken_up,
    }
