"""What surfaces tell of sessions of any format, in the same words: which there are, and what they ask.

camelCase outside, snake_case inside. Refuses to know how it travels.
"""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from moot.server.event_frames import AskOut
from moot.sessions.giving import STRUCK, DecidedOut, EvidenceOut, items_out, ledger_out, struck_out

if TYPE_CHECKING:
    from moot.core.bill import SessionBill
    from moot.core.estimate import Estimate
    from moot.sessions.service import Cost, Standing

MAX_TEXT = 20_000
"""Characters of an answer."""


UNVERIFIED = "What is cited there from the evidence, such as [E2:14], and is not in it: tell the person."


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


class MadeOut(_Part):
    """A change that was made from a session, and its phase; an archived one is called as its folder there."""

    id: str
    phase: str


class StandingHead(SessionHead):
    paused: bool = Field(
        description="Something is still to be done, and nobody is at work on it: nothing is spent until "
        "somebody goes on."
    )
    asks: tuple[AskOut, ...]
    evidence: tuple[EvidenceOut, ...] = Field(description="What it was given to read, in order.")
    ledger: tuple[DecidedOut, ...] = Field(description="What was decided so far, with all corrections.")
    struck: tuple[DecidedOut, ...] = Field(description=STRUCK)
    changes: tuple[MadeOut, ...] = Field(description="The changes that were made from it.")


class EstimateOut(_Part):
    """What a session is going to ask, until only the person is asked, by the usual length of replies."""

    requests: int
    input_tokens: int
    cached_tokens: int = Field(description="Those of the input that the provider's cache has by then.")
    output_tokens: int
    cost_usd: float | None = Field(description="Null where the price is not known.")
    at_least: bool = Field(description="Whether more is going to be asked, and nobody knows yet what.")
    summary: str = Field(description="The same in a few words: at least about 31,000 tokens, $0.09.")


class BillOut(_Part):
    """What was really asked on a session's account, retries and what broke off included."""

    requests: int
    input_tokens: int
    cached_tokens: int = Field(description="Those of the input that were read from the provider's cache.")
    kept_tokens: int = Field(description="Those of the input that were written to it.")
    output_tokens: int
    cost_usd: float | None = Field(description="Without what is unpriced; null where no price is known.")
    cached_usd: float | None = Field(description="What the tokens from the cache have cost of it.")
    saved_usd: float | None = Field(description="How much more it would have cost without the cache.")
    unpriced: int = Field(description="How many requests nobody knows the price of.")
    estimated: bool = Field(description="Whether the provider has not counted all of it.")
    summary: str = Field(description="The same in a few words.")


class CostOut(_Part):
    """`estimate` is of what comes next, from where the session stands; null where no model is to be had."""

    estimate: EstimateOut | None
    bill: BillOut


class SaidOut(_Part):
    """What somebody has said or drafted, what was done, or why it failed."""

    what: str = Field(description="What happened, such as AdvisorSpoke, BriefDrafted or BatchBuilt.")
    by: str = Field(description="Whose words these are; empty where they are nobody's in particular.")
    text: str
    failure: str = Field(description="Why there are no words, or why it was not done; else empty.")
    content: dict[str, Any] = Field(description="What was drafted or done, beside the words.")
    unverified: tuple[str, ...] = Field(description=UNVERIFIED)


def estimate_out(told: Estimate) -> EstimateOut:
    return EstimateOut(**asdict(told), summary=str(told))


def bill_out(bill: SessionBill) -> BillOut:
    return BillOut(**asdict(bill), summary=str(bill))


def cost_out(cost: Cost) -> CostOut:
    told = None if cost.estimate is None else estimate_out(cost.estimate)
    return CostOut(estimate=told, bill=bill_out(cost.bill))


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
        "struck": struck_out(standing.struck),
        "changes": tuple(MadeOut(id=made.id, phase=made.phase) for made in standing.changes),
    }
