"""What travels over HTTP of sessions of any format. A session's state is its format's own; all else is the
same for all."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, StringConstraints

from moot.sessions.giving import GivenOut, Items, Words
from moot.sessions.wire import MAX_TEXT, SessionHead, StandingHead
from moot.web.wire import Id, Payload, Received


class OpenRequest(Received):
    """`opening` is what `/api/formats` describes for the format."""

    format: Id
    opening: dict[str, Any]
    evidence: Items = ()


class WeighRequest(Payload):
    """What would be taken of it, and what it would cost, is said; nothing is kept."""

    items: Items


class GiveRequest(Payload):
    """With `dryRun`, nothing is kept: it is said what would be."""

    items: Items
    dry_run: bool = False


class CorrectionRequest(Received):
    """With the `key` of an entry, what holds instead of it, or, without words, that it does not hold; without
    a key, something that is to hold from now on. With `undo`, what was said last of the entry is taken
    back."""

    text: Words = ""
    key: Annotated[str, StringConstraints(max_length=500)] | None = None
    undo: bool = False


class AnswerRequest(Received):
    """Answers what was asked with this `step` and `key`: one of its choices, with words where it takes them,
    or words alone where it takes free text."""

    step: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    key: Annotated[str, StringConstraints(max_length=200)]
    choice: Annotated[str, StringConstraints(max_length=200)] | None = None
    text: Annotated[str, StringConstraints(max_length=MAX_TEXT, pattern=r"^[^\x00]*$")] = ""


class FormatOut(Payload):
    name: str
    opening: dict[str, Any]
    """A JSON schema of what has to be said to begin a session."""
    writes_files: bool
    """Whether its sessions write into the workspace: then only whoever runs the server may use it."""


class FormatsOut(Payload):
    formats: list[FormatOut]


class SessionsPage(Payload):
    sessions: list[SessionHead]
    next: str | None
    """What `before` is for the next page; nothing where this is the last."""


class StandingBody(StandingHead):
    state: dict[str, Any] = Field(description="The format's own.")
    last_event_id: int


class StandingOut(Payload):
    session: StandingBody


class BegunOut(Payload):
    """`given` says what came of the evidence that it was begun with, where there was any."""

    session: StandingBody
    given: GivenOut | None
