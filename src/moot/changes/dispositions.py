"""What a review says of the issues that an earlier one left open: raised again, fixed, or withdrawn. Pure.

An issue keeps the id that the program has given it. Refuses to know where reviews are kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from moot.changes import findings
from moot.changes.review_block import Issue, Review, Severity, Verdict
from moot.errors import InvalidInput

_ID = re.compile(r"I[1-9]\d{0,8}", re.ASCII)


class Fate(StrEnum):
    FIXED = "fixed"
    WITHDRAWN = "withdrawn"


def as_fate(written: str) -> Fate:
    """Case and marks around the word do not matter."""
    name = written.strip(" *_`.").lower()
    if name not in list(Fate):
        raise InvalidInput("state", f"{written.strip()[:80]!r} is none of {', '.join(Fate)}")
    return Fate(name)


@dataclass(frozen=True, slots=True)
class Disposition:
    """What became of an issue that is not raised again, and what shows it."""

    id: str
    state: Fate
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class Placed:
    """Where an issue's quote was found, and whether the last revision had written what is there."""

    id: str
    section: str = ""
    introduced: bool = False


# -- ids -----------------------------------------------------------------------------------------


def number(review: Review, known: Mapping[str, Issue], left: Mapping[str, Issue]) -> Review:
    """The review with an id for each of its issues: its own, where it has one that an issue can have; that of
    an issue that was `left` open, where it says much the same; else the next that is free."""
    own = [issue.id if _ID.fullmatch(issue.id) else "" for issue in review.issues]
    free = [at for at, name in enumerate(own) if not name]
    open_ids = [name for name in left if name not in own]
    alike = findings.pairs([left[name] for name in open_ids], [review.issues[at] for at in free])
    for before, after in alike:
        own[free[after]] = open_ids[before]
    last = max((int(name[1:]) for name in (*known, *own) if _ID.fullmatch(name)), default=0)
    for at in free:
        if not own[at]:
            last += 1
            own[at] = f"I{last}"
    issues = (replace(issue, id=name) for issue, name in zip(review.issues, own, strict=True))
    return replace(review, issues=tuple(issues))


# -- what a review says of those that were open ----------------------------------------------------


def faults(
    known: Mapping[str, Issue],
    left: Mapping[str, Issue],
    issues: Sequence[Issue],
    said: Sequence[Disposition],
) -> list[str]:
    """Everything that is wrong with it, as sentences that a reviewer can act on."""
    raised = [issue.id for issue in issues if issue.id]
    named = [one.id for one in said]
    reasons = [
        f"no review has raised {name[:20]}; leave the id of a new issue empty" for name in _new(raised, known)
    ]
    reasons += [f"no issue {name[:20]} is open" for name in _new(named, left)]
    for name in dict.fromkeys((*raised, *named)):
        if raised.count(name) + named.count(name) > 1:
            reasons.append(f"{name[:20]} is there twice: raise it again, or say what became of it, once")
    reasons += [
        f"{one.id[:20]} is {one.state}: say what shows it" for one in said if not one.evidence.strip()
    ]
    return reasons


def _new(names: Sequence[str], known: Mapping[str, Issue]) -> list[str]:
    return [name for name in dict.fromkeys(names) if name not in known]


def must_be_said(left: Mapping[str, Issue], verdict: Verdict) -> bool:
    """Whether a review with that verdict cannot be taken while nothing is said of these."""
    return verdict is Verdict.APPROVED and any(one.severity is Severity.HIGH for one in left.values())
