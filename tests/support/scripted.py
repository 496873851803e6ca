"""A provider that says what it was told to say. For tests of everything above the gateway."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from moot.llm.messages import OnText, Tokens
from moot.llm.protocol import Call, Turn

Line = str | Turn | Exception | Callable[[Call], "str | Turn"]


class ScriptedProvider:
    """Answers calls in order, from a queue of lines; a call beyond the last line is a test's mistake."""

    def __init__(self, lines: Iterable[Line] = ()) -> None:
        self._lines = list(lines)
        self.calls: list[Call] = []

    async def prepare(self) -> None:
        pass

    async def exchange(self, call: Call, hear: OnText) -> Turn:
        self.calls.append(call)
        if not self._lines:
            raise AssertionError(f"the script has no line left for: {call.messages[-1]}")
        line = self._lines.pop(0)
        if isinstance(line, Exception):
            raise line
        said = line(call) if callable(line) else line
        turn = said if isinstance(said, Turn) else Turn(said, Tokens(1, len(said.split())), "end")
        if call.schema is None:
            for word in turn.text.splitlines(keepends=True):
                hear(word)
                await asyncio.sleep(0)
        return turn

    async def close(self) -> None:
        """Nothing is open."""
