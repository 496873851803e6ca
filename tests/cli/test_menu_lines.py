"""What somebody types at a menu, and which choice it is."""

from __future__ import annotations

import asyncio

import pytest

from moot.ask.flow import ASK, AnswerFailed, AskOpened, QuestionAsked
from moot.cli.answers import Answer, ScriptedPerson
from moot.cli.menu_lines import TypingPerson, answerable, read_line, shown
from moot.core.flow import AskPerson, Choice, PersonAnswered
from moot.errors import InvalidInput


def chosen(choice: str, text: str = "") -> PersonAnswered:
    return PersonAnswered(text, choice)


def asked(effects: tuple[object, ...]) -> AskPerson:
    (effect,) = effects
    assert isinstance(effect, AskPerson)
    return effect


def refused(ask: AskPerson, line: str) -> str:
    with pytest.raises(InvalidInput) as raised:
        read_line(ask, line)
    return str(raised.value)


YES_OR_NO = AskPerson("approve", "really? (y or n)", "1", (Choice("yes", "yes"), Choice("no", "no")))


@pytest.mark.parametrize(("line", "choice"), [("y", "yes"), ("Yes", "yes"), (" N ", "no"), ("no", "no")])
def test_yes_and_no_have_a_letter_and_a_word(line: str, choice: str) -> None:
    assert read_line(YES_OR_NO, line) == chosen(choice)


@pytest.mark.parametrize("line", ["", "perhaps", "yes please", "yn"])
def test_everything_else_is_neither(line: str) -> None:
    assert refused(YES_OR_NO, line) == f"choice: {line!r} is neither y nor n"


def test_a_choice_without_a_letter_is_typed_as_its_id() -> None:
    ask = AskPerson("s", "what next", "1", (Choice("turn-round", "Turn round"),))
    assert list(shown(ask)) == [("turn-round", "Turn round")]
    assert read_line(ask, "Turn-Round") == chosen("turn-round")
    assert refused(ask, "turn") == "choice: 'turn' is none of those offered: turn-round"


def test_a_line_that_stands_for_nothing_is_asked_for_again() -> None:
    class Reader(ScriptedPerson):
        problems: list[str | None] = []  # noqa: RUF012

        async def answer(self, ask: AskPerson, problem: str | None) -> str:
            self.problems.append(problem)
            return await super().answer(ask, None)

    person = TypingPerson(Reader([Answer("perhaps"), Answer("y")]))
    assert asyncio.run(person.answer(YES_OR_NO, None)) == chosen("yes")
    assert Reader.problems == [None, "choice: 'perhaps' is neither y nor n"]


# -- asking a persona ----------------------------------------------------------------------------

FAILED = asked(
    ASK.pending(
        ASK.fold([AskOpened("ada", "local"), QuestionAsked("Why?"), AnswerFailed("ProviderDown", "529")])
    )
)


@pytest.mark.parametrize("line", [" R ", "r", "Retry"])
def test_a_letter_or_a_word_retries_a_question(line: str) -> None:
    assert read_line(FAILED, line) == chosen("retry")


@pytest.mark.parametrize("line", ["really?", "retry it with less", "", "r?"])
def test_everything_else_is_another_question(line: str) -> None:
    assert read_line(FAILED, f" {line} ") == PersonAnswered(line)


def test_what_may_be_answered_is_put_in_the_words_of_somebody_who_types() -> None:
    assert answerable(FAILED) == "r to retry, or another question: r = Retry: ask the same again"
