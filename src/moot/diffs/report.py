"""Findings for those who read them: a person, a program, a code scanner, and GitHub's annotations.

Pure. Every form has all findings and who said them. Refuses to know how the findings came about, and where
they are printed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import quote

from moot import __version__
from moot.changes.review_block import Severity
from moot.diffs.findings import Finding, Judged, Kind, Review, Voice

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.HIGH: "error", Severity.MEDIUM: "warning", Severity.LOW: "note"}
_COMMANDS = {Severity.HIGH: "error", Severity.MEDIUM: "warning", Severity.LOW: "notice"}
_RULES = {
    Kind.BUG: "The code does not do what it has to do",
    Kind.SECURITY: "Somebody could do or see what they must not",
    Kind.DATA: "Data could be lost or damaged",
    Kind.PERFORMANCE: "It takes more time, memory or money than it has to",
    Kind.COMPATIBILITY: "Something that relied on the code before no longer works",
    Kind.TESTS: "A test is missing, or cannot fail",
    Kind.PLAN: "It is not what the plan asks for",
    Kind.DESIGN: "It is built in a way that will hurt later",
}


@dataclass(frozen=True, slots=True)
class Report:
    """`what` says which diff it was; `failed` names reviewers of whom there is no review, and why."""

    what: str
    judged: Judged | None
    reviews: tuple[Review, ...] = ()
    failed: tuple[tuple[str, str], ...] = ()
    left_out: tuple[str, ...] = ()
    estimate: str = ""
    took: str = ""
    """What it has cost altogether, in words."""
    session: str = ""
    costs: tuple[tuple[str, str, float | None], ...] = ()
    """Of each reviewer: which model it was, and dollars, where that is known."""
    unseen: tuple[str, ...] = ()
    """Files that no reviewer was shown, because they would not have fitted."""

    @property
    def is_complete(self) -> bool:
        """Whether everybody has reviewed, and everything was seen by somebody."""
        return not self.failed and not self.unseen

    @property
    def gaps(self) -> tuple[str, ...]:
        failed = (f"No review by {by}: {why}" for by, why in self.failed)
        return (
            *failed,
            *(f"Reviewed by nobody, because it would not have fitted: {one}" for one in self.unseen),
        )

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self.judged.findings if self.judged else ()


def headline(report: Report) -> str:
    judged = report.judged
    if judged is None and report.failed:
        return "NOT REVIEWED - No reviewer has finished"
    if judged is None:
        return f"NOTHING TO REVIEW - There is nothing in {report.what}"
    if not report.findings:
        return f"{judged.verdict} - Nothing found"
    counts = ", ".join(f"{judged.count(one)} {one.upper()}" for one in Severity)
    loose = sum(not one.grounded for one in report.findings)
    apart = f"; {loose} more whose quote is not in the diff" if loose else ""
    return f"{judged.verdict} - Found {counts}{apart}"


def _votes(judged: Judged) -> Iterator[str]:
    if len(judged.votes) < 2:
        return
    yield "Reviewers: " + ", ".join(f"{by} {verdict}" for by, verdict in judged.votes)
    if judged.disagree:
        yield "They disagree: what blocks for one blocks for all, and rejected takes more than half of them."


# -- for a person --------------------------------------------------------------------------------


def as_text(report: Report) -> Iterator[str]:
    """Line by line; words of reviewers are never at the beginning of a line."""
    yield headline(report)
    if report.judged:
        yield from _votes(report.judged)
    yield from map(_flat, report.gaps)
    for one in report.findings:
        yield ""
        where = str(one.place) if one.place else f"{one.file}: its quote is not in the diff"
        yield f"{one.id:<3} {one.severity:<6} {one.kind}  {where}" + ("  [blocks]" if one.blocks else "")
        for voice in one.voices:
            yield from _voice(voice, several=len(report.reviews) > 1)
    for review in report.reviews:
        yield ""
        yield f"{review.by}: {_flat(review.summary)}"
    if report.left_out:
        yield ""
        yield from (f"Left out: {one}" for one in report.left_out)


def _voice(voice: Voice, *, several: bool) -> Iterator[str]:
    said = voice.said
    by = f"{voice.by}, {said.severity}: " if several else ""
    yield f"    {by}{_flat(said.problem)}"
    yield f"    So: {_flat(said.consequence)}"
    if said.fix:
        yield f"    Fix: {_flat(said.fix)}"
    yield from (f"    > {row.rstrip()}" for row in said.quote.split("\n") if row.strip())


def _flat(text: str) -> str:
    return " ".join(text.split())


# -- for programs --------------------------------------------------------------------------------


def as_json(report: Report) -> dict[str, Any]:
    judged = report.judged
    return {
        "what": report.what,
        "verdict": judged.verdict if judged else None,
        "complete": report.is_complete,
        "counts": {one.lower(): judged.count(one) if judged else 0 for one in Severity},
        "reviewers": [
            {
                "by": review.by,
                "verdict": verdict,
                "summary": review.summary,
                "rejects": review.rejects,
                "model": model,
                "costUsd": cost,
            }
            for review, (_, verdict), (_, model, cost) in zip(
                report.reviews, judged.votes if judged else (), report.costs, strict=True
            )
        ],
        "unseen": list(report.unseen),
        "failed": [{"by": by, "why": why} for by, why in report.failed],
        "findings": [_finding(one) for one in report.findings],
        "leftOut": list(report.left_out),
        "estimate": report.estimate,
        "took": report.took,
        "session": report.session,
    }


def _finding(one: Finding) -> dict[str, Any]:
    place = one.place
    return {
        "id": one.id,
        "severity": one.severity,
        "kind": one.kind,
        "file": one.file,
        "line": place.line if place else None,
        "endLine": place.end if place else None,
        "side": place.side if place else None,
        "shownAtLine": place.shown_at if place else None,
        "grounded": one.grounded,
        "blocks": one.blocks,
        "fingerprint": one.fingerprint,
        "voices": [{"by": voice.by, **asdict(voice.said)} for voice in one.voices],
    }


def as_sarif(report: Report) -> dict[str, Any]:
    """SARIF 2.1.0. A result has to have a place, so that what has none, and who did not review, is told as a
    notification of the run."""
    kinds = [kind for kind in Kind if any(one.kind is kind and one.grounded for one in report.findings)]
    notes = [
        {"level": "note", "message": {"text": f"Not found in the diff: {one.file}: {_message(one)}"}}
        for one in report.findings
        if not one.grounded
    ]
    notes += [{"level": "error", "message": {"text": gap}} for gap in report.gaps]
    notes += [{"level": "note", "message": {"text": f"Left out: {one}"}} for one in report.left_out]
    run = {
        "tool": {
            "driver": {
                "name": "moot",
                "semanticVersion": __version__,
                "rules": [
                    {
                        "id": _rule(kind),
                        "name": f"{kind.capitalize()}Finding",
                        "shortDescription": {"text": _RULES[kind]},
                        "properties": {"tags": [str(kind)]},
                    }
                    for kind in kinds
                ],
            }
        },
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {"executionSuccessful": report.is_complete, "toolExecutionNotifications": notes},
        ],
        "results": [_result(one, kinds) for one in report.findings if one.grounded],
        "properties": {"verdict": report.judged.verdict if report.judged else None, "what": report.what},
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(kind: Kind) -> str:
    return f"moot/{kind}"


def _result(one: Finding, kinds: Sequence[Kind]) -> dict[str, Any]:
    place = one.place
    assert place is not None
    start = place.shown_at or place.line
    end = place.end if place.side == "new" else start
    uri = quote(place.file.lstrip("/"))
    region = {"startLine": start, "endLine": max(start, end)}
    return {
        "ruleId": _rule(one.kind),
        "ruleIndex": kinds.index(one.kind),
        "level": _LEVELS[one.severity],
        "message": {"text": _removed(one) + _message(one)},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}],
        "partialFingerprints": {"mootPlace/v1": one.fingerprint},
        "properties": {
            "severity": one.severity,
            "blocks": one.blocks,
            "reviewers": [voice.by for voice in one.voices],
        },
    }


def _message(one: Finding) -> str:
    several = len(one.voices) > 1
    return "\n\n".join(
        (f"{voice.by}: " if several else "")
        + f"{voice.said.problem.strip()} {voice.said.consequence.strip()}"
        + (f"\nFix: {voice.said.fix.strip()}" if voice.said.fix.strip() else "")
        for voice in one.voices
    )


def _removed(one: Finding) -> str:
    place = one.place
    if place is None or place.side == "new":
        return ""
    lines = f"line {place.line}" if place.line == place.end else f"lines {place.line}-{place.end}"
    return f"Removed {lines}: "


# -- GitHub's annotations ------------------------------------------------------------------------


def as_github(report: Report) -> Iterator[str]:
    """Workflow commands, one a line."""
    for one in report.findings:
        title = f"{one.severity} {one.kind} ({', '.join(voice.by for voice in one.voices)})"
        if one.place is None:
            yield _command("notice", f"Not found in the diff: {one.file}: {_message(one)}", title=title)
            continue
        start = one.place.shown_at or one.place.line
        end = one.place.end if one.place.side == "new" else start
        where = {"file": one.place.file, "line": str(start), "endLine": str(end)}
        yield _command(_COMMANDS[one.severity], _removed(one) + _message(one), **where, title=title)
    yield from (_command("error", gap, title="moot") for gap in report.gaps)
    yield from (_command("notice", f"Left out: {one}", title="moot") for one in report.left_out)
    votes = "\n".join(_votes(report.judged)) if report.judged else ""
    is_clear = (report.judged is None or report.judged.verdict == "APPROVED") and report.is_complete
    yield _command(
        "notice" if is_clear else "warning", f"{headline(report)}\n{votes}".strip(), title="moot challenge"
    )


def _command(name: str, message: str, **properties: str) -> str:
    given = ",".join(f"{key}={_escape(value, ':,')}" for key, value in properties.items())
    return f"::{name} {given}::{_escape(message)}"


def _escape(text: str, more: str = "") -> str:
    for character in ("%", "\r", "\n", *more):
        text = text.replace(character, f"%{ord(character):02X}")
    return text
