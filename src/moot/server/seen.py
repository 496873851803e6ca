"""The sessions that one person sees: whose a session is, and what holds for it whatever its format.

Refuses to know any format, and how anybody proves who they are.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Protocol

from moot.errors import NotFound
from moot.server.hub import Hub

if TYPE_CHECKING:
    from moot.store.people import Person
    from moot.store.sessions import Place, Session


class Heads(Protocol):
    """What is needed of moot as a whole."""

    async def change_session(
        self, session: Session, *, title: str | None = None, pinned: bool | None = None
    ) -> None: ...


class SeenSessions:
    """Those of some formats: a person's own, and those that are nobody's. Without a person, whoever asks is
    at this machine, and sees all."""

    def __init__(self, heads: Heads, hub: Hub, formats: Collection[str], person: Person | None) -> None:
        self.hub = hub
        self._heads = heads
        self._formats = tuple(formats)
        self._person = person

    @property
    def owns_as(self) -> str:
        """Whose a session is that they begin."""
        return self._person.owns_as if self._person else ""

    @property
    def _sees_only(self) -> str | None:
        return self._person.sees_only if self._person else None

    async def session(self, session_id: str) -> Session:
        """By its whole id only."""
        session = await self.hub.store.session(session_id)
        theirs = session.owner not in ("", self._sees_only) and self._sees_only is not None
        if session.id != session_id or session.format not in self._formats or theirs:
            raise NotFound("session", session_id)
        return session

    async def list_sessions(
        self, limit: int, after: Place | None = None, *, everywhere: bool = False, search: str = ""
    ) -> Sequence[Session]:
        """Pinned ones first, then the newest, those that follow `after`: of this workspace, or of all."""
        seen_by = self._sees_only
        return await self.hub.store.sessions(
            self._formats, limit, after=after, everywhere=everywhere, seen_by=seen_by, search=search
        )

    async def change(self, session_id: str, *, title: str | None, pinned: bool | None) -> None:
        """What is given; an empty title takes the given one back."""
        await self._heads.change_session(await self.session(session_id), title=title, pinned=pinned)

    async def delete(self, session_id: str) -> None:
        """For good. What it has cost stays in the ledger."""
        session = await self.session(session_id)
        await self.hub.forget(session.id)
        await self.hub.store.delete(session.id)
