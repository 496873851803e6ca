"""A session that this process has to do with: it drives it, or has somebody who listens to it, or both.

Knows the session's state as the log has it, and the stream of its frames. Whether a session is driven here
or elsewhere is for the engine to settle: here there is only `want`.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from moot.core.flow import Event, ModelEffect
from moot.core.runner import Log, Participants, Runner, Speak, StoredLog, open_session
from moot.errors import MootError, SessionMoved, StoreFailed
from moot.server.format import Format, Outbox, Payload
from moot.server.frame_buffer import FrameBuffer
from moot.store.sessions import Frame, Session, Store

S = TypeVar("S")
E = TypeVar("E", bound=Event)

RETRY_SECONDS = 0.5


class MemoryLog(Generic[E]):
    """For a conversation that nobody wants kept."""

    def __init__(self, events: Iterable[E]) -> None:
        self._events = list(events)

    async def read(self) -> list[E]:
        return list(self._events)

    async def append(self, event: E) -> None:
        self._events.append(event)


async def _wait_for_the_store(_: StoreFailed) -> None:
    await asyncio.sleep(RETRY_SECONDS)


class Host(Protocol):
    """Where sessions live: who writes what they tell, and sees to it that they are driven."""

    grace: float
    """For how many seconds one to which nobody listens goes on."""

    def wake(self, live: ActiveSession[Any, Any]) -> None:
        """It has something to tell."""

    async def want(self, live: ActiveSession[Any, Any]) -> None:
        """Has it driven, here or elsewhere."""

    async def listeners_changed(self, live: ActiveSession[Any, Any]) -> None:
        """Somebody listens here now, or nobody does any more."""


class ActiveSession(Generic[S, E]):
    def __init__(
        self,
        host: Host,
        format_: Format[S, E],
        log: Log[E],
        speak: Speak,
        session: Session | None,
    ) -> None:
        # With thirty attributes, an object takes a kilobyte more.
        self.session = session
        self.format = format_
        self.client = ""
        """On whose account it is driven."""
        self.outbox = format_.outbox()
        self.feed = FrameBuffer()
        self.seq = 0
        """The number of the newest frame, written or about to be."""
        self.here = True
        """Whether this process is the one that drives it when there is anything to do."""
        self.one_driver = asyncio.Lock()
        self.held = False
        """Whether a job of this process has it: it is under way then, also between two runs."""
        self.leased = False
        """Whether this process holds the lease, as far as it knows."""
        self.driven_elsewhere = False
        self.heard_elsewhere = False
        self.untold = False
        """Something is in the log that whoever drives it next has to tell."""
        self.wants = 0
        """Changes whenever it is asked for to be driven."""
        self.lost = False
        """Another process has driven it on, so that what this one has to tell does not count."""
        self.listeners = 0
        self.noted_quiet = False
        self._stopped = False
        self._host = host
        self._log = log
        self._resting: asyncio.TimerHandle | None = None
        self._driving: asyncio.Task[None] | None = None
        self._watchers: list[asyncio.Future[None]] = []
        self._farewells: set[asyncio.Future[None]] = set()
        self._before = format_.flow.initial
        self._speak = speak
        self.runner: Runner[S, E]

    @property
    def state(self) -> S:
        return self.runner.state

    @property
    def driving(self) -> bool:
        return self._driving is not None and not self._driving.done()

    @property
    def under_way(self) -> bool:
        return self.driving or self.held or self.driven_elsewhere

    @property
    def quiet(self) -> bool:
        """Nothing is under way, and everything that happened has been told."""
        return not self.under_way and not self.outbox and self.feed.newest == self.seq

    @property
    def forgotten(self) -> bool:
        return self.quiet and self.listeners == 0 and not self._watchers

    @property
    def log_seq(self) -> int:
        """The number of the newest event that is known here."""
        return self._log.seq if isinstance(self._log, StoredLog) else 0

    def hold(self, held: bool) -> None:
        """A job of this process has it, or no longer has."""
        self.held = held
        self.leased = self.leased and held
        if isinstance(self._log, StoredLog):
            self._log.driving = held

    async def resume(self) -> None:
        # By a weak reference: what refers to itself stays in memory for long, and there are many sessions.
        listener = weakref.proxy(self)
        participants = Participants(self._speak, listener, away=_wait_for_the_store)
        name = self.session.id if self.session else ""
        self.runner = await open_session(self.format.flow, self._log, participants, name)
        self._before = self.state

    async def take_over(self, store: Store, start: Payload) -> None:
        """Makes this process the one that drives: what is in the log and was not told is told now."""
        assert self.session is not None
        self.here, self.lost, self.driven_elsewhere, self._stopped = True, False, False, False
        await self.runner.catch_up()
        told = await store.frames(self.session.id)
        self.feed.skip_to(await store.last_frame(self.session.id))
        self.seq = self.feed.newest
        self._before = self.state
        self.outbox = self._missing(told, start)
        self.wake()

    def is_untold(self, told: Iterable[Frame]) -> bool:
        """Whether something is in the log that has not been told."""
        return bool(self._missing(told, {}))

    def _missing(self, told: Iterable[Frame], start: Payload) -> Outbox[S, E]:
        return self.format.missing(self.state, [msgspec.json.decode(frame.body) for frame in told], start)

    def wake(self) -> None:
        self._host.wake(self)

    # -- what the runner tells ---------------------------------------------------------------

    def began(self, effect: ModelEffect, attempt: int) -> None:  # noqa: ARG002
        self.outbox.began(effect, self.state)
        self.wake()

    def said(self, effect: ModelEffect, attempt: int, text: str) -> None:  # noqa: ARG002
        self.outbox.said(effect, text)
        self.wake()

    def waits(self, effect: ModelEffect, seconds: float, why: MootError) -> None:
        """A retry shows only as a little more thinking."""

    def happened(self, event: Event) -> None:
        self.let_watchers_look()
        before, self._before = self._before, self.state
        if self.here:
            tell = self.outbox.happened_elsewhere if self.runner.catching_up else self.outbox.happened
            tell(event, before, self.state)  # type: ignore[arg-type]
            self.wake()

    # -- driving -----------------------------------------------------------------------------

    async def go_on(self) -> None:
        """Has it driven, if there is anything to do. Asked for also where somebody drives it: they may be
        about to stop, because nobody listened."""
        if self.untold or self.runner.pending():
            await self.want()

    async def want(self) -> None:
        """Has it driven, whether or not there is anything to do."""
        await self._host.want(self)

    def drive(self) -> None:
        """Goes on with whatever is pending, in this process."""
        if not self.driving and self.runner.pending():
            self.noted_quiet = False
            self._driving = asyncio.create_task(self._drive())
            self._driving.add_done_callback(self._drive_again)
            self._rest_if_nobody_listens()

    def _drive_again(self, driving: asyncio.Task[None]) -> None:
        """Somebody came to listen while it was being stopped because nobody did."""
        if self._driving is driving:
            # One that was cancelled keeps all that it was doing, which is much more than the session is.
            self._driving = None
        if driving.cancelled() and self.listeners and not self._stopped and not self.held:
            self.drive()
        self.let_watchers_look()

    async def _drive(self) -> None:
        try:
            # Asked again at the end: what came in while the runner was putting its things away.
            while self.runner.pending():
                await self.runner.run()
        except SessionMoved as moved:
            if self.held:
                self._void()
            else:
                self.outbox.tell("error", message=f"{moved}. Load it again.")
        except MootError as error:
            self.outbox.tell("error", message=str(error))
        finally:
            self.let_watchers_look()
            self.wake()

    async def driven(self) -> None:
        """Returns when nothing is under way here any more and all has been written."""
        if self._driving is not None:
            await asyncio.gather(self._driving, return_exceptions=True)
        await self.feed.until(lambda: self.lost or self._all_written)

    @property
    def _all_written(self) -> bool:
        return not self.outbox and self.feed.newest == self.seq

    def let_watchers_look(self) -> None:
        watchers, self._watchers = self._watchers, []
        for watcher in watchers:
            if not watcher.done():
                watcher.set_result(None)

    async def rest(self) -> None:
        """Stops; what was complete is kept."""
        self._stopped = True
        await asyncio.gather(*self._farewells, return_exceptions=True)
        if self._driving is not None:
            self._driving.cancel()
            await asyncio.gather(self._driving, return_exceptions=True)

    async def let_go(self) -> None:
        """Another process drives it: what was not written is void."""
        self.lost = True
        await self.rest()
        self._void()
        self.feed.look_again()

    def _void(self) -> None:
        self.lost = True
        self.outbox = self.format.outbox()
        self.seq = self.feed.newest

    # -- who listens -------------------------------------------------------------------------

    @asynccontextmanager
    async def listening(self, *, go_on: bool = False) -> AsyncIterator[None]:
        """While at least one does, anywhere, a session that is under way stays so. To listen begins nothing
        and spends nothing: one that rests is driven on only for somebody who has said so. One that was
        stopped has nothing to be driven for, whoever says what, until the flow has it go on."""
        self.listeners += 1
        self.stay()
        try:
            if self.listeners == 1:
                await self._host.listeners_changed(self)
            if not self._goes_on and (go_on or self.under_way or not self.runner.pending()):
                await self.go_on()
            yield
        finally:
            self.listeners -= 1
            if self.listeners == 0:
                self._rest_if_nobody_listens()
                self._say_farewell(self._host.listeners_changed(self))

    @property
    def _goes_on(self) -> bool:
        """Driven here, and not about to stop: to listen is enough. Asked for all the same, it would be driven
        once more after the last listener has left."""
        return self._driving is not None and not self._driving.done() and not self._driving.cancelling()

    def stay(self) -> None:
        """Somebody listens again."""
        if self._resting is not None:
            self._resting.cancel()
            self._resting = None

    def heard(self, elsewhere: bool) -> None:
        self.heard_elsewhere = elsewhere
        if elsewhere:
            self.stay()
        else:
            self._rest_if_nobody_listens()

    def _rest_if_nobody_listens(self) -> None:
        if self.listeners == 0 and not self.heard_elsewhere and self._resting is None and self.driving:
            loop = asyncio.get_running_loop()
            self._resting = loop.call_later(self._host.grace, self._rest_unless_listened_to)

    def _rest_unless_listened_to(self) -> None:
        self._resting = None
        if self.listeners == 0 and not self.heard_elsewhere and self._driving is not None:
            self._driving.cancel()

    def _say_farewell(self, farewell: Awaitable[None]) -> None:
        """In a task of its own: whoever left takes the task that served them along."""
        task = asyncio.ensure_future(farewell)
        self._farewells.add(task)
        task.add_done_callback(self._said_farewell)

    def _said_farewell(self, task: asyncio.Future[None]) -> None:
        self._farewells.discard(task)
        if not task.cancelled():
            # An event that is not possible any more, or a database that is away: nobody is there to be told.
            task.exception()

    # -- what a person does ------------------------------------------------------------------

    async def until(self, done: Callable[[S], bool]) -> S:
        """The state once this is so, or once nothing is under way."""
        while not done(self.state) and self.under_way:
            changed = asyncio.get_running_loop().create_future()
            self._watchers.append(changed)
            await changed
        return self.state

    def put_later(self, event: E) -> None:
        """For somebody who has left: where it is not possible any more, nobody is there to be told."""
        self._say_farewell(self.runner.put(event))
