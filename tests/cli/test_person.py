"""The person at a menu: the real line editor, fed with the bytes that keys send."""

from __future__ import annotations

import asyncio
import os
import pty

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.output import DummyOutput

from moot.cli import screen
from moot.cli.person import TerminalPerson
from moot.cli.screen import wrapped
from moot.core.flow import AskPerson, Choice
from moot.core.runner import UserQuit

ENTER, ALT_ENTER, CTRL_J, LEFT, CTRL_D, CTRL_C = "\r", "\x1b\r", "\n", "\x1b[D", "\x04", "\x03"
MENU = AskPerson(
    "questions",
    "a number to answer that question",
    "1",
    (Choice("question-1", "[unanswered] Who?"), Choice("back", "Back")),
)
WORDS = AskPerson("comment", "what you think of it", "2")


def answered(typed: str, ask: AskPerson = MENU, problem: str | None = None) -> str:
    async def whole() -> str:
        with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
            keys.send_text(typed)
            return await TerminalPerson().answer(ask, problem)

    return asyncio.run(whole())


def test_a_menu_shows_every_option_with_its_key(capsys: pytest.CaptureFixture[str]) -> None:
    assert answered(f"1{ENTER}") == "1"
    told = capsys.readouterr().err
    assert "A number to answer that question:\n  [1] [unanswered] Who?\n  [B] Back\n" in told
    assert "Ctrl-D leaves, ? helps" in told


def test_a_question_mark_explains_the_step_and_asks_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert answered(f"?{ENTER}1{ENTER}") == "1"
    told = capsys.readouterr().err
    assert "Answer any of them, in any order" in told
    assert told.count("[1] [unanswered] Who?") == 2


def test_words_can_have_several_lines() -> None:
    assert answered(f"one{ALT_ENTER}two{CTRL_J}three{ENTER}", WORDS) == "one\ntwo\nthree"


def test_what_is_pasted_keeps_its_lines() -> None:
    assert answered(f"\x1b[200~one\ntwo\n\x1b[201~three{ENTER}", WORDS) == "one\ntwo\nthree"


def test_the_left_arrow_goes_back_where_that_can_be_and_moves_elsewhere() -> None:
    assert answered(LEFT) == "B"
    assert answered(f"ac{LEFT}b{ENTER}") == "abc"
    assert answered(f"{LEFT}x{ENTER}", WORDS) == "x"


def test_an_empty_line_is_an_answer_only_where_one_is_offered() -> None:
    assert answered(f"{ENTER}{ENTER}1{ENTER}") == "1"
    listening = AskPerson("roundtable", "your thoughts", "3", (Choice("listen", "Listen on"),))
    assert answered(ENTER, listening) == ""


def test_an_empty_line_leaves_what_may_be_left(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UserQuit):
        answered(ENTER, AskPerson("next", "1 waiting", "4", (Choice("begin-next", "Accept"),), optional=True))
    assert "Enter leaves" in capsys.readouterr().err


def test_ctrl_d_leaves_and_ctrl_c_interrupts() -> None:
    with pytest.raises(UserQuit) as left:
        answered(CTRL_D)
    assert not left.value.interrupted
    with pytest.raises(UserQuit) as interrupted:
        answered(CTRL_C)
    assert interrupted.value.interrupted


def test_a_refused_answer_is_asked_for_again_with_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    answered(f"1{ENTER}", problem="choice: 'x' is none of those offered")
    assert "\n'x' is none of those offered.\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("problem", "told"),
    [
        ("choice: t takes them up", "T takes them up."),
        (
            "question: has 5,599 characters; at most 5,000 are taken",
            "Your question has 5,599 characters; at most",
        ),
        ("answer: is empty; say something, or go back", "Your answer is empty; say something"),
        ("'clear' is neither y nor n", "'clear' is neither y nor n."),
    ],
)
def test_a_refusal_is_a_sentence_without_the_name_of_a_field(
    capsys: pytest.CaptureFixture[str], problem: str, told: str
) -> None:
    answered(f"1{ENTER}", problem=problem)
    assert f"\n{told}" in capsys.readouterr().err


@pytest.mark.parametrize(("times", "below"), [(1, None), (20, "None of those offered.")])
def test_many_words_that_were_refused_can_be_edited(times: int, below: str | None) -> None:
    """A few are sooner typed again; the cursor is at their end. Where they fill the screen, the reason stands
    below them."""
    words = "and what I wanted to say is rather long, because it has a reason. " * times

    async def whole() -> list[tuple[str, str | None]]:
        with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
            one = TerminalPerson()
            then = []
            for typed in (words, "zebra"):
                keys.send_text(f"{typed}{ENTER}")
                await one.answer(MENU, None)
                keys.send_text(f"1{ENTER}")
                said = await one.answer(MENU, "choice: none of those offered")
                then.append((said, one._prompt.bottom_toolbar))
        return then

    assert asyncio.run(whole()) == [(f"{words}1", below), ("1", None)]


def test_help_names_no_key_that_does_nothing_here(capsys: pytest.CaptureFixture[str]) -> None:
    answered(f"?{ENTER}yes{ENTER}", AskPerson("idea", "your idea", "1"))
    idea = capsys.readouterr().err
    answered(f"?{ENTER}1{ENTER}")
    menu = capsys.readouterr().err
    for key in ("Type a letter or a number", "The left arrow"):
        assert key in menu
        assert key not in idea
    assert "Alt-Enter" in idea
    assert "Ctrl-D leaves; everything that was complete is saved." in menu
    assert "/with PATH… gives evidence" in idea


def test_a_label_that_somebody_wrote_stays_on_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    choice = Choice("question-1", "[answered: one\n  two\x1b[2J " + "x" * 2_000 + "] Who?")
    answered(f"1{ENTER}", AskPerson("questions", "which", "5", (choice,)))
    told = capsys.readouterr().err
    assert "  [1] [answered: one two" in told
    assert "\x1b[2J" not in told
    assert "x" * 2_000 not in told


def test_a_question_is_shown_to_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    """What is asked stands last, and a question has up to 800 characters."""
    question = f"[answered: {'x ' * 40}] {'why ' * 190}Who is it?"
    answered(f"1{ENTER}", AskPerson("questions", "which", "5", (Choice("question-1", question),)))
    assert "Who is it?\n" in capsys.readouterr().err


def test_text_is_wrapped_below_its_first_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen, "columns", lambda: 24)
    assert wrapped("one two three four five six", 4) == "    one two three four\n    five six"
    assert wrapped("  1. one two three four five") == "  1. one two three four\n     five"


def test_an_enter_that_was_typed_ahead_sends() -> None:
    """A terminal turns Enter into a line feed, which is Ctrl-J, for as long as no prompt reads from it."""
    ours, theirs = pty.openpty()

    os.write(ours, b"D no\rone\rtwo\r")

    async def whole() -> tuple[str, str, str]:
        person = TerminalPerson()
        with create_app_session(input=Vt100Input(tty), output=DummyOutput()):
            return (
                await asyncio.wait_for(person.answer(MENU, None), 20),
                await asyncio.wait_for(person.answer(WORDS, None), 20),
                await asyncio.wait_for(person.answer(WORDS, None), 20),
            )

    with os.fdopen(theirs, encoding="utf-8") as tty:
        assert asyncio.run(whole()) == ("D no", "one", "two")
    os.close(ours)
