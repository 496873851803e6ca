"""What the person decides about a change: that they approve it themselves, that an issue does not count, that
it is taken up once more, or that it is given up.

Every decision is recorded as theirs, with its reason, and is never a reviewer's verdict. Who may say that
they are the person is for a surface to know.
"""

from __future__ import annotations

import uuid
from pathlib import Path

from moot import approval
from moot.changes import Changes, Tell
from moot.errors import DecisionNotPossible, InvalidInput
from moot.flows.change import Move, Phase, moved
from moot.texts import reviewed
from moot.texts.review_block import Issue, Verdict
from moot.workspace import change_state
from moot.workspace.change_state import PERSON, Data, Dismissal, RecordedReview
from moot.workspace.changes import ChangeFolder
from moot.workspace.claim import claimed

LONGEST_REASON = 2_000


class Deciding:
    def __init__(self, changes: Changes) -> None:
        self._changes = changes

    def approve(self, change_id: str, because: str, tell: Tell) -> Phase:
        """The person's own approval, of exactly the texts that are there."""
        because = _reason(because)
        folder = self._changes.folders.open(change_id)
        with claimed(folder.path, "approved"):
            self._changes.settle(folder, tell)
            phase = moved(Phase(folder.state().phase), Move.APPROVE_THEMSELVES)
            self._changes.valid(folder)
            left = approval.blocking(_issues(folder))
            if left:
                listed = "".join(f"\n  {issue.severity}: {issue.description}" for issue in left)
                problem = f"its last review leaves {len(left)} issues in the way; dismiss them first:{listed}"
                raise DecisionNotPossible(change_id, problem)
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
                change_state.note_review(data, record)
                data.update(phase=str(phase), last_action="approve")

            folder.update_state(noted)
        return phase

    def dismiss(self, change_id: str, number: int, because: str, tell: Tell) -> Issue:
        """One issue of the last review, by its number there."""
        because = _reason(because)
        folder = self._changes.folders.open(change_id)
        with claimed(folder.path, "decided about"):
            self._changes.settle(folder, tell)
            moved(Phase(folder.state().phase), Move.DISMISS)
            last = approval.last_made(folder)
            review = self._changes.last_review(folder)
            if last is None or review is None:
                raise DecisionNotPossible(change_id, "there is no review whose issues could be dismissed")
            if not 1 <= number <= len(review.issues):
                problem = f"its last review has {len(review.issues)} issues; there is no issue {number}"
                raise DecisionNotPossible(change_id, problem)
            if number in approval.dismissals(folder, last.record):
                raise DecisionNotPossible(change_id, f"issue {number} was dismissed already")
            issue = review.issues[number - 1]
            name = approval.name_of(last.record)
            dismissal = Dismissal(name, number, issue.description, because)
            folder.update_state(lambda data: change_state.note_dismissal(data, dismissal))
        return issue

    def reopen(self, change_id: str, tell: Tell) -> Phase:
        """Back to `proposed`. Whoever approved it before has to do so again."""
        folder = self._changes.folders.open(change_id)
        with claimed(folder.path, "reopened"):
            self._changes.settle(folder, tell)
            phase = moved(Phase(folder.state().phase), Move.REOPEN)

            def noted(data: Data) -> None:
                change_state.withdraw_last_review(data)
                data.update(phase=str(phase), last_action="reopen")

            folder.update_state(noted)
        return phase

    def abandon(self, change_id: str, because: str) -> Path:
        """Into the archive, with the reason."""
        because = _reason(because)
        folder = self._changes.folders.open(change_id)
        with claimed(folder.path, "abandoned"):
            phase = Phase(folder.state().phase)
            # One that says so already was not moved: whoever began that was stopped.
            if phase is not Phase.ARCHIVED:
                phase = moved(phase, Move.ABANDON)
                folder.update_state(lambda data: _abandoned(data, phase, because))
            return self._changes.folders.archive(folder)


def _abandoned(data: Data, phase: Phase, because: str) -> None:
    data["abandoned"] = {"because": because, "at": change_state.now()}
    change_state.end_run(data)
    data.update(phase=str(phase), last_action="abandon")


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
        raise InvalidInput("--because", "say in a sentence why")
    if len(because) > LONGEST_REASON:
        raise InvalidInput("--because", f"has {len(because)} characters; at most {LONGEST_REASON}")
    return because
