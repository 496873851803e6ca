"""Whose sessions may have models look into the workspace.

What a model reads it may say, to everybody who sees the session. Sessions that live in the workspace's files
are for whoever may use the workspace alone, and see all of it. Any other is seen, and may be gone on with, by
whoever it belongs to, or by everybody where it is nobody's: its speakers look into the workspace only where
nobody else may sign in, and only into the one that it was begun in. Asked each time, because people come and
go. Refuses to know any format.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from moot.store.people import People

if TYPE_CHECKING:
    from moot.core.model_effects import Sight
    from moot.files.layout import Workspace
    from moot.store.sessions import Session, Store


class Place(Protocol):
    """What is needed of moot as a whole."""

    @property
    def workspace(self) -> Workspace: ...
    async def store(self) -> Store: ...


def sight_of(place: Place, session: Session | None) -> Sight:
    """Of a session in the store; of none, where it is a conversation that is not kept."""

    async def look() -> Path | None:
        root = place.workspace.root
        if session is not None and session.workspace != str(root.resolve()):
            return None
        return None if await People(await place.store()).listed() else root

    return look
