"""A diff is put before reviewers, all at the same time; when each has answered or failed, it is judged.

Where one of them failed, the person may have it asked again: nobody else is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import fsum
from typing import Literal

from moot.core.flow import (
    AskPerson,
    Choice,
    Effect,
    Event,
    Flow,
    Outcome,
    PersonAnswered,
    Table,
    Task,
    Usage,
    check_step,
    next_step,
)
from moot.diffs import patch as patches
from moot.diffs.findings import Judged, Review, judge
from moot.diffs.patch import is_made_by_program, source_name
from moot.diffs.report import Report
from moot.errors import InvalidInput
from moot.llm.prices import in_dollars


class Step(StrEnum):
    UNOPENED = "unopened"
    REVIEWING = "reviewing"
    INCOMPLETE = "incomplete"
    JUDGED = "judged"


@dataclass(frozen=True, slots=True)
class Seat:
    """A reviewer: a program, or a model, which may speak as a persona. `by` is what it is called."""

    by: str
    engine: Literal["codex", "claude", "model"]
    model: str = ""
    persona: str = ""


# -- what happens --------------------------------------------------------------------------------


class DiffTaken(Event, frozen=True):
    """What is to be reviewed, by whom, and what that is going to cost, in words. A `plan` is what the diff is
    held against; `is_plan`: the text under review is a plan itself."""

    what: str
    patch: str
    seats: tuple[Seat, ...]
    plan: str = ""
    is_plan: bool = False
    left_out: tuple[str, ...] = ()
    estimate: str = ""
    intent: str = ""
    """What its commits say that it is for."""


class ReviewMade(Event, frozen=True):
    review: Review
    bill: Usage


class ReviewFailed(Event, frozen=True, omit_defaults=True):
    """`kind` is the name of the error's class. The bill is None where nobody says what it has used."""

    by: str
    kind: str
    message: str
    bill: Usage | None = None


class RetryChosen(Event, frozen=True):
    pass


DiffEvent = DiffTaken | ReviewMade | ReviewFailed | RetryChosen


class RunReview(Task[ReviewMade | ReviewFailed]):
    """Have one reviewer review it."""

    @property
    def by(self) -> str:
        return self.key.partition(" ")[2]


TRANSITIONS: Table = {
    (Step.UNOPENED, DiffTaken): Step.REVIEWING,
    (Step.REVIEWING, ReviewMade): (Step.REVIEWING, Step.INCOMPLETE, Step.JUDGED),
    (Step.REVIEWING, ReviewFailed): (Step.REVIEWING, Step.INCOMPLETE),
    (Step.INCOMPLETE, RetryChosen): Step.REVIEWING,
}


@dataclass(frozen=True, slots=True)
class DiffState:
    step: Step = Step.UNOPENED
    opened: DiffTaken | None = None
    made: tuple[ReviewMade, ...] = ()
    failed: tuple[ReviewFailed, ...] = ()
    judged: Judged | None = None
    """By all reviews that there are, once nobody is waited for."""
    attempt: int = 1
    bills: tuple[Usage, ...] = ()

    @property
    def is_open(self) -> bool:
        return self.opened is not None

    @property
    def turns(self) -> int:
        return len(self.made)

    def seat(self, by: str) -> Seat:
        return next(seat for seat in self.seats if seat.by == by)

    @property
    def seats(self) -> tuple[Seat, ...]:
        return self.opened.seats if self.opened else ()

    @property
    def in_order(self) -> tuple[ReviewMade, ...]:
        """As the reviewers were named."""
        order = [seat.by for seat in self.seats]
        return tuple(sorted(self.made, key=lambda one: order.index(one.review.by)))

    @property
    def waiting(self) -> tuple[Seat, ...]:
        """Of whom nothing has come yet."""
        settled = {one.review.by for one in self.made} | {one.by for one in self.failed}
        return tuple(seat for seat in self.seats if seat.by not in settled)


def advance(state: DiffState, event: DiffEvent) -> DiffState:
    target = next_step(TRANSITIONS, state.step, event)
    after = _change(state, event)
    if isinstance(target, tuple):
        step = Step.REVIEWING if after.waiting else Step.INCOMPLETE if after.failed else Step.JUDGED
        check_step(target, step)
        return replace(after, step=step, judged=None if after.waiting else _judge(after))
    return replace(after, step=target)


def _change(state: DiffState, event: DiffEvent) -> DiffState:
    match event:
        case DiffTaken():
            # What cannot be read, or nobody reviews, is no opening.
            patches.parse(event.patch)
            _check_seats(event.seats)
            return replace(state, opened=event)
        case ReviewMade(review, bill):
            _check_waits_for(state, review.by)
            return replace(state, made=(*state.made, event), bills=(*state.bills, bill))
        case ReviewFailed(by, bill=bill):
            _check_waits_for(state, by)
            bills = state.bills if bill is None else (*state.bills, bill)
            return replace(state, failed=(*state.failed, event), bills=bills)
        case RetryChosen():
            return replace(state, failed=(), judged=None, attempt=state.attempt + 1)


def _judge(state: DiffState) -> Judged | None:
    """The same whoever answered first."""
    assert state.opened is not None
    reviews = [one.review for one in state.in_order]
    return judge(patches.parse(state.opened.patch), reviews) if reviews else None


def _check_seats(seats: tuple[Seat, ...]) -> None:
    names = [seat.by for seat in seats]
    if not names or len(set(names)) < len(names):
        raise InvalidInput("reviewers", "there is at least one, and none of them twice")


def _check_waits_for(state: DiffState, by: str) -> None:
    if by not in {seat.by for seat in state.waiting}:
        raise InvalidInput("reviewer", f"nothing is waited for of {by[:80]!r}")


_RETRY = Choice("retry", "Ask again whoever has failed")


def pending(state: DiffState) -> tuple[Effect, ...]:
    match state.step:
        case Step.REVIEWING:
            return tuple(RunReview(f"{state.attempt} {seat.by}") for seat in state.waiting)
        case Step.INCOMPLETE:
            return (AskPerson(Step.INCOMPLETE, "a retry", str(state.attempt), (_RETRY,), optional=True),)
        case _:
            return ()


def record(_state: DiffState, effect: Effect, outcome: Outcome) -> DiffEvent:
    match outcome:
        case PersonAnswered(choice="retry"):
            return RetryChosen()
        case _:
            raise AssertionError(f"{outcome} is nothing that {effect} can lead to")


DIFF: Flow[DiffState, DiffEvent] = Flow(
    name="diff",
    initial=DiffState(),
    events=DiffEvent,
    advance=advance,
    pending=pending,
    make_event=record,
)


def report_of(state: DiffState, session: str = "") -> Report:
    opened = state.opened
    assert opened is not None
    made = state.in_order
    unseen = [f"{name} (by {one.review.by})" for one in made for name in one.bill.left_out]
    return Report(
        what=opened.what,
        judged=state.judged,
        reviews=tuple(one.review for one in made),
        failed=tuple((one.by, one.message) for one in state.failed),
        left_out=(*opened.left_out, *unseen),
        estimate=opened.estimate,
        took=_took(state.bills, all_billed=all(one.bill for one in state.failed)),
        session=session,
        costs=tuple((one.review.by, one.bill.model, one.bill.cost_usd) for one in made),
        unseen=_unseen(opened, made),
    )


def _took(bills: Sequence[Usage], *, all_billed: bool) -> str:
    """Some of those who fail do not say what they have used."""
    if not bills:
        return ""
    tokens = sum(one.input_tokens + one.output_tokens for one in bills)
    costs = [one.cost_usd for one in bills if one.cost_usd is not None]
    told = f"{tokens:,} tokens, {in_dollars(fsum(costs) if len(costs) == len(bills) else None)}"
    return told if all_billed else f"at least {told}"


def _unseen(opened: DiffTaken, made: Sequence[ReviewMade]) -> tuple[str, ...]:
    """Nobody has to read what programs have made."""
    files = [file.path for file in patches.parse(opened.patch).files if not is_made_by_program(file)]
    return tuple(
        path for path in files if made and all(source_name(path) in one.bill.left_out for one in made)
    )
