"""When loops of reviews end, and why."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import loops
from moot.changes.governor import (
    Counts,
    Found,
    Limits,
    Round,
    Rule,
    blocking,
    counts,
    disputed,
    next_round,
    stop,
    unseen,
    unseen_by,
)
from moot.changes.review_block import Severity

HIGH, MEDIUM, LOW = Severity.HIGH, Severity.MEDIUM, Severity.LOW
FREE = Limits(rounds=99)


def high(name: str, section: str = "", *, introduced: bool = False, by: str = "") -> Found:
    return Found(name, HIGH, section, introduced=introduced, by=frozenset(by))


def rule(rounds: list[Round], limits: Limits = FREE, decided: frozenset[str] = frozenset()) -> Rule | None:
    found = stop(rounds, limits, decided)
    return found.rule if found else None


def test_nothing_ends_before_the_first_round() -> None:
    assert stop([], Limits(rounds=0)) is None


def test_a_loop_goes_on_while_something_new_is_in_the_way() -> None:
    assert rule([Round((high("I1"),))]) is None
    assert rule([Round((high("I1"),)), Round((high("I2"),))]) is None


@pytest.mark.parametrize(
    "found",
    [
        (),
        (Found("I1", LOW), Found("I2", LOW), Found("I3", MEDIUM)),
        (Found("I1", HIGH, grounded=False),),
        (Found("I1", MEDIUM), Found("I2", MEDIUM, grounded=False)),
    ],
)
def test_it_ends_clean_where_nothing_blocks(found: tuple[Found, ...]) -> None:
    assert rule([Round(found)]) is Rule.CLEAN


def test_two_mediums_block_and_an_issue_without_its_quote_does_not() -> None:
    found = (Found("I1", MEDIUM), Found("I2", MEDIUM), Found("I3", LOW), Found("I4", HIGH, grounded=False))
    assert [issue.id for issue in blocking(found)] == ["I1", "I2"]


def test_what_the_person_has_decided_does_not_keep_a_loop_going() -> None:
    assert rule([Round((high("I1"), high("I2")))], decided=frozenset({"I1", "I2"})) is Rule.CLEAN
    assert rule([Round((high("I1"), high("I2")))], decided=frozenset({"I1"})) is None


def test_what_is_reopened_twice_is_the_persons_to_decide() -> None:
    there, gone = Round((high("I1"),)), Round((high("I2"),))
    assert disputed([there, gone, there]) == frozenset()
    assert disputed([there, gone, there, gone, there]) == frozenset({"I1"})
    ended = stop([there, gone, there, gone, there], FREE)
    assert ended is not None
    assert ended.rule is Rule.DISPUTED
    assert "I1" in ended.why


def test_what_changes_its_severity_twice_is_disputed() -> None:
    one = Round((high("I1"), high("I2")))
    other = Round((Found("I1", LOW), high("I2")))
    assert disputed([one, other]) == frozenset()
    assert disputed([one, other, one]) == frozenset({"I1"})
    # Something else is still in the way.
    assert rule([one, other, one]) is None


def test_a_revision_that_changed_nothing_ends_it() -> None:
    rounds = [Round((high("I1"),)), Round((high("I1"),), changed=False)]
    assert rule(rounds) is Rule.STALL
    # Nothing was revised before the first review.
    assert rule([Round((high("I1"),), changed=False)]) is None


def churned(*introduced: bool) -> list[Round]:
    return [
        Round((high("I1", "errors"),)),
        Round(tuple(high(f"J{at}", "errors", introduced=one) for at, one in enumerate(introduced))),
        Round(tuple(high(f"K{at}", "errors", introduced=one) for at, one in enumerate(introduced))),
    ]


def test_two_rounds_that_bring_in_new_highs_in_the_same_section_end_it() -> None:
    ended = stop(churned(True, True, False), FREE)
    assert ended is not None
    assert ended.rule is Rule.CHURN
    assert "errors" in ended.why
    assert rule(churned(True, False, False)) is None


def test_other_sections_rounds_and_severities_are_no_churn() -> None:
    first, second, third = churned(True, True)
    assert rule([second, third]) is None
    elsewhere = Round(tuple(replace(issue, section="scope") for issue in third.found))
    assert rule([first, second, elsewhere]) is None
    lower = Round((*(replace(issue, severity=LOW) for issue in third.found), high("I1", "errors")))
    assert rule([first, second, lower]) is None


TWO = (("a", "one"), ("b", "another"))


def test_where_both_reviewers_find_the_same_again_nothing_more_is_to_be_found() -> None:
    same = (high("I1", by="ab"), high("I2", by="ab"))
    assert rule([Round(same, TWO), Round(same, TWO)]) is Rule.ESTIMATE
    # The first review of a text says nothing about the next.
    assert rule([Round(same, TWO)]) is None
    apart = (high("I1", by="a"), high("I2", by="b"), high("I3", by="a"), high("I4", by="b"))
    assert rule([Round(apart, TWO), Round(apart, TWO)]) is None


def test_one_reviewer_or_one_family_says_nothing_of_what_is_unseen() -> None:
    same = (high("I1", by="ab"),)
    assert unseen(Round(same, (("a", "one"),))) is None
    assert unseen(Round(same, (("a", "one"), ("b", "one")))) is None
    assert unseen(Round(same, TWO)) == 0.0


def test_how_many_are_unseen() -> None:
    both, one, other = frozenset("ab"), frozenset("a"), frozenset("b")
    # Chapman: (3 + 1)(2 + 1) / (1 + 1) - 1 = 5, of which 4 were found.
    assert unseen_by([both, one, one, other], 2, 2) == pytest.approx(1.0)
    assert unseen_by([], 2, 2) == 0.0
    # The jackknife: two that only one of four has found.
    assert unseen_by([frozenset("a"), frozenset("d"), frozenset("abc")], 4, 1) == pytest.approx(1.5)


def test_no_round_begins_that_would_go_beyond_the_budget() -> None:
    one = Round((high("I1"),), usd=0.4, minutes=3)
    other = Round((high("I2"),), usd=0.4, minutes=3)
    assert rule([one], Limits(rounds=1)) is Rule.BUDGET
    assert rule([one], Limits(rounds=9, usd=0.8)) is None
    assert rule([one, other], Limits(rounds=9, usd=1.1)) is Rule.BUDGET
    assert rule([one, other], Limits(rounds=9, minutes=8)) is Rule.BUDGET
    assert rule([one, other], Limits(rounds=9, minutes=9)) is None
    assert next_round([one, replace(other, usd=0.5)]) == 0.5
    assert next_round([]) == 0.0


def test_what_each_round_brought() -> None:
    rounds = [
        Round((high("I1"), high("I2"))),
        Round((high("I1"), high("I3", introduced=True), high("I4"))),
        Round((high("I2"),)),
    ]
    assert counts(rounds) == (
        Counts(introduced=2),
        Counts(introduced=1, missed=1, repeated=1, fixed=1),
        Counts(repeated=1, fixed=3),
    )
    assert str(counts(rounds)[1]) == "1 introduced, 1 missed before, 1 repeated, 1 fixed"
    assert str(Counts()) == "nothing found"


# -- for whatever reviewers say ------------------------------------------------------------------

ISSUES = st.builds(
    Found,
    id=st.sampled_from(["I1", "I2", "I3", "I4"]),
    severity=st.sampled_from(Severity),
    section=st.sampled_from(["scope", "errors"]),
    grounded=st.booleans(),
    introduced=st.booleans(),
    by=st.frozensets(st.sampled_from("abcd")),
)
ROUNDS = st.builds(
    Round,
    found=st.lists(ISSUES, max_size=5, unique_by=lambda issue: issue.id).map(tuple),
    families=st.sampled_from([(), (("a", "one"),), TWO, (*TWO, ("c", "one"), ("d", "two"))]),
    changed=st.booleans(),
    usd=st.floats(0, 1),
    minutes=st.floats(0, 10),
)


@given(st.lists(ROUNDS, min_size=12, max_size=12), st.integers(1, 12))
def test_every_loop_ends_within_its_rounds(said: list[Round], most: int) -> None:
    ended = next(number for number in count(1) if stop(said[:number], Limits(rounds=most)))
    assert ended <= most


@given(st.lists(ROUNDS, min_size=12, max_size=12), st.floats(1, 5))
def test_no_loop_spends_more_than_it_may_while_rounds_cost_no_more_than_before(
    said: list[Round], usd: float
) -> None:
    # Within a loop the dearest round comes first: nobody knows beforehand what a dearer one costs.
    priced = [replace(one, usd=said[0].usd) for one in said]
    made = next(at for at in count(1) if at == 12 or stop(priced[:at], Limits(rounds=12, usd=usd)))
    assert sum(one.usd for one in priced[:made]) <= max(usd, priced[0].usd) + 1e-9


@given(st.lists(ROUNDS, max_size=8))
def test_every_issue_is_counted_once_in_each_round(said: list[Round]) -> None:
    known: set[str] = set()
    for one, counted in zip(said, counts(said), strict=True):
        here = {issue.id for issue in one.found}
        assert counted.introduced + counted.missed == len(here - known)
        assert counted.repeated == len(here & known)
        known |= here


@given(st.lists(st.frozensets(st.sampled_from("abcd"), min_size=1)), st.integers(0, 4), st.integers(0, 4))
def test_fewer_than_none_are_never_unseen(
    found_by: list[frozenset[str]], reviewers: int, families: int
) -> None:
    left = unseen_by(found_by, reviewers, families)
    assert left is None or left >= 0


# -- played through ------------------------------------------------------------------------------


def test_loops_are_shorter_than_until_approved_and_leave_hardly_more() -> None:
    everything = list(loops.compare(100))
    rounds, governed, left, left_governed, *_ = (
        fmean(column) for column in zip(*(one.figures() for one in everything), strict=True)
    )
    assert governed <= 0.4 * rounds
    assert left_governed <= left + 1
    for one in everything:
        *_, unknown, unknown_governed = one.figures()
        assert unknown_governed <= unknown + 0.5, "what is left is named in the last review, for the person"
    assert all(ended.rounds <= 4 for one in everything for ended in one.after)


@pytest.mark.parametrize("usd", [0.4, 0.8, 1.0])
def test_played_loops_never_go_beyond_their_budget(usd: float) -> None:
    limits = Limits(rounds=50, usd=usd)
    for seed in range(100):
        ended = loops.play(seed, 0.9, lambda rounds: loops.governed(rounds, limits))
        assert ended.usd <= usd + 1e-9
