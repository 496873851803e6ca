"""What the person is asked in a workflow, and what their answer then means. They can stop at every menu."""

from __future__ import annotations

from dataclasses import replace

from moot.brainstorm import menu as brainstorm_menu
from moot.brainstorm import text as words
from moot.brainstorm.events import GoneBack, RequestWithdrawn
from moot.core.flow import AskPerson, Choice, PersonAnswered, Takes
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
STOP = Choice("stop", "Stop – everything is saved, and can be resumed")
_MOST_NAMED = 5


def ask(state: WorkflowState, key: str) -> AskPerson | None:
    """Nothing, while it is somebody else's turn, or nobody's."""
    match state.stage:
        case Stage.BRAINSTORMING:
            asked = brainstorm_menu.ask(state.brainstorm, key)
            return None if asked is None else replace(asked, choices=(*asked.choices, STOP))
        case Stage.AT_UNCOMMITTED:
            return AskPerson("uncommitted", _at_uncommitted(state), key, choices(state))
        case Stage.FAILED:
            assert state.failure is not None
            return AskPerson("failed", _what_now(state.failure.message), key, choices(state))
        case Stage.AT_VERDICT:
            return AskPerson("verdict", "whether the plan is revised again", key, choices(state))
        case Stage.AT_OPEN_TASKS:
            return AskPerson("open-tasks", _what_now(state.open_tasks), key, choices(state))
        case Stage.COMMENTING:
            return AskPerson("comment", "what the agent should know", key, choices(state), free_text=True)
        case Stage.AT_REASSESSMENT:
            return AskPerson("reassess", f"{progress(state)} What next?", key, choices(state))
        case Stage.ADJUSTING:
            expects = "how the scope should be adjusted"
            return AskPerson("comment", expects, key, choices(state), free_text=True)
        case Stage.FINISHED if state.waiting:
            waiting = f"{len(state.waiting)} waiting; the next: {state.waiting[0]}"
            return AskPerson("next", waiting, key, choices(state), optional=True)
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


def choices(state: WorkflowState) -> tuple[Choice, ...]:
    """At the workflow's own menus."""
    match state.stage:
        case Stage.AT_UNCOMMITTED:
            return (
                Choice("mix", "Go on – what is built is mixed with it"),
                Choice("stash", "Stash – git sets it aside; `git stash pop` brings it back when you want it"),
                Choice("new-branch", "New branch – take it along; the branch you are on stays as it is"),
                STOP,
            )
        case Stage.FAILED:
            abort = replace(STOP, label="Abort – saved and stopped")
            return (Choice("try-again", "Retry"), *_without_it(state), abort)
        case Stage.AT_VERDICT:
            revise = "Revise the plan once more, and review it again"
            return (Choice("revise", revise, Takes.OPTIONAL_TEXT), STOP)
        case Stage.AT_OPEN_TASKS:
            return _at_open_tasks(state)
        case Stage.AT_REASSESSMENT:
            return _at_reassessment(state)
        case Stage.ADJUSTING | Stage.COMMENTING:
            return (Choice("back", "Back to the menu"), STOP)
        case _:
            return (Choice("begin-next", f"Accept – begin {state.waiting[0]}"),)


def _without_it(state: WorkflowState) -> tuple[Choice, ...]:
    """Where what failed can be done without."""
    talk = state.brainstorm
    if state.beneath is Stage.REASSESSING:
        return (Choice("back", "Back – go on without a reassessment"),)
    if state.beneath is Stage.ROLLING_BACK:
        return (Choice("back", "Back – without rolling back"),)
    if state.beneath is not Stage.BRAINSTORMING:
        return ()
    if talk.request is not None:
        return (Choice("back", "Back to the menu, without it"),)
    return (Choice("back", f"Back to the {talk.visited[-1]}"),) if talk.visited else ()


def _at_open_tasks(state: WorkflowState) -> tuple[Choice, ...]:
    if not state.failed_task:
        return (Choice("try-again", "Retry the open tasks", Takes.OPTIONAL_TEXT), STOP)
    undo = (
        (Choice("roll-back", "Roll back – undo what the failed task changed"),) if state.before_task else ()
    )
    return (
        Choice("try-again", "Retry – the agent is told what failed", Takes.OPTIONAL_TEXT),
        Choice("skip", "Skip – leave this task open, and go on with the next"),
        *undo,
        Choice("comment", "Comment – say something to the agent, and retry", Takes.OPTIONAL_TEXT),
        STOP,
    )


def _at_reassessment(state: WorkflowState) -> tuple[Choice, ...]:
    left = len(state.proposed or ())
    title = f": {state.proposed[0].title}" if state.proposed else ""
    go_on = f"Continue to batch {state.current_batch + 2}{title}" if left else "Continue to the end"
    changed = state.proposed != state.left_over
    kept = Choice("keep-batches", f"Keep the batches as they were ({len(state.left_over)} left)")
    here = Choice("end-here", "Stop here – the other batches are not done, and the queue goes on")
    return (
        Choice("next-batch", go_on),
        Choice("adjust", "Adjust scope", Takes.OPTIONAL_TEXT),
        *((kept,) if changed else ()),
        *((here,) if left else ()),
        STOP,
    )


# -- what was answered ---------------------------------------------------------------------------


def answered(state: WorkflowState, answer: PersonAnswered) -> WorkflowEvent:
    stage, text = state.stage, answer.text.strip()
    if answer.choice == STOP.id:
        return Stopped()
    match stage, answer.choice:
        case Stage.BRAINSTORMING, _:
            return brainstorm_menu.answered(state.brainstorm, answer)
        case Stage.ADJUSTING, choice:
            return AdjustmentAsked(text) if choice is None else AdjustmentDropped()
        case Stage.COMMENTING, choice:
            return BuildResumed(text) if choice is None else CommentDropped()
        case Stage.AT_UNCOMMITTED, choice:
            return _for_uncommitted(choice)
        case Stage.FAILED, choice:
            return TriedAgain() if choice == "try-again" else _back(state)
        case Stage.AT_VERDICT, _:
            return RevisionWanted(text)
        case Stage.AT_OPEN_TASKS, choice:
            return _for_open_tasks(choice, text)
        case Stage.AT_REASSESSMENT, choice:
            return _for_reassessment(choice, text)
        case _:
            return NextChosen()


def _for_uncommitted(choice: str | None) -> WorkflowEvent:
    match choice:
        case "stash":
            return StashWanted()
        case "new-branch":
            return BranchWanted()
        case _:
            return UncommittedAccepted()


def _for_open_tasks(choice: str | None, text: str) -> WorkflowEvent:
    match choice:
        case "skip":
            return TaskSkipped()
        case "roll-back":
            return RollBackWanted()
        case "comment" if not text:
            return CommentBegun()
        case _:
            return BuildResumed(text)


def _for_reassessment(choice: str | None, text: str) -> WorkflowEvent:
    match choice:
        case "adjust":
            return AdjustmentAsked(text) if text else AdjustmentBegun()
        case "keep-batches":
            return PlanKept()
        case "end-here":
            return EndedHere()
        case _:
            return Continued()


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
