"""A diff before reviewers, over HTTP and over MCP, by clients that know no format."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.stub.script import Behaviour, Recorded
from tests.stub.server import StubServer
from tests.support.any_format import AnyFormatClient, Begin
from tests.support.server import Server, serving
from tests.support.shop import Shop
from tests.surfaces.test_giving import begin, scripted, shop

__all__ = ["begin", "shop"]

PATCH = (
    "--- a/shop.py\n+++ b/shop.py\n@@ -1,2 +1,2 @@\n def total(cart):\n-    return sum(cart)\n+    return 0\n"
)
FOUND = {
    "findings": [
        {
            "severity": "High",
            "kind": "bug",
            "file": "shop.py",
            "quote": "return 0",
            "line": None,
            "problem": "Everything is free.",
            "consequence": "No money comes in.",
            "fix": "",
        }
    ],
    "summary": "It gives everything away.",
    "rejects": False,
}
CLEAN: dict[str, Any] = {"findings": [], "summary": "Fine.", "rejects": False}
OPENING = {"patch": PATCH, "reviewers": ["model", "the-pragmatist"]}


def is_pragmatist(request: Recorded) -> bool:
    return "You are The Pragmatist" in request.said


def reviews(stub: StubServer, pragmatist: Behaviour) -> None:
    stub.on(is_pragmatist, pragmatist)
    stub.on(lambda request: not is_pragmatist(request), Behaviour(json_text=json.dumps(FOUND)))


@pytest.mark.parametrize("begin", ["http", "mcp"], indirect=True)
def test_reviewers_that_disagree_are_judged_on_every_surface(begin: Begin, stub: StubServer) -> None:
    reviews(stub, Behaviour(json_text=json.dumps(CLEAN)))
    client = begin("diff", OPENING)
    client.play(scripted())
    state = client.session["state"]
    assert (state["step"], state["opened"]["what"]) == ("judged", "the patch that was handed over")
    assert state["opened"]["estimate"].startswith("at least about ")
    judged = state["judged"]
    assert judged["verdict"] == "NEEDS_REVISION"
    assert judged["votes"] == [["model", "NEEDS_REVISION"], ["the-pragmatist", "APPROVED"]]
    [finding] = judged["findings"]
    assert (finding["place"]["file"], finding["place"]["line"], finding["blocks"]) == ("shop.py", 2, True)
    assert {one["review"]["by"] for one in state["made"]} == {"model", "the-pragmatist"}


@pytest.mark.parametrize("begin", ["http", "mcp"], indirect=True)
def test_only_who_failed_is_asked_again(begin: Begin, stub: StubServer) -> None:
    reviews(stub, Behaviour(status=401))
    client = begin("diff", OPENING)
    stub_again = Behaviour(json_text=json.dumps(CLEAN))

    def choose(ask: dict[str, Any]) -> dict[str, Any] | None:
        if client.session["state"]["attempt"] > 1:
            return None
        assert [choice["id"] for choice in ask["choices"]] == ["retry"]
        assert client.session["state"]["failed"][0]["by"] == "the-pragmatist"
        stub.reset()
        stub.on(is_pragmatist, stub_again)
        return {"choice": "retry"}

    client.play(choose)
    assert client.session["state"]["step"] == "judged"
    assert [is_pragmatist(request) for request in stub.requests] == [True]


def test_a_session_of_a_diff_is_followed_listed_and_deleted(
    shop: Shop, tmp_path: Any, stub: StubServer
) -> None:
    reviews(stub, Behaviour(json_text=json.dumps(CLEAN)))
    with serving(tmp_path, stub, "--workspace", str(shop.root), PATH=shop.env["PATH"]) as server:
        client = AnyFormatClient.begin(server, "diff", **OPENING)
        client.play(scripted())
        events = [frame["event"]["type"] for frame in client.frames if frame["type"] == "event"]
        assert sorted(events[-2:]) == ["ReviewMade", "ReviewMade"]
        assert any("reviews with" in str(frame) for frame in client.frames if frame["type"] == "progress")
        listed = server.get("/api/sessions").json()["sessions"]
        assert [one["title"] for one in listed] == ["Review of the patch that was handed over"]
        assert server.client.delete(f"{server.url}{client.path}").status_code == 204
        assert server.get(client.path).status_code == 404


@pytest.mark.parametrize(
    ("opening", "problem"),
    [
        ({"patch": "no patch"}, "there is no diff in it"),
        ({"patch": PATCH, "reviewers": ["openai:gpt-5"]}, "'openai:gpt-5' not found"),
        ({"patch": PATCH, "reviewers": ["http://127.0.0.1:9/v1#m"]}, "not found"),
        ({"base": "--output=x"}, "'--output=x' not found"),
        ({"patch": PATCH, "reviewers": ["model"] * 9}, "reviewers"),
    ],
)
def test_an_opening_that_makes_no_sense_is_refused(
    server: Server, stub: StubServer, opening: dict[str, Any], problem: str
) -> None:
    refused = server.post("/api/sessions", {"format": "diff", "opening": opening})
    assert refused.status_code in (400, 404), refused.text
    assert problem in refused.json()["error"]
    assert stub.requests == []


@pytest.fixture
def server(shop: Shop, tmp_path: Any, stub: StubServer) -> Any:
    with serving(tmp_path, stub, "--workspace", str(shop.root), PATH=shop.env["PATH"]) as served:
        yield served
