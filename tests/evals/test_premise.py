"""False premises: what counts as contradicted, and a model that reads against one that nods."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.evaluation import tally
from evals.premise.cases import CASES, REPLY, Premise
from evals.premise.evaluation import EVALUATION, LEFT, NAMED, PLACED
from evals.prose import says
from evals.transcripts import Reply, Transcript, read
from tests.stub.script import Behaviour, Recorded
from tests.stub.server import StubServer
from tests.support.judged import figures, is_better, judge, typed

EXAMPLES = Path("evals/premise/examples")


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_what_is_so_stands_in_the_files_and_not_in_the_persons_words(case: Premise) -> None:
    said = "\n".join([case.subject, *(turn.text for turn in case.turns)])
    if case.denies:
        assert not case.right
        return
    assert case.right
    assert not says(said, case.right)
    there = "\n".join([*case.evidence.values(), *case.files.values()])
    assert any(says(there, [group]) for group in case.right)


def test_the_stored_transcripts_have_these_scores() -> None:
    """Of the poor ones, the second names what is so without saying where, the third says where without it."""
    good, poor = (tally(EVALUATION.score(read(EXAMPLES / f"{name}.json"))) for name in ("good", "poor"))
    assert {name: (one.right, one.total) for name, one in good.items()} == {
        NAMED: (3, 3),
        PLACED: (3, 3),
        LEFT: (1, 1),
    }
    assert {name: (one.right, one.total) for name, one in poor.items()} == {
        NAMED: (1, 3),
        PLACED: (1, 3),
        LEFT: (0, 1),
    }


@given(st.sampled_from(CASES), st.lists(st.text(max_size=30), max_size=3))
def test_every_case_is_counted_once_whatever_is_said(case: Premise, texts: list[str]) -> None:
    said = tuple(Reply("AnswerGiven", {"text": text}, REPLY) for text in texts)
    counted = tally(EVALUATION.score([Transcript("premise", case.id, said)]))
    assert {name: one.total for name, one in counted.items()} == (
        {LEFT: 1} if case.denies else {NAMED: 1, PLACED: 1}
    )


def reads(request: Recorded) -> Behaviour:
    """Knows everything that stands somewhere, and that the lease is E1."""
    known = [
        f"{', '.join(group[0] for group in case.right)} by {case.stands_in}" for case in CASES if case.right
    ]
    return typed(request, f"It says otherwise [E1:4]: {'; '.join(known)}"[:900], level="exploration", **QUIET)


def nods(request: Recorded) -> Behaviour:
    return typed(request, "Just as you say, nothing in this is mistaken.", level="exploration", **QUIET)


QUIET = {"batches": [], "splits": [], "missing": [], "follow_up": "", "changes": False}


def test_a_model_that_reads_scores_higher_than_one_that_nods(
    stub: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, poor = judge(EVALUATION, reads, stub, monkeypatch), judge(EVALUATION, nods, stub, monkeypatch)
    assert [one.failed for one in (*good.failed, *poor.failed)] == []
    assert is_better(good, poor), (figures(good), figures(poor))
    assert figures(good)[NAMED][0] == figures(good)[NAMED][1]
    assert figures(poor)[NAMED][0] == 0
