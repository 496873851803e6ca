"""What a session of any format is going to cost, and has cost, told by clients that know no format."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.stub.server import StubServer
from tests.support.any_format import AnyFormatClient
from tests.support.mcp_client import over_stdio, used
from tests.support.server import DECISION, Server, a_board, serving
from tests.support.shop import Shop
from tests.surfaces.test_giving import CASES, script, scripted

EVIDENCE = [{"name": "sales.txt", "text": "We sold 41 loaves on that day.\n" * 2_600}]
"""About 20,000 tokens."""


@pytest.fixture
def shop(tmp_path: Path, stub: StubServer) -> Shop:
    return Shop(tmp_path, stub)


@pytest.fixture
def server(shop: Shop, tmp_path: Path, stub: StubServer) -> Iterator[Server]:
    with serving(tmp_path, stub, "--workspace", str(shop.root), PATH=shop.env["PATH"]) as server:
        yield server


def estimated(server: Server, format_: str, opening: dict[str, Any], evidence: Any = ()) -> dict[str, Any]:
    asked = {"format": format_, "opening": opening, "evidence": list(evidence)}
    response = server.post("/api/estimate", asked)
    assert response.status_code == 200, response.text
    told: dict[str, Any] = response.json()
    return told


def cost(client: AnyFormatClient) -> dict[str, Any]:
    response = client.server.get(f"{client.path}/cost")
    assert response.status_code == 200, response.text
    told: dict[str, Any] = response.json()
    return told


def test_a_board_is_estimated_as_a_whole_before_anybody_is_asked(server: Server, stub: StubServer) -> None:
    told = estimated(server, "board", {"decision": DECISION, "questions": True}, EVIDENCE)
    assert (told["requests"], told["atLeast"]) == (10, False), "questions, eight views and the brief"
    assert told["summary"].startswith("about 2")
    assert "at least" not in told["summary"]
    assert told["inputTokens"] > 200_000
    assert told["cachedTokens"] > 0.6 * told["inputTokens"]
    without = estimated(server, "board", {"decision": DECISION, "questions": False}, EVIDENCE)
    assert without["requests"] == 9
    assert without["inputTokens"] < told["inputTokens"]
    assert stub.requests == []
    assert server.get("/api/sessions").json()["sessions"] == [], "nothing is kept"


def test_an_ask_is_estimated_by_its_question(server: Server) -> None:
    told = estimated(server, "ask", {"persona": "the-analyst", "question": "Why?"})
    assert (told["requests"], told["atLeast"]) == (1, False)
    assert estimated(server, "ask", {"persona": "the-analyst"})["requests"] == 0


def test_a_review_of_a_diff_is_estimated_by_each_of_its_reviewers(server: Server, stub: StubServer) -> None:
    patch = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"
    one = estimated(server, "diff", {"patch": patch, "reviewers": ["model"]})
    two = estimated(server, "diff", {"patch": patch, "reviewers": ["model", "the-pragmatist"]})
    assert (one["requests"], two["requests"], two["atLeast"]) == (1, 2, True)
    assert two["inputTokens"] > 2 * one["inputTokens"] > 0
    assert stub.requests == []
    assert server.get("/api/sessions").json()["sessions"] == [], "nothing is kept"
    nothing = {"format": "diff", "opening": {"patch": patch, "reviewers": ["nobody"]}}
    assert server.post("/api/estimate", nothing).status_code == 404


def test_a_workflow_is_estimated_by_what_it_asks_at_least(server: Server, stub: StubServer) -> None:
    told = estimated(server, "workflow", {"idea": "Strip codes"}, EVIDENCE)
    assert (told["requests"], told["atLeast"]) == (2, True), "an assessment and a short design"
    assert told["inputTokens"] > 40_000
    assert told["summary"].startswith("at least about ")
    assert stub.requests == []
    assert server.get("/api/sessions").json()["sessions"] == [], "nothing is kept"


def test_an_analysis_is_estimated_before_its_item_is_there(
    server: Server, shop: Shop, stub: StubServer
) -> None:
    told = estimated(server, "analysis", {"item": "Offline mode", "about": "On trains."}, EVIDENCE)
    assert (told["requests"], told["atLeast"]) == (1, True), "the opening of its first step"
    assert told["inputTokens"] > 20_000
    assert not (shop.root / "moot" / "items" / "offline-mode").exists(), "nothing is kept"
    assert stub.requests == []
    AnyFormatClient.begin(server, "analysis", item="Offline mode")
    assert estimated(server, "analysis", {"item": "offline-mode"})["requests"] == 1
    asked = {"format": "analysis", "opening": {"item": " "}}
    assert server.post("/api/estimate", asked).status_code == 400


@pytest.mark.parametrize("format_", CASES)
def test_the_bill_has_every_request_that_was_made(server: Server, stub: StubServer, format_: str) -> None:
    script(stub, format_)
    case = CASES[format_]
    client = AnyFormatClient.begin(server, format_, **case.opening)
    told = cost(client)
    assert told["bill"]["requests"] == 0
    assert told["bill"]["summary"] == "no model was asked"
    assert told["estimate"] is not None
    client.play(scripted(*case.rest))
    told = cost(client)
    assert told["bill"]["requests"] == len(stub.requests)
    assert told["bill"]["outputTokens"] > 0
    assert f"{len(stub.requests)} request" in told["bill"]["summary"]


@pytest.mark.parametrize("format_", ["analysis", "workflow"])
def test_what_begins_with_looking_around_is_estimated_before_it_does(
    server: Server, stub: StubServer, format_: str
) -> None:
    client = AnyFormatClient.begin(server, format_, **CASES[format_].opening)
    told = cost(client)["estimate"]
    assert told["requests"] >= 1
    assert told["atLeast"]
    assert told["summary"].startswith("at least about ")
    assert stub.requests == []


def test_the_bill_of_a_board_says_what_the_cache_has_served(server: Server, stub: StubServer) -> None:
    script(stub, "board")
    opening = {"decision": DECISION, "questions": False}
    foretold = estimated(server, "board", opening, EVIDENCE)
    asked = {"format": "board", "opening": opening, "evidence": EVIDENCE}
    response = server.post("/api/sessions", asked)
    assert response.status_code == 201, response.text
    client = AnyFormatClient(server, response.json()["session"]["id"])
    client.follow(go_on=True)
    bill = cost(client)["bill"]
    assert bill["requests"] == foretold["requests"] == 9
    assert bill["inputTokens"] == pytest.approx(foretold["inputTokens"], rel=0.25)


def test_an_agent_is_told_the_same(stub: StubServer, tmp_path: Path) -> None:
    a_board(stub)
    opening = {"persona": "the-analyst", "question": "Why?"}

    async def ask() -> None:
        async with over_stdio(tmp_path, stub=stub) as client:
            told = await used(client, "estimate_session", format="ask", opening=opening, evidence=EVIDENCE)
            assert (told["requests"], told["atLeast"]) == (1, False)
            assert told["inputTokens"] > 20_000
            assert stub.requests == []
            begun = await used(client, "begin_session", format="ask", opening=opening, evidence=EVIDENCE)
            spent = await used(client, "session_cost", session_id=begun["id"])
            assert spent["bill"]["requests"] == len(stub.requests) == 1
            assert spent["bill"]["inputTokens"] == pytest.approx(told["inputTokens"], rel=0.25)
            assert spent["estimate"]["summary"] == "no model is asked"

    asyncio.run(ask())


def test_what_cannot_be_opened_cannot_be_estimated(server: Server) -> None:
    for opening in ({"decision": " "}, {"decision": "Why?", "panel": "none"}):
        asked = {"format": "board", "opening": opening}
        assert server.post("/api/estimate", asked).status_code == 400
    assert server.post("/api/estimate", {"format": "chess", "opening": {}}).status_code == 400
    assert server.get("/api/sessions/nobody/cost").status_code == 404
