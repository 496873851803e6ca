"""Codex: `codex exec --json`, which reviews with moot's MCP server or writes code.

Knows Codex's options and events. The person's own login and configuration hold, and the repository's do not.
For a review, the MCP server, the approval of its tools, that Codex has none of its own by which it could read
files, and the read-only sandbox are set here, and the model if one is given.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from moot.agents.process import Ended, run
from moot.agents.protocol import (
    NEW_SESSION,
    SERVER,
    Event,
    Job,
    Order,
    Outcome,
    Progress,
    describe_refusal,
    describe_use,
    failure,
    get_count,
    get_object,
    get_objects,
    one_line,
)
from moot.errors import ProviderFailed
from moot.llm.messages import Tokens
from moot.processes import environment
from moot.processes.git_settings import with_harmless_git

_STATUS = re.compile(r"unexpected status (\d{3})\b")
_SERVER_STARTS_WITHIN = 60
_TOOL_ANSWERS_WITHIN = 120
_OWN_WAYS_TO_READ = ("shell_tool", "unified_exec", "view_image")
"""They would read private files, which moot's tools do not."""


class Codex:
    name = "codex"

    def __init__(self, program: str, env: Mapping[str, str]) -> None:
        self._program = program
        self._env = env

    async def review(self, job: Job, progress: Progress) -> Outcome:
        env = await asyncio.to_thread(with_harmless_git, self._env, job.root)
        setup = (*_restrictions(), *_server(job), *self._effort(job))
        setup += (f"--model={job.model}",) if job.model is not None else ()

        async def attempt(session: str | None) -> tuple[_Transcript, Ended]:
            resume = ("resume", session) if session is not None else ()
            return await self._run(job, "read-only", (*setup, *resume), env, progress)

        transcript, ended = await attempt(job.session)
        if transcript.thread is None and job.session is not None:
            transcript, ended = await attempt(None)
        before = job.tokens_before if transcript.goes_on else Tokens()
        return _outcome(transcript, ended, job.model or "default", before)

    async def work(self, order: Order, progress: Progress) -> Outcome:
        transcript, ended = await self._run(order, "workspace-write", (), self._env, progress)
        return _outcome(transcript, ended, self.name, Tokens())

    def _effort(self, job: Job) -> tuple[str, ...]:
        if not job.effort or "model_reasoning_effort" in environment.codex_settings(self._env):
            return ()
        return ("-c", f'model_reasoning_effort="{job.effort}"')

    async def _run(
        self, order: Order, sandbox: str, setup: Sequence[str], env: Mapping[str, str], progress: Progress
    ) -> tuple[_Transcript, Ended]:
        transcript = _Transcript(progress, order.resume if isinstance(order, Job) else None)
        # Keeps Codex from the settings of a repository, which can name programs to run, also where the
        # person has once said that they trust it.
        untrusted = f'projects={{{_toml(str(order.root))}={{trust_level="untrusted"}}}}'
        command = [self._program, "exec", "--json", "--skip-git-repo-check", f"--sandbox={sandbox}"]
        command += ["--cd", str(order.root), "-c", 'approval_policy="never"', "-c", untrusted, *setup, "-"]
        return transcript, await run(self.name, command, order, env, transcript.add)


def _restrictions() -> list[str]:
    # Not --disable, with which a Codex that does not know one of them would not start.
    return [part for feature in _OWN_WAYS_TO_READ for part in ("-c", f"features.{feature}=false")]


def _server(job: Job) -> list[str]:
    settings = {
        "command": job.mcp_command[0],
        "args": list(job.mcp_command[1:]),
        # Without `required`, Codex reviews happily without the tools if the server does not start.
        "required": True,
        # Nobody is there to be asked, so that a tool that wants approval is refused.
        "default_tools_approval_mode": "approve",
        "startup_timeout_sec": _SERVER_STARTS_WITHIN,
        "tool_timeout_sec": _TOOL_ANSWERS_WITHIN,
    }
    return [
        p for key, value in settings.items() for p in ("-c", f"mcp_servers.{SERVER}.{key}={_toml(value)}")
    ]


def _toml(value: object) -> str:
    """What JSON writes is TOML, too, as long as no characters are escaped as pairs."""
    return json.dumps(value, ensure_ascii=False)


@dataclass(slots=True)
class _Transcript:
    """What the events of one run add up to."""

    progress: Progress
    resume: str | None
    thread: str | None = None
    used: Tokens | None = None
    """Of the whole thread, since it began."""
    said: str = ""
    problem: str | None = None

    @property
    def goes_on(self) -> bool:
        return self.thread == self.resume

    def add(self, event: Event) -> None:
        item = get_object(event, "item")
        match event.get("type"), item.get("type"):
            case "thread.started", _:
                self.thread = str(event.get("thread_id"))
                # Where Codex does not know the old thread, it may begin a new one without a word.
                if self.resume is not None and not self.goes_on:
                    self.progress(NEW_SESSION)
            case "item.started", "mcp_tool_call" if item.get("server") == SERVER:
                self.progress(describe_use(str(item.get("tool")), get_object(item, "arguments")))
            case "item.started", "command_execution":
                self.progress(f"runs {one_line(item.get('command', 'a command'))}")
            case "item.completed", "file_change":
                for change in get_objects(item, "changes"):
                    self.progress(f"edits {one_line(change.get('path', 'a file'))}")
            case "item.completed", "agent_message":
                self.said = str(item.get("text", ""))
            case "item.completed", _ if item.get("server") == SERVER and item.get("status") == "failed":
                self.progress(describe_refusal(str(item.get("tool"))))
            case "error", _:
                # Also while it tries again, so that this is not yet a failure.
                self.progress(one_line(event.get("message", "an error")))
            case "turn.failed", _:
                self.problem = str(get_object(event, "error").get("message", ""))
            case "turn.completed", _:
                usage = get_object(event, "usage")
                self.used = Tokens(
                    input_tokens=get_count(usage, "input_tokens"),
                    output_tokens=get_count(usage, "output_tokens"),
                    cache_read_tokens=get_count(usage, "cached_input_tokens"),
                )


def _outcome(transcript: _Transcript, ended: Ended, model: str, before: Tokens) -> Outcome:
    used = None if transcript.used is None else _since(before, transcript.used)
    if used is None or transcript.problem is not None:
        problem = transcript.problem or ended.last_line.removeprefix("Error: ")
        failed = _failure(problem or "it ended without finishing its turn")
        if used is not None:
            failed.used = (used.input_tokens, used.output_tokens, used.cache_read_tokens)
        raise failed
    return Outcome(
        model=model,
        said=transcript.said,
        duration_ms=ended.duration_ms,
        usage=used,
        session_id=transcript.thread,
    )


def _since(before: Tokens, used: Tokens) -> Tokens:
    if used.input_tokens < before.input_tokens or used.output_tokens < before.output_tokens:
        return used  # less than before: this Codex does not count from the thread's beginning
    return Tokens(
        used.input_tokens - before.input_tokens,
        used.output_tokens - before.output_tokens,
        max(0, used.cache_read_tokens - before.cache_read_tokens),
    )


def _failure(problem: str) -> ProviderFailed:
    found = _STATUS.search(problem)
    try:
        details = get_object(json.loads(problem), "error")
    except (ValueError, AttributeError):
        return failure(Codex.name, problem, int(found[1]) if found else None)
    invalid = details.get("type") == "invalid_request_error"
    return failure(Codex.name, str(details.get("message", problem)), 400 if invalid else None)
