"""How what a coding agent did for one task is judged, once its tests have passed.

Values, and what somebody has to offer who judges. Who does is for others to know: see diffs/task_judge.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from moot.core.flow import Usage

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class TaskWork:
    """`before` and `after` are what git calls the workspace; what begins with one of `own` is not the agent's
    to change, and no part of it. `plan` is what the task belongs to: the proposal, its specifications and the
    design."""

    task: str
    plan: str
    before: str
    after: str
    own: tuple[str, ...] = ()
    also_open: tuple[str, ...] = ()
    """Other tasks that nobody has done yet."""
    tests: str = ""
    """The command that has succeeded after it; empty where nothing was tested."""
    failed_with: str = ""
    """What the agent was told of the attempt before, with what the person has said to that."""
    told: str = ""
    """What else was asked for, said and decided."""


@dataclass(frozen=True, slots=True)
class Inspected:
    """What the diff shows by itself: how large it is, and what about it has to be answered for."""

    size: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Judgement:
    """`problem` says why the task does not count; nothing if it does. Only what `is_found` in the work is for
    the agent to fix: else nobody has judged it. `session` is where the review is kept."""

    problem: str = ""
    is_found: bool = False
    verdict: str = ""
    by: str = ""
    session: str = ""
    bills: tuple[Usage, ...] = ()


class Judge(Protocol):
    async def inspect(self, work: TaskWork) -> Inspected: ...

    async def review(self, work: TaskWork, tell: Tell) -> Judgement:
        """What cannot be reviewed is a judgement, too: it is never raised."""
        ...
