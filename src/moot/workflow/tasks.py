"""What the program itself does in a workflow: look, write down, plan, have reviewed, have built.

Each piece can be done twice without harm, and without being paid for twice: the files of a change say what
has been done already, and its STATE.yaml notes which workflow it belongs to. Refuses to know what follows
from an outcome; that is the flow's.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from moot.brainstorm.consultation import Matter, ask_board, evidence_of, open_roundtable
from moot.brainstorm.effects import ConveneBoard, LookAtCode, ScoutWorkspace
from moot.brainstorm.events import CodeFound, ScoutReported
from moot.changes import approval, binding, history, review_block, tasks
from moot.changes.binding import Binding
from moot.changes.challenge import Challenging
from moot.changes.folder import ChangeFolder
from moot.changes.implement import BuildResult, Implementing, Retry
from moot.changes.phases import Phase
from moot.changes.retrying import failed_task, undo
from moot.changes.review_block import Severity, Verdict
from moot.changes.service import Changes
from moot.changes.testing import ConfirmedTests
from moot.core.flow import Event, Outcome, Task, TaskDone, TaskFailed
from moot.diffs.task_judge import TaskJudge
from moot.errors import (
    AlreadyThere,
    ModelMisbehaved,
    NotFound,
    ProviderFailed,
    SessionMoved,
    UserMistake,
    WorkspaceDamaged,
)
from moot.files import timestamps
from moot.llm.messages import Source
from moot.llm.prices import total_usd
from moot.repo import git, uncommitted
from moot.repo.first_look import first_look
from moot.repo.report import scout
from moot.roundtable.effects import InsertInsights, OpenRoundtable, RecordElaboration
from moot.roundtable.events import ArtifactsUpdated, ElaborationRecorded
from moot.text.shortening import shortened
from moot.workflow import documents, effects, handover, ledger
from moot.workflow.built import built
from moot.workflow.designs import Designs
from moot.workflow.ending import sum_up
from moot.workflow.events import (
    BatchBuilt,
    BatchPlanned,
    BatchReviewed,
    BatchRevised,
    BranchCreated,
    BranchedOff,
    ChangesArchived,
    CommandKept,
    DesignWritten,
    NextBegun,
    PlanLaidOut,
    QueueFoundEmpty,
    QueueLeft,
    RestQueued,
    TaskRolledBack,
    WorkflowFinalized,
    WorkspaceChecked,
    WorkspaceScouted,
    WorkStashed,
)
from moot.workflow.files import Queue, entry_id, put_away
from moot.workflow.layout import lay_out
from moot.workflow.snapshot import queue_change
from moot.workflow.state import WorkflowState

if TYPE_CHECKING:
    from moot.app import Moot

_NO_AGENT = (
    "No coding agent was found. Hand the text above to one, or do it yourself and tick the boxes in "
    "tasks.md; then try again"
)


_DESIGN_CHANGED = (
    "The person has gone back to the design that this was planned from. Make it the plan of the design as it "
    "is now: what is new in it is planned, and what it no longer has goes."
)


class WorkflowWork:
    def __init__(self, moot: Moot, tell: Callable[[str], None], *, unattended: bool = False) -> None:
        """`unattended`: nobody wants to be asked, this time. By their own settings, they never do."""
        self._moot = moot
        self._tell = tell
        self._unattended = unattended
        self._changes = Changes(moot)
        self._queue = Queue(moot.workspace.queue_file)
        self._designs = Designs(moot.workspace)

    async def carry_out(self, task: Task[Any], state: WorkflowState) -> Outcome:
        try:
            return TaskDone(await self._do(task, state))
        except SessionMoved:
            raise
        except (UserMistake, ModelMisbehaved, ProviderFailed, WorkspaceDamaged) as error:
            if raw := getattr(error, "raw", ""):
                self._tell(shortened(raw))
            return TaskFailed(type(error).__name__, shortened(str(error)))

    async def _do(self, task: Task[Any], state: WorkflowState) -> Event:  # noqa: PLR0912 - one line a task
        match task:
            case effects.CheckWorkspace():
                return await asyncio.to_thread(self._check, state)
            case effects.StashChanges():
                return await asyncio.to_thread(self._stash, state)
            case effects.CreateBranch():
                return await asyncio.to_thread(self._create_branch, state)
            case ScoutWorkspace() | effects.ScoutAgain():
                return await asyncio.to_thread(self._scout, task, state)
            case LookAtCode():
                return await asyncio.to_thread(self._look_at_code, state)
            case ConveneBoard():
                return await ask_board(self._moot, _matter(state), self._tell)
            case OpenRoundtable():
                return await asyncio.to_thread(open_roundtable, self._moot, _matter(state), task.key)
            case InsertInsights():
                # What it has come to joins the conversation: there is no artifact yet.
                return ArtifactsUpdated(())
            case RecordElaboration():
                return ElaborationRecorded(saved=True)
            case effects.QueueRest():
                return await asyncio.to_thread(self._queue_rest, state)
            case effects.LeaveQueue():
                return await asyncio.to_thread(self._leave_queue, state)
            case effects.WriteDesign():
                return await asyncio.to_thread(self._write_design, state)
            case effects.PlanBatch():
                return await self._plan(state, task.key)
            case effects.ReviewPlan():
                return await self._review(state, task.key)
            case effects.LayOutPlan():
                return await asyncio.to_thread(self._lay_out, state)
            case effects.KeepTests():
                await asyncio.to_thread(ConfirmedTests(self._moot).keep, state.tests_chosen)
                return CommandKept(state.tests_chosen)
            case effects.BranchOff():
                return await asyncio.to_thread(self._branch_off, state)
            case effects.RevisePlan():
                return await self._revise(state, task.key)
            case effects.BuildBatch():
                return await self._build(state, task.key)
            case effects.RollBackTask():
                return await asyncio.to_thread(self._roll_back, state)
            case effects.FinalizeWorkflow():
                return await asyncio.to_thread(self._finalize, state)
            case effects.ArchiveChanges():
                return await asyncio.to_thread(self._archive, state)
            case effects.TakeNext():
                return await asyncio.to_thread(self._take_next)
            case _:
                raise AssertionError(f"nobody carries out {task}")

    # -- the workspace -----------------------------------------------------------------------

    def _check(self, state: WorkflowState) -> WorkspaceChecked:
        workspace = self._moot.workspace
        files, tree = uncommitted.find(workspace.root, state.known_tree, workspace.own)
        return WorkspaceChecked(tuple(map(_spell, files)), tree)

    def _stash(self, state: WorkflowState) -> WorkStashed:
        assert state.uncommitted is not None
        workspace, name = self._moot.workspace, documents.stash_name(state)
        shown = (state.known_tree, state.uncommitted.tree)
        files = uncommitted.stash(workspace.root, *shown, name, workspace.own)
        return WorkStashed(name, tuple(map(_spell, files)))

    def _create_branch(self, state: WorkflowState) -> BranchCreated:
        assert state.uncommitted is not None
        workspace, name = self._moot.workspace, documents.branch_name(state)
        before = uncommitted.create_branch(workspace.root, state.uncommitted.tree, name, workspace.own)
        return BranchCreated(name, before)

    def _scout(self, task: ScoutWorkspace | effects.ScoutAgain, state: WorkflowState) -> Event:
        found = scout(self._moot.workspace.root, state.brainstorm.subject)
        if isinstance(task, ScoutWorkspace):
            return ScoutReported(found.text, tuple(found.read))
        made = "\n\n".join(source.text for source in self._built(state))
        design = self._design(state)
        changed = "" if _sha256(design) == state.design_hash else design
        return WorkspaceScouted(found.text, tuple(found.read), design=changed, built=made)

    def _look_at_code(self, state: WorkflowState) -> CodeFound:
        asked, rest = state.brainstorm.code_wanted
        found = first_look(self._moot.workspace.root, asked, besides=rest)
        # What matters most comes last, because what comes first is left out first.
        return CodeFound(found[::-1])

    def _design(self, state: WorkflowState) -> str:
        """What the design document says by now; empty where it is gone."""
        return self._designs.read(state.design_path) if state.design_path else ""

    def _built(self, state: WorkflowState) -> tuple[Source, ...]:
        return built(state, self._changes.folders, self._moot.workspace.root)

    # -- writing down ------------------------------------------------------------------------

    def _queue_rest(self, state: WorkflowState) -> RestQueued:
        change = queue_change(state)
        for gone in change.remove:
            with suppress(NotFound):
                self._queue.drop(gone)
        self._queue.add(change.add)
        return RestQueued(tuple(state.rest))

    def _leave_queue(self, state: WorkflowState) -> QueueLeft:
        with suppress(NotFound):
            self._queue.drop(state.id)
        return QueueLeft()

    def _write_design(self, state: WorkflowState) -> DesignWritten:
        day, title = _day(state.started_at), documents.title(state)
        text = documents.design_document(state)
        return DesignWritten(self._designs.save(day, title, text), _sha256(text))

    def _finalize(self, state: WorkflowState) -> WorkflowFinalized:
        workspace = self._moot.workspace
        summary = sum_up(state, self._changes.folders, workspace.root, workspace.own)
        return WorkflowFinalized(tuple(documents.title_of(entry) for entry in self._queue.list()), summary)

    def _archive(self, state: WorkflowState) -> ChangesArchived:
        """Each by itself: one that contradicts what holds keeps no other from it."""
        archived, problems = [], []
        for change_id in state.to_archive:
            try:
                self._changes.archive(change_id, self._tell)
            except NotFound:
                # An earlier run got as far as that.
                pass
            except (UserMistake, WorkspaceDamaged) as refused:
                problems.append(shortened(str(refused)))
                continue
            archived.append(change_id)
        return ChangesArchived(tuple(archived), "\n".join(problems))

    def _take_next(self) -> NextBegun | QueueFoundEmpty:
        first = first_waiting(self._queue)
        if first is None:
            return QueueFoundEmpty()
        # It takes the place of the finished one, in the same file.
        put_away(self._moot.workspace, copy=True)
        return NextBegun(first)

    # -- a batch is a change -----------------------------------------------------------------

    async def _plan(self, state: WorkflowState, key: str) -> BatchPlanned:
        folder = await asyncio.to_thread(self._folder_for, state)
        # An earlier run may have got as far as this, and not further.
        bound, background = await asyncio.to_thread(self._handed_over, state)
        if state.plan_again and folder.proposal() is not None:
            return BatchPlanned(folder.id, await self._plan_again(folder, key, bound, background))
        with suppress(AlreadyThere):
            brief, limit = handover.brief(state), handover.LONGEST_BRIEF
            await self._changes.propose(folder.id, brief, self._tell, bound, background, limit)
        return BatchPlanned(folder.id, _cost(folder, 0))

    async def _plan_again(
        self, folder: ChangeFolder, key: str, bound: Binding, background: tuple[Source, ...]
    ) -> float | None:
        """Revises what was planned before the design was gone back to. Where that has come to nothing new,
        the plan stays as it is, and so does what was said of it."""
        first = _calls_before(folder, f"workflow/plan {key}")
        before = binding.read(folder.design() or "")
        is_new = (before.design.split(), before.decided) != (bound.design.split(), bound.decided)
        if is_new and folder.state().last_action != "reproposal":
            await self._changes.repropose(folder.id, _DESIGN_CHANGED, self._tell, bound, background)
        return _cost(folder, first)

    def _handed_over(self, state: WorkflowState) -> tuple[Binding, tuple[Source, ...]]:
        """What binds the current batch, and what whoever plans it is told besides."""
        bound = handover.binding(state, self._design(state))
        return bound, handover.background(state, self._built(state))

    def _folder_for(self, state: WorkflowState) -> ChangeFolder:
        """This batch's own. A change that somebody else has begun under the same name is left alone."""
        wanted, mark = documents.change_id(state), {"id": state.id, "batch": state.current_batch}
        for number in itertools.count(1):
            change_id = wanted if number == 1 else f"{wanted[:60]}-{number}"
            try:
                folder = self._changes.folders.create(change_id)
            except AlreadyThere:
                folder = self._changes.folders.open(change_id)
            if _claim(folder, mark):
                return folder
        raise AssertionError("counting ends only by returning")

    async def _review(self, state: WorkflowState, key: str) -> BatchReviewed:
        folder = self._changes.folders.open(state.batch.change_id)
        first = _calls_before(folder, f"workflow/review {key}")
        bound, _ = await asyncio.to_thread(self._handed_over, state)
        # What the person has changed since it was planned: reviewed with it, or nobody would notice.
        await asyncio.to_thread(self._changes.bind, folder.id, bound, self._tell)
        challenging = Challenging(self._changes)
        if not self._is_reviewed(folder):
            engine = str(state.config.get("engine") or "auto")
            await challenging.challenge(folder.id, engine, self._tell)
        review = self._changes.last_review(folder)
        assert review is not None
        counts = review_block.count(review)
        for issue in review.issues:
            self._tell(f"{issue.severity}: {issue.description}")
        high, medium = counts[Severity.HIGH], counts[Severity.MEDIUM]
        ending = challenging.ending(folder, state.max_revisions + 1)
        ends = ending.why if ending and review.verdict is Verdict.NEEDS_REVISION else ""
        if ends:
            self._tell(f"the reviews end here: {ends}")
        return BatchReviewed(review.verdict.value, review.summary, high, medium, _cost(folder, first), ends)

    def _is_reviewed(self, folder: ChangeFolder) -> bool:
        """Whether an earlier run got as far as that, and the text is still what was reviewed."""
        state, last = folder.state(), approval.last_made(folder)
        over = state.last_action == "challenge" and state.run is None
        return over and last is not None and approval.changed_since(folder, last.record) is None

    def _lay_out(self, state: WorkflowState) -> PlanLaidOut:
        unattended = self._unattended or self._moot.config.user.workflow.unattended
        return PlanLaidOut(lay_out(state, self._changes), unattended)

    def _branch_off(self, state: WorkflowState) -> BranchedOff:
        workspace, name = self._moot.workspace, documents.build_branch_name(state)
        shown = git.snapshot(workspace.root, workspace.own) or ""
        return BranchedOff(name, uncommitted.create_branch(workspace.root, shown, name, workspace.own))

    async def _revise(self, state: WorkflowState, key: str) -> BatchRevised:
        folder = self._changes.folders.open(state.batch.change_id)
        first = _calls_before(folder, f"workflow/revise {key}")
        if folder.state().last_action != "reproposal":
            bound, background = await asyncio.to_thread(self._handed_over, state)
            await self._changes.repropose(folder.id, state.wishes, self._tell, bound, background)
        return BatchRevised(_cost(folder, first))

    async def _build(self, state: WorkflowState, key: str) -> BatchBuilt:
        folder = self._changes.folders.open(state.batch.change_id)
        first = _calls_before(folder, f"workflow/execute {key}")
        message, result = "", BuildResult(Phase.COMPLETE)
        if folder.state().phase not in (Phase.COMPLETE, Phase.ARCHIVED):
            retry = Retry(state.failed_task, state.failed_with, state.skipped)
            news = await asyncio.to_thread(self._news, state, folder)
            judge = TaskJudge(self._moot, str(state.config.get("engine") or "auto"))
            commit = state.commit_tasks
            implementing = Implementing(self._changes, retry=retry, also=news, judge=judge, commit=commit)
            result = await implementing.implement(folder.id, self._tell)
            for line in result.record:
                self._tell(line)
            message = shortened(result.problem.rstrip(" .:\n"))
            if result.handover:
                self._tell(result.handover)
                message = _NO_AGENT
        boxes = tasks.tasks(folder.tasks() or "")
        workspace = self._moot.workspace
        tree = await asyncio.to_thread(git.snapshot, workspace.root, workspace.own)
        return BatchBuilt(
            # What is left open then was skipped.
            complete=not message,
            message=message,
            tasks_done=sum(box.done for box in boxes),
            tasks=len(boxes),
            failed_task=result.failed_task,
            before_task=result.before_task,
            tree=tree or "",
            cost_usd=_cost(folder, first),
        )

    def _news(self, state: WorkflowState, folder: ChangeFolder) -> tuple[Source, ...]:
        """What has come since the plan was reviewed: to bind it now would take the approval away."""
        bound, edited = binding.read(folder.design() or ""), folder.design_is_edited()
        return handover.news(state, self._design(state), bound, edited=edited)

    def _roll_back(self, state: WorkflowState) -> TaskRolledBack:
        """The change's own files say what has been done and paid: they stay."""
        workspace = self._moot.workspace
        folder = self._changes.folders.open(state.batch.change_id)
        if (failed := failed_task(folder)) is not None:
            before, left = history.before_first(folder, failed.text)
            if before == state.before_task and left:
                back = undo(workspace.root, before, left, workspace.own)
                if back.kept:
                    self._tell(f"changed since, and left alone: {', '.join(map(_spell, back.kept))}")
                return TaskRolledBack(back.files)
        return TaskRolledBack(tuple(git.bring_back(workspace.root, state.before_task, workspace.own)))


def first_waiting(queue: Queue) -> dict[str, Any] | None:
    """Left in the queue. One that another tool has put there gets an id, by which it leaves the queue."""
    first = queue.peek()
    return None if first is None else {**first, "id": entry_id(first)}


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _spell(name: str) -> str:
    """A name that is no text, in letters that can be written down."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _matter(state: WorkflowState) -> Matter:
    talk = state.brainstorm
    assert talk.request is not None
    evidence = evidence_of(talk, state.evidence, ledger.source(state))
    return Matter(talk.request.text, talk.step, talk.subject, evidence)


def _day(started_at: str | float) -> str:
    """Other tools write the time as a number, of seconds or milliseconds; a queued workflow has none yet."""
    if isinstance(started_at, str):
        return started_at[:10] or timestamps.now()[:10]
    seconds = started_at / 1000 if started_at > 1e11 else started_at
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")


# -- what STATE.yaml notes for a workflow --------------------------------------------------------


def _claim(folder: ChangeFolder, mark: Mapping[str, Any]) -> bool:
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


def _calls_before(folder: ChangeFolder, asked: str) -> int:
    """How many calls had been made when this was first asked for: those since then are its cost, also those
    of a run that was killed."""
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
    return total_usd(call.cost_usd for call in folder.state().calls[first:])
