"""What travels of sessions of any format. A session's state is its format's own; all else is the same for
all."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, StringConstraints

from moot.server.event_frames import AskOut
from moot.web.wire import Id, Payload, Received

MAX_TEXT = 20_000


class OpenRequest(Received):
    """`opening` is what `/api/formats` describes for the format."""

    format: Id
    opening: dict[str, Any]


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


class SessionHead(Payload):
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


class SessionsPage(Payload):
    sessions: list[SessionHead]
    next: str | None
    """What `before` is for the next page; nothing where this is the last."""


class StandingBody(SessionHead):
    paused: bool
    """Something is still to be done, and nobody is at work on it: nothing is spent until somebody goes on."""
    asks: tuple[AskOut, ...]
    state: dict[str, Any] = Field(description="The format's own.")
    last_event_id: int


class StandingOut(Payload):
    session: StandingBody
