"""What a program is asked to do, and what it reports. Plain values and words.

Knows no program and starts none. The review itself is not here: a reviewer appends it through the tools of
moot's MCP server, and the change's proposal.md is where it is read from.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from moot.errors import (
    KeyRefused,
    ProviderDown,
    ProviderFailed,
    RateLimited,
    RequestRejected,
    ReviewerCrashed,
)
from moot.llm.messages import Tokens

SERVER = "moot_review"
"""The name of the MCP server within a reviewer. Not "moot": a person may have that one configured already,
and a program that merges configurations would make one server of the two."""
TOOLS = ("read_file", "list_directory", "search", "git_log", "git_diff", "append_review")
NEW_SESSION = "its earlier session is gone: it begins a new one"

_SESSION_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_SHOWN = 80
_EXPLAINED = 500

Event = Mapping[str, Any]
Progress = Callable[[str], None]
"""Told what the reviewer does, in words such as "reads proposal.md". It must not block."""


@dataclass(frozen=True, slots=True)
class Order:
    """`text` is all that the program is given, `root` the workspace. `timeout` is in seconds."""

    text: str
    root: Path
    timeout: float


@dataclass(frozen=True, slots=True)
class Job(Order):
    """One review. `resume` is the session of an earlier one; `tokens_before` is what that session had used
    by then. `run` is that of moot's in which the review is appended."""

    change_id: str
    mcp_command: tuple[str, ...]
    model: str | None = None
    resume: str | None = None
    run: str = ""
    tokens_before: Tokens = field(default_factory=Tokens)
    effort: str = ""
    """How hard it is to think, where the person's own settings of the program do not say."""

    @property
    def session(self) -> str | None:
        """The session to resume. Something that is no session's id is never put on a command line: it comes
        from a file that anybody may have written, and could be an option."""
        return self.resume if self.resume is not None and _SESSION_ID.fullmatch(self.resume) else None


@dataclass(frozen=True, slots=True)
class Outcome:
    """A run that ended well, as far as the program says. Usage and cost are this run's alone; a session
    other than `Job.resume` is a new one. `cost_usd` is None where the program does not say. `left_out` is
    what would not have fitted."""

    model: str
    said: str
    duration_ms: int
    usage: Tokens = field(default_factory=Tokens)
    cost_usd: float | None = None
    session_id: str | None = None
    left_out: tuple[str, ...] = ()


class Reviewer(Protocol):
    """Cancelling `review` ends the program and everything that it started."""

    name: str

    async def review(self, job: Job, progress: Progress) -> Outcome: ...


class Coder(Protocol):
    """Cancelling `work` ends the program and everything that it started."""

    name: str

    async def work(self, order: Order, progress: Progress) -> Outcome: ...


def describe_use(tool: str, arguments: Event) -> str:
    """The use of one of the tools, in words."""
    match tool:
        case "read_file":
            return f"reads {one_line(arguments.get('path', 'a file'))}"
        case "list_directory":
            path = one_line(arguments.get("path", "."))
            return f"lists {'the change' if path == '.' else path}"
        case "search":
            return f"reads lines with “{one_line(arguments.get('text', ''))}”"
        case "git_log" | "git_diff":
            return f"reads {tool.replace('_', ' ')}"
        case "append_review":
            return "appends its review"
        case _:
            return f"uses {one_line(tool)}"


def describe_refusal(tool: str) -> str:
    return "is asked to correct its review" if tool == "append_review" else f"{one_line(tool)} failed"


def one_line(text: object, limit: int = _SHOWN) -> str:
    """Foreign text on one line of bounded length, without anything that a terminal would act on."""
    line = " ".join("".join(c if c.isprintable() else " " for c in str(text)).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def failure(reviewer: str, problem: str, status: int | None = None) -> ProviderFailed:
    """What a reviewer's own account of its failure means. `status` is the HTTP status that it met."""
    match status:
        case 401 | 403:
            kind: type[ProviderFailed] = KeyRefused
        case 400 | 404 | 413 | 422:
            kind = RequestRejected
        case 429:
            kind = RateLimited
        case int() if status >= 500:
            kind = ProviderDown
        case _:
            kind = ReviewerCrashed
    return kind(reviewer, one_line(problem, _EXPLAINED) or "it ended without a word", status=status)


def get_object(event: Event, key: str) -> Event:
    """The object at a key, or an empty one: programs change their events from version to version."""
    value = event.get(key)
    return value if isinstance(value, Mapping) else {}


def get_objects(event: Event, key: str) -> list[Event]:
    value = event.get(key)
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def get_count(event: Event, key: str) -> int:
    value = event.get(key)
    return value if isinstance(value, int) else 0
