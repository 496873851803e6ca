"""A diff before several reviewers: all at the same time, each counted once, and asked again only where it
failed."""

from __future__ import annotations

from itertools import permutations

import msgspec
import pytest

from moot.changes.review_block import Severity, Verdict
from moot.core.flow import AskPerson, PersonAnswered, TaskDone, Usage
from moot.diffs.findings import Kind, Review, Said
from moot.diffs.flow import (
    DIFF,
    TRANSITIONS,
    DiffEvent,
    DiffState,
    DiffTaken,
    RetryChosen,
    ReviewFailed,
    ReviewMade,
    RunReview,
    Seat,
    Step,
    report_of,
)
from moot.errors import IllegalMove, InvalidInput, PatchInvalid

PATCH = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a = 1\n+a = 1 / 0\n"
SEATS = (
    Seat("codex", "codex"),
    Seat("claude", "claude"),
    Seat("the-pragmatist", "model", "a:b", "the-pragmatist"),
)
TAKEN = DiffTaken("the work", PATCH, SEATS, left_out=(".env: private",), estimate="at least about 3 tokens")
FOUND = Said(Severity.HIGH, Kind.BUG, "x.py", "a = 1 / 0", "It divides.", "It crashes.")
BILL = Usage("m", 10, 2, 0.5, 100, left_out=("the diff of uv.lock",))


def made(by: str, *said: Said) -> ReviewMade:
    return ReviewMade(Review(by, f"{by} says", said), BILL)


def failed(by: str) -> ReviewFailed:
    return ReviewFailed(by, "ReviewerCrashed", f"{by} crashed")


REVIEWING = DIFF.fold([TAKEN])
INCOMPLETE = DIFF.fold([TAKEN, made("codex"), failed("claude"), made("the-pragmatist")])
JUDGED = DIFF.fold([TAKEN, made("codex"), made("claude", FOUND), made("the-pragmatist")])
STATES = {
    Step.UNOPENED: DIFF.initial, Step.REVIEWING: REVIEWING, Step.INCOMPLETE: INCOMPLETE, Step.JUDGED: JUDGED,
}  # fmt: skip
EVENTS: tuple[DiffEvent, ...] = (TAKEN, made("codex"), failed("codex"), RetryChosen())


def waiting(state: DiffState) -> list[str]:
    return [effect.by for effect in DIFF.pending(state) if isinstance(effect, RunReview)]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
@pytest.mark.parametrize("step", Step)
def test_the_table_is_all_that_is_possible(step: Step, event: DiffEvent) -> None:
    state = STATES[step]
    assert state.step is step
    if target := TRANSITIONS.get((step, type(event))):
        assert DIFF.advance(state, event).step in (target if isinstance(target, tuple) else (target,))
        return
    with pytest.raises(IllegalMove):
        DIFF.advance(state, event)


def test_all_are_asked_at_once_and_none_twice() -> None:
    assert waiting(REVIEWING) == ["codex", "claude", "the-pragmatist"]
    one = DIFF.advance(REVIEWING, made("claude"))
    assert (one.step, waiting(one)) == (Step.REVIEWING, ["codex", "the-pragmatist"])
    for again in (made("claude"), failed("claude"), made("nobody")):
        with pytest.raises(InvalidInput):
            DIFF.advance(one, again)
    assert DIFF.pending(JUDGED) == ()
    assert (JUDGED.is_open, JUDGED.turns, JUDGED.bills) == (True, 3, (BILL,) * 3)


def test_only_who_failed_is_asked_again() -> None:
    [ask] = DIFF.pending(INCOMPLETE)
    assert isinstance(ask, AskPerson)
    assert ask.optional
    again = DIFF.advance(INCOMPLETE, DIFF.record(INCOMPLETE, ask, PersonAnswered(choice="retry")))
    assert DIFF.pending(again) == (RunReview("2 claude"),)
    assert DIFF.advance(again, made("claude")).step is Step.JUDGED


def test_an_outcome_is_the_event_that_the_task_leads_to() -> None:
    [task, *_] = DIFF.pending(REVIEWING)
    assert DIFF.record(REVIEWING, task, TaskDone(failed("codex"))) == failed("codex")
    with pytest.raises(AssertionError):
        DIFF.record(REVIEWING, task, TaskDone(TAKEN))


def test_an_opening_that_makes_no_sense_is_refused() -> None:
    for opening in (DiffTaken("x", PATCH, ()), DiffTaken("x", PATCH, (SEATS[0], SEATS[0]))):
        with pytest.raises(InvalidInput):
            DIFF.fold([opening])
    with pytest.raises(PatchInvalid):
        DIFF.fold([DiffTaken("x", "no patch", SEATS)])


def test_the_report_is_the_same_whoever_answers_first() -> None:
    events = [made("codex"), made("claude", FOUND), made("the-pragmatist")]
    reports = {repr(report_of(DIFF.fold([TAKEN, *order]))) for order in permutations(events)}
    assert len(reports) == 1
    report = report_of(JUDGED, "session-1")
    assert report.judged is not None
    assert (report.judged.verdict, report.judged.disagree) == (Verdict.NEEDS_REVISION, True)
    assert [review.by for review in report.reviews] == ["codex", "claude", "the-pragmatist"]
    assert report.left_out[:2] == (".env: private", "the diff of uv.lock (by codex)")
    assert (report.estimate, report.session) == ("at least about 3 tokens", "session-1")
    assert report.costs[0] == ("codex", "m", 0.5)
    assert report.took == "36 tokens, $1.50"


def test_who_failed_is_in_the_report_and_nobody_is_no_verdict() -> None:
    assert report_of(INCOMPLETE).failed == (("claude", "claude crashed"),)
    assert report_of(INCOMPLETE).took == "at least 24 tokens, $1.00", "who fails sends no bill"
    crashed = msgspec.structs.replace(failed("claude"), bill=BILL)
    billed = DIFF.fold([TAKEN, made("codex"), made("the-pragmatist"), crashed])
    assert report_of(billed).took == "36 tokens, $1.50", "who fails and says what it has used is billed"
    assert report_of(DIFF.advance(billed, RetryChosen())).took == "36 tokens, $1.50", "and stays so"
    nobody = DIFF.fold([TAKEN, *(failed(seat.by) for seat in SEATS)])
    assert (nobody.step, report_of(nobody).judged) == (Step.INCOMPLETE, None)


def test_what_is_stored_is_read_back() -> None:
    events: list[DiffEvent] = [
        TAKEN,
        made("codex", FOUND),
        failed("claude"),
        made("the-pragmatist"),
        RetryChosen(),
    ]
    read = [DIFF.decode_stored(DIFF.encode(event)) for event in events]
    assert read == events
    assert DIFF.fold(read).step is Step.REVIEWING


def test_what_no_reviewer_was_shown_is_no_pass() -> None:
    lock = PATCH.replace("x.py", "uv.lock")
    taken = DiffTaken("x", f"{PATCH}{lock}{PATCH.replace('x.py', 'y.py')}", SEATS[:2])
    both = ("the diff of uv.lock", "the diff of x.py")
    seen_less = [(*both, "the diff of y.py"), both]
    reviews = [
        ReviewMade(Review(seat.by, ""), Usage("m", 1, 1, None, 1, left_out=left_out))
        for seat, left_out in zip(taken.seats, seen_less, strict=True)
    ]
    report = report_of(DIFF.fold([taken, *reviews]))
    assert (report.unseen, report.is_complete) == (("x.py",), False)
    assert report.gaps == ("Reviewed by nobody, because it would not have fitted: x.py",)
    assert report_of(JUDGED).is_complete
