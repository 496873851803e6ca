"""Premises that are not so, and whether the reply says what is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import evals.premise
from evals import sessions
from evals.evaluation import Check, Evaluation
from evals.evidence import given
from evals.planted.evaluation import GOES_ON
from evals.premise.cases import CASES, REPLY, Premise
from evals.prose import has_any, says, shorten
from evals.room import Room
from evals.transcripts import Transcript
from moot.evidence import citations

NAMED = "false premises: the right value named"
PLACED = "false premises: where it stands"
LEFT = "true premises left alone"


async def hold(case: Premise, room: Room) -> None:
    evidence, script = given(case.evidence), room.script(case.turns, GOES_ON)
    match case.format:
        case "ask":
            await sessions.ask(room, case.subject, script, evidence)
        case "board":
            await sessions.board(room, case.subject, ("the-analyst",), script, evidence)
        case "analysis":
            await sessions.analysis(room, case.subject, "", script, evidence)
        case "brainstorm":
            await sessions.brainstorm(room, case.subject, script, evidence)
        case "change":
            room.record.begin(REPLY)
            await sessions.propose(room, "premise", case.subject)


def score(transcripts: Sequence[Transcript]) -> list[Check]:
    return [check for one in transcripts for check in _score(EVALUATION.case(one.case), one)]


def _score(case: Premise, transcript: Transcript) -> list[Check]:
    text = "\n".join(reply.text for reply in transcript.during(REPLY))
    note = f"{case.id}: {shorten(text) or 'no reply'}"
    if case.denies:
        return [Check(LEFT, bool(text) and not has_any(text, case.denies), note)]
    return [Check(NAMED, says(text, case.right), note), Check(PLACED, _is_placed(case, text), note)]


def _is_placed(case: Premise, text: str) -> bool:
    if case.evidence:
        return any(one.is_verified for one in citations.check(text, given(case.evidence)))
    return any(name in text for name in case.stands_in.split("|"))


def files(case: Premise) -> Mapping[str, str]:
    return case.files


EVALUATION: Evaluation[Premise] = Evaluation(
    name="premise",
    about=evals.premise.__doc__ or "",
    measures=(NAMED, PLACED, LEFT),
    cases=CASES,
    hold=hold,
    score=score,
    files=files,
    requests=3,
    tokens=(4_000, 500),
)
