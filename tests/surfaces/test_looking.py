"""Whoever speaks may look into the workspace where the person says so, on every surface."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stub.script import Behaviour, Recorded, tool_name
from tests.stub.server import StubServer
from tests.support import analysis
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


# -- an analysis, whose colleagues always may --------------------------------------------------------


def an_analysis_that_reads(stub: StubServer) -> None:
    """Whoever leads or takes notes reads the till before they answer."""

    def answers(request: Recorded) -> Behaviour:
        if "PRICE" not in request.said:
            return Behaviour(tool_calls=(("read_file", {"path": "till.py"}),))
        said = analysis.reply(request.system, request.said, request.schema)
        return Behaviour(text=said) if request.schema is None else Behaviour(json_text=said)

    stub.default = answers


def test_an_analysis_over_http_tells_and_keeps_what_was_read(server: Server, stub: StubServer) -> None:
    an_analysis_that_reads(stub)
    session = AnyFormatClient.begin(server, "analysis", item="Offline mode")
    session.follow(go_on=True)
    assert [frame["what"] for frame in session.frames if frame["type"] == "looked"] == ["till.py 1–1"]
    (opened,) = [one["event"] for one in session.frames if one.get("event", {}).get("type") == "StepOpened"]
    assert opened["spoken"]["looked_at"] == ["till.py 1–1"]


def test_an_analysis_over_mcp_tells_what_was_read(tmp_path: Path, shop: Path, stub: StubServer) -> None:
    async def analyse() -> None:
        an_analysis_that_reads(stub)
        told: list[str | None] = []

        async def hear(progress: float, total: float | None, message: str | None) -> None:
            del progress, total
            told.append(message)

        async with over_stdio(tmp_path, "--workspace", str(shop), stub=stub) as client:
            begun = await client.call_tool(
                "begin_session",
                {"format": "analysis", "opening": {"item": "Offline mode"}},
                progress_callback=hear,
            )
            assert begun.structured_content is not None
            assert "reads till.py 1–1" in told
            (opened,) = [one for one in begun.structured_content["said"] if one["what"] == "StepOpened"]
            assert opened["content"]["looked_at"] == ["till.py 1–1"]

    asyncio.run(analyse())


def test_an_analysis_in_the_terminal_tells_and_keeps_what_was_read(
    stub: StubServer, tmp_path: Path, shop: Path
) -> None:
    an_analysis_that_reads(stub)
    answers = tmp_path / "answers.yaml"
    answers.write_text('["Twenty."]', encoding="utf-8")
    command = ("analyze", "Offline mode", "--json", "--answers", str(answers))
    ended = moot(*command, env=environment(tmp_path, stub), cwd=shop)
    assert "reads till.py 1–1" in ended.err
    assert [bill["looked_at"] for bill in ended.json["cost"]] == [["till.py 1–1"], ["till.py 1–1"]]
    assert ended.json["steps"][0]["read"] == ["till.py 1–1"]
    assert "Read for it in the workspace: till.py 1–1" in stub.requests[-1].said
