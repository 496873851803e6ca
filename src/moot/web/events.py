"""What the event streams tell: the shape of every `data:` line, told apart by its `type`.

Only describes: streams are made of what `moot.board.frames` and the routes say, and a test holds the two
together.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from moot.board.wire import BriefBody
from moot.web.wire import Payload, UsageOut


class SessionStart(Payload):
    type: Literal["session_start"]
    session_id: str
    persona_count: int
    model: str
    tiny: bool


class PersonaStart(Payload):
    """A second one for the same persona means that it begins again: what it had said before is void."""

    type: Literal["persona_start"]
    persona_id: str
    persona_name: str
    role: str


class PersonaToken(Payload):
    type: Literal["persona_token"]
    persona_id: str
    token: str


class PersonaComplete(Payload):
    type: Literal["persona_complete"]
    persona_id: str
    usage: UsageOut


class PersonaError(Payload):
    """`kind` is the name of what went wrong, such as KeyRefused; `Stopped` is what the person wanted."""

    type: Literal["persona_error"]
    persona_id: str
    message: str
    kind: str


class BriefStart(Payload):
    type: Literal["brief_start"]


class BriefComplete(Payload):
    type: Literal["brief_complete"]
    brief: BriefBody


class BriefError(Payload):
    type: Literal["brief_error"]
    message: str


class SessionComplete(Payload):
    """Every advisor has spoken or failed, and so has the brief."""

    type: Literal["session_complete"]


class Idle(Payload):
    """Nothing is under way: the stream ends here. Without an id, because it is not part of the session."""

    type: Literal["idle"]


class StreamError(Payload):
    type: Literal["error"]
    message: str


class ChallengeMade(Payload):
    """`challenge` is its number in the session. It takes the place of one that still waits for its reply."""

    type: Literal["challenge_made"]
    persona_id: str
    challenge: int
    text: str


class ChallengeReplyStart(Payload):
    """A second one for the same challenge means that the reply begins again: what was said before is void."""

    type: Literal["challenge_reply_start"]
    persona_id: str
    challenge: int


class ChallengeReplyToken(Payload):
    type: Literal["challenge_reply_token"]
    persona_id: str
    challenge: int
    token: str


class ChallengeReplyComplete(Payload):
    type: Literal["challenge_reply_complete"]
    persona_id: str
    challenge: int
    usage: UsageOut


class ChallengeReplyError(Payload):
    """The challenge is as if it had not been made. `kind` is the name of what went wrong; it is empty where
    whoever made the challenge has left."""

    type: Literal["challenge_reply_error"]
    persona_id: str
    challenge: int
    kind: str
    message: str
    retry_after: float | None


SessionEvent = Annotated[
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
    | Idle
    | StreamError,
    Field(discriminator="type"),
]
ChallengeEvent = Annotated[
    ChallengeReplyToken | ChallengeReplyComplete | StreamError, Field(discriminator="type")
]

_UNIONS: dict[str, TypeAdapter[Any]] = {
    "SessionEvent": TypeAdapter(SessionEvent),
    "ChallengeEvent": TypeAdapter(ChallengeEvent),
}


def schemas() -> dict[str, Any]:
    """Both unions, and everything that they are made of, as components of an OpenAPI document."""
    components: dict[str, Any] = {}
    for name, union in _UNIONS.items():
        schema = union.json_schema(mode="serialization", ref_template="#/components/schemas/{model}")
        components |= schema.pop("$defs")
        components[name] = schema
    return components
