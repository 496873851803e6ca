"""What a review of a change is worth: whether moot made it, what it says, and which text it is of.

Only the last one that moot recorded counts, and only together with its block in proposal.md. A phase that
somebody has typed, a block that somebody has pasted, and a record whose block is gone are worth nothing.
Refuses to know what follows from it.
"""

from __future__ import annotations

from contextlib import suppress

from moot.changes import review_block, reviewed
from moot.changes.folder import ChangeFolder, Recorded
from moot.changes.review_block import Issue, Review, Verdict
from moot.changes.state_file import PERSON, Dismissal, RecordedReview
from moot.errors import InvalidInput, NotApproved

_BY_AN_EARLIER_ONE = (
    "it was approved by an earlier moot without a record of the text; challenge it again, "
    "or approve it yourself"
)


def read(made: Recorded) -> Review:
    """Its block, as it was recorded. Raises InvalidInput, also if it contradicts itself (R4)."""
    if made.block is None:
        raise InvalidInput("review", "its block is no longer in proposal.md as it was written")
    review = review_block.read(made.block)
    if review.verdict is not made.record.verdict:
        raise InvalidInput("review", f"its record says {made.record.verdict}, and its block {review.verdict}")
    if found := review_block.contradictions(review):
        raise InvalidInput("review", "; ".join(found))
    return review


def last_made(folder: ChangeFolder, back: int = 1) -> Recorded | None:
    """The last one that a reviewer made, or the last but one; what the person has decided since does not
    change it."""
    made = [one for one in folder.reviews() if one.record.engine != PERSON]
    return made[-back] if len(made) >= back else None


def last_review(folder: ChangeFolder, back: int = 1) -> Review | None:
    """What that one says; None where its block is no longer what it was."""
    made = last_made(folder, back)
    try:
        return read(made) if made else None
    except InvalidInput:
        return None


def changed_since(folder: ChangeFolder, record: RecordedReview) -> tuple[str, ...] | None:
    """Which files are no longer what was reviewed. None if every one of them is."""
    now = folder.reviewed_files()
    if reviewed.hash_of_all(folder.id, now) == record.reviewed:
        return None
    names = sorted(now.keys() | record.files.keys())
    return tuple(name for name in names if now.get(name) != record.files.get(name))


def check(folder: ChangeFolder) -> RecordedReview:
    """What approves the change, exactly as it is now. Raises NotApproved."""
    reviews = folder.reviews()
    if not reviews:
        raise NotApproved(folder.id, "no reviewer that moot has started says so")
    last = reviews[-1]
    record = last.record
    if record.withdrawn:
        raise NotApproved(folder.id, "it was reopened after its last review")
    if record.engine != PERSON:
        try:
            read(last)
        except InvalidInput as error:
            raise NotApproved(folder.id, f"its last review cannot be used: {error.problem}") from None
    if record.verdict is not Verdict.APPROVED:
        raise NotApproved(folder.id, f"its last review says {record.verdict}")
    if not record.reviewed:
        raise NotApproved(folder.id, _BY_AN_EARLIER_ONE)
    changed = changed_since(folder, record)
    if changed is not None:
        problem = "since then it was changed" if changed else "that approval is of another change"
        raise NotApproved(folder.id, problem, changed)
    return record


# -- issues, and what the person has decided about them --------------------------------------------


def dismissals(folder: ChangeFolder, record: RecordedReview) -> dict[int, Dismissal]:
    """Of the issues of that review, by their number: also those that the person has decided about when an
    earlier review had raised them, under the same id."""
    dismissed = folder.state().dismissed
    by_id = {one.id: one for one in dismissed if one.id}
    made = next((one for one in folder.reviews() if one.record == record), None) if by_id else None
    found: dict[int, Dismissal] = {}
    with suppress(InvalidInput):
        numbered = enumerate(read(made).issues if made else (), start=1)
        found = {at: by_id[issue.id] for at, issue in numbered if issue.id in by_id}
    return found | {one.issue: one for one in dismissed if one.review == name_of(record)}


def name_of(record: RecordedReview) -> str:
    """Records of earlier versions have no id, but a hash."""
    return record.id or record.hash


def open_issues(folder: ChangeFolder) -> tuple[Issue, ...]:
    """Those of the last review that the person has not dismissed. None where it cannot be read."""
    return tuple(issue for _, issue in numbered_open_issues(folder))


def numbered_open_issues(folder: ChangeFolder) -> tuple[tuple[int, Issue], ...]:
    """The same, each with its number in the review, by which it is dismissed."""
    last, review = last_made(folder), last_review(folder)
    if last is None or review is None:
        return ()
    gone = dismissals(folder, last.record)
    return tuple((at, issue) for at, issue in enumerate(review.issues, start=1) if at not in gone)
