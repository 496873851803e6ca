"""Programs that write code: Codex, Claude Code, or any command of the user's. One order, run to its end.

Knows how they are started and how they say that they failed. What they are to do, and whether they have done
it, is for others to know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from moot.agents.claude import USERS_SETTINGS
from moot.agents.codex import untrusted
from moot.agents.process import Ended, run
from moot.agents.protocol import Event, Progress, count, failure, part, parts, shown
from moot.errors import NotFound, ReviewerCrashed
from moot.processes import environment, find_program


@dataclass(frozen=True, slots=True)
class Order:
    """`text` is all that the program is told. `timeout` is in seconds."""

    text: str
    root: Path
    timeout: float


@dataclass(frozen=True, slots=True)
class CodingResult:
    """An order that was carried out, as far as the program says."""

    model: str
    said: str
    duration_ms: int
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float | None = None


class Coder(Protocol):
    """Cancelling `work` ends the program and everything that it started."""

    name: str

    async def work(self, order: Order, progress: Progress) -> CodingResult: ...


def find_coder(
    name: str, command: Sequence[str], env: Mapping[str, str], pass_env: Iterable[str] = ()
) -> Coder | None:
    """`command` is the user's own, for the name "command". None: the program is not on the path. It gets of
    `env` what it needs, and what `pass_env` names."""
    if name == "command":
        return _Command(command, environment.for_own_program(env, pass_env)) if command else None
    if name not in ("codex", "claude"):
        raise NotFound("coding agent", name, ("codex", "claude", "command"))
    program = find_program(name, env)
    if program is None:
        return None
    if name == "codex":
        return _Codex(program, environment.for_codex(env, pass_env, codes=True))
    return _Claude(program, environment.for_claude(env, pass_env, codes=True))


class _Command:
    """Whatever reads an order from its standard input, and ends with 0 when it is done."""

    name = "command"

    def __init__(self, command: Sequence[str], env: Mapping[str, str]) -> None:
        self._command = command
        self._env = env

    async def work(self, order: Order, progress: Progress) -> CodingResult:
        del progress
        ended = await _ran(self.name, self._command, order, self._env, lambda _: None)
        if ended.code:
            last = ended.last_words.rpartition("\n")[2]
            raise ReviewerCrashed(self._command[0], f"it ended with {ended.code}: {shown(last, 300)}")
        return CodingResult(self._command[0], ended.last_words, ended.duration_ms)


class _Codex:
    name = "codex"

    def __init__(self, program: str, env: Mapping[str, str]) -> None:
        self._program = program
        self._env = env

    async def work(self, order: Order, progress: Progress) -> CodingResult:
        said, problem, done, used = "", "", False, (0, 0)

        def hear(event: Event) -> None:
            nonlocal said, problem, done, used
            item = part(event, "item")
            match event.get("type"), item.get("type"):
                case "item.started", "command_execution":
                    progress(f"runs {shown(item.get('command', 'a command'))}")
                case "item.completed", "file_change":
                    for change in parts(item, "changes"):
                        progress(f"edits {shown(change.get('path', 'a file'))}")
                case "item.completed", "agent_message":
                    said = str(item.get("text", ""))
                case "turn.failed", _:
                    problem = str(part(event, "error").get("message", "its turn failed"))
                case "turn.completed", _:
                    usage = part(event, "usage")
                    done, used = True, (count(usage, "input_tokens"), count(usage, "output_tokens"))

        arguments = ["exec", "--json", "--skip-git-repo-check", "--sandbox=workspace-write"]
        arguments += ["--cd", str(order.root), "-c", 'approval_policy="never"']
        arguments += ["-c", untrusted(order.root), "-"]
        ended = await _ran(self.name, (self._program, *arguments), order, self._env, hear)
        if problem or not done:
            raise failure(self.name, problem or ended.last_words)
        return CodingResult("codex", said, ended.duration_ms, *used)


class _Claude:
    name = "claude"

    def __init__(self, program: str, env: Mapping[str, str]) -> None:
        self._program = program
        self._env = env

    async def work(self, order: Order, progress: Progress) -> CodingResult:
        result: Event = {}

        def hear(event: Event) -> None:
            nonlocal result
            if event.get("type") == "result":
                result = event
            for block in parts(part(event, "message"), "content"):
                if event.get("type") == "assistant" and block.get("type") == "tool_use":
                    given = part(block, "input")
                    what = given.get("file_path") or given.get("command") or given.get("pattern") or ""
                    progress(shown(f"{block.get('name')} {what}"))

        arguments = ["-p", "--output-format=stream-json", "--verbose", USERS_SETTINGS]
        arguments.append("--permission-mode=acceptEdits")
        ended = await _ran(self.name, (self._program, *arguments), order, self._env, hear)
        if result.get("is_error") is not False:
            failed = failure(self.name, str(result.get("result", "")) or ended.last_words)
            if usage := part(result, "usage"):
                failed.used = (count(usage, "input_tokens"), count(usage, "output_tokens"), 0)
                told = result.get("total_cost_usd")
                failed.cost_usd = float(told) if isinstance(told, int | float) else None
            raise failed
        usage, cost = part(result, "usage"), result.get("total_cost_usd")
        return CodingResult(
            "claude",
            str(result.get("result", "")),
            ended.duration_ms,
            count(usage, "input_tokens"),
            count(usage, "output_tokens"),
            float(cost) if isinstance(cost, int | float) else None,
        )


async def _ran(
    name: str,
    command: Sequence[str],
    order: Order,
    env: Mapping[str, str],
    hear: Callable[[Event], None],
) -> Ended:
    return await run(
        name, command, text=order.text, cwd=order.root, env=env, timeout=order.timeout, hear=hear
    )
