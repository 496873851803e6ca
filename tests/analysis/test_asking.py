from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.analysis.asking import is_only_questions, may_ask


@pytest.mark.parametrize(
    "text",
    [
        "What do you mean by throughput?",
        "what do you mean by throughput",
        "About 300. Why do you ask?",
        "I don't understand the second question.",
        "Sorry, I do not follow",
        "please explain 'blast radius'",
        "Could you give me an example",
        "Well, how do I find that out",
        "スループットとは何ですか？",
        "ما المقصود؟",
    ],
)
def test_what_may_be_a_question_is_looked_at(text: str) -> None:
    assert may_ask(text)


@pytest.mark.parametrize(
    "text",
    [
        "Twenty people, mostly on trains.",
        "not known yet",
        "When a train enters a tunnel, they lose the page.",
        "Whoever reads offline.",
        "What they see today is an error.",
        "1. Twenty\n2. On trains",
    ],
)
def test_a_plain_answer_costs_no_look(text: str) -> None:
    assert not may_ask(text)


@pytest.mark.parametrize(
    ("text", "only"),
    [
        ("What do you mean by throughput?", True),
        ("Throughput? What is that?", True),
        ("About 300. Why do you ask?", False),
        ("Why do you ask? It is 300.", False),
        ("1. Twenty?\n2. On trains", False),
        ("", False),
    ],
)
def test_only_questions_are_told_from_a_mixture(text: str, only: bool) -> None:
    assert is_only_questions(text) is only


@given(st.text())
def test_whatever_consists_of_questions_may_ask(text: str) -> None:
    assert may_ask(text) or not is_only_questions(text)
