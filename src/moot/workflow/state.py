"""Where a workflow stands: the fields of workflow.json, and what follows from them at once.

What is going on is derived from them, never stored beside them. Which event leads where, the flow decides.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Literal

import msgspec
from msgspec import field

from moot.brainstorm.events import Part
from moot.brainstorm.state import BrainstormState, written_always
from moot.core.background import Background
from moot.core.ledger import Correction
from moot.evidence.items import Evidence
from moot.workflow.events import MAX_REVISIONS, Batch, Failure, Plan, Stash, Summary, Uncommitted, Verdict

REASSESS_STEP, PLAN_STEP = "reassess", "plan"
"""Where in the conversation a reassessment is talked about, and a plan."""


class Phase(StrEnum):
    UNOPENED = "unopened"
    BRAINSTORM = "brainstorm"
    PLAN = "plan"
    REVIEW = "review"
    EXECUTE = "execute"
    REASSESS = "reassess"
    FINALIZE = "finalize"
    DONE = "done"


class Stage(StrEnum):
    """What is going on in a phase: it decides what can happen next."""

    UNOPENED = "unopened"
    STOPPED = "stopped"
    FAILED = "failed"
    CHECKING = "checking-the-workspace"
    AT_UNCOMMITTED = "at-uncommitted-work"
    STASHING = "stashing"
    BRANCHING = "branching"
    LEAVING_QUEUE = "leaving-the-queue"
    QUEUING = "queuing"
    BRAINSTORMING = "brainstorming"
    DOCUMENTING = "documenting"
    AT_DESIGN_DOCUMENT = "at-the-design-document"
    PLANNING = "planning"
    REVIEWING = "reviewing"
    REVISING = "revising"
    LAYING_OUT = "laying-out-the-plan"
    AT_VERDICT = "at-a-verdict"
    AT_PLAN = "at-a-plan"
    WRITING_ABOUT_PLAN = "writing-about-the-plan"
    DISCUSSING_PLAN = "discussing-the-plan"
    KEEPING_TESTS = "keeping-the-test-command"
    BRANCHING_OFF = "branching-off"
    BUILDING = "building"
    AT_OPEN_TASKS = "at-open-tasks"
    COMMENTING = "commenting"
    ROLLING_BACK = "rolling-back"
    SCOUTING = "scouting"
    REASSESSING = "reassessing"
    AT_REASSESSMENT = "at-a-reassessment"
    ADJUSTING = "adjusting"
    FINALIZING = "finalizing"
    FINISHED = "finished"
    ARCHIVING = "archiving"
    TAKING_NEXT = "taking-the-next"


class Trees(msgspec.Struct, frozen=True):
    """What git calls the workspace before and after a batch, which is named by its place."""

    batch: int
    before: str
    after: str


class EarlierPlan(msgspec.Struct, frozen=True, rename="camel"):
    """What was planned before the person went back to the design: it is taken up again with the new one.
    `parts` are those that the batches were made of, and `design` is a hash of it."""

    batches: tuple[Batch, ...]
    current: int
    parts: tuple[Part, ...]
    design_path: str
    design: str


class WorkflowState(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The order of the fields is that of the file."""

    phase: Phase = written_always(Phase.UNOPENED)
    config: Mapping[str, Any] = written_always({})
    brainstorm: BrainstormState = written_always(BrainstormState())
    design_path: str = written_always("")
    batches: tuple[Batch, ...] = written_always(())
    current_batch: int = written_always(0, "currentBatchIndex")
    total_cost: float = written_always(0.0, "totalCostUsd")
    """US dollars, as far as prices are known."""
    started_at: str | float = written_always("")
    id: str = ""
    checked: bool = field(default=False, name="workspaceChecked")
    """Whether it is known what is not committed in the workspace."""
    uncommitted: Uncommitted | None = None
    """What the person has to decide about first."""
    set_aside: Literal["", "stash", "branch"] = ""
    """What they have decided, until it is done."""
    set_aside_problem: str = ""
    """Why it could not be done."""
    known_tree: str = ""
    """What git calls the workspace as it was when the person accepted it, or the last batch was built. What
    is different since, and not committed, is asked about."""
    stashes: tuple[Stash, ...] = ()
    branch: str = field(default="", name="createdBranch")
    """The one that was created for this workflow."""
    verdict: Verdict | None = None
    """Of the review of the plan as it is now: a revision has none."""
    review_summary: str = ""
    revisions: int = 0
    """Of the current batch's plan."""
    revision_wanted: bool = False
    wishes: str = ""
    plan: Plan | None = None
    """As it was laid out for the person, who decides about it."""
    layout_due: bool = False
    writing_about: Literal["", "discuss", "revise"] = field(default="", name="writingAboutPlan")
    """What the person is about to say of the plan, and for what."""
    discussed: str = field(default="", name="planDiscussed")
    """What they have said, until it is answered."""
    suggested_revision: str = ""
    tests_chosen: str = ""
    """The command that the person has confirmed, until it is kept. In no file: whoever writes one must not
    have a command run that no person has seen."""
    commit_tasks: bool = False
    branch_wanted: bool = False
    """The person has approved the plan, to be built on a new branch."""
    branch_problem: str = ""
    build_branch: str = ""
    """The one that was created to build on."""
    earlier_plan: EarlierPlan | None = None
    plan_again: bool = False
    """Whether the current batch was planned before the design was gone back to."""
    open_tasks: str = ""
    """Why the batch is not complete, once building it has ended without that."""
    failed_task: int = 0
    """The number of the task that failed, from 1."""
    before_task: str = ""
    """What git calls the workspace as it was before the first attempt at that task."""
    failed_with: str = ""
    """What the agent that tries again is told: what failed, and what the person says to it."""
    skipped: tuple[int, ...] = ()
    """Numbers of the current batch's tasks that the person leaves open."""
    commenting: bool = False
    rolling_back: bool = False
    scouted: bool = False
    """Whether the workspace was looked at since the last batch was built."""
    assessment: str = ""
    """What the last batch came to, where the brainstormer was asked."""
    proposed: tuple[Part, ...] | None = field(default=None, name="proposedBatches")
    """The batches that are left, as reassessed; None while nothing was reassessed."""
    adjusting: bool = False
    adjustment: str = ""
    """What the person wants adjusted, while it is being reassessed."""
    queued: tuple[str, ...] = ()
    """Ids of the workflows that this one was split into and that were put into the queue."""
    from_queue: bool = False
    """Whether it may still be in the queue itself."""
    waiting: tuple[str, ...] = ()
    """Titles of what was in the queue when this one was finished."""
    next_chosen: bool = False
    summary: Summary | None = None
    """What it came to, once it was finished."""
    archiving: bool = False
    archive_problem: str = ""
    evidence: tuple[Evidence, ...] = ()
    """What the person gave to read."""
    corrections: tuple[Correction, ...] = field(default=(), name="ledgerCorrections")
    """What the person makes of what was decided so far."""
    order: tuple[str, ...] = field(default=(), name="ledgerOrder")
    """The keys of what was decided so far, as it came about: the place of each is its number for good."""
    design_hash: str = field(default="", name="designSha256")
    """Of the design document, as it was written."""
    design_waits: bool = False
    """Whether the person wants to edit the design document before it is planned."""
    design_on_disk: str = ""
    """The design document, as a batch found it, where somebody has changed it since it was written."""
    built: str = ""
    """What came of the batches so far: tasks, verdicts, files, and what went wrong."""
    trees: tuple[Trees, ...] = field(default=(), name="batchTrees")
    """Of the batches that were built, or begun."""
    failure: Failure | None = None
    stopped: bool = False
    happened: int = 0
    """How many events there were: it tells two askings of the same thing apart."""

    @property
    def finished(self) -> bool:
        return self.phase is Phase.DONE

    @property
    def is_open(self) -> bool:
        return self.phase is not Phase.UNOPENED

    @property
    def background(self) -> Background:
        return Background(self.evidence, self.corrections)

    def with_background(self, background: Background) -> WorkflowState:
        return msgspec.structs.replace(self, evidence=background.evidence, corrections=background.corrections)

    @property
    def stage(self) -> Stage:
        if self.phase is Phase.UNOPENED:
            return Stage.UNOPENED
        if self.stopped:
            return Stage.STOPPED
        if (about_workspace := self._stage_of_workspace()) is not None:
            return about_workspace
        return Stage.FAILED if self.failure is not None else self.beneath

    def _stage_of_workspace(self) -> Stage | None:
        """Before anything else: nothing is built on work that the person has not decided about."""
        if self.finished or self.from_queue:
            return None
        if self.set_aside:
            return Stage.STASHING if self.set_aside == "stash" else Stage.BRANCHING
        if not self.checked:
            return Stage.CHECKING
        return None if self.uncommitted is None else Stage.AT_UNCOMMITTED

    @property
    def beneath(self) -> Stage:
        """What is going on, or was when something failed or the person stopped."""
        if self.from_queue:
            return Stage.LEAVING_QUEUE
        if set(self.queued) != set(self.rest):
            return Stage.QUEUING
        return self._stage_of_phase()

    def _stage_of_phase(self) -> Stage:
        match self.phase:
            case Phase.BRAINSTORM:
                return Stage.BRAINSTORMING
            case Phase.PLAN:
                return self._stage_of_plan()
            case Phase.REVIEW if self.verdict is None:
                return Stage.REVIEWING
            case Phase.REVIEW:
                return Stage.REVISING if self._revision_is_due else self._stage_after_review()
            case Phase.EXECUTE if not self.open_tasks:
                return Stage.BUILDING
            case Phase.EXECUTE if self.rolling_back:
                return Stage.ROLLING_BACK
            case Phase.EXECUTE:
                return Stage.COMMENTING if self.commenting else Stage.AT_OPEN_TASKS
            case Phase.REASSESS if not self.scouted:
                return Stage.SCOUTING
            case Phase.REASSESS if self.adjusting:
                return Stage.ADJUSTING
            case Phase.REASSESS:
                due = self.proposed is None or bool(self.adjustment)
                return Stage.REASSESSING if due else Stage.AT_REASSESSMENT
            case Phase.FINALIZE:
                return Stage.FINALIZING
            case _:
                return self._stage_at_end()

    def _stage_at_end(self) -> Stage:
        if self.archiving:
            return Stage.ARCHIVING
        return Stage.TAKING_NEXT if self.next_chosen else Stage.FINISHED

    def _stage_after_review(self) -> Stage:
        """It has been reviewed, and is the person's to decide about."""
        if self.branch_wanted:
            return Stage.BRANCHING_OFF
        if self.tests_chosen:
            return Stage.KEEPING_TESTS
        if self.layout_due:
            return Stage.LAYING_OUT
        if self.discussed:
            return Stage.DISCUSSING_PLAN
        if self.writing_about:
            return Stage.WRITING_ABOUT_PLAN
        return Stage.AT_PLAN if self.verdict == "APPROVED" else Stage.AT_VERDICT

    def _stage_of_plan(self) -> Stage:
        if not self.design_path:
            return Stage.DOCUMENTING
        return Stage.AT_DESIGN_DOCUMENT if self.design_waits else Stage.PLANNING

    @property
    def _revision_is_due(self) -> bool:
        by_itself = self.verdict == "NEEDS_REVISION" and self.revisions < self.max_revisions
        return by_itself or self.revision_wanted

    @property
    def max_revisions(self) -> int:
        configured = self.config.get("maxRevisions")
        return configured if isinstance(configured, int) and configured >= 0 else MAX_REVISIONS

    @property
    def to_archive(self) -> tuple[str, ...]:
        return () if self.summary is None else self.summary.to_archive

    # -- batches -------------------------------------------------------------------------------------

    @property
    def batch(self) -> Batch:
        """The current one; only after the brainstorm."""
        return self.batches[self.current_batch]

    @property
    def left_over(self) -> tuple[Part, ...]:
        """The remaining batches, as parts."""
        return tuple(Part(batch.title, batch.description) for batch in self.remaining)

    @property
    def remaining(self) -> tuple[Batch, ...]:
        """What comes after the current batch."""
        return self.batches[self.current_batch + 1 :]

    # -- splits --------------------------------------------------------------------------------------

    @property
    def rest(self) -> dict[str, Part]:
        """The parts that were split off, by the ids that their workflows have."""
        return {split_id(self.id, part): part for part in self.brainstorm.splits[1:]}


def split_id(parent: str, part: Part) -> str:
    """The same for the same part of the same workflow: queuing it twice is queuing it once."""
    told = "\n".join((parent, part.title, part.description))
    return f"w-{hashlib.blake2s(told.encode('utf-8', 'replace'), digest_size=6).hexdigest()}"
