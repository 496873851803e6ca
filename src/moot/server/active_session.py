"""A session in this process's memory, because it drives it, somebody listens to it here, or both.

Knows the session's state as the log has it, and the stream of its frames. Whether a session is driven here
or elsewhere is for the hub to settle: here there is only `want`.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from moot.core.flow import Event, ModelEffect
from moot.core.runner import Log, Participants, Runner, SharedLog, Speak, Work, no_work, open_session
from moot.errors import MootError, SessionMoved, StoreFailed
from moot.server.format import Format, Outbox, Payload, StreamError
from moot.server.frame_buffer import FrameBuffer
from moot.store.sessions import Frame, Session, Store

S = TypeVar("S")
E = TypeVar("E", bound=Event)

RETRY_SECONDS = 0.5


class MemoryLog(Generic[E]):
    """For a conversation that is not stored."""

    def __init__(self, events: Iterable[E]) -> None:
        self._events = list(events)

    async def read(self) -> list[E]:
        return list(self._events)

    async def append(self, event: E) -> None:
        self._events.append(event)


async def _wait_for_the_store(_: StoreFailed) -> None:
    await asyncio.sleep(RETRY_SECONDS)


class Host(Protocol):
    """What holds the sessions: it writes their frames and finds a process to drive them."""

    grace: float
    """For how many seconds a session goes on without listeners."""

    def wake(self, live: ActiveSession[Any, Any]) -> None:
        """It has frames to write."""

    async def want(self, live: ActiveSession[Any, Any]) -> None:
        """Has it driven, in this process or another."""

    async def listeners_changed(self, live: ActiveSession[Any, Any]) -> None:
        """The first listener came, or the last one left."""


class Follower(Protocol):
    """Told of what happens in a session while it lasts, by whichever process it is driven. Of who begins to
    speak, only where that is this one."""

    def began(self, effect: ModelEffect) -> None: ...

    def happened(self, event: Event) -> None: ...


class ActiveSession(Generic[S, E]):
    def __init__(
        self,
        host: Host,
        format_: Format[S, E],
        log: Log[E],
        speak: Speak,
        session: Session | None,
        work: Work = no_work,
    ) -> None:
        # With thirty attributes, an object takes a kilobyte more.
        self.session = session
        self.format = format_
        self.client = ""
        """The client whose limits it counts against."""
        self.outbox = format_.outbox()
        self.buffer = FrameBuffer()
        self.seq = 0
        """The number of the newest frame, written or not."""
        self.here = True
        """Whether this process is its driver."""
        self.one_driver = asyncio.Lock()
        self.held = False
        """Whether a job in this process has it: then it is under way even between two runs."""
        self.has_lease = False
        """Whether this process holds the lease, as far as it knows."""
        self.driven_elsewhere = False
        self.has_listeners_elsewhere = False
        self.has_unsent = False
        """Whether the log has events for which frames are still to be written."""
        self.wants = 0
        """Changes whenever somebody asks for it to be driven."""
        self.lost = False
        """Whether another process has taken over, so that unwritten frames here are void."""
        self.listeners = 0
        self.followers: tuple[Follower, ...] = ()
        self.announced_quiet = False
        self._stopped = False
        self._host = host
        self._log = log
        self._pause_timer: asyncio.TimerHandle | None = None
        self._driving: asyncio.Task[None] | None = None
        self._watchers: list[asyncio.Future[None]] = []
        self._background: set[asyncio.Future[None]] = set()
        self._before = format_.flow.initial
        self._speak = speak
        self._work = work
        self.runner: Runner[S, E]

    @property
    def state(self) -> S:
        return self.runner.state

    @property
    def driving(self) -> bool:
        return self._driving is not None and not self._driving.done()

    @property
    def is_under_way(self) -> bool:
        return self.driving or self.held or self.driven_elsewhere

    @property
    def is_quiet(self) -> bool:
        """Whether nothing is under way and all frames are written."""
        return not self.is_under_way and not self.outbox and self.buffer.newest == self.seq

    @property
    def is_forgotten(self) -> bool:
        return self.is_quiet and self.listeners == 0 and not self._watchers

    @property
    def log_seq(self) -> int:
        """The number of the newest event that this process knows."""
        return self._log.seq if isinstance(self._log, SharedLog) else 0

    def hold(self, held: bool) -> None:
        """Sets whether a job in this process has it."""
        self.held = held
        self.has_lease = self.has_lease and held
        if isinstance(self._log, SharedLog):
            self._log.driving = held

    async def resume(self) -> None:
        # A weak reference: reference cycles stay in memory for long, and there are many sessions.
        listener = weakref.proxy(self)
        participants = Participants(self._speak, listener, work=self._work, away=_wait_for_the_store)
        name = self.session.id if self.session else ""
        self.runner = await open_session(self.format.flow, self._log, participants, name)
        self._before = self.state

    async def take_over(self, store: Store, start: Payload) -> None:
        """Makes this process the driver: writes the frames that are missing for what is in the log."""
        assert self.session is not None
        self.here, self.lost, self.driven_elsewhere, self._stopped = True, False, False, False
        await self.runner.catch_up()
        told = await store.frames(self.session.id)
        self.buffer.skip_to(await store.last_frame(self.session.id))
        self.seq = self.buffer.newest
        self._before = self.state
        self.outbox = self._missing(told, start)
        self.wake()

    def has_missing_frames(self, told: Iterable[Frame]) -> bool:
        """Whether the log has events that these frames do not show."""
        return bool(self._missing(told, Payload()))

    def _missing(self, told: Iterable[Frame], start: Payload) -> Outbox[S, E]:
        frames = [msgspec.json.decode(frame.body) for frame in told]
        return self.format.missing(self.state, frames, start, self.log_seq)

    def wake(self) -> None:
        self._host.wake(self)

    # -- what the runner tells ---------------------------------------------------------------

    def began(self, effect: ModelEffect, attempt: int) -> None:  # noqa: ARG002
        for follower in self.followers:
            follower.began(effect)
        self.outbox.began(effect, self.state)
        self.wake()

    def said(self, effect: ModelEffect, attempt: int, text: str) -> None:  # noqa: ARG002
        self.outbox.said(effect, text)
        self.wake()

    def waits(self, effect: ModelEffect, seconds: float, why: MootError) -> None:
        """Listeners see a retry only as a longer silence."""

    def looks(self, effect: ModelEffect, attempt: int, what: str) -> None:  # noqa: ARG002
        self.outbox.looks(effect, what)
        self.wake()

    def happened(self, event: Event) -> None:
        self.notify_watchers()
        for follower in self.followers:
            follower.happened(event)
        before, self._before = self._before, self.state
        if self.here:
            self.outbox.log_seq = self.log_seq
            tell = self.outbox.happened_elsewhere if self.runner.catching_up else self.outbox.happened
            tell(event, before, self.state)  # type: ignore[arg-type]
            self.wake()
        elif not self.driven_elsewhere:
            self.has_unsent = True

    def tell(self, frame: Payload) -> None:
        """Says something that is no event: how work comes along, or what went wrong."""
        self.outbox.tell(frame)
        self.wake()

    # -- driving -----------------------------------------------------------------------------

    async def go_on(self) -> None:
        """Has it driven if there is anything to do. Asks even while it is being driven: its driver may be
        about to stop because nobody listened."""
        if self.has_unsent or self.runner.pending():
            await self.want()

    async def want(self) -> None:
        """Has it driven, even if nothing is pending."""
        await self._host.want(self)

    def drive(self) -> None:
        """Runs whatever is pending, in this process."""
        if not self.driving and self.runner.pending():
            self.announced_quiet = False
            self._driving = asyncio.create_task(self._drive())
            self._driving.add_done_callback(self._drive_again)
            self._pause_if_nobody_listens()

    def _drive_again(self, driving: asyncio.Task[None]) -> None:
        """Restarts it if a listener came while it was being paused for having none."""
        if self._driving is driving:
            # A cancelled task keeps everything that it was doing in memory, which is far more than the
            # session.
            self._driving = None
        if driving.cancelled() and self.listeners and not self._stopped and not self.held:
            self.drive()
        self.notify_watchers()

    async def _drive(self) -> None:
        try:
            # Asked again at the end, for events that came in while the runner was stopping.
            while self.runner.pending():
                await self.runner.run()
        except SessionMoved as moved:
            if self.held:
                self._void()
            else:
                self.outbox.tell(StreamError(f"{moved}. Load it again."))
        except MootError as error:
            self.outbox.tell(StreamError(str(error)))
        finally:
            self.notify_watchers()
            self.wake()

    async def driven(self) -> None:
        """Returns when nothing is under way here and all frames are written."""
        if self._driving is not None:
            await asyncio.gather(self._driving, return_exceptions=True)
        await self.buffer.until(lambda: self.lost or self._all_written)

    @property
    def _all_written(self) -> bool:
        return not self.outbox and self.buffer.newest == self.seq

    def notify_watchers(self) -> None:
        watchers, self._watchers = self._watchers, []
        for watcher in watchers:
            if not watcher.done():
                watcher.set_result(None)

    async def pause(self) -> None:
        """Stops driving; everything complete is kept."""
        self._stopped = True
        await asyncio.gather(*self._background, return_exceptions=True)
        if self._driving is not None:
            self._driving.cancel()
            await asyncio.gather(self._driving, return_exceptions=True)

    async def abandon(self) -> None:
        """Stops because another process drives it: unwritten frames are void."""
        self.lost = True
        await self.pause()
        self._void()
        self.buffer.look_again()

    def _void(self) -> None:
        self.lost = True
        self.outbox = self.format.outbox()
        self.seq = self.buffer.newest

    # -- who listens -------------------------------------------------------------------------

    @asynccontextmanager
    async def listening(self, *, go_on: bool = False) -> AsyncIterator[None]:
        """While at least one does, anywhere, a session that is under way stays so. To listen begins nothing
        and spends nothing: one that rests is driven on only for somebody who has said so. One that was
        stopped has nothing to be driven for, whoever says what, until the flow has it go on."""
        self.listeners += 1
        self.keep_running()
        try:
            if self.listeners == 1:
                await self._host.listeners_changed(self)
            if not self._goes_on and (go_on or self.is_under_way or not self.runner.pending()):
                await self.go_on()
            yield
        finally:
            self.listeners -= 1
            if self.listeners == 0:
                self._pause_if_nobody_listens()
                self._run_in_background(self._host.listeners_changed(self))

    @contextmanager
    def followed_by(self, follower: Follower) -> Iterator[None]:
        self.followers = (*self.followers, follower)
        try:
            yield
        finally:
            self.followers = tuple(one for one in self.followers if one is not follower)

    @property
    def _goes_on(self) -> bool:
        """Whether it is driven here and not about to stop. Then there is nothing to ask for: if somebody did,
        it would be driven once more after the last listener had left."""
        return self._driving is not None and not self._driving.done() and not self._driving.cancelling()

    def keep_running(self) -> None:
        """Cancels the pause: somebody listens again."""
        if self._pause_timer is not None:
            self._pause_timer.cancel()
            self._pause_timer = None

    def set_listeners_elsewhere(self, elsewhere: bool) -> None:
        self.has_listeners_elsewhere = elsewhere
        if elsewhere:
            self.keep_running()
        else:
            self._pause_if_nobody_listens()

    def _pause_if_nobody_listens(self) -> None:
        is_heard = self.listeners or self.has_listeners_elsewhere
        if not is_heard and self._pause_timer is None and self.driving:
            loop = asyncio.get_running_loop()
            self._pause_timer = loop.call_later(self._host.grace, self._pause_unless_listened_to)

    def _pause_unless_listened_to(self) -> None:
        self._pause_timer = None
        if self.listeners == 0 and not self.has_listeners_elsewhere and self._driving is not None:
            self._driving.cancel()

    def _run_in_background(self, work: Awaitable[None]) -> None:
        """In a task of its own, because the request's task ends when its client leaves."""
        task = asyncio.ensure_future(work)
        self._background.add(task)
        task.add_done_callback(self._forget_task)

    def _forget_task(self, task: asyncio.Future[None]) -> None:
        self._background.discard(task)
        if not task.cancelled():
            # The event is no longer possible, or the database is away: nobody is left to hear of it.
            task.exception()

    # -- what a person does ------------------------------------------------------------------

    async def until(self, done: Callable[[S], bool]) -> S:
        """Waits until `done`, or until nothing is under way, and returns the state."""
        while not done(self.state) and self.is_under_way:
            changed = asyncio.get_running_loop().create_future()
            self._watchers.append(changed)
            await changed
        return self.state

    async def put_all(self, events: Iterable[E]) -> None:
        for event in events:
            await self.runner.put(event)

    def put_later(self, event: E) -> None:
        """Puts an event on behalf of somebody who has left; if it is no longer possible, nothing happens."""
        self._run_in_background(self.runner.put(event))


AnySession = ActiveSession[Any, Any]
