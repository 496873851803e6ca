"""Where a change stands, as its files said when somebody looked. Values alone: looking is done elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

from moot.changes.review_block import Issue
from moot.core.ledger import Decided
from moot.repo.testing import Found


@dataclass(frozen=True, slots=True)
class Standing:
    """A change and where it stands. `verdict` and the counts are those of the last review that moot recorded;
    `waiting` says that the phase does not follow from that one yet. `approved_by` is whose approval holds for
    the text as it is: `reviewer`, `person`, or nobody's; `note` is the person's reason, or why there is none
    where the phase lets one expect it. `strangers` are blocks that were not made by moot. `problem` says why
    nothing of it can be told."""

    id: str
    phase: str = ""
    iteration: int = 0
    verdict: str = ""
    high: int = 0
    medium: int = 0
    low: int = 0
    tasks_done: int = 0
    tasks: int = 0
    updated_at: str = ""
    cost_usd: float | None = None
    waiting: bool = False
    problem: str = ""
    strangers: int = 0
    dismissed: int = 0
    approved_by: str = ""
    note: str = ""
    source: str = ""
    """What it was made from, such as `analysis offline-mode`; empty where that is no session."""


@dataclass(frozen=True, slots=True)
class OpenIssue:
    """One of the last review that the person has not dismissed, with its number there. `disputed`: it keeps
    coming back, and is the person's to decide."""

    number: int
    issue: Issue
    disputed: bool = False


@dataclass(frozen=True, slots=True)
class Obstacles:
    """Why what the phase allows is refused as the files are; empty where it is not. `ready` stands in the way
    of all of them."""

    ready: str = ""
    challenge: str = ""
    implement: str = ""
    approve: str = ""


@dataclass(frozen=True, slots=True)
class FailedTask:
    """The task that was tried last, and is not done; `number` counts from 1."""

    number: int
    text: str
    problem: str
    can_roll_back: bool = False


@dataclass(frozen=True, slots=True)
class Files:
    """What the files of a change say. `mark` is another one as soon as there is something else to decide
    about; `as_reviewed` says that the text is still what the last review is of. `decided` is what binds it,
    and what was decided about it since."""

    mark: str
    standing: Standing
    as_reviewed: bool = False
    issues: tuple[OpenIssue, ...] = ()
    obstacles: Obstacles = Obstacles()
    decided: tuple[Decided, ...] = ()
    tests: tuple[Found, ...] = ()
    """Commands that may run the tests, where the person has confirmed none."""
    failed: FailedTask | None = None
