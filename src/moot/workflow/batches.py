"""What happens to a batch: planned, reviewed until it is approved, built, reassessed; then the next one.

Knows how each event of this changes the state. Whether it may happen at all, the workflow's table says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from moot.brainstorm import checks
from moot.brainstorm import text as words
from moot.brainstorm.events import Part
from moot.brainstorm.state import BRAINSTORMER
from moot.core.conversation import PERSON
from moot.core.flow import Table
from moot.core.ledger import Kind
from moot.errors import IllegalMove
from moot.workflow import ledger, planning
from moot.workflow.events import (
    BatchBuilt,
    BatchPlanned,
    BatchReviewed,
    BatchRevised,
    DesignWritten,
    ScopeReassessed,
    TaskRolledBack,
    WorkspaceScouted,
    batches_of,
)
from moot.workflow.menu import (
    AdjustmentAsked,
    AdjustmentBegun,
    AdjustmentDropped,
    BuildResumed,
    CommentBegun,
    CommentDropped,
    Continued,
    DesignReady,
    EndedHere,
    PlanKept,
    ReassessmentPassed,
    RollBackDropped,
    RollBackWanted,
    TaskSkipped,
)
from moot.workflow.state import REASSESS_STEP, Phase, Stage, Trees, WorkflowState

TRANSITIONS: Table = {
    (Stage.DOCUMENTING, DesignWritten): (Stage.PLANNING, Stage.AT_DESIGN_DOCUMENT),
    (Stage.AT_DESIGN_DOCUMENT, DesignReady): Stage.PLANNING,
    (Stage.PLANNING, BatchPlanned): Stage.REVIEWING,
    (Stage.REVIEWING, BatchReviewed): (Stage.LAYING_OUT, Stage.REVISING),
    (Stage.REVISING, BatchRevised): Stage.REVIEWING,
    (Stage.BUILDING, BatchBuilt): (Stage.AT_OPEN_TASKS, Stage.SCOUTING, Stage.FINALIZING),
    (Stage.AT_OPEN_TASKS, BuildResumed): Stage.BUILDING,
    (Stage.AT_OPEN_TASKS, TaskSkipped): Stage.BUILDING,
    (Stage.AT_OPEN_TASKS, CommentBegun): Stage.COMMENTING,
    (Stage.COMMENTING, CommentDropped): Stage.AT_OPEN_TASKS,
    (Stage.COMMENTING, BuildResumed): Stage.BUILDING,
    (Stage.AT_OPEN_TASKS, RollBackWanted): Stage.ROLLING_BACK,
    (Stage.ROLLING_BACK, TaskRolledBack): Stage.AT_OPEN_TASKS,
    (Stage.FAILED, RollBackDropped): Stage.AT_OPEN_TASKS,
    (Stage.SCOUTING, WorkspaceScouted): Stage.REASSESSING,
    (Stage.REASSESSING, ScopeReassessed): Stage.AT_REASSESSMENT,
    (Stage.FAILED, ReassessmentPassed): Stage.AT_REASSESSMENT,
    (Stage.AT_REASSESSMENT, PlanKept): Stage.AT_REASSESSMENT,
    (Stage.AT_REASSESSMENT, AdjustmentBegun): Stage.ADJUSTING,
    # The person may have changed something by hand meanwhile.
    (Stage.AT_REASSESSMENT, AdjustmentAsked): Stage.SCOUTING,
    (Stage.ADJUSTING, AdjustmentDropped): Stage.AT_REASSESSMENT,
    (Stage.ADJUSTING, AdjustmentAsked): Stage.SCOUTING,
    # Another tool's workflow may have no design yet.
    (Stage.AT_REASSESSMENT, Continued): (Stage.DOCUMENTING, Stage.PLANNING, Stage.FINALIZING),
    (Stage.AT_REASSESSMENT, EndedHere): Stage.FINALIZING,
}
Planning = DesignWritten | DesignReady | BatchPlanned | BatchReviewed | BatchRevised
Building = (
    BatchBuilt
    | BuildResumed
    | TaskSkipped
    | CommentBegun
    | CommentDropped
    | RollBackWanted
    | RollBackDropped
    | TaskRolledBack
)
Reassessing = (
    WorkspaceScouted
    | ScopeReassessed
    | ReassessmentPassed
    | AdjustmentBegun
    | AdjustmentDropped
    | AdjustmentAsked
    | PlanKept
    | Continued
    | EndedHere
)


def change(state: WorkflowState, event: Planning | Building | Reassessing) -> WorkflowState:
    if isinstance(event, Planning):
        return _plan(state, event)
    if isinstance(event, Building):
        return _build(state, event)
    return _reassess(state, event)


def begin(state: WorkflowState) -> WorkflowState:
    """The brainstorm is over."""
    state = replace(state, batches=batches_of(state.brainstorm.parts))
    if state.earlier_plan is None:
        return _begin_batch(state, 0)
    return replace(_begin_batch(*planning.taken_up(state, state.earlier_plan)), plan_again=True)


def _begin_batch(state: WorkflowState, number: int) -> WorkflowState:
    return replace(
        _with_batch(replace(planning.decided(state), current_batch=number), status="active"),
        phase=Phase.PLAN,
        plan_again=False,
        verdict=None,
        review_summary="",
        revisions=0,
        revision_wanted=False,
        wishes="",
        open_tasks="",
        failed_task=0,
        before_task="",
        failed_with="",
        skipped=(),
        commenting=False,
        rolling_back=False,
        scouted=False,
        built="",
        proposed=None,
        adjustment="",
    )


def _titles(parts: Sequence[Part]) -> str:
    return "; ".join(part.title for part in parts)


def _listed(parts: Sequence[Part]) -> str:
    """A batch may change and keep its title."""
    return "; ".join(f"{part.title} ({part.description.rstrip('.')})" for part in parts)


def _with_batch(state: WorkflowState, **changed: Any) -> WorkflowState:
    batches = list(state.batches)
    batches[state.current_batch] = replace(state.batch, **changed)
    return replace(state, batches=tuple(batches))


def _plan(state: WorkflowState, event: Planning) -> WorkflowState:
    match event:
        case DesignWritten(path, sha256):
            checks.text("path", path)
            return replace(state, design_path=path, design_hash=sha256)
        case DesignReady():
            return replace(state, design_waits=False)
        case BatchPlanned(change_id):
            checks.text("change_id", change_id)
            state = replace(_with_batch(state, change_id=change_id), plan_again=False)
            return replace(state, phase=Phase.REVIEW, verdict=None)
        case BatchReviewed(verdict, summary, ends=ends):
            reviewed = replace(state, verdict=verdict, review_summary=summary, layout_due=True)
            if verdict != "APPROVED" and ends:
                # By itself, it is not revised any more.
                revisions = max(state.revisions, state.max_revisions)
                return replace(reviewed, revisions=revisions, review_summary=f"{summary} ({ends})".strip())
            return reviewed
        case BatchRevised():
            state = ledger.note_review(state)
            # What was revised has no verdict until it is reviewed again.
            return replace(
                state, verdict=None, revisions=state.revisions + 1, revision_wanted=False, wishes=""
            )


def _build(state: WorkflowState, event: Building) -> WorkflowState:
    match event:
        case BuildResumed(comment):
            if comment:
                checks.text("comment", comment)
                state = ledger.note(state, Kind.SAID, comment, PERSON, "open-tasks")
            told = f"{state.open_tasks}\n\nThe person says: {comment}" if comment else state.open_tasks
            return replace(state, open_tasks="", failed_with=told, commenting=False)
        case TaskSkipped():
            _check_failed(state, event)
            skipped = (*state.skipped, state.failed_task)
            text = f"Task {state.failed_task} of batch '{state.batch.title}' is left open"
            state = ledger.note(state, Kind.DECIDED, text, PERSON, "open-tasks")
            return replace(
                state, open_tasks="", failed_task=0, before_task="", failed_with="", skipped=skipped
            )
        case CommentBegun():
            _check_failed(state, event)
            return replace(state, commenting=True)
        case CommentDropped():
            return replace(state, commenting=False)
        case RollBackWanted():
            if not state.before_task:
                raise IllegalMove(type(event).__name__, f"{state.stage}, there is no way back")
            return replace(state, rolling_back=True)
        case RollBackDropped():
            return replace(state, failure=None, rolling_back=False, commenting=False)
        case TaskRolledBack(files):
            count = f"{len(files)} file{'' if len(files) == 1 else 's'}"
            told = f"{state.open_tasks}\n\nWhat it had changed was rolled back ({count})."
            return replace(state, open_tasks=told, before_task="", rolling_back=False, commenting=False)
        case _:
            return _end_attempt(state, event)


def _check_failed(state: WorkflowState, event: TaskSkipped | CommentBegun) -> None:
    if not state.failed_task:
        raise IllegalMove(type(event).__name__, f"{state.stage}, no task has failed")


def _end_attempt(state: WorkflowState, event: BatchBuilt) -> WorkflowState:
    state = replace(_note_trees(state, event.tree), known_tree=event.tree or state.known_tree)
    match event:
        case BatchBuilt(True):
            complete = _with_batch(state, status="complete")
            phase = Phase.REASSESS if len(state.batches) > 1 else Phase.FINALIZE
            return replace(complete, phase=phase, scouted=False)
        case BatchBuilt(_, message):
            # Back is before the first attempt: a retry goes on from what the one before has left.
            same = state.failed_task == event.failed_task and state.before_task
            return replace(
                state,
                open_tasks=message or "Some of its tasks are still open",
                failed_task=event.failed_task,
                before_task=state.before_task if same else event.before_task,
                failed_with="",
            )


def _note_trees(state: WorkflowState, after: str) -> WorkflowState:
    """From before the first attempt to after the last."""
    others = tuple(each for each in state.trees if each.batch != state.current_batch)
    begun = [each.before for each in state.trees if each.batch == state.current_batch]
    before = begun[0] if begun else state.known_tree
    if not before or not after:
        return state
    return replace(state, trees=(*others, Trees(state.current_batch, before, after)))


def _reassess(state: WorkflowState, event: Reassessing) -> WorkflowState:
    match event:
        case WorkspaceScouted(output, read, _, design, built):
            checks.scout(output)
            return replace(
                state,
                brainstorm=replace(state.brainstorm, scout_output=output, scout_read=read),
                scouted=True,
                design_on_disk=design,
                built=built,
                proposed=state.proposed if state.adjustment else None,
                adjusting=False,
            )
        case ScopeReassessed(assessment, batches, spoken):
            checks.parts("batches", batches, fewest=1)
            told = "\n".join((assessment, *words.parts(batches, "Batch", state.current_batch + 2)))
            state = _say(state, BRAINSTORMER, told, spoken.looked_at)
            return replace(state, assessment=assessment, proposed=batches, adjustment="")
        case ReassessmentPassed() | AdjustmentDropped():
            kept = state.left_over if state.proposed is None else state.proposed
            return replace(state, failure=None, proposed=kept, adjusting=False, adjustment="")
        case PlanKept():
            if state.proposed == state.left_over:
                raise IllegalMove(type(event).__name__, state.stage)
            return replace(state, proposed=state.left_over)
        case AdjustmentBegun():
            return replace(state, adjusting=True)
        case AdjustmentAsked(text):
            checks.text("adjustment", text)
            said = _say(state, PERSON, text)
            return replace(said, adjusting=False, adjustment=text, scouted=False)
        case EndedHere():
            text = f"Built no more after batch {state.current_batch + 1}: {_titles(state.left_over)}"
            state = ledger.note(state, Kind.REJECTED, text, PERSON, REASSESS_STEP)
            return replace(state, phase=Phase.FINALIZE, proposed=None)
        case _:
            return _go_on(state)


def _say(state: WorkflowState, speaker: str, text: str, read: tuple[str, ...] = ()) -> WorkflowState:
    return replace(state, brainstorm=state.brainstorm.said(speaker, text, REASSESS_STEP, read))


def _go_on(state: WorkflowState) -> WorkflowState:
    """What was shown is what holds from now on."""
    left = batches_of(state.proposed or ())
    if state.proposed != state.left_over:
        now, before = _listed(state.proposed or ()) or "nothing", _titles(state.left_over)
        text = f"After batch {state.current_batch + 1}, what is left to build: {now}; before: {before}"
        state = ledger.note(state, Kind.DECIDED, text, PERSON, REASSESS_STEP)
    state = replace(state, batches=(*state.batches[: state.current_batch + 1], *left))
    if not left:
        return replace(state, phase=Phase.FINALIZE, proposed=None)
    return _begin_batch(state, state.current_batch + 1)
