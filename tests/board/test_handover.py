"""What a board hands to a change: by making one of it, the person decides, and every word is known."""

from __future__ import annotations

import pytest

from moot.board.events import BoardEvent, ConditionTicked
from moot.board.flow import BOARD
from moot.board.handover import BRIEF, VIEWS, hand_over
from moot.board.state import BoardState
from moot.core.background import LedgerCorrected
from moot.core.handover import Handover
from moot.core.ledger import Correction, Kind, lines
from moot.errors import InvalidInput
from tests.support.sourced import Held, events_of

HELD = Held()


def board(*more: BoardEvent) -> BoardState:
    return BOARD.fold(events_of(HELD, *more))


def handed(*more: BoardEvent, words: str = "") -> Handover:
    return hand_over(board(*more), "board-1", "Receipts", words)


def test_the_decision_is_made_and_the_conditions_are_to_be_met_under_their_numbers() -> None:
    assert lines(handed().decided) == [
        f"D1. Decided: {HELD.decision}\n"
        f"   The person has decided: {HELD.recommends} (the person, at the decision)",
        f"D2. Said: Since when? {HELD.answer} (the person, at the questions)",
        f"D3. Said: {HELD.challenge} (the person, at challenge 1, to The Strategist)",
        "D4. Decided: A condition to be met: Every sale is recorded first. (the Board, at the brief)",
        "D5. Said: This condition is met: The tax adviser agrees. (the person, at the brief)",
    ]
    numbers = [one.number for one in BOARD.ledger(board())]
    assert [one.number for one in handed().decided] == numbers


def test_a_correction_is_what_holds_and_what_was_struck_is_known_to_be() -> None:
    condition = "condition:Every sale is recorded first."
    own = LedgerCorrected(Correction(condition, "Every sale over 10 euros is recorded first."))
    struck = LedgerCorrected(Correction("answer:1"))
    decision = LedgerCorrected(Correction("decision", "We drop them in May."))
    by_number = {one.number: one for one in handed(own, struck, decision).decided}
    assert (by_number[4].kind, by_number[4].text) == (
        Kind.DECIDED,
        "Every sale over 10 euros is recorded first.",
    )
    assert (by_number[1].kind, by_number[1].text) == (Kind.DECIDED, "We drop them in May.")
    assert (by_number[2].kind, by_number[2].text) == (
        Kind.SAID, f"This no longer holds: Since when? {HELD.answer}",
    )  # fmt: skip


def test_what_is_ticked_later_keeps_its_number_and_asks_for_nothing() -> None:
    ticked = handed(ConditionTicked("Every sale is recorded first."))
    assert [(one.number, one.kind) for one in ticked.decided if "is met" in one.text] == [
        (4, Kind.SAID), (5, Kind.SAID),
    ]  # fmt: skip


def test_the_brief_with_its_dissent_and_all_views_are_there_to_read() -> None:
    texts = handed().texts
    assert list(texts) == [BRIEF, VIEWS]
    for said in (HELD.recommends, HELD.dissent, *HELD.conditions):
        assert said in texts[BRIEF]
    for said in (*HELD.views, HELD.challenge, HELD.reply):
        assert said in texts[VIEWS]


def test_what_is_asked_for_is_the_person_s_or_else_what_the_board_recommends() -> None:
    advice = f"This was put to the Board:\n{HELD.decision}\n\nThe Board recommends:\n{HELD.recommends}"
    assert handed().asked == f"Carry out what the Board recommends, under its conditions\n\n{advice}"
    asked = handed(words="only at fairs")
    assert asked.asked == f"Only at fairs\n\n{advice}"
    assert asked.decided[0].text == f"{HELD.decision}\nThe person has decided: only at fairs"


def test_without_a_brief_the_person_says_what_should_change() -> None:
    early = BOARD.fold(events_of(HELD)[:3])
    with pytest.raises(InvalidInput, match="this board has no brief: say what should change, and why"):
        hand_over(early, "board-1", "Receipts", "")
    assert list(hand_over(early, "board-1", "Receipts", "Drop them.").texts) == [VIEWS]
