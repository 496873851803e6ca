"""Planted defects: what counts as found, and the whole way with a keen reviewer and a lenient one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.evaluation import tally
from evals.prose import says
from evals.review.cases import CASES, Plan
from evals.review.evaluation import BROKEN, EVALUATION, FOUND, MARKED, SOUND, TRUE
from evals.transcripts import Reply, Transcript, read
from moot.changes.proposal import check_proposal, check_spec, check_tasks
from tests.stub.script import Behaviour, Recorded
from tests.stub.server import StubServer
from tests.support.judged import figures, is_better, judge

EXAMPLES = Path("evals/review/examples")


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_every_plan_has_the_form_that_a_review_asks_for(case: Plan) -> None:
    files = {name.rpartition("/")[2]: text for name, text in case.files.items() if "changes" in name}
    found = [
        *check_proposal(files["proposal.md"]),
        *check_spec(files["behaviour.md"], "behaviour.md"),
        *check_tasks(files["tasks.md"]),
    ]
    assert [one for one in found if one.level == "error"] == []


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_what_is_labelled_of_a_design_is_one_of_its_points(case: Plan) -> None:
    for words in (*case.broken, *case.doubtful):
        assert sum(words in point.text for point in case.points) == 1


def test_there_are_plans_with_defects_and_sound_ones() -> None:
    assert sum(len(case.defects) for case in CASES) >= 12
    assert sum(not case.defects for case in CASES) == 2


def test_the_stored_transcripts_have_these_scores() -> None:
    good, poor = (tally(EVALUATION.score(read(EXAMPLES / f"{name}.json"))) for name in ("good", "poor"))
    assert {name: (one.right, one.total) for name, one in good.items()} == {
        FOUND: (5, 5),
        TRUE: (4, 4),
        MARKED: (4, 4),
        BROKEN: (4, 4),
        SOUND: (1, 1),
    }
    assert {name: (one.right, one.total) for name, one in poor.items()} == {
        FOUND: (1, 5),
        TRUE: (1, 3),
        MARKED: (1, 4),
        BROKEN: (1, 2),
        SOUND: (0, 1),
    }


ISSUES = [
    {"severity": "High", "description": "The exit code 2 is missing.", "location": "specs"},
    {"severity": "High", "description": "A task sends mail.", "location": "tasks.md"},
    {"severity": "Low", "description": "The words are long.", "location": "proposal.md"},
]


@given(st.permutations(ISSUES), st.integers(0, 3))
def test_the_order_of_issues_makes_no_difference_and_more_never_find_less(issues: Any, kept: int) -> None:
    def found(some: Any) -> tuple[int, int]:
        review = Reply("ReviewAppended", {"verdict": "NEEDS_REVISION", "issues": some, "summary": ""})
        one = tally(EVALUATION.score([Transcript("review", "late-list", (review,))]))[FOUND]
        return one.right, one.total

    assert found(issues) == (2, 2)
    assert found(issues[:kept]) <= found(issues[: kept + 1])


# -- the whole way -------------------------------------------------------------------------------


def case_of(request: Recorded) -> Plan:
    return next(case for case in CASES if f"`{case.id}`" in request.said)


def reviewing(request: Recorded, review: Any) -> Behaviour:
    """Reads every file of the change, appends the review and ends."""
    turns = sum(message.get("role") == "assistant" for message in request.messages)
    files = ("AGENTS.md", "design.md", "proposal.md", "specs/behaviour.md", "tasks.md")
    if turns == 0:
        return Behaviour(tool_calls=tuple(("read_file", {"path": name}) for name in files))
    return Behaviour(tool_calls=(("append_review", review),)) if turns == 1 else Behaviour(text="Done.")


def keen(request: Recorded) -> Behaviour:
    case = case_of(request)
    broken = [one.id for one in case.points if any(words in one.text for words in case.broken)]
    issues = [
        {
            "severity": "High",
            "description": " ".join([each.what, *(group[0] for group in each.words), *broken]),
            "location": "specs/behaviour.md",
            "recommendation": "Put it right.",
            "quote": "## Summary",
        }
        for each in case.defects
    ]
    review = {
        "verdict": "NEEDS_REVISION" if issues else "APPROVED",
        "issues": issues,
        "summary": "Read against its design.",
        "coverage": covering(case, broken),
    }
    return reviewing(request, review)


def covering(case: Plan, broken: Sequence[str]) -> list[dict[str, str]]:
    return [
        {
            "point": one.id,
            "state": "missing" if one.id in broken else "covered",
            "where": "specs/behaviour.md",
        }
        for one in case.points
    ]


def lenient(request: Recorded) -> Behaviour:
    issue = {
        "severity": "High",
        "description": "I would have chosen other words.",
        "location": "proposal.md",
        "recommendation": "Choose others.",
        "quote": "## Summary",
    }
    review = {"verdict": "NEEDS_REVISION", "issues": [issue], "summary": "So so."}
    return reviewing(request, review | {"coverage": covering(case_of(request), ())})


def test_a_keen_reviewer_scores_higher_than_a_lenient_one(
    stub: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, poor = judge(EVALUATION, keen, stub, monkeypatch), judge(EVALUATION, lenient, stub, monkeypatch)
    assert [one.failed for one in (*good.failed, *poor.failed)] == []
    assert is_better(good, poor)
    defects = sum(len(case.defects) for case in CASES)
    broken = sum(len(case.broken) for case in CASES)
    assert figures(good) == {
        FOUND: (defects, defects),
        TRUE: (defects, defects),
        MARKED: (broken, broken),
        BROKEN: (broken, broken),
        SOUND: (2, 2),
    }
    assert figures(poor) == {
        FOUND: (0, defects),
        TRUE: (0, len(CASES)),
        MARKED: (0, broken),
        SOUND: (0, 2),
    }
    # What the design binds was in front of the reviewer.
    read = [message for request in stub.requests for message in request.messages]
    assert says(str(read), [["no such date"]])
    # And so was what the person asked for, where there is no design.
    wished = next(case for case in CASES if case.asked)
    asked = [one.said for one in stub.requests if f"`{wished.id}`" in one.said]
    assert asked
    assert all(wished.asked in said for said in asked)
