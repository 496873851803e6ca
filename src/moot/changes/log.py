"""The log of a change's session: what was chosen and how it ended is in the store, what is true in the files.

Whenever it is read, the files are looked at, and what somebody else has changed there is one more event. What
a process has begun stands for as long as that process drives the session; after that it was cut off. With a
database that has never heard of the change, nothing is lost but how the last thing ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from moot.changes.flow import (
    CHANGE,
    CUT_OFF,
    ChangeEvent,
    ChangeGone,
    FilesRead,
    SessionState,
    Step,
    WorkCutOff,
)
from moot.changes.standing import Files
from moot.core.runner import StoredLog
from moot.errors import SessionMoved
from moot.server.sharing import Sharing
from moot.store.sessions import Store


class ChangeLog(StoredLog[ChangeEvent]):
    """`look` says what the files say, or None where they are gone."""

    def __init__(self, store: Store, session_id: str, look: Callable[[], Files | None]) -> None:
        super().__init__(store, session_id, CHANGE)
        self._sharing = Sharing(store)
        self._look = look
        self._state = SessionState()

    async def read(self) -> list[ChangeEvent]:
        self._state = SessionState()
        return await super().read()

    async def news(self) -> list[ChangeEvent]:
        before = self.seq, self._state
        try:
            return await self._read_on()
        except BaseException:
            # Nobody has been told: it is news still.
            self.seq, self._state = before
            raise

    async def _read_on(self) -> list[ChangeEvent]:
        events = await super().news()
        for event in events:
            self._state = CHANGE.advance(self._state, event)
        if (noticed := await self._notice()) is None:
            return events
        try:
            await self.append(noticed)
        except SessionMoved:
            if await self._store.newest_event(self._session_id) <= self.seq:
                raise
            # Somebody else has noticed it, or was faster with something else.
            return [*events, *await self._read_on()]
        return [*events, noticed]

    async def append(self, event: ChangeEvent) -> None:
        await super().append(event)
        self._state = CHANGE.advance(self._state, event)

    async def keep(self, event: ChangeEvent) -> None:
        await super().keep(event)
        self._state = CHANGE.advance(self._state, event)

    async def _notice(self) -> ChangeEvent | None:
        """What the log does not say yet."""
        state = self._state
        if state.chosen is not None and await self._goes_on(state):
            return None
        files = await asyncio.to_thread(self._look)
        if files is None:
            return None if state.step is Step.GONE else ChangeGone()
        if state.chosen is not None:
            return WorkCutOff(files, problem=CUT_OFF)
        # As it comes back from the store.
        read = CHANGE.decode_stored(CHANGE.encode(FilesRead(files)))
        return None if state.step is Step.RESTING and read == FilesRead(state.files) else read

    async def _goes_on(self, state: SessionState) -> bool:
        """Whether somebody is at work on what was chosen, or still to begin."""
        if not state.driver or (self.driving and state.driver == self._sharing.server):
            return True
        return await self._sharing.driver_of(self._session_id) == state.driver
