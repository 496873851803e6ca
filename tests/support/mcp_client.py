"""A plain MCP client, and the real `moot mcp` in a process of its own for it to talk to."""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from mcp.client.stdio import StdioServerParameters
from mcp_types import CallToolResult, TextContent

from mcp import Client
from moot.changes.folder import ChangeFolder
from tests.stub.server import StubServer
from tests.support.command import MOOT, await_line, environment
from tests.support.ready import Popen, stand_in

PROPOSAL = """\
# Add login

## Summary
Users can log in.

## Why
They cannot.

## What Changes
- A form.

## Impact
Small.
"""
SPEC = """\
# Login

## Overview
A form with two fields.

## Acceptance Criteria

### Scenario: A user logs in
- **WHEN** the form is sent
- **THEN** the user is in
"""
ISSUE = {
    "severity": "High",
    "description": "No rate limit.",
    "location": "proposal.md",
    "recommendation": "Add one.",
    "quote": "## Summary",
}
NOT_YET = {"verdict": "NEEDS_REVISION", "issues": [ISSUE], "summary": "Not yet."}


def a_change(folder: Path, change_id: str = "add-login") -> Path:
    change = folder / "moot" / "changes" / change_id
    (change / "specs").mkdir(parents=True)
    (change / "proposal.md").write_text(PROPOSAL, encoding="utf-8")
    (change / "specs" / "login.md").write_text(SPEC, encoding="utf-8")
    (change / "tasks.md").write_text("# Tasks\n\n- [x] Form\n- [ ] Session\n", encoding="utf-8")
    return change


def a_run(change: Path) -> tuple[str, str]:
    """What `moot challenge` adds to the command of a reviewer's server."""
    return "--run", ChangeFolder(change.name, change).begin_run("codex", "gpt")


async def read_all(client: Client, **more: str) -> None:
    for path in ("proposal.md", "specs/login.md", "tasks.md"):
        await used(client, "read_file", path=path, **more)


@asynccontextmanager
async def over_stdio(
    folder: Path,
    *arguments: str,
    stub: StubServer | None = None,
    mode: str = "auto",
    env: dict[str, str] | None = None,
    **more: Any,
) -> AsyncIterator[Client]:
    command, *rest = stand_in("mcp", *arguments)
    parameters = StdioServerParameters(
        command=command,
        args=rest,
        env=environment(folder, stub) if env is None else env,
        cwd=folder,
    )
    async with Client(parameters, mode=mode, read_timeout_seconds=60, **more) as client:
        yield client


@contextmanager
def serving(folder: Path, *arguments: str, stub: StubServer | None = None) -> Iterator[str]:
    """The address of a server over HTTP."""
    process = Popen(
        [*MOOT, "mcp", "--http", "--port", "0", *arguments],
        env=environment(folder, stub),
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    assert process.stderr is not None
    assert process.stdout is not None
    try:
        line = await_line(process, "moot's MCP server is at http://127.0.0.1:")
        yield line.split()[5]
    finally:
        process.kill()
        process.wait(10)
        process.stderr.close()
        process.stdout.close()


async def used(client: Client, tool: str, /, **arguments: Any) -> Any:
    """The structured content of a call that succeeds."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, text_of(result)
    return result.structured_content


async def refused(client: Client, tool: str, /, **arguments: Any) -> str:
    """What a call that fails says."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result
    assert result.structured_content is None
    return text_of(result)


def text_of(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text
