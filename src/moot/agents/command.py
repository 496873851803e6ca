"""A command of the person's own as a coding agent: whatever reads an order from its standard input, and ends
with 0 when it is done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from moot.agents.process import run
from moot.agents.protocol import Order, Outcome, Progress, one_line
from moot.errors import ReviewerCrashed


class Command:
    name = "command"

    def __init__(self, command: Sequence[str], env: Mapping[str, str]) -> None:
        self._command = command
        self._env = env

    async def work(self, order: Order, progress: Progress) -> Outcome:
        del progress
        ended = await run(self.name, self._command, order, self._env, lambda _: None)
        if ended.code:
            problem = f"it ended with {ended.code}: {one_line(ended.last_line, 300)}"
            raise ReviewerCrashed(self._command[0], problem)
        return Outcome(self._command[0], ended.last_words, ended.duration_ms)
