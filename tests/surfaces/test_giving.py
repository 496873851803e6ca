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
from tests.support.hostile_files import pdf, png
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
    assert [one["text"] for one in client.session["struck"]] == [HOLDS]
    assert client.correct("", entry["key"], undo=True) == session["ledger"]
    assert client.session["struck"] == []


@pytest.mark.parametrize(
    ("begin", "format_"),
    [("http", "analysis"), ("http", "workflow"), ("http", "change"), ("mcp", "analysis")],
    indirect=["begin"],
)
def test_what_is_under_way_takes_what_it_does_not_have_yet(
    begin: Begin, stub: StubServer, format_: str
) -> None:
    script(stub, format_)
    opening, first = CASES[format_].opening, {"name": "lease.md", "text": FIRST}
    assert begin(format_, opening, first).given is not None
    again = begin(format_, opening, first, {"name": "who.txt", "text": LATER})
    assert again.given is not None
    assert [(one["id"], one["name"]) for one in again.given["taken"]] == [("E2", "who.txt")]
    assert again.given["leftOut"] == [{"name": "lease.md", "why": "is given already"}]
    assert [one["id"] for one in again.session["evidence"]] == ["E1", "E2"]


TOKEN = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
SECRET_ITEMS = [
    {"path": "notes.md"},
    {"path": ".env"},
    {"name": "pasted", "text": f"fine\n{TOKEN}"},
    {"name": "a.txt", "base64": base64.b64encode(TOKEN.encode()).decode()},
    {"name": "a.png", "base64": base64.b64encode(png(words=TOKEN.encode())).decode()},
    {"name": "a.pdf", "base64": base64.b64encode(pdf(TOKEN)).decode()},
    {"name": f"{TOKEN}.bin", "base64": "AAAA"},
    {"url": f"http://user:{TOKEN}@example.org/"},
    {"url": f"http://127.0.0.1:9/?token={TOKEN}"},
]


@pytest.mark.parametrize("begin", ["http", "mcp"], indirect=True)
def test_no_secret_gets_anywhere_and_each_is_said(
    begin: Begin, stub: StubServer, shop: Shop, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    script(stub, "ask")
    shop.write("notes.md", f"fine\n\ntoken: {TOKEN}")
    shop.write(".env", f"T={TOKEN}")
    planted = {shop.root / "notes.md", shop.root / ".env"}
    client = begin("ask", CASES["ask"].opening, {"name": "lease.md", "text": FIRST}, *SECRET_ITEMS)
    given = [client.given, client.give(*SECRET_ITEMS)]
    client.play(scripted({"text": "And then?"}))

    for told in given:
        assert told is not None
        whys = [one["why"] for one in told["leftOut"]]
        assert len(whys) == len(SECRET_ITEMS)
        assert whys[0] == "line 3 looks like a secret by its name; take it out, or give only what is needed"
        assert "private file by its name" in whys[1]
        assert whys[2].startswith("line 2 looks like an access token")
        assert "neither text nor a PDF" in whys[6]
        assert "has a login in it" in whys[7]
        assert "not public" in whys[8]
    assert len(stub.requests) == 2
    assert TOKEN not in json.dumps([request.body for request in stub.requests])
    files = {path for path in tmp_path.rglob("*") if path.is_file()} - planted
    written = b"".join(path.read_bytes() for path in files)
    assert FIRST.encode() in written
    assert TOKEN.encode() not in written
    assert base64.b64encode(TOKEN.encode())[:40] not in written
    out, err = capfd.readouterr()
    assert TOKEN not in json.dumps(given) + json.dumps(client.session) + out + err
