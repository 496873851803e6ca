"""What the artifacts define under an id, and what a model cites that is not there.

Pure: whoever asks says what there is. An id counts as defined where a line or a user story begins with it; an
id that the person has used is theirs to use. Refuses to know what anything means.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from moot.evidence import citations
from moot.evidence.items import Evidence

_ID = r"(?P<kind>[A-Z]{1,6})-\d{1,4}(?![\w-])"
_CITED = re.compile(rf"(?<![\w-]){_ID}")
_DEFINED = re.compile(rf"^[^\w\n]*(?P<id>{_ID})(?P<about>[^\n]*)", re.MULTILINE)
_STORY = re.compile(r'"id": "(?P<id>[A-Z]{1,6}-\d{1,4})"[^}]*?"i_want": (?P<about>"(?:[^"\\]|\\.)*")')
"""As moot writes user stories."""
_IN_GUIDE = re.compile(r"`#*\s*([A-Z]{1,6})-(?:\d|…)")
_ONE_STEP = r"\d\d-\d\d[a-z]?(?![\w-])"
_STEPS = re.compile(
    rf"\bsteps?\s+(?P<ids>{_ONE_STEP}(?:(?:,\s*|\s+)(?:(?:and|or|to)\s+)?{_ONE_STEP})*)", re.IGNORECASE
)
_DECISION = re.compile(r"(?<![\w.-])D(\d{1,4})(?!\w|[.-]\w)")
_PLACE = re.compile(
    r"(?<![\w./:@-])(?P<file>(?:[\w.-]+/)*[\w-][\w.-]*\.[A-Za-z]\w{0,9}):(?P<first>\d{1,6})(?:[-–](?P<last>\d{1,6}))?"
)
KINDS = ("G", "N", "J", "C", "R", "NFR", "F", "US", "E", "Z", "ADR", "I", "DF")
"""What the shipped steps number."""
STANDARDS = (
    "AES",
    "CP",
    "DIN",
    "EN",
    "ES",
    "IEC",
    "IEEE",
    "ISO",
    "MD",
    "PEP",
    "RFC",
    "RSA",
    "SHA",
    "UCS",
    "UTF",
)
"""What looks like an id, such as UTF-8, and is a name that everybody knows."""


@dataclass(frozen=True, slots=True)
class There:
    """What may be cited. `lines` says how many lines a file has: None where there is no such file, and 0
    where that cannot be known. `is_known` says whether an id of a kind that no step numbers is anybody's."""

    ids: Collection[str]
    steps: Collection[str]
    decisions: int = 0
    evidence: Sequence[Evidence] = ()
    lines: Callable[[str], int | None] = lambda _: 0
    is_known: Callable[[str], bool] = lambda _: True

    def unknown(self, text: str, defines: Collection[str] = ()) -> tuple[str, ...]:
        """What the text cites and is not there, each with what is wrong. Of the kinds in `defines`, it may
        define its own."""
        kinds = self._kinds()
        own = {
            found["id"]
            for found in _DEFINED.finditer(text)
            if found["kind"] in defines or found["kind"] not in kinds
        }
        return tuple(dict.fromkeys([*self._ids(text, own), *self._steps(text), *self._others(text)]))

    def _ids(self, text: str, own: Collection[str]) -> Iterator[str]:
        kinds = self._kinds()
        for found in _CITED.finditer(text):
            one, kind = found[0], found["kind"]
            if one in self.ids or one in own:
                continue
            if kind in kinds or not (kind in STANDARDS or self.is_known(one)):
                yield f"{one} (no file defines it)"

    def _kinds(self) -> Collection[str]:
        """What is numbered here."""
        return {*KINDS, *(one.rpartition("-")[0] for one in self.ids)}

    def _steps(self, text: str) -> Iterator[str]:
        for found in _STEPS.finditer(text):
            for one in re.findall(_ONE_STEP, found["ids"]):
                if one not in self.steps:
                    yield f"step {one} (there is none)"

    def _others(self, text: str) -> Iterator[str]:
        for found in _DECISION.finditer(text):
            if not 1 <= int(found[1]) <= self.decisions:
                yield f"{found[0]} (there is {f'D1 to D{self.decisions}' if self.decisions else 'none yet'})"
        for one in citations.unverified(text, self.evidence):
            quoted = ", ".join(f'"{words}"' for words in one.quotes)
            yield f"[{one.shown}] ({one.problem}{': ' if quoted else ''}{quoted})"
        for found in _PLACE.finditer(text):
            count, last = self.lines(found["file"]), int(found["last"] or found["first"])
            if count is None:
                yield f"{found[0]} (there is no such file)"
            elif count and not 1 <= int(found["first"]) <= last <= count:
                yield f"{found[0]} (the file has {count:,} lines)"


def defined(files: Mapping[str, str], kinds: Collection[str] | None = None) -> dict[str, str]:
    """Each id with the line that defines it: all, or those of these kinds. Of several, the first holds, in
    the order of the files. Tables of values only cite."""
    found: dict[str, str] = {}
    for name, text in files.items():
        if name.endswith(".csv"):
            continue
        for one in (_STORY if name.endswith(".json") else _DEFINED).finditer(text):
            if kinds is not None and one["id"].rpartition("-")[0] not in kinds:
                continue
            about = one["about"].strip(' *:|"`')
            found.setdefault(one["id"], f"{one['id']} ({name}): {about}")
    return {one: found[one] for one in sorted(found, key=_order)}


def _order(one: str) -> tuple[str, int]:
    kind, _, number = one.rpartition("-")
    return kind, int(number)


def cites_decisions(text: str) -> bool:
    return _DECISION.search(text) is not None


def mentioned(texts: Iterable[str]) -> set[str]:
    """Ids in what somebody has said."""
    return {found[0] for text in texts for found in _CITED.finditer(text)}


def kinds_in(guide: str) -> frozenset[str]:
    """Which ids a step gives, as its own guide for the artifacts says."""
    return frozenset(_IN_GUIDE.findall(guide))


def as_text(content: Any) -> str:
    """What a file gets, as words."""
    match content:
        case dict():
            return "\n".join(map(as_text, content.values()))
        case list() | tuple():
            return "\n".join(map(as_text, content))
        case _:
            return str(content)
