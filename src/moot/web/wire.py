"""What travels over HTTP: payloads, limits, names. The page's types follow from these.

camelCase outside, snake_case inside. What a board says of itself, its streams among that, is in `board/wire`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from moot.app import MAX_TITLE
from moot.board.events import (
    MAX_ANSWER,
    MAX_ANSWERS,
    MAX_CHALLENGE,
    MAX_CHALLENGES,
    MAX_DECISION,
    MAX_MEMBERS,
    Answer,
    Brief,
    Mode,
)
from moot.board.state import Step
from moot.board.wire import MemberOut, TotalOut, UsageOut
from moot.core.citing import CitationOut, CitedText
from moot.personas.library import Contribution, Dimension
from moot.sessions.giving import DecidedOut, EvidenceOut, Items
from moot.text.characters import strip_controls

MAX_CONTENT = 10_000

_NO_NUL = r"^[^\x00]*$"
"""PostgreSQL keeps no NULs, and no model wants any."""
_NOT_BLANK = r"^[^\x00]*[^\s\x00][^\x00]*$"
PLACE = r"^p?[0-9]{1,17}-[a-z0-9-]{1,64}$"

FORMS = {
    _NO_NUL: "must not contain NUL characters",
    _NOT_BLANK: "must not be empty",
    PLACE: "has to be the place that an earlier answer gave",
}
"""What the patterns of texts mean."""


class Payload(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True)


class Received(Payload):
    """What a client says."""

    @field_validator("*", mode="before")
    @classmethod
    def _strip_controls(cls, value: Any) -> Any:
        return strip_controls(value) if isinstance(value, str) else value


def _text(most: int) -> Any:
    return StringConstraints(min_length=1, max_length=most, pattern=_NOT_BLANK)


def _text_if_any(most: int) -> Any:
    return StringConstraints(max_length=most, pattern=_NO_NUL)


Decision = Annotated[str, _text(MAX_DECISION)]
Content = Annotated[str, _text(MAX_CONTENT)]
ChallengeText = Annotated[str, _text(MAX_CHALLENGE)]
Id = Annotated[str, _text(64)]
SessionId = Annotated[str, StringConstraints(pattern=_NO_NUL)]


class Answered(Received):
    question: Annotated[str, _text_if_any(MAX_ANSWER)]
    answer: Annotated[str, _text_if_any(MAX_ANSWER)]


Answers = Annotated[list[Answered], Field(max_length=MAX_ANSWERS)]


class Exchanged(Received):
    challenge_text: ChallengeText
    reply_content: Annotated[str, _text_if_any(MAX_CONTENT)]
    is_reply_complete: bool = True


class Responded(Received):
    persona_id: Id
    persona_name: Annotated[str, _text_if_any(200)] = ""
    content: Annotated[str, _text_if_any(MAX_CONTENT)]
    is_complete: bool = True
    challenges: Annotated[list[Exchanged], Field(max_length=MAX_CHALLENGES)] = []


class PageQuery(BaseModel):
    """Which sessions of a list are wanted: those that follow `before`, which an earlier page gave."""

    workspace: Literal["this", "all"] = "this"
    limit: Annotated[int, Field(ge=1, le=200)] = 50
    before: Annotated[str, StringConstraints(pattern=PLACE)] | None = None
    search: Annotated[str, StringConstraints(max_length=200)] = ""


class QuestionsRequest(Received):
    decision: Decision
    looks: bool = False
    """Whether whoever asks the questions may look into the workspace."""
    evidence: Items = ()


class SessionRequest(Received):
    decision: Decision
    answers: Answers = []
    panel: Id = "board"
    mode: Mode = "independent"
    looks: bool = False
    """Whether advisors may look into the workspace."""
    evidence: Items = ()


class ChallengeRequest(Received):
    persona_id: Id
    decision: Decision
    answers: Answers = []
    initial_response: Content
    prior_challenges: Annotated[list[Exchanged], Field(max_length=MAX_CHALLENGES)]
    challenge_text: ChallengeText
    session_id: Id | None = None


class BriefRequest(Received):
    decision: Decision
    answers: Answers = []
    responses: Annotated[list[Responded], Field(min_length=1, max_length=MAX_MEMBERS)]
    session_id: Id | None = None

    @field_validator("responses")
    @classmethod
    def _each_advisor_once(cls, responses: list[Responded]) -> list[Responded]:
        if len({one.persona_id for one in responses}) < len(responses):
            raise PydanticCustomError("named_twice", "names an advisor twice")
        return responses


class RetryRequest(Received):
    """Without a persona: everybody who did not answer."""

    persona_id: Id | None = None


class StopRequest(Received):
    """Without a persona: everybody, and the brief."""

    persona_id: Id | None = None


class SessionChange(Received):
    """What is given is changed. An empty title takes the given one back."""

    title: Annotated[str, _text_if_any(MAX_TITLE)] | None = None
    pinned: bool | None = None


class ConditionRequest(Received):
    """A condition is known by its words, as the brief has them."""

    condition: Content
    ticked: bool = True


class SignInRequest(Received):
    token: Annotated[str, _text_if_any(200)]


# -- answers -------------------------------------------------------------------------------------


class Problem(Payload):
    """Every answer that is no success."""

    error: str


class MeOut(Payload):
    """Who is asking. Nobody signs in on a server that only its own machine reaches."""

    name: str
    admin: bool
    signs_in: bool


class PersonaOut(Payload):
    id: str
    name: str
    role: str
    contribution_type: Contribution
    rubric: dict[str, Dimension]


class PersonasOut(Payload):
    personas: list[PersonaOut]


class QuestionOut(Payload):
    id: str
    question: str
    hint: str | None


class QuestionsOut(Payload):
    questions: list[QuestionOut]
    looked_at: list[str]
    """What was read in the workspace before."""


class ModelOut(Payload):
    model: str
    tiny: bool
    reason: str
    advice: str


class BriefOut(Payload):
    brief: Brief
    cited: tuple[CitedText, ...] = ()
    """Those of its texts that cite something."""


class ExchangeOut(Payload):
    challenge_text: str
    reply_content: str
    is_reply_complete: bool
    citations: tuple[CitationOut, ...]
    usage: UsageOut | None


class ResponseOut(Payload):
    persona_id: str
    persona_name: str
    content: str
    is_complete: bool
    citations: tuple[CitationOut, ...]
    error: str | None
    error_kind: str | None
    challenges: list[ExchangeOut]
    usage: UsageOut | None


class SessionBody(Payload):
    id: str
    title: str
    """What the person calls it, or else the decision."""
    pinned: bool
    decision: str
    answers: tuple[Answer, ...]
    mode: Mode
    model: str
    tiny: bool
    step: Step
    personas: list[MemberOut]
    responses: list[ResponseOut]
    brief: Brief | None
    brief_cited: tuple[CitedText, ...]
    """Those of its texts that cite something."""
    brief_usage: UsageOut | None
    brief_stale: bool
    brief_error: str | None
    ticked_conditions: list[str]
    usage: TotalOut
    evidence: tuple[EvidenceOut, ...]
    ledger: tuple[DecidedOut, ...]
    struck: tuple[DecidedOut, ...]
    live: bool
    paused: bool
    """Something is still to be said, and nobody is at work on it: nothing is spent until somebody goes on."""
    last_event_id: int
    created_at: str
    updated_at: str


class SessionOut(Payload):
    session: SessionBody


class SessionSummary(Payload):
    id: str
    title: str
    """What the person calls it, or else the decision."""
    pinned: bool
    decision: str
    step: Step
    persona_count: int
    complete_count: int
    challenge_count: int
    has_brief: bool
    brief_stale: bool
    """Somebody has spoken since the brief was written."""
    live: bool
    """Whether this process is at work on it now."""
    model: str
    workspace: str
    """The name of the folder that it was begun in; empty where that is not known."""
    owner: str
    created_at: str
    updated_at: str


class SessionsOut(Payload):
    sessions: list[SessionSummary]
    next: str | None
    """What `before` is for the next page; nothing where this is the last."""
