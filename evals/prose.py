"""What can be read off a reply by code: sentences, whole words, and what is ruled out rather than proposed.

Plain matching, so that a score is the same on every machine and for every model. It knows no meaning: what it
takes for a rejection or a word is written down here, and tested.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

Groups = Sequence[Sequence[str]]
"""Of each group one word or phrase has to occur."""

_SENTENCE_END = re.compile(r"(?<=[.!?;])[\"'”’)\]]*\s+|\n+")
_REJECTS = re.compile(
    r"\b(?:no|not|never|without|neither|nor|instead|avoid\w*|rejected?|rejects|excluded?|excludes|"
    r"rul(?:e|es|ed|ing)|refus\w+|forb\w+|unwanted|dropp?\w*|drop|against|rather than|out of the question|"
    r"off the table|won't|isn't|aren't|don't|doesn't|cannot|can't|mustn't|needn't)\b|n['’]t\b",
    re.IGNORECASE,
)


def sentences(text: str) -> list[str]:
    return [part for each in _SENTENCE_END.split(text) if (part := each.strip())]


def has_word(text: str, word: str) -> bool:
    """As a whole word or phrase, in any case. White space is any white space, and a number is not part of a
    longer one."""
    spelt = r"\s+".join(map(re.escape, word.split()))
    return re.search(rf"(?<![\w]){spelt}(?![\w])(?![.,]\d)", text, re.IGNORECASE) is not None


def has_any(text: str, words: Iterable[str]) -> bool:
    return any(has_word(text, word) for word in words)


def says(text: str, groups: Groups) -> bool:
    return all(has_any(text, group) for group in groups)


def is_rejection(sentence: str) -> bool:
    return _REJECTS.search(sentence) is not None


def proposals_of(text: str, words: Sequence[str]) -> list[str]:
    """The sentences that speak of it and do not reject it."""
    return [one for one in sentences(text) if has_any(one, words) and not is_rejection(one)]


def shorten(text: str, most: int = 120) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
