"""`--answers FILE`: a scripted person. Every reply is used once, in order; a reply pinned to a step waits
for that step. One that is pinned to `speaking` interrupts whoever speaks; others wait until asked for."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from moot.cli.menu_lines import answerable
from moot.core.runner import UserQuit
from moot.errors import AnswersExhausted, FileDamaged, InvalidInput

if TYPE_CHECKING:
    from moot.cli.menu_lines import LineReader
    from moot.core.flow import AskPerson

SPEAKING = "speaking"
"""Where a reply is pinned to that interrupts."""


@dataclass(frozen=True, slots=True)
class Answer:
    reply: str
    at: str | None = None


def read_answers(file: Path) -> list[Answer]:
    try:
        return parse_answers(file.read_text(encoding="utf-8"), str(file))
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput("--answers", f"{file} cannot be read: {error}") from error


def parse_answers(text: str, file: str) -> list[Answer]:
    from ruamel.yaml import YAML

    from moot.files.parsing import ParseError
    from moot.files.plain_yaml import make_plain, parsing

    try:
        with parsing(text):
            listed = make_plain(YAML(typ="safe", pure=True)).load(text)
    except ParseError as error:
        raise FileDamaged(file, error.problem, error.line) from None
    if listed is None:
        return []
    if not isinstance(listed, list):
        raise FileDamaged(file, "must be a list of replies")
    return [_answer(item, number, file) for number, item in enumerate(listed, start=1)]


def _answer(item: object, number: int, file: str) -> Answer:
    match item:
        case str(reply):
            return Answer(reply)
        case {"at": str(step), "reply": str(reply), **rest} if not rest:
            return Answer(reply, step)
        case _:
            raise FileDamaged(
                file,
                f"reply {number} must be a text in quotes, or {{at: STEP, reply: TEXT}} with both as text",
            )


class ScriptedPerson:
    """Answers from a list. An optional question without an answer left ends the conversation; any other is
    an error that names the step."""

    def __init__(self, answers: list[Answer], *, scripted: bool = True) -> None:
        self._answers = answers
        self._scripted = scripted
        self.rested_at: AskPerson | None = None
        """Where the conversation was left because there was no reply."""

    def works(self) -> None:
        """A list is written beforehand, and waits for nothing."""

    async def answer(self, ask: AskPerson, problem: str | None) -> str:
        if problem is not None:
            raise _refused(ask, problem)
        for place, candidate in enumerate(self._answers):
            if candidate.at is None or candidate.at == ask.step:
                return self._answers.pop(place).reply
        if ask.optional:
            self.rested_at = ask
            raise UserQuit
        raise AnswersExhausted(ask.step, answerable(ask), scripted=self._scripted)

    async def interrupt(self, ask: AskPerson, problem: str | None) -> str:
        if problem is not None:
            raise _refused(replace(ask, step=SPEAKING), problem)
        for place, candidate in enumerate(self._answers):
            if candidate.at == SPEAKING:
                return self._answers.pop(place).reply
        await asyncio.Event().wait()
        raise AssertionError("nobody ends this waiting but by cancelling it")

    def unused(self) -> int:
        return len(self._answers)


def _refused(ask: AskPerson, problem: str) -> InvalidInput:
    return InvalidInput(f"answer at step '{ask.step}'", f"{problem} (may be answered: {answerable(ask)})")


class NoPerson(ScriptedPerson):
    """Nobody is there to be asked."""

    def __init__(self) -> None:
        super().__init__([], scripted=False)


class FirstSays:
    """Says one thing that was given beforehand, then leaves the answers to somebody else."""

    def __init__(self, first: str, then: LineReader) -> None:
        self._first: str | None = first
        self._then = then

    def works(self) -> None:
        self._then.works()

    async def answer(self, ask: AskPerson, problem: str | None) -> str:
        if self._first is None:
            return await self._then.answer(ask, problem)
        first, self._first = self._first, None
        return first

    async def interrupt(self, ask: AskPerson, problem: str | None) -> str:
        return await self._then.interrupt(ask, problem)
