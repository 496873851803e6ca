"""What the program itself does in a workflow: look, write down, plan, have reviewed, have built.

Each piece can be done twice without harm, and without being paid for twice: the files of a change say what
has been done already, and its STATE.yaml notes which workflow it belongs to. Refuses to know what follows
from an outcome; that is the flow's.
"""

from __future__ import annotations

import asyncio
import itertools
import math
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from moot.brainstorm.consultation import Company, Consultation, Consulting, Matter
from moot.changes import approval, review_block, tasks
from moot.changes.challenge import Challenging
from moot.changes.folder import ChangeFolder
from moot.changes.implement import BuildResult, Implementing, Retry
from moot.changes.phases import Phase
from moot.changes.review_block import Severity
from moot.changes.service import Changes
from moot.core.flow import Outcome, RunTask, TaskDone, TaskFailed
from moot.errors import (
    AlreadyThere,
    AnswersExhausted,
    ModelMisbehaved,
    NotFound,
    ProviderFailed,
    SessionMoved,
    UserMistake,
    WorkspaceDamaged,
)
from moot.files import timestamps
from moot.llm.names import ModelName
from moot.repo import git, uncommitted
from moot.repo.report import scout
from moot.text.shortening import shortened
from moot.workflow import documents as papers
from moot.workflow.designs import Designs
from moot.workflow.files import Queue, entry_id, put_away
from moot.workflow.snapshot import queue_change
from moot.workflow.state import WorkflowState

if TYPE_CHECKING:
    from moot.app import Moot

Value = Mapping[str, Any]

_NO_AGENT = (
    "No coding agent was found. Hand the text above to one, or do it yourself and tick the boxes in "
    "tasks.md; then try again"
)


class WorkflowWork:
    def __init__(self, moot: Moot, company: Company, model: ModelName) -> None:
        self._moot = moot
        self._company = company
        self._changes = Changes(moot)
        self._consulting = Consulting(moot, company, model)
        self._queue = Queue(moot.workspace.queue_file)
        self._designs = Designs(moot.workspace)

    async def carry_out(self, effect: RunTask, state: WorkflowState) -> Outcome:
        doing: dict[str, Callable[[WorkflowState, RunTask], Awaitable[Value]]] = {
            "workflow/check": self._check,
            "workflow/stash": self._stash,
            "workflow/branch": self._branch,
            "workflow/scout": self._scout,
            "brainstorm/board": self._board,
            "brainstorm/roundtable": self._roundtable,
            "workflow/queue": self._queue_rest,
            "workflow/leave-queue": self._leave_queue,
            "workflow/design": self._design,
            "workflow/plan": self._plan,
            "workflow/review": self._review,
            "workflow/revise": self._revise,
            "workflow/execute": self._execute,
            "workflow/roll-back": self._roll_back,
            "workflow/finalize": self._finalize,
            "workflow/next": self._next,
        }
        try:
            return TaskDone(await doing[effect.what](state, effect))
        except (AnswersExhausted, SessionMoved):
            raise
        except (UserMistake, ModelMisbehaved, ProviderFailed, WorkspaceDamaged) as error:
            if raw := getattr(error, "raw", ""):
                self._company.tell(shortened(raw))
            return TaskFailed(type(error).__name__, shortened(str(error)))

    # -- uncommitted work --------------------------------------------------------------------

    async def _check(self, state: WorkflowState, _: RunTask) -> Value:
        workspace = self._moot.workspace
        files, tree = await asyncio.to_thread(
            uncommitted.find, workspace.root, state.known_tree, workspace.own
        )
        return {"files": [_spelled(file) for file in files], "tree": tree}

    async def _stash(self, state: WorkflowState, _: RunTask) -> Value:
        assert state.uncommitted is not None
        workspace, name = self._moot.workspace, papers.stash_name(state)
        shown = (state.known_tree, state.uncommitted.tree)
        files = await asyncio.to_thread(uncommitted.stash, workspace.root, *shown, name, workspace.own)
        return {"name": name, "files": [_spelled(file) for file in files]}

    async def _branch(self, state: WorkflowState, _: RunTask) -> Value:
        assert state.uncommitted is not None
        workspace, name = self._moot.workspace, papers.branch_name(state)
        shown = state.uncommitted.tree
        before = await asyncio.to_thread(
            uncommitted.create_branch, workspace.root, shown, name, workspace.own
        )
        return {"name": name, "before": before}

    # -- looking, and asking others ----------------------------------------------------------

    async def _scout(self, state: WorkflowState, _: RunTask) -> Value:
        found = await asyncio.to_thread(scout, self._moot.workspace.root, state.brainstorm.subject)
        return {"output": found.text, "read": list(found.read)}

    async def _board(self, state: WorkflowState, effect: RunTask) -> Value:
        return _consulted(await self._consulting.board(self._matter(state, effect)))

    async def _roundtable(self, state: WorkflowState, effect: RunTask) -> Value:
        return _consulted(await self._consulting.roundtable(self._matter(state, effect)))

    def _matter(self, state: WorkflowState, effect: RunTask) -> Matter:
        brainstorm = state.brainstorm
        assert brainstorm.request is not None
        said = "\n\n".join(f"{entry.speaker}: {entry.content}" for entry in brainstorm.replay.conversation)
        material = f"{said}\n\nThe workspace:\n{brainstorm.scout_output}"
        key = f"{state.id} {effect.key}"
        return Matter(brainstorm.request.text, brainstorm.step, brainstorm.subject, material, key)

    # -- writing down ------------------------------------------------------------------------

    async def _queue_rest(self, state: WorkflowState, _: RunTask) -> Value:
        change = queue_change(state)

        def changed() -> None:
            for gone in change.remove:
                with suppress(NotFound):
                    self._queue.drop(gone)
            self._queue.add(change.add)

        await asyncio.to_thread(changed)
        return {}

    async def _leave_queue(self, state: WorkflowState, _: RunTask) -> Value:
        def left() -> None:
            with suppress(NotFound):
                self._queue.drop(state.id)

        await asyncio.to_thread(left)
        return {}

    async def _design(self, state: WorkflowState, _: RunTask) -> Value:
        text = papers.design_document(state)
        title = papers.title(state)
        return {"path": await asyncio.to_thread(self._designs.save, _day(state.started_at), title, text)}

    async def _finalize(self, _state: WorkflowState, _: RunTask) -> Value:
        waiting = await asyncio.to_thread(self._queue.list)
        return {"waiting": [papers.title_of(entry) for entry in waiting]}

    async def _next(self, _state: WorkflowState, _: RunTask) -> Value:
        first = await asyncio.to_thread(first_waiting, self._queue)
        if first is None:
            return {}
        # It takes the place of the finished one, in the same file.
        await asyncio.to_thread(put_away, self._moot.workspace, copy=True)
        return {"workflow": first}

    # -- a batch is a change -----------------------------------------------------------------

    async def _plan(self, state: WorkflowState, _: RunTask) -> Value:
        folder = await asyncio.to_thread(self._folder_for, state)
        # An earlier run may have got as far as this, and not further.
        with suppress(AlreadyThere):
            # Another tool's workflow may have its design only in the document.
            known = bool(state.brainstorm.design_sections) or not state.design_path
            written = "" if known else await asyncio.to_thread(self._designs.read, state.design_path)
            await self._changes.propose(folder.id, papers.planner_brief(state, written), self._company.tell)
        return {"change_id": folder.id, "cost_usd": _cost(folder, 0)}

    def _folder_for(self, state: WorkflowState) -> ChangeFolder:
        """This batch's own. A change that somebody else has begun under the same name is left alone."""
        wanted, mark = papers.change_id(state), {"id": state.id, "batch": state.current_batch}
        for number in itertools.count(1):
            change_id = wanted if number == 1 else f"{wanted[:60]}-{number}"
            try:
                folder = self._changes.folders.create(change_id)
            except AlreadyThere:
                folder = self._changes.folders.open(change_id)
            if _noted(folder, mark):
                return folder
        raise AssertionError("counting ends only by returning")

    async def _review(self, state: WorkflowState, effect: RunTask) -> Value:
        folder = self._changes.folders.open(state.batch.change_id)
        first = _calls_before(folder, effect)
        if not self._is_reviewed(folder):
            engine = str(state.config.get("engine") or "auto")
            await Challenging(self._changes).challenge(folder.id, engine, self._company.tell)
        review = self._changes.last_review(folder)
        assert review is not None
        counts = review_block.count(review)
        for issue in review.issues:
            self._company.tell(f"{issue.severity}: {issue.description}")
        return {
            "verdict": str(review.verdict),
            "summary": review.summary,
            "high": counts[Severity.HIGH],
            "medium": counts[Severity.MEDIUM],
            "cost_usd": _cost(folder, first),
        }

    def _is_reviewed(self, folder: ChangeFolder) -> bool:
        """Whether an earlier run got as far as that, and the text is still what was reviewed."""
        state, last = folder.state(), approval.last_made(folder)
        over = state.last_action == "challenge" and state.run is None
        return over and last is not None and approval.changed_since(folder, last.record) is None

    async def _revise(self, state: WorkflowState, effect: RunTask) -> Value:
        folder = self._changes.folders.open(state.batch.change_id)
        first = _calls_before(folder, effect)
        if folder.state().last_action != "reproposal":
            await self._changes.repropose(folder.id, state.wishes, self._company.tell)
        return {"cost_usd": _cost(folder, first)}

    async def _execute(self, state: WorkflowState, effect: RunTask) -> Value:
        folder = self._changes.folders.open(state.batch.change_id)
        first = _calls_before(folder, effect)
        message, built = "", BuildResult(Phase.COMPLETE)
        if folder.state().phase not in (Phase.COMPLETE, Phase.ARCHIVED):
            retry = Retry(state.failed_task, state.failed_with, state.skipped)
            implementing = Implementing(self._changes, retry=retry)
            built = await implementing.implement(folder.id, self._company.tell)
            message = shortened(built.problem.rstrip(" .:\n"))
            if built.handover:
                self._company.tell(built.handover)
                message = _NO_AGENT
        boxes = tasks.tasks(folder.tasks() or "")
        workspace = self._moot.workspace
        tree = await asyncio.to_thread(git.snapshot, workspace.root, workspace.own)
        return {
            # What is left open then was skipped.
            "complete": not message,
            "message": message,
            "tasks_done": sum(box.done for box in boxes),
            "tasks": len(boxes),
            "failed_task": built.failed_task,
            "before_task": built.before_task,
            "tree": tree or "",
            "cost_usd": _cost(folder, first),
        }

    async def _roll_back(self, state: WorkflowState, _: RunTask) -> Value:
        """The change's own files say what has been done and paid: they stay."""
        workspace = self._moot.workspace
        files = await asyncio.to_thread(git.bring_back, workspace.root, state.before_task, workspace.own)
        return {"files": files}


def first_waiting(queue: Queue) -> Value | None:
    """Left in the queue. One that another tool has put there gets an id, by which it leaves the queue."""
    first = queue.peek()
    return None if first is None else {**first, "id": entry_id(first)}


def _spelled(name: str) -> str:
    """A name that is no text, in letters that can be written down."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _consulted(consultation: Consultation) -> Value:
    return {"text": consultation.text, "cost_usd": consultation.cost_usd}


def _day(started_at: str | float) -> str:
    """Other tools write the time as a number, of seconds or milliseconds; a queued workflow has none yet."""
    if isinstance(started_at, str):
        return started_at[:10] or timestamps.now()[:10]
    seconds = started_at / 1000 if started_at > 1e11 else started_at
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")


# -- what STATE.yaml notes for a workflow --------------------------------------------------------


def _noted(folder: ChangeFolder, mark: Mapping[str, Any]) -> bool:
    """Whether the change is this batch's: it says so, or nothing is in it yet, and from now on it does."""
    is_empty = folder.proposal() is None and folder.tasks() is None and not folder.specs()
    ours = False

    def note(data: Any) -> None:
        nonlocal ours
        there = data.get("workflow")
        if there is None and is_empty:
            data["workflow"] = there = dict(mark)
        ours = isinstance(there, Mapping) and all(there.get(key) == value for key, value in mark.items())

    folder.update_state(note)
    return ours


def _calls_before(folder: ChangeFolder, effect: RunTask) -> int:
    """How many calls had been made when this was first asked for: those since then are its cost, also those
    of a run that was killed."""
    asked = f"{effect.what} {effect.key}"
    first = 0

    def note(data: Any) -> None:
        nonlocal first
        mark = data.get("workflow")
        mark = dict(mark) if isinstance(mark, Mapping) else {}
        if mark.get("asked") == asked and isinstance(mark.get("calls"), int):
            first = int(mark["calls"])
            return
        calls = (data.get("telemetry") or {}).get("calls") or ()
        first = len(calls)
        data["workflow"] = {**mark, "asked": asked, "calls": first}

    folder.update_state(note)
    return first


def _cost(folder: ChangeFolder, first: int) -> float | None:
    costs = [call.cost_usd for call in folder.state().calls[first:] if call.cost_usd is not None]
    return math.fsum(costs) if costs else None
