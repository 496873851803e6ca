"""Evidence for tools that work without a person, and what an agent is told of it: with the limits and words
of HTTP and the terminal."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.test_changes import DRAFT
from tests.stub.script import Behaviour
from tests.stub.server import StubServer
from tests.support.any_format import agents
from tests.support.mcp_client import over_stdio, refused, used
from tests.support.server import DECISION, a_board

FACT = "The lease ends with grolbatu."
SECRET = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
ITEMS = [{"path": "lease.md"}, {"name": "notes.txt", "text": f"token {SECRET}"}]

ALONE: dict[str, dict[str, Any]] = {
    "convene_board": {"decision": DECISION},
    "ask_persona": {"persona": "the-analyst", "question": "Move?"},
    "create_change": {"change_id": "add-logout", "description": "Let users log out."},
}


@pytest.mark.parametrize("tool", ALONE)
def test_a_tool_without_a_person_has_everybody_read_it(stub: StubServer, tmp_path: Path, tool: str) -> None:
    a_board(stub)
    if tool == "create_change":
        stub.default = Behaviour(json_text=json.dumps(DRAFT))
    (tmp_path / "lease.md").write_text(FACT, encoding="utf-8")

    async def call() -> Any:
        async with over_stdio(tmp_path, stub=stub) as client:
            return await used(client, tool, **ALONE[tool], evidence=ITEMS)

    given = asyncio.run(call())["given"]
    assert [(one["id"], one["origin"]) for one in given["taken"]] == [("E1", "lease.md")]
    assert [one["name"] for one in given["leftOut"]] == ["notes.txt"]
    assert "line 1 looks like an access token" in given["summary"]
    assert stub.requests
    assert all(FACT in request.said for request in stub.requests)
    assert SECRET not in json.dumps([request.body for request in stub.requests])


def test_what_cannot_be_taken_is_said_and_begins_nothing(stub: StubServer, tmp_path: Path) -> None:
    a_board(stub)
    (tmp_path / ".env").write_text(f"TOKEN={SECRET}\n", encoding="utf-8")

    async def ask() -> None:
        async with over_stdio(tmp_path, stub=stub) as client:
            weighed = await used(client, "weigh_evidence", items=[*ITEMS, {"path": ".env"}, {"path": "/etc"}])
            assert weighed["taken"] == []
            why = {one["name"]: one["why"] for one in weighed["leftOut"]}
            assert list(why) == ["lease.md", "notes.txt", ".env", "/etc"]
            assert "there is no such file or folder" in why["lease.md"]
            assert "private file" in why[".env"]
            assert "not allowed" in why["/etc"]
            for tool, arguments in ALONE.items():
                said = await refused(client, tool, **arguments, evidence=[{"path": ".env"}])
                assert said.startswith("evidence: nothing of it can be taken: .env left out: "), said
            opening = {"persona": "the-analyst", "question": "Move?"}
            said = await refused(
                client, "begin_session", format="ask", opening=opening, evidence=[{"path": ".env"}]
            )
            assert "nothing of it can be taken" in said
            assert (await used(client, "list_sessions"))["sessions"] == []
            twice = {"path": "lease.md", "text": "x"}
            assert "one of path, url, text and base64" in await refused(
                client, "weigh_evidence", items=[twice]
            )
            assert "is not base64" in await refused(
                client, "weigh_evidence", items=[{"name": "x", "base64": "?"}]
            )
            assert "items" in await refused(client, "weigh_evidence", items=[{"text": "x"}] * 41)

    asyncio.run(ask())
    assert stub.requests == []


def test_a_session_tells_what_it_was_given_and_takes_a_whole_file(stub: StubServer, tmp_path: Path) -> None:
    a_board(stub)
    lines = "\n".join(f"line {number} of a long report" for number in range(1, 20_001))
    with agents(lambda: over_stdio(tmp_path, stub=stub)) as begin:
        client = begin("ask", {"persona": "the-analyst"}, {"name": "lease.md", "text": FACT})
        given = client.give({"name": "report.txt", "base64": base64.b64encode(lines.encode()).decode()})
        assert [(one["id"], one["lines"]) for one in given["taken"]] == [("E2", 20_000)]
        assert client.give({"name": "report.txt", "text": lines})["leftOut"] == [
            {"name": "report.txt", "why": "is given already"}
        ]
        assert client.read("E2")["text"] == lines

        async def ask() -> None:
            async with over_stdio(tmp_path, stub=stub) as other:
                [session] = (await used(other, "list_sessions"))["sessions"]
                said = await refused(other, "read_evidence", session_id=session["id"], item="E3")
                assert said == "Item of evidence 'E3' not found. There is: E1, E2."
                said = await refused(other, "give_evidence", session_id="ask-nope", items=[{"text": "x"}])
                assert "list_sessions gives those that there are." in said

        asyncio.run(ask())


def test_what_is_cited_and_is_not_there_is_told(stub: StubServer, tmp_path: Path) -> None:
    a_board(stub, words='It "ends with grolbatu" [E1:1], and "rents fall by half" [E1:1], see [E7].')
    evidence = [{"name": "lease.md", "text": FACT}]

    async def ask() -> tuple[Any, Any, Any]:
        async with over_stdio(tmp_path, stub=stub) as client:
            asked = {"persona": "the-analyst", "question": "Move?"}
            return (
                await used(client, "ask_persona", **asked, evidence=evidence),
                await used(client, "convene_board", decision=DECISION, evidence=evidence),
                await used(client, "begin_session", format="ask", opening=asked, evidence=evidence),
            )

    answer, board, session = asyncio.run(ask())
    missing = ['[E1:1]: not in the lines: "rents fall by half"', "[E7]: no such item"]
    assert answer["unverified"] == board["unverified"] == missing
    assert [one["unverified"] for one in session["said"]] == [missing]
