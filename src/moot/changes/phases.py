"""The phases of a change, and what leads from one to another.

Knows the table below, which verdict is which move, and how complex a change counts as. Refuses to know files,
reviewers and models. A change begins as `PROPOSED`: it has no phase before it is proposed.
"""

from __future__ import annotations

from enum import StrEnum

from moot.changes.review_block import Verdict
from moot.errors import IllegalMove


class Phase(StrEnum):
    PROPOSED = "proposed"
    CHALLENGED = "challenged"
    IMPLEMENTING = "implementing"
    COMPLETE = "complete"
    ARCHIVED = "archived"
    REJECTED = "rejected"


class Move(StrEnum):
    PROPOSE = "propose"
    APPROVE = "approve"
    NEED_REVISION = "need_revision"
    REJECT = "reject"
    REPROPOSE = "repropose"
    IMPLEMENT = "implement"
    FINISH = "finish"
    ARCHIVE = "archive"
    APPROVE_THEMSELVES = "approve_themselves"
    """The person, not a reviewer."""
    DISMISS = "dismiss"
    REOPEN = "reopen"
    ABANDON = "abandon"


TRANSITIONS: dict[tuple[Phase, Move], Phase] = {
    (Phase.PROPOSED, Move.PROPOSE): Phase.PROPOSED,
    (Phase.PROPOSED, Move.APPROVE): Phase.CHALLENGED,
    (Phase.PROPOSED, Move.NEED_REVISION): Phase.PROPOSED,
    (Phase.PROPOSED, Move.REJECT): Phase.REJECTED,
    (Phase.PROPOSED, Move.REPROPOSE): Phase.PROPOSED,
    (Phase.PROPOSED, Move.DISMISS): Phase.PROPOSED,
    (Phase.PROPOSED, Move.APPROVE_THEMSELVES): Phase.CHALLENGED,
    (Phase.PROPOSED, Move.ABANDON): Phase.ARCHIVED,
    (Phase.CHALLENGED, Move.APPROVE): Phase.CHALLENGED,
    (Phase.CHALLENGED, Move.NEED_REVISION): Phase.PROPOSED,
    (Phase.CHALLENGED, Move.REJECT): Phase.REJECTED,
    (Phase.CHALLENGED, Move.REPROPOSE): Phase.PROPOSED,
    (Phase.CHALLENGED, Move.IMPLEMENT): Phase.IMPLEMENTING,
    (Phase.CHALLENGED, Move.DISMISS): Phase.CHALLENGED,
    # Of a text that was changed after it had been approved.
    (Phase.CHALLENGED, Move.APPROVE_THEMSELVES): Phase.CHALLENGED,
    (Phase.CHALLENGED, Move.REOPEN): Phase.PROPOSED,
    (Phase.CHALLENGED, Move.ABANDON): Phase.ARCHIVED,
    (Phase.IMPLEMENTING, Move.IMPLEMENT): Phase.IMPLEMENTING,
    (Phase.IMPLEMENTING, Move.FINISH): Phase.COMPLETE,
    # Of a text that was changed while it was built.
    (Phase.IMPLEMENTING, Move.APPROVE): Phase.CHALLENGED,
    (Phase.IMPLEMENTING, Move.NEED_REVISION): Phase.PROPOSED,
    (Phase.IMPLEMENTING, Move.REJECT): Phase.REJECTED,
    (Phase.IMPLEMENTING, Move.REPROPOSE): Phase.PROPOSED,
    (Phase.IMPLEMENTING, Move.DISMISS): Phase.IMPLEMENTING,
    (Phase.IMPLEMENTING, Move.APPROVE_THEMSELVES): Phase.CHALLENGED,
    (Phase.IMPLEMENTING, Move.REOPEN): Phase.PROPOSED,
    (Phase.IMPLEMENTING, Move.ABANDON): Phase.ARCHIVED,
    (Phase.COMPLETE, Move.ARCHIVE): Phase.ARCHIVED,
    (Phase.COMPLETE, Move.REOPEN): Phase.PROPOSED,
    (Phase.COMPLETE, Move.ABANDON): Phase.ARCHIVED,
    # A rejected change needs a person (R3): they revise it by hand or have it revised, decide against what
    # was found, or put it away.
    (Phase.REJECTED, Move.APPROVE): Phase.CHALLENGED,
    (Phase.REJECTED, Move.NEED_REVISION): Phase.PROPOSED,
    (Phase.REJECTED, Move.REJECT): Phase.REJECTED,
    (Phase.REJECTED, Move.REPROPOSE): Phase.PROPOSED,
    (Phase.REJECTED, Move.ARCHIVE): Phase.ARCHIVED,
    (Phase.REJECTED, Move.DISMISS): Phase.REJECTED,
    (Phase.REJECTED, Move.APPROVE_THEMSELVES): Phase.CHALLENGED,
    (Phase.REJECTED, Move.REOPEN): Phase.PROPOSED,
    (Phase.REJECTED, Move.ABANDON): Phase.ARCHIVED,
}

COMMANDS: dict[Move, str] = {
    Move.PROPOSE: "proposal",
    Move.APPROVE: "challenge",
    Move.NEED_REVISION: "challenge",
    Move.REJECT: "challenge",
    Move.REPROPOSE: "reproposal",
    Move.IMPLEMENT: "implement",
    Move.FINISH: "implement",
    Move.ARCHIVE: "archive",
    Move.APPROVE_THEMSELVES: "approve",
    Move.DISMISS: "dismiss",
    Move.REOPEN: "reopen",
    Move.ABANDON: "abandon",
}
"""What a person types to make the move, or to have it made."""

_MOVES = {
    Verdict.APPROVED: Move.APPROVE,
    Verdict.NEEDS_REVISION: Move.NEED_REVISION,
    Verdict.REJECTED: Move.REJECT,
}


def moved(phase: Phase, move: Move) -> Phase:
    """Raises IllegalMove, which speaks of commands."""
    if (phase, move) not in TRANSITIONS:
        raise IllegalMove(COMMANDS[move], phase, commands(phase))
    return TRANSITIONS[phase, move]


def commands(phase: Phase) -> tuple[str, ...]:
    """Those that are possible in the phase."""
    return tuple(dict.fromkeys(COMMANDS[move] for at, move in TRANSITIONS if at is phase))


def of_verdict(verdict: Verdict) -> Move:
    return _MOVES[verdict]


class Complexity(StrEnum):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


def complexity(spec_files: int, task_boxes: int) -> Complexity:
    score = spec_files + task_boxes
    if score <= 4:
        return Complexity.LOW
    if score <= 10:
        return Complexity.MEDIUM
    return Complexity.HIGH if score <= 20 else Complexity.CRITICAL
