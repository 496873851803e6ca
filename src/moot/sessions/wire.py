"""What surfaces tell of sessions of any format, in the same words: which there are, and what they ask.

camelCase outside, snake_case inside. Refuses to know how it travels.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from moot.server.event_frames import AskOut
from moot.sessions.giving import DecidedOut, EvidenceOut, items_out, ledger_out

if TYPE_CHECKING:
    from moot.sessions.service import Standing

MAX_TEXT = 20_000
"""Characters of an answer."""


class Kept(Protocol):
    """The head of a stored session."""

    @property
    def id(self) -> str: ...
    @property
    def created_at(self) -> datetime: ...
    @property
    def updated_at(self) -> datetime: ...
    @property
    def workspace(self) -> str: ...
    @property
    def owner(self) -> str: ...
    @property
    def format(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def shown_title(self) -> str: ...
    @property
    def pinned(self) -> bool: ...


class _Part(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True)


class SessionHead(_Part):
    id: str
    format: str
    title: str
    pinned: bool
    live: bool
    """Whether some process is at work on it now."""
    workspace: str
    owner: str
    created_at: str
    updated_at: str


class StandingHead(SessionHead):
    paused: bool = Field(
        description="Something is still to be done, and nobody is at work on it: nothing is spent until "
        "somebody goes on."
    )
    asks: tuple[AskOut, ...]
    evidence: tuple[EvidenceOut, ...] = Field(description="What it was given to read, in order.")
    ledger: tuple[DecidedOut, ...] = Field(description="What was decided so far, with all corrections.")


class SaidOut(_Part):
    """What somebody has said or drafted, what was done, or why it failed."""

    what: str = Field(description="What happened, such as AdvisorSpoke, BriefDrafted or BatchBuilt.")
    by: str = Field(description="Whose words these are; empty where they are nobody's in particular.")
    text: str
    failure: str = Field(description="Why there are no words, or why it was not done; else empty.")
    content: dict[str, Any] = Field(description="What was drafted or done, beside the words.")


def head_of(kept: Kept) -> dict[str, Any]:
    """What is said of a session of whichever format."""
    return {
        "id": kept.id,
        "format": kept.format,
        "title": kept.shown_title,
        "pinned": kept.pinned,
        "workspace": PurePath(kept.workspace).name,
        "owner": kept.owner,
        "created_at": kept.created_at.isoformat(),
        "updated_at": kept.updated_at.isoformat(),
    }


def standing_of(standing: Standing) -> dict[str, Any]:
    """The fields of a `StandingHead`."""
    return {
        **head_of(standing.session),
        "live": standing.live,
        "paused": standing.paused,
        "asks": standing.asks,
        "evidence": items_out(standing.evidence),
        "ledger": ledger_out(standing.ledger),
    }
