"""The loop in which a flow, models and people meet.

It keeps the world in line with what the flow asks for: whatever `pending` names and is not under way is
begun, whatever is under way and no longer named is cancelled. Each outcome becomes an event, is folded in,
and is in the log before anybody hears of it. Others may add to the same log: their events are folded in as if
they had come from here. The runner decides nothing, and knows neither HTTP nor a terminal.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from moot.core.flow import (
    AskPerson,
    Effect,
    Event,
    Flow,
    ModelEffect,
    Outcome,
    PersonAnswered,
    PersonGave,
    Replaced,
    Task,
)
from moot.errors import (
    FileDamaged,
    InvalidInput,
    MootError,
    SessionMoved,
    StoreFailed,
    UserMistake,
)
from moot.store.sessions import Store
from moot.telemetry import driving
from moot.text.characters import strip_controls

S = TypeVar("S")
E = TypeVar("E", bound=Event)


# -- who takes part ------------------------------------------------------------------------------


class UserQuit(Exception):
    """The person leaves; everything so far is kept. Raised by a `Person`."""

    def __init__(self, *, interrupted: bool = False) -> None:
        super().__init__()
        self.interrupted = interrupted


class Person(Protocol):
    """Whoever answers for the person: a terminal, a list of replies, later a browser. `problem` says why the
    answer before was not taken."""

    async def answer(self, ask: AskPerson, problem: str | None) -> PersonAnswered | PersonGave: ...


@runtime_checkable
class Interrupter(Person, Protocol):
    """A person who can say something while others speak. Waits for as long as they say nothing. An answer
    that is not taken is theirs again: it is for whoever asks the person next at the same step."""

    async def interrupt(self, ask: AskPerson, problem: str | None) -> PersonAnswered | PersonGave: ...


class Listener(Protocol):
    """Told what happens, as it happens, on the loop's thread. Must not block."""

    def began(self, effect: ModelEffect, attempt: int) -> None:
        """A model has been asked. Words of different attempts are never to be joined."""

    def said(self, effect: ModelEffect, attempt: int, text: str) -> None: ...

    def waits(self, effect: ModelEffect, seconds: float, why: MootError) -> None:
        """The provider failed and will be asked again in so many seconds."""

    def looks(self, effect: ModelEffect, attempt: int, what: str) -> None:
        """The model looks something up, such as "src/app.py, lines 1 to 80"."""

    def happened(self, event: Event) -> None:
        """An event is in the log."""


class Log(Protocol[E]):
    """Where a session's events are kept."""

    async def read(self) -> list[E]: ...

    def append(self, event: E) -> Coroutine[Any, Any, None]: ...


@runtime_checkable
class SharedLog(Log[E], Protocol[E]):
    """One that others may add to. `append` raises SessionMoved where they did: then `news` has what they
    added since the log was last read or added to from here. `keep` is for what an effect led to: it raises
    also where somebody else performs the session's effects by now."""

    seq: int
    """The number of the newest event that is known here."""
    driving: bool
    """Whether others could drive the session too, and only one may."""

    async def news(self) -> list[E]:
        """Raises LogReplaced where what was read before is there no longer."""
        ...

    def keep(self, event: E) -> Coroutine[Any, Any, None]: ...


class LogReplaced(Exception):
    """A log that others have changed in another way than by adding to it. `events` is all of it, as it is
    now."""

    def __init__(self, events: list[Any]) -> None:
        super().__init__()
        self.events = events


class StoredLog(Generic[E]):
    """A session's log in the store."""

    def __init__(self, store: Store, session_id: str, flow: Flow[Any, E]) -> None:
        self._store = store
        self._session_id = session_id
        self._flow = flow
        self.seq = 0
        self.driving = False

    async def read(self) -> list[E]:
        self.seq = 0
        return await self.news()

    async def news(self) -> list[E]:
        logged = await self._store.events(self._session_id, after=self.seq)
        self.seq = logged[-1].seq if logged else self.seq
        # One that is about files has a first entry without words.
        return [self._flow.decode_stored(entry.body) for entry in logged if entry.body]

    async def append(self, event: E) -> None:
        await self._store.append(self._session_id, self.seq + 1, self._flow.encode(event))
        self.seq += 1

    async def keep(self, event: E) -> None:
        body = self._flow.encode(event)
        await self._store.append(self._session_id, self.seq + 1, body, driving=self.driving)
        self.seq += 1


async def _to_the_end(writing: Coroutine[Any, Any, None]) -> asyncio.CancelledError | None:
    """Waits for a write even when cancelled: what is being logged is either logged or failed, and known. The
    cancellation is for the caller to raise, once it has taken note."""
    task = asyncio.ensure_future(writing)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as cancel:
            cancelled = cancel
    task.result()
    return cancelled


def _cleaned(said: PersonAnswered | PersonGave) -> PersonAnswered | PersonGave:
    if isinstance(said, PersonAnswered):
        return replace(said, text=strip_controls(said.text))
    return (
        said
        if said.then is None
        else replace(said, then=replace(said.then, text=strip_controls(said.then.text)))
    )


def _parted(outcome: Outcome) -> tuple[tuple[Any, ...], Outcome | None]:
    """What the person gives to know, and what they answer, if they do."""
    return (outcome.events, outcome.then) if isinstance(outcome, PersonGave) else ((), outcome)


def _same(event: E) -> E:
    return event


# -- the loop ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Speech:
    """How a model is heard while it speaks."""

    said: Callable[[str], None]
    waits: Callable[[float, MootError], None]
    looks: Callable[[str], None] = lambda _: None
    again: Callable[[], None] = lambda: None
    """What was said so far is no part of the reply, which begins only now."""


Speak = Callable[[ModelEffect, Any, Speech], Awaitable[Outcome]]
"""Lets a model speak or draft: (effect, state, speech) → outcome."""

Work = Callable[[Task[Any], Any], Awaitable[Outcome]]
"""Does what a flow asks of the program itself: (effect, state) → outcome."""


Away = Callable[[StoreFailed], Awaitable[None]]
"""Waits before the log is tried again."""


class _NoLongerWanted(Exception):
    """What was performed is not asked for any more."""


async def no_work(effect: Task[Any], _state: Any) -> Outcome:
    raise AssertionError(f"nobody carries out {effect}")


@dataclass(frozen=True)
class Participants:
    """Who takes part in a session: models, whoever is told, the person, and the program's own hands."""

    speak: Speak
    listener: Listener
    person: Person | None = None
    work: Work = no_work
    away: Away | None = None


async def open_session(flow: Flow[S, E], log: Log[E], participants: Participants, name: str) -> Runner[S, E]:
    """The one way to run a session of any format, on any surface: from where its log ends. `name` is what
    it is reported by."""
    runner = Runner(flow, log, participants, name)
    await runner.resume()
    return runner


class Runner(Generic[S, E]):
    """Drives one session; made by `open_session`. `run` ends when the flow asks for nothing more or the
    person leaves; cancelling it closes every stream. Either way, everything that was complete is in the log.

    Without a `person`, what the flow asks of one is left open: events that come from outside, by `put`, take
    the place of answers, and `run` ends when nothing but the person is waited for.

    With `away`, a log that cannot be written is waited for: what a model has said to its end has been paid
    for. Without, that ends the run."""

    def __init__(self, flow: Flow[S, E], log: Log[E], participants: Participants, name: str = "") -> None:
        self.state = flow.initial
        self.left: UserQuit | None = None
        self.catching_up = False
        """While this is so, what the listener is told has happened was added to the log by others."""
        self.flow = flow
        self._log = log
        self._name = name
        self.speak = participants.speak
        self.work = participants.work
        self._away = participants.away
        self.person = participants.person
        self._listener = participants.listener
        self._under_way: dict[Effect, asyncio.Task[Outcome]] = {}
        self._attempts = itertools.count(1)
        self._putting = asyncio.Lock()
        self._moved: asyncio.Future[None] | None = None
        """While this runs: done once there is an event that was not taken up yet."""

    async def resume(self) -> S:
        """Folds what is in the log. Call it once, before anything else."""
        self.state = self.flow.fold(await self._log.read())
        return self.state

    async def put(self, event: E) -> None:
        """Folds in and logs one event; an illegal one raises and changes nothing. A `run` under way takes it
        up at once."""
        async with self._putting:
            await self._put(lambda: event, self._log.append)

    async def catch_up(self) -> None:
        """Folds in what others have added to the log. A `run` under way takes it up at once."""
        async with self._putting:
            await self._catch_up()

    async def _put(self, make: Callable[[], E], write: Callable[[E], Coroutine[Any, Any, None]]) -> None:
        """`make` is asked again for the event when others were faster, because the state is another then."""
        while True:
            event = make()
            state = self.flow.advance(self.state, event)
            try:
                cancelled = await _to_the_end(write(event))
            except SessionMoved:
                if not await self._catch_up():
                    raise
                continue
            self._fold_in(event, state)
            if cancelled is not None:
                raise cancelled
            return

    async def _catch_up(self) -> bool:
        """Whether there was anything new."""
        if not isinstance(self._log, SharedLog):
            return False
        try:
            news: list[E] = await self._log.news()
        except LogReplaced as replaced:
            self._fold_in(Replaced(), self.flow.fold(replaced.events))
            return True
        self.catching_up = True
        try:
            for event in news:
                self._fold_in(event, self.flow.advance(self.state, event))
        except UserMistake as mistake:
            raise FileDamaged("the session's log", f"has an event that does not fit: {mistake}") from mistake
        finally:
            self.catching_up = False
        return bool(news)

    def _fold_in(self, event: Event, state: S) -> None:
        self.state = state
        if self._moved is not None and not self._moved.done():
            self._moved.set_result(None)
        self._listener.happened(event)

    async def run(self) -> S:
        with driving(self._name):
            return await self._run()

    async def _run(self) -> S:
        try:
            while wanted := self.pending():
                self._moved = asyncio.get_running_loop().create_future()
                await self._keep_only(wanted)
                for effect in wanted:
                    if effect not in self._under_way:
                        self._under_way[effect] = asyncio.create_task(self._perform(effect, None))
                # Until an effect has led to something, or an event has come from outside.
                waited_for: list[asyncio.Future[Any]] = [*self._under_way.values(), self._moved]
                await asyncio.wait(waited_for, return_when=asyncio.FIRST_COMPLETED)
                # In the flow's order, so that a run can be told from its log alone.
                for effect in wanted:
                    if self._under_way[effect].done():
                        await self._settle_patiently(effect)
        except UserQuit as left:
            self.left = left
        finally:
            await self._put_away()
        return self.state

    def pending(self) -> tuple[Effect, ...]:
        """What would be under way if this ran: what nobody is there to be asked does not count."""
        pending = self.flow.pending(self.state)
        return tuple(effect for effect in pending if not isinstance(effect, AskPerson) or self._hears(effect))

    def _hears(self, ask: AskPerson) -> bool:
        if ask.interrupting:
            return isinstance(self.person, Interrupter)
        return self.person is not None

    async def _settle(self, effect: Effect) -> None:
        """Turns what an effect led to into an event, unless the flow no longer asks for it by now. An answer
        that the flow refuses is asked for again. What cannot be logged stays under way, complete."""
        task = self._under_way[effect]
        if task.cancelled() or task.exception() is not None:
            del self._under_way[effect]
        given, answer = _parted(task.result())

        def event() -> E:
            if effect not in self.pending():
                raise _NoLongerWanted
            assert answer is not None
            return self.flow.record(self.state, effect, answer)

        # What a person says counts wherever they say it; what models say, only where the session is driven.
        write = self._log.append
        if isinstance(self._log, SharedLog) and not isinstance(effect, AskPerson):
            write = self._log.keep
        async with self._putting:
            try:
                for each in given:
                    await self._put(partial(_same, each), write)
                if answer is not None:
                    await self._put(event, write)
            except _NoLongerWanted:
                pass
            except InvalidInput as refused:
                if not isinstance(answer, PersonAnswered):
                    raise
                self._under_way[effect] = asyncio.create_task(self._perform(effect, str(refused)))
                return
        del self._under_way[effect]

    async def _settle_patiently(self, effect: Effect) -> None:
        while True:
            try:
                return await self._settle(effect)
            except StoreFailed as failed:
                if self._away is None:
                    raise
                await self._away(failed)

    async def _put_away(self) -> None:
        """Leaves nothing running, and nothing that was complete unlogged, as far as that is possible."""
        complete = [
            effect
            for effect, task in self._under_way.items()
            if task.done() and not task.cancelled() and task.exception() is None
        ]
        try:
            for effect in complete:
                await self._settle(effect)
        finally:
            await self._keep_only(())

    async def _perform(self, effect: Effect, problem: str | None) -> Outcome:
        match effect:
            case AskPerson(interrupting=True):
                assert isinstance(self.person, Interrupter)
                return _cleaned(await self.person.interrupt(effect, problem))
            case AskPerson():
                assert self.person is not None
                return _cleaned(await self.person.answer(effect, problem))
            case Task():
                return await self.work(effect, self.state)
            case _:
                attempt = next(self._attempts)
                self._listener.began(effect, attempt)
                speech = Speech(
                    said=lambda text: self._listener.said(effect, attempt, text),
                    waits=lambda seconds, why: self._listener.waits(effect, seconds, why),
                    looks=lambda what: self._listener.looks(effect, attempt, what),
                    again=lambda: self._listener.began(effect, attempt),
                )
                return await self.speak(effect, self.state, speech)

    async def _keep_only(self, wanted: tuple[Effect, ...]) -> None:
        """Cancels what nobody asks for any more, and waits until it has let go."""
        unwanted = [effect for effect in self._under_way if effect not in wanted]
        tasks = [self._under_way.pop(effect) for effect in unwanted]
        for task in tasks:
            task.cancel()
        for result in await asyncio.gather(*tasks, return_exceptions=True):
            # What a cancelled task says on its way out is of no interest, unless it is a mistake of ours.
            if isinstance(result, Exception) and not isinstance(result, MootError | UserQuit):
                raise result
