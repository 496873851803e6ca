"""What a change does to the requirements that hold: parse → merge → text.

Knows how requirements and scenarios are recognised in a change's specification and in a living one, which of
them a change adds, modifies and removes, and what contradicts what is there. Refuses to know where files are
and who archives.

The requirements of a section are kept in the order of their names, and every other word stays as it is, in
its order. So changes that touch different requirements make the same text whatever the order in which they
are archived.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache

from moot.changes import state_file
from moot.files import frontmatter, markdown
from moot.files.frontmatter import LINE_BREAK
from moot.files.markdown import Heading, Piece


class Does(StrEnum):
    ADD = "added"
    MODIFY = "modified"
    REMOVE = "removed"


_REQUIREMENTS, _CRITERIA = "requirements", "acceptance criteria"
_HOMES = {_REQUIREMENTS: "## Requirements", _CRITERIA: "## Acceptance Criteria"}
"""The sections of a living specification, in their order."""
SECTIONS = {
    _REQUIREMENTS: Does.ADD,
    _CRITERIA: Does.ADD,
    "added requirements": Does.ADD,
    "modified requirements": Does.MODIFY,
    "removed requirements": Does.REMOVE,
}
"""Of a change's specification, in lower case, and what is done with what stands in them."""
_LEVEL = 3
_SCENARIO = re.compile(r"scenario\s*:\s*", re.IGNORECASE)
_NUMBERS = re.compile(r"(?:(?P<number>R\d+)(?:\s*[:.–—-])?(?:\s+|$))*", re.IGNORECASE)
_MARKS = re.compile(r"[ \t]*#+[ \t]*")
_BLANK_END = re.compile(r"(?:\n[ \t]*)*\Z")
_DIGITS = re.compile(r"(\d+)")


@dataclass(frozen=True, slots=True)
class Item:
    """A requirement or a scenario. `text` begins with its heading, or the comments on top of that, has no
    blank lines at its end, and leaves nothing open; its lines end with "\\n". `words` is what stands below
    the heading, which is in that line."""

    key: str
    title: str
    text: str
    words: str
    line: int
    is_scenario: bool

    @property
    def hash(self) -> str:
        return state_file.text_hash(self.text)


@dataclass(frozen=True, slots=True)
class Operation:
    does: Does
    item: Item


@dataclass(frozen=True, slots=True)
class Problem:
    """Why an operation cannot be done, with its line in the change's specification. One that `may_wait` stops
    no review: what has changed since is known to whoever reviews now."""

    line: int
    message: str
    may_wait: bool = False


@dataclass(frozen=True, slots=True)
class Merged:
    """`done` is what was not there before. Where there is a problem, the text is the old one."""

    text: str
    done: tuple[Operation, ...] = ()
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class _Part:
    """A section of level 1 or 2. `words` are its heading and what stands below that, `rest` are subsections
    that are no items: they come behind these."""

    name: str
    words: str
    items: tuple[Item, ...] = ()
    rest: str = ""


# -- reading -------------------------------------------------------------------------------------


def items(living: str) -> tuple[Item, ...]:
    return tuple(item for part in _parts(living) if part.name in _HOMES for item in part.items)


def operations(spec: str, change_id: str) -> tuple[Operation, ...]:
    """In their order. A requirement loses its number, because numbers begin anew in every change; one that is
    added without a title is called by the change and that number."""
    return tuple(
        Operation(SECTIONS[part.name], item) for part in _parts(spec, change_id) for item in part.items
    )


def touched(living: str, spec: str, change_id: str) -> dict[str, str]:
    """What the living specification says of what the change touches, as hashes."""
    keys = {one.item.key for one in operations(spec, change_id)}
    return {item.key: item.hash for item in items(living) if item.key in keys}


@lru_cache(maxsize=16)
def _parts(text: str, change_id: str = "") -> tuple[_Part, ...]:
    """Kept for a while, because a merge asks for the same several times, and to find where an item ends takes
    long. With a change's id, those of its specification: there, a scenario counts also where it stands below
    another heading."""
    known = SECTIONS if change_id else _HOMES
    parts: list[_Part] = []
    begun: list[Piece] = []

    def end_item() -> None:
        if begun:
            part = parts[-1]
            adds = SECTIONS[part.name] is Does.ADD
            parts[-1] = replace(part, items=(*part.items, _item(begun, change_id, adds=adds)))
            begun.clear()

    for piece in markdown.pieces(text):
        heading = piece.heading
        if heading is None or heading.level < _LEVEL:
            end_item()
            name = heading.title.casefold() if heading is not None and heading.level == 2 else ""
            parts.append(_Part(name if name in known else "", piece.text))
            continue
        part = parts[-1]
        if _begins_item(part.name, heading, anywhere=bool(change_id)):
            end_item()
            begun.append(piece)
        elif begun and heading.level > _LEVEL:
            begun.append(piece)
        elif heading.level > _LEVEL and not part.rest:
            # Behind an item it would become part of it.
            parts[-1] = replace(part, words=part.words + piece.text)
        else:
            end_item()
            parts[-1] = replace(parts[-1], rest=part.rest + piece.text)
    end_item()
    return tuple(parts)


def _begins_item(section: str, heading: Heading, *, anywhere: bool) -> bool:
    if section == _CRITERIA:
        is_in_place = heading.level == _LEVEL or anywhere
        return is_in_place and _SCENARIO.match(heading.title) is not None
    return bool(section) and heading.level == _LEVEL


def _item(pieces: Sequence[Piece], change_id: str, *, adds: bool) -> Item:
    first = pieces[0]
    assert first.heading is not None
    title, line = first.heading.title, first.heading.line
    # At the margin: below a list, what is indented would be part of the list.
    above = first.text[: first.start].lstrip(" \t")
    heading = _MARKS.sub("", first.text[first.start : first.body], count=1)
    below = first.text[first.body :] + "".join(piece.text for piece in pieces[1:])
    is_scenario = _SCENARIO.match(title) is not None
    numbers = _NUMBERS.match(title)
    if change_id and not is_scenario and numbers is not None and numbers["number"]:
        if numbers.end() < len(title):
            title = title[numbers.end() :]
            heading = _NUMBERS.sub("", heading, count=1)
        elif adds:
            title = f"{change_id}/{numbers['number'].upper()}"
            heading = f"{title}\n"
    text = _closed(f"{above}### {heading}{below}")
    return Item(_key(title), title, text, below.strip(), line, is_scenario)


def _key(title: str) -> str:
    if found := _SCENARIO.match(title):
        return f"scenario: {title[found.end() :].casefold()}"
    numbers = _NUMBERS.match(title)
    assert numbers is not None, "it matches nothing, too"
    return (title[numbers.end() :] or numbers["number"] or "").casefold()


def _closed(text: str) -> str:
    text = markdown.append_block(LINE_BREAK.sub("\n", text), "x").removesuffix("x\n")
    return _BLANK_END.sub("", text, count=1)


def count(done: Sequence[Operation]) -> str:
    """For the person."""
    of = {does: sum(one.does is does for one in done) for does in Does}
    return ", ".join(f"{number} {does}" for does, number in of.items() if number)


# -- merging -------------------------------------------------------------------------------------


def merge(
    living: str | None,
    spec: str,
    change_id: str,
    known: Mapping[str, str] | None = None,
    *,
    resumed: bool = False,
    name: str = "the living specification",
) -> Merged:
    """The living specification with what the change does to it; None where there is none yet.

    `known` is what it said of what the change touches when that was last checked (see `touched`); without it,
    it says the same now. `resumed`: some of it may have been done already.
    """
    asked = operations(spec, change_id)
    there: dict[str, list[Item]] = {}
    for item in items(living or ""):
        there.setdefault(item.key, []).append(item)
    if known is None:
        known = touched(living or "", spec, change_id)
    done: list[Operation] = []
    problems: list[Problem] = []
    seen: dict[str, Operation] = {}
    stays = _said(there, {one.item.key for one in asked})
    for one in asked:
        now = there.get(one.item.key, [])
        problem = _obstacle(one, now, known, name) or _repetition(one, stays, name)
        first = seen.setdefault(one.item.key, one)
        if first is not one:
            if (first.does, first.item.text) == (one.does, one.item.text):
                continue
            said = f"{_called(one.item)} is named twice in this specification"
            # Of scenarios it was never more than doubtful.
            may_wait = one.item.is_scenario and one.does is first.does is Does.ADD
            problems.append(Problem(one.item.line, said, may_wait))
        elif _is_done(one, now, resumed=resumed):
            pass
        elif problem is not None:
            problems.append(problem)
        else:
            done.append(one)
    text = _outline(spec, change_id) if living is None else living
    if done and frontmatter.is_left_open(text):
        said = f"the front matter of {name} is not closed: end it with a line '---', or remove its first line"
        problems.append(Problem(1, said))
    if problems or not done:
        return Merged(living or "", (), tuple(problems))
    return Merged(_write(text, done), tuple(done))


def _is_done(one: Operation, now: Sequence[Item], *, resumed: bool) -> bool:
    if one.does is Does.REMOVE:
        return resumed and not now
    # A scenario may be told again: a specification has to have one. What is modified to what it is stays.
    may_repeat = resumed or one.does is Does.MODIFY or (one.item.is_scenario and one.does is Does.ADD)
    return may_repeat and [item.text for item in now] == [one.item.text]


def _obstacle(one: Operation, now: Sequence[Item], known: Mapping[str, str], name: str) -> Problem | None:
    item, called = one.item, _called(one.item)
    before = known.get(item.key)
    adds = one.does is Does.ADD
    if len(now) > 1:
        lines = " and ".join(str(each.line) for each in now)
        return Problem(item.line, f"{called} is more than once in {name} (lines {lines}): keep one of them")
    if not now:
        if adds:
            return None
        said = f"{called} is to be {one.does}, and is not in {name}"
        return Problem(item.line, f"{said}; it may have been renamed or removed", may_wait=bool(before))
    if adds and not (item.is_scenario and before):
        how = "write it below '## Modified Requirements' if it is to change, or give it another title"
        said = f"{called} is to be added, and is in {name} already (line {now[0].line}): {how}"
        return Problem(item.line, said)
    if before and before != now[0].hash:
        said = f"{called} is to be {'modified' if adds else one.does}, and has changed in {name}"
        return Problem(item.line, f"{said} (line {now[0].line}) since this was last checked", may_wait=True)
    if one.does is Does.MODIFY and not item.words:
        return Problem(item.line, f"{called} is to be modified, and nothing is said of what holds instead")
    return None


def _said(there: Mapping[str, Sequence[Item]], touched: Collection[str]) -> dict[str, Item]:
    """By its words, what is there and stays as it is."""
    found = (item for key, one in there.items() if key not in touched for item in one if item.words)
    return {_folded(item.words): item for item in found}


def _repetition(one: Operation, stays: Mapping[str, Item], name: str) -> Problem | None:
    """A requirement without a title is known by its words alone."""
    same = stays.get(_folded(one.item.words)) if one.does is Does.ADD and not one.item.is_scenario else None
    if same is None:
        return None
    said = f"{_called(one.item)} is to be added, and is in {name} already, as '{same.title}'"
    return Problem(one.item.line, f"{said} (line {same.line}): leave it out")


def _folded(words: str) -> str:
    return " ".join(words.split()).casefold()


def _called(item: Item) -> str:
    return f"'{item.title}'" if item.is_scenario else f"the requirement '{item.title}'"


def _outline(spec: str, change_id: str) -> str:
    """What a living specification begins with: what a person reads of it besides its requirements."""
    kept = [part for part in _parts(spec, change_id) if part.name in {"", *_HOMES}]
    # At the margin: what stood above it may have ended a list.
    return kept[0].words + "".join(part.words.lstrip(" \t") + part.rest for part in kept[1:])


def _write(living: str, done: Sequence[Operation]) -> str:
    changed = {one.item.key: one for one in done}
    parts = _with_homes(_parts(living))
    eol = markdown.line_ending(living)
    filled: set[str] = set()
    page, above_is_new = "", False
    for part in parts:
        is_new = part.name in _HOMES and not part.words
        if is_new:
            page = _append(page, _HOMES[part.name])
        else:
            page = _behind(page, part.words, eol, apart=above_is_new)
        above_is_new = is_new
        if part.name in _HOMES:
            kept = [changed[item.key].item if item.key in changed else item for item in part.items]
            gone = {key for key, one in changed.items() if one.does is Does.REMOVE}
            there = {item.key for other in parts for item in other.items}
            new = [] if part.name in filled else [one.item for one in done if _home(one.item) == part.name]
            shown = [item for item in kept if item.key not in gone]
            shown += [item for item in new if item.key not in there]
            filled.add(part.name)
            if shown:
                page = _append(page, "\n\n".join(item.text for item in sorted(shown, key=_order)))
                above_is_new = True
        if part.rest:
            page = _behind(page, part.rest, eol, apart=above_is_new)
            above_is_new = False
    return page


def _with_homes(parts: Sequence[_Part]) -> list[_Part]:
    """Always both sections, so that it does not matter which is needed first."""
    found, names = list(parts), [part.name for part in parts]
    if _CRITERIA not in names:
        found.append(_Part(_CRITERIA, ""))
        names.append(_CRITERIA)
    if _REQUIREMENTS not in names:
        found.insert(names.index(_CRITERIA), _Part(_REQUIREMENTS, ""))
    return found


def _home(item: Item) -> str:
    return _CRITERIA if item.is_scenario else _REQUIREMENTS


def _append(page: str, addition: str) -> str:
    return markdown.append_block(page, addition)


def _behind(page: str, old: str, eol: str, *, apart: bool) -> str:
    """What is old stays as it is. `apart` where what stands above it is new."""
    if not apart:
        return page + old
    assert old, "it begins with a heading"
    return page + eol + markdown.separator(old, eol) + old


def _order(item: Item) -> tuple[list[tuple[int, str]], str, str]:
    """R2 before R10."""
    pieces = [
        (len(piece.lstrip("0")), piece.lstrip("0")) if at % 2 else (0, piece)
        for at, piece in enumerate(_DIGITS.split(item.key))
    ]
    return pieces, item.key, item.text
