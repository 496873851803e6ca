"""What an evaluation is: cases, a way to hold each with moot's own programs, and a score that is code.

Refuses to know any model, and how results are shown.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from evals.transcripts import Transcript

if TYPE_CHECKING:
    from evals.room import Room


class Case(Protocol):
    """`id` names it within its evaluation, in the form of a file name."""

    @property
    def id(self) -> str: ...


C = TypeVar("C", bound=Case)


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at. More that is right is always better; what is wrong has a note."""

    measure: str
    right: bool
    note: str = ""


@dataclass(frozen=True)
class Evaluation(Generic[C]):
    """`about` is its documentation: what it shows, and what it cannot. `requests` is about how many requests
    a case takes, `tokens` how many they carry in and out, for the estimate before it is run. `measures` are
    all that it can report, the most telling first."""

    name: str
    about: str
    measures: tuple[str, ...]
    cases: tuple[C, ...]
    hold: Callable[[C, Room], Awaitable[None]]
    score: Callable[[Sequence[Transcript]], list[Check]]
    files: Callable[[C], Mapping[str, str]] = lambda _: {}
    """What the workspace of a case holds."""
    requests: int = 1
    tokens: tuple[int, int] = field(default=(3_000, 400))

    def case(self, case_id: str) -> C:
        for case in self.cases:
            if case.id == case_id:
                return case
        raise KeyError(case_id)


@dataclass(frozen=True, slots=True)
class Tally:
    right: int = 0
    total: int = 0
    wrong: tuple[str, ...] = ()

    @property
    def share(self) -> float:
        return self.right / self.total if self.total else 0.0


def tally(checks: Iterable[Check]) -> dict[str, Tally]:
    """By measure. The order of the checks makes no difference but to the notes."""
    counted: dict[str, Tally] = {}
    for check in checks:
        now = counted.get(check.measure, Tally())
        wrong = now.wrong if check.right else (*now.wrong, check.note)
        counted[check.measure] = Tally(now.right + check.right, now.total + 1, wrong)
    return counted
