"""Decided so far: what was settled, rejected and left open, by whom and at which step.

Each format derives its entries from what has happened; the person may correct, strike and add. Carried into
every later prompt, shown wherever the session is. Refuses to know what a decision means.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Sequence
from enum import StrEnum

import msgspec

from moot.core.conversation import PERSON
from moot.core.input import check_fits
from moot.errors import InvalidInput
from moot.llm.messages import Source, Weight

LONGEST_ENTRY = 2_000
"""Characters of what the person writes for one."""


class Kind(StrEnum):
    DECIDED = "decided"
    REJECTED = "rejected"
    OPEN = "open"
    SAID = "said"
    """By the person, in their own words, whatever it settles."""


class Decided(msgspec.Struct, frozen=True):
    """`key` is what it came from, and stays when others come and go; the person speaks of it by number: its
    own, where its format keeps numbers, or else its place."""

    key: str
    kind: Kind
    text: str
    by: str
    at: str
    number: int = 0
    is_taken_back: bool = False


class Correction(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the person says of an entry instead; without a text, that it does not hold. With a key that no
    entry has, it is one of their own. `undo` takes back what they have said last of this entry."""

    key: str
    text: str = ""
    at: str = ""
    undo: bool = False

    @property
    def strikes(self) -> bool:
        return not self.text and not self.undo


def correct(entries: Iterable[Decided], corrections: Sequence[Correction]) -> tuple[Decided, ...]:
    """The entries as the person wants them, in their order; those of their own at the end, before what the
    person has said: a comment changes no number of what it may speak of."""
    latest = in_force(corrections)
    known: dict[str, Decided] = {}
    for entry in entries:
        mended = latest.pop(entry.key, None)
        if mended is None:
            known[entry.key] = entry
        elif mended.text:
            known[entry.key] = _held_instead(entry, mended)
    added = (
        Decided(each.key, Kind.DECIDED, each.text, PERSON, each.at)
        for each in latest.values()
        if each.text and is_own(each)
    )
    settled, said = _partition(known.values())
    return (*settled, *added, *said)


def in_force(corrections: Iterable[Correction]) -> dict[str, Correction]:
    """By the key of its entry, what the person has said last of it and not taken back."""
    return {each.key: each for each in _not_undone(corrections)}


def _not_undone(corrections: Iterable[Correction]) -> list[Correction]:
    held: list[Correction] = []
    for each in corrections:
        if not each.undo:
            held.append(each)
            continue
        last = max((place for place, one in enumerate(held) if one.key == each.key), default=None)
        if last is not None:
            del held[last]
    return held


def without_strikes(corrections: Iterable[Correction]) -> tuple[Correction, ...]:
    """As if the person had struck nothing that is struck now."""
    held = _not_undone(corrections)
    while strikes := [each for each in in_force(held).values() if each.strikes]:
        held = [each for each in held if each not in strikes]
    return tuple(held)


def _held_instead(entry: Decided, correction: Correction) -> Decided:
    """What the person says instead of something rejected or open holds, unless they ask another question."""
    asks = entry.kind is Kind.OPEN and correction.text.endswith("?")
    kind = entry.kind if asks or entry.kind is Kind.SAID else Kind.DECIDED
    return msgspec.structs.replace(entry, kind=kind, text=correction.text, by=PERSON, at=correction.at)


def _partition(entries: Iterable[Decided]) -> tuple[list[Decided], list[Decided]]:
    """What was settled, and what the person has said."""
    settled: list[Decided] = []
    said: list[Decided] = []
    for each in entries:
        (said if each.kind is Kind.SAID and each.by == PERSON else settled).append(each)
    return settled, said


def number(entries: Iterable[Decided], order: Iterable[str]) -> tuple[Decided, ...]:
    """With the numbers under which they came about, which `order` has the keys of: files and people that
    speak of D5 mean the same entry for good. What is not in it is new, and comes last."""
    places = {key: place for place, key in enumerate(order, start=1)}
    given = [
        msgspec.structs.replace(entry, number=places.setdefault(entry.key, len(places) + 1))
        for entry in entries
    ]
    return tuple(sorted(given, key=lambda entry: entry.number))


def numbered(ledger: Iterable[Decided]) -> dict[int, Decided]:
    """By its own number, or else by its place; where that is another's number, after all of them."""
    entries = tuple(ledger)
    own = {entry.number for entry in entries}
    following = itertools.count(max((*own, len(entries)), default=0) + 1)
    found: dict[int, Decided] = {}
    for place, entry in enumerate(entries, start=1):
        free = place not in own and place not in found
        found[entry.number or (place if free else next(following))] = entry
    return found


def is_own(correction: Correction) -> bool:
    """Whether it is an entry that the person has added."""
    return correction.key.startswith(_OWN)


_OWN = "own:"
_UNDO = re.compile(r"undo(?:\s+D(?P<number>\d{1,4}))?", re.IGNORECASE)
_NUMBERED = re.compile(
    r"(?P<strike>drop\s+|strike\s+)?D(?P<number>\d{1,4})\b\s*(?P<colon>:)?\s*(?P<text>.*)",
    re.IGNORECASE | re.DOTALL,
)
HINT = "D2: what holds instead · D2 alone, to see all of it · drop D2 · undo · or what is to hold from now on"


def read_correction(
    ledger: Sequence[Decided],
    corrections: Sequence[Correction],
    words: str,
    at: str,
    struck: Sequence[Decided] = (),
) -> Correction:
    """What the person has typed: `D2: …` says what holds instead, `drop D2` that it does not hold, `undo`
    takes the latest of these back, `undo D2` the latest of D2, and anything else is an entry of its own.
    Raises InvalidInput for a number that is not there."""
    words = words.strip()
    check_fits("decided so far", words, LONGEST_ENTRY)
    if undo := _UNDO.fullmatch(words):
        return _undoing(ledger, corrections, undo["number"], at, struck)
    found = _NUMBERED.fullmatch(words)
    strikes = found is not None and bool(found["strike"])
    if found is None or not (strikes or found["colon"]):
        if not words:
            raise InvalidInput("decided so far", f"is empty: write {HINT}")
        return Correction(_next_own(corrections), words, at)
    number, entry = int(found["number"]), _entry(ledger, found["number"], struck)
    text = found["text"].strip()
    if strikes and text:
        raise InvalidInput("decided so far", f"write 'drop D{number}' alone, or 'D{number}:' and what holds")
    if not strikes and not text:
        raise InvalidInput("decided so far", f"write what holds instead of D{number}, or 'drop D{number}'")
    return Correction(entry.key, text, at)


def _entry(ledger: Sequence[Decided], number: str, struck: Sequence[Decided] = ()) -> Decided:
    known = numbered(ledger)
    if entry := known.get(int(number)):
        return entry
    if any(entry.number == int(number) for entry in struck):
        raise InvalidInput(
            "decided so far", f"D{int(number)} is struck: 'undo D{int(number)}' brings it back"
        )
    there = f"D{min(known)} to D{max(known)}" if known else "nothing yet"
    gone = " any more" if known and min(known) <= int(number) <= max(known) else ""
    raise InvalidInput("decided so far", f"there is no D{int(number)}{gone}: there is {there}")


def _undoing(
    ledger: Sequence[Decided],
    corrections: Sequence[Correction],
    number: str | None,
    at: str,
    struck: Sequence[Decided],
) -> Correction:
    held = _not_undone(corrections)
    if number is None:
        if not held:
            raise InvalidInput("decided so far", "there is nothing to undo: nothing was corrected")
        return Correction(held[-1].key, at=at, undo=True)
    known = numbered(ledger) | {entry.number: entry for entry in struck if entry.number}
    entry = known.get(int(number))
    if entry is None or entry.key not in in_force(held):
        raise InvalidInput("decided so far", f"D{number} was not corrected: there is nothing to undo")
    return Correction(entry.key, at=at, undo=True)


def correction_of(
    ledger: Sequence[Decided],
    corrections: Sequence[Correction],
    key: str | None,
    words: str,
    at: str,
    *,
    undo: bool = False,
) -> Correction:
    """What holds instead of the entry with this key, or, without words, that it does not hold; without a
    key, an entry of the person's own. With `undo`, what was said last of the entry is taken back, also where
    it was struck. Raises InvalidInput for a key that no entry has."""
    words = words.strip()
    check_fits("text", words, LONGEST_ENTRY)
    if undo:
        if words:
            raise InvalidInput("undo", "takes no text")
        if key is None or key not in in_force(corrections):
            raise InvalidInput("key", "is that of no entry that was corrected: there is nothing to undo")
        return Correction(key, at=at, undo=True)
    if key is not None:
        if key not in {entry.key for entry in ledger}:
            raise InvalidInput("key", "is that of no entry: read what was decided so far again")
        return Correction(key, words, at)
    if not words:
        raise InvalidInput("text", "is empty: say what is to hold from now on")
    return Correction(_next_own(corrections), words, at)


def _next_own(corrections: Sequence[Correction]) -> str:
    return f"{_OWN}{sum(map(is_own, corrections)) + 1}"


def lines(ledger: Sequence[Decided]) -> list[str]:
    """Numbered, each with who settled it and where."""
    return [f"D{number}. {line(entry)}" for number, entry in numbered(ledger).items()]


def outline(ledger: Sequence[Decided], struck: Sequence[Decided] = ()) -> list[str]:
    """For somebody who looks for something: by kind, what is long cut to a line, and what the person has said
    by where they said it, each with its beginning. `whole` has the rest. What they have struck comes last."""
    told: list[str] = []
    by_place: dict[str, list[str]] = {}
    for number, entry in numbered(ledger).items():
        if entry.kind is Kind.SAID and entry.by == PERSON:
            by_place.setdefault(entry.at, []).append(f"D{number} “{_beginning(entry.text, _GLIMPSE)}”")
    for kind, heading in _HEADINGS.items():
        group = [
            f"D{number}. {_beginning(entry.text, _ONE_LINE)} ({_source_of(entry)})"
            for number, entry in numbered(ledger).items()
            if _kind_of(entry) is kind and not (kind is Kind.SAID and entry.by == PERSON)
        ]
        if kind is Kind.SAID:
            group += [f"{at or 'Besides'}: {', '.join(said)}" for at, said in by_place.items()]
        told += [f"{heading}:", *(f"  {each}" for each in group)] if group else []
    gone = [f"D{one.number}. {_beginning(one.text, _ONE_LINE)}" for one in struck if one.number]
    told += ["Struck:", *(f"  {each}" for each in gone)] if gone else []
    return [*told, *gaps(ledger, struck)]


def gaps(
    ledger: Sequence[Decided], struck: Sequence[Decided] = (), elsewhere: Collection[int] = ()
) -> list[str]:
    """Why there are numbers that nothing has."""
    known = {*numbered(ledger), *(entry.number for entry in struck), *elsewhere}
    gone = [f"D{number}" for number in range(1, max(known, default=0)) if number not in known]
    return (
        [f"No longer listed, because it was settled, replaced or dropped: {', '.join(gone)}."] if gone else []
    )


def whole(ledger: Sequence[Decided], words: str, struck: Sequence[Decided] = ()) -> str | None:
    """The entry of which `words` are no more than the number, also where it is struck. Raises InvalidInput
    where there is none."""
    found = re.fullmatch(r"D(\d{1,4})\.?", words.strip(), re.IGNORECASE)
    if found is None:
        return None
    for entry in struck:
        if entry.number == int(found[1]):
            return f"D{entry.number}. Struck: {line(entry)}"
    return f"D{int(found[1])}. {line(_entry(ledger, found[1]))}"


_ONE_LINE, _GLIMPSE = 200, 48
_HEADINGS: dict[Kind | None, str] = {
    Kind.OPEN: "Open",
    Kind.DECIDED: "Decided",
    Kind.REJECTED: "Ruled out",
    None: "Taken back",
    Kind.SAID: "Said",
}


def _kind_of(entry: Decided) -> Kind | None:
    return None if entry.is_taken_back else entry.kind


def _beginning(text: str, most: int) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= most else f"{plain[: most - 1].rstrip()}…"


def line(entry: Decided) -> str:
    """Without a number, for what is kept: numbers change as others come and go."""
    text = entry.text.strip().replace("\n", "\n   ")
    return f"{_WORDS[entry.kind]}: {text} ({_source_of(entry)})"


def _source_of(entry: Decided) -> str:
    by = "the person" if entry.by == PERSON else entry.by
    return f"{by}{', at ' if entry.at else ''}{entry.at}"


_WORDS = {
    Kind.DECIDED: "Decided",
    Kind.REJECTED: "Rejected",
    Kind.OPEN: "Open",
    Kind.SAID: "Said",
}


def source(
    ledger: Sequence[Decided], known: Collection[Decided] = (), elsewhere: Collection[int] = ()
) -> tuple[Source, ...]:
    """For a request: nothing where nothing is decided. What is `known` stands in the request as it is
    already, so only what the person has changed about it is said. What has a number of `elsewhere` is not in
    the ledger now, and is not gone."""
    there = [msgspec.structs.replace(entry, number=0) for entry in known]
    said = [
        each
        for each, entry in zip(lines(ledger), ledger, strict=True)
        if msgspec.structs.replace(entry, number=0) not in there
    ]
    left = {entry.key for entry in ledger}
    said += [f"No longer holds: {line(entry)}" for entry in known if entry.key not in left]
    if not said:
        return ()
    listed = "\n".join(dict.fromkeys((*said, *gaps(ledger, elsewhere=elsewhere))))
    text = (
        "<decided-so-far>\nWhat was decided or rejected holds, and so does what the person said: do not "
        "ask it again, and do not quietly work around it; where you have a reason against it, say so openly. "
        "What is open is not settled yet. Where something else that you are given says otherwise, this "
        f"holds.\n{listed}\n</decided-so-far>"
    )
    return (Source("what was decided so far", text, Weight.NEEDED),)
