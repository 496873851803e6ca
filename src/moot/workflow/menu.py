"""What the person is asked in a workflow, and what their words then mean. X stops at every menu."""

from __future__ import annotations

from dataclasses import replace

from moot.brainstorm import menu as brainstorm_menu
from moot.brainstorm import text as words
from moot.brainstorm.events import GoneBack, RequestWithdrawn
from moot.brainstorm.state import Situation
from moot.core import menus
from moot.core.flow import AskPerson, Option
from moot.workflow.events import (
    AdjustmentAsked,
    AdjustmentBegun,
    AdjustmentDropped,
    BranchWanted,
    BuildResumed,
    CommentBegun,
    CommentDropped,
    Continued,
    EndedHere,
    NextChosen,
    PlanKept,
    ReassessmentPassed,
    RevisionWanted,
    RollBackDropped,
    RollBackWanted,
    Stash,
    StashWanted,
    Stopped,
    TaskSkipped,
    TriedAgain,
    Uncommitted,
    UncommittedAccepted,
    WorkflowEvent,
)
from moot.workflow.state import Phase, Stage, WorkflowState

INTERRUPTED = "Interrupted"
"""The kind of a failure that was the person's own wish."""
STOP = Option("X", "Stop – everything is saved, and can be resumed")
_MOST_NAMED = 5


def ask(state: WorkflowState, occasion: str) -> AskPerson | None:
    """Nothing, while it is somebody else's turn, or nobody's."""
    match state.stage:
        case Stage.BRAINSTORMING:
            asked = brainstorm_menu.ask(state.brainstorm, occasion)
            return None if asked is None else replace(asked, choices=(*asked.choices, STOP))
        case Stage.AT_UNCOMMITTED:
            return AskPerson("uncommitted", _at_uncommitted(state), occasion, options(state))
        case Stage.FAILED:
            assert state.failure is not None
            return AskPerson("failed", _what_now(state.failure.message), occasion, options(state))
        case Stage.AT_VERDICT:
            return AskPerson("verdict", "whether the plan is revised again", occasion, options(state))
        case Stage.AT_OPEN_TASKS:
            return AskPerson("open-tasks", _what_now(state.open_tasks), occasion, options(state))
        case Stage.COMMENTING:
            return AskPerson("comment", "what the agent should know", occasion, options(state))
        case Stage.AT_REASSESSMENT:
            return AskPerson("reassess", f"{progress(state)} What next?", occasion, options(state))
        case Stage.ADJUSTING:
            return AskPerson("comment", "how the scope should be adjusted", occasion, options(state))
        case Stage.FINISHED if state.waiting:
            waiting = f"{len(state.waiting)} waiting; the next: {state.waiting[0]}"
            return AskPerson("next", waiting, occasion, options(state), optional=True)
        case _:
            return None


def _at_uncommitted(state: WorkflowState) -> str:
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


def options(state: WorkflowState) -> tuple[Option, ...]:
    """At the workflow's own menus."""
    match state.stage:
        case Stage.AT_UNCOMMITTED:
            # No letter that means something elsewhere: a reply for another step must not stash anything.
            return (
                Option("G", "Go on – what is built is mixed with it"),
                Option("Z", "Stash – git sets it aside; `git stash pop` brings it back when you want it"),
                Option("N", "New branch – take it along; the branch you are on stays as it is"),
                STOP,
            )
        case Stage.FAILED:
            return (Option("R", "Retry"), *_without_it(state), Option("X", "Abort – saved and stopped"))
        case Stage.AT_VERDICT:
            return (Option("R", "Revise the plan once more, and review it again"), STOP)
        case Stage.AT_OPEN_TASKS:
            return _at_open_tasks(state)
        case Stage.AT_REASSESSMENT:
            return _at_reassessment(state)
        case Stage.ADJUSTING | Stage.COMMENTING:
            return (Option("B", "Back to the menu"), STOP)
        case _:
            return (Option("A", f"Accept – begin {state.waiting[0]}"),)


def _without_it(state: WorkflowState) -> tuple[Option, ...]:
    """Where what failed can be done without."""
    talk = state.brainstorm
    if state.beneath is Stage.REASSESSING:
        return (Option("B", "Back – go on without a reassessment"),)
    if state.beneath is Stage.ROLLING_BACK:
        return (Option("B", "Back – without rolling back"),)
    if state.beneath is not Stage.BRAINSTORMING:
        return ()
    if talk.situation is Situation.IN_ROUND:
        return (Option("B", "Back to the menu, without it"),)
    return (Option("B", f"Back to the {talk.visited[-1]}"),) if talk.visited else ()


def _at_open_tasks(state: WorkflowState) -> tuple[Option, ...]:
    if not state.failed_task:
        return (Option("R", "Retry the open tasks"), STOP)
    # Not B, which the left arrow types: one slip would undo work.
    undo = (Option("U", "Roll back – undo what the failed task changed"),) if state.before_task else ()
    return (
        Option("R", "Retry – the agent is told what failed"),
        Option("S", "Skip – leave this task open, and go on with the next"),
        *undo,
        Option("C", "Comment – say something to the agent, and retry"),
        STOP,
    )


def _at_reassessment(state: WorkflowState) -> tuple[Option, ...]:
    left = len(state.proposed or ())
    title = f": {state.proposed[0].title}" if state.proposed else ""
    go_on = f"Continue to batch {state.current_batch + 2}{title}" if left else "Continue to the end"
    changed = state.proposed != state.left_over
    keep = (Option("K", f"Keep the batches as they were ({len(state.left_over)} left)"),) if changed else ()
    here = Option("H", "Stop here – the other batches are not done, and the queue goes on")
    return (Option("A", go_on), Option("D", "Adjust scope"), *keep, *((here,) if left else ()), STOP)


# -- what was typed ------------------------------------------------------------------------------


def answered(state: WorkflowState, text: str) -> WorkflowEvent:
    stage = state.stage
    if stage is not Stage.FINISHED and text.casefold() in ("x", "stop"):
        return Stopped()
    if stage is Stage.BRAINSTORMING:
        return brainstorm_menu.answered(state.brainstorm, text, (STOP,))
    if stage in (Stage.ADJUSTING, Stage.COMMENTING):
        return _written(stage, text)
    key, rest = menus.chosen(options(state), text)
    match stage, key:
        case _, "X":
            return Stopped()
        case Stage.AT_UNCOMMITTED, _:
            return _for_uncommitted(key)
        case Stage.FAILED, _:
            return TriedAgain() if key == "R" else _back(state)
        case Stage.AT_VERDICT, _:
            return RevisionWanted(rest)
        case Stage.AT_OPEN_TASKS, _:
            return _for_open_tasks(key, rest)
        case Stage.AT_REASSESSMENT, "A":
            return Continued()
        case Stage.AT_REASSESSMENT, "D":
            return AdjustmentAsked(rest) if rest else AdjustmentBegun()
        case Stage.AT_REASSESSMENT, _:
            return EndedHere() if key == "H" else PlanKept()
        case _:
            return NextChosen()


def _written(stage: Stage, text: str) -> WorkflowEvent:
    dropped = text.casefold() == "b"
    if stage is Stage.ADJUSTING:
        return AdjustmentDropped() if dropped else AdjustmentAsked(text)
    return CommentDropped() if dropped else BuildResumed(text)


def _for_uncommitted(key: str) -> WorkflowEvent:
    match key:
        case "Z":
            return StashWanted()
        case "N":
            return BranchWanted()
        case _:
            return UncommittedAccepted()


def _for_open_tasks(key: str, rest: str) -> WorkflowEvent:
    match key:
        case "S":
            return TaskSkipped()
        case "U":
            return RollBackWanted()
        case "C" if not rest:
            return CommentBegun()
        case _:
            return BuildResumed(rest)


def _back(state: WorkflowState) -> WorkflowEvent:
    if state.phase is Phase.REASSESS:
        return ReassessmentPassed()
    if state.phase is Phase.EXECUTE:
        return RollBackDropped()
    if state.brainstorm.request is None:
        return GoneBack()
    interrupted = state.failure is not None and state.failure.kind == INTERRUPTED
    return RequestWithdrawn(keeps_comment=not interrupted)


def remaining_in_words(state: WorkflowState) -> str:
    """What is left to do, as it was reassessed."""
    return "\n".join(words.parts(state.proposed or (), "Batch", state.current_batch + 2))
