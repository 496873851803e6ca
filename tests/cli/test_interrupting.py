"""`done` while somebody speaks ends a roundtable at once: at a real terminal, and from `--answers`."""

from __future__ import annotations

import asyncio
import os
import pty
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.output import DummyOutput

from moot.cli.answers import Answer, ScriptedPerson
from moot.cli.person import TerminalPerson
from moot.core.flow import AskPerson, Choice
from moot.core.runner import UserQuit
from moot.errors import InvalidInput
from tests.cli.test_analyze import Project, speaking, stalling
from tests.stub.script import Behaviour, Recorded
from tests.stub.server import StubServer
from tests.support.terminal import CTRL_D, ENTER, Terminal, at_terminal

DONE = (Choice("done", "End the discussion"),)
SPEAKING = AskPerson("roundtable", "done", "1", DONE, interrupting=True)
FLOOR = AskPerson("roundtable", "your thoughts", "1", (Choice("listen", "Listen on"), *DONE))
MENU = AskPerson("menu", "what next", "2", (Choice("continue", "Continue"),))
FRAMING, FIRST, SECOND = 3, 4, 5
"""Which request to the model is which, in a first roundtable."""


@pytest.fixture
def project(tmp_path: Path, stub: StubServer) -> Project:
    stub.default = speaking
    return Project(tmp_path, stub)


def kinds(project: Project) -> list[str]:
    return [event["type"] for event in project.events()]


def roundtable(terminal: Terminal) -> None:
    """On to the first one."""
    terminal.wait_for(">")
    terminal.type(f"Twenty people.{ENTER}")
    terminal.wait_for("Or type naturally")
    terminal.wait_for(">")
    terminal.type(f"E{ENTER}")


@pytest.mark.parametrize("coloured", [False, True])
def test_done_ends_it_while_somebody_speaks(project: Project, stub: StubServer, coloured: bool) -> None:
    stub.default = stalling(SECOND)
    terminal_ = at_terminal("analyze", "Offline mode", env=project.env, cwd=project.root, coloured=coloured)
    with terminal_ as terminal:
        roundtable(terminal)
        stub.wait(lambda stub: len(stub.requests) >= SECOND, timeout=60)
        terminal.type(f"done{ENTER}")
        terminal.wait_for("Wrapping up the discussion.")
        terminal.wait_for("**Turns**: 2 | **Exit**: user-initiated")
        terminal.wait_for("Or type naturally")
        stub.wait(lambda stub: stub.clients_left == 1, timeout=60)
        terminal.wait_for(">")
        terminal.type(CTRL_D)
        assert terminal.end() == 0, terminal.seen
    assert kinds(project).count("PersonaContributed") == 1
    assert kinds(project)[-5:] == [
        "PersonLeft",
        "TranscriptChecked",
        "SynthesisDrafted",
        "ArtifactsUpdated",
        "ElaborationRecorded",
    ]


def test_an_immediate_done_is_one_turn(project: Project, stub: StubServer) -> None:
    stub.default = stalling(FRAMING)
    with at_terminal("analyze", "Offline mode", env=project.env, cwd=project.root) as terminal:
        roundtable(terminal)
        stub.wait(lambda stub: len(stub.requests) >= FRAMING, timeout=60)
        terminal.type(f"done{ENTER}")
        terminal.wait_for("Or type naturally")
        stub.wait(lambda stub: stub.clients_left == 1, timeout=60)
    assert [record["turn_count"] for record in project.meta["elaborations"]] == [1]
    assert "Elaboration Insights" not in project.read("quick-scan.md")
    assert kinds(project)[-2:] == ["PersonLeft", "ElaborationRecorded"]


def test_a_done_that_was_typed_ahead_ends_it_at_once(project: Project, stub: StubServer) -> None:
    stub.default = stalling(FRAMING)
    with at_terminal("analyze", "Offline mode", env=project.env, cwd=project.root) as terminal:
        terminal.wait_for(">")
        terminal.type(f"Twenty people.{ENTER}")
        terminal.wait_for("Or type naturally")
        terminal.wait_for(">")
        terminal.type(f"E{ENTER}done{ENTER}")
        terminal.wait_for("Wrapping up the discussion.")
        terminal.wait_for("Or type naturally")
    assert [record["turn_count"] for record in project.meta["elaborations"]] == [1]


def test_ctrl_d_leaves_while_somebody_speaks(project: Project, stub: StubServer) -> None:
    stub.default = stalling(FIRST)
    with at_terminal("analyze", "Offline mode", env=project.env, cwd=project.root) as terminal:
        roundtable(terminal)
        stub.wait(lambda stub: len(stub.requests) >= FIRST, timeout=60)
        terminal.type(CTRL_D)
        terminal.wait_for("Saved. Continue with: moot analyze offline-mode")
        assert terminal.end() == 0
    assert kinds(project)[-1] == "TopicFramed"


def test_answers_end_it_while_somebody_speaks(project: Project, stub: StubServer) -> None:
    def answer(request: Recorded) -> Behaviour:
        # By what is asked: `done` may come before the framing has been asked for at all.
        is_framing = "focus_question" in str(request.schema)
        return Behaviour(stall_after=0) if is_framing else speaking(request)

    stub.default = answer
    answers: list[Any] = ["Twenty people.", "E", {"at": "speaking", "reply": "done"}, "C"]
    ended = project.run("analyze", "Offline mode", answers=answers)
    assert "Wrapping up the discussion." in ended.out
    assert [record["turn_count"] for record in project.meta["elaborations"]] == [1]
    assert "not needed" not in ended.err


# -- whoever answers -----------------------------------------------------------------------------


@pytest.fixture
def person() -> TerminalPerson:
    return TerminalPerson()


@pytest.fixture
def tty() -> Iterator[tuple[int, Any]]:
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, encoding="utf-8") as terminal:
        yield ours, terminal
    os.close(ours)


def played(tty: tuple[int, Any], scene: Callable[[], Any]) -> Any:
    async def whole() -> Any:
        with create_app_session(input=Vt100Input(tty[1]), output=DummyOutput()):
            return await asyncio.wait_for(scene(), 30)

    return asyncio.run(whole())


def test_what_was_not_taken_is_said_when_it_is_asked_for(
    tty: tuple[int, Any], person: TerminalPerson
) -> None:
    async def scene() -> list[str]:
        os.write(tty[0], b"I think so\rdone?\r")
        typed = [await person.interrupt(SPEAKING, None), await person.interrupt(SPEAKING, "is kept")]
        waiting = asyncio.create_task(person.interrupt(SPEAKING, "is kept"))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        return [*typed, await person.answer(FLOOR, None), await person.answer(FLOOR, None)]

    assert played(tty, scene) == ["I think so", "done?", "I think so", "done?"]


def test_what_was_taken_is_no_answer_to_anything_else(tty: tuple[int, Any], person: TerminalPerson) -> None:
    async def scene() -> list[str]:
        os.write(tty[0], b"done\rC\r")
        return [await person.interrupt(SPEAKING, None), await person.answer(MENU, None)]

    assert played(tty, scene) == ["done", "C"]


def test_what_was_typed_while_something_was_done_is_not_sent(
    tty: tuple[int, Any], person: TerminalPerson
) -> None:
    """A letter that was meant for what is gone must not decide what nobody has read yet."""

    async def scene() -> str:
        os.write(tty[0], b"\x1b[DA\r\rC\r")
        person.works()
        asked = asyncio.create_task(person.answer(MENU, None))
        while person.typing != "A\n\nC":  # noqa: ASYNC110 - the editor tells nobody
            await asyncio.sleep(0)
        os.write(tty[0], b"?\r")
        return await asked

    assert played(tty, scene) == "A\n\nC?"


def test_an_empty_line_interrupts_nobody(tty: tuple[int, Any], person: TerminalPerson) -> None:
    async def scene() -> str:
        os.write(tty[0], b"\r\r  \rdone\r")
        return str(await person.interrupt(SPEAKING, None))

    assert played(tty, scene) == "done"


def test_ctrl_d_leaves_from_where_nobody_is_asked(tty: tuple[int, Any], person: TerminalPerson) -> None:
    async def scene() -> None:
        os.write(tty[0], CTRL_D.encode())
        await person.interrupt(SPEAKING, None)

    with pytest.raises(UserQuit):
        played(tty, scene)


def test_answers_interrupt_only_where_they_are_pinned_to_it() -> None:
    async def said(person: ScriptedPerson, problem: str | None = None) -> str | None:
        """At once, or not at all: a list has nothing to wait for."""
        asked = asyncio.create_task(person.interrupt(SPEAKING, problem))
        await asyncio.sleep(0)
        return asked.result() if asked.done() else None

    async def scene() -> list[str | None]:
        return [await said(pinned), await said(pinned)]

    pinned = ScriptedPerson([Answer("hello"), Answer("done", "speaking")])
    assert asyncio.run(scene()) == ["done", None]
    assert pinned.unused() == 1
    with pytest.raises(InvalidInput, match="step 'speaking'"):
        asyncio.run(said(ScriptedPerson([]), "somebody speaks"))
