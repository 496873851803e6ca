"""Sessions in which a fact is planted, and whether it is said where it is wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import evals.planted
from evals import sessions
from evals.evaluation import Check, Evaluation
from evals.evidence import given
from evals.person import Turn
from evals.planted.cases import CASES, PROBE, Planted
from evals.prose import says, shorten
from evals.room import Room
from evals.transcripts import Transcript
from moot.evidence import citations

FOUND = "facts found again"
CITED = "evidence cited where it stands"
_BY_FORMAT = {name: f"in {name}" for name in ("ask", "board", "analysis", "brainstorm", "change")}

GOES_ON = (
    Turn("0?-0?", "That is not known yet: write it down as open."),
    Turn("menu", choice="continue"),
    Turn("roundtable", choice="done"),
    Turn("answers", choice="convene"),
    Turn("challenge", choice="next"),
)
"""What a person of a case says where the case has nothing to say."""


async def hold(case: Planted, room: Room) -> None:
    script, evidence = room.script(case.turns, GOES_ON), given(case.evidence)
    match case.format:
        case "ask":
            await sessions.ask(room, case.subject, script, evidence)
        case "board":
            await sessions.board(room, case.subject, ("the-pragmatist", "the-mentor"), script, evidence)
        case "analysis":
            title, _, about = case.subject.partition("\n")
            await sessions.analysis(room, title, about, script, evidence)
        case "brainstorm":
            await sessions.brainstorm(room, case.subject, script, evidence)
        case "change":
            room.record.begin(PROBE)
            await sessions.propose(room, "planted", case.subject)


def score(transcripts: Sequence[Transcript]) -> list[Check]:
    return [check for one in transcripts for check in _score(EVALUATION.case(one.case), one)]


def _score(case: Planted, transcript: Transcript) -> list[Check]:
    text = "\n".join(reply.text for reply in transcript.during(PROBE))
    found = says(text, case.wanted)
    missing = ", ".join("/".join(group) for group in case.wanted if not says(text, (group,)))
    note = f"{case.id}: {missing} is not in: {shorten(text) or 'nothing'}"
    checks = [Check(FOUND, found, note), Check(_BY_FORMAT[case.format], found)]
    if case.cites:
        verified = [one for one in citations.check(text, given(case.evidence)) if one.is_verified]
        checks.append(Check(CITED, bool(verified), f"{case.id}: no citation that holds in: {shorten(text)}"))
    return checks


def files(case: Planted) -> Mapping[str, str]:
    return case.files


EVALUATION: Evaluation[Planted] = Evaluation(
    name="planted",
    about=evals.planted.__doc__ or "",
    measures=(FOUND, *_BY_FORMAT.values(), CITED),
    cases=CASES,
    hold=hold,
    score=score,
    files=files,
    requests=6,
    tokens=(4_000, 500),
)
