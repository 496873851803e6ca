"""Evidence and corrections, given to a session of every format over HTTP and over MCP, by clients that know
no format: both are in what is asked of a model next."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.stub.script import Behaviour, Recorded
from tests.stub.server import StubServer
from tests.support import analysis
from tests.support.any_format import AnyFormatClient, Ask, Begin, agents
from tests.support.mcp_client import over_stdio
from tests.support.server import DECISION, a_board, serving
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
def begin(shop: Shop, tmp_path: Path, stub: StubServer, request: pytest.FixtureRequest) -> Iterator[Begin]:
    """Begins sessions on a surface: "http" or "mcp"."""
    if request.param == "mcp":
        with agents(lambda: over_stdio(shop.root, env=shop.env)) as begin:
            yield begin
    else:
        with serving(tmp_path, stub, "--workspace", str(shop.root), PATH=shop.env["PATH"]) as server:
            yield partial(AnyFormatClient.begin_with, server)


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


ON = [("http", name) for name in CASES] + [("mcp", name) for name in CASES if name != "change"]
"""What a change is decided in person cannot be handed on by an agent: for that, there is create_change."""


@pytest.mark.parametrize(("begin", "format_"), ON, indirect=["begin"])
def test_evidence_and_corrections_are_in_what_is_asked_next(
    begin: Begin, stub: StubServer, format_: str
) -> None:
    script(stub, format_)
    case = CASES[format_]
    client = begin(format_, case.opening, {"name": "lease.md", "text": FIRST})
    assert client.given is not None
    assert [one["id"] for one in client.given["taken"]] == ["E1"]
    client.play(scripted(*case.rest))
    assert stub.requests
    assert all(FIRST in request.said for request in stub.requests), "from the very first request on"

    given = client.give({"name": "who.txt", "base64": base64.b64encode(LATER.encode()).decode()})
    assert given["summary"].startswith("1 item, ")
    assert HOLDS in [one["text"] for one in client.correct(HOLDS)]
    session = client.session
    assert [(one["id"], one["name"], one["lines"]) for one in session["evidence"]] == [
        ("E1", "lease.md", 1),
        ("E2", "who.txt", 1),
    ]

    before = len(stub.requests)
    client.play(scripted(*case.more))
    asked = stub.requests[before:]
    assert asked
    for fact in (FIRST, LATER, HOLDS):
        assert all(fact in request.said for request in asked), fact
    session = client.session
    assert FIRST not in json.dumps(session["state"]), (
        "what evidence says is not told with the state each time"
    )
    item = client.read("E2")
    assert (item["text"], item["name"], item["image"]) == (LATER, "who.txt", None)

    [entry] = [one for one in session["ledger"] if one["text"] == HOLDS]
    assert HOLDS not in [one["text"] for one in client.correct("", entry["key"])]
