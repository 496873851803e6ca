"""Where a board session stands: everything here is derived from what has happened.

Knows what has been said and what follows from that at once, such as the step or whether the brief is stale.
Which event leads where, the flow decides.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum

from moot.board.events import (
    AdvisorFailed,
    Answer,
    Brief,
    BriefFailed,
    Member,
    Mode,
    Question,
    QuestionsFailed,
)
from moot.core.background import Background
from moot.core.flow import Usage
from moot.core.ledger import Decided
from moot.errors import InvalidInput
from moot.evidence.items import Evidence


class Step(StrEnum):
    UNOPENED = "unopened"
    QUESTIONS = "questions"
    ANSWERS = "answers"
    ADVISORS = "advisors"
    BRIEF = "brief"
    REVIEW = "review"


@dataclass(frozen=True, slots=True)
class Exchange:
    """A challenge and its reply; at most one in a session is without its reply, and it is the latest."""

    challenge: str
    reply: str | None = None
    usage: Usage | None = None
    number: int = 0
    """Which of the session's challenges it is."""
    evidence: tuple[Evidence, ...] = ()
    """What there was when the reply was given: what came later bears out no earlier citation."""


@dataclass(frozen=True, slots=True)
class Advisor:
    member: Member
    text: str | None = None
    usage: Usage | None = None
    failure: AdvisorFailed | None = None
    attempts: int = 1
    exchanges: tuple[Exchange, ...] = ()
    passed: bool = False
    knew: Background = field(default_factory=Background)
    """What the session had been given when they gave their view."""
    knew_decided: tuple[Decided, ...] = ()
    """What was decided by then."""

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """What there was when they gave their view."""
        return self.knew.evidence

    @property
    def settled(self) -> bool:
        return self.text is not None or self.failure is not None

    @property
    def replied(self) -> tuple[Exchange, ...]:
        """Only what is complete."""
        return tuple(exchange for exchange in self.exchanges if exchange.reply is not None)

    @property
    def challenged(self) -> bool:
        """Whether a challenge waits for its reply."""
        return len(self.replied) < len(self.exchanges)


@dataclass(frozen=True, slots=True)
class BoardState:
    decision: str = ""
    mode: Mode = "independent"
    model: str = ""
    opposes: str = ""
    questions: tuple[Question, ...] | None = None
    questions_failure: QuestionsFailed | None = None
    answered: tuple[Answer, ...] = ()
    """One for each probing question that has had its turn, skipped ones too."""
    convened: bool = False
    answers: tuple[Answer, ...] = ()
    advisors: tuple[Advisor, ...] = ()
    brief: Brief | None = None
    brief_usage: Usage | None = None
    brief_basis: int = 0
    brief_evidence: tuple[Evidence, ...] = ()
    """What there was when it was written."""
    brief_failure: BriefFailed | None = None
    brief_requested: bool = False
    brief_read: bool = False
    ticks: tuple[str, ...] = ()
    """Conditions that the person has ticked, of this brief or of an earlier one."""
    stopped: bool = False
    """Nobody is asked for anything until the person goes on; a challenge is still replied to."""
    challenges_made: int = 0
    bills: tuple[Usage, ...] = ()
    looks: bool = False
    """Whether advisors may look things up in the repository."""
    order: tuple[str, ...] = ()
    """The keys of what was decided, as it came about: their places are its numbers, which nothing moves."""
    background: Background = field(default_factory=Background)
    evidence_first: int = 0
    """How many items there were when the board was convened. Later ones stand behind them, so that what all
    requests begin with stays as it is."""

    @property
    def step(self) -> Step:
        if not self.decision:
            return Step.UNOPENED
        if not self.convened:
            return Step.QUESTIONS if self.questions is None else Step.ANSWERS
        if not all(advisor.settled for advisor in self.advisors):
            return Step.ADVISORS
        first_is_due = self.brief is None and self.brief_failure is None and self.contributions > 0
        return Step.BRIEF if first_is_due or self.brief_requested else Step.REVIEW

    @property
    def is_open(self) -> bool:
        return self.step is not Step.UNOPENED

    def with_background(self, background: Background) -> BoardState:
        return replace(self, background=background)

    @property
    def at_work(self) -> bool:
        """Whether advisors have yet to speak or a brief has yet to be written, stopped or not."""
        return self.step in (Step.ADVISORS, Step.BRIEF)

    @property
    def contributions(self) -> int:
        """Everything that a brief is made from: first views and replies."""
        return sum((advisor.text is not None) + len(advisor.replied) for advisor in self.advisors)

    @property
    def turns(self) -> int:
        return self.contributions

    @property
    def brief_stale(self) -> bool:
        return self.brief is not None and self.brief_basis != self.contributions

    @property
    def conditions(self) -> tuple[tuple[str, bool], ...]:
        """The conditions of the brief, and whether each is ticked."""
        conditions = self.brief.recommendation.conditions if self.brief else ()
        return tuple((condition, condition in self.ticks) for condition in conditions)

    @property
    def next_question(self) -> Question | None:
        rest = (self.questions or ())[len(self.answered) :]
        return rest[0] if rest else None

    @property
    def floor(self) -> Advisor | None:
        """Whom the person hears out next, on their way to the brief."""
        unheard = (a for a in self.advisors if a.text is not None and not a.passed)
        return None if self.brief_read else next(unheard, None)

    @property
    def failed(self) -> tuple[Advisor, ...]:
        return tuple(advisor for advisor in self.advisors if advisor.failure is not None)

    def advisor(self, persona: str) -> Advisor:
        for advisor in self.advisors:
            if advisor.member.id == persona:
                return advisor
        raise InvalidInput("personaId", f"{persona[:80]!r} is not an advisor of this session")

    def billed(self, usage: Usage) -> BoardState:
        return replace(self, bills=(*self.bills, usage))

    def with_advisor(self, changed: Advisor) -> BoardState:
        advisors = tuple(changed if a.member.id == changed.member.id else a for a in self.advisors)
        return replace(self, advisors=advisors)

    def without_open_exchange(self) -> BoardState:
        return replace(self, advisors=tuple(replace(a, exchanges=a.replied) for a in self.advisors))
