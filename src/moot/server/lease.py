"""A stored session that a command runs together with its person.

It holds the session's lease while models are asked, and gives it back when only the person is waited for.
Where another process holds it, that one asks the models, and this one listens: what is replied there arrives
through the log. Should that process stop, this one goes on. While it holds the lease of a board, it writes
the frames, so that whoever watches elsewhere sees the words as they are said.

Refuses to know what is shown to the person, and how.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import replace
from typing import Any, Generic, TypeVar

import msgspec

from moot.core.flow import AskPersona, DraftReply, Event, Flow, ModelEffect, Outcome, failure
from moot.core.runner import Listener, Participants, Person, Runner, Speak, Speech, StoredLog, open_session
from moot.errors import MootError, SessionMoved, StoreFailed
from moot.server.format import Format, Outbox
from moot.server.sharing import LEASE_SECONDS, Sharing
from moot.store.sessions import Frame, Store

S = TypeVar("S")
E = TypeVar("E", bound=Event)

RENEW_SECONDS = 1.0
LOOK_SECONDS = 0.2
FRAME_SECONDS = 0.05
MOST_ASKED = 3
"""How often a model is asked for one reply, if the lease is lost each time."""


class LeasedSession(Generic[S, E]):
    """With a `format`, others may watch what is said."""

    def __init__(
        self,
        store: Store,
        session_id: str,
        flow: Flow[S, E],
        *,
        speak: Speak,
        person: Person,
        listener: Listener,
        format: Format[S, E] | None = None,  # noqa: A002
        tiny: bool = False,
    ) -> None:
        self._store = store
        self._sharing = Sharing(store)
        self._id = session_id
        self._speak = speak
        self._listener = listener
        self._format = format
        self._tiny = tiny
        self._log = StoredLog(store, session_id, flow)
        self._flow = flow
        self._person = person
        self.runner: Runner[S, E]
        self._turn = asyncio.Lock()
        self._wanted = 0
        self._is_leased = False
        self._renewed_at = 0.0
        self._renewing: asyncio.Task[None] | None = None
        self._asking: set[asyncio.Future[Outcome]] = set()
        self._before = flow.initial
        self._outbox: Outbox[S, E] | None = None
        self._seq = 0
        self._writing = asyncio.Lock()
        self._flushing: asyncio.Task[None] | None = None
        self._settling: asyncio.Task[None] | None = None

    async def resume(self) -> None:
        participants = Participants(self._ask, self, self._person)
        self.runner = await open_session(self._flow, self._log, participants, self._id)
        self._before = self.runner.state

    async def close(self) -> None:
        """Gives back what is held. Where models are still to be asked, another may go on at once."""
        for task in (self._settling, self._flushing):
            if task is not None:
                await asyncio.gather(task, return_exceptions=True)
        with contextlib.suppress(MootError):
            await self._give_back()

    # -- what the runner tells ---------------------------------------------------------------

    def began(self, effect: ModelEffect, attempt: int) -> None:
        self._listener.began(effect, attempt)

    def said(self, effect: ModelEffect, attempt: int, text: str) -> None:
        if self._outbox is not None:
            self._outbox.said(effect, text)
            self._flush_soon()
        self._listener.said(effect, attempt, text)

    def waits(self, effect: ModelEffect, seconds: float, why: MootError) -> None:
        self._listener.waits(effect, seconds, why)

    def looks(self, effect: ModelEffect, attempt: int, what: str) -> None:
        if self._outbox is not None:
            self._outbox.looks(effect, what)
            self._flush_soon()
        self._listener.looks(effect, attempt, what)

    def happened(self, event: Event) -> None:
        before, self._before = self._before, self.runner.state
        if self._outbox is not None:
            self._outbox.log_seq = self._log.seq
            elsewhere = self.runner.catching_up
            tell = self._outbox.happened_elsewhere if elsewhere else self._outbox.happened
            tell(event, before, self.runner.state)  # type: ignore[arg-type]
            self._flush_soon()
        self._listener.happened(event)
        if self._is_leased and not self._has_questions_for_models():
            self._settling = self._settling or asyncio.ensure_future(self._settle())

    def _has_questions_for_models(self) -> bool:
        return any(isinstance(effect, AskPersona | DraftReply) for effect in self.runner.pending())

    # -- asking models -----------------------------------------------------------------------

    async def _ask(self, effect: ModelEffect, state: Any, speech: Speech) -> Outcome:
        for _ in range(MOST_ASKED):
            await self._acquire()
            if self._outbox is not None:
                self._outbox.began(effect, state)
                self._flush_soon()
            asking = asyncio.ensure_future(self._speak(effect, state, self._beginning_again(effect, speech)))
            self._asking.add(asking)
            try:
                return await asking
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if task is not None and task.cancelling():
                    raise
                # Another process has taken the lease: it asks now, and this one listens.
            finally:
                self._asking.discard(asking)
        why = f"asked {MOST_ASKED} times, and broken off each time before the reply was whole; try again"
        return failure(effect, "BrokenOff", why)

    def _beginning_again(self, effect: ModelEffect, speech: Speech) -> Speech:
        """Those who watch hear as well that what was said so far is no part of the reply."""

        def again() -> None:
            if self._outbox is not None:
                self._outbox.began(effect, self.runner.state)
                self._flush_soon()
            speech.again()

        return replace(speech, again=again)

    async def _acquire(self) -> None:
        async with self._turn:
            if self._is_leased and time.monotonic() - self._renewed_at > LEASE_SECONDS:
                # This process was stopped for a while.
                await self._renew()
            while not self._is_leased:
                await self._sharing.want(self._id, "")
                wanted = await self._sharing.take(self._id)
                if wanted is None:
                    await self._follow()
                else:
                    await self._take_over(wanted)

    async def _follow(self) -> None:
        """Follows what another process does, until it does not do it any more. If what was to be asked has
        been answered by then, the runner has cancelled whoever waits here."""
        listened_at = float("-inf")
        while self._id in await self._sharing.driven([self._id]):
            if time.monotonic() - listened_at > RENEW_SECONDS:
                listened_at = time.monotonic()
                await self._sharing.add_listeners([self._id])
            await self.runner.catch_up()
            await asyncio.sleep(LOOK_SECONDS)
        # Raises where it has been deleted.
        await self._store.session(self._id)
        await self.runner.catch_up()
        await asyncio.sleep(0)

    async def _take_over(self, wanted: int) -> None:
        self._wanted, self._is_leased, self._renewed_at = wanted, True, time.monotonic()
        self._log.driving = True
        await self._sharing.announce()
        await self.runner.catch_up()
        if (format_ := self._format) is not None:
            told = [msgspec.json.decode(frame.body) for frame in await self._store.frames(self._id)]
            self._seq = await self._store.last_frame(self._id)
            state = self.runner.state
            start = format_.start(self._id, state, self._tiny)
            self._outbox = format_.missing(state, told, start, self._log.seq)
            self._flush_soon()
        self._renewing = asyncio.ensure_future(self._keep_renewing())

    async def _keep_renewing(self) -> None:
        while self._is_leased:
            await asyncio.sleep(RENEW_SECONDS)
            # A database that is away is tried again; nobody can take the lease meanwhile either. A log that
            # is damaged is found by whoever writes to it next.
            with contextlib.suppress(MootError):
                await self._renew()
                # Somebody elsewhere may have stopped it.
                await self.runner.catch_up()

    async def _renew(self) -> None:
        now = time.monotonic()
        await self._sharing.announce()
        if self._id in await self._sharing.renew([self._id]):
            self._renewed_at = now
        elif self._is_leased:
            self._lose()

    def _lose(self) -> None:
        self._is_leased = self._log.driving = False
        self._outbox = None
        for asking in self._asking:
            asking.cancel()

    # -- giving the lease back ---------------------------------------------------------------

    async def _settle(self) -> None:
        try:
            async with self._turn:
                if not self._asking and not self._has_questions_for_models():
                    with contextlib.suppress(StoreFailed):
                        await self._give_back()
        finally:
            self._settling = None

    async def _give_back(self) -> None:
        if not self._is_leased:
            return
        await self._flush()
        outbox, self._outbox = self._outbox, None
        done = not self._has_questions_for_models() and not outbox
        if not (done and await self._sharing.finish(self._id, self._wanted)):
            await self._sharing.release(self._id)
        self._is_leased = self._log.driving = False
        await self._sharing.leave()
        if self._renewing is not None:
            self._renewing.cancel()

    # -- frames ------------------------------------------------------------------------------

    def _flush_soon(self) -> None:
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.ensure_future(self._flush_in_a_moment())

    async def _flush_in_a_moment(self) -> None:
        await asyncio.sleep(FRAME_SECONDS)
        await self._flush()

    async def _flush(self) -> None:
        async with self._writing:
            outbox = self._outbox
            if outbox is None:
                return
            bodies = outbox.take()
            frames = [Frame(self._id, seq, body) for seq, body in enumerate(bodies, start=self._seq + 1)]
            if not frames:
                return
            try:
                await self._store.append_frames(frames, subscribed={self._id})
                self._seq += len(frames)
            except SessionMoved:
                self._lose()
            except StoreFailed:
                # They are told from the log by whoever drives it next: the log itself is what counts.
                self._outbox = None
