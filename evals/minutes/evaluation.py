"""The minutes of labelled discussions, against their labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import evals.minutes
from evals import sessions
from evals.evaluation import Check, Evaluation
from evals.minutes.discussions import Discussion, Line, load, log
from evals.prose import says, shorten
from evals.room import Room
from evals.transcripts import Transcript, texts

FOUND = "decisions found"
REAL = "decisions that were made"
MOUTHS = "decisions with their speaker"
NAMED = "insights by somebody who spoke"
CONTRADICTED = "contradictions found"
VOICED = "contradictions that there were"
FINAL = "SynthesisDrafted"


async def hold(case: Discussion, room: Room) -> None:
    await sessions.minutes(room, log(case))


def score(transcripts: Sequence[Transcript]) -> list[Check]:
    return [check for one in transcripts for check in _score(EVALUATION.case(one.case), one)]


def _score(case: Discussion, transcript: Transcript) -> list[Check]:
    """Of minutes that were returned, only the last count: they are what a person reads."""
    final = [reply for reply in transcript.replies if reply.kind == FINAL]
    written: Mapping[str, Any] = final[-1].value.get("synthesis", {}) if final else {}
    decisions: Sequence[Mapping[str, Any]] = written.get("decisions", ())
    matched = _match(case.decisions, decisions)
    checks = []
    for number, line in enumerate(case.decisions):
        place = matched.get(number)
        checks.append(Check(FOUND, place is not None, f"{case.id}: not in the minutes: {shorten(line.text)}"))
        if place is not None:
            by = str(decisions[place].get("stated_by", ""))
            checks.append(Check(MOUTHS, line.by in by, f"{case.id}: said by {line.by}, given to {by!r}"))
    for place, made in enumerate(decisions):
        note = f"{case.id}: nobody decided: {shorten(str(made.get('decision', '')))}"
        checks.append(Check(REAL, place in matched.values(), note))
    contradicted = {frozenset(pair) for pair in case.disagreements}
    kept = [_sides(position) for position in written.get("positions", ())]
    for pair in contradicted:
        checks.append(
            Check(CONTRADICTED, pair in kept, f"{case.id}: {' against '.join(sorted(pair))} is lost")
        )
    for pair in kept:
        note = f"{case.id}: {' and '.join(sorted(pair))} do not contradict each other"
        checks.append(Check(VOICED, pair in contradicted, note))
    # Maya frames every discussion.
    names = {line.by for line in case.said} | {"All", "Maya"}
    for insight in written.get("insights", ()):
        given = tuple(insight.get("by", ()))
        known = bool(given) and names.issuperset(given)
        checks.append(Check(NAMED, known, f"{case.id}: {', '.join(given) or 'nobody'} did not speak"))
    return checks


def _sides(position: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(str(one.get("by", "")) for one in position.get("held", ()))


def _match(labels: Sequence[Line], decisions: Sequence[Mapping[str, Any]]) -> dict[int, int]:
    """As many pairs as possible, by augmenting paths: the order of the minutes makes no difference."""
    fits = [
        [place for place, made in enumerate(decisions) if says("\n".join(texts(made)), label.decides)]
        for label in labels
    ]
    taken: dict[int, int] = {}

    def seat(label: int, tried: set[int]) -> bool:
        for place in fits[label]:
            if place not in tried:
                tried.add(place)
                if place not in taken or seat(taken[place], tried):
                    taken[place] = label
                    return True
        return False

    for label in range(len(labels)):
        seat(label, set())
    return {label: place for place, label in taken.items()}


EVALUATION: Evaluation[Discussion] = Evaluation(
    name="minutes",
    about=evals.minutes.__doc__ or "",
    measures=(FOUND, REAL, MOUTHS, CONTRADICTED, VOICED, NAMED),
    cases=load(),
    hold=hold,
    score=score,
    requests=2,
    tokens=(1_100, 300),
)
