"""Sessions in which names are spoken of, and which of them exist."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import evals.invented
from evals import sessions
from evals.evaluation import Check, Evaluation
from evals.evidence import given
from evals.invented.names import CODE, IDS, LINES, PATHS, STEPS, World, check
from evals.person import Turn
from evals.planted.cases import CONTRACT
from evals.planted.evaluation import GOES_ON
from evals.room import Room
from evals.transcripts import Reply, Transcript
from evals.workspaces import VANLOAD
from moot.analysis import references
from moot.analysis.steps import load_steps
from moot.evidence import citations
from moot.evidence.citations import Check as Checked

CITED = "citations that exist"
QUOTED = "citations that hold"
SPEAKERS = "speakers that exist"

_DEEPER = Turn("triage", choice="exploration|agree")
_PANEL = ("Maya", "Alex", "Jordan", "User", "All")
_ADVISORS = ("The Pragmatist", "The Analyst", "The Mentor")


@dataclass(frozen=True)
class Spoken:
    """A session in which models have to speak of what there is. `speakers` are those who may be named for
    something."""

    id: str
    format: Literal["ask", "board", "analysis", "brainstorm", "change"]
    subject: str
    turns: Sequence[Turn] = ()
    evidence: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    speakers: tuple[str, ...] = ()


CASES = (
    Spoken(
        "brainstorm-to-design",
        "brainstorm",
        "Tell a customer by what time their van will be there",
        (
            Turn("triage", "Which files does this touch, and what is in them?", choice="discuss"),
            _DEEPER,
            Turn("questions", "Where do these questions come from, by file?", choice="discuss"),
            Turn("questions", choice="finish"),
            Turn("approaches", choice="agree"),
            Turn("design", "Which functions change, and which stay?", choice="discuss"),
        ),
        files=VANLOAD,
    ),
    Spoken(
        "brainstorm-what-there-is",
        "brainstorm",
        "Orders are lost when a van is full; I want to know why, and that it stops",
        (
            Turn("triage", "Where exactly are they lost? Give me file and line.", choice="discuss"),
            Turn("triage", "And which test would have caught it?", choice="discuss"),
        ),
        files=VANLOAD,
    ),
    Spoken(
        "analysis-with-roundtable",
        "analysis",
        "Late orders",
        (
            Turn("menu", "What do you know so far, and from which file and line?"),
            Turn("menu", choice="elaborate"),
            Turn("roundtable", "Jordan, which function decides that an order is late?"),
            Turn("roundtable", "Which of you has said what so far?"),
            Turn("roundtable", choice="done"),
            Turn("menu", choice="skip-phase"),
            Turn("menu", choice="skip-phase"),
            Turn("menu", "Which earlier steps does this rest on, by their ids?"),
        ),
        files=VANLOAD,
        speakers=_PANEL,
    ),
    Spoken(
        "analysis-with-ids",
        "analysis",
        "Late orders",
        (
            Turn("menu", choice="skip-phase"),
            Turn("01-01", "We lost 12 orders in March and want to lose 1 at most. The co-op decides."),
            Turn("menu", choice="continue"),
            Turn("01-02", "Shop owners need to know at once whether a late order is taken. We saw that."),
            Turn("menu", "Which goals and needs are there so far, by their ids?"),
        ),
        files=VANLOAD,
    ),
    Spoken(
        "proposal",
        "change",
        "Refuse an order whose van is full, as one that is too large is refused today, and say so.",
        files=VANLOAD,
    ),
    Spoken(
        "ask-lease",
        "ask",
        "the-analyst",
        (
            Turn("question", "What in this lease could cost us money? Quote it."),
            Turn("follow-up", "Does it say anything of a deposit, or of noise?"),
        ),
        evidence={"lease.txt": CONTRACT},
    ),
    Spoken(
        "board-lease",
        "board",
        "Should our choir give notice for the hall, or ask for a cheaper lease?",
        (
            Turn("answers", choice="convene"),
            Turn("challenge", "Which line of the lease does that rest on?"),
            Turn("challenge", choice="brief|next"),
        ),
        evidence={"lease.txt": CONTRACT},
        speakers=_ADVISORS,
    ),
)


async def hold(case: Spoken, room: Room) -> None:
    script, evidence = room.script(case.turns, GOES_ON), given(case.evidence)
    match case.format:
        case "ask":
            await sessions.ask(room, case.subject, script, evidence)
        case "board":
            members = ("the-pragmatist", "the-analyst", "the-mentor")
            await sessions.board(room, case.subject, members, script, evidence)
        case "analysis":
            await sessions.analysis(room, case.subject, "", script, evidence)
        case "brainstorm":
            await sessions.brainstorm(room, case.subject, script, evidence)
        case "change":
            await sessions.propose(room, "spoken", case.subject)


def score(transcripts: Sequence[Transcript]) -> list[Check]:
    return [check for one in transcripts for check in _score(EVALUATION.case(one.case), one)]


def _score(case: Spoken, transcript: Transcript) -> Iterator[Check]:
    said = "\n".join([case.subject, *(turn.text for turn in case.turns), *case.evidence.values()])
    # What the program itself names, such as an artifact, is the key of a field.
    named = "\n".join(name for reply in transcript.replies for name in _keys(reply.value))
    steps = tuple(step.id for step in load_steps().steps) if case.format == "analysis" else ()
    world = World(case.files, f"{said}\n{named}", steps)
    if case.format == "analysis":
        yield from _ids(case, transcript.replies)
    for reply in transcript.replies:
        if case.files:
            yield from check(reply.text, world, case.id)
        if case.evidence:
            yield from _cited(case, reply)
        if case.speakers:
            for name in _named(reply.value):
                yield Check(SPEAKERS, name in case.speakers, f"{case.id}: {name!r} does not sit here")


def _ids(case: Spoken, replies: Sequence[Reply]) -> Iterator[Check]:
    """A step may give the ids that its guide numbers; whatever else it cites has to be there by then. Stories
    get theirs from the program."""
    there: set[str] = set()
    for reply in replies:
        contents = "\n".join(map(references.as_text, (reply.value.get("contents") or {}).values()))
        kinds = references.KINDS if reply.kind == "FeedbackTaken" else _numbered(reply.value.get("step"))
        given_now = references.defined({"contents.md": contents}, kinds).keys()
        for one in sorted(references.mentioned([reply.text])):
            if one.rpartition("-")[0] in {*references.KINDS} - {"US"}:
                yield Check(IDS, one in there | given_now, f"{case.id}: nothing defines {one}")
        there |= given_now


def _numbered(step: str | None) -> frozenset[str]:
    guides = {one.id: one.artifacts for one in load_steps().steps}
    return references.kinds_in(guides.get(step or "", ""))


def _cited(case: Spoken, reply: Reply) -> Iterator[Check]:
    for one in citations.check(reply.text, given(case.evidence)):
        there = one.check is not Checked.NO_SUCH_ITEM
        yield Check(CITED, there, f"{case.id}: there is no {one.item}")
        if there:
            yield Check(QUOTED, one.is_verified, f"{case.id}: {one.item}: {one.check}")


def _named(value: Any) -> Iterator[str]:
    """Those who are named for something in a typed reply."""
    match value:
        case dict():
            for key, part in value.items():
                if key in ("by", "between", "stated_by"):
                    names = part if isinstance(part, list) else str(part).split("/")
                    yield from (str(name).strip() for name in names if str(name).strip())
                else:
                    yield from _named(part)
        case list() | tuple():
            for each in value:
                yield from _named(each)


def _keys(value: Any) -> Iterator[str]:
    match value:
        case dict():
            for key, part in value.items():
                yield str(key)
                yield from _keys(part)
        case list() | tuple():
            for each in value:
                yield from _keys(each)


def files(case: Spoken) -> Mapping[str, str]:
    return case.files


EVALUATION: Evaluation[Spoken] = Evaluation(
    name="invented",
    about=evals.invented.__doc__ or "",
    measures=(PATHS, LINES, CODE, STEPS, IDS, CITED, QUOTED, SPEAKERS),
    cases=CASES,
    hold=hold,
    score=score,
    files=files,
    requests=10,
    tokens=(5_000, 700),
)
