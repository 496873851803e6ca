"""A menu asks for what it offers, and an answer is the event that was declared beside it."""

from __future__ import annotations

import pytest

from moot.core.flow import AskPerson, Choice, Event, PersonAnswered, Takes
from moot.core.menu import Menu


class Left(Event, frozen=True):
    pass


class Said(Event, frozen=True):
    text: str = ""


LEAVE, SAY = Choice("leave", "Leave"), Choice("say", "Say something", Takes.OPTIONAL_TEXT)
CLOSED: Menu[Left | Said] = Menu("door", "where to", {LEAVE: Left(), SAY: Said})
OPEN: Menu[Left | Said] = Menu("door", "your words", {LEAVE: Left()}, Said, optional=True)


def test_a_menu_asks_for_what_it_offers_in_its_order() -> None:
    assert CLOSED.ask("1") == AskPerson("door", "where to", "1", (LEAVE, SAY))
    assert OPEN.ask("2") == AskPerson("door", "your words", "2", (LEAVE,), optional=True, free_text=True)


@pytest.mark.parametrize(
    ("menu", "answer", "event"),
    [
        (CLOSED, PersonAnswered(choice="leave"), Left()),
        (CLOSED, PersonAnswered(choice="say"), Said("")),
        (CLOSED, PersonAnswered(" hello ", "say"), Said("hello")),
        (OPEN, PersonAnswered(" hello "), Said("hello")),
        (OPEN, PersonAnswered(choice="leave"), Left()),
    ],
)
def test_an_answer_is_the_event_that_its_choice_leads_to(
    menu: Menu[Left | Said], answer: PersonAnswered, event: Event
) -> None:
    assert menu.event(answer) == event
