"""The person of a case."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.person import NotTaken, Script, Turn
from evals.prose import has_word, says, sentences, shorten
from moot.core.flow import AskPerson, Choice, PersonAnswered
from moot.core.runner import UserQuit

MENU = AskPerson("menu", "what next", "1", (Choice("go-on", "Go on"), Choice("stop", "Stop")), free_text=True)


def answers(script: Script, asks: Sequence[AskPerson]) -> list[PersonAnswered]:
    return [asyncio.run(script.answer(ask, None)) for ask in asks]


def test_each_turn_is_said_once_where_it_fits_and_then_what_is_always_said() -> None:
    script = Script([Turn("q*", "Yes."), Turn("menu", "Wait."), Turn("end")], [Turn("menu", choice="stop")])
    question = AskPerson("question", "your answer", "1", free_text=True)
    assert answers(script, [MENU, question, MENU]) == [
        PersonAnswered("Wait."),
        PersonAnswered("Yes."),
        PersonAnswered("", "stop"),
    ]
    assert script.left == (Turn("end"),)


def test_of_several_choices_the_first_that_is_offered_is_taken() -> None:
    assert answers(Script([Turn("menu", choice="deeper|go-on|stop")]), [MENU]) == [
        PersonAnswered("", "go-on")
    ]


def test_a_turn_waits_for_a_menu_that_offers_its_choice_and_for_whom_it_is_meant() -> None:
    script = Script(
        [Turn("menu", choice="deeper"), Turn("menu", "No.", to="next"), Turn("menu", "Hm.", to="Maya")]
    )
    assert answers(script, [MENU]) == [PersonAnswered("No.")]
    with pytest.raises(NotTaken, match="nothing to say at menu"):
        answers(script, [MENU])


def test_the_moment_of_a_turn_begins_when_it_is_said() -> None:
    moments: list[str] = []
    answers(Script([Turn("menu", "a", during="one"), Turn("menu", "b")], (), moments.append), [MENU, MENU])
    assert moments == ["one"]


def test_when_all_is_said_the_person_leaves() -> None:
    with pytest.raises(UserQuit):
        answers(Script([], [Turn("menu", "More.")]), [MENU])


def test_an_answer_that_is_not_taken_is_a_mistake_of_the_case() -> None:
    with pytest.raises(NotTaken, match="is too long"):
        asyncio.run(Script([Turn("menu", "x")]).answer(MENU, "is too long"))


# -- what is read off a reply --------------------------------------------------------------------


@pytest.mark.parametrize("text", ["It is 14.", "14 April", "(14)", "of 14, or so", "14 weeks"])
def test_a_number_is_found_as_a_word(text: str) -> None:
    assert has_word(text, "14")


@pytest.mark.parametrize("text", ["114", "14.5 weeks", "14,000", "a14", "it's 140"])
def test_a_number_is_not_found_within_another(text: str) -> None:
    assert not has_word(text, "14")


def test_of_each_group_one_word_is_enough_and_none_is_not() -> None:
    assert says("Eleven weeks, to the\nend of a month", [["11", "eleven"], ["end of a month"]])
    assert not says("Eleven weeks", [["11", "eleven"], ["month"]])


@given(st.text(max_size=200))
def test_sentences_hold_every_sign_but_white_space(text: str) -> None:
    joined = "".join(sentences(text))
    assert len("".join(joined.split())) <= len("".join(text.split()))
    assert all(sentence.strip() == sentence != "" for sentence in sentences(text))


@given(st.text(max_size=300), st.integers(5, 50))
def test_a_note_is_one_line_that_fits(text: str, most: int) -> None:
    assert len(shorten(text, most)) <= most
    assert "\n" not in shorten(text, most)
