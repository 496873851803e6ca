"""The sessions in this process's memory, and the one writer of their frames.

A session is driven once somebody has asked for it, while somebody listens: its runner runs, and everything
that happens is written as frames before anybody sees it, so that every listener, now or after a restart, can
get exactly the rest. Without listeners a session is paused after a while: what was complete is kept, what was
half said is asked for again when somebody goes on with it. Listening alone starts nothing.

Of all processes on the same database, one drives a session: see `cluster`."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, TypeVar

from moot.config import Limits, ServerSettings
from moot.core.admission import admit
from moot.core.flow import Event, ModelEffect, Outcome, failure
from moot.core.model_effects import on_account
from moot.core.runner import Speak, Speech, Work
from moot.errors import MootError, SessionMoved, StoreFailed
from moot.server.active_session import RETRY_SECONDS, ActiveSession, AnySession, MemoryLog
from moot.server.cluster import Cluster
from moot.server.format import Format, Payload, Progress, TaskStart
from moot.server.service import NOBODY, Client, Service
from moot.server.sharing import Sharing
from moot.store.sessions import Frame, Key, Session, Store

FRAME_SECONDS = 0.008, 0.05
"""How long words are collected before they are written and published, at least and at most. Most have been
collected already where they were read (see `llm.read_scheduler`); the longer a write takes, the more words
the next one holds, and it still looks live."""

KEEP_SECONDS = 60.0
"""How long a session without listeners stays in memory."""

DROP_SECONDS = 1.0
"""How long the frames of an inactive session stay in memory."""

MOST_ASKED = 5
"""How often a model is asked for the same reply without an outcome being kept. More than that is a loop: the
reply counts as failed, and the person may try again."""

_MOST_REMEMBERED = 10_000

Drives = Literal["all", "none", "own"]
"""Which sessions this process drives if several could: any, none, or only those that it opened."""

S = TypeVar("S")
E = TypeVar("E", bound=Event)

_Due = tuple[AnySession, list[Frame]]


def _gathering(writing: float) -> float:
    """For how many seconds to collect words after a write that took so long."""
    least, most = FRAME_SECONDS
    return min(max(least, writing), most)


class Hub:
    def __init__(
        self,
        store: Store,
        services: Iterable[Service[Any, Any]],
        settings: ServerSettings | None = None,
        limits: Limits | None = None,
        work: Drives = "all",
    ) -> None:
        self.store = store
        self.settings = settings or ServerSettings()
        self.grace = self.settings.grace_seconds
        self.active_sessions: dict[str, AnySession] = {}
        self._services = {one.format.flow.name: one for one in services}
        self._detached: set[AnySession] = set()
        self._opening: dict[str, asyncio.Lock] = {}
        self._dirty: dict[AnySession, None] = {}
        self._something = asyncio.Event()
        self._tasks: list[asyncio.Task[Any]] = []
        self._closing = False
        self._asked: dict[tuple[str, ModelEffect], int] = {}
        sharing = Sharing(store)
        self.server = store.server
        self._limits = limits or Limits()
        self._cluster = Cluster(self, sharing, work)

    async def start(self) -> None:
        self._tasks = [asyncio.create_task(self._write())]
        await self._cluster.start()

    @property
    def running(self) -> bool:
        """Whether frames are being written and leases renewed."""
        return bool(self._tasks) and not self._tasks[0].done() and self._cluster.running

    async def close(self) -> None:
        self._closing = True
        await self._cluster.stop_working()
        for live in [*self.active_sessions.values(), *self._detached]:
            await live.pause()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._flush()
        await self._cluster.close()

    # -- sessions ----------------------------------------------------------------------------

    async def begin(
        self,
        format_: Format[S, E],
        opening: list[E],
        by: Client = NOBODY,
    ) -> ActiveSession[S, E]:
        """Stores a new session; with an idempotency key that was used before, returns the session of that
        time."""
        flow = format_.flow
        state = flow.fold(opening)
        await self.admit(by.address)
        self._services[flow.name].speak(format_.model(state))
        bodies = [flow.encode(event) for event in opening]
        key = Key(*by.key) if by.key else None
        session = await self.store.create(flow.name, format_.title(state), bodies, owner=by.owner, key=key)
        return await self.live(session, by.address, new=key is None)

    async def live(self, session: Session, client: str = "", *, new: bool = False) -> AnySession:
        """Opens a stored session and folds its log."""
        lock = self._opening.setdefault(session.id, asyncio.Lock())
        try:
            async with lock:
                live = self.active_sessions.get(session.id)
                if live is None:
                    live = await self._opened(session, new=new)
                else:
                    await self._cluster.look_again(live)
        finally:
            self._opening.pop(session.id, None)
        if client and not live.is_under_way:
            live.client = client
        return live

    async def _opened(self, session: Session, *, new: bool) -> AnySession:
        service = self._services[session.format]
        log, account = service.log(self.store, session), await service.account(session)
        speak = self._speaking(service.format, session.id, account, session)
        live = ActiveSession(self, service.format, log, speak, session, self._work(session))
        await live.resume()
        await self._cluster.watch(live, new=new)
        self.active_sessions[session.id] = live
        return live

    async def detached(self, format_: Format[S, E], events: list[E], client: str = "") -> ActiveSession[S, E]:
        """Opens a conversation that is not stored: the same flow with a log in memory."""
        await self.admit(client)
        account = f"unstored-{secrets.token_hex(6)}"
        speak = self._speaking(format_, account, account)
        live = ActiveSession(self, format_, MemoryLog(events), speak, None)
        live.client = client
        await live.resume()
        self._detached = {one for one in self._detached if one.driving} | {live}
        return live

    def _speaking(
        self, format_: Format[Any, Any], session_id: str, account: str, session: Session | None = None
    ) -> Speak:
        """What asks models on a session's account. Made on first use: most processes that open a session
        never drive it."""
        made: list[Speak] = []

        async def speak(effect: ModelEffect, state: Any, speech: Speech) -> Outcome:
            if not made:
                model = format_.model(state)
                made.append(on_account(account, self._services[format_.flow.name].speak(model, session)[0]))
            await self._check_lease(session_id)
            if (loop := self._count(session_id, effect)) is not None:
                return loop
            outcome = await made[0](effect, state, speech)
            self._asked.pop((session_id, effect), None)
            return outcome

        return speak

    def _work(self, session: Session) -> Work:
        """What carries out a session's tasks, on its account."""
        service, made = self._services[session.format], list[Work]()

        async def work(task: Any, state: Any) -> Outcome:
            live = self.active_sessions[session.id]
            if not made:
                whole = service.work(session, state, lambda text: live.tell(Progress(text)))
                made.append(on_account(await service.account(session), whole))
            await self._check_lease(session.id)
            live.tell(TaskStart(type(task).__name__, task.key))
            return await made[0](task, state)

        return work

    async def _check_lease(self, session_id: str) -> None:
        if (live := self.active_sessions.get(session_id)) is not None:
            await self._cluster.check_lease(live)

    def claim(self, live: AnySession) -> AbstractContextManager[None]:
        """To be entered while it is driven; raises Busy where somebody drives it who does not share this
        store."""
        assert live.session is not None
        return self._services[live.session.format].claim(live.session)

    def _count(self, session_id: str, effect: ModelEffect) -> Outcome | None:
        """Counts how often a reply was asked for; returns a failure when that is too often."""
        key = session_id, effect
        asked = self._asked.pop(key, 0) + 1
        if asked > MOST_ASKED:
            why = f"asked {MOST_ASKED} times, and broken off each time before the reply was whole; try again"
            return failure(effect, "BrokenOff", why)
        self._asked[key] = asked
        if len(self._asked) > _MOST_REMEMBERED:
            del self._asked[next(iter(self._asked))]
        return None

    def start_of(self, live: AnySession) -> Payload:
        assert live.session is not None
        format_, tiny = live.format, False
        with contextlib.suppress(MootError):
            tiny = self._services[format_.flow.name].speak(format_.model(live.state))[1]
        return format_.start(live.session.id, live.state, tiny)

    async def admit(self, client: str, live: AnySession | None = None) -> None:
        """Raises LimitReached if one more session would exceed a limit. One that is already under way does
        not count as one more."""
        if live is not None and (live.is_under_way or not live.runner.pending()):
            return
        everybody, own = await self._cluster.sharing.is_under_way(client)
        detached = [one for one in self._detached if one.driving]
        own += sum(one.client == client for one in detached)
        admit(self._limits, everybody + len(detached), own)

    async def driven(self, sessions: Sequence[str]) -> set[str]:
        """Those of them that some process is driving."""
        return await self._cluster.sharing.driven(sessions)

    def found(self, session_id: str) -> AnySession | None:
        """The session, if it is in memory."""
        return self.active_sessions.get(session_id)

    async def forget(self, session_id: str) -> None:
        live = self.active_sessions.pop(session_id, None)
        if live is not None:
            live.driven_elsewhere = False
            await live.abandon()

    async def halt(self, live: AnySession) -> None:
        """Ends what is under way in a session, wherever it is driven, until somebody has it go on."""
        await self._cluster.halt(live)

    async def stream(self, live: AnySession, after: int, *, go_on: bool) -> AsyncIterator[Sequence[Frame]]:
        """All frames of a session after the given one, then new ones as they come, until nothing is under
        way. Without `go_on`, a paused session stays paused."""
        id_ = live.session.id if live.session is not None else ""
        async with live.listening(go_on=go_on):
            async for batch in live.buffer.after(after, self.store, id_, lambda: live.is_quiet):
                yield batch
                del batch  # It would be kept until the next one comes, which may be long.

    # -- what sessions ask for ---------------------------------------------------------------

    async def want(self, live: AnySession) -> None:
        if live.session is not None:
            await self._cluster.want(live)
        else:
            live.drive()

    async def listeners_changed(self, live: AnySession) -> None:
        if live.session is not None:
            await self._cluster.listeners_changed(live)

    # -- writing -----------------------------------------------------------------------------

    def wake(self, live: AnySession) -> None:
        """It has frames to write."""
        self._dirty[live] = None
        self._something.set()

    async def _write(self) -> None:
        """Writes the frames of all sessions in one transaction: at once after a silence, then at intervals,
        so that writing takes no more than about half of the process's time."""
        loop = asyncio.get_running_loop()
        next_flush = loop.time()
        while True:
            await self._something.wait()
            await asyncio.sleep(max(0.0, next_flush - loop.time()))
            self._something.clear()
            began = loop.time()
            await self._flush()
            ended = loop.time()
            next_flush = ended + _gathering(ended - began)

    async def _flush(self) -> None:
        dirty, self._dirty = self._dirty, {}
        due: list[_Due] = []
        for live in dirty:
            id_ = live.session.id if live.session is not None else ""
            frames = [Frame(id_, seq, body) for seq, body in enumerate(live.outbox.take(), live.seq + 1)]
            live.seq += len(frames)
            if frames and live.session is not None:
                due.append((live, frames))
            else:
                live.buffer.tell(frames)
        notified = {live for live, _ in due if live.has_listeners_elsewhere}
        written = await self._written(due)
        for live, frames in written:
            live.buffer.tell(frames)
        # Somebody began to listen while it was being written.
        late = [
            frames[0].session
            for live, frames in written
            if live.has_listeners_elsewhere and live not in notified
        ]
        if late:
            await self._cluster.notify_frames(late)
        for live in dirty:
            self.settled(live)

    def settled(self, live: AnySession) -> None:
        """If nothing is under way in a session any more, lets its listeners know, and drops it from memory
        later."""
        if live.is_quiet and not live.announced_quiet:
            live.announced_quiet = True
            loop = asyncio.get_running_loop()
            live.buffer.look_again()
            loop.call_later(DROP_SECONDS, lambda: live.buffer.drop() if live.is_quiet else None)
            if live.session is not None:
                loop.call_later(KEEP_SECONDS, self._drop, live)

    async def _written(self, due: list[_Due]) -> list[_Due]:
        """Writes frames and returns those that were written. Waits for a database that is away: no frame is
        published before it is written."""
        if not due:
            return []
        while True:
            try:
                await self.store.append_frames(
                    [frame for _, frames in due for frame in frames],
                    {frames[0].session for live, frames in due if live.has_listeners_elsewhere},
                )
            except SessionMoved:
                if len(due) > 1:
                    return [one for each in due for one in await self._written([each])]
                if await self._is_there(due[0][1]):
                    return due
                await self._abandon(due[0][0])
                return []
            except MootError:
                if self._closing:
                    for live, _ in due:
                        await live.abandon()
                    return []
                await asyncio.sleep(RETRY_SECONDS)
            else:
                return due

    async def _is_there(self, frames: list[Frame]) -> bool:
        """Whether these frames were written after all, and none after them, by a database that went away
        during the write. If others stand in their place, they are another process's."""
        while frames:
            try:
                return await self.store.frames(frames[0].session, frames[0].seq - 1) == frames
            except StoreFailed:
                # Not knowing is no reason to throw words away.
                if self._closing:
                    break
                await asyncio.sleep(RETRY_SECONDS)
        return False

    async def _abandon(self, live: AnySession) -> None:
        """Another process drives this session now."""
        assert live.session is not None
        await live.abandon()
        await self._cluster.lost(live)

    def _drop(self, live: AnySession) -> None:
        assert live.session is not None
        if live.is_forgotten and self.active_sessions.get(live.session.id) is live:
            del self.active_sessions[live.session.id]

    # -- tidying up --------------------------------------------------------------------------

    async def tidy_up(self) -> None:
        """Deletes what nobody can need any more."""
        before = datetime.now(UTC) - timedelta(hours=self.settings.keep_frames_hours)
        while await self.store.clear_frames(before):
            pass
