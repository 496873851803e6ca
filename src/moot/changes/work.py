"""What is done to a change in a session of it: the same as the commands do, and how it ended.

A refusal or a failure is an end like any other, told with what the files say by then. Refuses to know who has
chosen it, and what follows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from moot.changes import findings, flow
from moot.changes.binding import Binding
from moot.changes.challenge import Challenging
from moot.changes.decisions import Deciding
from moot.changes.flow import ChangeEvent, ChangeGone, SessionState, WorkBegun, WorkFailed
from moot.changes.folder import ChangeFolder
from moot.changes.implement import Implementing
from moot.changes.looking import look, mark_of
from moot.changes.retrying import retry, roll_back
from moot.changes.service import Changes, Tell, drafted_files
from moot.changes.source import LONGEST_ASKED
from moot.changes.standing import Files
from moot.changes.task_reviews import Judge
from moot.changes.testing import ConfirmedTests
from moot.core.flow import Outcome, Task, TaskDone
from moot.errors import MootError, NotNow, SessionMoved, StoreFailed

if TYPE_CHECKING:
    from pathlib import Path

    from moot.app import Moot

_CHANGED = "Its files were changed after this was chosen: look at them, and choose again"
_NO_AGENT = (
    "No coding agent was found. Hand the text to one, or do it yourself and tick the boxes in tasks.md; then "
    "build it again"
)

_MakeEnd = Callable[[Files, str, str], ChangeEvent]


class ChangeWork:
    """`driver` says which process this is, as the store knows it."""

    def __init__(
        self,
        moot: Moot,
        change_id: str,
        driver: Callable[[], Awaitable[str]],
        tell: Tell,
        judge: Judge | None = None,
    ) -> None:
        self._moot = moot
        self._id = change_id
        self._driver = driver
        self._tell = tell
        self._judge = judge
        self._changes = Changes(moot)
        self._deciding = Deciding(self._changes)

    async def carry_out(self, task: Task[Any], state: SessionState) -> Outcome:
        try:
            return TaskDone(await self._do(task, state))
        except (SessionMoved, StoreFailed):
            raise
        except MootError as failed:
            return TaskDone(await self._ended(WorkFailed, problem=str(failed)))

    async def _do(  # noqa: PLR0912 - one case a choice
        self, task: Task[Any], state: SessionState
    ) -> ChangeEvent:
        if isinstance(task, flow.BeginWork):
            if mark_of(self._changes, self._id) != state.files.mark:
                raise NotNow(_CHANGED)
            return WorkBegun(await self._driver())
        changes, change_id, tell = self._changes, self._id, self._tell
        bound = self._bind(state)
        match state.chosen:
            case flow.DraftChosen(description):
                folder = await changes.propose(change_id, description, tell, bound, limit=LONGEST_ASKED)
                return await self._ended(flow.ProposalDrafted, f"Drafted: {_names(folder)}")
            case flow.ChallengeChosen():
                return await self._challenge()
            case flow.RevisionChosen(wishes):
                folder = await changes.repropose(change_id, wishes, tell, bound)
                return await self._ended(flow.ProposalRevised, f"Revised: {_names(folder)}")
            case flow.ImplementationChosen(comment, skip):
                return await self._implement(comment, skip)
            case flow.RollBackChosen():
                return await self._roll_back()
            case flow.ArchiveChosen():
                return self._gone(changes.archive(change_id, tell))
            case flow.ApprovalChosen(because):
                self._deciding.approve(change_id, because, tell)
                return await self._ended(
                    flow.ChangeApproved, f"Approved by you, and by no reviewer: {because}"
                )
            case flow.DismissalChosen(number, because, accepted):
                issue = self._deciding.dismiss(change_id, number, because, tell, accepted=accepted)
                done = "Risk accepted" if accepted else "Dismissed"
                return await self._ended(flow.IssueDismissed, f"{done} by you: {issue.description}")
            case flow.ReopeningChosen():
                phase = self._deciding.reopen(change_id, tell)
                return await self._ended(flow.ChangeReopened, f"It is {phase} again")
            case flow.ConfirmationChosen(command):
                ConfirmedTests(self._moot).keep(command)
                return await self._ended(
                    flow.CommandConfirmed, f"From now on, this is run after each task: {command}"
                )
            case flow.AbandonmentChosen(because):
                return self._gone(self._deciding.abandon(change_id, because))
            case None:
                raise AssertionError(f"{task} was not chosen")

    def _bind(self, state: SessionState) -> Binding:
        """What the person has given and corrected in the session counts from now on: who drafts keeps it with
        the draft, and a review or a build that is chosen finds it there."""
        bound = flow.binding(state)
        if bound and isinstance(state.chosen, flow.ChallengeChosen | flow.ImplementationChosen):
            self._changes.bind(self._id, bound, self._tell)
        return bound

    async def _challenge(self) -> ChangeEvent:
        last = await Challenging(self._changes).challenge(self._id, "auto", self._tell)
        matched = findings.in_words(last.matched)
        theirs = f" ({last.to_decide})" if last.to_decide else ""
        told = f"{last.verdict}, {matched}{theirs}: {last.review.summary}"
        return await self._ended(flow.ReviewCounted, told)

    async def _roll_back(self) -> ChangeEvent:
        folder, place = self._changes.folders.open(self._id), self._moot.workspace
        back = await asyncio.to_thread(roll_back, folder, place.root, place.own)
        said = str(back)
        return await self._ended(flow.TaskRolledBack, said[:1].upper() + said[1:])

    async def _implement(self, comment: str, skip: int) -> ChangeEvent:
        again = retry(self._changes.folders.open(self._id), comment, skip)
        building = Implementing(self._changes, judge=self._judge, retry=again)
        built = await building.implement(self._id, self._tell)
        if built.handover:
            return await self._ended(flow.TasksBuilt, built.handover, _NO_AGENT)
        lacks = "; nothing was tested" * built.untested + "; nothing was reviewed" * built.unreviewed
        cost = f"; ${built.cost_usd:.2f}" if built.cost_usd else ""
        done = f"{len(built.done)} done, {len(built.left)} left{lacks}{cost}"
        return await self._ended(flow.TasksBuilt, "\n".join((done, *built.record)), built.problem)

    async def _ended(self, kind: _MakeEnd, message: str = "", problem: str = "") -> ChangeEvent:
        files = await asyncio.to_thread(look, self._changes, self._id)
        return ChangeGone(problem=problem) if files is None else kind(files, message, problem)

    def _gone(self, place: Path) -> ChangeGone:
        return ChangeGone(f"It is now in {place.relative_to(self._moot.workspace.root).as_posix()}")


def _names(folder: ChangeFolder) -> str:
    return ", ".join(drafted_files(folder))
