"""What the design asks for and a plan lacks is in front of every reviewer: of a model, and of a program that
reads through moot's MCP server."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from mcp.client.stdio import StdioServerParameters

from mcp import Client
from moot.changes import challenge
from moot.llm.messages import Tokens, ToolCall
from moot.llm.protocol import Call, Turn
from moot.workflow.effects import ReviewPlan
from moot.workflow.events import BatchReviewed
from moot.workflow.flow import WORKFLOW
from moot.workflow.state import Stage
from tests.support.change import HIGH
from tests.support.changes import FakeReviewer
from tests.support.command import environment
from tests.support.mcp_client import used
from tests.support.shop import ids_of_points
from tests.workflow.test_handover import REQUIREMENT, done, folder_of, planned, root

__all__ = ["root"]
IS_LACKING = f"- P1: {REQUIREMENT}"


def test_a_model_reviewer_has_it_among_the_points_and_in_the_design(root: Path) -> None:
    state = planned(root)
    for file in (folder_of(state, root).proposal(), folder_of(state, root).tasks()):
        assert "exit code 2" not in (file or "")
    heard: list[str] = []

    def reads(call: Call) -> Turn:
        heard.append("\n\n".join((*call.shared, call.system)))
        specs = folder_of(state, root).specs()
        names = ("proposal.md", "tasks.md", *specs)
        calls = [_call(number, "read_file", {"path": name}) for number, name in enumerate(names)]
        return Turn("", Tokens(1, 1), "tools", tuple(calls))

    def appends(call: Call) -> Turn:
        del call
        issue = {**HIGH, "description": f"P1 is missing: {REQUIREMENT}"}
        review: dict[str, Any] = {"verdict": "NEEDS_REVISION", "issues": [issue], "summary": "P1 is missing."}
        found = ids_of_points(heard[0])
        review["coverage"] = [
            {"point": one, "state": "missing" if one == "P1" else "covered", "where": "tasks.md"}
            for one in dict.fromkeys(found)
        ]
        return Turn("", Tokens(1, 1), "tools", (_call(9, "append_review", review),))

    reviewed = done(root, ReviewPlan, state, reads, appends, key="2")
    assert isinstance(reviewed, BatchReviewed)
    assert (reviewed.verdict, reviewed.high) == ("NEEDS_REVISION", 1)
    assert WORKFLOW.advance(state, reviewed).stage is Stage.REVISING, "nothing is built of it"
    assert IS_LACKING in heard[0]
    assert '<file name="design.md">' in heard[0]


def _call(number: int, name: str, given: dict[str, Any]) -> ToolCall:
    return ToolCall(f"c{number}", name, json.dumps(given))


def test_a_program_reads_it_through_the_real_mcp_server(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = planned(root)
    told: list[str] = []

    async def read(command: tuple[str, ...]) -> str:
        server = StdioServerParameters(
            command=command[0], args=list(command[1:]), env=environment(tmp_path), cwd=root
        )
        async with Client(server, mode="auto", read_timeout_seconds=60) as client:
            return json.dumps(await used(client, "read_file", path="design.md"))

    def asked(job: Any) -> None:
        told.append(job.text)
        with ThreadPoolExecutor(1) as pool:
            told.append(pool.submit(lambda: asyncio.run(read(job.mcp_command))).result())

    monkeypatch.setattr(challenge, "find", FakeReviewer(asked=asked).found)
    done(root, ReviewPlan, state, key="2")
    prompt, design = told
    assert IS_LACKING in prompt
    assert REQUIREMENT in design
    assert "never use a database" in design
