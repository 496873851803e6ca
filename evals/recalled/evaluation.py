"""Sessions in which something is settled early, and what of that is kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import evals.recalled
from evals import sessions
from evals.evaluation import Check, Evaluation
from evals.planted.evaluation import GOES_ON
from evals.prose import has_any, is_rejection, proposals_of, says, sentences, shorten
from evals.recalled.cases import CASES, LATER, Settled
from evals.room import Room
from evals.transcripts import Reply, Transcript, texts

ASKED = "questions that ask nothing again"
PROPOSED = "replies that propose nothing ruled out"
KEPT = "results that keep what was settled"


async def hold(case: Settled, room: Room) -> None:
    script = room.script(case.turns, GOES_ON)
    match case.format:
        case "ask":
            await sessions.ask(room, case.subject, script)
        case "board":
            await sessions.board(room, case.subject, ("the-pragmatist", "the-mentor"), script)
        case "analysis":
            await sessions.analysis(room, case.subject, "", script)
        case "brainstorm":
            await sessions.brainstorm(room, case.subject, script)
        case "change":
            room.record.begin(LATER)
            await sessions.propose(room, "settled", case.subject)


def score(transcripts: Sequence[Transcript]) -> list[Check]:
    return [check for one in transcripts for check in _score(EVALUATION.case(one.case), one)]


def _score(case: Settled, transcript: Transcript) -> Iterator[Check]:
    for reply in transcript.during(LATER):
        for question in _questions(reply):
            note = f"{case.id}: asked again: {shorten(question)}"
            yield Check(ASKED, not _asks_again(case, question), note)
        if case.out:
            named = proposals_of(_statements(reply), case.out)
            yield Check(PROPOSED, not named, f"{case.id}: {shorten(named[0]) if named else ''}")
    if case.kept:
        results = [reply for reply in transcript.replies if reply.kind == case.kept_in]
        kept = bool(results) and says(results[-1].text, case.kept)
        yield Check(KEPT, kept, f"{case.id}: {'/'.join(case.kept[0])} is not in the result")


def _questions(reply: Reply) -> list[str]:
    """Typed ones with their options, which are one question; of words, the sentences that ask."""
    typed = [each for each in _parts(reply.value, "questions") if isinstance(each, Mapping)]
    if typed:
        return [" ".join(texts(each)) for each in typed]
    return [one for one in sentences(reply.text) if one.rstrip("\"'”’)*_ ").endswith("?")]


def _statements(reply: Reply) -> str:
    """What it says without asking."""
    asked = set(_questions(reply))
    if _parts(reply.value, "questions"):
        return str(reply.value.get("reply", ""))
    return "\n".join(one for one in sentences(reply.text) if one not in asked)


def _parts(value: Mapping[str, Any], name: str) -> Sequence[Any]:
    part = value.get(name)
    return part if isinstance(part, Sequence) and not isinstance(part, str) else ()


def _asks_again(case: Settled, question: str) -> bool:
    if case.settled and says(question, case.settled):
        return True
    return has_any(question, case.out) and not is_rejection(question)


def files(case: Settled) -> Mapping[str, str]:
    return case.files


EVALUATION: Evaluation[Settled] = Evaluation(
    name="recalled",
    about=evals.recalled.__doc__ or "",
    measures=(PROPOSED, ASKED, KEPT),
    cases=CASES,
    hold=hold,
    score=score,
    files=files,
    requests=7,
    tokens=(4_500, 700),
)
