"""What reviewers said about a diff: where it lies, what several of them found in one place, and the verdict.

Pure. A finding lies where its quote lies in the patch; one whose quote is not there is *ungrounded*: it is
shown, and never blocks. The rule for several reviewers: what blocks for one blocks for all, and rejected is
what more than half of them reject. Refuses to know who a reviewer is, and how the findings are shown.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal

from moot.changes import governor
from moot.changes.review_block import Severity, Verdict
from moot.diffs.patch import FileDiff, Line, Patch, squeezed

SEVERITIES = tuple(Severity)
"""The worst first."""
_LEAST_PART = 4
"""Characters of a line that are enough to find it by."""
_RANKS, _REMOVED = "+- ", 1
"""Of a quote that is there several times, what was added counts first."""
_WORD = re.compile(r"\w")


class Kind(StrEnum):
    BUG = "bug"
    SECURITY = "security"
    DATA = "data"
    PERFORMANCE = "performance"
    COMPATIBILITY = "compatibility"
    TESTS = "tests"
    PLAN = "plan"
    DESIGN = "design"


# -- what a reviewer said ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Said:
    """`quote` is of the diff, word for word; `line` is where the reviewer takes it to be, which tells apart
    what is there more than once."""

    severity: Severity
    kind: Kind
    file: str
    quote: str
    problem: str
    consequence: str
    fix: str = ""
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Review:
    """`rejects`: the reviewer holds that no correction of details can help."""

    by: str
    summary: str
    said: tuple[Said, ...] = ()
    rejects: bool = False


# -- where it lies -------------------------------------------------------------------------------

Side = Literal["new", "old"]


@dataclass(frozen=True, slots=True)
class Place:
    """Lines of a file as it is now, or, where only removed ones are quoted, as it was. `shown_at` is the line
    of the file as it is now that stands there or is next to it; None where the file is gone."""

    file: str
    side: Side
    line: int
    end: int
    shown_at: int | None
    text: str

    def __str__(self) -> str:
        lines = f"{self.line}" if self.line == self.end else f"{self.line}-{self.end}"
        return f"{self.file}:{lines}" + (" (removed)" if self.side == "old" else "")

    def overlaps(self, other: Place) -> bool:
        same = (self.file, self.side) == (other.file, other.side)
        return same and self.line <= other.end and other.line <= self.end


def locate(patch: Patch, said: Said) -> Place | None:
    """In the file that is named, else in the only place of the patch that has the quote."""
    quoted = [squeezed(row) for row in said.quote.split("\n")]
    quoted = [row for row in quoted if row]
    if not any(_WORD.search(row) for row in quoted):
        return None
    named = [file for file in patch.files if _is_named(file, said.file)]
    if here := [place for file in named for place in _places(patch, file, quoted)]:
        return min(here, key=lambda place: _rank(place, said.line))[1]
    elsewhere = [place for file in patch.files for place in _places(patch, file, quoted)]
    return elsewhere[0][1] if len(elsewhere) == 1 else None


_Ranked = tuple[int, Place]


def _rank(ranked: _Ranked, line: int | None) -> tuple[int, int, int]:
    """What was added before what was removed before what is only around it, where the reviewer does not say
    which line it is."""
    rank, place = ranked
    return (0 if line is None else abs(place.line - line), rank, place.line)


def _places(patch: Patch, file: FileDiff, quoted: list[str]) -> Iterator[_Ranked]:
    signed = [squeezed(row[:1]) + squeezed(row[1:]) for row in quoted]
    flat = patch.flat_of(file)
    if quoted[0] not in flat and signed[0] not in flat:
        return
    for hunk in file.hunks:
        lines = [line for line in hunk.lines if line.text.strip()]
        views = (
            ([line for line in lines if line.sign != "-"], quoted, False),
            ([line for line in lines if line.sign != "+"], quoted, False),
            (lines, signed, True),
        )
        found: set[tuple[int, ...]] = set()
        for view, wanted, with_sign in views:
            texts = [line.sign.strip() * with_sign + squeezed(line.text) for line in view]
            for at in range(len(texts) - len(wanted) + 1):
                if not _matches(texts[at : at + len(wanted)], wanted):
                    continue
                run = view[at : at + len(wanted)]
                ranked = _place(file, hunk.lines, run)
                if (key := (ranked[1].line, ranked[1].end, ranked[0])) not in found:
                    found.add(key)
                    yield ranked
    first = file.lines[0].at if file.lines else file.end
    head = [squeezed(row) for row in patch.rows[file.at - 1 : first - 1]]
    if len(quoted) == 1 and quoted[0] in head:
        yield 3, Place(file.path, "new" if file.new else "old", 1, 1, 1 if file.new else None, quoted[0])


def _matches(texts: list[str], wanted: list[str]) -> bool:
    """Of the first and the last line, a part is enough."""
    if texts == wanted:
        return True
    if len(wanted) == 1:
        return len(wanted[0]) >= _LEAST_PART and wanted[0] in texts[0]
    (first, *middle, last), (want_first, *want_middle, want_last) = texts, wanted
    return middle == want_middle and first.endswith(want_first) and last.startswith(want_last)


def _place(file: FileDiff, around: Sequence[Line], run: Sequence[Line]) -> _Ranked:
    text = "\n".join(squeezed(line.text) for line in run)
    rank = min(_RANKS.index(line.sign) for line in run)
    of_sign = [line for line in run if line.sign == _RANKS[rank]]
    if rank != _REMOVED:
        new = [line.new for line in of_sign if line.new is not None]
        return rank, Place(file.path, "new", new[0], new[-1], new[0], text)
    old = [line.old for line in of_sign if line.old is not None]
    shown = _next_to(of_sign[0], around) if file.new else None
    return rank, Place(file.path, "old", old[0], old[-1], shown, text)


def _next_to(removed: Line, around: Sequence[Line]) -> int:
    """The line of the file as it is now that follows; at the end, the one before."""
    after = [line.new for line in around if line.at > removed.at and line.new]
    before = [line.new for line in around if line.at < removed.at and line.new]
    return after[0] if after else before[-1] if before else 1


def _is_named(file: FileDiff, name: str) -> bool:
    plain = name.strip().removeprefix("@/").removeprefix("./")
    names = {file.old, file.new}
    return plain in names or (plain.partition("/")[2] in names and plain[:2] in ("a/", "b/"))


# -- what several found in one place -------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Voice:
    """What one reviewer said about it."""

    by: str
    said: Said


@dataclass(frozen=True, slots=True)
class Finding:
    """`voices` are of different reviewers. `fingerprint` stays when lines above are added or removed."""

    id: str
    severity: Severity
    kind: Kind
    place: Place | None
    voices: tuple[Voice, ...]
    blocks: bool = False
    fingerprint: str = ""

    @property
    def grounded(self) -> bool:
        return self.place is not None

    @property
    def worst(self) -> Said:
        """The first of the most severe."""
        return min((voice.said for voice in self.voices), key=lambda said: SEVERITIES.index(said.severity))

    @property
    def file(self) -> str:
        """As the reviewer called it, where it has no place."""
        return self.place.file if self.place else self.worst.file


@dataclass(frozen=True, slots=True)
class Judged:
    """`votes` has each reviewer's own verdict, by the same rule."""

    verdict: Verdict
    findings: tuple[Finding, ...]
    votes: tuple[tuple[str, Verdict], ...]

    def count(self, severity: Severity, *, grounded: bool = True) -> int:
        return sum(one.severity is severity and one.grounded is grounded for one in self.findings)

    @property
    def disagree(self) -> bool:
        return len({verdict for _, verdict in self.votes}) > 1


def judge(patch: Patch, reviews: Sequence[Review]) -> Judged:
    if not reviews:
        raise ValueError("nobody has reviewed it")
    placed = [(review, [(said, locate(patch, said)) for said in review.said]) for review in reviews]
    blocked = {review.by: _blocking(review.by, its) for review, its in placed}
    votes = tuple((review.by, _vote(review, blocks=bool(blocked[review.by]))) for review in reviews)
    findings = _merge([(review.by, said, place) for review, its in placed for said, place in its])
    marked = [
        replace(one, blocks=any(voice.said in blocked[voice.by] for voice in one.voices)) for one in findings
    ]
    return Judged(_verdict([vote for _, vote in votes]), _numbered(marked), votes)


def _blocking(by: str, its: Sequence[tuple[Said, Place | None]]) -> list[Said]:
    """What blocks for one reviewer, by the governor's rule."""
    found = [
        governor.Found(str(number), said.severity, grounded=place is not None, by=frozenset({by}))
        for number, (said, place) in enumerate(its)
    ]
    return [its[int(one.id)][0] for one in governor.blocking(found)]


def _vote(review: Review, *, blocks: bool) -> Verdict:
    """To reject takes a finding that blocks: without one, there is nothing to show for it."""
    if not blocks:
        return Verdict.APPROVED
    return Verdict.REJECTED if review.rejects else Verdict.NEEDS_REVISION


def _verdict(votes: Sequence[Verdict]) -> Verdict:
    if 2 * votes.count(Verdict.REJECTED) > len(votes):
        return Verdict.REJECTED
    return Verdict.APPROVED if set(votes) == {Verdict.APPROVED} else Verdict.NEEDS_REVISION


def _merge(all_said: Sequence[tuple[str, Said, Place | None]]) -> list[Finding]:
    """What reviewers found in the same lines is one finding with several voices; what one of them found there
    twice is two."""
    merged: list[Finding] = []
    for by, said, place in all_said:
        together = [
            (said.kind is not one.kind, number)
            for number, one in enumerate(merged)
            if place and one.place and one.place.overlaps(place) and by not in {v.by for v in one.voices}
        ]
        if together:
            _, number = min(together)
            merged[number] = _with_voice(merged[number], Voice(by, said), place)
        else:
            merged.append(Finding("", said.severity, said.kind, place, (Voice(by, said),)))
    return merged


def _with_voice(finding: Finding, voice: Voice, place: Place | None) -> Finding:
    """It is about the lines that the worst of them quotes."""
    both = replace(finding, voices=(*finding.voices, voice))
    its = place if both.worst is voice.said else finding.place
    return replace(both, severity=both.worst.severity, kind=both.worst.kind, place=its)


def _numbered(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The grounded first, the most severe first, by file and line."""

    def order(one: Finding) -> tuple[bool, int, str, int]:
        return not one.grounded, SEVERITIES.index(one.severity), one.file, one.place.line if one.place else 0

    seen: Counter[str] = Counter()
    numbered = []
    for number, one in enumerate(sorted(findings, key=order), start=1):
        what = one.place.text if one.place else squeezed(one.worst.problem)
        digest = hashlib.sha256(f"{one.file}\0{what}".encode("utf-8", "replace")).hexdigest()[:32]
        seen[digest] += 1
        again = f":{seen[digest]}" if seen[digest] > 1 else ""
        numbered.append(replace(one, id=f"F{number}", fingerprint=digest + again))
    return tuple(numbered)


def at_least(judged: Judged, severity: Severity) -> bool:
    """Whether there is a grounded finding so severe, or worse."""
    worst = SEVERITIES[: SEVERITIES.index(severity) + 1]
    return any(judged.count(one) for one in worst)
