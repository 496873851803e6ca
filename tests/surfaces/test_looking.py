"""Whoever speaks may look into the workspace where the person says so, on every surface."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stub.script import Behaviour, Recorded, tool_name
from tests.stub.server import StubServer
from tests.support.any_format import AnyFormatClient
from tests.support.command import environment, moot
from tests.support.mcp_client import over_stdio, used
from tests.support.server import DECISION, Server, a_board, serving

ASK = {"persona": "the-analyst", "question": "Why?", "looks": True}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    root.mkdir()
    (root / "till.py").write_text("PRICE = 42\n", encoding="utf-8")
    return root


@pytest.fixture
def server(shop: Path, tmp_path: Path, stub: StubServer) -> Iterator[Server]:
    with serving(tmp_path, stub, "--workspace", str(shop)) as server:
        yield server


def looking(stub: StubServer) -> list[Recorded]:
    def offered(request: Recorded) -> list[str]:
        return [tool_name(tool) for tool in request.body.get("tools") or ()]

    return [request for request in stub.requests if "read_file" in offered(request)]


def reads_once(stub: StubServer) -> None:
    reads = Behaviour(tool_calls=(("read_file", {"path": "till.py"}),))
    stub.default = lambda one: Behaviour(text="It is 42.") if "PRICE" in one.said else reads


def test_a_board_over_http(server: Server, stub: StubServer) -> None:
    a_board(stub)
    with server.streaming("POST", "/api/board/session", json={"decision": DECISION, "looks": True}) as frames:
        assert [frame["type"] for frame in frames][-1] == "idle"
    assert len(looking(stub)) == 8, "every advisor, and not the clerk"
    stub.reset()
    a_board(stub)
    with server.streaming("POST", "/api/board/session", json={"decision": DECISION}) as frames:
        list(frames)
    assert looking(stub) == []


def test_an_ask_of_a_client_that_knows_no_format(server: Server, stub: StubServer) -> None:
    reads_once(stub)
    session = AnyFormatClient.begin(server, "ask", **ASK)
    session.follow(go_on=True)
    assert [frame["what"] for frame in session.frames if frame["type"] == "looked"] == ["till.py 1–1"]


def test_over_mcp(tmp_path: Path, shop: Path, stub: StubServer) -> None:
    async def ask_and_convene() -> None:
        async with over_stdio(tmp_path, "--workspace", str(shop), stub=stub) as client:
            reads_once(stub)
            await used(client, "ask_persona", persona="the-coach", question="Why?", looks=True)
            assert len(looking(stub)) == 2
            stub.reset()
            a_board(stub)
            await used(client, "convene_board", decision=DECISION, looks=True)
            assert len(looking(stub)) == 8

    asyncio.run(ask_and_convene())


@pytest.mark.parametrize("command", [("ask", "the-coach", "Why?"), ("board", DECISION, "--no-questions")])
def test_in_the_terminal(stub: StubServer, tmp_path: Path, shop: Path, command: tuple[str, ...]) -> None:
    if command[0] == "ask":
        reads_once(stub)
    else:
        a_board(stub)
    ended = moot(*command, "--look", env=environment(tmp_path, stub), cwd=shop)
    assert ended.code == 0
    assert looking(stub)
    assert "at least about" in ended.err, "what is read is not known beforehand"
    if command[0] == "ask":
        assert "reads till.py" in ended.err
    session = ended.err.split("--resume ")[1].split()[0]
    again = moot(command[0], "--resume", session, "--look", env=environment(tmp_path, stub), cwd=shop)
    assert again.code == 2
