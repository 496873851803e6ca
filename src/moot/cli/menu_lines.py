"""What somebody types at a menu, and which choice it is: letters, numbers, first words, and Enter.

Knows the lines that stand for a choice, how a menu is put to somebody who types, and what is none of its
choices. Refuses to know what a choice leads to: that is for the flow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, Protocol

from moot.core.flow import PersonAnswered, PersonGave, Takes
from moot.errors import InvalidInput
from moot.text.characters import strip_controls

if TYPE_CHECKING:
    from moot.core.flow import AskPerson, Choice

DISCUSS = "discuss"


# -- letters -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Line:
    """`key` is what is typed, in either case: # stands for the number in the choice's id, and nothing for
    Enter. Of a choice with a capital letter, the first word of its label does as well. `also` are whole lines
    that mean the same. `words` is what its words are called. Choices that differ in their number alone are
    shown in one line if they have a `together`; `each` is the part of their labels that is then left out.
    `unnumbered` is what somebody is told whose number is none of them."""

    key: str
    also: tuple[str, ...] = ()
    words: str = ""
    together: str = ""
    each: str = ""
    unnumbered: str = ""


LINES: dict[str, Line] = {
    "retry": Line("r", ("retry",)),
    "yes": Line("Y"),
    "no": Line("N"),
    # building a change
    "tests": Line("#"),
    "other-command": Line("O", words="COMMAND"),
    "no-tests": Line("N"),
    # the board
    "skip-question": Line(""),
    "convene": Line("c"),
    "go-on": Line("g"),
    "next": Line("", ("b",)),
    "brief": Line("b"),
    "challenge": Line("#", words="TEXT", together="Challenge an advisor", each="Challenge "),
    "ask-again": Line("r #", ("r", "r all"), unnumbered="name the number of an advisor who did not answer"),
    "ask-again-all": Line("r all"),
    "tick": Line(
        "t #",
        together="Tick a condition of the brief, or take its tick back",
        unnumbered="name the number of a condition, 1 to {most}",
    ),
    "export": Line("e", words="FILE"),
    # an analysis
    "elaborate": Line("E"),
    "continue": Line("C"),
    "skip-phase": Line("S"),
    "ask-board": Line("B"),
    "question": Line("#"),
    "none": Line(""),
    "to-menu": Line("m", ("menu",)),
    "take-up": Line("t", ("take them up",)),
    # a roundtable
    "listen": Line(""),
    "done": Line("done"),
    "stay": Line("continue"),
    "go-without": Line("g"),
    # a brainstorm: the same letter does the same at every menu
    "agree": Line("A"),
    "straightforward": Line("Q"),
    "exploration": Line("E"),
    "complex": Line("C"),
    "keep-whole": Line("K"),
    DISCUSS: Line("D"),
    "back": Line("B"),
    "board": Line("O"),
    "roundtable": Line("T"),
    "skip": Line("S"),
    "finish": Line("S"),
    "approach": Line("#"),
    "option": Line("#"),
    "approve": Line("A"),
    "approve-and-wait": Line("W"),
    "plan": Line("A"),
    "revise": Line("R"),
    "previous": Line("P"),
    "ask-default": Line(""),
    # a workflow
    "stop": Line("X", ("stop",)),
    # No letter that means something elsewhere: a reply for another step must not stash anything.
    "mix": Line("G"),
    "stash": Line("Z"),
    "new-branch": Line("N"),
    "build": Line("A"),
    "build-on-branch": Line("AB"),
    "commit-tasks": Line("C"),
    "no-commits": Line("C"),
    "review": Line("V"),
    "to-design": Line("B"),
    "to-approaches": Line("BA"),
    "to-triage": Line("B"),
    "try-again": Line("R"),
    # Not B, which the left arrow types: one slip would undo work.
    "roll-back": Line("U"),
    "comment": Line("C"),
    "next-batch": Line("A"),
    "adjust": Line("D"),
    "keep-batches": Line("K"),
    "end-here": Line("H"),
    "begin-next": Line("A"),
    "archive": Line("M"),
}
"""By the id of a choice, without its number. One that is not here is typed as its id."""

_WORDING = {
    "a retry, or another question": "type r to retry, or ask another question.",
    "whether to convene the board": "type c to convene the board.",
    "the board is stopped": "the board is stopped; type g to continue.",
    "an open question": "the number of a question",
    "a question to answer": "the number of a question to answer",
    "an approach": "the number of an approach",
}
"""What is expected, as it is put to somebody who types."""

_WORDS_UNREAD = frozenset(
    {"uncommitted", "design-document", "failed", "verdict", "open-tasks", "reassess", "next"}
)
"""Steps at whose capital letters whatever follows is not read, if the choice takes no words."""


# -- how a menu is put ---------------------------------------------------------------------------


def asked(ask: AskPerson) -> str:
    return _WORDING.get(ask.expects, ask.expects)


def shown(ask: AskPerson) -> Iterator[tuple[str, str]]:
    """What to type, and what it does, line by line. Nothing to type is Enter."""
    told: set[str] = set()
    for choice in ask.choices:
        word, line = _parted(choice)[0], _line(choice)
        if word in told:
            continue
        key, label = _key(choice), choice.label
        if line.together:
            told.add(word)
            key, label = line.key.replace("#", "NUMBER"), _together(ask, word)
        if choice.suggestions:
            label = f"{label} ({_suggestions(key, choice.suggestions)})"
        yield f"{key} {line.words}".rstrip(), label


def _suggestions(key: str, offered: Sequence[str]) -> str:
    """As they are taken over: by their numbers, behind the key, from which no line break parts them."""
    return "; ".join(f"{key}\u00a0{number} = {text}" for number, text in enumerate(offered, start=1))


def _together(ask: AskPerson, word: str) -> str:
    line = LINES[word]
    if not line.each:
        return line.together
    named = (f"{_parted(one)[1]} {one.label.removeprefix(line.each)}" for one in _of_a_kind(ask, word))
    return f"{line.together}: {', '.join(named)}"


def _of_a_kind(ask: AskPerson, word: str) -> list[Choice]:
    return [choice for choice in ask.choices if _parted(choice)[0] == word]


def answerable(ask: AskPerson) -> str:
    """In one line, all that may be answered: for somebody who writes their answers beforehand."""
    choices = ", ".join(f"{key or 'an empty line'} = {label}" for key, label in shown(ask))
    expected = asked(ask)
    put = expected.rstrip(".")
    told = f"{put}{'' if put.endswith('?') else ':'} {choices}" if choices else expected
    return f"{told}. {ask.hint}" if ask.hint else told


def may_be_empty(ask: AskPerson) -> bool:
    """Whether Enter alone is a choice."""
    return any(not key for key, _ in shown(ask))


def key_of(ask: AskPerson, choice_id: str) -> str | None:
    """What to type for a choice, if it is offered."""
    return next((_key(choice) for choice in ask.choices if choice.id == choice_id), None)


# -- what was typed ------------------------------------------------------------------------------


def read_line(ask: AskPerson, typed: str) -> PersonAnswered:
    """The choice that a line stands for, with its words. Where words of their own are an answer too, only a
    whole line is a choice: a sentence that begins with a letter is a sentence."""
    line = strip_controls(typed).strip()
    if (choice := _standing_for(ask, line)) is not None:
        return PersonAnswered(choice=choice.id)
    if not ask.free_text:
        return _beginning_with(ask, line)
    options = [choice for choice in ask.choices if _parted(choice)[1]]
    if options and _is_number(line):
        _refuse_number(len(options))
    return PersonAnswered(line)


def _standing_for(ask: AskPerson, line: str) -> Choice | None:
    plain = " ".join(line.casefold().split())
    if _is_number(plain):
        plain = plain.lstrip("0") or "0"
    whole = [choice for choice in ask.choices if choice.takes is not Takes.TEXT]
    for choice in whole:
        if _key(choice).casefold() == plain:
            return choice
    return next((choice for choice in whole if plain in _line(choice).also), None)


def _beginning_with(ask: AskPerson, line: str) -> PersonAnswered:
    word, _, rest = line.partition(" ")
    named, words = re.sub(r"^(\d+):$", r"\1", word.casefold()), rest.strip()
    found = [choice for choice in ask.choices if _key(choice).casefold() == named]
    found = found or [choice for choice in ask.choices if named and _first_word(choice) == named]
    if len(found) != 1:
        _refuse(ask, line)
    (choice,) = found
    if choice.takes is not Takes.NOTHING:
        if not words and choice.takes is Takes.TEXT:
            _refuse(ask, line)
        return PersonAnswered(_suggested(choice, words), choice.id)
    key = _key(choice)
    if words and key_of(ask, DISCUSS):
        raise InvalidInput("choice", f"{key} stands alone; {key_of(ask, DISCUSS)} {words[:40]} discusses it")
    if words and not (key.isupper() and ask.step in _WORDS_UNREAD):
        _refuse(ask, line)
    return PersonAnswered(choice=choice.id)


def _suggested(choice: Choice, words: str) -> str:
    """The suggestion that a number stands for. Where there are none, a number is an answer."""
    if not (choice.suggestions and _is_number(words)):
        return words
    numbers = {str(number): text for number, text in enumerate(choice.suggestions, start=1)}
    if (suggested := numbers.get(words.lstrip("0"))) is None:
        _refuse_number(len(numbers))
    return suggested


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _refuse_number(most: int) -> NoReturn:
    raise InvalidInput("answer", f"a number from 1 to {most}, or your own words")


def _refuse(ask: AskPerson, line: str) -> NoReturn:
    word, _, rest = line.partition(" ")
    for choice in ask.choices:
        begins, _, _ = _line(choice).key.partition(" #")
        if rest and _line(choice).unnumbered and begins == word.casefold():
            most = len(_of_a_kind(ask, _parted(choice)[0]))
            raise InvalidInput(begins, _line(choice).unnumbered.format(most=most))
    if {choice.id for choice in ask.choices} == {"yes", "no"}:
        raise InvalidInput("choice", f"{line[:80]!r} is neither y nor n")
    offered = ", ".join(key or "Enter" for key, _ in shown(ask))
    hint = "; to say something, begin with D" if rest and "D" in map(_key, ask.choices) else ""
    raise InvalidInput("choice", f"{line[:80]!r} is none of those offered: {offered}{hint}")


# -- the lines of a choice -----------------------------------------------------------------------


def _parted(choice: Choice) -> tuple[str, str]:
    """`question-3` is the third question."""
    word, _, number = choice.id.rpartition("-")
    return (word, number) if number.isdigit() else (choice.id, "")


def _line(choice: Choice) -> Line:
    word, _ = _parted(choice)
    return LINES.get(word, Line(choice.id))


def _key(choice: Choice) -> str:
    return _line(choice).key.replace("#", _parted(choice)[1])


def _first_word(choice: Choice) -> str:
    """Of a numbered choice there is none: its label is somebody's text."""
    if not _key(choice).isupper():
        return ""
    return choice.label.split(maxsplit=1)[0].strip(",:;.").casefold()


# -- the person ----------------------------------------------------------------------------------


class LineReader(Protocol):
    """Whoever types: somebody at a terminal, or a list of replies. `problem` says why the line before was not
    taken. That something `works` that they wait for is said before it does."""

    def works(self) -> None: ...

    async def answer(self, ask: AskPerson, problem: str | None) -> str: ...

    async def interrupt(self, ask: AskPerson, problem: str | None) -> str: ...


class Desk(Protocol):
    """What lines are for that are no answers (cli/desk.py)."""

    def takes(self, line: str) -> bool: ...

    async def take(self, ask: AskPerson, line: str) -> PersonGave | None: ...

    async def add_mentioned(self, answer: PersonAnswered) -> PersonAnswered | PersonGave: ...


class TypingPerson:
    """A person whose answers are lines. One that stands for nothing is asked for again."""

    def __init__(self, reader: LineReader) -> None:
        self._reader = reader
        self.desk: Desk | None = None

    def works(self) -> None:
        self._reader.works()

    async def answer(self, ask: AskPerson, problem: str | None) -> PersonAnswered | PersonGave:
        while True:
            line = await self._reader.answer(ask, problem)
            try:
                if (said := await self._read(ask, line)) is not None:
                    return said
                problem = None
            except InvalidInput as refused:
                problem = str(refused)

    async def interrupt(self, ask: AskPerson, problem: str | None) -> PersonAnswered | PersonGave:
        while True:
            line = await self._reader.interrupt(ask, problem)
            if (said := await self._read(ask, line)) is not None:
                return said
            problem = None

    async def _read(self, ask: AskPerson, line: str) -> PersonAnswered | PersonGave | None:
        """None where the line was no answer, and is dealt with."""
        if self.desk is None:
            return read_line(ask, line)
        if self.desk.takes(line):
            return await self.desk.take(ask, line)
        return await self.desk.add_mentioned(read_line(ask, line))
