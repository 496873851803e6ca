"""The rounds of a change: what each recorded review has found, and which of its issues are open or decided.

A function of the files alone: the blocks in proposal.md, and what STATE.yaml recorded with them. Reviews of
earlier versions gave their issues no ids; theirs are counted here, always in the same way. Refuses to know
when a loop ends: see governor.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from moot.changes import approval, governor
from moot.changes.dispositions import number
from moot.changes.folder import ChangeFolder
from moot.changes.governor import Found, Round
from moot.changes.review_block import Issue, Review
from moot.changes.state_file import PERSON, Call, RecordedReview
from moot.errors import InvalidInput

REVIEWING, DRAFTING = "challenge", ("proposal", "reproposal")
"""The steps of recorded calls that a round is made of: a text, and its review."""


@dataclass(frozen=True, slots=True)
class Made:
    """A review whose issues all have their ids."""

    record: RecordedReview
    review: Review


@dataclass(frozen=True, slots=True)
class History:
    made: tuple[Made, ...]
    dismissed: frozenset[str]
    """Ids of the issues that the person has rejected, or whose risk they have accepted."""

    @property
    def known(self) -> dict[str, Issue]:
        """Every issue, as it was raised last."""
        return {issue.id: issue for one in self.made for issue in one.review.issues}

    @property
    def left(self) -> dict[str, Issue]:
        """What the last review leaves open, and the next one has to say something about."""
        last = self.made[-1].review.issues if self.made else ()
        return {issue.id: issue for issue in last if issue.id not in self.dismissed}


def history(folder: ChangeFolder) -> History:
    dismissed = folder.state().dismissed
    gone: set[str] = set()
    by_number = {(one.review, one.issue) for one in dismissed}
    made: list[Made] = []
    for recorded in folder.reviews():
        if recorded.record.engine == PERSON:
            continue
        with suppress(InvalidInput):
            so_far = History(tuple(made), frozenset(gone))
            review = number(approval.read(recorded), so_far.known, so_far.left)
            made.append(Made(recorded.record, review))
            name = approval.name_of(recorded.record)
            # One review after the other: what is dismissed later does not number an earlier one anew.
            gone |= {issue.id for at, issue in enumerate(review.issues, start=1) if (name, at) in by_number}
    return History(tuple(made), frozenset(gone | {one.id for one in dismissed if one.id}))


# -- for the governor ----------------------------------------------------------------------------


def rounds(folder: ChangeFolder) -> tuple[Round, ...]:
    return tuple(_rounds(history(folder).made, folder.state().calls))


def _rounds(made: Sequence[Made], calls: Iterable[Call]) -> Iterator[Round]:
    before = ""
    for one, spent in zip(made, _spent(calls, len(made)), strict=True):
        yield Round(
            tuple(_found(one)),
            # A round of a change has one reviewer.
            ((one.record.engine, one.record.model or one.record.engine),),
            changed=not before or one.record.reviewed != before,
            usd=sum(call.cost_usd or 0.0 for call in spent),
            minutes=sum(call.duration_ms for call in spent) / 60_000,
        )
        before = one.record.reviewed


def _found(one: Made) -> Iterator[Found]:
    placed = {place.id: place for place in one.record.placed}
    for issue in one.review.issues:
        place = placed.get(issue.id)
        section, introduced = (place.section, place.introduced) if place else (issue.location, False)
        by = frozenset({one.record.engine})
        yield Found(issue.id, issue.severity, section, issue.grounded, introduced, by)


def _spent(calls: Iterable[Call], count: int) -> list[list[Call]]:
    """What each round took: its review, with the attempts that failed and the draft before it. A review of
    a run that was killed has no call that succeeded; so the last round is that of the last such call."""
    groups: list[list[Call]] = [[]]
    for call in calls:
        if call.step in (REVIEWING, *DRAFTING):
            groups[-1].append(call)
            if call.step == REVIEWING and call.outcome == "ok":
                groups.append([])
    *closed, begun = groups
    if closed:
        closed[-1] += begun
    elif begun:
        closed = [begun]
    spare = max(0, len(closed) - count)
    if spare and count:
        closed[spare] = [call for group in closed[: spare + 1] for call in group]
    return [[] for _ in range(count - len(closed))] + closed[spare:]


# -- what is to be done about them ---------------------------------------------------------------


def to_revise(folder: ChangeFolder, wishes: str) -> tuple[Issue, ...]:
    """What a revision works from: what is open, and not what is disputed. With words of the person, or where
    nothing else is left, somebody has decided that it be fixed: a loop ends before that."""
    numbered = approval.numbered_open_issues(folder)
    theirs = {} if wishes else disputed(folder)
    found = tuple(issue for at, issue in numbered if at not in theirs)
    return found or tuple(issue for _, issue in numbered)


def disputed(folder: ChangeFolder) -> Mapping[int, str]:
    """Of the last review's issues those that reviewer and reviser do not agree about, and that the person has
    not decided: their ids, by their numbers there."""
    so_far = history(folder)
    if not so_far.made:
        return {}
    names = governor.disputed(tuple(_rounds(so_far.made, ()))) - so_far.dismissed
    numbered = enumerate(so_far.made[-1].review.issues, start=1)
    return {at: issue.id for at, issue in numbered if issue.id in names}
