"""A change as a session: the person chooses what is done with it, and it is done to its files.

Knows what can be chosen as the files are, and what is being done. The files are what is true; events only say
what they were found to say. What was cut off is not begun again by itself: the person chooses once more.
Refuses to know how anything is done, and what the phases of a change and the worth of a review are: see
phases and approval.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, ClassVar

import msgspec

from moot.changes import offers
from moot.changes.binding import Binding, is_of_design
from moot.changes.offers import COMMENT, SKIP
from moot.changes.standing import Files, Standing
from moot.core.background import Background, EvidenceGiven, LedgerCorrected, keep_background
from moot.core.flow import (
    AskPerson,
    Choice,
    Effect,
    Event,
    Flow,
    Outcome,
    PersonAnswered,
    Table,
    Task,
    next_step,
)
from moot.core.ledger import Decided, correct, in_force, is_own
from moot.errors import IllegalMove


class Step(StrEnum):
    UNOPENED = "unopened"
    RESTING = "resting"
    DRAFTING = "drafting"
    CHALLENGING = "challenging"
    REVISING = "revising"
    IMPLEMENTING = "implementing"
    ARCHIVING = "archiving"
    APPROVING = "approving"
    DISMISSING = "dismissing"
    REOPENING = "reopening"
    ABANDONING = "abandoning"
    CONFIRMING = "confirming"
    ROLLING_BACK = "rolling-back"
    GONE = "gone"


# -- what was found ------------------------------------------------------------------------------


class FilesRead(Event, frozen=True):
    """What the files say: when the session was opened, and whenever somebody else has changed them."""

    files: Files


class ChangeGone(Event, frozen=True):
    """Its folder is not among the changes any more: it was archived, or somebody has taken it away."""

    message: str = ""
    problem: str = ""


# -- what the person has chosen ------------------------------------------------------------------


class DraftChosen(Event, frozen=True):
    choice: ClassVar[str] = offers.DRAFT
    description: str


class ChallengeChosen(Event, frozen=True):
    choice: ClassVar[str] = offers.CHALLENGE


class RevisionChosen(Event, frozen=True):
    choice: ClassVar[str] = offers.REVISE
    wishes: str = ""


class ImplementationChosen(Event, frozen=True):
    """`comment` is for the agent that tries the failed task again; the task numbered `skip` is left open."""

    choice: ClassVar[str] = offers.IMPLEMENT
    comment: str = ""
    skip: int = 0


class RollBackChosen(Event, frozen=True):
    """Of the failed task."""

    choice: ClassVar[str] = offers.ROLL_BACK


class ArchiveChosen(Event, frozen=True):
    choice: ClassVar[str] = offers.ARCHIVE


class ApprovalChosen(Event, frozen=True):
    choice: ClassVar[str] = offers.APPROVE
    because: str


class DismissalChosen(Event, frozen=True):
    """Of the issue of that number in the last review: rejected, or, where it is `accepted`, a risk that the
    person takes."""

    choice: ClassVar[str] = offers.DISMISS
    issue: int
    because: str
    accepted: bool = False

    @property
    def id(self) -> str:
        return f"{offers.ACCEPT if self.accepted else self.choice}-{self.issue}"


class ReopeningChosen(Event, frozen=True):
    choice: ClassVar[str] = offers.REOPEN


class AbandonmentChosen(Event, frozen=True):
    choice: ClassVar[str] = offers.ABANDON
    because: str


class ConfirmationChosen(Event, frozen=True):
    """The person confirms this very command: it may be run after each task."""

    choice: ClassVar[str] = offers.TESTS
    command: str


Chosen = (
    DraftChosen
    | ChallengeChosen
    | RevisionChosen
    | ImplementationChosen
    | ArchiveChosen
    | ApprovalChosen
    | DismissalChosen
    | ReopeningChosen
    | AbandonmentChosen
    | ConfirmationChosen
    | RollBackChosen
)


# -- what came of it -----------------------------------------------------------------------------


class WorkBegun(Event, frozen=True):
    """`driver` is the process that is at work, as the store knows it."""

    driver: str


class WorkEnded(Event, frozen=True):
    """With what the files say now. `problem` is what the person has to do something about."""

    files: Files
    message: str = ""
    problem: str = ""


class ProposalDrafted(WorkEnded, frozen=True):
    pass


class ReviewCounted(WorkEnded, frozen=True):
    pass


class ProposalRevised(WorkEnded, frozen=True):
    pass


class TasksBuilt(WorkEnded, frozen=True):
    """All of them, or as many as could be: then `problem` says why it stopped."""


class ChangeApproved(WorkEnded, frozen=True):
    pass


class IssueDismissed(WorkEnded, frozen=True):
    pass


class ChangeReopened(WorkEnded, frozen=True):
    pass


class CommandConfirmed(WorkEnded, frozen=True):
    pass


class TaskRolledBack(WorkEnded, frozen=True):
    pass


class WorkFailed(WorkEnded, frozen=True):
    pass


class WorkCutOff(WorkEnded, frozen=True):
    """The process that was at work has ended, or has stopped because nobody listened."""


class WorkStopped(Event, frozen=True):
    """By the person."""


OwnEvent = (
    FilesRead
    | ChangeGone
    | Chosen
    | WorkBegun
    | ProposalDrafted
    | ReviewCounted
    | ProposalRevised
    | TasksBuilt
    | ChangeApproved
    | IssueDismissed
    | ChangeReopened
    | CommandConfirmed
    | TaskRolledBack
    | WorkFailed
    | WorkCutOff
    | WorkStopped
)
ChangeEvent = OwnEvent | EvidenceGiven | LedgerCorrected


# -- what the program does -----------------------------------------------------------------------


class BeginWork(Task[WorkBegun | WorkFailed | ChangeGone]):
    """Make sure that the files are still as they were when this was chosen, and say who is at work."""


class DraftProposal(Task[ProposalDrafted | WorkFailed | ChangeGone]):
    """A proposal that can be used is left alone."""


class ChallengeChange(Task[ReviewCounted | WorkFailed | ChangeGone]):
    """A review that an earlier attempt has left is counted, and nobody is asked again."""


class ReviseProposal(Task[ProposalRevised | WorkFailed | ChangeGone]):
    pass


class ImplementChange(Task[TasksBuilt | WorkFailed | ChangeGone]):
    """What is ticked in tasks.md is not built again."""


class ArchiveChange(Task[ChangeGone | WorkFailed]):
    pass


class ApproveChange(Task[ChangeApproved | WorkFailed | ChangeGone]):
    pass


class DismissIssue(Task[IssueDismissed | WorkFailed | ChangeGone]):
    pass


class ReopenChange(Task[ChangeReopened | WorkFailed | ChangeGone]):
    pass


class AbandonChange(Task[ChangeGone | WorkFailed]):
    pass


class KeepTestCommand(Task[CommandConfirmed | WorkFailed | ChangeGone]):
    """Kept twice, it is kept once."""


class RollBackTask(Task[TaskRolledBack | WorkFailed | ChangeGone]):
    """What is back is not brought back again."""


# -- the flow ------------------------------------------------------------------------------------

_WORK: tuple[tuple[Step, type[Chosen], type[Task[Any]], type[Event]], ...] = (
    (Step.DRAFTING, DraftChosen, DraftProposal, ProposalDrafted),
    (Step.CHALLENGING, ChallengeChosen, ChallengeChange, ReviewCounted),
    (Step.REVISING, RevisionChosen, ReviseProposal, ProposalRevised),
    (Step.IMPLEMENTING, ImplementationChosen, ImplementChange, TasksBuilt),
    (Step.ARCHIVING, ArchiveChosen, ArchiveChange, ChangeGone),
    (Step.APPROVING, ApprovalChosen, ApproveChange, ChangeApproved),
    (Step.DISMISSING, DismissalChosen, DismissIssue, IssueDismissed),
    (Step.REOPENING, ReopeningChosen, ReopenChange, ChangeReopened),
    (Step.ABANDONING, AbandonmentChosen, AbandonChange, ChangeGone),
    (Step.CONFIRMING, ConfirmationChosen, KeepTestCommand, CommandConfirmed),
    (Step.ROLLING_BACK, RollBackChosen, RollBackTask, TaskRolledBack),
)
"""What is being done, by which choice, who does it, and what it leads to."""

_TASKS = {step: task for step, _, task, _ in _WORK}

TRANSITIONS: Table = {
    (Step.UNOPENED, FilesRead): Step.RESTING,
    (Step.UNOPENED, ChangeGone): Step.GONE,
    (Step.RESTING, FilesRead): Step.RESTING,
    (Step.RESTING, ChangeGone): Step.GONE,
    # Another of the same id was begun.
    (Step.GONE, FilesRead): Step.RESTING,
    **{(Step.RESTING, chosen): step for step, chosen, _, _ in _WORK},
    **{(step, WorkBegun): step for step in _TASKS},
    **{(step, ended): Step.RESTING for step, _, _, ended in _WORK},
    **{(step, kind): Step.RESTING for step in _TASKS for kind in (WorkFailed, WorkCutOff, WorkStopped)},
    **{(step, ChangeGone): Step.GONE for step in _TASKS},
}

STOPPED = "It was stopped. What was complete is kept: choose what next"
CUT_OFF = "Whoever was at work ended before it was done. What was complete is kept: choose what next"


@dataclass(frozen=True, slots=True)
class SessionState:
    """`files` is what they said when they were last looked at, with the id and the phase of the change.
    `chosen` is what is being done, and `driver` the process that has begun it. `message` and `problem` are
    how the last thing ended."""

    step: Step = Step.UNOPENED
    files: Files = Files("", Standing(""))  # noqa: RUF009 - it is frozen
    chosen: Chosen | None = None
    driver: str = ""
    description: str = ""
    """What was last said to be drafted."""
    message: str = ""
    problem: str = ""
    background: Background = field(default_factory=Background)

    @property
    def is_open(self) -> bool:
        return self.step is not Step.UNOPENED

    def with_background(self, background: Background) -> SessionState:
        return replace(self, background=background)


def advance_own(state: SessionState, event: OwnEvent) -> SessionState:
    step = next_step(TRANSITIONS, state.step, event)
    match event:
        case FilesRead(files) if state.step is Step.RESTING:
            return replace(state, files=files)
        case FilesRead(files):
            return SessionState(step, files)
        case WorkBegun(driver):
            return replace(state, driver=driver)
        case WorkEnded(files, message, problem):
            return replace(_rested(state, step), files=files, message=message, problem=problem)
        case WorkStopped():
            return replace(_rested(state, step), problem=STOPPED)
        case ChangeGone(message, problem):
            return replace(_rested(state, step), message=message, problem=problem)
        case _:
            _check_offered(state, event)
            said = event.description if isinstance(event, DraftChosen) else state.description
            return replace(_rested(state, step), chosen=event, description=said)


advance = keep_background(advance_own)


def _rested(state: SessionState, step: Step) -> SessionState:
    return replace(state, step=step, chosen=None, driver="", message="", problem="")


def _check_offered(state: SessionState, event: Chosen) -> None:
    offered = tuple(choice.id for choice in choices(state))
    if _id_of(state.files, event) not in offered:
        raise IllegalMove(event.choice, state.files.standing.phase, offered)


def _id_of(files: Files, event: Chosen) -> str:
    match event:
        case DismissalChosen():
            return event.id
        case ImplementationChosen(comment) if comment:
            return COMMENT
        case ImplementationChosen(skip=skip) if skip:
            return SKIP if files.failed and skip == files.failed.number else ""
        case ConfirmationChosen(command):
            places = {one.command: place for place, one in enumerate(files.tests, start=1)}
            return f"{event.choice}-{places.get(command, 0)}"
        case _:
            return event.choice


# -- pending and record --------------------------------------------------------------------------


def pending(state: SessionState) -> tuple[Effect, ...]:
    key = state.files.mark
    if state.chosen is not None:
        return (_TASKS[state.step](key) if state.driver else BeginWork(key),)
    offered = choices(state)
    if not offered:
        return ()
    phase = state.files.standing.phase
    asked = offers.key(state.files)
    return (AskPerson(phase, "what next", asked, offered, optional=True, hint=offers.hint(state.files)),)


def choices(state: SessionState) -> tuple[Choice, ...]:
    """What the person may have done now, as the commands allow it."""
    readable = state.step is Step.RESTING and state.files.standing.phase
    return tuple(offers.choices(state.files, state.description)) if readable else ()


def record(state: SessionState, effect: Effect, outcome: Outcome) -> ChangeEvent:
    match outcome:
        case PersonAnswered(_, choice) if choice is not None and choice.startswith(
            f"{ConfirmationChosen.choice}-"
        ):
            return ConfirmationChosen(state.files.tests[int(choice.rpartition("-")[2]) - 1].command)
        case PersonAnswered(_, choice) if choice == SKIP and state.files.failed:
            return ImplementationChosen(skip=state.files.failed.number)
        case PersonAnswered(text, choice) if choice is not None:
            return _chosen(choice, text.strip())
        case _:
            raise AssertionError(f"{outcome} is nothing that {effect} can lead to")


def _chosen(choice: str, text: str) -> Chosen:
    if choice == COMMENT:
        return ImplementationChosen(text)
    match choice:
        case DraftChosen.choice:
            return DraftChosen(text)
        case ChallengeChosen.choice:
            return ChallengeChosen()
        case RevisionChosen.choice:
            return RevisionChosen(text)
        case ImplementationChosen.choice:
            return ImplementationChosen()
        case RollBackChosen.choice:
            return RollBackChosen()
        case ArchiveChosen.choice:
            return ArchiveChosen()
        case ApprovalChosen.choice:
            return ApprovalChosen(text)
        case ReopeningChosen.choice:
            return ReopeningChosen()
        case AbandonmentChosen.choice:
            return AbandonmentChosen(text)
        case _:
            what, _, number = choice.rpartition("-")
            return DismissalChosen(int(number), text, accepted=what == offers.ACCEPT)


# -- what was decided so far ---------------------------------------------------------------------


def ledger(state: SessionState) -> tuple[Decided, ...]:
    """As the files say, and as the person corrects it here. What they have added is in the files as soon as
    something was done."""
    decided, corrections = state.files.decided, state.background.corrections
    kept = {entry.text for entry in decided}
    held = correct(decided, [one for one in corrections if not (is_own(one) and one.text in kept)])
    # What is new is numbered behind all that was there, also behind what does not hold any more.
    free = itertools.count(max((entry.number for entry in decided), default=len(decided)) + 1)
    return tuple(
        entry if entry.number else msgspec.structs.replace(entry, number=next(free)) for entry in held
    )


def binding(state: SessionState) -> Binding:
    """What is to be kept with the files from what the person has said and given in the session."""
    corrected = in_force(state.background.corrections)
    bound = tuple(entry for entry in ledger(state) if entry.key in corrected or is_of_design(entry))
    return Binding(
        decided=bound if corrected else (),
        evidence=state.background.evidence,
        replaces_decided=bool(corrected),
    )


CHANGE: Flow[SessionState, ChangeEvent] = Flow(
    "change", SessionState(), ChangeEvent, advance, pending, record, ledger
)
