"""The board, a persona and a new change for an agent: through a real server, with models behind it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from mcp import Client
from tests.stub.script import Behaviour, Recorded
from tests.stub.server import StubServer
from tests.support.command import environment, moot
from tests.support.mcp_client import over_stdio, refused, serving, text_of, used
from tests.support.server import BRIEF, DECISION, a_board
from tests.support.server import serving as serving_http
from tests.support.speaker import speaker

ADVISORS = 8


def sessions(folder: Path, stub: StubServer) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = moot("sessions", "--json", env=environment(folder, stub), cwd=folder).json[
        "sessions"
    ]
    return listed


# -- the board -----------------------------------------------------------------------------------


def test_a_board_gives_its_brief_tells_of_its_progress_and_is_kept(stub: StubServer, tmp_path: Path) -> None:
    a_board(stub)
    told: list[tuple[float, float | None, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))

    async def convene() -> Any:
        async with over_stdio(tmp_path, stub=stub) as client:
            result = await client.call_tool(
                "convene_board", {"decision": DECISION, "context": "We are five."}, progress_callback=hear
            )
            assert not result.is_error
            return result.structured_content

    board = asyncio.run(convene())
    assert board["brief"] == BRIEF
    assert (board["model"], board["brief_error"]) == ("openai:gpt-5.6", None)
    assert [(a["persona"], a["view"], a["error"]) for a in board["advisors"][:2]] == [
        ("the-devil-s-advocate", None, None),
        ("the-strategist", None, None),
    ]
    assert [(done, total) for done, total, _ in told] == [(n, ADVISORS + 1) for n in range(1, ADVISORS + 2)]
    assert {message for _, _, message in told[:-1]} >= {"The Strategist has spoken", "The Coach has spoken"}
    assert told[-1][2] == "The brief is written"
    views = [request for request in stub.requests if request.schema is None]
    assert len(views) == ADVISORS
    assert all("We are five." in request.said for request in views)
    (kept,) = sessions(tmp_path, stub)
    assert (kept["id"], kept["title"], kept["step"]) == (board["session_id"], DECISION, "review")


def test_one_advisor_who_fails_fails_nothing_and_all_of_them_do(stub: StubServer, tmp_path: Path) -> None:
    def answer(request: Recorded) -> Behaviour:
        if request.schema is not None:
            return Behaviour(json_text=json.dumps(BRIEF))
        if failing == "all" or "You are The Coach" in request.system:
            return Behaviour(status=401, error_message="no such key")
        return Behaviour(text="Not yet.")

    stub.default = answer
    failing = "one"

    async def convene() -> None:
        nonlocal failing
        async with over_stdio(tmp_path, stub=stub) as client:
            board = await used(client, "convene_board", decision=DECISION, include_views=True)
            assert board["advisors"][1]["view"] == "Not yet."
            failed = {a["name"]: a["error"] for a in board["advisors"] if a["error"] is not None}
            assert list(failed) == ["The Coach"]
            assert "no such key" in failed["The Coach"]
            failing = "all"
            said = await refused(client, "convene_board", decision=DECISION)
            assert said.startswith("None of the advisors answered: ")
            assert "no such key" in said
            assert await refused(client, "convene_board", decision=" ") == "decision: is empty."
            assert "Panel 'x' not found. There is: " in await refused(
                client, "convene_board", decision=DECISION, panel="x"
            )
            assert "at most 5000 characters" in await refused(client, "convene_board", decision="x" * 5001)

    asyncio.run(convene())


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_a_client_that_cancels_stops_the_models(
    stub: StubServer, tmp_path: Path, transport: str, mode: str
) -> None:
    a_board(stub, pace=2, words="word " * 200)

    async def cancel(client: Client) -> None:
        call = asyncio.create_task(client.call_tool("convene_board", {"decision": DECISION}))
        await stub.wait_for(lambda s: len(s.requests) == ADVISORS, timeout=30)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        assert call.cancelled()
        await stub.wait_for(lambda s: s.clients_left == ADVISORS, timeout=10)
        # The server goes on serving.
        assert (await used(client, "list_changes")) == {"changes": []}

    async def over(transport: str) -> None:
        if transport == "stdio":
            async with over_stdio(tmp_path, stub=stub, mode=mode) as client:
                await cancel(client)
        else:
            with serving(tmp_path, stub=stub) as url:
                async with Client(url, mode=mode, read_timeout_seconds=60) as client:
                    await cancel(client)

    asyncio.run(over(transport))
    (kept,) = sessions(tmp_path, stub)
    assert kept["step"] == "advisors"
    assert len(stub.requests) == ADVISORS


def test_a_client_that_leaves_stops_the_models_too(stub: StubServer, tmp_path: Path) -> None:
    a_board(stub, pace=2, words="word " * 200)

    async def leave() -> None:
        async with over_stdio(tmp_path, stub=stub) as client:
            call = asyncio.create_task(client.call_tool("convene_board", {"decision": DECISION}))
            await stub.wait_for(lambda s: len(s.requests) == ADVISORS, timeout=30)
        await asyncio.gather(call, return_exceptions=True)
        await stub.wait_for(lambda s: s.clients_left == ADVISORS, timeout=10)

    asyncio.run(leave())


# -- stopping ------------------------------------------------------------------------------------

ENDLESS = Behaviour(text="word " * 5000, pace=30)


def endless(stub: StubServer, *names: str) -> None:
    a_board(stub)
    for name in names:
        stub.on(f"You are {name}", ENDLESS)


def advisors_asked(stub: StubServer) -> list[str]:
    return sorted(speaker(r) for r in stub.requests if r.schema is None)


def test_a_board_that_a_server_drives_is_stopped_and_goes_on_with_whoever_is_missing(
    stub: StubServer, tmp_path: Path
) -> None:
    endless(stub, "The Coach", "The Ethicist")

    async def stop_and_go_on(session_id: str) -> None:
        async with over_stdio(tmp_path, stub=stub) as client:
            one = await used(client, "stop_board", session_id=session_id, persona="the-coach")
            assert not one["stopped"]
            [stopped] = [a for a in one["advisors"] if a["error"]]
            assert (stopped["persona"], stopped["error"]) == (
                "the-coach",
                "You stopped them before they had finished.",
            )
            await stub.wait_for(lambda s: s.open_streams == 1, timeout=20)
            for _ in range(2):
                board = await used(client, "stop_board", session_id=session_id)
                assert (board["stopped"], board["brief"]) == (True, None)
            await stub.wait_for(lambda s: s.open_streams == 0, timeout=20)
            stub.reset()
            a_board(stub)
            read = await used(client, "get_board", session_id=session_id)
            assert (read["stopped"], stub.requests) == (True, [])
            board = await used(client, "go_on_with_board", session_id=session_id)
            assert (board["stopped"], board["brief"]) == (False, BRIEF)
            assert advisors_asked(stub) == ["The Ethicist"]
            again = await used(client, "ask_again", session_id=session_id, include_views=True)
            assert advisors_asked(stub) == ["The Coach", "The Ethicist"]
            assert all(advisor["view"] for advisor in again["advisors"])
            assert again["brief"] == BRIEF
            assert len(stub.requests) == 4, "two advisors, and a brief after each"
            assert await refused(client, "ask_again", session_id=session_id) == (
                "No advisor has failed: there is nobody to ask again."
            )
            assert await refused(client, "ask_again", session_id=session_id, persona="the-coach") == (
                "The Coach has answered: there is nothing to ask again."
            )
            assert await refused(client, "stop_board", session_id=session_id) == (
                "Nobody speaks at the moment: there is nothing to stop."
            )
            assert (await used(client, "go_on_with_board", session_id=session_id))["brief"] == BRIEF
            assert len(stub.requests) == 4, "there was nothing to go on with"
            for tool in ("stop_board", "go_on_with_board", "ask_again"):
                assert await refused(client, tool, session_id="nope") == "Session 'nope' not found."

    with (
        serving_http(tmp_path, stub) as server,
        server.streaming("POST", "/api/board/session", json={"decision": DECISION}) as events,
    ):
        session_id = next(events)["sessionId"]
        stub.wait(lambda s: s.open_streams == 2 and len(s.requests) == ADVISORS)
        asyncio.run(stop_and_go_on(session_id))


def test_a_board_that_one_call_convenes_another_call_stops(stub: StubServer, tmp_path: Path) -> None:
    a_board(stub, pace=30, words="word " * 5000)

    async def convene_and_stop() -> str:
        async with over_stdio(tmp_path, stub=stub) as client:
            call = asyncio.create_task(client.call_tool("convene_board", {"decision": DECISION}))
            await stub.wait_for(lambda s: s.open_streams == ADVISORS, timeout=30)
            session_id: str = sessions(tmp_path, stub)[0]["id"]
            board = await used(client, "stop_board", session_id=session_id)
            assert board["stopped"]
            told = text_of(await call)
            await stub.wait_for(lambda s: s.open_streams == 0, timeout=20)
            assert told == (
                "The board was stopped before anybody had spoken. The session is "
                f"{session_id}: go_on_with_board goes on with it."
            )
            assert await refused(client, "get_board", session_id=session_id) == told
            stub.reset()
            a_board(stub)
            assert (await used(client, "go_on_with_board", session_id=session_id))["brief"] == BRIEF
            return session_id

    session_id = asyncio.run(convene_and_stop())
    assert [one["id"] for one in sessions(tmp_path, stub)] == [session_id]
    assert len(stub.requests) == ADVISORS + 1


# -- one persona ---------------------------------------------------------------------------------


def test_a_persona_answers_and_the_conversation_can_go_on(stub: StubServer, tmp_path: Path) -> None:
    stub.default = Behaviour(text="Not yet.")

    async def ask() -> Any:
        async with over_stdio(tmp_path, stub=stub) as client:
            assert (await refused(client, "ask_persona", persona="nobody", question="?")).startswith(
                "Persona 'nobody' not found. There is: "
            )
            assert "question: is empty" in await refused(
                client, "ask_persona", persona="the-strategist", question=" "
            )
            answered = await used(client, "ask_persona", persona="the-strategist", question="Move?")
            stub.default = Behaviour(status=401, error_message="no such key")
            return answered, await refused(client, "ask_persona", persona="the-strategist", question="Fail?")

    answered, failed = asyncio.run(ask())
    stub.default = Behaviour(text="Still not.")
    assert "no such key" in failed
    assert failed.endswith(f"The session is {sessions(tmp_path, stub)[0]['id']}.")
    session_id = answered.pop("session_id")
    named = {"persona": "the-strategist", "name": "The Strategist"}
    assert answered == {
        **named,
        "model": "openai:gpt-5.6",
        "answer": "Not yet.",
        "unverified": [],
        "given": None,
    }
    ended = moot("ask", "--resume", session_id, "And now?", env=environment(tmp_path, stub), cwd=tmp_path)
    assert ended.code == 0
    assert "Move?" in ended.err
