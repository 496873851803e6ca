"""Planted facts: what counts as found again, and the whole way with a model that says what it knows."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.evaluation import tally
from evals.planted.cases import CASES, PROBE, Planted
from evals.planted.evaluation import CITED, EVALUATION, FOUND
from evals.prose import says
from evals.transcripts import Reply, Transcript, read
from tests.stub.script import Behaviour, Recorded
from tests.stub.server import StubServer
from tests.support.judged import figures, is_better, judge, knowing

EXAMPLES = Path("evals/planted/examples")
BY_ID = {case.id: case for case in CASES}


def words(case: Planted) -> str:
    return ", ".join(group[0] for group in case.wanted)


@pytest.mark.parametrize("case", CASES, ids=list(BY_ID))
def test_the_words_of_a_fact_are_in_the_fact_or_in_its_file_and_never_in_the_question(case: Planted) -> None:
    stands_in = case.fact + "".join(case.files.values() if case.looks_at else ())
    assert says(stands_in, case.wanted)
    asked = [turn.text for turn in case.turns if turn.during == PROBE]
    assert not any(says(text, case.wanted) for text in asked)


def test_every_format_has_cases() -> None:
    assert {case.format for case in CASES} == {"ask", "board", "analysis", "brainstorm", "change"}
    assert len(CASES) == len(BY_ID) >= 15


def test_the_stored_transcripts_have_these_scores() -> None:
    """Of the poor ones: half a fact, a citation whose quote is not there, a number that is part of another,
    and silence."""
    good, poor = (tally(EVALUATION.score(read(EXAMPLES / f"{name}.json"))) for name in ("good", "poor"))
    assert {name: (one.right, one.total) for name, one in good.items()} == {
        FOUND: (6, 6),
        CITED: (1, 1),
        "in ask": (2, 2),
        "in board": (1, 1),
        "in analysis": (1, 1),
        "in brainstorm": (1, 1),
        "in change": (1, 1),
    }
    assert {name: (one.right, one.total) for name, one in poor.items()} == {
        FOUND: (1, 4),
        CITED: (0, 1),
        "in ask": (1, 2),
        "in analysis": (0, 1),
        "in brainstorm": (0, 1),
    }


def found(case: str, *replies: tuple[str, str]) -> bool:
    said = tuple(Reply("AnswerGiven", {"text": text}, moment) for moment, text in replies)
    return tally(EVALUATION.score([Transcript("planted", case, said)]))[FOUND].right == 1


def test_what_was_said_before_it_was_wanted_does_not_count() -> None:
    assert not found("ask-first-question", ("", "14 April, 1,460"), (PROBE, "I do not know."))


@given(st.permutations(["It ends on 14 April.", "You pay 1460.", "So be it."]))
def test_the_order_of_replies_makes_no_difference(texts: list[str]) -> None:
    assert found("ask-first-question", *((PROBE, text) for text in texts))


@given(st.lists(st.text(max_size=40), max_size=4))
def test_more_words_never_lose_a_fact(texts: list[str]) -> None:
    assert found("ask-first-question", (PROBE, "14 April, and 1,460 euros"), *((PROBE, one) for one in texts))


KNOWS = knowing(*((case.fact, words(case), case.looks_at) for case in CASES))


def forgets(request: Recorded) -> Behaviour:
    return knowing()(request)


def test_a_model_that_says_what_it_knows_scores_higher_than_one_that_forgets(
    stub: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, poor = judge(EVALUATION, KNOWS, stub, monkeypatch), judge(EVALUATION, forgets, stub, monkeypatch)
    assert is_better(good, poor), (figures(good), figures(poor))
    assert figures(poor)[FOUND][0] == 0
    assert {one.case for one in good.failed} <= {"board-evidence"}, [one.failed for one in good.failed]
