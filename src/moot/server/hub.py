"""All sessions that this process has to do with, and the one writer of their frames.

A session that somebody has asked for and somebody listens to is driven: its runner runs, and what happens is
written down frame by frame before anybody is told, so that every listener, now or after a restart, can be
told exactly the rest. Without a listener a session rests after a while; what was complete is kept, what was
half said is asked for again once somebody has it go on: to listen alone begins nothing.

Of all processes that use the same database, one drives a session: see `cluster`.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, TypeVar

from moot.config import Limits, ServerSettings
from moot.core.flow import Event, ModelEffect, Outcome, failure
from moot.core.limits import admit
from moot.core.model_effects import on_account
from moot.core.runner import Speak, Speech, StoredLog
from moot.errors import MootError, SessionMoved, StoreFailed
from moot.server.active_session import RETRY_SECONDS, ActiveSession, MemoryLog
from moot.server.cluster import Cluster
from moot.server.format import Format, Payload
from moot.server.sharing import Sharing
from moot.store.sessions import Frame, Key, Session, Store

FRAME_SECONDS = 0.008, 0.05
"""How long words are gathered before they are written and told. Most have been gathered already where they
were read (see `gateway.pace`); but the longer writing takes, the longer they are: more words a write, still
live to the eye."""

KEEP_SECONDS = 60.0
"""How long a session that nobody listens to stays in memory."""

DROP_SECONDS = 1.0
"""How long the frames of a session in which nothing goes on stay in memory."""

MOST_ASKED = 5
"""How often a model is asked for one reply without any outcome being kept. More is a loop: it is ended, and
the person may try again."""

_MOST_REMEMBERED = 10_000

Work = Literal["all", "none", "own"]
"""Which sessions this process drives, where several could: any, none, or those that it has opened."""

SpeakFor = Callable[[str, str], tuple[Speak, bool]]
"""Makes a session's performer from its format's name and its model's, and says whether that is tiny."""

S = TypeVar("S")
E = TypeVar("E", bound=Event)

AnySession = ActiveSession[Any, Any]

_Due = tuple[AnySession, list[Frame]]


def _gathering(writing: float) -> float:
    """For how many seconds words are gathered, after a write that took so long."""
    least, most = FRAME_SECONDS
    return min(max(least, writing), most)


class Hub:
    def __init__(
        self,
        store: Store,
        formats: Iterable[Format[Any, Any]],
        speak_for: SpeakFor,
        settings: ServerSettings | None = None,
        limits: Limits | None = None,
        work: Work = "all",
    ) -> None:
        self.store = store
        self.settings = settings or ServerSettings()
        self.grace = self.settings.grace_seconds
        self.lives: dict[str, AnySession] = {}
        self._formats = {one.flow.name: one for one in formats}
        self._speak_for = speak_for
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
        """Whether what happens is written down and told, and leases are renewed."""
        return bool(self._tasks) and not self._tasks[0].done() and self._cluster.running

    async def close(self) -> None:
        self._closing = True
        await self._cluster.stop_working()
        for live in [*self.lives.values(), *self._detached]:
            await live.rest()
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
        client: str = "",
        owner: str = "",
        key: Key | None = None,
    ) -> ActiveSession[S, E]:
        """A new, stored session; with a key that came before, the one that it came with."""
        flow = format_.flow
        state = flow.fold(opening)
        await self.admit(client)
        self._speak_for(flow.name, format_.model(state))
        bodies = [flow.encode(event) for event in opening]
        session = await self.store.create(flow.name, format_.title(state), bodies, owner=owner, key=key)
        return await self.live(session, client, new=key is None)

    async def live(self, session: Session, client: str = "", *, new: bool = False) -> AnySession:
        """A stored session, as its log has it."""
        lock = self._opening.setdefault(session.id, asyncio.Lock())
        try:
            async with lock:
                live = self.lives.get(session.id)
                if live is None:
                    live = await self._opened(session, new=new)
                else:
                    await self._cluster.look_again(live)
        finally:
            self._opening.pop(session.id, None)
        if client and not live.under_way:
            live.client = client
        return live

    async def _opened(self, session: Session, *, new: bool) -> AnySession:
        format_ = self._formats[session.format]
        log = StoredLog(self.store, session.id, format_.flow)
        live = ActiveSession(self, format_, log, self._speaking(format_, session.id), session)
        await live.resume()
        await self._cluster.watch(live, new=new)
        self.lives[session.id] = live
        return live

    async def detached(self, format_: Format[S, E], events: list[E], client: str = "") -> ActiveSession[S, E]:
        """A conversation that is not stored: the same flow, a log in memory."""
        await self.admit(client)
        account = f"unstored-{secrets.token_hex(6)}"
        live = ActiveSession(self, format_, MemoryLog(events), self._speaking(format_, account), None)
        live.client = client
        await live.resume()
        self._detached = {one for one in self._detached if one.driving} | {live}
        return live

    def _speaking(self, format_: Format[Any, Any], session_id: str) -> Speak:
        """A performer on a session's account, made when it is first needed: many who look at a session never
        drive it."""
        made: list[Speak] = []

        async def speak(effect: ModelEffect, state: Any, speech: Speech) -> Outcome:
            if not made:
                model = format_.model(state)
                made.append(on_account(session_id, self._speak_for(format_.flow.name, model)[0]))
            if (live := self.lives.get(session_id)) is not None:
                await self._cluster.check_lease(live)
            if (loop := self._count(session_id, effect)) is not None:
                return loop
            outcome = await made[0](effect, state, speech)
            self._asked.pop((session_id, effect), None)
            return outcome

        return speak

    def _count(self, session_id: str, effect: ModelEffect) -> Outcome | None:
        """Counts how often a reply was asked for; a failure where that is too often."""
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
            tiny = self._speak_for(format_.flow.name, format_.model(live.state))[1]
        return format_.start(live.session.id, live.state, tiny)

    async def admit(self, client: str, live: AnySession | None = None) -> None:
        """Raises LimitReached where one more session would be one too many. One that is under way already
        is not one more."""
        if live is not None and (live.under_way or not live.runner.pending()):
            return
        everybody, own = await self._cluster.sharing.under_way(client)
        detached = [one for one in self._detached if one.driving]
        own += sum(one.client == client for one in detached)
        admit(self._limits, everybody + len(detached), own)

    async def driven(self, sessions: Sequence[str]) -> set[str]:
        """Those of them that somebody drives."""
        return await self._cluster.sharing.driven(sessions)

    def found(self, session_id: str) -> AnySession | None:
        """A session that is in memory already."""
        return self.lives.get(session_id)

    async def forget(self, session_id: str) -> None:
        live = self.lives.pop(session_id, None)
        if live is not None:
            live.driven_elsewhere = False
            await live.let_go()

    async def stream(self, live: AnySession, after: int, *, go_on: bool) -> AsyncIterator[Sequence[Frame]]:
        """All frames of a session above `after`, then those to come, until nothing is under way. Without
        `go_on`, one that rests is left resting."""
        id_ = live.session.id if live.session is not None else ""
        async with live.listening(go_on=go_on):
            async for batch in live.feed.after(after, self.store, id_, lambda: live.quiet):
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
        """It has something to tell."""
        self._dirty[live] = None
        self._something.set()

    async def _write(self) -> None:
        """One transaction for what all sessions tell; after a silence, at once. Then words are gathered for a
        while, so that writing takes no more than about half of the process's time."""
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
                live.feed.tell(frames)
        heard = {live for live, _ in due if live.heard_elsewhere}
        written = await self._written(due)
        for live, frames in written:
            live.feed.tell(frames)
        # Somebody came to listen while it was being written.
        late = [frames[0].session for live, frames in written if live.heard_elsewhere and live not in heard]
        if late:
            await self._cluster.tell_of_frames(late)
        for live in dirty:
            self.settled(live)

    def settled(self, live: AnySession) -> None:
        """If nothing goes on in a session any more, its listeners are told, and it need not stay."""
        if live.quiet and not live.noted_quiet:
            live.noted_quiet = True
            loop = asyncio.get_running_loop()
            live.feed.look_again()
            loop.call_later(DROP_SECONDS, lambda: live.feed.drop() if live.quiet else None)
            if live.session is not None:
                loop.call_later(KEEP_SECONDS, self._drop, live)

    async def _written(self, due: list[_Due]) -> list[_Due]:
        """What could be written. A database that is away is waited for: nothing is told unwritten."""
        if not due:
            return []
        while True:
            try:
                await self.store.append_frames(
                    [frame for _, frames in due for frame in frames],
                    {frames[0].session for live, frames in due if live.heard_elsewhere},
                )
            except SessionMoved:
                if len(due) > 1:
                    return [one for each in due for one in await self._written([each])]
                if await self._is_there(due[0][1]):
                    return due
                await self._let_go(due[0][0])
                return []
            except MootError:
                if self._closing:
                    for live, _ in due:
                        await live.let_go()
                    return []
                await asyncio.sleep(RETRY_SECONDS)
            else:
                return due

    async def _is_there(self, frames: list[Frame]) -> bool:
        """A database that goes away in the moment of writing may have written all the same: these frames, and
        none after them. Others that begin alike are another process's."""
        while frames:
            try:
                return await self.store.frames(frames[0].session, frames[0].seq - 1) == frames
            except StoreFailed:
                # Not to know is no reason to throw away what was said.
                if self._closing:
                    break
                await asyncio.sleep(RETRY_SECONDS)
        return False

    async def _let_go(self, live: AnySession) -> None:
        """Another process drives this session now."""
        assert live.session is not None
        await live.let_go()
        await self._cluster.lost(live)

    def _drop(self, live: AnySession) -> None:
        assert live.session is not None
        if live.forgotten and self.lives.get(live.session.id) is live:
            del self.lives[live.session.id]

    # -- tidying up --------------------------------------------------------------------------

    async def tidy_up(self) -> None:
        """Clears away what nobody can still need."""
        before = datetime.now(UTC) - timedelta(hours=self.settings.keep_frames_hours)
        while await self.store.clear_frames(before):
            pass
