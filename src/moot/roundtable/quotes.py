"""Whether words that somebody is said to have said were said: quotes, looked up in the numbered transcript.

Knows words and sentences. What it returns is always the transcript's own text, in whole sentences, so that a
quote can neither be invented nor shortened to mean the opposite. Refuses to know what a quote is to prove.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

FEWEST_WORDS = 3
"""Fewer are found by chance, unless they are a whole sentence."""

_WORD = re.compile(r"[\u2e80-\uffff]|[^\W_\u2e80-\uffff]+")
"""Scripts that put no space between words have one for every sign."""
_SENTENCE_ENDS = re.compile(r"(?<=[.!?…])[\"'”’»)\]*_]*\s+|(?<=[。！？])|\n+")
_SHOWN = 80


@dataclass(frozen=True, slots=True)
class Statement:
    """What somebody has said, as it is numbered for whoever quotes it. One that `reports` only says where
    things stood before the discussion."""

    number: int
    by: str
    text: str
    reports: bool = False


class Quoted(msgspec.Struct, frozen=True):
    """What a model says was said. Untrusted."""

    turn: int
    quote: str
    by: str = ""


class Cited(msgspec.Struct, frozen=True):
    """What was said: `quote` stands in that turn, word for word, and `by` is who said it."""

    turn: int
    by: str
    quote: str


def look_up(quoted: Quoted, statements: Sequence[Statement]) -> Cited | str:
    """The whole sentences in which the quoted words stand, or why they are nobody's."""
    statement = next((one for one in statements if one.number == quoted.turn), None)
    if statement is None:
        return f"there is no turn {quoted.turn}"
    if quoted.by not in ("", statement.by):
        return f"turn {quoted.turn} is {statement.by}'s, and not {quoted.by[:_SHOWN]}'s"
    wanted = _words(quoted.quote)
    found = _find(wanted, statement.text)
    if not found:
        return f"turn {quoted.turn} does not say “{_shorten(quoted.quote)}”"
    if len(wanted) < FEWEST_WORDS and _words(found) != wanted:
        return f"“{_shorten(quoted.quote)}” is too little to go by"
    return Cited(statement.number, statement.by, found)


def only_asks(text: str) -> bool:
    """Whether each of its sentences is a question."""
    told = (text[begin:end].strip() for begin, end in _sentences(text))
    return all(sentence.rstrip("\"'”’»)*_").endswith(("?", "？")) for sentence in told if sentence)


def _find(wanted: Sequence[str], text: str) -> str:
    """The sentences around these words, one after the other; nothing if they are not there."""
    spans = [(found.start(), found.end(), found[0].casefold()) for found in _WORD.finditer(text)]
    words = [word for _, _, word in spans]
    for first in range(len(words) - len(wanted) + 1):
        if wanted and words[first : first + len(wanted)] == list(wanted):
            begin, end = spans[first][0], spans[first + len(wanted) - 1][1]
            around = [(a, b) for a, b in _sentences(text) if a < end and b > begin]
            return text[around[0][0] : around[-1][1]].strip()
    return ""


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    begin = 0
    for end in _SENTENCE_ENDS.finditer(text):
        yield begin, end.end()
        begin = end.end()
    yield begin, len(text)


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _shorten(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= _SHOWN else f"{plain[: _SHOWN - 1]}…"
