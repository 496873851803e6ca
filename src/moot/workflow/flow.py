"""A workflow: a brainstorm, then every batch planned, reviewed, built and reassessed, one after the other.

Events for commands to put: WorkflowOpened to begin, NextBegun to begin what waits, Reopened when another
process goes on, Resumed after Stopped.
"""

from __future__ import annotations

from typing import Any, get_args

from msgspec.structs import replace

from moot.brainstorm import checks
from moot.brainstorm import flow as brainstorm_flow
from moot.brainstorm.effects import LookAtCode
from moot.brainstorm.flow import BrainstormEvent
from moot.brainstorm.menu import GoneBack, LevelConfirmed, PlanningChosen, RequestWithdrawn, SectionsApproved
from moot.brainstorm.replies import event_of
from moot.brainstorm.state import BrainstormState
from moot.core.background import EvidenceGiven, LedgerCorrected, keep_background
from moot.core.flow import (
    AskPerson,
    Drafted,
    DraftFailed,
    DraftReply,
    Effect,
    Event,
    Flow,
    Outcome,
    PersonAnswered,
    Table,
    Task,
    TaskFailed,
    check_step,
    next_step,
)
from moot.errors import IllegalMove, InvalidInput
from moot.roundtable import effects as roundtable_effects
from moot.roundtable.effects import OpenRoundtable
from moot.roundtable.events import RoundtableNotOpened
from moot.roundtable.state import RoundtableState
from moot.text.shortening import shortened
from moot.workflow import batches, effects, ledger, menu, planning
from moot.workflow.events import (
    AttemptFailed,
    BranchCreated,
    ChangesArchived,
    Failure,
    NextBegun,
    NotBranchedOff,
    NotSetAside,
    PlanDiscussed,
    QueueFoundEmpty,
    QueueLeft,
    Reopened,
    Restored,
    RestQueued,
    Resumed,
    ScopeReassessed,
    Stash,
    Uncommitted,
    WorkflowFinalized,
    WorkflowOpened,
    WorkflowResult,
    WorkspaceChecked,
    WorkStashed,
)
from moot.workflow.menu import (
    ArchiveChosen,
    BranchWanted,
    DiscussionDropped,
    NextChosen,
    ReassessmentPassed,
    RollBackDropped,
    StashWanted,
    Stopped,
    TriedAgain,
    UncommittedAccepted,
    WorkflowDecision,
)
from moot.workflow.snapshot import state_of
from moot.workflow.state import Phase, Stage, WorkflowState

OwnEvent = BrainstormEvent | WorkflowResult | WorkflowDecision
WorkflowEvent = OwnEvent | EvidenceGiven | LedgerCorrected
Halting = AttemptFailed | TriedAgain | Stopped | Resumed
AboutWorkspace = (
    Reopened
    | WorkspaceChecked
    | UncommittedAccepted
    | StashWanted
    | BranchWanted
    | WorkStashed
    | BranchCreated
    | NotSetAside
)
AboutQueue = RestQueued | QueueLeft | NextChosen | NextBegun | QueueFoundEmpty

_TASKS: dict[Stage, type[Task[Any]]] = {
    Stage.CHECKING: effects.CheckWorkspace,
    Stage.STASHING: effects.StashChanges,
    Stage.BRANCHING: effects.CreateBranch,
    Stage.LEAVING_QUEUE: effects.LeaveQueue,
    Stage.QUEUING: effects.QueueRest,
    Stage.DOCUMENTING: effects.WriteDesign,
    Stage.PLANNING: effects.PlanBatch,
    Stage.REVIEWING: effects.ReviewPlan,
    Stage.LAYING_OUT: effects.LayOutPlan,
    Stage.KEEPING_TESTS: effects.KeepTests,
    Stage.BRANCHING_OFF: effects.BranchOff,
    Stage.REVISING: effects.RevisePlan,
    Stage.BUILDING: effects.BuildBatch,
    Stage.ROLLING_BACK: effects.RollBackTask,
    Stage.SCOUTING: effects.ScoutAgain,
    Stage.FINALIZING: effects.FinalizeWorkflow,
    Stage.ARCHIVING: effects.ArchiveChanges,
    Stage.TAKING_NEXT: effects.TakeNext,
}
_DRAFTS = {Stage.REASSESSING: effects.REASSESS, Stage.DISCUSSING_PLAN: effects.DISCUSS_PLAN}
_ABOUT_WORKSPACE = (Stage.CHECKING, Stage.AT_UNCOMMITTED, Stage.STASHING, Stage.BRANCHING)
_BUILDING = (Stage.BUILDING, Stage.AT_OPEN_TASKS, Stage.COMMENTING, Stage.ROLLING_BACK, Stage.FINALIZING)
"""What is not committed by then is of the batch: the agent's, or done by hand."""
_PLAN_STAGES = (
    Stage.LAYING_OUT,
    Stage.AT_VERDICT,
    Stage.AT_PLAN,
    Stage.WRITING_ABOUT_PLAN,
    Stage.DISCUSSING_PLAN,
    Stage.KEEPING_TESTS,
    Stage.BRANCHING_OFF,
)
_NOT_BUILDING = (
    Stage.QUEUING,
    Stage.BRAINSTORMING,
    Stage.DOCUMENTING,
    Stage.AT_DESIGN_DOCUMENT,
    Stage.PLANNING,
    Stage.REVIEWING,
    Stage.REVISING,
    *_PLAN_STAGES,
    Stage.SCOUTING,
    Stage.REASSESSING,
    Stage.AT_REASSESSMENT,
    Stage.ADJUSTING,
)
_UNDER_WAY = (*_NOT_BUILDING, *_BUILDING)
_ENDED = (Stage.FINISHED, Stage.ARCHIVING, Stage.TAKING_NEXT)
_TAKEN_UP = (Stage.LEAVING_QUEUE, Stage.FAILED, Stage.STOPPED)
"""Where an entry of the queue begins, which may have failed or been stopped before."""
_MOST_FILES = 100
_CAN_FAIL = (
    *(stage for stage in _TASKS if stage not in (*_ABOUT_WORKSPACE, Stage.BRANCHING_OFF)),
    Stage.BRAINSTORMING,
    Stage.REASSESSING,
    Stage.DISCUSSING_PLAN,
)

TRANSITIONS: Table = {
    (Stage.UNOPENED, WorkflowOpened): Stage.CHECKING,
    (Stage.UNOPENED, Restored): (*_TAKEN_UP, *_ABOUT_WORKSPACE, *_UNDER_WAY, *_ENDED),
    (Stage.UNOPENED, NextBegun): _TAKEN_UP,
    **{(stage, Reopened): Stage.CHECKING for stage in (Stage.CHECKING, *_NOT_BUILDING)},
    **{(stage, Reopened): (stage, Stage.CHECKING) for stage in (Stage.FAILED, Stage.AT_UNCOMMITTED)},
    **{
        (stage, Reopened): stage
        for stage in (Stage.STOPPED, Stage.LEAVING_QUEUE, Stage.STASHING, Stage.BRANCHING, *_BUILDING)
    },
    (Stage.CHECKING, WorkspaceChecked): (Stage.AT_UNCOMMITTED, Stage.FAILED, *_UNDER_WAY),
    (Stage.AT_UNCOMMITTED, UncommittedAccepted): (Stage.FAILED, *_UNDER_WAY),
    (Stage.AT_UNCOMMITTED, StashWanted): Stage.STASHING,
    (Stage.AT_UNCOMMITTED, BranchWanted): Stage.BRANCHING,
    (Stage.STASHING, WorkStashed): Stage.CHECKING,
    (Stage.STASHING, NotSetAside): Stage.AT_UNCOMMITTED,
    (Stage.BRANCHING, BranchCreated): (Stage.FAILED, *_UNDER_WAY),
    (Stage.BRANCHING, NotSetAside): Stage.AT_UNCOMMITTED,
    (Stage.LEAVING_QUEUE, QueueLeft): (*_ABOUT_WORKSPACE, *_UNDER_WAY, *_ENDED),
    (Stage.QUEUING, RestQueued): (Stage.BRAINSTORMING, Stage.DOCUMENTING, Stage.PLANNING),
    **{(Stage.BRAINSTORMING, kind): Stage.BRAINSTORMING for kind in get_args(BrainstormEvent)},
    (Stage.BRAINSTORMING, LevelConfirmed): (Stage.BRAINSTORMING, Stage.QUEUING),
    # A design that was gone back to, and is as it was, is written already.
    (Stage.BRAINSTORMING, SectionsApproved): (
        *(Stage.BRAINSTORMING, Stage.DOCUMENTING, Stage.AT_DESIGN_DOCUMENT, Stage.PLANNING),
    ),
    (Stage.BRAINSTORMING, PlanningChosen): (Stage.QUEUING, Stage.DOCUMENTING, Stage.PLANNING),
    **batches.TRANSITIONS,
    **planning.TRANSITIONS,
    (Stage.FINALIZING, WorkflowFinalized): Stage.FINISHED,
    (Stage.FINISHED, ArchiveChosen): Stage.ARCHIVING,
    (Stage.ARCHIVING, ChangesArchived): Stage.FINISHED,
    (Stage.FINISHED, NextChosen): Stage.TAKING_NEXT,
    (Stage.TAKING_NEXT, NextBegun): _TAKEN_UP,
    (Stage.TAKING_NEXT, QueueFoundEmpty): Stage.FINISHED,
    **{(stage, AttemptFailed): Stage.FAILED for stage in _CAN_FAIL},
    (Stage.FAILED, TriedAgain): (Stage.LEAVING_QUEUE, *_UNDER_WAY, *_ENDED),
    (Stage.FAILED, RequestWithdrawn): Stage.BRAINSTORMING,
    (Stage.FAILED, GoneBack): Stage.BRAINSTORMING,
    **{
        (stage, Stopped): Stage.STOPPED
        for stage in (Stage.FAILED, Stage.LEAVING_QUEUE, *_ABOUT_WORKSPACE, *_UNDER_WAY)
    },
    (Stage.STOPPED, Resumed): (Stage.LEAVING_QUEUE, *_ABOUT_WORKSPACE, *_UNDER_WAY, *_ENDED),
}
"""Which event may happen where, and what it leads to. Building comes after an approving review and after
nothing else."""
_DOES_WITHOUT: dict[type[Event], Stage] = {
    RequestWithdrawn: Stage.BRAINSTORMING,
    GoneBack: Stage.BRAINSTORMING,
    ReassessmentPassed: Stage.REASSESSING,
    DiscussionDropped: Stage.DISCUSSING_PLAN,
    RollBackDropped: Stage.ROLLING_BACK,
}
"""What has failed where one of these goes on without it."""


# -- advance -------------------------------------------------------------------------------------


def advance_own(state: WorkflowState, event: OwnEvent) -> WorkflowState:
    target = next_step(TRANSITIONS, state.stage, event)
    if state.stage is Stage.FAILED and _DOES_WITHOUT.get(type(event), state.beneath) is not state.beneath:
        raise IllegalMove(type(event).__name__, f"{state.stage}, {state.beneath}")
    changed = _change(state, event)
    check_step(target, changed.stage)
    if isinstance(event, Restored):
        return changed
    cost = _cost(event) + changed.total_cost
    # What was under way is the same after a look at the workspace: it must not be billed as something new.
    aside = isinstance(event, Reopened) or state.stage in _ABOUT_WORKSPACE
    return replace(changed, happened=changed.happened + (not aside), total_cost=cost)


_advance = keep_background(advance_own)


def advance(state: WorkflowState, event: WorkflowEvent) -> WorkflowState:
    after = _advance(state, event)
    # A file is as it was left.
    return after if isinstance(event, Restored) else ledger.keep_order(after)


def _change(state: WorkflowState, event: OwnEvent) -> WorkflowState:
    if isinstance(event, BrainstormEvent):
        return _talk(state, event)
    if isinstance(event, AboutWorkspace):
        return _decide_about_workspace(state, event)
    if isinstance(event, AboutQueue):
        return _change_queue(state, event)
    if isinstance(event, Halting):
        return _halt(state, event)
    if isinstance(event, planning.Deciding):
        return planning.change(state, event)
    match event:
        case Restored(saved):
            return state_of(saved)
        case WorkflowOpened(given_id, description, started_at, config):
            checks.text("idea", description)
            return WorkflowState(
                phase=Phase.BRAINSTORM,
                id=given_id,
                config=config,
                started_at=started_at,
                brainstorm=BrainstormState(description=description),
            )
        case WorkflowFinalized(waiting, summary):
            done = replace(state, phase=Phase.DONE, waiting=waiting, next_chosen=False)
            return replace(done, summary=summary)
        case ArchiveChosen():
            if not state.to_archive:
                raise IllegalMove(type(event).__name__, f"{state.stage}, nothing is left to archive")
            return replace(state, archiving=True)
        case ChangesArchived(archived, problem):
            assert state.summary is not None
            left = tuple(one for one in state.to_archive if one not in archived)
            summary = replace(state.summary, to_archive=left)
            return replace(state, archiving=False, summary=summary, archive_problem=problem)
        case _:
            return batches.change(state, event)


def _cost(event: OwnEvent) -> float:
    spoken = getattr(event, "spoken", None)
    cost = getattr(event, "cost_usd", None) if spoken is None else spoken.cost_usd
    return cost or 0.0


def _talk(state: WorkflowState, event: BrainstormEvent) -> WorkflowState:
    talk = brainstorm_flow.advance(state.brainstorm, event)
    waits = talk.finished and isinstance(event, SectionsApproved) and event.waits
    state = replace(state, brainstorm=talk, failure=None, design_waits=waits)
    return batches.begin(state) if talk.finished else state


def _halt(state: WorkflowState, event: Halting) -> WorkflowState:
    match event:
        case AttemptFailed(kind, message, raw):
            return replace(state, failure=Failure(kind, message, raw))
        case TriedAgain():
            return replace(state, failure=None)
        case Stopped():
            return replace(state, stopped=True)
        case Resumed():
            return replace(state, stopped=False, failure=None)


def _decide_about_workspace(state: WorkflowState, event: AboutWorkspace) -> WorkflowState:
    accepted = state.uncommitted.tree if state.uncommitted else ""
    match event:
        case Reopened() if state.set_aside or state.phase in (Phase.EXECUTE, Phase.FINALIZE):
            return state
        case Reopened():
            # What was laid out of a plan may be different by now, too.
            again = state.layout_due or state.plan is not None
            return replace(state, checked=False, uncommitted=None, set_aside_problem="", layout_due=again)
        case WorkspaceChecked((), tree):
            return replace(state, checked=True, known_tree=tree)
        case WorkspaceChecked(files, tree):
            return replace(
                state, checked=True, uncommitted=Uncommitted(files[:_MOST_FILES], len(files), tree)
            )
        case StashWanted():
            return replace(state, set_aside="stash", set_aside_problem="")
        case BranchWanted():
            return replace(state, set_aside="branch", set_aside_problem="")
        case NotSetAside(message):
            return replace(state, checked=True, set_aside="", set_aside_problem=message)
        case WorkStashed(name, files):
            stash = Stash(name, files[:_MOST_FILES], len(files))
            # Is that all?
            return replace(
                state, set_aside="", uncommitted=None, checked=False, stashes=(*state.stashes, stash)
            )
        case BranchCreated(name):
            return replace(
                state, checked=True, set_aside="", uncommitted=None, known_tree=accepted, branch=name
            )
        case UncommittedAccepted():
            return replace(state, uncommitted=None, set_aside_problem="", known_tree=accepted)


def _change_queue(state: WorkflowState, event: AboutQueue) -> WorkflowState:
    match event:
        case RestQueued(ids):
            if set(ids) != set(state.rest):
                raise InvalidInput("ids", "they are not those of the parts that were split off")
            return replace(state, queued=tuple(state.rest))
        case QueueLeft():
            return replace(state, from_queue=False)
        case NextChosen():
            if not state.waiting:
                raise IllegalMove(type(event).__name__, f"{state.stage}, nothing waits")
            return replace(state, next_chosen=True)
        case QueueFoundEmpty():
            return replace(state, next_chosen=False, waiting=())
        case NextBegun(saved):
            return replace(state_of(saved), from_queue=True)


# -- pending and record --------------------------------------------------------------------------


def pending(state: WorkflowState) -> tuple[Effect, ...]:
    key = str(state.happened)
    stage = state.stage
    if stage in _TASKS:
        return (_TASKS[stage](key),)
    if stage in _DRAFTS:
        return (DraftReply(_DRAFTS[stage], key),)
    if stage is Stage.BRAINSTORMING and (wanted := brainstorm_flow.pending(state.brainstorm, key)):
        return wanted
    asked = menu.menu(state)
    return () if asked is None else (asked.ask(key),)


def record(state: WorkflowState, effect: Effect, outcome: Outcome) -> WorkflowEvent:
    table = state.brainstorm.table
    if table is not None and state.stage is Stage.BRAINSTORMING:
        return _at_roundtable(table, effect, outcome)
    match effect, outcome:
        case AskPerson(), PersonAnswered():
            asked = menu.menu(state)
            assert asked is not None
            return asked.event(outcome)
        case _, DraftFailed(kind, message, raw):
            return AttemptFailed(kind, shortened(message), shortened(raw))
        case effects.StashChanges() | effects.CreateBranch(), TaskFailed(_, message):
            return NotSetAside(shortened(message))
        case effects.BranchOff(), TaskFailed(_, message):
            return NotBranchedOff(shortened(message))
        case effects.CheckWorkspace(), TaskFailed():
            # Where git has no answer, there is nothing to decide about.
            return WorkspaceChecked()
        case _, TaskFailed(kind, message):
            return AttemptFailed(kind, shortened(message))
        case DraftReply(), Drafted(effects.Reassessment(assessment, parts), spoken):
            return ScopeReassessed(assessment, parts, spoken)
        case DraftReply(), Drafted(effects.PlanReply(reply, revision), spoken):
            return PlanDiscussed(reply, revision, spoken)
        case DraftReply(), Drafted(reply, spoken):
            return event_of(state.brainstorm, reply, spoken)
        case _:
            raise AssertionError(f"{outcome} is nothing that {effect} can lead to")


def _at_roundtable(table: RoundtableState, effect: Effect, outcome: Outcome) -> WorkflowEvent:
    """One that cannot be opened is tried again like all that fails in a workflow."""
    if isinstance(effect, LookAtCode | OpenRoundtable) and isinstance(outcome, TaskFailed):
        return AttemptFailed(outcome.kind, shortened(outcome.message))
    event = roundtable_effects.record(table, effect, outcome)
    assert not isinstance(event, RoundtableNotOpened)
    return event


WORKFLOW: Flow[WorkflowState, WorkflowEvent] = Flow(
    "workflow", WorkflowState(), WorkflowEvent, advance, pending, record, ledger.entries
)
