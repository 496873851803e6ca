"""What somebody types at a menu, and which choice it is."""

from __future__ import annotations

import asyncio

import pytest

from moot.ask.flow import ASK, AnswerFailed, AskOpened, QuestionAsked
from moot.board.events import (
    AdvisorFailed,
    AdvisorSpoke,
    BoardConvened,
    BoardEvent,
    BoardStopped,
    Brief,
    BriefDrafted,
    BriefRequested,
    Consensus,
    DecisionPresented,
    Member,
    Question,
    QuestionsDrafted,
    QuestionsFailed,
    Recommendation,
)
from moot.board.flow import BOARD
from moot.cli.answers import Answer, ScriptedPerson
from moot.cli.menu_lines import TypingPerson, answerable, read_line, shown
from moot.core.flow import AskPerson, Choice, PersonAnswered, Spoken
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


# -- the board -----------------------------------------------------------------------------------

BILL = Spoken("local", 1, 1, None, 1)
MEMBERS = tuple(Member(name.lower(), name, "advisor", "looks at it") for name in ("Ada", "Ben", "Cleo"))
PRESENTED: list[BoardEvent] = [DecisionPresented("Ship?", MEMBERS, "independent", "local")]
DRAFTED = BriefDrafted(
    Brief(Consensus((), "weak"), (), (), Recommendation("Ship.", "low", ("tests pass", "money lasts"))), BILL
)
HEARD: list[BoardEvent] = [
    *PRESENTED,
    BoardConvened(),
    AdvisorSpoke("ada", "Yes.", BILL),
    AdvisorFailed("ben", "ProviderDown", "529"),
    AdvisorSpoke("cleo", "No.", BILL),
    DRAFTED,
]


def board(*events: BoardEvent) -> AskPerson:
    return asked(BOARD.pending(BOARD.fold(events)))


QUESTION = board(*PRESENTED, QuestionsDrafted((Question("q1", "How long?"),), BILL))
NO_QUESTIONS = board(*PRESENTED, QuestionsFailed("ProviderDown", "529"))
STOPPED = board(*PRESENTED, BoardConvened(), BoardStopped())
CHALLENGE = board(*HEARD)
LAST_CHALLENGE = board(*HEARD[:-3], HEARD[3], AdvisorFailed("cleo", "ProviderDown", "529"), DRAFTED)
REVIEW = board(*HEARD, BriefRequested())


@pytest.mark.parametrize(
    ("ask", "line", "answer"),
    [
        (QUESTION, "", chosen("skip-question")),
        (QUESTION, "C", chosen("convene")),
        (QUESTION, "convene", PersonAnswered("convene")),
        (QUESTION, "c is the speed of light", PersonAnswered("c is the speed of light")),
        (NO_QUESTIONS, "c", chosen("convene")),
        (STOPPED, "G", chosen("go-on")),
        (CHALLENGE, "", chosen("next")),
        (CHALLENGE, "b", chosen("brief")),
        (CHALLENGE, "Why?", PersonAnswered("Why?")),
        (LAST_CHALLENGE, "", chosen("next")),
        (LAST_CHALLENGE, "B", chosen("next")),
        (REVIEW, "1 Why?", chosen("challenge-1", "Why?")),
        (REVIEW, "3: Why\nnot?", chosen("challenge-3", "Why\nnot?")),
        (REVIEW, "r 2", chosen("ask-again-2")),
        (REVIEW, "R", chosen("ask-again-2")),
        (REVIEW, "r  ALL", chosen("ask-again-2")),
        (REVIEW, "b", chosen("brief")),
        (REVIEW, "t 2", chosen("tick-2")),
        (REVIEW, "e my record.md", chosen("export", "my record.md")),
    ],
)
def test_lines_on_a_board(ask: AskPerson, line: str, answer: PersonAnswered) -> None:
    assert read_line(ask, line) == answer
    ask.check(answer)


@pytest.mark.parametrize(
    ("ask", "line", "problem"),
    [
        (NO_QUESTIONS, "Till May.", "none of those offered: c"),
        (NO_QUESTIONS, "convene", "none of those offered: c"),
        (STOPPED, "go", "none of those offered: g"),
        (STOPPED, "g now", "none of those offered: g"),
        (REVIEW, "t 3", "t: name the number of a condition, 1 to 2"),
        (REVIEW, "t", "none of those offered"),
        (REVIEW, "2 Why?", "none of those offered"),
        (REVIEW, "0 Why?", "none of those offered"),
        (REVIEW, "1", "none of those offered"),
        (REVIEW, "Why?", "none of those offered: NUMBER TEXT, r 2, b, t NUMBER, e FILE"),
        (REVIEW, "b now", "none of those offered"),
        (REVIEW, "e", "none of those offered"),
        (REVIEW, "r 1", "r: name the number of an advisor who did not answer"),
        (REVIEW, "r 9", "r: name the number of an advisor who did not answer"),
    ],
)
def test_lines_that_a_board_refuses(ask: AskPerson, line: str, problem: str) -> None:
    assert problem in refused(ask, line)


def test_the_menu_of_a_board_has_a_line_for_each_kind_of_choice() -> None:
    assert list(shown(REVIEW)) == [
        ("NUMBER TEXT", "Challenge an advisor: 1 Ada, 3 Cleo"),
        ("r 2", "Ask Ben again"),
        ("b", "Show the brief"),
        ("t NUMBER", "Tick a condition of the brief, or take its tick back"),
        ("e FILE", "Export the record: .md, .json, .html"),
    ]
    assert list(shown(CHALLENGE)) == [("", "Go on to Cleo"), ("b", "Go to the brief")]
    assert list(shown(LAST_CHALLENGE)) == [("", "Go to the brief")]
