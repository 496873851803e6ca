"""Where a stored session stands, from the events that the store has of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from moot.core.flow import Flow
from moot.errors import FileDamaged, UserMistake
from moot.store.sessions import Logged, Session

S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Standing:
    """A session and where it stands."""

    session: Session
    step: str
    turns: int


def standing(flow: Flow[Any, Any] | None, session: Session, logged: Sequence[Logged]) -> Standing:
    try:
        state = fold(flow, session, logged)
    except FileDamaged:
        return Standing(session, "unreadable", 0)
    return Standing(session, str(state.step), state.turns)


def fold(flow: Flow[S, Any] | None, session: Session, logged: Sequence[Logged]) -> S:
    """A session's state from its log. Events of a newer version, or of no version, are damage."""
    if flow is None or flow.name != session.format or not logged:
        raise FileDamaged(f"session {session.id}", "is of a kind that this version of moot does not know")
    try:
        return flow.fold([flow.decode_stored(entry.body) for entry in logged])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        # What the decoder says of it is in words for programmers.
        problem = "cannot be read: it has an event that this version of moot does not know"
        raise FileDamaged(f"session {session.id}", problem) from error
    except UserMistake as error:
        raise FileDamaged(f"session {session.id}", f"cannot be read: {error}") from error
