"""What a board tells the outside, as JSON: every frame of its stream, advisors, and what replies have cost.

camelCase outside, snake_case inside. What is described of a stream in /openapi.json is made from these
classes, and so is what listeners get.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import msgspec

from moot.board.events import Brief, Member
from moot.core.citing import CitationOut, CitedText
from moot.core.described import Described
from moot.core.flow import Usage
from moot.llm.prices import total_usd
from moot.server.format import Looked, Payload, StreamError


class MemberOut(Described, frozen=True, rename="camel"):
    """An advisor as the session's log has it."""

    id: str
    name: str
    role: str
    contribution_type: str

    @classmethod
    def of(cls, member: Member) -> Self:
        return cls(member.id, member.shown, member.role, member.contribution)


class UsageOut(Described, frozen=True, rename="camel"):
    """What a reply has cost, and what it rests on. Of the input, `cached_tokens` were read from the
    provider's cache. `looked_at` names what the model has read by itself, and `left_out` what it was not
    told, because there was no room for it."""

    model: str
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    duration_ms: int
    cached_tokens: int = 0
    looked_at: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    @classmethod
    def of(cls, usage: Usage) -> Self:
        return cls(
            usage.model,
            usage.input_tokens,
            usage.output_tokens,
            usage.cost_usd,
            usage.duration_ms,
            usage.cached_tokens,
            usage.looked_at,
            usage.left_out,
        )


class TotalOut(Described, frozen=True, rename="camel"):
    """Of several replies together. The cost leaves out those whose price is not known."""

    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    cached_tokens: int = 0

    @classmethod
    def of(cls, bills: tuple[Usage, ...]) -> Self:
        return cls(
            sum(bill.input_tokens for bill in bills),
            sum(bill.output_tokens for bill in bills),
            total_usd(bill.cost_usd for bill in bills),
            sum(bill.cached_tokens for bill in bills),
        )


def texts_of(brief: Brief) -> Sequence[str]:
    """All in which something may be cited."""
    tensions = (text for one in brief.tensions for text in (one.issue, one.implication))
    advised = brief.recommendation
    return (advised.summary, *brief.consensus.areas, *tensions, *brief.blind_spots, *advised.conditions)


# -- the stream ----------------------------------------------------------------------------------


class SessionStart(Payload):
    session_id: str
    persona_count: int
    model: str
    tiny: bool


class PersonaStart(Payload):
    """A second one for the same persona means that it begins again: what it had said before is void."""

    persona_id: str
    persona_name: str
    role: str


class PersonaToken(Payload):
    persona_id: str
    token: str


class PersonaComplete(Payload):
    persona_id: str
    usage: UsageOut
    citations: tuple[CitationOut, ...] = ()


class PersonaError(Payload):
    """`kind` is the name of what went wrong, such as KeyRefused; `Stopped` is what the person wanted."""

    persona_id: str
    message: str
    kind: str


class BriefStart(Payload):
    pass


class BriefComplete(Payload):
    """`cited` are those of its texts that cite something."""

    brief: Brief
    cited: tuple[CitedText, ...] = ()


class BriefError(Payload):
    message: str


class SessionComplete(Payload):
    """Every advisor has spoken or failed, and so has the brief."""


class ChallengeMade(Payload):
    """`challenge` is its number in the session. It takes the place of one that still waits for its reply."""

    persona_id: str
    challenge: int
    text: str


class ChallengeReplyStart(Payload):
    """A second one for the same challenge means that the reply begins again: what was said before is void."""

    persona_id: str
    challenge: int


class ChallengeReplyToken(Payload):
    persona_id: str
    challenge: int
    token: str


class ChallengeReplyComplete(Payload):
    persona_id: str
    challenge: int
    usage: UsageOut
    citations: tuple[CitationOut, ...] = ()


class ChallengeReplyError(Payload):
    """The challenge is as if it had not been made. `kind` is the name of what went wrong; it is empty where
    whoever made the challenge has left."""

    persona_id: str
    challenge: int
    kind: str
    message: str
    retry_after: float | None


SessionFrame = (
    SessionStart
    | PersonaStart
    | PersonaToken
    | PersonaComplete
    | PersonaError
    | BriefStart
    | BriefComplete
    | BriefError
    | SessionComplete
    | ChallengeMade
    | ChallengeReplyStart
    | ChallengeReplyToken
    | ChallengeReplyComplete
    | ChallengeReplyError
    | Looked
    | StreamError
)
"""All that is stored of a session's stream."""

ReplyFrame = ChallengeReplyToken | ChallengeReplyComplete | ChallengeReplyError | Looked

_FRAMES: msgspec.json.Decoder[SessionFrame] = msgspec.json.Decoder(SessionFrame)


def read_frame(body: bytes) -> SessionFrame | None:
    """Nothing where another version has written it in a way that this one does not know."""
    try:
        return _FRAMES.decode(body)
    except msgspec.ValidationError:
        return None
