"""Every event that a stream tells is described in /openapi.json, and nothing else is described there."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import jsonschema_rs
import pytest

from moot.app import Moot
from moot.store.database import sqlite_url
from moot.store.sessions import open_store
from moot.web.app import create_app
from tests.stub.script import Behaviour, Recorded
from tests.stub.server import StubServer, running_stub
from tests.support.server import DECISION, Server, a_board, serving

SCHEMAS: dict[str, Any] = create_app(cast("Moot", None)).openapi()["components"]["schemas"]
Events = list[dict[str, Any]]


@pytest.fixture(scope="module")
def stub() -> Iterator[StubServer]:
    with running_stub() as stub:
        yield stub


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("server")


@pytest.fixture(scope="module")
def server(folder: Path, stub: StubServer) -> Iterator[Server]:
    with serving(folder, stub, "--grace", "0") as server:
        yield server


@pytest.fixture(scope="module")
def sessions(server: Server, stub: StubServer, folder: Path) -> Events:
    """A session with a failed advisor, one with a failed brief, and one that another process goes on with."""
    a_board(stub)
    stub.on("You are The Coach", Behaviour(status=400, error_message="no coaching today"))
    told = server.session()
    stub.reset()
    a_board(stub)
    stub.on(lambda asked: asked.schema is not None, Behaviour(status=400, error_message="no brief today"))
    told += server.session()
    stub.reset()
    carried_on = threading.Event()

    def answer(_: Recorded) -> Behaviour:
        assert carried_on.wait(60)
        return Behaviour(text="Not yet.")

    stub.default = answer
    with server.streaming("POST", "/api/board/session", json={"decision": DECISION}) as events:
        begun = next(events)
        asyncio.run(_carry_on(folder, begun["sessionId"]))
        carried_on.set()
        told += [begun, *events]
    return told


async def _carry_on(folder: Path, session_id: str) -> None:
    async with open_store(sqlite_url(folder / "data" / "moot" / "moot.sqlite3")) as store:
        logged = await store.events(session_id)
        await store.append(session_id, len(logged) + 1, logged[-1].body)


@pytest.fixture(scope="module")
def challenges(server: Server, stub: StubServer, sessions: Events) -> Events:
    """A challenge that is replied to, and one whose reply breaks off."""
    asked = {
        "sessionId": sessions[0]["sessionId"],
        "personaId": "the-strategist",
        "decision": DECISION,
        "initialResponse": "Not yet.",
        "priorChallenges": [],
        "challengeText": "Why not?",
    }
    told: Events = []
    broken = Behaviour(text="word " * 9, pace=50, garbage_after=4)
    for behaviour in (Behaviour(text="Because."), broken):
        stub.reset()
        stub.default = behaviour
        with server.streaming("POST", "/api/board/challenge", json=asked) as events:
            told.extend(events)
    return told


@pytest.fixture(scope="module")
def told_of_sessions(server: Server, sessions: Events, challenges: Events) -> Events:
    """All that listeners are told, challenges included."""
    assert challenges
    path = f"/api/board/sessions/{sessions[0]['sessionId']}/events"
    with server.streaming("GET", path) as events:
        return [*sessions, *events]


@pytest.mark.parametrize("union", ["SessionEvent", "ChallengeEvent"])
def test_every_event_is_as_described_and_every_description_is_of_an_event(
    union: str, request: pytest.FixtureRequest
) -> None:
    told: Events = request.getfixturevalue("told_of_sessions" if union == "SessionEvent" else "challenges")
    described: dict[str, str] = SCHEMAS[union]["discriminator"]["mapping"]
    whole = jsonschema_rs.validator_for(
        {"$ref": f"#/components/schemas/{union}", "components": {"schemas": SCHEMAS}}
    )
    for one in told:
        event = {name: value for name, value in one.items() if name != "id"}
        whole.validate(event)
        schema = SCHEMAS[described[event["type"]].rsplit("/", 1)[-1]]
        assert set(event) == set(schema["properties"]) >= set(schema["required"]), event["type"]
    # Nobody looks anything up on this board: tests/board/test_frames.py does.
    assert {one["type"] for one in told} == set(described) - {"looked"}


@pytest.mark.parametrize(
    "event",
    [
        {"type": "persona_token", "personaId": "the-coach"},
        {"type": "persona_token", "personaId": "the-coach", "token": 1},
        {"type": "brief_complete", "brief": {}},
        {"type": "challenge_reply_token", "token": "x"},
        {"type": "nothing"},
    ],
)
def test_what_is_no_event_of_a_session_is_not_described(event: dict[str, Any]) -> None:
    described = {"$ref": "#/components/schemas/SessionEvent", "components": {"schemas": SCHEMAS}}
    assert not jsonschema_rs.is_valid(described, event)
