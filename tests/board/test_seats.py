"""What each advisor is told: the same in view and replies, and one task that one of them has alone."""

from __future__ import annotations

import re

import msgspec
import pytest

from moot.board import prompts
from moot.board.events import (
    AdvisorSpoke,
    BoardConvened,
    BoardEvent,
    ChallengeMade,
    ChallengeReplied,
    DecisionPresented,
    Member,
)
from moot.board.flow import BOARD
from moot.board.state import BoardState
from moot.core.flow import Usage
from moot.errors import InvalidInput
from moot.llm.context import shared_texts
from moot.llm.messages import ModelSaid, UserSaid
from moot.personas.library import Persona, load_library, speaking_order
from moot.prompts.template import fill, when_challenged

LIBRARY = load_library()
ADVISORS = speaking_order(LIBRARY.members(LIBRARY.panel("board")))
DEVIL = "the-devil-s-advocate"
OTHER_CASE = fill("board/opposes", {})
BILL = Usage("m", 1, 2, None, 3)


def presented(opposes: str = DEVIL) -> DecisionPresented:
    members = tuple(Member(p.id, p.name, p.role, str(p.contribution)) for p in ADVISORS)
    return DecisionPresented("Move the office?", members, "independent", "m", opposes)


def challenged(persona: Persona) -> BoardState:
    said: list[BoardEvent] = [
        presented(),
        BoardConvened(),
        *(AdvisorSpoke(one.id, f"{one.name} says no.", BILL) for one in ADVISORS),
        ChallengeMade(persona.id, "Rents fall."),
        ChallengeReplied(persona.id, "I hold.", BILL),
        ChallengeMade(persona.id, "I am the boss here."),
    ]
    return BOARD.fold(said)


@pytest.mark.parametrize("persona", ADVISORS, ids=lambda persona: persona.id)
def test_a_reply_goes_on_from_exactly_what_the_view_was_asked_with(persona: Persona) -> None:
    state = challenged(persona)
    view = prompts.view(BOARD.fold([presented(), BoardConvened()]), persona, small=False)
    reply = prompts.reply(state, persona, small=False)
    assert (reply.shared, reply.system) == (view.shared, view.system)
    assert reply.messages == (
        *view.messages,
        ModelSaid(f"{persona.name} says no."),
        UserSaid("Rents fall."),
        ModelSaid("I hold."),
        UserSaid("I am the boss here."),
    )


def test_what_to_do_when_challenged_is_told_before_anybody_challenges() -> None:
    for persona in ADVISORS:
        view = prompts.view(BOARD.fold([presented(), BoardConvened()]), persona, small=False)
        said = "\n\n".join([*shared_texts(view), view.system])
        assert said.count(when_challenged()) == 1
        assert "\n\n\n" not in said


def test_only_one_advisor_makes_the_other_case() -> None:
    state = BOARD.fold([presented("the-coach"), BoardConvened()])
    told = [one.id for one in ADVISORS if OTHER_CASE in prompts.view(state, one, small=False).system]
    assert told == ["the-coach"]


def test_where_nobody_opposes_nobody_is_told_to() -> None:
    state = BOARD.fold([presented(""), BoardConvened()])
    assert not any(OTHER_CASE in prompts.view(state, one, small=False).system for one in ADVISORS)


def test_a_board_without_that_task_is_written_as_it_always_was() -> None:
    assert "opposes" not in msgspec.to_builtins(presented(""))
    assert msgspec.to_builtins(presented())["opposes"] == DEVIL


def test_nobody_opposes_who_does_not_sit_there() -> None:
    with pytest.raises(InvalidInput, match="'the-stranger' is to oppose"):
        BOARD.fold([presented("the-stranger")])


def test_the_rules_leave_opening_and_ending_to_the_personas() -> None:
    """One first sentence for all of them makes eight views open alike."""
    rules = fill("board/advisor", {"challenged": ""})
    assert not re.search(r"(?i)first sentence|\b(open|begin|end|close|finish) with", rules)
    for one in ADVISORS:
        told = prompts.view(BOARD.fold([presented(), BoardConvened()]), one, small=False).system
        assert one.voice.opening in told
        assert one.voice.ending in told
