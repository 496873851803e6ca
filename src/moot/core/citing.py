"""What is cited from evidence, as a surface shows it: where it stands in a text, and whether it holds.

Pure. How a citation is checked is for `evidence/citations.py`; it refuses to know who has said it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Self

from moot.core.described import Described
from moot.evidence import citations
from moot.evidence.citations import Check, Citation
from moot.evidence.items import Evidence


class CitationOut(Described, frozen=True):
    """`start` and `end` say where its brackets are in the text, counted in characters. Without lines, all of
    the item is cited."""

    item: str
    first: int | None
    last: int | None
    start: int
    end: int
    check: Check

    @classmethod
    def of(cls, one: Citation) -> Self:
        first, last = one.lines or (None, None)
        return cls(one.item, first, last, one.start, one.end, one.check)


class CitedText(Described, frozen=True):
    """A text that cites something, and what."""

    text: str
    citations: tuple[CitationOut, ...]


def cited(text: str, items: Sequence[Evidence]) -> tuple[CitationOut, ...]:
    return tuple(CitationOut.of(one) for one in citations.check(text, items))


def cited_texts(texts: Iterable[str], items: Sequence[Evidence]) -> tuple[CitedText, ...]:
    """Those of them that cite something, once each."""
    found = ((text, cited(text, items)) for text in dict.fromkeys(texts))
    return tuple(CitedText(text, there) for text, there in found if there)


def unverified(texts: Iterable[str], items: Sequence[Evidence]) -> tuple[str, ...]:
    """What is cited in them that is not there, in words."""
    found = (one for text in texts for one in citations.unverified(text, items))
    return tuple(dict.fromkeys(map(citations.in_words, found)))


# -- in a text that is going to be drawn -----------------------------------------------------------

_SIGNS = {Check.VERIFIED: "\ue000", Check.NOT_IN_LINES: "\ue001", Check.NO_SUCH_ITEM: "\ue002"}
"""Characters that mean nothing to anybody else."""
_CHECKS = {sign: check for check, sign in _SIGNS.items()}
_ANY = "".join(_CHECKS)
_NO_SIGN = str.maketrans("", "", _ANY)
_SIGNED = re.compile(rf"\\?\[([^\[\]\\]*)\\?\]([{_ANY}]+)")
"""Also where its brackets have been escaped since."""


def sign(text: str, items: Sequence[Evidence]) -> str:
    """The text with a sign behind its brackets for each citation within, so that it may be drawn piece by
    piece."""
    text = unsigned(text)
    every = [(end, list(group)) for end, group in groupby(citations.check(text, items), lambda one: one.end)]
    for end, group in reversed(every):
        signs = "".join(_SIGNS[one.check] for one in group)
        text = f"{text[:end]}{signs}{text[end:]}"
    return text


def unsigned(text: str) -> str:
    return text.translate(_NO_SIGN)


def pieces(text: str) -> list[str | tuple[Citation, ...]]:
    """What was signed: the words between brackets, and what is cited within each."""
    found: list[str | tuple[Citation, ...]] = []
    at = 0
    for one in _SIGNED.finditer(text):
        cites = citations.check(f"[{one[1]}]", ())
        if len(cites) != len(one[2]):
            continue
        found.append(text[at : one.start()])
        found.append(tuple(cite.with_check(_CHECKS[sign]) for cite, sign in zip(cites, one[2], strict=True)))
        at = one.end()
    found.append(text[at:])
    return [piece for piece in found if piece]
