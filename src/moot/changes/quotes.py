"""Where a quote stands in the texts of a change, and whether a revision has touched that. Pure.

White space does not count, and neither do quotation marks around the whole, and the numbers of lines that a
reviewer was shown; everything else does. Refuses to
know who quotes, and what follows from a quote that is nowhere.
"""

from __future__ import annotations

import difflib
import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass

from moot.files import markdown
from moot.files.frontmatter import LINE_BREAK
from moot.repo.reading import without_numbers

_AROUND = " \t\r\n\"'“”‘’«»„`"
_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class Spot:
    """Lines of a text, counted from 1."""

    name: str
    first: int
    last: int


def find(quote: str, texts: Mapping[str, str]) -> Spot | None:
    """The first place where it stands, whole."""
    forms = (quote, quote.strip(_AROUND), without_numbers(quote.strip(_AROUND)))
    wanted = dict.fromkeys(" ".join(form.split()) for form in forms)
    spots = (_find(words, name, text) for words in wanted for name, text in texts.items())
    return next((spot for spot in spots if spot), None)


def _find(wanted: str, name: str, text: str) -> Spot | None:
    words: list[str] = []
    starts: list[int] = []
    lines: list[int] = []
    at = 0
    for number, line in enumerate(LINE_BREAK.split(text), start=1):
        for word in _WORD.findall(line):
            words.append(word)
            starts.append(at)
            lines.append(number)
            at += len(word) + 1
    begins = " ".join(words).find(wanted) if wanted else -1
    if begins < 0:
        return None
    first, last = (bisect_right(starts, offset) - 1 for offset in (begins, begins + len(wanted) - 1))
    return Spot(name, lines[first], lines[last])


def section(spot: Spot, texts: Mapping[str, str]) -> str:
    """The file, and the heading that the place is below."""
    above = [one.title for one in markdown.headings(texts[spot.name]) if one.line <= spot.first]
    return " / ".join((spot.name, *above[-1:]))


def is_new(spot: Spot, before: Mapping[str, str], now: Mapping[str, str]) -> bool:
    """Whether it lies in lines that are not in the text before, or next to ones that were taken out of it.
    What is no text of `now`, nobody has revised."""
    old, new = (_lines(texts.get(spot.name, "")) for texts in (before, now))
    inside = [at for at, (number, _) in enumerate(new) if spot.first <= number <= spot.last]
    if not inside:
        return False
    first, last = inside[0], inside[-1]
    lines = [line for _, line in old], [line for _, line in new]
    for what, _, _, begins, ends in difflib.SequenceMatcher(None, *lines, autojunk=False).get_opcodes():
        if what == "delete" and first <= begins <= last + 1:
            return True
        if what in ("insert", "replace") and begins <= last and first < ends:
            return True
    return False


def _lines(text: str) -> list[tuple[int, str]]:
    """Those with words, and their numbers: a draft that is written anew has other blank ones."""
    tidy = ((number, " ".join(line.split())) for number, line in enumerate(LINE_BREAK.split(text), start=1))
    return [(number, line) for number, line in tidy if line]
