"""What is cited from evidence, as a surface shows it: where it stands in a text, and whether it holds.

Pure. How a citation is checked is for `evidence/citations.py`; it refuses to know who has said it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, Self

import msgspec

from moot.core.described import Described
from moot.core.flow import Event
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


def unverified_in(event: Event, items: Sequence[Evidence]) -> tuple[str, ...]:
    """The same of what a model has said or drafted with an event, in any of its fields; of what a person has,
    nothing."""
    by_model = getattr(event, "spoken", None) or getattr(event, "usage", None)
    plain = msgspec.to_builtins(event) if by_model is not None else {}
    return unverified(texts_in({name: one for name, one in plain.items() if name != "spoken"}), items)


def texts_in(value: Any) -> Iterator[str]:
    """All texts in plain values."""
    match value:
        case str():
            yield value
        case dict():
            yield from texts_in(tuple(value.values()))
        case list() | tuple():
            for one in value:
                yield from texts_in(one)


# -- in a text that is going to be drawn -----------------------------------------------------------

_SIGNS = {check: chr(0xE000 + place) for place, check in enumerate(Check)}
"""Characters that mean nothing to anybody else; digits of their own say how many lines there are."""
_CHECKS = {sign: check for check, sign in _SIGNS.items()}
_DIGITS = "".join(chr(0xE010 + digit) for digit in range(10))
_ANY = "".join(_CHECKS)
_NO_SIGN = str.maketrans("", "", _ANY + _DIGITS)
_TO_SIGNS, _FROM_SIGNS = str.maketrans("0123456789", _DIGITS), str.maketrans(_DIGITS, "0123456789")
_SIGN = re.compile(rf"([{_ANY}])([{_DIGITS}]*)")
_SIGNED = re.compile(rf"\\?\[([^\[\]\\]*)\\?\]([{_ANY}{_DIGITS}]+)")
"""Also where its brackets have been escaped since."""


def sign(text: str, items: Sequence[Evidence]) -> str:
    """The text with a sign behind its brackets for each citation within, so that it may be drawn piece by
    piece."""
    text = unsigned(text)
    every = [(end, list(group)) for end, group in groupby(citations.check(text, items), lambda one: one.end)]
    for end, group in reversed(every):
        signs = "".join(map(_sign, group))
        text = f"{text[:end]}{signs}{text[end:]}"
    return text


def _sign(one: Citation) -> str:
    count = "" if one.has is None else str(one.has).translate(_TO_SIGNS)
    return f"{_SIGNS[one.check]}{count}"


def _signed(cite: Citation, sign: str, count: str) -> Citation:
    has = int(count.translate(_FROM_SIGNS)) if count else None
    return cite.with_check(_CHECKS[sign], has)


def unsigned(text: str) -> str:
    return text.translate(_NO_SIGN)


def pieces(text: str) -> list[str | tuple[Citation, ...]]:
    """What was signed: the words between brackets, and what is cited within each."""
    found: list[str | tuple[Citation, ...]] = []
    at = 0
    for one in _SIGNED.finditer(text):
        cites = citations.check(f"[{one[1]}]", ())
        signs = _SIGN.findall(one[2])
        if len(cites) != len(signs):
            continue
        found.append(text[at : one.start()])
        found.append(tuple(_signed(cite, *sign) for cite, sign in zip(cites, signs, strict=True)))
        at = one.end()
    found.append(text[at:])
    return [piece for piece in found if piece]
