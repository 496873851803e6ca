"""The loop, driven with a flow of its own: several personas speak at once, and one can be called off."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

import pytest

import moot
from moot.core.flow import (
    AskPerson,
    AskPersona,
    Effect,
    Event,
    Flow,
    ModelEffect,
    Outcome,
    PersonaFailed,
    PersonAnswered,
    PersonaSpoke,
    Usage,
)
from moot.core.runner import Participants, Runner, Speech, StoredLog, UserQuit
from moot.errors import FileDamaged, InvalidInput, MootError, ProviderDown, SessionMoved, StoreFailed
from moot.store.database import sqlite_url
from moot.store.sessions import open_store

BILL = Usage("scripted", 1, 1, None, 1)


async def forever() -> NoReturn:
    await asyncio.get_running_loop().create_future()
    raise AssertionError


class Spoke(Event, frozen=True):
    persona: str
    text: str


class Failed(Event, frozen=True):
    persona: str


class CalledOff(Event, frozen=True):
    persona: str


PanelEvent = Spoke | Failed | CalledOff


@dataclass(frozen=True)
class PanelState:
    waiting: tuple[str, ...] = ("ann", "bob")
    said: tuple[str, ...] = ()
    asks_person: bool = False
    called_off: int = 0


def advance(state: PanelState, event: PanelEvent) -> PanelState:
    if isinstance(event, CalledOff) and event.persona not in (*state.waiting, "nobody"):
        raise InvalidInput("persona", f"{event.persona} is not speaking")
    waiting = tuple(persona for persona in state.waiting if persona != event.persona)
    said = (*state.said, event.text) if isinstance(event, Spoke) else state.said
    called_off = state.called_off + isinstance(event, CalledOff)
    return replace(state, waiting=waiting, said=said, called_off=called_off)


def pending(state: PanelState) -> tuple[Effect, ...]:
    asked: tuple[Effect, ...] = tuple(AskPersona(persona, "p", "1") for persona in state.waiting)
    if state.asks_person and state.waiting:
        asked = (*asked, AskPerson("floor", "whom to call off", str(state.called_off), free_text=True))
    return asked


def record(_: PanelState, effect: Effect, outcome: Outcome) -> PanelEvent:
    match effect, outcome:
        case AskPersona(persona), PersonaSpoke(text):
            return Spoke(persona, text)
        case AskPersona(persona), PersonaFailed():
            return Failed(persona)
        case _, PersonAnswered(text):
            return CalledOff(text)
        case _:
            raise AssertionError


def panel(
    *, asks_person: bool = False, waiting: tuple[str, ...] = ("ann", "bob")
) -> Flow[PanelState, PanelEvent]:
    initial = PanelState(waiting=waiting, asks_person=asks_person)
    return Flow("panel", initial, PanelEvent, advance, pending, record)


@dataclass
class ListLog:
    events: list[PanelEvent] = field(default_factory=list)

    async def read(self) -> list[PanelEvent]:
        return list(self.events)

    async def append(self, event: PanelEvent) -> None:
        self.events.append(event)


@dataclass
class Heard:
    log: ListLog
    notes: list[str] = field(default_factory=list)
    on_event: Callable[[], None] = lambda: None

    def began(self, effect: ModelEffect, attempt: int) -> None:
        self.notes.append(f"{_who(effect)} began {attempt}")

    def said(self, effect: ModelEffect, attempt: int, text: str) -> None:
        self.notes.append(f"{_who(effect)} {attempt}: {text}")

    def waits(self, effect: ModelEffect, seconds: float, why: MootError) -> None:
        self.notes.append(f"{_who(effect)} waits {seconds} {type(why).__name__}")

    def looks(self, effect: ModelEffect, attempt: int, what: str) -> None:
        self.notes.append(f"{_who(effect)} {attempt} looks: {what}")

    def happened(self, event: Event) -> None:
        assert self.log.events[-1] is event, "heard of before it was in the log"
        self.notes.append(type(event).__name__)
        self.on_event()


def _who(effect: ModelEffect) -> str:
    assert isinstance(effect, AskPersona)
    return effect.persona


class Answers:
    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.problems: list[str | None] = []

    async def answer(self, _: AskPerson, problem: str | None) -> PersonAnswered:
        self.problems.append(problem)
        if not self.answers:
            await forever()
        return PersonAnswered(self.answers.pop(0))


Speaker = Callable[[Any, Any, Speech], Any]


def runner_for(
    flow: Flow[PanelState, PanelEvent], speak: Speaker, person: Any = None, log: ListLog | None = None
) -> tuple[Runner[PanelState, PanelEvent], ListLog, Heard]:
    log = log or ListLog()
    heard = Heard(log)
    return Runner(flow, log, Participants(speak, heard, person or Answers())), log, heard


def test_independent_personas_speak_at_the_same_time() -> None:
    both_speak = asyncio.Barrier(2)

    async def speak(effect: AskPersona, _: Any, speech: Speech) -> Outcome:
        await both_speak.wait()
        speech.said(f"I am {effect.persona}")
        return PersonaSpoke(effect.persona, BILL)

    runner, log, heard = runner_for(panel(), speak)
    state = asyncio.run(asyncio.wait_for(runner.run(), 5))
    assert set(state.said) == {"ann", "bob"}
    assert {"ann began 1", "bob began 2", "ann 1: I am ann", "bob 2: I am bob"} <= set(heard.notes)
    assert len(log.events) == 2


def test_outcomes_of_one_moment_are_logged_in_the_flows_order() -> None:
    async def speak(effect: AskPersona, *_: Any) -> Outcome:
        return PersonaSpoke(effect.persona, BILL)

    runner, log, _ = runner_for(panel(waiting=("zoe", "ann", "bob")), speak)
    asyncio.run(runner.run())
    assert [event.persona for event in log.events] == ["zoe", "ann", "bob"]


def test_a_failed_persona_is_an_event_and_the_others_go_on() -> None:
    async def speak(effect: AskPersona, _: Any, speech: Speech) -> Outcome:
        if effect.persona == "ann":
            speech.waits(1.5, ProviderDown("m", "529"))
            return PersonaFailed("ProviderDown", "529")
        return PersonaSpoke("bob", BILL)

    runner, log, heard = runner_for(panel(), speak)
    asyncio.run(runner.run())
    assert log.events == [Failed("ann"), Spoke("bob", "bob")]
    assert "ann waits 1.5 ProviderDown" in heard.notes


def test_what_the_flow_no_longer_asks_for_is_cancelled_before_anything_else_happens() -> None:
    cancelled: list[str] = []
    ann_speaks = asyncio.Event()

    async def speak(effect: AskPersona, *_: Any) -> Outcome:
        if effect.persona == "bob":
            await ann_speaks.wait()
            return PersonaSpoke("bob", BILL)
        try:
            ann_speaks.set()
            return await forever()
        except asyncio.CancelledError:
            cancelled.append("ann")
            raise

    runner, log, _ = runner_for(panel(asks_person=True), speak, Answers("ann"))
    state = asyncio.run(asyncio.wait_for(runner.run(), 5))
    assert cancelled == ["ann"]
    assert CalledOff("ann") in log.events
    assert state.said == ("bob",)


def test_an_outcome_that_came_too_late_is_dropped() -> None:
    """Ann's reply and the wish to call her off are done in the same moment; the wish is asked for first."""

    def first_the_person(state: PanelState) -> tuple[Effect, ...]:
        return tuple(sorted(pending(state), key=lambda effect: isinstance(effect, AskPersona)))

    async def speak(effect: AskPersona, *_: Any) -> Outcome:
        return PersonaSpoke(effect.persona, BILL)

    flow = replace(panel(asks_person=True), pending=first_the_person)
    runner, log, _ = runner_for(flow, speak, Answers("ann"))
    asyncio.run(asyncio.wait_for(runner.run(), 5))
    assert log.events == [CalledOff("ann"), Spoke("bob", "bob")]


class Interrupting(Answers):
    """Says all that it says while others speak."""

    async def answer(self, *_: Any) -> PersonAnswered:
        raise AssertionError("nobody was asked")

    async def interrupt(self, ask: AskPerson, problem: str | None) -> PersonAnswered:
        return await Answers.answer(self, ask, problem)


def interruptible() -> Flow[PanelState, PanelEvent]:
    def meanwhile(state: PanelState) -> tuple[Effect, ...]:
        return tuple(
            replace(effect, interrupting=True) if isinstance(effect, AskPerson) else effect
            for effect in pending(state)
        )

    return replace(panel(asks_person=True), pending=meanwhile)


def test_who_can_interrupt_is_heard_while_others_speak() -> None:
    cancelled: list[str] = []

    async def speak(effect: AskPersona, *_: Any) -> Outcome:
        try:
            return await forever()
        finally:
            cancelled.append(effect.persona)

    # What a terminal would act on is no part of what was said.
    runner, log, _ = runner_for(interruptible(), speak, Interrupting("a\x1bn\x07n", "bob"))
    asyncio.run(asyncio.wait_for(runner.run(), 5))
    assert log.events == [CalledOff("ann"), CalledOff("bob")]
    assert sorted(cancelled) == ["ann", "bob"]


def test_who_cannot_interrupt_is_not_asked_while_others_speak() -> None:
    async def speak(effect: AskPersona, *_: Any) -> Outcome:
        return PersonaSpoke(effect.persona, BILL)

    person = Answers("ann")
    runner, log, _ = runner_for(interruptible(), speak, person)
    asyncio.run(asyncio.wait_for(runner.run(), 5))
    assert log.events == [Spoke("ann", "ann"), Spoke("bob", "bob")]
    assert person.problems == []


def test_an_answer_that_the_flow_refuses_is_asked_for_again_with_the_reason() -> None:
    released = asyncio.Event()
    person = Answers("carl", "ann", "bob")

    async def speak(*_: Any) -> Outcome:
        await released.wait()
        return PersonaSpoke("never", BILL)

    runner, log, _ = runner_for(panel(asks_person=True), speak, person)
    asyncio.run(asyncio.wait_for(runner.run(), 5))
    assert person.problems == [None, "persona: carl is not speaking", None]
    assert log.events == [CalledOff("ann"), CalledOff("bob")]


@pytest.mark.parametrize("interrupted", [False, True])
def test_a_person_who_leaves_stops_everything_and_keeps_what_was_complete(interrupted: bool) -> None:
    bob_is_logged = asyncio.Event()
    closed: list[str] = []

    async def speak(effect: AskPersona, *_: Any) -> Outcome:
        if effect.persona == "bob":
            return PersonaSpoke("bob", BILL)
        try:
            return await forever()
        finally:
            closed.append(effect.persona)

    class Leaving:
        async def answer(self, *_: Any) -> PersonAnswered:
            await bob_is_logged.wait()
            raise UserQuit(interrupted=interrupted)

    runner, log, heard = runner_for(panel(asks_person=True), speak, Leaving())
    heard.on_event = bob_is_logged.set
    state = asyncio.run(asyncio.wait_for(runner.run(), 5))
    assert runner.left is not None
    assert runner.left.interrupted is interrupted
    assert closed == ["ann"]
    assert log.events == [Spoke("bob", "bob")]
    assert state.waiting == ("ann",)


def test_cancelling_the_run_closes_every_stream() -> None:
    closed: list[str] = []
    speaking = asyncio.Barrier(3)

    async def speak(effect: AskPersona, *_: Any) -> Outcome:
        try:
            await speaking.wait()
            return await forever()
        finally:
            closed.append(effect.persona)

    async def main() -> None:
        runner, _, _ = runner_for(panel(), speak)
        task = asyncio.create_task(runner.run())
        await speaking.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(asyncio.wait_for(main(), 5))
    assert sorted(closed) == ["ann", "bob"]


def test_a_mistake_of_ours_is_not_hidden() -> None:
    async def speak(effect: AskPersona, *_: Any) -> Outcome:
        if effect.persona == "ann":
            raise ZeroDivisionError
        return await forever()

    runner, log, _ = runner_for(panel(), speak)
    with pytest.raises(ZeroDivisionError):
        asyncio.run(asyncio.wait_for(runner.run(), 5))
    assert log.events == []


def test_an_illegal_event_is_neither_folded_in_nor_logged() -> None:
    runner, log, heard = runner_for(panel(), Answers())  # type: ignore[arg-type]
    with pytest.raises(InvalidInput):
        asyncio.run(runner.put(CalledOff("carl")))
    assert (log.events, heard.notes, runner.state) == ([], [], panel().initial)


def test_what_was_complete_is_not_asked_again_after_a_restart() -> None:
    asked: list[str] = []

    async def speak(effect: AskPersona, *_: Any) -> Outcome:
        asked.append(effect.persona)
        return PersonaSpoke(effect.persona, BILL)

    runner, _, _ = runner_for(panel(), speak, log=ListLog([Spoke("ann", "I was here")]))

    async def main() -> PanelState:
        await runner.resume()
        return await runner.run()

    state = asyncio.run(main())
    assert asked == ["bob"]
    assert state.said == ("I was here", "bob")


def test_two_processes_never_interleave_one_session(tmp_path: Any) -> None:
    async def main() -> None:
        async with open_store(sqlite_url(tmp_path / "moot.db")) as store:
            session = await store.create("panel", "t")
            one = StoredLog(store, session.id, panel())
            other = StoredLog(store, session.id, panel())
            assert await one.read() == await other.read() == []
            await one.append(Spoke("ann", "first"))
            with pytest.raises(SessionMoved):
                await other.append(Spoke("ann", "second"))
            assert await other.read() == [Spoke("ann", "first")]
            await other.append(Failed("bob"))
            assert await one.read() == [Spoke("ann", "first"), Failed("bob")]

    asyncio.run(main())


def test_without_a_person_events_come_from_outside_and_are_taken_up_at_once() -> None:
    speaking = asyncio.Event()
    cancelled: list[str] = []

    async def speak(effect: ModelEffect, *_: Any) -> Outcome:
        try:
            speaking.set()
            return await forever()
        except asyncio.CancelledError:
            cancelled.append(_who(effect))
            raise

    async def main() -> PanelState:
        log = ListLog()
        runner = Runner(panel(asks_person=True), log, Participants(speak, Heard(log)))
        task = asyncio.create_task(runner.run())
        await speaking.wait()
        await runner.put(CalledOff("ann"))
        await runner.put(CalledOff("bob"))
        return await asyncio.wait_for(task, 5)

    assert asyncio.run(main()).waiting == ()
    assert sorted(cancelled) == ["ann", "bob"]


def test_what_is_complete_when_the_run_is_cancelled_is_still_logged() -> None:
    """Bob's reply is done in the same moment in which the run is cancelled."""

    async def main() -> list[PanelEvent]:
        log = ListLog()
        both = asyncio.Barrier(2)
        task: asyncio.Task[PanelState]

        async def speak(effect: ModelEffect, *_: Any) -> Outcome:
            await both.wait()
            if _who(effect) == "ann":
                return await forever()
            task.cancel()
            return PersonaSpoke("bob", BILL)

        runner = Runner(panel(), log, Participants(speak, Heard(log)))
        task = asyncio.create_task(runner.run())
        with pytest.raises(asyncio.CancelledError):
            await task
        return log.events

    assert asyncio.run(asyncio.wait_for(main(), 5)) == [Spoke("bob", "bob")]


def test_an_event_that_is_being_written_is_written_even_if_the_run_is_cancelled() -> None:
    async def main() -> tuple[list[PanelEvent], PanelState]:
        writing, may_finish = asyncio.Event(), asyncio.Event()

        class SlowLog(ListLog):
            async def append(self, event: PanelEvent) -> None:
                writing.set()
                await may_finish.wait()
                self.events.append(event)

        async def speak(*_: Any) -> Outcome:
            return PersonaSpoke("ann", BILL)

        log = SlowLog()
        runner = Runner(panel(waiting=("ann",)), log, Participants(speak, Heard(log)))
        task = asyncio.create_task(runner.run())
        await writing.wait()
        task.cancel()
        await asyncio.sleep(0)
        may_finish.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        return log.events, runner.state

    events, _ = asyncio.run(asyncio.wait_for(main(), 5))
    assert events == [Spoke("ann", "ann")]


def test_an_outcome_that_meets_an_event_from_outside_is_dropped_not_folded_in() -> None:
    async def main() -> list[PanelEvent]:
        writing, may_finish, ann_may_speak = asyncio.Event(), asyncio.Event(), asyncio.Event()

        class SlowLog(ListLog):
            async def append(self, event: PanelEvent) -> None:
                writing.set()
                await may_finish.wait()
                self.events.append(event)

        async def speak(effect: ModelEffect, *_: Any) -> Outcome:
            await ann_may_speak.wait()
            return PersonaSpoke(_who(effect), BILL)

        log = SlowLog()
        runner = Runner(panel(waiting=("ann",)), log, Participants(speak, Heard(log)))
        run = asyncio.create_task(runner.run())
        calling_off = asyncio.create_task(runner.put(CalledOff("ann")))
        await writing.wait()
        ann_may_speak.set()
        for _ in range(5):
            await asyncio.sleep(0)
        may_finish.set()
        await calling_off
        await run
        return log.events

    assert asyncio.run(asyncio.wait_for(main(), 5)) == [CalledOff("ann")]


# -- others add to the log -------------------------------------------------------------------------


class SharedList(ListLog):
    """A log to which others add; `known` is how much of it has been heard of here."""

    def __init__(self) -> None:
        super().__init__()
        self.known = 0
        self.seq = 0
        self.driving = True
        self.fails = 0
        self.driven_by_another = False

    def added_by_another(self, event: PanelEvent) -> None:
        self.events.append(event)

    async def append(self, event: PanelEvent) -> None:
        if self.fails:
            self.fails -= 1
            raise StoreFailed("the log", "no space left")
        if len(self.events) > self.known:
            raise SessionMoved("panel")
        self.events.append(event)
        self.known += 1

    async def keep(self, event: PanelEvent) -> None:
        if self.driven_by_another:
            raise SessionMoved("panel")
        await self.append(event)

    async def news(self) -> list[PanelEvent]:
        new = self.events[self.known :]
        self.known = len(self.events)
        return new


@dataclass
class Told:
    """Hears what happened, and whether it was others' doing."""

    runner: Runner[PanelState, PanelEvent] | None = None
    events: list[tuple[Event, bool]] = field(default_factory=list)

    def began(self, effect: ModelEffect, attempt: int) -> None: ...
    def said(self, effect: ModelEffect, attempt: int, text: str) -> None: ...
    def waits(self, effect: ModelEffect, seconds: float, why: MootError) -> None: ...
    def looks(self, effect: ModelEffect, attempt: int, what: str) -> None: ...

    def happened(self, event: Event) -> None:
        assert self.runner is not None
        self.events.append((event, self.runner.catching_up))


def shared_runner(
    log: SharedList, speak: Speaker, **more: Any
) -> tuple[Runner[PanelState, PanelEvent], Told]:
    told = Told()
    runner = Runner(panel(), log, Participants(speak, told, **more))
    told.runner = runner
    return runner, told


def test_what_others_added_is_folded_in_before_ones_own() -> None:
    log = SharedList()

    async def speak(effect: AskPersona, *_: Any) -> Outcome:
        if not log.events:
            log.added_by_another(CalledOff("nobody"))
        return PersonaSpoke(effect.persona, BILL)

    runner, told = shared_runner(log, speak)
    state = asyncio.run(asyncio.wait_for(runner.run(), 5))
    assert log.events == [CalledOff("nobody"), Spoke("ann", "ann"), Spoke("bob", "bob")]
    assert told.events == [
        (CalledOff("nobody"), True),
        (Spoke("ann", "ann"), False),
        (Spoke("bob", "bob"), False),
    ]
    assert (state.said, state.called_off) == (("ann", "bob"), 1)


def test_what_is_no_longer_asked_for_since_others_added_is_dropped() -> None:
    log = SharedList()

    async def speak(effect: AskPersona, *_: Any) -> Outcome:
        if effect.persona == "ann":
            log.added_by_another(Spoke("ann", "faster"))
        return PersonaSpoke(effect.persona, BILL)

    runner, _ = shared_runner(log, speak)
    state = asyncio.run(asyncio.wait_for(runner.run(), 5))
    assert log.events == [Spoke("ann", "faster"), Spoke("bob", "bob")]
    assert state.said == ("faster", "bob")


def test_an_event_of_a_person_that_is_no_longer_legal_is_refused() -> None:
    log = SharedList()
    runner, _ = shared_runner(log, Answers())  # type: ignore[arg-type]
    log.added_by_another(Spoke("ann", "faster"))
    with pytest.raises(InvalidInput, match="ann is not speaking"):
        asyncio.run(runner.put(CalledOff("ann")))
    assert log.events == [Spoke("ann", "faster")]
    assert runner.state.said == ("faster",)


def test_what_a_model_said_is_not_logged_where_another_drives_by_now() -> None:
    log = SharedList()
    log.driven_by_another = True

    async def speak(effect: AskPersona, *_: Any) -> Outcome:
        return PersonaSpoke(effect.persona, BILL)

    runner, told = shared_runner(log, speak)
    with pytest.raises(SessionMoved):
        asyncio.run(asyncio.wait_for(runner.run(), 5))
    assert (log.events, told.events) == ([], [])
    # What a person does may come from anywhere.
    asyncio.run(runner.put(CalledOff("ann")))
    assert log.events == [CalledOff("ann")]


def test_catching_up_begins_and_cancels_at_once() -> None:
    log = SharedList()
    cancelled: list[str] = []

    async def main() -> PanelState:
        speaking = asyncio.Barrier(3)

        async def speak(effect: AskPersona, *_: Any) -> Outcome:
            try:
                await speaking.wait()
                return await forever()
            except asyncio.CancelledError:
                cancelled.append(effect.persona)
                raise

        runner, _ = shared_runner(log, speak)
        run = asyncio.create_task(runner.run())
        await speaking.wait()
        log.added_by_another(CalledOff("ann"))
        log.added_by_another(CalledOff("bob"))
        await runner.catch_up()
        return await run

    assert asyncio.run(asyncio.wait_for(main(), 5)).waiting == ()
    assert sorted(cancelled) == ["ann", "bob"]


def test_a_log_with_an_event_that_does_not_fit_is_damaged() -> None:
    log = SharedList()
    runner, _ = shared_runner(log, Answers())  # type: ignore[arg-type]
    log.added_by_another(CalledOff("carl"))
    with pytest.raises(FileDamaged, match="carl is not speaking"):
        asyncio.run(runner.put(CalledOff("ann")))


def test_a_log_that_cannot_be_written_is_waited_for_with_what_a_model_said() -> None:
    log = SharedList()
    log.fails = 3
    asked: list[str] = []
    waited: list[str] = []

    async def speak(effect: AskPersona, *_: Any) -> Outcome:
        asked.append(effect.persona)
        return PersonaSpoke(effect.persona, BILL)

    async def away(failed: StoreFailed) -> None:
        waited.append(failed.problem)

    runner, _ = shared_runner(log, speak, away=away)
    asyncio.run(asyncio.wait_for(runner.run(), 5))
    assert log.events == [Spoke("ann", "ann"), Spoke("bob", "bob")]
    assert sorted(asked) == ["ann", "bob"], "what was said to its end is not asked for again"
    assert waited == ["no space left"] * 3
    log.fails = 1
    with pytest.raises(StoreFailed):
        asyncio.run(runner.put(CalledOff("nobody")))


def test_a_run_that_waits_for_its_log_can_be_cancelled() -> None:
    log = SharedList()
    log.fails = 10**6

    async def main() -> None:
        waiting = asyncio.Event()

        async def speak(effect: AskPersona, *_: Any) -> Outcome:
            return PersonaSpoke("ann", BILL) if effect.persona == "ann" else await forever()

        async def away(_: StoreFailed) -> None:
            waiting.set()
            await forever()

        runner, _ = shared_runner(log, speak, away=away)
        run = asyncio.create_task(runner.run())
        await waiting.wait()
        run.cancel()
        with pytest.raises(StoreFailed):
            await run

    asyncio.run(asyncio.wait_for(main(), 5))
    assert log.events == []


def test_sessions_are_opened_in_one_place_only() -> None:
    source = Path(moot.__file__).parent
    makers = {
        str(file.relative_to(source))
        for file in source.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Runner"
    }
    assert makers == {"core/runner.py"}
