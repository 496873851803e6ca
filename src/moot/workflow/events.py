"""What commands, models and the program lead to in a workflow, besides its brainstorm: plain values.

What the person decides is in the menu, beside the choices. Knows names and fields. When something may happen,
and what follows from it, the flow decides.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from moot.brainstorm.events import Part
from moot.core.flow import Event, Usage

MAX_REVISIONS = 2
"""How often a plan is revised by itself before the person is asked, unless `config` has a `maxRevisions`."""

BatchStatus = Literal["pending", "active", "complete"]
Verdict = Literal["APPROVED", "NEEDS_REVISION", "REJECTED"]


class Batch(msgspec.Struct, frozen=True, rename="camel"):
    """One change of the workspace: planned, reviewed, built."""

    title: str
    description: str
    status: BatchStatus = "pending"
    change_id: str = ""


def batches_of(parts: Iterable[Part]) -> tuple[Batch, ...]:
    """None of which has begun."""
    return tuple(Batch(part.title, part.description) for part in parts)


class Restored(Event, frozen=True):
    """The whole of a workflow, as it was saved: what workflow.json amounts to."""

    saved: dict[str, Any]


class WorkflowOpened(Event, frozen=True):
    """`id` is unique in the workspace; `config` is for those who carry things out (`model`, `engine`, …)."""

    id: str
    description: str
    started_at: str
    config: dict[str, Any] = msgspec.field(default_factory=dict)


class Uncommitted(msgspec.Struct, frozen=True, rename="camel"):
    """Work that is not committed and not of this workflow. Of very many files only some are named. `tree` is
    what git calls the whole workspace with it."""

    files: tuple[str, ...]
    count: int
    tree: str = ""


class Stash(msgspec.Struct, frozen=True, rename="camel"):
    """`name` is what `git stash list` calls it."""

    name: str
    files: tuple[str, ...]
    count: int


class Failure(msgspec.Struct, frozen=True):
    """`raw` is what the model wrote, where it wrote something that could not be used."""

    kind: str
    message: str
    raw: str = ""


class Reopened(Event, frozen=True):
    """Another process goes on with it; the workspace may have changed meanwhile."""


class WorkspaceChecked(Event, frozen=True):
    """`files` are not committed and not of this workflow; `tree` is what git calls the workspace as it is."""

    files: tuple[str, ...] = ()
    tree: str = ""


class WorkStashed(Event, frozen=True):
    name: str
    files: tuple[str, ...]


class BranchCreated(Event, frozen=True):
    """The workspace is on this branch now, with the uncommitted work. `before` is the branch it was on."""

    name: str
    before: str = ""


class NotSetAside(Event, frozen=True):
    """There is neither a stash nor a new branch, and the person is asked again."""

    message: str


class RestQueued(Event, frozen=True):
    """The queue holds these workflows, which this one was split into, and no others of its making."""

    ids: tuple[str, ...]


class DesignWritten(Event, frozen=True):
    """`sha256` is of what was written, so that what somebody makes of it afterwards is seen."""

    path: str
    sha256: str = ""


class BatchPlanned(Event, frozen=True):
    change_id: str
    cost_usd: float | None = None


class BatchReviewed(Event, frozen=True):
    """`summary` is the review in a sentence or two, for the person who has to decide. `ends` says why no
    further revision would help, and is theirs to decide, too."""

    verdict: Verdict
    summary: str = ""
    high: int = 0
    medium: int = 0
    cost_usd: float | None = None
    ends: str = ""


class FoundTest(msgspec.Struct, frozen=True):
    """A command that may run the tests, and the file that says so."""

    command: str
    source: str


class Plan(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What the person decides about before anything is built of it. `text` is the whole of it, with its
    specifications; `obstacle` is why it cannot be built as it is, `untested` why no test will show anything,
    and `can_branch` whether git can make a new branch here."""

    summary: str
    tasks: tuple[str, ...] = ()
    issues: tuple[str, ...] = ()
    estimate: str = ""
    obstacle: str = ""
    tests: str = ""
    untested: str = ""
    found: tuple[FoundTest, ...] = ()
    """Where the person has confirmed no command."""
    can_branch: bool = False
    can_commit: bool = False
    """Whether a commit would take nothing along but what is built."""
    text: str = ""


class PlanLaidOut(Event, frozen=True):
    """`unattended`: whoever runs this has said beforehand that nobody is to be asked."""

    plan: Plan
    unattended: bool = False


class PlanDiscussed(Event, frozen=True):
    """`revision` is what the brainstormer would have revised, in words that the person may take over."""

    reply: str
    revision: str
    spoken: Usage


class CommandKept(Event, frozen=True):
    """The command that the person has confirmed is run after each task from now on, also by others here."""

    command: str


class BranchedOff(Event, frozen=True):
    """What is built goes to this branch. `before` is the one that the workspace was on."""

    name: str
    before: str = ""


class NotBranchedOff(Event, frozen=True):
    """There is no new branch, and the person decides again."""

    message: str


class BatchRevised(Event, frozen=True):
    cost_usd: float | None = None


class BatchBuilt(Event, frozen=True):
    """`complete` is false where tasks are open still: `message` says why, and what to do. `failed_task` is
    the number of the one that was tried in vain, if any was; `before_task` is what git calls the workspace as
    it was before that, if git was there to keep it, and `tree` as it is now."""

    complete: bool
    message: str = ""
    tasks_done: int = 0
    tasks: int = 0
    failed_task: int = 0
    before_task: str = ""
    tree: str = ""
    cost_usd: float | None = None


class TaskRolledBack(Event, frozen=True):
    files: tuple[str, ...] = ()


class WorkspaceScouted(Event, frozen=True):
    """A fresh look, after a batch has been built. `design` is the design document as it is now, where
    somebody has changed it; `built` is what came of the batches so far."""

    output: str
    read: tuple[str, ...] = ()
    cost_usd: float | None = None
    design: str = ""
    built: str = ""


class ScopeReassessed(Event, frozen=True):
    """What the batch amounts to, and what is left to do: a proposal, which holds once the person goes on."""

    assessment: str
    batches: tuple[Part, ...]
    spoken: Usage


class BatchSummary(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What a batch came to. `record` says for each task that is done what shows that it is, and `size` how
    large the whole diff is; `untested` and `unreviewed` count tasks that are done without."""

    title: str
    change_id: str
    done: int = 0
    tasks: int = 0
    still_open: tuple[str, ...] = ()
    record: tuple[str, ...] = ()
    untested: int = 0
    unreviewed: int = 0
    size: str = ""


class Summary(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """`to_archive` are the changes that are built whole, and that nobody has archived."""

    batches: tuple[BatchSummary, ...] = ()
    to_archive: tuple[str, ...] = ()


class WorkflowFinalized(Event, frozen=True):
    """`waiting` are the titles of the workflows in the queue, in order."""

    waiting: tuple[str, ...] = ()
    summary: Summary = Summary()


class ChangesArchived(Event, frozen=True):
    """What these specify is merged into what holds. `problem` says why others are left where they were."""

    archived: tuple[str, ...] = ()
    problem: str = ""


class NextBegun(Event, frozen=True):
    """`saved` is its queue entry: a snapshot. It takes the place of the finished one."""

    saved: dict[str, Any]


class QueueFoundEmpty(Event, frozen=True):
    """Somebody else has taken or dropped what waited."""


class QueueLeft(Event, frozen=True):
    """The running workflow is in the queue no longer."""


class AttemptFailed(Event, Failure, frozen=True):
    """Nothing usable could be had for what was due."""


class Resumed(Event, frozen=True):
    """Goes on where it was. What had failed is tried again."""


WorkflowResult = (
    Restored
    | WorkflowOpened
    | Reopened
    | WorkspaceChecked
    | WorkStashed
    | BranchCreated
    | NotSetAside
    | RestQueued
    | DesignWritten
    | BatchPlanned
    | BatchReviewed
    | PlanLaidOut
    | PlanDiscussed
    | CommandKept
    | BranchedOff
    | NotBranchedOff
    | BatchRevised
    | BatchBuilt
    | TaskRolledBack
    | WorkspaceScouted
    | ScopeReassessed
    | WorkflowFinalized
    | ChangesArchived
    | NextBegun
    | QueueFoundEmpty
    | QueueLeft
    | AttemptFailed
    | Resumed
)

TOLD = (
    WorkspaceChecked,
    WorkStashed,
    BranchCreated,
    NotSetAside,
    RestQueued,
    DesignWritten,
    BatchPlanned,
    BatchReviewed,
    PlanLaidOut,
    PlanDiscussed,
    CommandKept,
    BranchedOff,
    NotBranchedOff,
    BatchRevised,
    BatchBuilt,
    TaskRolledBack,
    ScopeReassessed,
    WorkflowFinalized,
    ChangesArchived,
    QueueFoundEmpty,
    AttemptFailed,
)
"""What somebody is told who was not listening: what was done and what failed, and not what the person did."""
