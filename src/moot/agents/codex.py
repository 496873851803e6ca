"""Codex as a reviewer: `codex exec --json` with moot's MCP server.

Knows Codex's options and events. The person's own login and configuration hold, and the repository's do not;
set here are the MCP server, the approval of its tools, that Codex has none of its own by which it could read
files, the read-only sandbox and, if given, the model.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from pathlib import Path

from moot.agents.process import Ended, run
from moot.agents.protocol import (
    BEGINS_ANEW,
    SERVER,
    Event,
    Job,
    Outcome,
    Progress,
    Tokens,
    count,
    doing,
    failure,
    part,
    refused,
    shown,
)
from moot.errors import ProviderFailed
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
        heard, ended = await self._attempt(job, job.session, progress)
        if heard.thread is None and job.session is not None:
            heard, ended = await self._attempt(job, None, progress)
        if heard.used is None or heard.problem is not None:
            failed = _failure(
                heard.problem
                or ended.last_line.removeprefix("Error: ")
                or "it ended without finishing its turn"
            )
            if heard.used is not None:
                used = _since(job, heard.used) if heard.thread == job.resume else heard.used
                failed.used = (used.read, used.written, used.cached)
            raise failed
        used = _since(job, heard.used) if heard.thread == job.resume else heard.used
        return Outcome(
            session_id=heard.thread,
            model=job.model or "default",
            tokens_in=used.read,
            tokens_out=used.written,
            tokens_cached=used.cached,
            cost_usd=None,
            duration_ms=ended.duration_ms,
            said=heard.said,
        )

    def _effort(self, job: Job) -> list[str]:
        if not job.effort or "model_reasoning_effort" in environment.codex_settings(self._env):
            return []
        return ["-c", f'model_reasoning_effort="{job.effort}"']

    async def _attempt(self, job: Job, thread: str | None, progress: Progress) -> tuple[_Heard, Ended]:
        heard = _Heard(job, progress)
        ended = await run(
            self.name,
            (self._program, *self._effort(job), *_arguments(job, thread)),
            text=job.instructions,
            cwd=job.workspace_root,
            env=await asyncio.to_thread(with_harmless_git, self._env, job.workspace_root),
            timeout=job.timeout,
            hear=heard.hear,
        )
        return heard, ended


def _arguments(job: Job, thread: str | None) -> list[str]:
    server = {
        "command": job.mcp_command[0],
        "args": list(job.mcp_command[1:]),
        # Without `required`, Codex reviews happily without the tools if the server does not start.
        "required": True,
        # Nobody is there to be asked, so that a tool that wants approval is refused.
        "default_tools_approval_mode": "approve",
        "startup_timeout_sec": _SERVER_STARTS_WITHIN,
        "tool_timeout_sec": _TOOL_ANSWERS_WITHIN,
    }
    arguments = ["exec", "--json", "--skip-git-repo-check", "--sandbox=read-only"]
    arguments += ["--cd", str(job.workspace_root), "-c", 'approval_policy="never"']
    for feature in _OWN_WAYS_TO_READ:
        # Not --disable, with which a Codex that does not know one of them would not start.
        arguments += ["-c", f"features.{feature}=false"]
    arguments += ["-c", untrusted(job.workspace_root)]
    for key, value in server.items():
        # What JSON writes is TOML, too, as long as no characters are escaped as pairs.
        arguments += ["-c", f"mcp_servers.{SERVER}.{key}={json.dumps(value, ensure_ascii=False)}"]
    if job.model is not None:
        arguments.append(f"--model={job.model}")
    if thread is not None:
        arguments += ["resume", thread]
    return [*arguments, "-"]


def untrusted(root: Path) -> str:
    """The setting that keeps Codex from those of a repository, which can name programs to run, also where the
    person has once said that they trust it."""
    return f'projects={{{json.dumps(str(root), ensure_ascii=False)}={{trust_level="untrusted"}}}}'


class _Heard:
    """What the events of one run add up to."""

    def __init__(self, job: Job, progress: Progress) -> None:
        self._job = job
        self._progress = progress
        self.thread: str | None = None
        self.used: Tokens | None = None
        """Of the whole thread, since it began."""
        self.said = ""
        self.problem: str | None = None

    def hear(self, event: Event) -> None:
        match event.get("type"):
            case "thread.started":
                self.thread = str(event.get("thread_id"))
                # Where Codex does not know the old thread, it may begin a new one without a word.
                if self._job.resume not in (None, self.thread):
                    self._progress(BEGINS_ANEW)
            case "item.started":
                self._hear_begun(part(event, "item"))
            case "item.completed":
                self._hear_done(part(event, "item"))
            case "error":
                # Also while it tries again, so that this is not yet a failure.
                self._progress(shown(event.get("message", "an error")))
            case "turn.failed":
                self.problem = str(part(event, "error").get("message", ""))
            case "turn.completed":
                usage = part(event, "usage")
                self.used = Tokens(
                    read=count(usage, "input_tokens"),
                    written=count(usage, "output_tokens"),
                    cached=count(usage, "cached_input_tokens"),
                )

    def _hear_begun(self, item: Event) -> None:
        if item.get("type") == "mcp_tool_call" and item.get("server") == SERVER:
            self._progress(doing(str(item.get("tool")), part(item, "arguments")))
        elif item.get("type") == "command_execution":
            self._progress(f"runs {shown(item.get('command', 'a command'))}")

    def _hear_done(self, item: Event) -> None:
        if item.get("type") == "agent_message":
            self.said = str(item.get("text", ""))
        elif item.get("server") == SERVER and item.get("status") == "failed":
            self._progress(refused(str(item.get("tool"))))


def _since(job: Job, used: Tokens) -> Tokens:
    before = job.tokens_before
    if used.read < before.read or used.written < before.written:
        return used  # less than before: this Codex does not count from the thread's beginning
    return Tokens(used.read - before.read, used.written - before.written, max(0, used.cached - before.cached))


def _failure(problem: str) -> ProviderFailed:
    found = _STATUS.search(problem)
    try:
        told = part(json.loads(problem), "error")
    except (ValueError, AttributeError):
        return failure(Codex.name, problem, int(found[1]) if found else None)
    invalid = told.get("type") == "invalid_request_error"
    return failure(Codex.name, str(told.get("message", problem)), 400 if invalid else None)
