"""The menus of a workflow: what the person may choose, and what they decide by it. They can always stop."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from moot.brainstorm import menu as brainstorm_menu
from moot.brainstorm import text as words
from moot.brainstorm.menu import BrainstormDecision, GoneBack, RequestWithdrawn
from moot.brainstorm.state import BrainstormState, Step
from moot.core.flow import Choice, Event, Takes, numbered
from moot.core.menu import Choices, Menu
from moot.workflow.events import Plan, Stash, Uncommitted
from moot.workflow.state import PLAN_STEP, Stage, WorkflowState

# -- what the person decides ---------------------------------------------------------------------


class UncommittedAccepted(Event, frozen=True):
    """The person goes on with uncommitted work in the workspace."""


class StashWanted(Event, frozen=True):
    pass


class BranchWanted(Event, frozen=True):
    pass


class DesignReady(Event, frozen=True):
    """The person has looked at the design document, and maybe changed it."""


class PlanApproved(Event, frozen=True):
    """The person has it built as it was laid out."""

    on_branch: bool = False


class CommandConfirmed(Event, frozen=True):
    """The person confirms this very command."""

    command: str


class CommitsChosen(Event, frozen=True):
    """Whether each task becomes a commit."""

    wanted: bool


class ReviewWanted(Event, frozen=True):
    """The plan is another by now than the one that was reviewed."""


class PlanWritingBegun(Event, frozen=True):
    """The person is about to say something of the plan."""

    wish: Literal["discuss", "revise"]


class PlanWritingDropped(Event, frozen=True):
    pass


class PlanQuestioned(Event, frozen=True):
    """What the person says of the plan, to which they want an answer."""

    text: str


class DiscussionDropped(Event, frozen=True):
    """No answer could be had, and the person goes on without."""


class DesignReopened(Event, frozen=True):
    """The person goes back to a step of the brainstorm. The plan is taken up again after it."""

    step: Step


class RevisionWanted(Event, frozen=True):
    """The person has the plan revised once more; `wishes` are their own words, maybe none."""

    wishes: str = ""


class BuildResumed(Event, frozen=True):
    """The person has the open tasks tried again, or has done them by hand. `comment` is for the agent."""

    comment: str = ""


class TaskSkipped(Event, frozen=True):
    """The task that failed stays open, and the next one is tried."""


class CommentBegun(Event, frozen=True):
    """The person is about to say something to the agent."""


class CommentDropped(Event, frozen=True):
    pass


class RollBackWanted(Event, frozen=True):
    """The workspace is to be as it was before the failed task."""


class RollBackDropped(Event, frozen=True):
    """It could not be rolled back, and the person goes on without that."""


class ReassessmentPassed(Event, frozen=True):
    """No assessment could be had, and the person goes on without it."""


class AdjustmentBegun(Event, frozen=True):
    """The person is about to say how the scope should be adjusted."""


class AdjustmentDropped(Event, frozen=True):
    pass


class AdjustmentAsked(Event, frozen=True):
    text: str


class PlanKept(Event, frozen=True):
    """The person wants the batches that are left as they were before the reassessment."""


class Continued(Event, frozen=True):
    """On to the next batch, or, after the last one, to the end."""


class EndedHere(Event, frozen=True):
    """The batches that are left are not done, and the queue goes on."""


class ArchiveChosen(Event, frozen=True):
    """The person wants what was built merged into what holds."""


class NextChosen(Event, frozen=True):
    """The person begins the next workflow of the queue."""


class TriedAgain(Event, frozen=True):
    """The person wants what failed to be tried once more."""


class Stopped(Event, frozen=True):
    """Everything is kept, and nothing is asked of anybody until it is resumed."""


WorkflowDecision = (
    BrainstormDecision
    | UncommittedAccepted
    | StashWanted
    | BranchWanted
    | DesignReady
    | PlanApproved
    | CommandConfirmed
    | CommitsChosen
    | ReviewWanted
    | PlanWritingBegun
    | PlanWritingDropped
    | PlanQuestioned
    | DiscussionDropped
    | DesignReopened
    | RevisionWanted
    | BuildResumed
    | TaskSkipped
    | CommentBegun
    | CommentDropped
    | RollBackWanted
    | RollBackDropped
    | ReassessmentPassed
    | AdjustmentBegun
    | AdjustmentDropped
    | AdjustmentAsked
    | PlanKept
    | Continued
    | EndedHere
    | ArchiveChosen
    | NextChosen
    | TriedAgain
    | Stopped
)


# -- the menus -----------------------------------------------------------------------------------

Offered = Choices[WorkflowDecision]

INTERRUPTED = "Interrupted"
"""The kind of a failure that was the person's own wish."""
_STOP = Choice("stop", "Stop – everything is saved, and can be resumed")
_MOST_NAMED = 5


def menu(state: WorkflowState) -> Menu[WorkflowDecision] | None:
    """None while it is not the person's turn."""
    match state.stage:
        case Stage.BRAINSTORMING:
            talk = brainstorm_menu.menu(state.brainstorm)
            return None if talk is None else _or_stop(talk)
        case Stage.AT_UNCOMMITTED:
            return _or_stop(Menu("uncommitted", _tell_uncommitted(state), _AT_UNCOMMITTED))
        case Stage.FAILED:
            return _at_failure(state)
        case Stage.AT_DESIGN_DOCUMENT:
            told = f"the design is in {state.design_path}; what it says when you go on is planned"
            plan = Choice("plan", "Accept – plan it as the document is by now")
            return _or_stop(Menu("design-document", told, {plan: DesignReady()}))
        case Stage.AT_PLAN | Stage.AT_VERDICT | Stage.WRITING_ABOUT_PLAN:
            return _or_stop(_of_plan(state))
        case Stage.AT_OPEN_TASKS:
            return _or_stop(Menu("open-tasks", _what_now(state.open_tasks), _at_open_tasks(state)))
        case Stage.COMMENTING:
            back = {_BACK: CommentDropped()}
            return _or_stop(Menu("comment", "what the agent should know", back, BuildResumed))
        case Stage.AT_REASSESSMENT:
            return _or_stop(Menu("reassess", f"{progress(state)} What next?", _at_reassessment(state)))
        case Stage.ADJUSTING:
            dropped = {_BACK: AdjustmentDropped()}
            return _or_stop(Menu("comment", "how the scope should be adjusted", dropped, AdjustmentAsked))
        case Stage.FINISHED if state.waiting or state.to_archive:
            return _at_end(state)
        case _:
            return None


def _or_stop(menu: Menu[WorkflowDecision]) -> Menu[WorkflowDecision]:
    return replace(menu, choices={**menu.choices, _STOP: Stopped()})


_AT_UNCOMMITTED: Offered = {
    Choice("mix", "Go on – what is built is mixed with it"): UncommittedAccepted(),
    Choice(
        "stash", "Stash – git sets it aside; `git stash pop` brings it back when you want it"
    ): StashWanted(),
    Choice("new-branch", "New branch – take it along; the branch you are on stays as it is"): BranchWanted(),
}
_BACK = Choice("back", "Back to the menu")


def _of_plan(state: WorkflowState) -> Menu[WorkflowDecision]:
    if state.stage is Stage.AT_PLAN:
        return Menu(PLAN_STEP, _what_of_plan(state), _at_plan(state))
    if state.stage is Stage.AT_VERDICT:
        return Menu("verdict", "whether the plan is revised again", _about_plan(state))
    return _writing_about_plan(state)


def _at_plan(state: WorkflowState) -> Offered:
    assert state.plan is not None
    if state.plan.obstacle:
        return {Choice("review", "Have it reviewed as it is now"): ReviewWanted(), **_about_plan(state)}
    branch = "Branch – approve, and build it on a new branch; what is not committed comes along"
    off: Offered = {
        Choice("build-on-branch", branch, in_person=True): PlanApproved(on_branch=True),
    }
    tests: Offered = {
        # Exactly what is run: whoever wrote the repository has written it.
        Choice(id_, f"Run this after each task: {one.command} (found in {one.source})", in_person=True): (
            CommandConfirmed(one.command)
        )
        for id_, one in numbered("tests", state.plan.found).items()
    }
    return {
        Choice("build", "Approve – build it", in_person=True): PlanApproved(),
        **(off if state.plan.can_branch else {}),
        **(_commits(state) if state.plan.can_commit else {}),
        **tests,
        **_about_plan(state),
    }


def _commits(state: WorkflowState) -> Offered:
    label = "No commits" if state.commit_tasks else "Commit – each task that is done, as a commit of its own"
    wanted = not state.commit_tasks
    id_ = "commit-tasks" if wanted else "no-commits"
    return {Choice(id_, label, in_person=True): CommitsChosen(wanted)}


def _about_plan(state: WorkflowState) -> Offered:
    """Whether it was approved or not."""
    # Without an open issue, only the person can say what should be different.
    approved = state.verdict == "APPROVED"
    suggested = (state.suggested_revision,) if state.suggested_revision else ()
    revise = Choice("revise", "Revise the plan, and review it again", Takes.OPTIONAL_TEXT, suggested)
    discuss = Choice("discuss", "Discuss – say what you think of it", Takes.OPTIONAL_TEXT)
    return {
        revise: lambda text: PlanWritingBegun("revise") if approved and not text else RevisionWanted(text),
        discuss: lambda text: PlanQuestioned(text) if text else PlanWritingBegun("discuss"),
        **{
            Choice(f"to-{step}", f"{brainstorm_menu.BACK_TO[step]} – the plan follows what you change"): (
                DesignReopened(step)
            )
            for step in ways_back(state.brainstorm)
        },
    }


def ways_back(talk: BrainstormState) -> tuple[Step, ...]:
    """To the design and the approaches or, where there were none, to the assessment."""
    steps = tuple(step for step in (Step.DESIGN, Step.APPROACHES) if step in talk.visited)
    return steps or tuple(step for step in (Step.TRIAGE,) if step in talk.visited)


def _writing_about_plan(state: WorkflowState) -> Menu[WorkflowDecision]:
    revises = state.writing_about == "revise"
    expects = "what should be different" if revises else "what you think of it"
    return Menu(
        "comment", expects, {_BACK: PlanWritingDropped()}, RevisionWanted if revises else PlanQuestioned
    )


def _what_of_plan(state: WorkflowState) -> str:
    assert state.plan is not None
    if state.branch_problem:
        return f"{_first_line(state.branch_problem)}. What now?"
    if state.plan.obstacle:
        return f"{_first_line(state.plan.obstacle)}. What now?"
    return f"whether this plan is built ({state.plan.estimate})"


def _at_failure(state: WorkflowState) -> Menu[WorkflowDecision]:
    assert state.failure is not None
    choices: Offered = {
        Choice("try-again", "Retry"): TriedAgain(),
        **_without_it(state),
        replace(_STOP, label="Abort – saved and stopped"): Stopped(),
    }
    return Menu("failed", _what_now(state.failure.message), choices)


def _without_it(state: WorkflowState) -> Offered:
    """Where what failed can be done without."""
    talk = state.brainstorm
    if state.beneath is Stage.REASSESSING:
        return {Choice("back", "Back – go on without a reassessment"): ReassessmentPassed()}
    if state.beneath is Stage.DISCUSSING_PLAN:
        return {Choice("back", "Back to the plan, without an answer"): DiscussionDropped()}
    if state.beneath is Stage.ROLLING_BACK:
        return {Choice("back", "Back – without rolling back"): RollBackDropped()}
    if state.beneath is not Stage.BRAINSTORMING:
        return {}
    if talk.request is not None:
        interrupted = state.failure is not None and state.failure.kind == INTERRUPTED
        withdrawn = RequestWithdrawn(keeps_comment=not interrupted)
        return {Choice("back", "Back to the menu, without it"): withdrawn}
    return {Choice("back", f"Back to the {talk.visited[-1]}"): GoneBack()} if talk.visited else {}


def _at_open_tasks(state: WorkflowState) -> Offered:
    if not state.failed_task:
        return {Choice("try-again", "Retry the open tasks", Takes.OPTIONAL_TEXT): BuildResumed}
    undo: Offered = {Choice("roll-back", "Roll back – undo what the failed task changed"): RollBackWanted()}
    comment = Choice("comment", "Comment – say something to the agent, and retry", Takes.OPTIONAL_TEXT)
    return {
        Choice("try-again", "Retry – the agent is told what failed", Takes.OPTIONAL_TEXT): BuildResumed,
        Choice("skip", "Skip – leave this task open, and go on with the next"): TaskSkipped(),
        **(undo if state.before_task else {}),
        comment: lambda text: BuildResumed(text) if text else CommentBegun(),
    }


def _at_reassessment(state: WorkflowState) -> Offered:
    left = state.proposed or ()
    go_on = f"Continue to batch {state.current_batch + 2}: {left[0].title}" if left else "Continue to the end"
    keep = Choice("keep-batches", f"Keep the batches as they were ({len(state.left_over)} left)")
    end = Choice("end-here", "Stop here – the other batches are not done, and the queue goes on")
    kept: Offered = {keep: PlanKept()} if left != state.left_over else {}
    ended: Offered = {end: EndedHere()} if left else {}
    return {
        Choice("next-batch", go_on): Continued(),
        Choice("adjust", "Adjust scope", Takes.OPTIONAL_TEXT): (
            lambda text: AdjustmentAsked(text) if text else AdjustmentBegun()
        ),
        **kept,
        **ended,
    }


def _at_end(state: WorkflowState) -> Menu[WorkflowDecision]:
    begin: Offered = {}
    expects = "what becomes of what was built"
    if state.waiting:
        expects = f"{len(state.waiting)} waiting; the next: {state.waiting[0]}"
        begin = {Choice("begin-next", f"Accept – begin {state.waiting[0]}"): NextChosen()}
    if state.archive_problem:
        expects = f"{_first_line(state.archive_problem)}. What now?"
    archive = Choice("archive", "Merge – archive what was built; what it specifies joins moot/specs/")
    merge: Offered = {archive: ArchiveChosen()} if state.to_archive else {}
    return Menu("next", expects, {**begin, **merge}, optional=True)


# -- in words ------------------------------------------------------------------------------------


def _tell_uncommitted(state: WorkflowState) -> str:
    assert state.uncommitted is not None
    problem = f"{_first_line(state.set_aside_problem)}. " if state.set_aside_problem else ""
    return f"{problem}The workspace has uncommitted work ({named(state.uncommitted)}). What now?"


def named(work: Uncommitted | Stash) -> str:
    """Which files, in a line."""
    some = ", ".join(" ".join(file.split()) for file in work.files[:_MOST_NAMED])
    more = work.count - min(len(work.files), _MOST_NAMED)
    return f"{some} and {more} more" if more > 0 else some


def _what_now(happened: str) -> str:
    """Asked after the first line of what happened: the whole of it may be long, and is shown elsewhere."""
    return f"{_first_line(happened)}. What now?"


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0].rstrip(" .:")


def progress(state: WorkflowState) -> str:
    """After each batch: how far it has come, and what it has cost."""
    done = sum(batch.status == "complete" for batch in state.batches)
    spent = f"; ${state.total_cost:.2f} so far" if state.total_cost else ""
    return f"Batch {state.current_batch + 1} complete ({done} of {len(state.batches)}{spent})."


def plan_in_words(plan: Plan, *, commits: bool = False) -> str:
    """What is about to be built, for the person who decides about it."""
    lines = [plan.summary, "Tasks:", *(f"  {number}. {task}" for number, task in enumerate(plan.tasks, 1))]
    lines += ["Open issues:", *(f"  {issue}" for issue in plan.issues)] if plan.issues else []
    lines += [f"Building it: {plan.estimate}"]
    lines += [f"After each task: {plan.tests}" if plan.tests else plan.untested]
    lines += ["Each task that is done becomes a commit."] if commits else []
    lines += [plan.obstacle] if plan.obstacle else []
    return "\n".join(line for line in lines if line)


def remaining_in_words(state: WorkflowState) -> str:
    """What is left to do, as it was reassessed."""
    return "\n".join(words.parts(state.proposed or (), "Batch", state.current_batch + 2))
