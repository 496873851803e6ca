"""Minutes against labels: the scoring by hand-written minutes, and the whole way against played models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.evaluation import tally
from evals.minutes.discussions import Discussion, load, log
from evals.minutes.evaluation import CONTRADICTED, EVALUATION, FINAL, FOUND, MOUTHS, NAMED, REAL, VOICED
from evals.transcripts import Reply, Transcript, read
from moot.roundtable.flow import ROUNDTABLE
from moot.roundtable.state import USER, Step
from tests.stub.script import Behaviour, Recorded
from tests.stub.server import StubServer
from tests.support.judged import figures, is_better, judge, typed
from tests.support.roundtable import check_reply, is_check, minutes_reply, turns

EXAMPLES = Path("evals/minutes/examples")
CASES = {case.id: case for case in load()}


# -- the labelled discussions --------------------------------------------------------------------


def test_there_are_at_least_two_dozen_with_and_without_decisions_and_contradictions() -> None:
    assert len(CASES) >= 24
    assert sum(bool(case.decisions) for case in CASES.values()) >= 12
    assert sum(not case.decisions for case in CASES.values()) >= 12
    assert sum(bool(case.disagreements) for case in CASES.values()) == 7


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_each_becomes_a_roundtable_whose_minutes_are_due(case: Discussion) -> None:
    state = ROUNDTABLE.fold(log(case))
    assert state.step is Step.SYNTHESIS
    said = [(state.attributions[one.speaker], one.text) for one in state.discussion if one.kind != "framing"]
    assert said == [(line.by, line.text) for line in case.said]
    assert USER in state.spoke or not any(line.by == "User" for line in case.said)


# -- scoring -------------------------------------------------------------------------------------


def scored(case: str, *decisions: tuple[str, str], insights: tuple[str, ...] = ()) -> dict[str, Any]:
    made = [{"decision": text, "rationale": "", "stated_by": by} for text, by in decisions]
    value = {"synthesis": {"decisions": made, "insights": [{"by": [by], "text": "So."} for by in insights]}}
    checks = EVALUATION.score([Transcript("minutes", case, (Reply(FINAL, value),))])
    return {name: (one.right, one.total) for name, one in tally(checks).items()}


def test_a_decision_counts_where_its_key_words_are_in_the_minutes() -> None:
    assert scored("b-it-is-then", ("Keep both copies on the phone", "User")) == {
        FOUND: (1, 1),
        MOUTHS: (1, 1),
        REAL: (1, 1),
    }


def test_a_decision_in_the_wrong_mouth_is_found_all_the_same() -> None:
    assert scored("b-it-is-then", ("Option B", "Alex"))[MOUTHS] == (0, 1)
    assert scored("b-it-is-then", ("Option B", "Alex"))[FOUND] == (1, 1)


def test_what_was_only_reported_is_no_decision() -> None:
    assert scored("county-decided", ("Buses run until six", "User")) == {REAL: (0, 1)}


def test_minutes_that_are_silent_about_a_decision_have_lost_it() -> None:
    assert scored("b-it-is-then") == {FOUND: (0, 1)}


def test_one_sentence_is_no_two_decisions() -> None:
    assert scored("two-decisions", ("A file, and fifteen minutes", "User"))[FOUND] == (1, 2)


def test_minutes_that_could_be_either_decision_are_matched_so_that_both_count() -> None:
    both = ("A file for fifteen minutes", "User")
    for order in ([both, ("A file", "User")], [("A file", "User"), both]):
        assert scored("two-decisions", *order)[FOUND] == (2, 2)


def test_an_insight_of_somebody_who_kept_silent_is_wrong() -> None:
    assert scored("drop-a-feature", insights=("Jordan", "Maya", "Alex"))[NAMED] == (2, 3)


MADE = st.lists(
    st.tuples(st.sampled_from(["B", "A file", "Fifteen minutes", "Both copies", ""]), st.just("User"))
)


@given(MADE, st.sampled_from(["two-decisions", "b-it-is-then", "county-decided"]), st.randoms())
def test_the_order_of_the_minutes_makes_no_difference(made: Any, case: str, draw: Any) -> None:
    shuffled = list(made)
    draw.shuffle(shuffled)
    assert scored(case, *made) == scored(case, *shuffled)


@given(MADE)
def test_more_that_is_written_never_finds_less_and_is_never_more_precise_by_nonsense(made: Any) -> None:
    before = scored("two-decisions", *made)
    after = scored("two-decisions", *made, ("The moon is green", "User"))
    assert before[FOUND] == after[FOUND]
    right, total = after[REAL]
    assert right == before.get(REAL, (0, 0))[0]
    assert total == before.get(REAL, (0, 0))[1] + 1


def kept(case: str, *pairs: tuple[str, str]) -> dict[str, tuple[int, int]]:
    held = [{"about": "it", "held": [{"by": name} for name in pair]} for pair in pairs]
    (transcript,) = (Transcript("minutes", case, (Reply(FINAL, {"synthesis": {"positions": held}}),)),)
    return {name: (one.right, one.total) for name, one in tally(EVALUATION.score([transcript])).items()}


def test_a_contradiction_counts_in_either_order_and_only_between_those_who_contradict() -> None:
    case = "contradiction-numbers"
    assert kept(case, ("Alex", "Jordan")) == kept(case, ("Jordan", "Alex"))
    assert kept(case, ("Alex", "Jordan")) == {CONTRADICTED: (1, 1), VOICED: (1, 1)}
    assert kept(case, ("Alex", "User")) == {CONTRADICTED: (0, 1), VOICED: (0, 1)}
    assert kept(case) == {CONTRADICTED: (0, 1)}
    assert kept("builds-on", ("Maya", "Alex")) == {VOICED: (0, 1)}


def test_the_stored_minutes_have_these_scores() -> None:
    """Of the poor ones, the first draft of `scrap-that` was right, and does not count: it was returned."""
    good, poor = (tally(EVALUATION.score(read(EXAMPLES / f"{name}.json"))) for name in ("good", "poor"))
    assert {name: (one.right, one.total) for name, one in good.items()} == {
        FOUND: (3, 3),
        MOUTHS: (3, 3),
        REAL: (3, 3),
        NAMED: (4, 4),
    }
    assert {name: (one.right, one.total) for name, one in poor.items()} == {
        FOUND: (1, 2),
        MOUTHS: (0, 1),
        REAL: (1, 4),
        NAMED: (2, 3),
        CONTRADICTED: (0, 1),
    }


def test_the_minutes_that_were_taken_by_reading_the_requests_have_these_scores() -> None:
    """All thirty discussions, each looked through by a person who knew nothing but the request."""
    taken = tally(EVALUATION.score(read(EXAMPLES / "checked.json")))
    assert {name: (one.right, one.total) for name, one in taken.items()} == {
        FOUND: (13, 13),
        REAL: (13, 13),
        MOUTHS: (13, 13),
        CONTRADICTED: (7, 7),
        VOICED: (7, 7),
    }


# -- the whole way -------------------------------------------------------------------------------


def case_of(request: Recorded) -> Discussion:
    return next(case for case in CASES.values() if case.said[0].text in request.said)


def faithful(request: Recorded) -> Behaviour:
    case, said = case_of(request), turns(request.said)
    if not is_check(request.schema or {}):
        return typed(request, **minutes_reply("we talked", ("So it was said.", said[1])))
    turn = {line.text: one for line in case.said for one in said if one[2] == line.text}
    before = {line.text: [one for one in said if one[0] < turn[line.text][0]] for line in case.said}
    made = [
        (f"{line.text} That is: {', '.join(group[0] for group in line.decides)}", "", turn[line.text])
        for line in case.decisions
    ]
    against = [
        ("what is so", next(one for one in reversed(before[line.text]) if one[1] == other), turn[line.text])
        for line in case.said
        for other in line.disagrees_with
    ]
    return typed(request, **check_reply(made, against))


def careless(request: Recorded) -> Behaviour:
    """Takes the first thing that was said for a decision, and for Alex's, and whatever follows for an
    objection."""
    said = turns(request.said)
    if not is_check(request.schema or {}):
        return typed(request, **minutes_reply("we talked"))
    number, by, text = said[1]
    given = [(text, "", (number, name, text)) for name in ("Alex", by)]
    return typed(request, **check_reply(given, [("it", said[1], said[2])]))


def test_faithful_minutes_score_higher_than_careless_ones(
    stub: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = judge(EVALUATION, faithful, stub, monkeypatch)
    assert not good.failed
    assert good.bill.requests >= len(CASES)
    poor = judge(EVALUATION, careless, stub, monkeypatch)
    assert is_better(good, poor), (figures(good), figures(poor))
    assert figures(good)[FOUND] == (13, 13)
    assert figures(good)[CONTRADICTED] == (7, 7)
