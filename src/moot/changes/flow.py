"""A change as a session: the person chooses what is done with it, and it is done to its files.

Knows what can be chosen as the files are, and what is being done. The files are what is true; events only say
what they were found to say. What was cut off is not begun again by itself: the person chooses once more.
Refuses to know how anything is done, and what the phases of a change and the worth of a review are: see
phases and approval.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, ClassVar

from moot.changes.binding import Binding, is_of_design
from moot.changes.phases import Phase, commands
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
    Takes,
    Task,
    next_step,
)
from moot.core.ledger import Decided, correct, is_own
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
    choice: ClassVar[str] = "draft"
    description: str


class ChallengeChosen(Event, frozen=True):
    choice: ClassVar[str] = "challenge"


class RevisionChosen(Event, frozen=True):
    choice: ClassVar[str] = "revise"
    wishes: str = ""


class ImplementationChosen(Event, frozen=True):
    choice: ClassVar[str] = "implement"


class ArchiveChosen(Event, frozen=True):
    choice: ClassVar[str] = "archive"


class ApprovalChosen(Event, frozen=True):
    choice: ClassVar[str] = "approve"
    because: str


class DismissalChosen(Event, frozen=True):
    """Of the issue of that number in the last review."""

    choice: ClassVar[str] = "dismiss"
    issue: int
    because: str


class ReopeningChosen(Event, frozen=True):
    choice: ClassVar[str] = "reopen"


class AbandonmentChosen(Event, frozen=True):
    choice: ClassVar[str] = "abandon"
    because: str


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
    number = f"-{event.issue}" if isinstance(event, DismissalChosen) else ""
    offered = tuple(choice.id for choice in choices(state))
    if event.choice + number not in offered:
        raise IllegalMove(event.choice, state.files.standing.phase, offered)


# -- pending and record --------------------------------------------------------------------------


def pending(state: SessionState) -> tuple[Effect, ...]:
    key = state.files.mark
    if state.chosen is not None:
        return (_TASKS[state.step](key) if state.driver else BeginWork(key),)
    offered = choices(state)
    if not offered:
        return ()
    phase = state.files.standing.phase
    return (AskPerson(phase, "what next", key, offered, optional=True, hint=_hint(state.files)),)


def choices(state: SessionState) -> tuple[Choice, ...]:
    """What the person may have done now, as the commands allow it."""
    readable = state.step is Step.RESTING and state.files.standing.phase
    return tuple(_choices(state.files, state.description)) if readable else ()


def _choices(files: Files, description: str) -> Iterator[Choice]:
    phase, refused = Phase(files.standing.phase), files.obstacles
    possible = commands(phase)
    if "proposal" in possible and refused.ready:
        suggested = (description,) if description else ()
        yield Choice(DraftChosen.choice, "Draft it: say what should change, and why", Takes.TEXT, suggested)
    if "challenge" in possible and not (refused.ready or refused.challenge):
        yield Choice(ChallengeChosen.choice, "Challenge it: have it reviewed")
    if "reproposal" in possible:
        words = Takes.OPTIONAL_TEXT if files.issues else Takes.TEXT
        yield Choice(RevisionChosen.choice, "Revise it: say what should be different", words)
    if "implement" in possible and not (refused.ready or refused.implement):
        yield Choice(ImplementationChosen.choice, "Build it, task by task")
    # One that says so already was not moved: whoever began that was stopped.
    if "archive" in possible or phase is Phase.ARCHIVED:
        yield Choice(ArchiveChosen.choice, "Archive it")
    if "dismiss" in possible:
        for one in files.issues:
            label = f"Dismiss issue {one.number}, {one.issue.severity}: {one.issue.description}"
            yield Choice(f"{DismissalChosen.choice}-{one.number}", label, Takes.TEXT)
    if "approve" in possible and not (refused.ready or refused.approve):
        yield Choice(ApprovalChosen.choice, "Approve it yourself: say why", Takes.TEXT)
    if "reopen" in possible:
        yield Choice(ReopeningChosen.choice, "Reopen it: it is proposed again")
    if "abandon" in possible:
        yield Choice(AbandonmentChosen.choice, "Give it up: say why", Takes.TEXT)


def _hint(files: Files) -> str:
    """Why something is not offered that the phase allows."""
    possible, refused = commands(Phase(files.standing.phase)), files.obstacles
    why = {"challenge": refused.challenge, "implement": refused.implement, "approve": refused.approve}
    return "\n".join(dict.fromkeys([refused.ready, *(why[one] for one in why if one in possible)])).strip()


def record(_state: SessionState, effect: Effect, outcome: Outcome) -> ChangeEvent:
    match outcome:
        case PersonAnswered(text, choice) if choice is not None:
            return _chosen(choice, text.strip())
        case _:
            raise AssertionError(f"{outcome} is nothing that {effect} can lead to")


def _chosen(choice: str, text: str) -> Chosen:
    match choice:
        case DraftChosen.choice:
            return DraftChosen(text)
        case ChallengeChosen.choice:
            return ChallengeChosen()
        case RevisionChosen.choice:
            return RevisionChosen(text)
        case ImplementationChosen.choice:
            return ImplementationChosen()
        case ArchiveChosen.choice:
            return ArchiveChosen()
        case ApprovalChosen.choice:
            return ApprovalChosen(text)
        case ReopeningChosen.choice:
            return ReopeningChosen()
        case AbandonmentChosen.choice:
            return AbandonmentChosen(text)
        case _:
            return DismissalChosen(int(choice.rpartition("-")[2]), text)


# -- what was decided so far ---------------------------------------------------------------------


def ledger(state: SessionState) -> tuple[Decided, ...]:
    """As the files say, and as the person corrects it here. What they have added is in the files as soon as
    something was done."""
    decided, corrections = state.files.decided, state.background.corrections
    kept = {entry.text for entry in decided}
    return correct(decided, [one for one in corrections if not (is_own(one) and one.text in kept)])


def binding(state: SessionState) -> Binding:
    """What is to be kept with the files from what the person has said and given in the session."""
    corrected = {one.key for one in state.background.corrections}
    bound = tuple(entry for entry in ledger(state) if entry.key in corrected or is_of_design(entry))
    return Binding(
        decided=bound if corrected else (),
        evidence=state.background.evidence,
        replaces_decided=bool(corrected),
    )


CHANGE: Flow[SessionState, ChangeEvent] = Flow(
    "change", SessionState(), ChangeEvent, advance, pending, record, ledger
)
