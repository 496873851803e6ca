"""What is cited from evidence, such as [E2:14-20], and whether it is there. Pure.

A citation is verified where its item has those lines and what is quoted beside it is in them. Whether the
words around it follow from the lines is for the reader: it refuses to know what they mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

import msgspec

from moot.evidence.items import Evidence

FEWEST_WORDS = 4
"""Fewer between quotation marks are a term, not a quotation."""


class Check(StrEnum):
    VERIFIED = "verified"
    NOT_IN_LINES = "not in the lines"
    """What is quoted is not in them."""
    NO_SUCH_LINES = "no such lines"
    NO_SUCH_ITEM = "no such item"


class Citation(msgspec.Struct, frozen=True):
    """`item` is E1, E2, …, and `lines` the first and the last; None for the whole item. `start` and `end` say
    where the brackets are in the text; several may share them: [E1:3, E2]. `quotes` is what is quoted
    beside it. `has` is how many lines the item has, where those that are cited are not among them."""

    item: str
    lines: tuple[int, int] | None
    start: int
    end: int
    check: Check = Check.VERIFIED
    quotes: tuple[str, ...] = ()
    has: int | None = None

    @property
    def problem(self) -> str:
        """What is wrong with it, where it is not verified: `no such lines, E1 has 5`."""
        if self.has is None:
            return str(self.check)
        return f"{self.check}, {self.item} has {self.has or 'none'}"

    @property
    def is_verified(self) -> bool:
        return self.check is Check.VERIFIED

    @property
    def number(self) -> int:
        """Of its item, from 1."""
        return int(self.item[1:])

    @property
    def shown(self) -> str:
        """As it stands in brackets: `E2:14-20`."""
        if self.lines is None:
            return self.item
        first, last = self.lines
        return f"{self.item}:{first}" if first == last else f"{self.item}:{first}-{last}"

    def with_check(self, check: Check, has: int | None = None) -> Citation:
        return msgspec.structs.replace(self, check=check, has=has)


def check(text: str, items: Sequence[Evidence]) -> tuple[Citation, ...]:
    """Every citation in the text, in order."""
    found = tuple(_citations(text))
    if not found:
        return ()
    checked = [_look_up(one, items) for one in found]
    for quote in _quotes(text, found):
        beside = [found[place] for place in quote.near]
        is_there = any(_is_in(quote.words, one, items) for one in beside)
        for place in quote.answering:
            one = checked[place]
            failed = one.is_verified and not is_there
            checked[place] = msgspec.structs.replace(
                one,
                check=Check.NOT_IN_LINES if failed else one.check,
                quotes=(*one.quotes, quote.words),
            )
    return tuple(checked)


def unverified(text: str, items: Sequence[Evidence]) -> tuple[Citation, ...]:
    return tuple(one for one in check(text, items) if not one.is_verified)


def in_words(one: Citation) -> str:
    """What is wrong with a citation that is not verified: `[E1:3]: not in the lines: "four of thirty"`."""
    quoted = ", ".join(f'"{words}"' for words in one.quotes)
    return f"[{one.shown}]: {one.problem}{': ' if quoted else ''}{quoted}"


def mark(text: str, items: Sequence[Evidence]) -> str:
    """The text, in which brackets with a citation that is not verified say so: "[E2:14] (unverified)"."""
    ends = {one.end: f" (unverified: {one.problem})" for one in unverified(text, items)}
    for end in sorted(ends, reverse=True):
        text = f"{text[:end]}{ends[end]}{text[end:]}"
    return text


# -- citations -----------------------------------------------------------------------------------

_RANGE = r"\d{1,7}(?:\s*[-–—]\s*\d{1,7})?"
_ONE = rf"E\d{{1,4}}(?:\s*:\s*{_RANGE})?"
_BRACKETS = re.compile(rf"\[\s*({_ONE}(?:\s*[,;]\s*(?:{_ONE}|{_RANGE}))*)\s*\]")
_PART = re.compile(r"(?:E(\d{1,4}))?(?:\s*:\s*)?(?:(\d{1,7})(?:\s*[-–—]\s*(\d{1,7}))?)?")


def _citations(text: str) -> Iterator[Citation]:
    for brackets in _BRACKETS.finditer(text):
        item = ""
        for part in re.split("[,;]", brackets[1]):
            read = _PART.fullmatch(part.strip())
            assert read is not None, part
            number, first, last = read.groups()
            item = f"E{int(number)}" if number else item
            lines = (int(first), int(last or first)) if first else None
            yield Citation(item, lines, *brackets.span())


def _look_up(one: Citation, items: Sequence[Evidence]) -> Citation:
    item = _item(one, items)
    if item is None:
        return one.with_check(Check.NO_SUCH_ITEM)
    has = len(item.lines) if item.text else 0
    if one.lines is None or 1 <= one.lines[0] <= one.lines[1] <= has:
        return one
    return one.with_check(Check.NO_SUCH_LINES, has)


def _item(one: Citation, items: Sequence[Evidence]) -> Evidence | None:
    return items[one.number - 1] if 1 <= one.number <= len(items) else None


# -- quotations ----------------------------------------------------------------------------------

_QUOTE = re.compile(
    r'(?<![\w"])"(?=\S)((?:[^"\n]|\n(?!\s*\n))+)(?<=\S)"(?!\w)'
    r"|[“„]((?:[^“”„\n]|\n(?!\s*\n))+)[”“]"
    r"|«((?:[^«»\n]|\n(?!\s*\n))+)»"
    r"|(?<!`)`([^`\n]+)`(?!`)"
)
_ENDS = re.compile(r"[.!?…][\"”“»)\]*_'’]*\s+(?=[^a-z\s])|\n\s*\n|\n(?=\s*(?:[-*•#>|]|\d+[.)])\s)")
"""Where a sentence, a paragraph or an item of a list ends."""
_GAP = re.compile(r"[\s,;:.!?()*_>|–—-]*")


@dataclass(slots=True)
class _Quotation:
    """`near` are the citations that may have it: those that it touches, else all of its sentence. Those right
    behind it, or else the nearest, are `answering` for it."""

    words: str
    start: int
    end: int
    near: list[int] = field(default_factory=list)
    answering: list[int] = field(default_factory=list)

    def distance(self, one: Citation) -> int:
        return one.start - self.end if one.start >= self.end else self.start - one.end


def _quotes(text: str, found: Sequence[Citation]) -> Iterator[_Quotation]:
    """What is quoted beside citations."""
    every = [
        _Quotation(next(filter(None, one.groups())), one.start(), one.end()) for one in _QUOTE.finditer(text)
    ]
    for first, last in _sentences(text, every, found):
        there = [
            place
            for place, one in enumerate(found)
            if first <= one.start < last and not any(q.start < one.start < q.end for q in every)
        ]
        for quote in every:
            if there and first <= quote.start < last and len(quote.words.split()) >= FEWEST_WORDS:
                touching = [place for place in there if _is_touched(text, quote, found[place])]
                if text[quote.start] == "`" and not touching:
                    # A command or a line of code that a sentence is about, and no quotation.
                    continue
                if not touching and _is_of_another(text, quote, every, [found[place] for place in there]):
                    continue
                quote.near = touching or there
                behind = [place for place in touching if found[place].start >= quote.end]
                closest = min(quote.distance(found[place]) for place in there)
                nearest = [place for place in there if quote.distance(found[place]) == closest]
                quote.answering = behind or touching or nearest
                yield replace(quote)


def _sentences(
    text: str, quotes: Sequence[_Quotation], found: Sequence[Citation]
) -> Iterator[tuple[int, int]]:
    """From where to where each goes. None ends within quotation marks, and citations right behind its end
    belong to it, too."""
    ends = [0]
    for stop in _ENDS.finditer(text):
        if not any(one.start < stop.start() and stop.end() < one.end for one in quotes):
            ends.append(stop.end())
    for first, last in zip(ends, [*ends[1:], len(text)], strict=True):
        reach = last
        for one in found:
            if one.start >= reach and _GAP.fullmatch(text[reach : one.start]):
                reach = one.end
        yield first, reach


def _is_touched(text: str, quote: _Quotation, one: Citation) -> bool:
    """Whether nothing but signs and other citations is between them."""
    first, last = (quote.end, one.start) if one.start >= quote.end else (one.end, quote.start)
    return _GAP.fullmatch(_BRACKETS.sub("", text[first:last])) is not None


def _is_of_another(
    text: str, quote: _Quotation, every: Sequence[_Quotation], there: Sequence[Citation]
) -> bool:
    """Whether each citation of the sentence has a quotation of its own, to which this one is not joined: what
    somebody else said is quoted, too. At most a word joins two: "one" and "the other" [E1]."""

    def is_joined(one: Citation) -> bool:
        between = _BRACKETS.sub("", text[quote.end : one.start])
        return one.start >= quote.end and all(len(words.split()) <= 1 for words in _QUOTE.split(between)[::5])

    return all(
        any(other is not quote and _is_touched(text, other, one) for other in every) and not is_joined(one)
        for one in there
    )


_OMISSION = re.compile(r"\s*(?:\[\s*)?(?:…|\.\.\.)(?:\s*\])?\s*")
_SPACE = re.compile(r"\s+")
_ALIKE = str.maketrans("“”„’‘‚‹›", "\"\"\"'''<>")
_EDGES = " .,;:!?"


def _is_in(words: str, one: Citation, items: Sequence[Evidence]) -> bool:
    """Piece by piece, where "…" says that something was left out."""
    item = _item(one, items)
    if item is None:
        return False
    if not item.text:
        # What is written on an image cannot be read here.
        return one.lines is None
    lines = item.lines[one.lines[0] - 1 : one.lines[1]] if one.lines and one.lines[0] else item.lines
    where = _plain("\n".join(lines))
    at = 0
    for piece in _OMISSION.split(words):
        wanted = _plain(piece).strip(_EDGES)
        at = where.find(wanted, at)
        if at < 0:
            return False
        at += len(wanted)
    return True


def _plain(text: str) -> str:
    """Neither whitespace nor the shape of quotation marks makes a difference."""
    return _SPACE.sub(" ", text.translate(_ALIKE))
