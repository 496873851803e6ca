"""Reviews of plans with planted defects, against what was planted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import evals.review
from evals import sessions
from evals.evaluation import Check, Evaluation
from evals.prose import says, shorten
from evals.review.cases import CASES, Plan
from evals.room import Room
from evals.transcripts import Transcript, texts

FOUND = "planted defects found"
TRUE = "High issues that were planted"
SOUND = "sound plans approved"
MARKED = "broken points of a design marked (recall)"
BROKEN = "points marked that are broken (precision)"
_WRONG = ("missing", "contradicted")


async def hold(case: Plan, room: Room) -> None:
    await sessions.review(room, case.id)


def score(transcripts: Sequence[Transcript]) -> list[Check]:
    return [check for one in transcripts for check in _score(EVALUATION.case(one.case), one)]


def _score(case: Plan, transcript: Transcript) -> Iterator[Check]:
    reviews = [reply.value for reply in transcript.replies if reply.kind == "ReviewAppended"]
    review: Mapping[str, Any] = reviews[-1] if reviews else {}
    issues: Sequence[Mapping[str, Any]] = review.get("issues", ())
    said = ["\n".join(texts(issue)) for issue in issues]
    for defect in case.defects:
        found = any(says(text, defect.words) for text in said)
        yield Check(FOUND, found, f"{case.id}: not found: {defect.what}")
    for issue, text in zip(issues, said, strict=True):
        if str(issue.get("severity")) == "High":
            planted = any(says(text, defect.words) for defect in case.defects)
            yield Check(TRUE, planted, f"{case.id}: {shorten(str(issue.get('description', '')))}")
    yield from _of_points(case, review.get("coverage", ()))
    if not case.defects:
        yield Check(
            SOUND, review.get("verdict") == "APPROVED", f"{case.id}: {review.get('verdict', 'no review')}"
        )


def _of_points(case: Plan, coverage: Sequence[Mapping[str, Any]]) -> Iterator[Check]:
    said = {str(one.get("point")): str(one.get("state")) for one in coverage}
    for point in case.points:
        is_marked = said.get(point.id) in _WRONG
        is_broken = any(words in point.text for words in case.broken)
        if is_broken:
            yield Check(MARKED, is_marked, f"{case.id}: {said.get(point.id, 'not judged')}: {point.text}")
        if is_marked and not any(words in point.text for words in case.doubtful):
            yield Check(BROKEN, is_broken, f"{case.id}: {said[point.id]}: {point.text}")


def files(case: Plan) -> Mapping[str, str]:
    return case.files


EVALUATION: Evaluation[Plan] = Evaluation(
    name="review",
    about=evals.review.__doc__ or "",
    measures=(FOUND, TRUE, MARKED, BROKEN, SOUND),
    cases=CASES,
    hold=hold,
    score=score,
    files=files,
    requests=5,
    tokens=(6_000, 500),
)
