from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moot.roundtable.echoes import echoes

ALEX = (
    "There are two ways. A queue between the scanner and the ledger costs us an operator who watches it; "
    "writing straight through costs us every scan made while the ledger is down. The risk of the queue is "
    "that it fills up unseen. We can contain it by an alarm at half its size."
)
MAYA = (
    "Before we choose, who is standing there with the scanner? Say it is the night shift, one person, forty "
    "parcels to go. What would she notice if the ledger is down?"
)
JORDAN = (
    "Written down: `record(scan) -> Receipt`, or `LedgerDown`. And when the queue is full? That has to end "
    "in `QueueFull`, shown on the scanner, not in silence."
)
SAID = [MAYA, ALEX, JORDAN]


@pytest.mark.parametrize(
    "text",
    [
        "I agree with Alex.",
        "I completely agree with Alex and Jordan on this.",
        "Agreed.",
        "agreed!",
        "Yes, exactly right, Maya.",
        "Maya is right.",
        "Alex makes a good point.",
        "That makes total sense to me.",
        "Same here, I have nothing further to add.",
        "Well said, Jordan. I second that.",
        "I'm fully aligned with what Jordan’s just said, good point.",
        "Sounds good.",
        "Nothing to add.",
        "**Agreed**, Alex — spot on.",
    ],
)
def test_agreement_without_content_is_an_echo(text: str) -> None:
    assert echoes(text, [])


@pytest.mark.parametrize(
    "text",
    [
        "I do not agree with Alex.",
        "I don't agree.",
        "Don't agree.",
        "I disagree with Maya.",
        "Not right.",
        "Never agreed.",
        "Nobody is right, Alex.",
        "Agreed, but the night shift has no alarm.",
        "Agreed, unless the ledger is down for a day.",
        "I agree with Alex about the queue.",
        "Maya is right, and the acceptance criterion would be that no parcel is scanned twice.",
        "Who agreed?",
        "Right?",
        "No.",
        "Ship it.",
        "Yes, Postgres.",
    ],
)
def test_an_objection_a_question_or_a_reason_is_none(text: str) -> None:
    assert not echoes(text, SAID)


@pytest.mark.parametrize(
    "text",
    [
        ALEX,
        ALEX.upper(),
        f"Alex Rivera (Solutions Architect): {ALEX}",
        "The risk of the queue is that it fills up unseen.",
        "As Alex said, the risk of the queue is that it fills up unseen.",
        "I agree with Alex that the risk of the queue is that it fills up unseen. We can contain it by an "
        "alarm at half its size.",
        "A queue between the scanner and the ledger costs us an operator who watches it. Writing straight "
        "through costs us every scan that is made while the ledger is down. We should contain the risk by an "
        "alarm at half its size.",
        "Building on Maya’s point: who is standing there with the scanner? Say it is the night shift.",
        "And when the queue is full? That has to end in `QueueFull`.",
    ],
)
def test_what_was_just_said_is_an_echo(text: str) -> None:
    assert echoes(text, SAID)
    assert not echoes(text, [])


@pytest.mark.parametrize(
    "text",
    [
        "Alex, an alarm at half its size rings at the desk of a sleeper. What does the night shift see?",
        "Jordan, on that road `QueueFull` reaches the scanner's firmware, and that is another team's "
        "release. The risk is the calendar, not the queue.",
        "Alex's alarm as a test: Given a queue of 500, When scan 251 is recorded, Then `alarm(level=0.5)` is "
        "sent once.",
        "The risk of the queue is that it fills up unseen. Maya, that is forty parcels which somebody hands "
        "out twice, and nobody at the counter can tell which of them are paid for.",
        "We are at one on the queue. What a person is told when it is full is still open.",
        "The ledger is down while the scanner waits: not a queue, a receipt on paper.",
    ],
)
def test_another_angle_on_the_same_subject_is_none(text: str) -> None:
    assert not echoes(text, SAID)


def test_the_colleagues_do_not_echo_each_other() -> None:
    assert not echoes(MAYA, [ALEX, JORDAN])
    assert not echoes(ALEX, [MAYA, JORDAN])
    assert not echoes(JORDAN, [MAYA, ALEX])


def test_a_denial_of_what_was_said_is_none() -> None:
    said = "We use a queue between the scanner and the ledger."
    assert echoes("Use a queue between the scanner and the ledger.", [said])
    assert not echoes("Not a queue between scanner and ledger.", [said])
    assert not echoes("Don’t use a queue between the scanner and the ledger.", [said])
    assert not echoes("Why a queue?", [said])


def test_words_of_several_colleagues_together_are_none() -> None:
    """Each of them is compared alone: putting two points together is a contribution."""
    together = "The night shift, forty parcels to go: `QueueFull` has to end on the scanner, not in silence."
    assert not echoes(together, SAID)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=80), st.lists(st.text(max_size=80), max_size=3))
def test_a_repetition_is_always_an_echo_and_nothing_makes_it_less_of_one(
    text: str, recent: list[str]
) -> None:
    assert echoes(text, [*recent, text])
    assert not echoes(text, recent) or echoes(text, [*recent, "something else"])
