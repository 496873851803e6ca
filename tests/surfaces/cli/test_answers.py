from __future__ import annotations

import asyncio

import pytest

from moot.errors import AnswersExhausted, FileDamaged, InvalidInput
from moot.flows.flow import AskPerson
from moot.runner import Left
from moot.surfaces.cli.answers import Answer, FirstSays, NoPerson, ScriptedPerson, parse_answers

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
        ("- ok\n- [", 2, "no valid YAML"),
        ("- 3", None, "reply 1"),
        ("- ok\n- {at: x}", None, "reply 2"),
        ("- {at: x, reply: y, more: z}", None, "reply 1"),
        ("- yes: no", None, "reply 1"),
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


def test_an_optional_question_may_stay_open() -> None:
    for person in (ScriptedPerson([]), NoPerson()):
        with pytest.raises(Left):
            asyncio.run(person.answer(FOLLOW_UP, None))


def test_a_scripted_reply_that_is_refused_is_an_error_not_a_loop() -> None:
    with pytest.raises(InvalidInput, match="step 'question'"):
        asyncio.run(ScriptedPerson([Answer("x")]).answer(QUESTION, "question: is empty"))


def test_what_was_given_beforehand_is_said_first() -> None:
    person = FirstSays("given", ScriptedPerson([Answer("then")]))

    async def main() -> list[str]:
        return [await person.answer(QUESTION, None), await person.answer(FOLLOW_UP, None)]

    assert asyncio.run(main()) == ["given", "then"]
