"""The points of a design that a plan has to cover, and whether a review says of each what became of it. Pure.

Points are found by rule, never by a model: items of lists, and sentences that can be checked, because they
say what must be, name a number, a command or a field, or stand in a section about acceptance, errors and the
like; then what was decided. The same design always has the same points. What no rule finds is still in the
design, which every reviewer reads. Refuses to know whether a point is covered: that is for the reviewer.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from moot.changes import binding
from moot.changes.binding import Binding
from moot.changes.review_block import Issue, Severity
from moot.core.ledger import Kind, numbered
from moot.errors import InvalidInput
from moot.files import markdown


class State(StrEnum):
    COVERED = "covered"
    MISSING = "missing"
    CONTRADICTED = "contradicted"
    ELSEWHERE = "elsewhere"
    """Not this change's part: it is there already, or another change does it."""


def as_state(written: str) -> State:
    """Case and marks around the word do not matter."""
    name = written.strip(" *_`.").lower()
    if name not in list(State):
        raise InvalidInput("state", f"{written.strip()[:80]!r} is none of {', '.join(State)}")
    return State(name)


@dataclass(frozen=True, slots=True)
class Point:
    """`id` is P1, P2, … for the design's, D1, D2, … for what was decided. `place` is its section."""

    id: str
    text: str
    place: str = ""


@dataclass(frozen=True, slots=True)
class Covered:
    """What a review says of a point, and where that is seen."""

    point: str
    state: State
    where: str = ""


# -- which there are -----------------------------------------------------------------------------

_MUST = re.compile(
    r"\b(must|shall|never|always|only|has to|have to|needs? to|may not|can ?not|can't|won't|requires?d?|"
    r"at most|at least|no longer|instead of|unless|without|ends? with|refuse[sd]?|reject(s|ed)?|fails?|"
    r"exits?|returns?|default(s|ing)?|keeps?|stays?|is an error|nothing|no|none|neither)\b",
    re.IGNORECASE,
)
_PATH = r"[\w-]+(?:/[\w.-]+)*\.[a-z]{2,5}\b"
_CHECKABLE = re.compile(rf"\d|`[^`]+`|\b{_PATH}")
_LABELLED = re.compile(
    r"[*_]*(assumed|acceptance|decided|given|when|then|out of scope|not done)\b", re.IGNORECASE
)
_BINDING_SECTION = re.compile(
    r"accept|require|criteri|constraint|assum|error|fail|wrong|edge|scope|not done|limit|compatib|migrat|"
    r"behaviou?r|interface|contract|security",
    re.IGNORECASE,
)
_OTHERS = re.compile(r"idea|assessment|questions|batches|not part of this", re.IGNORECASE)
"""Sections that say what the design is about, or what others do: what is settled in them is in the ledger."""
_SENTENCE = re.compile(rf"(?<=[.!?…])[\"')\]*_]*\s+(?=[\"'(\[*_`A-Z0-9-]|{_PATH})")
_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")
_ID = re.compile(r"\b[PD]\d+\b")
_MOST_SAID = 160
"""Characters of a point, where its id is spelled out."""
_COSTS = "Tradeoffs:"
"""What an approach costs is no demand."""


def points(text: str) -> tuple[Point, ...]:
    """Of design.md, in order. Nothing where there is no design."""
    bound = binding.read(text)
    return (*_of_design(bound), *_of_ledger(bound))


def _of_design(bound: Binding) -> Iterator[Point]:
    seen: set[str] = set()
    for place, text in _statements(bound.design):
        if text.casefold() not in seen:
            seen.add(text.casefold())
            yield Point(f"P{len(seen)}", text, place)


def _of_ledger(bound: Binding) -> Iterator[Point]:
    """What is open binds nobody. Of a session in which decisions are noted, the words they were made of are
    known, and no points of their own."""
    for number, entry in numbered(bound.decided).items():
        if entry.kind is Kind.OPEN or (bound.origin and entry.kind is Kind.SAID):
            continue
        word = "Rejected: " if entry.kind is Kind.REJECTED else ""
        yield Point(f"D{number}", word + " ".join(entry.text.split()), "decided so far")


def _statements(design: str) -> Iterator[tuple[str, str]]:
    """The section and the words of each."""
    document = markdown.parse(design)
    path: dict[int, str] = {}
    cells: list[str] = []
    items = quotes = 0
    for opened, token in pairwise(document.tokens):
        if token.type in ("blockquote_open", "blockquote_close"):
            quotes += token.nesting
        elif token.type in ("list_item_open", "list_item_close"):
            items += token.nesting
        words = " ".join(token.content.split()) if token.type == "inline" and not quotes else ""
        if words and opened.type == "heading_open":
            level = int(opened.tag[1])
            path = {at: title for at, title in path.items() if at < level} | {level: words}
            continue
        place = " / ".join(title for at, title in path.items() if at > 1) or "".join(path.values())
        if any(_OTHERS.fullmatch(title) for title in path.values()) or opened.type == "th_open":
            continue
        if opened.type == "td_open":
            cells.append(words)
        elif token.type == "tr_close" and cells:
            yield place, " | ".join(cells)
            cells = []
        elif words:
            yield from _said(words, place, is_item=bool(items))


def _said(words: str, place: str, *, is_item: bool) -> Iterator[tuple[str, str]]:
    if is_item:
        yield place, words
        return
    binds = _BINDING_SECTION.search(place) is not None
    for sentence in _sentences(words.partition(_COSTS)[0].strip()):
        # What only introduces a list is none by itself.
        if sentence and not sentence.endswith(":") and (binds or _binds(sentence)):
            yield place, sentence


def _sentences(words: str) -> Iterator[str]:
    """A message in code may have sentences of its own: only the end of the code can end the sentence that
    it stands in."""
    hidden = _CODE.sub(lambda code: _hide(code[0]), words)
    start = 0
    for gap in _SENTENCE.finditer(hidden):
        yield words[start : gap.end()].strip()
        start = gap.end()
    yield words[start:]


def _hide(code: str) -> str:
    """As long as it is, and ending as it ends."""
    last = code.rstrip("`")[-1]
    return f'`{"x" * (len(code) - 3)}{last if last in ".!?…" else "x"}"'


def _binds(sentence: str) -> bool:
    return any(rule.search(sentence) for rule in (_MUST, _CHECKABLE, _LABELLED))


# -- in words ------------------------------------------------------------------------------------


def of_design(found: Iterable[Point]) -> tuple[Point, ...]:
    """Without what was decided besides."""
    return tuple(point for point in found if point.id.startswith("P"))


def to_cover(found: Sequence[Point]) -> str:
    """The design's points with their words; of what was decided the ids, because it is told with who decided
    it, and where."""
    own = of_design(found)
    named = ", ".join(point.id for point in found if point not in own)
    decided = f"And what was decided, by the numbers that it has in 'decided so far': {named}"
    return "\n".join(filter(None, (in_words(own), decided if named else "")))


def in_words(found: Iterable[Point]) -> str:
    """One line for each, below its section."""
    lines: list[str] = []
    place = ""
    for point in found:
        if point.place != place:
            place = point.place
            lines.append(f"{place}:")
        lines.append(f"- {point.id}: {point.text}")
    return "\n".join(lines)


def spell_out(text: str, found: Iterable[Point]) -> str:
    """With the words of each point that is named by its id, once: who reads it later has no list of them, and
    ids follow the design."""
    unsaid = {point.id: words for point in found if (words := _beginning(point.text)) not in text}

    def named(name: re.Match[str]) -> str:
        words = unsaid.pop(name[0], "")
        return f"{name[0]} ({words})" if words else name[0]

    return _ID.sub(named, text)


def _beginning(text: str) -> str:
    return text if len(text) <= _MOST_SAID else f"{text[: _MOST_SAID - 1].rstrip()}…"


# -- what a review says of them ------------------------------------------------------------------


def faults(
    found: Sequence[Point], coverage: Sequence[Covered], issues: Sequence[Issue], dismissed: Collection[str]
) -> list[str]:
    """Everything that is wrong with what a review says of the points, as sentences that a reviewer can act
    on. `dismissed` are the issues that the person has decided not to follow."""
    known = {point.id: point for point in found}
    said = [one.point for one in coverage]
    reasons = [f"there is no point {name}" for name in dict.fromkeys(said) if name not in known]
    twice = [name for name in known if said.count(name) > 1]
    reasons += (f"{name} is in the coverage twice" for name in twice)
    for one in coverage:
        if one.point not in known:
            continue
        if one.state is not State.MISSING and not one.where.strip():
            reasons.append(f"{one.point} is {one.state}: say where that is seen")
        if one.state in (State.MISSING, State.CONTRADICTED) and not (
            _named(one.point, (_words(issue) for issue in issues if issue.severity is Severity.HIGH))
            or _named(one.point, dismissed)
        ):
            issue = f"raise a High issue whose description names {one.point}"
            reasons.append(f"{one.point} is {one.state}: {issue}")
    return reasons


def unjudged(found: Sequence[Point], coverage: Sequence[Covered]) -> tuple[Point, ...]:
    said = {one.point for one in coverage}
    return tuple(point for point in found if point.id not in said)


def _named(point: str, texts: Iterable[str]) -> bool:
    return any(re.search(rf"\b{point}\b", text) for text in texts)


def _words(issue: Issue) -> str:
    return f"{issue.description}\n{issue.location}\n{issue.recommendation}"
