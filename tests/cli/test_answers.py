from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from moot.cli.answers import Answer, FirstSays, NoPerson, ScriptedPerson, parse_answers
from moot.cli.conversation import answering
from moot.cli.menu_lines import LineReader
from moot.core.flow import AskPerson, Choice
from moot.core.runner import UserQuit
from moot.errors import AnswersExhausted, FileDamaged, InvalidInput

FOLLOW_UP = AskPerson("follow-up", "a follow-up question", "1", optional=True)
QUESTION = AskPerson("question", "your question", "0")


def test_replies_are_texts_or_pinned_to_a_step() -> None:
    text = "- Why?\n- {at: failed, reply: r}\n- |\n  Two\n  lines\n"
    assert parse_answers(text, "a.yaml") == [Answer("Why?"), Answer("r", "failed"), Answer("Two\nlines\n")]
    assert parse_answers("", "a.yaml") == []


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("why", None, "must be a list"),
        ("- ok\n- [", 2, "not valid YAML"),
        ("- 3", None, "reply 1"),
        ("- ok\n- {at: x}", None, "reply 2"),
        ("- {at: x, reply: y, more: z}", None, "reply 1"),
        ("- yes: no", None, "reply 1"),
        ("- 2026-99-99", None, "a value in it cannot be read: month must be in 1..12"),
        ("- !!int x", None, "a value in it cannot be read"),
        (f"- {'9' * 5000}", None, "a value in it cannot be read: Exceeds the limit"),
        ("- " + "[" * 5000, 1, "nested more than 50 levels deep"),
        (f"- {'x ' * 150_000}", None, "larger than 256 KB"),
    ],
)
def test_what_is_no_list_of_replies_is_named(text: str, line: int | None, said: str) -> None:
    with pytest.raises(FileDamaged) as raised:
        parse_answers(text, "a.yaml")
    assert said in str(raised.value)
    assert raised.value.line == line


def test_a_pinned_reply_waits_for_its_step() -> None:
    person = ScriptedPerson([Answer("later", "follow-up"), Answer("first")])

    async def main() -> list[str]:
        return [await person.answer(QUESTION, None), await person.answer(FOLLOW_UP, None)]

    assert asyncio.run(main()) == ["first", "later"]
    assert person.unused() == 0


def test_running_out_names_the_step_and_what_may_be_answered() -> None:
    with pytest.raises(AnswersExhausted, match=r"step 'question' needs an answer \(your question\)"):
        asyncio.run(ScriptedPerson([]).answer(QUESTION, None))
    with pytest.raises(AnswersExhausted, match="no terminal"):
        asyncio.run(NoPerson().answer(QUESTION, None))


MENU = AskPerson(
    "menu",
    "what next",
    "3",
    (Choice("elaborate", "Elaborate"), Choice("skip-question", "Skip this")),
    hint="Or type naturally.",
)


@pytest.mark.parametrize("person", [ScriptedPerson([]), NoPerson()])
def test_running_out_names_every_choice(person: LineReader) -> None:
    with pytest.raises(AnswersExhausted) as raised:
        asyncio.run(person.answer(MENU, None))
    assert "step 'menu' needs an answer (what next: E = Elaborate, an empty line = Skip this" in str(
        raised.value
    )
    assert "Or type naturally." in str(raised.value)


def test_a_refused_answer_names_every_choice() -> None:
    with pytest.raises(InvalidInput, match=r"step 'menu'.*is not offered.*E = Elaborate"):
        asyncio.run(ScriptedPerson([]).answer(MENU, "'x' is not offered"))


def test_running_out_where_the_conversation_may_rest_is_said_too(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "answers.yaml"
    file.write_text("[]", encoding="utf-8")
    with answering(file) as person, pytest.raises(UserQuit):
        asyncio.run(person.answer(FOLLOW_UP, None))
    said = capsys.readouterr().err
    assert "has no reply left for step 'follow-up' (a follow-up question)" in said


def test_an_optional_question_may_stay_open() -> None:
    for person in (ScriptedPerson([]), NoPerson()):
        with pytest.raises(UserQuit):
            asyncio.run(person.answer(FOLLOW_UP, None))


def test_a_scripted_reply_that_is_refused_is_an_error_not_a_loop() -> None:
    with pytest.raises(InvalidInput, match="step 'question'"):
        asyncio.run(ScriptedPerson([Answer("x")]).answer(QUESTION, "question: is empty"))


def test_what_was_given_beforehand_is_said_first() -> None:
    person = FirstSays("given", ScriptedPerson([Answer("then")]))

    async def main() -> list[str]:
        return [await person.answer(QUESTION, None), await person.answer(FOLLOW_UP, None)]

    assert asyncio.run(main()) == ["given", "then"]
