"""What a workflow has the program and the brainstormer do, besides what its brainstorm has them do.

Each task names the event that it leads to, and says why doing it twice is the same as doing it once.
"""

from __future__ import annotations

import msgspec

from moot.brainstorm.events import Part
from moot.core.flow import Task
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

REASSESS, DISCUSS_PLAN = "workflow/reassess", "workflow/discuss-plan"
"""Names of prompts."""


class Reassessment(msgspec.Struct, frozen=True):
    """The reply to it."""

    assessment: str
    batches: tuple[Part, ...]


class PlanReply(msgspec.Struct, frozen=True):
    """The reply to what the person has said of a plan."""

    reply: str
    revision: str = ""


class CheckWorkspace(Task[WorkspaceChecked]):
    """Find what is not committed and not in `known_tree`. It only looks."""


class StashChanges(Task[WorkStashed]):
    """Stash the `uncommitted` work. A stash of that name is found again."""


class CreateBranch(Task[BranchCreated]):
    """Switch to a new branch, with the `uncommitted` work. A branch of that name is found again."""


class QueueRest(Task[RestQueued]):
    """Make the queue hold the parts that were split off, by ids that follow from them."""


class LeaveQueue(Task[QueueLeft]):
    """Drop this workflow from the queue, if it is there."""


class WriteDesign(Task[DesignWritten]):
    """Write the design document. The same text under the same name is found again."""


class PlanBatch(Task[BatchPlanned]):
    """Draft the proposal of the current batch. Its change says whose it is; one that is drafted stays."""


class ReviewPlan(Task[BatchReviewed]):
    """Have the current batch's change challenged. A review of the same text counts as this one."""


class LayOutPlan(Task[PlanLaidOut]):
    """Say what is about to be built: tasks, open issues, what it costs, and what would be refused. It only
    looks."""


class KeepTests(Task[CommandKept]):
    """Keep the command that was chosen with the person's own data. Kept twice, it is kept once."""


class BranchOff(Task[BranchedOff]):
    """Switch to a new branch to build on, with all that is not committed. One of that name is found again."""


class RevisePlan(Task[BatchRevised]):
    """Have the plan revised, with the person's `wishes`. The change notes that it was."""


class BuildBatch(Task[BatchBuilt]):
    """Have the tasks built that are open and not `skipped`. What is done is ticked; the agent is told
    `failed_with`."""


class RollBackTask(Task[TaskRolledBack]):
    """Bring the workspace back to `before_task`."""


class ScoutAgain(Task[WorkspaceScouted]):
    """Look at the workspace after a batch. It only looks."""


class FinalizeWorkflow(Task[WorkflowFinalized]):
    """See what waits in the queue. It only looks."""


class ArchiveChanges(Task[ChangesArchived]):
    """Merge what `to_archive` specify into what holds, and put them away. What is archived already stays."""


class TakeNext(Task[NextBegun | QueueFoundEmpty]):
    """Archive this workflow once, and begin the first that waits, which is left in the queue until
    LeaveQueue."""
