"""The stop before building: a plan that was reviewed is laid out, and the person decides what becomes of it.

Knows how each event of this changes the state, and how the way back to the design leads on to a plan again.
Whether it may happen at all, the workflow's table says. Refuses to know what a plan is made of.
"""

from __future__ import annotations

import hashlib

from msgspec.structs import replace

from moot.brainstorm import checks
from moot.brainstorm.state import BRAINSTORMER, Step
from moot.core.conversation import PERSON
from moot.core.flow import Table
from moot.core.ledger import Kind
from moot.errors import IllegalMove
from moot.workflow import documents, ledger
from moot.workflow.events import BranchedOff, CommandKept, NotBranchedOff, PlanDiscussed, PlanLaidOut
from moot.workflow.menu import (
    CommandConfirmed,
    CommitsChosen,
    DesignReopened,
    DiscussionDropped,
    PlanApproved,
    PlanQuestioned,
    PlanWritingBegun,
    PlanWritingDropped,
    ReviewWanted,
    RevisionWanted,
    ways_back,
)
from moot.workflow.state import PLAN_STEP, EarlierPlan, Phase, Stage, WorkflowState

_MENUS = (Stage.AT_PLAN, Stage.AT_VERDICT)

TRANSITIONS: Table = {
    (Stage.LAYING_OUT, PlanLaidOut): (*_MENUS, Stage.BUILDING),
    (Stage.AT_PLAN, PlanApproved): (Stage.BUILDING, Stage.BRANCHING_OFF),
    (Stage.AT_PLAN, CommandConfirmed): Stage.KEEPING_TESTS,
    (Stage.AT_PLAN, CommitsChosen): Stage.AT_PLAN,
    (Stage.KEEPING_TESTS, CommandKept): Stage.LAYING_OUT,
    (Stage.BRANCHING_OFF, BranchedOff): Stage.BUILDING,
    (Stage.BRANCHING_OFF, NotBranchedOff): Stage.AT_PLAN,
    **{(menu, ReviewWanted): Stage.REVIEWING for menu in _MENUS},
    **{(menu, RevisionWanted): Stage.REVISING for menu in (*_MENUS, Stage.WRITING_ABOUT_PLAN)},
    **{(menu, PlanWritingBegun): Stage.WRITING_ABOUT_PLAN for menu in _MENUS},
    (Stage.WRITING_ABOUT_PLAN, PlanWritingDropped): _MENUS,
    **{(at, PlanQuestioned): Stage.DISCUSSING_PLAN for at in (*_MENUS, Stage.WRITING_ABOUT_PLAN)},
    (Stage.DISCUSSING_PLAN, PlanDiscussed): _MENUS,
    (Stage.FAILED, DiscussionDropped): _MENUS,
    **{(menu, DesignReopened): Stage.BRAINSTORMING for menu in _MENUS},
}
Deciding = (
    PlanLaidOut
    | PlanApproved
    | CommandConfirmed
    | CommandKept
    | CommitsChosen
    | BranchedOff
    | NotBranchedOff
    | ReviewWanted
    | RevisionWanted
    | PlanWritingBegun
    | PlanWritingDropped
    | PlanQuestioned
    | PlanDiscussed
    | DiscussionDropped
    | DesignReopened
)


def change(state: WorkflowState, event: Deciding) -> WorkflowState:
    match event:
        case PlanLaidOut(plan, unattended):
            commits = state.commit_tasks and plan.can_commit
            state = replace(state, plan=plan, layout_due=False, commit_tasks=commits)
            if not plan.obstacle and state.verdict != "APPROVED":
                # The person has approved it themselves, by a command or on its page.
                state = replace(state, verdict="APPROVED")
            return _build(state) if unattended and _can_be_built(state) else state
        case ReviewWanted():
            return replace(decided(state), verdict=None)
        case RevisionWanted(wishes):
            if wishes:
                checks.text("wishes", wishes)
                state = ledger.note(state, Kind.SAID, wishes, PERSON, "verdict")
            return replace(decided(state), revision_wanted=True, wishes=wishes)
        case DesignReopened(step):
            return _go_back(state, step)
        case CommitsChosen(wanted):
            if wanted and not (state.plan and state.plan.can_commit):
                raise IllegalMove(type(event).__name__, f"{state.stage}, other work would be taken along")
            return replace(state, commit_tasks=wanted)
        case PlanApproved() | CommandConfirmed() | CommandKept() | BranchedOff() | NotBranchedOff():
            return _prepare(state, event)
        case _:
            return _talk(state, event)


def _prepare(
    state: WorkflowState, event: PlanApproved | CommandConfirmed | CommandKept | BranchedOff | NotBranchedOff
) -> WorkflowState:
    """How it is built, and that it is."""
    match event:
        case PlanApproved(on_branch):
            if not _can_be_built(state) or (on_branch and not (state.plan and state.plan.can_branch)):
                raise IllegalMove(type(event).__name__, f"{state.stage}, it cannot be built like that")
            where = ", on a new branch" if on_branch else ""
            text = f"The plan of batch '{state.batch.title}' is to be built{where}"
            state = replace(ledger.note(state, Kind.DECIDED, text, PERSON, PLAN_STEP), branch_problem="")
            return replace(state, branch_wanted=True) if on_branch else _build(state)
        case CommandConfirmed(command):
            if state.plan is None or command not in [one.command for one in state.plan.found]:
                raise IllegalMove(type(event).__name__, f"{state.stage}, it was not found")
            return replace(state, tests_chosen=command)
        case CommandKept(command):
            text = f"After each task, this command is run: {command}"
            state = ledger.note(state, Kind.DECIDED, text, PERSON, PLAN_STEP)
            return replace(state, tests_chosen="", layout_due=True)
        case BranchedOff(name):
            return _build(replace(state, build_branch=name))
        case NotBranchedOff(message):
            return replace(state, branch_wanted=False, branch_problem=message)


def _talk(
    state: WorkflowState,
    event: PlanWritingBegun | PlanWritingDropped | PlanQuestioned | PlanDiscussed | DiscussionDropped,
) -> WorkflowState:
    match event:
        case PlanWritingBegun(wish):
            return replace(state, writing_about=wish)
        case PlanWritingDropped():
            return replace(state, writing_about="")
        case PlanQuestioned(text):
            checks.text("comment", text)
            talk = state.brainstorm.said(PERSON, text, PLAN_STEP)
            return replace(state, brainstorm=talk, discussed=text, writing_about="")
        case PlanDiscussed(reply, revision, spoken):
            checks.text("reply", reply)
            offered = f"\nIt would have revised: {revision}" if revision else ""
            talk = state.brainstorm.said(BRAINSTORMER, reply + offered, PLAN_STEP, spoken.looked_at)
            return replace(state, brainstorm=talk, discussed="", suggested_revision=revision)
        case DiscussionDropped():
            return replace(state, failure=None, discussed="")


def decided(state: WorkflowState) -> WorkflowState:
    """Nothing of what was laid out is asked about any more."""
    return replace(
        state,
        plan=None,
        layout_due=False,
        writing_about="",
        discussed="",
        suggested_revision="",
        tests_chosen="",
        branch_wanted=False,
        branch_problem="",
    )


def _can_be_built(state: WorkflowState) -> bool:
    return state.verdict == "APPROVED" and state.plan is not None and not state.plan.obstacle


def _build(state: WorkflowState) -> WorkflowState:
    return replace(decided(state), phase=Phase.EXECUTE, open_tasks="", commenting=False, rolling_back=False)


# -- back to the design, and on again ------------------------------------------------------------


def _go_back(state: WorkflowState, step: Step) -> WorkflowState:
    if step not in ways_back(state.brainstorm):
        raise IllegalMove(DesignReopened.__name__, f"{state.stage}, {step} was not visited")
    talk = state.brainstorm
    at = talk.visited.index(step)
    gone = (*(one for one in talk.gone_back_from if one not in talk.visited[at:]), *talk.visited[:at:-1])
    path, design = state.design_path, _design(state)
    earlier = EarlierPlan(state.batches, state.current_batch, talk.parts, path, design)
    back = replace(talk, step=step, visited=talk.visited[:at], gone_back_from=gone)
    state = replace(decided(state), brainstorm=back, earlier_plan=earlier, batches=(), current_batch=0)
    return replace(state, phase=Phase.BRAINSTORM, verdict=None, design_path="")


def _design(state: WorkflowState) -> str:
    """What tells one design from another. What was said of it since is no part of it."""
    text = documents.design_document(state, with_ledger=False)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def taken_up(state: WorkflowState, earlier: EarlierPlan) -> tuple[WorkflowState, int]:
    """The batches as they were, unless the scope is another by now; and which of them is due. A design that
    reads as before stays the document that it was, with what the person has made of that."""
    state = replace(state, earlier_plan=None, plan_again=True)
    if earlier.parts == state.brainstorm.parts:
        state, number = replace(state, batches=earlier.batches), earlier.current
    else:
        built = tuple(batch for batch in earlier.batches if batch.status == "complete")
        state, number = replace(state, batches=(*built, *state.batches)), len(built)
    same = _design(state) == earlier.design
    return replace(state, design_path=earlier.design_path if same else ""), number
