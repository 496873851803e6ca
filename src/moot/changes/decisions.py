"""What the person decides about a change: that they approve it themselves, that an issue does not count, that
it is taken up once more, or that it is given up.

Every decision is recorded as theirs, with its reason, and is never a reviewer's verdict. Who may say that
they are the person is for a surface to know.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path

from moot.changes import approval, review_block, reviewed, rounds, state_file
from moot.changes.folder import ChangeFolder
from moot.changes.phases import Move, Phase, moved
from moot.changes.review_block import Issue, Verdict
from moot.changes.service import Changes, Tell
from moot.changes.state_file import PERSON, Data, Dismissal, RecordedReview
from moot.errors import DecisionNotPossible, InvalidInput
from moot.files import timestamps
from moot.files.lock import claimed

LONGEST_REASON = 2_000


class Deciding:
    def __init__(self, changes: Changes) -> None:
        self._changes = changes

    def check_approval(self, change_id: str, because: str, tell: Tell) -> None:
        """Raises if the person could not approve it: before they are asked whether they are sure."""
        _reason(because)
        folder = self._changes.folders.open(change_id)
        with claimed(folder.path, "approved"):
            self._approvable(folder, tell, self._changes.check)

    def approve(self, change_id: str, because: str, tell: Tell) -> Phase:
        """The person's own approval, of exactly the texts that are there."""
        because = _reason(because)
        folder = self._changes.folders.open(change_id)
        with claimed(folder.path, "approved"):
            phase = self._approvable(folder, tell, self._changes.valid)
            files = folder.reviewed_files()
            record = RecordedReview(
                hash="",
                verdict=Verdict.APPROVED,
                engine=PERSON,
                id=uuid.uuid4().hex[:12],
                reviewed=reviewed.hash_of_all(folder.id, files),
                files=files,
                because=because,
            )

            def noted(data: Data) -> None:
                # `verdict` stays: that is what a reviewer has said.
                state_file.note_review(data, record)
                data.update(phase=str(phase), last_action="approve")

            folder.update_state(noted)
        return phase

    def _approvable(self, folder: ChangeFolder, tell: Tell, check: Callable[[ChangeFolder], None]) -> Phase:
        """The phase that the person's approval would lead to."""
        self._changes.settle(folder, tell)
        phase = moved(folder.state().phase, Move.APPROVE_THEMSELVES)
        check(folder)
        check_issues(folder)
        return phase

    def number_of(self, change_id: str, named: str) -> int:
        """Of an issue of the last review, by that number or by its id."""
        if named.isdecimal():
            return int(named)
        made = rounds.history(self._changes.folders.open(change_id)).made
        ids = [issue.id for issue in made[-1].review.issues] if made else []
        if named.upper() not in ids:
            there = f"its issues are {', '.join(ids)}" if ids else "it has none"
            raise InvalidInput("issue", f"the last review has no {named[:20]!r}: {there}")
        return ids.index(named.upper()) + 1

    def dismissible(self, change_id: str, number: int, because: str, tell: Tell) -> Issue:
        """The issue that would be dismissed: for the person who is asked whether they are sure."""
        _reason(because)
        folder = self._changes.folders.open(change_id)
        with claimed(folder.path, "decided about"):
            return self._issue(folder, number, tell)[0]

    def dismiss(
        self, change_id: str, number: int, because: str, tell: Tell, *, accepted: bool = False
    ) -> Issue:
        """One issue of the last review, by its number there: rejected, or `accepted` as a risk."""
        because = _reason(because)
        folder = self._changes.folders.open(change_id)
        with claimed(folder.path, "decided about"):
            issue, record = self._issue(folder, number, tell)
            # As it is numbered: reviews of earlier versions gave their issues no ids.
            name = rounds.history(folder).made[-1].review.issues[number - 1].id
            review = approval.name_of(record)
            dismissal = Dismissal(review, number, issue.description, because, id=name, accepted=accepted)
            folder.update_state(lambda data: state_file.note_dismissal(data, dismissal))
        return issue

    def _issue(self, folder: ChangeFolder, number: int, tell: Tell) -> tuple[Issue, RecordedReview]:
        """One that can be dismissed, and the record of its review."""
        self._changes.settle(folder, tell)
        moved(folder.state().phase, Move.DISMISS)
        last = approval.last_made(folder)
        review = approval.last_review(folder)
        if last is None or review is None:
            raise DecisionNotPossible(folder.id, "there is no review whose issues could be dismissed")
        if not 1 <= number <= len(review.issues):
            count = f"{len(review.issues)} issue{'' if len(review.issues) == 1 else 's'}"
            raise DecisionNotPossible(folder.id, f"its last review has {count}; there is no issue {number}")
        if number in approval.dismissals(folder, last.record):
            raise DecisionNotPossible(folder.id, f"issue {number} was dismissed already")
        return review.issues[number - 1], last.record

    def reopen(self, change_id: str, tell: Tell) -> Phase:
        """Back to `proposed`. Whoever approved it before has to do so again."""
        folder = self._changes.folders.open(change_id)
        with claimed(folder.path, "reopened"):
            self._changes.settle(folder, tell)
            phase = moved(folder.state().phase, Move.REOPEN)

            def noted(data: Data) -> None:
                state_file.withdraw_last_review(data)
                data.update(phase=str(phase), last_action="reopen")

            folder.update_state(noted)
        return phase

    def abandon(self, change_id: str, because: str) -> Path:
        """Into the archive, with the reason."""
        because = _reason(because)
        folder = self._changes.folders.open(change_id)
        with claimed(folder.path, "abandoned"):
            phase = folder.state().phase
            # One that says so already was not moved: whoever began that was stopped.
            if phase is not Phase.ARCHIVED:
                phase = moved(phase, Move.ABANDON)
                folder.update_state(lambda data: _abandoned(data, phase, because))
            return self._changes.folders.archive(folder)


def _abandoned(data: Data, phase: Phase, because: str) -> None:
    data["abandoned"] = {"because": because, "at": timestamps.now()}
    state_file.end_run(data)
    data.update(phase=str(phase), last_action="abandon")


def check_issues(folder: ChangeFolder) -> None:
    """Raises if the last review leaves an issue in the way of the person's own approval."""
    if left := review_block.blocking(_issues(folder)):
        review = approval.last_review(folder)
        numbers = {issue: at for at, issue in enumerate(review.issues if review else (), start=1)}
        listed = "".join(f"\n  {numbers[issue]} {issue.severity}: {issue.description}" for issue in left)
        count, them = ("1 issue", "it") if len(left) == 1 else (f"{len(left)} issues", "them")
        problem = f"its last review leaves {count} in the way; dismiss {them} first:{listed}"
        raise DecisionNotPossible(folder.id, problem)


def _issues(folder: ChangeFolder) -> tuple[Issue, ...]:
    """Those that are left of the last review. One that cannot be read may have left any."""
    last = approval.last_made(folder)
    if last is not None:
        try:
            approval.read(last)
        except InvalidInput as error:
            problem = f"its last review cannot be used ({error.problem}); challenge it again"
            raise DecisionNotPossible(folder.id, problem) from None
    return approval.open_issues(folder)


def _reason(because: str) -> str:
    because = because.strip()
    if not because:
        raise InvalidInput("because", "say in a sentence why")
    if len(because) > LONGEST_REASON:
        raise InvalidInput("because", f"has {len(because)} characters; at most {LONGEST_REASON}")
    return because
