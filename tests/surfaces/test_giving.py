"""Evidence and corrections, given to a session of every format over HTTP and over MCP, by clients that know
no format: both are in what is asked of a model next."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.stub.script import Behaviour, Recorded
from tests.stub.server import StubServer
from tests.support import analysis
from tests.support.any_format import AnyFormatClient, Ask
from tests.support.server import DECISION, Server, a_board, serving
from tests.support.shop import IDEA, Brain, Shop

Answer = dict[str, Any]

FIRST = "The lease ends with grolbatu."
LATER = "The landlord is called mizzerto."
HOLDS = "Nobody moves before plinkadur."


@dataclass(frozen=True)
class Case:
    """`rest` takes a session to where the person is asked; `more` is what has a model asked again."""

    opening: dict[str, Any]
    rest: tuple[Answer, ...]
    more: tuple[Answer, ...]


CASES = {
    "board": Case({"decision": DECISION}, (), ({"choice": "convene"},)),
    "ask": Case({"persona": "the-analyst", "question": "Why?"}, (), ({"text": "And then?"},)),
    "analysis": Case({"item": "Offline mode"}, (), ({"text": "Twenty people."},)),
    "workflow": Case({"idea": IDEA}, (), ({"choice": "discuss", "text": "Is that all?"},)),
    "change": Case({"change": "strip-codes", "description": IDEA}, (), ({"choice": "challenge"},)),
}


@pytest.fixture
def shop(tmp_path: Path, stub: StubServer) -> Shop:
    return Shop(tmp_path, stub)


@pytest.fixture
def server(shop: Shop, tmp_path: Path, stub: StubServer) -> Iterator[Server]:
    with serving(tmp_path, stub, "--workspace", str(shop.root), PATH=shop.env["PATH"]) as server:
        yield server


def script(stub: StubServer, format_: str) -> None:
    if format_ in ("board", "ask"):
        a_board(stub)
    else:
        stub.default = speaking if format_ == "analysis" else Brain()


def speaking(request: Recorded) -> Behaviour:
    said = analysis.reply(request.system, request.said, request.schema)
    return Behaviour(text=said) if request.schema is None else Behaviour(json_text=said)


def scripted(*answers: Answer) -> Callable[[Ask], Answer | None]:
    left = iter(answers)
    return lambda _ask: next(left, None)


TAKING = [name for name in CASES if name != "analysis"]


@pytest.mark.parametrize("format_", TAKING)
def test_over_http(server: Server, stub: StubServer, format_: str) -> None:
    script(stub, format_)
    case = CASES[format_]
    response = server.post(
        "/api/sessions",
        {"format": format_, "opening": case.opening, "evidence": [{"name": "lease.md", "text": FIRST}]},
    )
    assert response.status_code == 201, response.text
    body = response.json()
    assert [one["id"] for one in body["given"]["taken"]] == ["E1"]
    client = AnyFormatClient(server, body["session"]["id"])
    client.play(scripted(*case.rest))
    assert stub.requests
    assert all(FIRST in request.said for request in stub.requests), "from the very first request on"

    given = server.post(
        f"{client.path}/evidence",
        {"items": [{"name": "who.txt", "base64": base64.b64encode(LATER.encode()).decode()}]},
    )
    assert given.status_code == 200, given.text
    assert given.json()["summary"].startswith("1 item, ")
    corrected = server.post(f"{client.path}/decided", {"text": HOLDS})
    assert corrected.status_code == 200, corrected.text
    assert HOLDS in [one["text"] for one in corrected.json()["ledger"]]
    assert [(one["id"], one["name"], one["lines"]) for one in client.session["evidence"]] == [
        ("E1", "lease.md", 1),
        ("E2", "who.txt", 1),
    ]

    before = len(stub.requests)
    client.play(scripted(*case.more))
    asked = stub.requests[before:]
    assert asked
    for fact in (FIRST, LATER, HOLDS):
        assert all(fact in request.said for request in asked), fact
    told = json.dumps(client.session["state"])
    assert FIRST not in told, "what evidence says is not told with the state each time"
    item = server.get(f"{client.path}/evidence/E2").json()
    assert (item["text"], item["name"], item["image"]) == (LATER, "who.txt", None)
