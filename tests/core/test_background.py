"""Evidence and corrections, which a session takes at every step."""

from __future__ import annotations

import pytest

from moot.ask.flow import ASK, AskEvent, AskOpened, AskState, QuestionAsked
from moot.core.background import Background, EvidenceGiven, LedgerCorrected
from moot.core.ledger import Correction
from moot.errors import IllegalMove
from moot.evidence.items import Evidence, numbered

NOTES = Evidence("notes.md", "docs/notes.md", "ab" * 32, "text/markdown", "first\nsecond")
PLAN = Evidence("plan.txt", "plan.txt", "cd" * 32, "text/plain", "the plan")


def test_evidence_and_corrections_are_taken_at_every_step_once_a_session_is_open() -> None:
    opened: list[AskEvent] = [AskOpened("the-analyst", "local"), QuestionAsked("Why?")]
    for events in (opened[:1], opened):
        state = ASK.fold([*events, EvidenceGiven((NOTES,)), LedgerCorrected(Correction("own:1", "No cloud"))])
        assert state.background.evidence == (NOTES,)
        assert state.background.corrections == (Correction("own:1", "No cloud"),)
        assert state.step is ASK.fold(events).step


def test_nothing_is_taken_before_a_session_is_open() -> None:
    with pytest.raises(IllegalMove):
        ASK.advance(AskState(), EvidenceGiven((NOTES,)))


def test_the_same_item_is_not_added_again_and_numbers_stay() -> None:
    first = Background().after(EvidenceGiven((NOTES,)))
    both = first.after(EvidenceGiven((NOTES, PLAN, PLAN)))
    assert numbered(both.evidence) == [("E1", NOTES), ("E2", PLAN)]


def test_an_event_with_evidence_is_read_back_as_it_was() -> None:
    event = EvidenceGiven((NOTES, Evidence("a.png", "a.png", "ef" * 32, "image/png", image=b"\x89PNG")))
    assert ASK.decode(ASK.encode(event)) == event
