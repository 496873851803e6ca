"""Running out of `--answers` names the step and what may be answered, in every command that takes them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from moot.cli.main import app
from moot.cli.menu_lines import answerable
from moot.core.flow import AskPerson, Choice
from tests.stub.script import Behaviour, Recorded
from tests.stub.server import StubServer
from tests.support.analysis import reply
from tests.support.change import HIGH, TASKS, Change
from tests.support.shop import IDEA, Brain

WHY = ("--because", "It is a demo.")
YES_OR_NO = ": Y = yes, N = no"

REQUIRED = {
    "analyze": (("Offline mode",), "00-01", "your answer. Ask back if something is unclear."),
    "ask": (("the-coach",), "question", "your question"),
    "board": (("Move?",), "answers", "type c to convene the board: c = Convene the board now"),
    "brainstorm": ((), "idea", "your idea, in a sentence or more"),
    "workflow resume": ((), "triage", "how much process this needs: A = "),
    "implement": (("feat-auth",), "challenge", f"Challenge it again now? (y or n){YES_OR_NO}"),
    "approve": (("feat-auth", *WHY), "approve", f"as it is now? (y or n){YES_OR_NO}"),
    "dismiss": (("feat-auth", "1", *WHY), "dismiss", f"Dismiss it? (y or n){YES_OR_NO}"),
}
"""What each command is called with, where it is out of replies, and a part of what may be answered there."""

RESTING = {
    "ask": (("the-coach", "Why?"), [], "follow-up", "a follow-up question"),
    "board": (("Move?", "--no-questions"), [{"at": "challenge", "reply": "b"}] * 8, "review", "what next: "),
    "analyze": (("Fails",), [], "failed", "What now? r = Retry"),
}
"""Where a conversation may rest: that it does is no mistake, and said all the same."""


def commands(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{before}{name} ")
        else:
            yield f"{before}{name}", command


def test_no_command_that_takes_answers_is_forgotten() -> None:
    every = commands(typer.main.get_command(app))
    taking = {name for name, command in every if any(one.name == "answers" for one in command.params)}
    assert taking == set(REQUIRED)


class Person:
    """Somebody with a change that was approved and then changed, and with a model that does what is asked."""

    def __init__(self, folder: Path, stub: StubServer) -> None:
        self.change = Change("moot", folder, stub)
        self._file = folder / "answers.yaml"
        stub.default = self._speak
        self._brain = Brain()

    def _speak(self, request: Recorded) -> Behaviour:
        fields = (request.schema or {}).get("properties", {})
        if "Fails" in request.said:
            return Behaviour(status=400, error_message="no")
        if request.schema is None or "missing" in fields:
            said = reply(request.system, request.said, request.schema)
            return Behaviour(text=said) if request.schema is None else Behaviour(json_text=said)
        return self._brain(request) if "level" in fields else Behaviour()

    def ready_for(self, command: str) -> None:
        match command:
            case "implement":
                self.change.reviewer_says("APPROVED")
                assert self.change.run("challenge", "feat-auth").code == 0
                self.change.write("tasks.md", f"{TASKS}- [ ] More\n")
            case "approve":
                self.change.reviewer_says("APPROVED")
                assert self.change.run("challenge", "feat-auth").code == 0
            case "dismiss":
                self.change.reviewer_says("NEEDS_REVISION", HIGH)
                assert self.change.run("challenge", "feat-auth").code == 0
            case "workflow resume":
                assert self.run("brainstorm", IDEA, answers=[]).code == 1

    def run(self, *arguments: str, answers: list[Any]) -> Any:
        self._file.write_text(json.dumps(answers), encoding="utf-8")
        return self.change.run(*arguments, "--answers", str(self._file))


@pytest.fixture
def person(tmp_path: Path, stub: StubServer) -> Person:
    return Person(tmp_path, stub)


@pytest.mark.parametrize("command", REQUIRED)
def test_the_step_and_what_may_be_answered_are_named(command: str, person: Person) -> None:
    arguments, step, answerable = REQUIRED[command]
    person.ready_for(command)
    ended = person.run(*command.split(), *arguments, answers=[])
    assert ended.code == 1, ended.err
    assert f"step '{step}' needs an answer (" in ended.err
    said = ended.err.split("needs an answer (")[1].split("), but the answers file has no reply left")[0]
    assert answerable in said


@pytest.mark.parametrize("command", RESTING)
def test_where_it_may_rest_that_is_said_too(command: str, person: Person) -> None:
    arguments, replies, step, answerable = RESTING[command]
    ended = person.run(*command.split(), *arguments, answers=replies)
    assert f"has no reply left for step '{step}' (" in ended.err, ended.err
    assert answerable in ended.err


@pytest.mark.parametrize("command", ["approve", "dismiss", "implement"])
def test_what_is_neither_yes_nor_no_is_refused_with_what_may_be_answered(
    command: str, person: Person
) -> None:
    arguments, step, answerable = REQUIRED[command]
    person.ready_for(command)
    before = person.change.read("STATE.yaml")
    ended = person.run(command, *arguments, answers=["perhaps"])
    assert ended.code == 2, ended.err
    assert f"answer at step '{step}'" in ended.err
    assert "'perhaps' is neither y nor n" in ended.err
    assert answerable in ended.err
    assert person.change.read("STATE.yaml") == before


def test_what_is_asked_reads_well_before_its_choices() -> None:
    choices = (Choice("retry", "Retry"), Choice("skip-question", "Skip"))
    for asked, said in (("What now?", "What now? r"), ("what next", "what next: r"), ("Go on.", "Go on: r")):
        assert answerable(AskPerson("s", asked, "1", choices)) == f"{said} = Retry, an empty line = Skip"
