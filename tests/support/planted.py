"""Planted facts: whether what was said at one place is known in every later request that concerns it.

A test plants a fact at a place (an answer, a challenge, a file, …): a sentence with a word that occurs
nowhere else. Every request that the stub gets after that is looked through, on each of its wires. A fact is
known where the request carries the word, or offers a tool behind which it is found: the tool is really run,
and its input has to fit the schema that the request shows.

    facts = Planting(stub, *tools_over(workspace))
    decision = facts.plant("decision")                             # said to every request from now on
    readme = facts.plant("readme", ("read_file", {"path": "README.md"}))    # to be written into the file
    view = facts.plant("view")
    stub.default = lambda request: Behaviour(text=f"Wait. {view}")          # said by the model
    …
    facts.begin("view")                                            # from now on it has been said
    …
    assert facts.unknown() == []
    assert facts.unknown("view", concerns=is_brief) == []

Knows no format. That there was a request at all is for the test to say: `later`.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import jsonschema_rs

from moot.llm.messages import Tool, ToolFault
from moot.repo.eyes import Eyes
from tests.stub.script import Match, Recorded, tool_name
from tests.stub.server import StubServer

Look = tuple[str, Mapping[str, Any]]
"""A tool's name, and the input with which it shows the fact."""


class Known(StrEnum):
    CARRIED = "carried"
    BEHIND_TOOL = "behind a tool"
    NOT = "not known"


@dataclass(frozen=True, slots=True)
class Fact:
    place: str
    word: str
    """Letters only, so that nothing takes it for a secret, and no markup changes it."""
    looks: tuple[Look, ...] = ()

    @property
    def text(self) -> str:
        """To be said or written at its place."""
        return f"The {self.place} is called {self.word}."


BODY = '''"""The till."""


def total(rows):
    """All that was sold."""
    day = rows[0]  # {fact}
    return sum(row.price for row in rows if row.day == day)
'''


class Planting:
    """`tools` are the real ones, over the files in which facts are planted. What a request says its tools are
    decides which of them it offers."""

    def __init__(self, stub: StubServer, *tools: Tool) -> None:
        self._stub = stub
        self._tools = {tool.name: tool for tool in tools}
        self._facts: dict[str, Fact] = {}
        self._after: dict[str, int] = {}

    def plant(self, place: str, *looks: Look) -> str:
        """The sentence for a new place. It counts as said from now on; see `begin`."""
        assert place not in self._facts, f"there is a fact at {place!r} already"
        self._facts[place] = Fact(place, word_of(place), looks)
        self.begin(place)
        return self._facts[place].text

    def begin(self, place: str, after: Recorded | None = None) -> None:
        """It is said only now, or by the answer to this request: earlier requests could not know it."""
        self._after[place] = len(self._stub.requests) if after is None else after.number

    def __getitem__(self, place: str) -> Fact:
        return self._facts[place]

    def later(self, place: str, concerns: Match = "") -> list[Recorded]:
        """The requests since it was said that it concerns: those with a string, or those that a predicate
        takes."""
        since = self._stub.requests[self._after[place] :]
        return [request for request in since if _holds(concerns, request)]

    def known(self, place: str, request: Recorded) -> Known:
        fact = self._facts[place]
        if fact.word in request.said:
            return Known.CARRIED
        found = any(self._finds(request, look, fact.word) for look in fact.looks)
        return Known.BEHIND_TOOL if found else Known.NOT

    def unknown(self, *places: str, concerns: Match = "") -> list[str]:
        """Where a fact is not known in a later request: of these places, or of all. Empty is a recall of
        1.0."""
        return [
            f"{place}: request {request.number} ({_beginning(request)})"
            for place in places or self._facts
            for request in self.later(place, concerns)
            if self.known(place, request) is Known.NOT
        ]

    def _finds(self, request: Recorded, look: Look, word: str) -> bool:
        name, given = look
        offered = {tool_name(tool): _schema(tool) for tool in request.body.get("tools") or ()}
        if name not in offered or name not in self._tools:
            return False
        jsonschema_rs.validator_for(offered[name]).validate(dict(given))
        return word in _run(self._tools[name], given)


def planting_a_workspace(folder: Path, stub: StubServer) -> Planting:
    """With a fact in its README and one in the body of a function, each behind a tool of repo/eyes.py."""
    folder.mkdir(parents=True)
    facts = Planting(stub, *Eyes(folder, 1_000, 1_000_000).tools())
    readme = facts.plant("readme", ("read_file", {"path": "README.md"}))
    (folder / "README.md").write_text(f"# The shop\n\n{readme}\n", encoding="utf-8")
    body = facts.plant("function body", ("search", {"text": "The function body"}))
    (folder / "till.py").write_text(BODY.format(fact=body), encoding="utf-8")
    return facts


def word_of(place: str) -> str:
    """Of five syllables, always the same for a place."""
    consonants, vowels = "bdfgklmnprstvz", "aeiou"
    digest = hashlib.sha256(place.encode()).digest()
    syllables = zip(digest[::2], digest[1::2], strict=True)
    return "".join(consonants[a % 14] + vowels[b % 5] for a, b in list(syllables)[:5]).capitalize()


def left_out(request: Recorded) -> tuple[str, ...]:
    """What the model is told that it was not given, by name."""
    noted = re.search(r"<left-out>\n(.*?)\n</left-out>", request.said, re.DOTALL)
    return tuple(re.findall(r"^- (.*)$", noted[1], re.MULTILINE)) if noted else ()


def _holds(concerns: Match, request: Recorded) -> bool:
    return concerns in request.said if isinstance(concerns, str) else concerns(request)


def _schema(tool: Mapping[str, Any]) -> dict[str, Any]:
    about = tool.get("function", tool)
    return dict(about.get("input_schema") or about.get("parameters") or {})


def _run(tool: Tool, given: Mapping[str, Any]) -> str:
    """In a thread: a test may have a loop of its own. What the tool cannot do finds nothing."""
    checked = tool.takes.model_validate(dict(given))
    run: Callable[[Any], Any] = tool.run

    async def answer() -> str:
        try:
            return str(await run(checked))
        except ToolFault as fault:
            return str(fault)

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(answer())).result()


def _beginning(request: Recorded) -> str:
    return " ".join(request.said.split())[:80]
