"""What a person may answer: the choices that are offered, with their words, and text where it is taken."""

from __future__ import annotations

import pytest

from moot.core.flow import AskPerson, Choice, PersonAnswered, Takes, numbered
from moot.errors import InvalidInput

CHOICES = (
    Choice("approve", "Approve it"),
    Choice("discuss", "Discuss it", Takes.OPTIONAL_TEXT),
    Choice("export", "Export it", Takes.TEXT),
)
MENU = AskPerson("menu", "what next", "1", CHOICES)
OPEN_MENU = AskPerson("menu", "what next", "1", CHOICES, free_text=True)


@pytest.mark.parametrize(
    "answer",
    [
        PersonAnswered(choice="approve"),
        PersonAnswered(" \n", "approve"),
        PersonAnswered(choice="discuss"),
        PersonAnswered("Why?", "discuss"),
        PersonAnswered("a.md", "export"),
    ],
)
def test_what_is_offered_is_taken(answer: PersonAnswered) -> None:
    MENU.check(answer)
    OPEN_MENU.check(answer)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (PersonAnswered(choice="A"), "choice: 'A' is none of those offered: approve, discuss, export"),
        (PersonAnswered(choice=""), "choice: '' is none of those offered"),
        (PersonAnswered("now", "approve"), "choice: 'approve' takes no words"),
        (PersonAnswered(choice="export"), "choice: 'export' needs words"),
        (PersonAnswered(" ", "export"), "choice: 'export' needs words"),
        (PersonAnswered("approve"), "answer: has to be one of: approve, discuss, export"),
        (PersonAnswered(), "answer: has to be one of"),
    ],
)
def test_what_is_not_offered_is_refused_with_a_reason(answer: PersonAnswered, why: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        MENU.check(answer)
    assert why in str(raised.value)


def test_words_of_their_own_are_an_answer_only_where_the_flow_says_so() -> None:
    OPEN_MENU.check(PersonAnswered("approve"))
    AskPerson("question", "your question", "1", free_text=True).check(PersonAnswered("Why?"))


def test_things_that_are_told_apart_by_their_place_are_numbered_from_one() -> None:
    assert numbered("option", ["yes", "no"]) == {"option-1": "yes", "option-2": "no"}
