"""What counts as asked or proposed again, and the whole way with a model that minds and one that forgets."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.evaluation import tally
from evals.prose import is_rejection, proposals_of
from evals.recalled.cases import CASES, DATABASES, LATER
from evals.recalled.evaluation import ASKED, EVALUATION, KEPT, PROPOSED
from evals.transcripts import Reply, Transcript, read
from tests.stub.script import Behaviour, Recorded
from tests.stub.server import StubServer
from tests.support.judged import figures, is_better, judge, typed

EXAMPLES = Path("evals/recalled/examples")


@pytest.mark.parametrize(
    "text",
    [
        "No database is used.",
        "The times stay in a file instead of SQLite.",
        "A database is ruled out.",
        "It works without a database; it isn't needed.",
        "Redis won't be used.",
        "The data based on the order is written.",
    ],
)
def test_a_sentence_that_rejects_it_proposes_nothing(text: str) -> None:
    assert proposals_of(text, DATABASES) == []


@pytest.mark.parametrize(
    "text",
    ["A small SQLite database keeps them.", "It is not slow. Use Postgres.", "Use a\ndatabase for it."],
)
def test_a_sentence_that_speaks_of_it_otherwise_proposes_it(text: str) -> None:
    assert any(
        "SQLite" in one or "Postgres" in one or "database" in one for one in proposals_of(text, DATABASES)
    )


@given(st.text(max_size=80))
def test_what_rejects_is_never_what_proposes(text: str) -> None:
    assert not any(is_rejection(one) for one in proposals_of(text, DATABASES))


def test_the_stored_transcripts_have_these_scores() -> None:
    good, poor = (tally(EVALUATION.score(read(EXAMPLES / f"{name}.json"))) for name in ("good", "poor"))
    assert {name: (one.right, one.total) for name, one in good.items()} == {
        ASKED: (4, 4),
        PROPOSED: (4, 4),
        KEPT: (1, 1),
    }
    assert {name: (one.right, one.total) for name, one in poor.items()} == {
        ASKED: (1, 4),
        PROPOSED: (2, 4),
        KEPT: (0, 1),
    }


@given(st.permutations(["Use a file.", "Use SQLite.", "Shall we use a database?"]))
def test_the_order_of_replies_makes_no_difference(texts: list[str]) -> None:
    said = tuple(Reply("AnswerGiven", {"text": text}, LATER) for text in texts)
    counted = tally(EVALUATION.score([Transcript("recalled", "analysis-architecture", said)]))
    assert (counted[PROPOSED].right, counted[PROPOSED].total) == (2, 3)
    assert (counted[ASKED].right, counted[ASKED].total) == (0, 1)


QUIET = {
    "level": "exploration",
    "batches": [],
    "splits": [],
    "missing": [],
    "follow_up": "",
    "changes": False,
}


def minds(request: Recorded) -> Behaviour:
    return typed(request, "A file late.jsonl it is; half an hour for each slot.", **QUIET)


def forgets(request: Recorded) -> Behaviour:
    text = "How long is a slot, and which database? Take SQLite, a loan and a text message."
    return typed(request, text, **QUIET)


def test_a_model_that_minds_scores_higher_than_one_that_forgets(
    stub: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, poor = judge(EVALUATION, minds, stub, monkeypatch), judge(EVALUATION, forgets, stub, monkeypatch)
    assert [one.failed for one in (*good.failed, *poor.failed)] == []
    assert is_better(good, poor), (figures(good), figures(poor))
    assert len(good.held) == len(CASES)
    assert all(right == total for right, total in figures(good).values()), figures(good)
    assert figures(poor)[KEPT][0] == 0
