"""Who sends a request: what they see, whom it counts against, and what is kept of what they did."""

from __future__ import annotations

from fastapi import Request

from moot.sessions import Sessions
from moot.web.door import person_of


def sessions_of(request: Request) -> Sessions:
    """As whoever asks sees them: no route can forget to look whose a session is."""
    sessions: Sessions = request.app.state.sessions
    return sessions.as_seen_by(person_of(request.scope))


def client_of(request: Request) -> str:
    """Whom what a request begins is counted against: a person where one is known, else an address."""
    person = person_of(request.scope)
    if person is not None and not person.admin:
        return person.name
    return request.client.host[:64] if request.client else ""


async def note(request: Request, action: str, session_id: str | None) -> None:
    """Keeps who did what, where people sign in."""
    person, door = person_of(request.scope), request.app.state.door
    if person is not None:
        await (await door.people()).note(person.name, action, session_id or "")
