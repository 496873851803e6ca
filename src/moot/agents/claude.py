"""Claude Code: `claude -p --output-format stream-json`, which reviews with moot's MCP server or writes code.

Knows Claude Code's options and events. The person's own login and configuration hold, and the repository's do
not. For a review, the MCP server (and no other) and that its tools are all there is are set here, and the
model if one is given.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from moot.agents.process import Ended, run
from moot.agents.protocol import (
    NEW_SESSION,
    SERVER,
    TOOLS,
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
from moot.processes.git_settings import with_harmless_git

_PREFIX = f"mcp__{SERVER}__"
_SERVER_STARTS_WITHIN_MS = "60000"
_EFFORT = "CLAUDE_CODE_EFFORT_LEVEL"
_STATUSES = {"authentication_failed": 401, "rate_limit": 429}


class Claude:
    name = "claude"

    def __init__(self, program: str, env: Mapping[str, str]) -> None:
        self._program = program
        self._env = env

    async def review(self, job: Job, progress: Progress) -> Outcome:
        env = await asyncio.to_thread(with_harmless_git, self._review_env(job), job.root)
        setup = _review_options(job)

        async def attempt(session: str | None) -> tuple[_Transcript, Ended]:
            resume = () if session is None else (f"--resume={session}",)
            return await self._run(job, (*setup, *resume), env, progress)

        transcript, ended = await attempt(job.session)
        if transcript.session is None and job.session is not None:
            transcript, ended = await attempt(None)
        return _outcome(transcript, ended, transcript.model or job.model or "default")

    async def work(self, order: Order, progress: Progress) -> Outcome:
        transcript, ended = await self._run(order, ("--permission-mode=acceptEdits",), self._env, progress)
        return _outcome(transcript, ended, self.name)

    def _review_env(self, job: Job) -> Mapping[str, str]:
        # Claude Code otherwise begins while the server is still starting, and then without its tools.
        env = {**self._env, "MCP_CONNECTION_NONBLOCKING": "0", "MCP_TIMEOUT": _SERVER_STARTS_WITHIN_MS}
        # By a variable: an older Claude Code would not start with an option that it does not know. It goes
        # before the person's settings, so that these are looked at first.
        if job.effort and _EFFORT not in env and "effortLevel" not in self._settings():
            env[_EFFORT] = job.effort
        return env

    def _settings(self) -> Mapping[str, Any]:
        home = self._env.get("CLAUDE_CONFIG_DIR") or Path(self._env.get("HOME", "/")) / ".claude"
        try:
            found = json.loads((Path(home) / "settings.json").read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    async def _run(
        self, order: Order, options: Sequence[str], env: Mapping[str, str], progress: Progress
    ) -> tuple[_Transcript, Ended]:
        transcript = _Transcript(progress, order if isinstance(order, Job) else None)
        # Not the repository's settings, which can name programs to run: asked by nobody, Claude Code would
        # trust them.
        arguments = ("-p", "--output-format=stream-json", "--verbose", "--setting-sources=user", *options)
        return transcript, await run(self.name, (self._program, *arguments), order, env, transcript.add)


def _review_options(job: Job) -> tuple[str, ...]:
    server = {"type": "stdio", "command": job.mcp_command[0], "args": list(job.mcp_command[1:])}
    return (
        "--strict-mcp-config",
        f"--mcp-config={json.dumps({'mcpServers': {SERVER: server}})}",
        # Claude Code's own tools would read private files, which moot's do not.
        "--tools=",
        "--permission-mode=dontAsk",
        f"--allowedTools={','.join(_PREFIX + tool for tool in TOOLS)}",
        *(() if job.model is None else (f"--model={job.model}",)),
    )


@dataclass(slots=True)
class _Transcript:
    """What the events of one run add up to. `job` is None where code is written."""

    progress: Progress
    job: Job | None
    session: str | None = None
    model: str = ""
    status: int | None = None
    result: Event | None = None
    used_by_id: dict[object, str] = field(default_factory=dict)

    def add(self, event: Event) -> None:
        match event.get("type"), event.get("subtype"):
            case "system", "init":
                self.session = str(event.get("session_id"))
                self.model = str(event.get("model", ""))
                if self.job is not None:
                    if self.job.resume not in (None, self.session):
                        self.progress(NEW_SESSION)
                    _check_server(event)
            case "system", "api_retry":
                self.progress(f"tries again: {one_line(event.get('error', 'an error'))}")
            case "assistant", _:
                self.status = _STATUSES.get(str(event.get("error")))
                for block in get_objects(get_object(event, "message"), "content"):
                    self._add_use(block)
            case "user", _:
                for block in get_objects(get_object(event, "message"), "content"):
                    self._add_answer(block)
            case "result", _:
                self.result = event

    def _add_use(self, block: Event) -> None:
        if block.get("type") != "tool_use":
            return
        tool, given = str(block.get("name")), get_object(block, "input")
        if tool.startswith(_PREFIX):
            ours = tool.removeprefix(_PREFIX)
            self.used_by_id[block.get("id")] = ours
            self.progress(describe_use(ours, given))
        elif self.job is None:
            what = given.get("file_path") or given.get("command") or given.get("pattern") or ""
            self.progress(one_line(f"{tool} {what}"))

    def _add_answer(self, block: Event) -> None:
        tool = self.used_by_id.get(block.get("tool_use_id"))
        if tool is not None and block.get("is_error") is True:
            self.progress(describe_refusal(tool))


def _outcome(transcript: _Transcript, ended: Ended, model: str) -> Outcome:
    result = transcript.result
    if result is None:
        raise failure(Claude.name, ended.last_line or "it ended without a result")
    models = _by_model(result)
    used, cost = _count_tokens(models), _sum_costs(models)
    try:
        if result.get("is_error") is not False:
            raise _failure(result, transcript.status)
        _check_denials(result)
    except ProviderFailed as failed:
        if models:
            failed.used, failed.cost_usd = (
                (used.input_tokens, used.output_tokens, used.cache_read_tokens),
                cost,
            )
        raise
    return Outcome(
        model=model,
        said=str(result.get("result", "")),
        duration_ms=ended.duration_ms,
        usage=used,
        cost_usd=cost,
        session_id=transcript.session,
    )


def _check_server(init: Event) -> None:
    """A review without its tools would cost money and end well, with nothing to show for it."""
    for server in get_objects(init, "mcp_servers"):
        if server.get("name") == SERVER and server.get("status") == "connected":
            return
    raise failure(Claude.name, "it could not start moot's MCP server")


def _check_denials(result: Event) -> None:
    denied = [str(denial.get("tool_name")) for denial in get_objects(result, "permission_denials")]
    ours = sorted({tool.removeprefix(_PREFIX) for tool in denied if tool.startswith(_PREFIX)})
    if ours:
        raise failure(Claude.name, f"its settings forbid {', '.join(ours)}")


def _by_model(result: Event) -> list[Event]:
    """What this run used of each model that had a part in it. `modelUsage` was that, too, until Claude Code
    began to count it, and `total_cost_usd`, from the beginning of a resumed session."""
    models = get_object(result, "model_usage_since_last_result") or get_object(result, "modelUsage")
    if models:
        return [get_object(models, model) for model in models]
    # An older one says only what all models have used together.
    usage = get_object(result, "usage")
    read, written = get_count(usage, "input_tokens"), get_count(usage, "output_tokens")
    if not (read or written):
        return []
    return [{"inputTokens": read, "outputTokens": written, "costUSD": result.get("total_cost_usd")}]


def _count_tokens(models: list[Event]) -> Tokens:
    cached = sum(get_count(usage, "cacheReadInputTokens") for usage in models)
    fresh = sum(
        get_count(usage, "inputTokens") + get_count(usage, "cacheCreationInputTokens") for usage in models
    )
    return Tokens(cached + fresh, sum(get_count(usage, "outputTokens") for usage in models), cached)


def _sum_costs(models: list[Event]) -> float | None:
    """None where Claude Code only guesses, because it does not know a model's price."""
    costs = [usage.get("costUSD") for usage in models if usage.get("costBasis") != "unknown"]
    known = [float(cost) for cost in costs if isinstance(cost, (int, float))]
    return sum(known) if models and len(known) == len(models) else None


def _failure(result: Event, status: int | None) -> Exception:
    """`subtype` is not looked at: it says "success" of failed calls, too."""
    errors = result.get("errors")
    problem = (
        "; ".join(map(str, errors)) if isinstance(errors, list) and errors else str(result.get("result", ""))
    )
    return failure(Claude.name, problem, get_count(result, "api_error_status") or status)
