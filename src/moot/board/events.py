"""What can happen on a board, and the brief that comes out of it: plain values, as a log keeps them.

Knows names, fields and limits. When something may happen, and what follows from it, the flow decides.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from moot.core.background import EvidenceGiven, LedgerCorrected
from moot.core.described import Described
from moot.core.flow import Event, Usage
from moot.personas.display import shown_as

MAX_DECISION = 5_000
MAX_CHALLENGE = 2_000
MAX_CHALLENGES = 10
MAX_ANSWERS = 10
MAX_ANSWER = 1_000
MAX_MEMBERS = 20
MAX_FILE_NAME = 1_000
RECORD_ENDINGS = (".md", ".json", ".html")

Mode = Literal["independent", "sequential"]


# -- the brief -----------------------------------------------------------------------------------


class Consensus(Described, frozen=True):
    areas: tuple[str, ...]
    strength: Literal["strong", "moderate", "weak"]


class Tension(Described, frozen=True):
    between: tuple[str, ...]
    issue: str
    implication: str


class Recommendation(Described, frozen=True):
    summary: str
    confidence: Literal["high", "moderate", "low"]
    conditions: tuple[str, ...]


class Brief(Described, frozen=True, rename="camel"):
    consensus: Consensus
    tensions: tuple[Tension, ...]
    blind_spots: tuple[str, ...]
    recommendation: Recommendation


# -- what happens --------------------------------------------------------------------------------


class Member(msgspec.Struct, frozen=True):
    """An advisor as the session knows it, so that a record stays readable when a file is renamed."""

    id: str
    name: str
    role: str
    contribution: str
    origin: str = ""

    @property
    def shown(self) -> str:
        return shown_as(self.name, self.origin)


class Question(msgspec.Struct, frozen=True):
    id: str
    question: str
    hint: str = ""


class DraftedQuestion(msgspec.Struct, frozen=True):
    """As a model writes it, which numbers nothing."""

    question: str
    hint: str = ""


class Questions(msgspec.Struct, frozen=True):
    questions: tuple[DraftedQuestion, ...]


class Answer(Described, frozen=True):
    question: str
    answer: str


class DecisionPresented(Event, frozen=True, omit_defaults=True):
    """`members` are in speaking order. `model` is the session's: challenges and brief keep to it. `opposes`
    is the member who makes the case for the option that the person does not favour; empty, if none does.
    `looks`: advisors may look things up in the repository."""

    decision: str
    members: tuple[Member, ...]
    mode: Mode
    model: str
    opposes: str = ""
    looks: bool = False


class QuestionsDrafted(Event, frozen=True):
    questions: tuple[Question, ...]
    usage: Usage = msgspec.field(name="spoken")


class QuestionsFailed(Event, frozen=True):
    kind: str
    message: str
    retry_after: float | None = None


class QuestionAnswered(Event, frozen=True):
    """One probing question, in its turn; an empty answer skips it."""

    question: str
    answer: str


class BoardConvened(Event, frozen=True):
    answers: tuple[Answer, ...] = ()


class AdvisorSpoke(Event, frozen=True):
    persona: str
    text: str
    usage: Usage = msgspec.field(name="spoken")


STOPPED = "Stopped"
"""The kind of a failure that the person wanted."""


class AdvisorFailed(Event, frozen=True):
    persona: str
    kind: str
    message: str
    retry_after: float | None = None


class AdvisorRetried(Event, frozen=True):
    """Without a persona: everybody who did not answer."""

    persona: str = ""


class BoardStopped(Event, frozen=True):
    """The person wants nobody to speak, and no brief to be written, until they say so. What was half said
    is void."""


class BoardResumed(Event, frozen=True):
    """The board goes on where it was stopped."""


class ChallengeMade(Event, frozen=True):
    persona: str
    text: str


class ChallengeReplied(Event, frozen=True):
    persona: str
    text: str
    usage: Usage = msgspec.field(name="spoken")


class ChallengeWithdrawn(Event, frozen=True):
    """The person went on before the reply was whole, or the reply failed: as if it had not been made.
    `kind` and `message` say why, where it failed."""

    persona: str
    kind: str = ""
    message: str = ""
    retry_after: float | None = None


class AdvisorPassed(Event, frozen=True):
    """The person has heard enough of this advisor, and turns to the next."""

    persona: str


class BriefRequested(Event, frozen=True):
    """Somebody wants to read the brief, or wants a failed one tried again."""


class BriefDrafted(Event, frozen=True):
    brief: Brief
    usage: Usage = msgspec.field(name="spoken")


class BriefFailed(Event, frozen=True):
    kind: str
    message: str
    raw: str = ""
    retry_after: float | None = None


class ConditionTicked(Event, frozen=True):
    """The person says whether a condition of the brief is met. It is known by its words, so that a brief that
    is written anew keeps the ticks of the conditions that it still has."""

    condition: str
    ticked: bool = True


class RecordRequested(Event, frozen=True):
    """Somebody wants the record in a file."""

    file: str


OwnEvent = (
    DecisionPresented
    | QuestionsDrafted
    | QuestionsFailed
    | QuestionAnswered
    | BoardConvened
    | AdvisorSpoke
    | AdvisorFailed
    | AdvisorRetried
    | BoardStopped
    | BoardResumed
    | ChallengeMade
    | ChallengeReplied
    | ChallengeWithdrawn
    | AdvisorPassed
    | BriefRequested
    | BriefDrafted
    | BriefFailed
    | ConditionTicked
    | RecordRequested
)
BoardEvent = OwnEvent | EvidenceGiven | LedgerCorrected
