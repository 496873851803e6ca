"""Quotes, looked up: what was not said never gets through, and what was is told in whole sentences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.roundtable.findings import (
    DecisionNamed,
    DisagreementNamed,
    Findings,
    Named,
    OpenPointNamed,
    check,
)
from moot.roundtable.quotes import Cited, Quoted, Statement, look_up
from moot.roundtable.synthesis import Action, Minutes, Point, synthesize

SAID = (
    Statement(1, "Maya", "We just covered costs. What do you think?", reports=True),
    Statement(2, "Alex", "We have not decided on B yet. It costs 1.5 times as much, doesn’t it?"),
    Statement(3, "User", "**B** it is, then. And\nfifteen minutes."),
    Statement(4, "Jordan", "I don't. Ich nähme B, weil es kürzer ist. 我们用B吧。别的不用。"),
    Statement(5, "User", "So are we going with B?"),
)


@pytest.mark.parametrize(
    ("turn", "quote", "found"),
    [
        (3, "B it is, then.", "**B** it is, then."),
        (3, "b  IT\nis then", "**B** it is, then."),
        (3, "“B it is, then …”", "**B** it is, then."),
        (3, "it is, then. And fifteen", "**B** it is, then. And\nfifteen minutes."),
        (2, "decided on B", "We have not decided on B yet."),
        (2, "doesn't it", "It costs 1.5 times as much, doesn’t it?"),
        (4, "I don’t.", "I don't."),
        (4, "weil es KÜRZER ist", "Ich nähme B, weil es kürzer ist."),
        (4, "我们用B", "我们用B吧。"),
    ],
)
def test_what_was_said_is_found_in_its_whole_sentences(turn: int, quote: str, found: str) -> None:
    looked_up = look_up(Quoted(turn, quote), SAID)
    assert looked_up == Cited(turn, SAID[turn - 1].by, found)


@pytest.mark.parametrize(
    ("quoted", "why"),
    [
        (Quoted(2, "B it is, then."), "turn 2 does not say “B it is, then.”"),
        (Quoted(3, "B it is not, then."), "turn 3 does not say “B it is not, then.”"),
        (Quoted(2, "decided on B times"), "turn 2 does not say “decided on B times”"),
        (Quoted(2, "have not decide"), "turn 2 does not say “have not decide”"),
        (Quoted(2, "costs 15 times"), "turn 2 does not say “costs 15 times”"),
        (Quoted(3, "x" * 100), f"turn 3 does not say “{'x' * 79}…”"),
        (Quoted(3, "…"), "turn 3 does not say “…”"),
        (Quoted(3, ""), "turn 3 does not say “”"),
        (Quoted(3, "it is"), "“it is” is too little to go by"),
        (Quoted(9, "B it is, then."), "there is no turn 9"),
        (Quoted(0, "B it is, then."), "there is no turn 0"),
        (Quoted(3, "B it is, then.", "Alex"), "turn 3 is User's, and not Alex's"),
    ],
)
def test_what_was_not_said_is_nobodys(quoted: Quoted, why: str) -> None:
    assert look_up(quoted, SAID) == why


def named(text: str, quoted: Quoted) -> Named:
    return Named((DecisionNamed(text, "", quoted),))


def test_a_question_and_what_was_reported_before_are_no_decisions() -> None:
    asked = check(named("B", Quoted(5, "So are we going with B?", "User")), SAID)
    assert asked.thrown_out == ("No decision, because turn 5 asks: B",)
    before = check(named("Costs are covered", Quoted(1, "We just covered costs", "Maya")), SAID)
    assert before.thrown_out == (
        "No decision, because turn 1 says where things stood before: Costs are covered",
    )
    assert asked.findings == before.findings == Findings()


def test_a_decision_may_be_followed_by_a_question() -> None:
    said = (Statement(1, "User", "I'll take the queue. Alex, what does it cost?"),)
    whole = check(named("The queue", Quoted(1, said[0].text, "User")), said)
    assert [made.said.quote for made in whole.findings.decisions] == [said[0].text]
    assert check(named("Costs", Quoted(1, "Alex, what does it cost?", "User")), said).thrown_out


def test_nobody_disagrees_with_themselves_and_the_earlier_position_comes_first() -> None:
    alex, user = Quoted(2, "It costs 1.5 times as much", "Alex"), Quoted(3, "B it is, then.", "User")
    checked = check(
        Named(disagreements=(DisagreementNamed("B", user, alex), DisagreementNamed("all", alex, alex))), SAID
    )
    (found,) = checked.findings.disagreements
    assert (found.one.turn, found.other.turn) == (2, 3)
    assert checked.thrown_out == ("No disagreement, because Alex said both: all",)


def test_what_is_named_twice_is_there_once() -> None:
    made = DecisionNamed("B", "", Quoted(3, "B it is, then.", "User"))
    assert len(check(Named((made, made)), SAID).findings.decisions) == 1


NAMES = ("Maya", "Alex", "Jordan", "User")
SIGNS = ("we", "take", "B", "not", "A", "then", "so", "it is", "15", ".", "?", "!", ",", "\n", "“", "’")
WORDS = st.lists(st.sampled_from(SIGNS), max_size=12)
TEXTS = WORDS.map(" ".join) | st.text(max_size=60)
STATEMENTS = st.lists(st.tuples(st.sampled_from(NAMES), TEXTS), min_size=1, max_size=6).map(
    lambda said: tuple(Statement(number, by, text) for number, (by, text) in enumerate(said, start=1))
)


@st.composite
def quotes(draw: st.DrawFn, statements: tuple[Statement, ...]) -> Quoted:
    """Of what was said, of what was said but changed, or of nothing."""
    one = draw(st.sampled_from(statements))
    words = one.text.split()
    begin, end = sorted((draw(st.integers(0, len(words))), draw(st.integers(0, len(words)))))
    text = draw(st.sampled_from([" ".join(words[begin:end]), one.text]) | TEXTS)
    return Quoted(
        draw(st.integers(-1, 8) | st.just(one.number)), text, draw(st.sampled_from(("", *NAMES, "Bob")))
    )


@given(st.data())
def test_an_invented_quote_never_gets_through_and_nothing_is_given_to_somebody_else(
    data: st.DataObject,
) -> None:
    statements = data.draw(STATEMENTS)
    quoted = [data.draw(quotes(statements)) for _ in range(4)]
    checked = check(
        Named(
            tuple(DecisionNamed("So", "", each) for each in quoted),
            (DisagreementNamed("it", quoted[0], quoted[1]),),
            tuple(OpenPointNamed("Why?", "", each) for each in quoted),
        ),
        statements,
    )
    found = checked.findings
    cited = [made.said for made in found.decisions]
    cited += [left.said for left in found.open_points]
    cited += [side for each in found.disagreements for side in (each.one, each.other)]
    for one in cited:
        (statement,) = [each for each in statements if each.number == one.turn]
        assert one.quote
        assert one.quote in statement.text
        assert one.by == statement.by
        claims = [each for each in quoted if each.turn == one.turn]
        assert any(each.by in ("", one.by) and letters(each.quote) in letters(one.quote) for each in claims)
    minutes = Minutes(
        tuple(Point("So it is", (each,)) for each in quoted),
        (),
        (),
        (Action("Do", "", tuple(quoted)),),
        "we met",
    )
    synthesis, faults = synthesize(minutes, found, statements)
    real = [each for each in (look_up(one, statements) for one in quoted) if isinstance(each, Cited)]
    assert [insight.by for insight in synthesis.insights] == [(each.by,) for each in real]
    assert bool(synthesis.action_items) == bool(real)
    assert (len(real) < len(quoted)) == bool(faults), "what was left out is said"


@given(st.data())
def test_whole_sentences_are_always_found_again(data: st.DataObject) -> None:
    statements = data.draw(STATEMENTS)
    one = data.draw(st.sampled_from(statements))
    found = look_up(Quoted(one.number, one.text, one.by), statements)
    assert isinstance(found, Cited) == bool(letters(one.text))


def letters(text: str) -> str:
    return "".join(sign for sign in text.casefold() if sign.isalnum())
