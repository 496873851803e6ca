"""Who drives which session: here, this process.

A session that somebody listens to is live: its runner runs, and what happens is written down frame by frame
before anybody is told, so that every listener, now or after a restart, can be told exactly the rest. Without
a listener a session rests after a while; what was complete is kept, what was half said is asked for again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import msgspec

from moot.errors import MootError, SessionMoved
from moot.flows.board import BOARD, CHALLENGE
from moot.flows.board_events import (
    BoardEvent,
    BriefRequested,
    ChallengeMade,
    ChallengeReplied,
    ChallengeWithdrawn,
)
from moot.flows.board_state import BoardState, Step
from moot.flows.flow import AskPersona, Event, ModelEffect, Spoken
from moot.frames import Outbox, missing
from moot.runner import Log, Runner, Speak, StoredLog
from moot.store import Frame, Session, Store
from moot.telemetry import driving

FRAME_SECONDS = 0.016
"""How long words are gathered before they are written and told: one frame of a screen."""

BUSY_FRAME_SECONDS = 0.05
"""The longest they are gathered when writing takes its time: more words a write, still live to the eye."""

RETRY_SECONDS = 0.5
KEEP_SECONDS = 60.0
"""How long a session that nobody listens to stays in memory."""


class MemoryLog:
    """For a conversation that nobody wants kept."""

    def __init__(self, events: Iterable[BoardEvent]) -> None:
        self._events = list(events)

    async def read(self) -> list[BoardEvent]:
        return list(self._events)

    async def append(self, event: BoardEvent) -> None:
        self._events.append(event)


@dataclass(frozen=True, slots=True)
class Word:
    """A piece of a reply to a challenge."""

    text: str


@dataclass(frozen=True, slots=True)
class Replied:
    spoken: Spoken


@dataclass(frozen=True, slots=True)
class NotReplied:
    """The reply failed, or another challenge took its place."""

    kind: str
    message: str
    retry_after: float | None = None


class Live:
    """A session that this process drives while somebody listens."""

    def __init__(self, log: Log[BoardEvent], speak: Speak, session: Session | None) -> None:
        self.session = session
        self.outbox = Outbox()
        self.seq = 0
        self.frames: list[Frame] = []
        """Those that have been told since the session came alive; older ones are in the store."""
        self.first_seq = 1
        self.noted_quiet = False
        self.wake: Callable[[], None] = lambda: None
        self._told = asyncio.Condition()
        self._listeners = 0
        self._resting: asyncio.TimerHandle | None = None
        self._driving: asyncio.Task[None] | None = None
        self._floor: asyncio.Queue[Word | Replied | NotReplied] | None = None
        self._watchers: list[asyncio.Future[None]] = []
        self._farewells: set[asyncio.Task[None]] = set()
        self._step = Step.UNOPENED
        self.runner: Runner[BoardState, BoardEvent] = Runner(
            BOARD, log, speak=speak, person=None, listener=self
        )

    @property
    def state(self) -> BoardState:
        return self.runner.state

    @property
    def driving(self) -> bool:
        return self._driving is not None and not self._driving.done()

    async def resume(self) -> None:
        self._step = (await self.runner.resume()).step

    # -- what the runner tells ---------------------------------------------------------------

    def began(self, effect: ModelEffect, attempt: int) -> None:  # noqa: ARG002
        self.outbox.began(effect, self.state)
        self.wake()

    def said(self, effect: ModelEffect, attempt: int, text: str) -> None:  # noqa: ARG002
        if isinstance(effect, AskPersona) and effect.prompt == CHALLENGE:
            if self._floor is not None:
                self._floor.put_nowait(Word(text))
            return
        self.outbox.said(effect, text)
        self.wake()

    def waits(self, effect: ModelEffect, seconds: float, why: MootError) -> None:
        """A retry shows only as a little more thinking."""

    def happened(self, event: Event) -> None:
        match event:
            case ChallengeReplied(_, _, spoken) if self._floor is not None:
                self._floor.put_nowait(Replied(spoken))
            case ChallengeWithdrawn(_, kind, message, retry_after) if self._floor is not None:
                self._floor.put_nowait(NotReplied(kind, message, retry_after))
        self._let_watchers_look()
        before, self._step = self._step, self.state.step
        self.outbox.happened(event, before, self.state)  # type: ignore[arg-type]
        self.wake()

    # -- driving -----------------------------------------------------------------------------

    def drive(self) -> None:
        """Goes on with whatever is pending."""
        if not self.driving and self.runner.pending():
            self.noted_quiet = False
            self._driving = asyncio.create_task(self._drive())

    async def _drive(self) -> None:
        try:
            with driving(self.session.id if self.session else ""):
                await self.runner.run()
        except SessionMoved as moved:
            self.outbox.tell("error", message=f"{moved}. Load it again.")
        except MootError as error:
            self.outbox.tell("error", message=str(error))
        finally:
            self._let_watchers_look()
            self.wake()

    def _let_watchers_look(self) -> None:
        watchers, self._watchers = self._watchers, []
        for watcher in watchers:
            if not watcher.done():
                watcher.set_result(None)

    async def rest(self) -> None:
        """Stops; what was complete is kept."""
        await asyncio.gather(*self._farewells, return_exceptions=True)
        if self._driving is not None:
            self._driving.cancel()
            await asyncio.gather(self._driving, return_exceptions=True)

    @asynccontextmanager
    async def listening(self, grace: float) -> AsyncIterator[None]:
        """While at least one does, the session is driven."""
        self._listeners += 1
        if self._resting is not None:
            self._resting.cancel()
            self._resting = None
        try:
            self.drive()
            yield
        finally:
            self._listeners -= 1
            if self._listeners == 0 and self.driving:
                loop = asyncio.get_running_loop()
                self._resting = loop.call_later(grace, self._rest_unless_listened_to)

    def _rest_unless_listened_to(self) -> None:
        if self._listeners == 0 and self._driving is not None:
            self._driving.cancel()

    # -- the stream --------------------------------------------------------------------------

    async def tell(self, frames: list[Frame]) -> None:
        """Frames that have been written, for everybody who listens."""
        async with self._told:
            self.frames.extend(frames)
            self._told.notify_all()

    async def idle(self) -> None:
        async with self._told:
            self._told.notify_all()

    async def after(self, seq: int) -> AsyncIterator[list[Frame]]:
        """The frames that came since this session is live, in batches, until nothing is under way."""
        while True:
            async with self._told:
                while self._newest() <= seq and not self.quiet:
                    await self._told.wait()
                batch = self.frames[max(0, seq - self.first_seq + 1) :]
            if not batch:
                return
            seq = batch[-1].seq
            yield batch

    def _newest(self) -> int:
        return self.frames[-1].seq if self.frames else self.first_seq - 1

    @property
    def quiet(self) -> bool:
        """Nothing is under way, and everything that happened has been told."""
        return not self.driving and not self.outbox and self._newest() == self.seq

    @property
    def forgotten(self) -> bool:
        return self.quiet and self._listeners == 0

    # -- what a person does ------------------------------------------------------------------

    async def challenge(self, persona: str, text: str) -> AsyncIterator[Word | Replied | NotReplied]:
        """The reply, as it comes. Leaving it before its end withdraws the challenge."""
        floor: asyncio.Queue[Word | Replied | NotReplied] = asyncio.Queue()
        before, self._floor = self._floor, floor
        try:
            await self.runner.put(ChallengeMade(persona, text))
        except MootError:
            self._floor = before
            raise
        if before is not None:
            before.put_nowait(NotReplied("", "another challenge was made before the reply was complete"))
        self.drive()
        ended = False
        try:
            while not ended:
                heard = await floor.get()
                ended = not isinstance(heard, Word)
                yield heard
        finally:
            if self._floor is floor:
                self._floor = None
                if not ended and self.state.advisor(persona).challenged:
                    # In a task of its own: whoever left takes the task that served them along.
                    withdrawing = asyncio.create_task(self.runner.put(ChallengeWithdrawn(persona)))
                    self._farewells.add(withdrawing)
                    withdrawing.add_done_callback(self._farewells.discard)

    async def brief(self) -> BoardState:
        """The state once there is a brief that is up to date, or one has failed."""
        if self.state.step is Step.REVIEW:
            await self.runner.put(BriefRequested())
        while self.state.step is Step.BRIEF:
            self.drive()
            changed = asyncio.get_running_loop().create_future()
            self._watchers.append(changed)
            await changed
            if not self.driving:
                break
        return self.state

    async def questions(self) -> BoardState:
        """The state once the probing questions have been drafted, or could not be."""
        self.drive()
        if self._driving is not None:
            await self._driving
        return self.state


class Engine:
    """All live sessions of this process, and the one writer of their frames."""

    def __init__(self, store: Store, speak_for: Callable[[str], tuple[Speak, bool]], grace: float) -> None:
        """`speak_for` makes a session's performer from its model's name, and says whether that is tiny."""
        self._store = store
        self._speak_for = speak_for
        self.grace = grace
        self._live: dict[str, Live] = {}
        self._opening: dict[str, asyncio.Lock] = {}
        self._something = asyncio.Event()
        self._writer: asyncio.Task[None] | None = None
        self._closing = False

    @property
    def running(self) -> bool:
        """Whether what happens is written down and told."""
        return self._writer is not None and not self._writer.done()

    async def start(self) -> None:
        self._writer = asyncio.create_task(self._write())

    async def close(self) -> None:
        self._closing = True
        for live in list(self._live.values()):
            await live.rest()
        if self._writer is not None:
            self._writer.cancel()
            await asyncio.gather(self._writer, return_exceptions=True)
        await self._flush()

    async def convene(self, opening: list[BoardEvent]) -> Live:
        """A new, stored session."""
        state = BOARD.fold(opening)
        speak, tiny = self._speak_for(state.model)
        bodies = [BOARD.encode(event) for event in opening]
        session = await self._store.create(BOARD.name, state.decision, bodies)
        live = await self._made(session, speak)
        live.outbox.session_started(session.id, live.state, tiny=tiny)
        return live

    async def live(self, session: Session, model: str) -> Live:
        """A stored session, taken up where its log ends."""
        lock = self._opening.setdefault(session.id, asyncio.Lock())
        async with lock:
            found = self._live.get(session.id)
            if found is not None:
                return found
            speak, _ = self._speak_for(model)
            live = await self._made(session, speak)
            told = await self._store.frames(session.id)
            live.seq = told[-1].seq if told else 0
            live.first_seq = live.seq + 1
            live.outbox = missing(live.state, [msgspec.json.decode(frame.body) for frame in told])
            self._something.set()
            return live

    async def _made(self, session: Session, speak: Speak) -> Live:
        live = Live(StoredLog(self._store, session.id, BOARD), speak, session)
        live.wake = self._something.set
        await live.resume()
        self._live[session.id] = live
        return live

    async def detached(self, events: list[BoardEvent], model: str) -> Live:
        """A conversation that is not stored: the same flow, a log in memory."""
        speak, _ = self._speak_for(model)
        live = Live(MemoryLog(events), speak, None)
        await live.resume()
        return live

    def found(self, session_id: str) -> Live | None:
        """A session that is in memory already."""
        return self._live.get(session_id)

    async def forget(self, session_id: str) -> None:
        live = self._live.pop(session_id, None)
        if live is not None:
            await live.rest()

    async def stream(self, live: Live, after: int) -> AsyncIterator[list[Frame]]:
        """All frames of a session above `after`, then those to come, until nothing is under way."""
        assert live.session is not None
        async with live.listening(self.grace):
            if after < live.first_seq - 1:
                old = [f for f in await self._store.frames(live.session.id, after) if f.seq < live.first_seq]
                if old:
                    yield old
                after = live.first_seq - 1
            async for batch in live.after(after):
                yield batch

    async def _write(self) -> None:
        """At most every 16 ms, one transaction for what all sessions tell; after a silence, at once. A busy
        process writes less often, so that writing takes no more than about half of its time."""
        loop = asyncio.get_running_loop()
        next_flush = loop.time()
        while True:
            await self._something.wait()
            await asyncio.sleep(max(0.0, next_flush - loop.time()))
            self._something.clear()
            began = loop.time()
            await self._flush()
            ended = loop.time()
            next_flush = ended + min(max(FRAME_SECONDS, ended - began), BUSY_FRAME_SECONDS)

    async def _flush(self) -> None:
        due: list[tuple[Live, list[Frame]]] = []
        for live in list(self._live.values()):
            assert live.session is not None
            if live.outbox:
                frames = [
                    Frame(live.session.id, seq, body)
                    for seq, body in enumerate(live.outbox.take(), start=live.seq + 1)
                ]
                live.seq += len(frames)
                due.append((live, frames))
        for live, frames in await self._written(due):
            await live.tell(frames)
        for live in list(self._live.values()):
            if live.quiet and not live.noted_quiet:
                live.noted_quiet = True
                await live.idle()
                asyncio.get_running_loop().call_later(KEEP_SECONDS, self._drop, live)

    async def _written(self, due: list[tuple[Live, list[Frame]]]) -> list[tuple[Live, list[Frame]]]:
        """What could be written. A database that is away is waited for: nothing is told unwritten."""
        if not due:
            return []
        while True:
            try:
                await self._store.append_frames([frame for _, frames in due for frame in frames])
            except SessionMoved:
                if len(due) > 1:
                    return [one for each in due for one in await self._written([each])]
                # Another process drives this session now: this one lets go of it.
                live, _ = due[0]
                assert live.session is not None
                self._live.pop(live.session.id, None)
                await live.rest()
                live.seq = live.first_seq - 1 + len(live.frames)
                await live.idle()
                return []
            except MootError:
                if self._closing:
                    return []
                await asyncio.sleep(RETRY_SECONDS)
            else:
                return due

    def _drop(self, live: Live) -> None:
        assert live.session is not None
        if live.forgotten and self._live.get(live.session.id) is live:
            del self._live[live.session.id]
