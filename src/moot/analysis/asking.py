"""Whether somebody who was asked something may be asking back instead.

Knows question marks, and how English sentences ask without one. Refuses to say what is meant: looking once
too often costs a short reply, but a question that is taken for an answer ends up in a document.
"""

from __future__ import annotations

import re

_MARKS = "?？؟"
_VERB = r"(?:is|are|was|were|do|does|did|can|could|would|should|will|have|has|exactly)\b"
_ASKS = re.compile(
    r"(?:(?:sorry|well|hm+|ok|okay|and|but|so|please)[, ]+)*"
    rf"(?:(?:what|why|how|which|who|when|where) {_VERB}|what's\b|why not\b|how (?:much|many|come)\b"
    r"|(?:can|could|would) you\b|(?:do|did) you mean\b|(?:please )?explain\b"
    r"|i (?:do not|don't|didn't|did not|cannot|can't) (?:\w+ )?(?:understand|follow|get)\b"
    r"|(?:i am|i'm)?\s*not sure what you mean)"
)


def may_ask(text: str) -> bool:
    """Whether it is worth looking whether there is a question in it."""
    return any(sentence[-1] in _MARKS or _ASKS.match(_normalize(sentence)) for sentence in _sentences(text))


def is_only_questions(text: str) -> bool:
    """Whether every sentence of it ends in a question mark."""
    sentences = _sentences(text)
    return bool(sentences) and all(sentence[-1] in _MARKS for sentence in sentences)


def questions_in(text: str) -> tuple[str, ...]:
    """Its sentences that end in a question mark."""
    return tuple(sentence for sentence in _sentences(text) if sentence[-1] in _MARKS)


def _sentences(text: str) -> list[str]:
    parts = re.split(rf"(?<=[.!…{_MARKS}])\s+|\n", text)
    return [part.strip() for part in parts if part.strip()]


def _normalize(sentence: str) -> str:
    return " ".join(sentence.casefold().replace("’", "'").split())
