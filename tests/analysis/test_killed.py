"""Killed at any moment, an analysis goes on to the very transcript, artifacts and meta.json of an undisturbed
one, and nobody who had answered is asked again."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from moot.analysis import service, tasks
from moot.analysis.events import AnalysisEvent, AnalysisOpened, StepRef
from moot.analysis.flow import ANALYSIS
from moot.analysis.service import Analyses
from moot.analysis.state import AnalysisState, Step
from moot.analysis.steps import load_steps
from moot.analysis.tasks import Work
from moot.app import Moot, Options, opened
from moot.core import model_effects
from moot.core.flow import (
    AskPerson,
    AskPersona,
    DraftReply,
    Effect,
    Event,
    ModelEffect,
    Outcome,
    PersonAnswered,
    PersonaSpoke,
    Task,
    Usage,
)
from moot.core.runner import UserQuit
from moot.files import atomic
from moot.llm.messages import OnText, Tokens
from moot.llm.model import Model
from moot.llm.names import Choice, ModelName
from moot.llm.prices import FREE
from moot.llm.protocol import Call, Turn
from tests.analysis.test_flow import BILL, VOICES, Play, assessed, done, replied
from tests.support.analysis import reply

ONE_PER_PHASE = ("00-01", "01-07", "01-08", "02-01", "03-01", "04-01")
AT = "2026-02-20T14:30:00.000Z"


class Fast(atomic.Disk):
    def fsync(self, handle: int) -> None:
        pass

    def fsync_dir(self, folder: Path) -> None:
        pass


class Players:
    """The model and the person. Both answer by what they are asked, never by how often."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.asked: list[tuple[str, str]] = []
        self.state: AnalysisState = ANALYSIS.initial

    async def prepare(self) -> None:
        pass

    async def exchange(self, call: Call, hear: OnText) -> Turn:
        del hear
        self.calls.append(call)
        said = "\n".join([call.system, *(str(getattr(m, "text", "")) for m in call.messages)])
        schema: Any = call.schema.json_schema if call.schema else None
        return Turn(reply(call.system, said, schema), Tokens(1, 2), "end")

    async def close(self) -> None:
        """Nothing is open."""

    async def answer(self, ask: AskPerson, problem: str | None) -> PersonAnswered:
        assert problem is None
        self.asked.append((ask.step, ask.key))
        state = self.state
        step = state.current.ref.id if state.current else ""
        if ask.step == "roundtable":
            assert state.roundtable is not None
            said = PersonAnswered("Alex, what about conflicts?")
            return (said, PersonAnswered(choice="listen"), PersonAnswered(choice="done"))[
                state.roundtable.answers
            ]
        if ask.step != "menu":
            return PersonAnswered("People on trains, about twenty of them.")
        if step == "00-01" and not state.done[-1].feedback:
            return PersonAnswered("You forgot the tunnels.")
        held = [elaboration.step for elaboration in state.elaborations]
        elaborates = step in ("00-01", "01-07") and step not in held
        return PersonAnswered(choice="elaborate" if elaborates else "continue")


@dataclass(frozen=True)
class Moment:
    """What a process that is killed now leaves behind; how many calls and answers it had by then."""

    folder: Path
    calls: int
    answers: int
    what: str


class World:
    """A workspace in which one process after the other works on the same item."""

    def __init__(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = place / "reader"
        (self.root / "src").mkdir(parents=True)
        (self.root / "src" / "sync.py").write_text("def sync_offline(): ...\n", encoding="utf-8")
        self.item = self.root / "moot" / "items" / "offline-mode"
        self.moments: list[Moment] = []
        self.loop = asyncio.Runner()
        self._stack = AsyncExitStack()
        options = Options(workspace=self.root)
        opening = self._stack.enter_async_context(opened(options, env={"PATH": "/usr/bin:/bin"}))
        self.moot = self.loop.run(opening)
        self._place = place
        self._recording: Players | None = None
        carry_out = Work.carry_out

        async def watched(work: Work, task: Task[Any], state: AnalysisState) -> Outcome:
            outcome = await carry_out(work, task, state)
            self.remember(f"{task} done, not logged")
            return outcome

        monkeypatch.setattr(Work, "carry_out", watched)

    def close(self) -> None:
        self.loop.run(self._stack.aclose())
        self.loop.close()

    def remember(self, what: str) -> None:
        if self._recording is not None:
            folder = self._place / f"moment-{len(self.moments)}"
            shutil.copytree(self.item, folder)
            asked = self._recording
            self.moments.append(Moment(folder, len(asked.calls), len(asked.asked), what))

    def files(self, folder: Path | None = None) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in sorted((folder or self.item).iterdir())}

    def restore(self, moment: Moment, more: bytes = b"") -> None:
        shutil.rmtree(self.item)
        shutil.copytree(moment.folder, self.item)
        with (self.item / "session.jsonl").open("ab") as log:
            log.write(more)

    def run(self, *, recording: bool = False, events: int | None = None) -> Players:
        """As a process of its own would: all that it has is the files. It may stop after some events."""
        players = Players()
        self._recording = players if recording else None
        self.loop.run(self._run(players, events))
        return players

    async def _run(self, players: Players, events: int | None) -> None:
        _with_model(self.moot, players)
        watcher = Watcher(self, players, events)
        analysis = await Analyses(self.moot).analysis("Offline mode", "", players, watcher, lambda _: None)
        watcher.follow(analysis)
        players.state = analysis.state
        await analysis.runner.run()


class Watcher:
    def __init__(self, world: World, players: Players, events: int | None) -> None:
        self._world = world
        self._players = players
        self._events_left = events
        self._analysis: service.Analysis | None = None

    def follow(self, analysis: service.Analysis) -> None:
        self._analysis = analysis

    def began(self, effect: ModelEffect, attempt: int) -> None: ...
    def said(self, effect: ModelEffect, attempt: int, text: str) -> None: ...
    def waits(self, effect: ModelEffect, seconds: float, why: Exception) -> None: ...

    def looks(self, effect: ModelEffect, attempt: int, what: str) -> None: ...

    def happened(self, event: Event) -> None:
        assert self._analysis is not None
        self._players.state = self._analysis.state
        self._world.remember(f"after {type(event).__name__}")
        if self._events_left is not None:
            self._events_left -= 1
            if self._events_left == 0:
                raise UserQuit


def _with_model(moot: Moot, players: Players) -> None:
    name = ModelName("openai", "scripted")
    model = Model(name, players, pricing=FREE)

    async def choice(_: object) -> Choice:
        return Choice(name, "the test says so")

    vars(moot).update(gateway=SimpleNamespace(choice=choice, named=lambda _: model))


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setattr(atomic, "disk", Fast())
    monkeypatch.setattr(tasks, "_now", lambda: AT)
    monkeypatch.setattr(model_effects, "bill", lambda *_: Usage("scripted", 1, 2, None, 7))

    # One of each phase, and those whose artifacts are no Markdown.
    steps = load_steps()
    chosen = tuple(replace(step, depends_on=()) for step in steps.steps if step.id in ONE_PER_PHASE)
    monkeypatch.setattr("moot.analysis.steps.load_steps", lambda *_, **__: replace(steps, steps=chosen))
    world = World(tmp_path, monkeypatch)
    yield world
    world.close()


def test_killed_at_any_event_it_goes_on_to_the_same_end_and_asks_nobody_twice(world: World) -> None:
    undisturbed = world.run(recording=True)
    assert undisturbed.state.step is Step.FINISHED
    whole = world.files()
    assert len(whole) > 7
    log = whole["session.jsonl"]
    assert log.count(b"RoundtableOpened") == log.count(b"ElaborationRecorded") == 2
    assert whole["meta.json"].count(AT.encode()) == 4, "when each was opened, and when it was written down"
    assert len(world.moments) > 60
    end = Moment(world.item, len(undisturbed.calls), len(undisturbed.asked), "the end")
    reached = {len(world.files(moment.folder)["session.jsonl"]): moment for moment in reversed(world.moments)}
    for number, moment in enumerate(world.moments):
        logged = (moment.folder / "session.jsonl").read_bytes()
        assert log.startswith(logged)
        following = log[len(logged) :].split(b"\n")[0]
        # All that a process has is the files: whoever comes to those of the next moments comes to the end.
        events = None if number % 8 == 0 else 2
        # In the middle of the line that would have been next, and with none of it.
        for cut in {0, len(following) // 2}:
            world.restore(moment, following[:cut])
            again = world.run(events=events)
            where = f"{moment.what}, {cut} bytes of the next"
            now = world.files()
            is_at_end = now["session.jsonl"] == log
            assert is_at_end or events, where
            at = end if is_at_end else reached[len(now["session.jsonl"])]
            assert now == (whole if is_at_end else world.files(at.folder)), where
            # What was done and not logged has been asked of the program only, and that is free.
            assert again.calls == undisturbed.calls[moment.calls : at.calls], where
            assert again.asked == undisturbed.asked[moment.answers : at.answers], where


def test_a_log_that_is_whole_needs_nobody(world: World) -> None:
    world.run()
    whole = world.files()
    again = world.run()
    assert (again.calls, again.asked, world.files()) == ([], [], whole)


def test_a_person_who_leaves_and_comes_back_at_every_question_sees_the_same_end(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.run()
    whole = world.files()
    shutil.rmtree(world.item)
    answer = Players.answer

    async def one_answer(players: Players, ask: AskPerson, problem: str | None) -> PersonAnswered:
        if players.asked:
            raise UserQuit
        return await answer(players, ask, problem)

    monkeypatch.setattr(Players, "answer", one_answer)
    visits = [world.run()]
    while visits[-1].state.step is not Step.FINISHED:
        assert visits[-1].asked, "every visit gets on"
        visits.append(world.run())
    assert len(visits) > 15
    after = world.files()
    metas = [json.loads(files.pop("meta.json")) | {"created_at": ""} for files in (whole, after)]
    assert metas[0] == metas[1]
    assert after == whole


# -- all 24 steps, as values ---------------------------------------------------------------------


def outcome_of(play: Play, effect: Effect) -> Outcome:
    """By what is asked alone."""
    state = play.state
    if state.step is Step.ROUNDTABLE:
        return play._at_table(effect, ("Alex, what about conflicts?", "", "What do you all think?"))
    match effect:
        case AskPerson("menu"):
            held = [elaboration.step for elaboration in state.elaborations]
            return PersonAnswered(
                choice="elaborate" if play.at in ("01-03", "04-05") and play.at not in held else "continue"
            )
        case AskPerson():
            return PersonAnswered(f"Twenty people at {effect.step}.")
        case AskPersona():
            return PersonaSpoke(f"Who needs it ({effect.key})?", BILL)
        case DraftReply("analysis/assess"):
            return assessed("And who else?")
        case DraftReply():
            return replied()
        case _:
            return done(state, effect)


def to_the_end(events: list[AnalysisEvent]) -> Play:
    play = Play.__new__(Play)
    play.events, play.state = list(events), ANALYSIS.fold(events)
    while pending := ANALYSIS.pending(play.state):
        play.settle(outcome_of(play, pending[0]))
    return play


def test_from_every_event_of_a_whole_analysis_the_fold_goes_on_to_the_same_end() -> None:
    refs = tuple(
        StepRef(s.id, s.title, s.phase, s.persona, s.depth, s.outputs, s.depends_on)
        for s in load_steps().steps
    )
    opening = AnalysisOpened("offline-mode", "Offline mode", "local", refs, VOICES)
    undisturbed = to_the_end([opening])
    assert len(undisturbed.state.completed) == 24
    assert len(undisturbed.state.elaborations) == 2
    assert undisturbed.state.status == "analyzed"
    logged = [ANALYSIS.encode(event) for event in undisturbed.events]
    assert len(logged) > 150
    for length in range(1, len(logged)):
        again = to_the_end([ANALYSIS.decode(body) for body in logged[:length]])
        assert again.events == undisturbed.events, f"after {type(undisturbed.events[length - 1]).__name__}"
        assert again.state == undisturbed.state
