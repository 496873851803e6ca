"""A server that repeats the key it was sent, in the middle of a reply: no surface passes it on."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from tests.stub.script import Behaviour, Recorded
from tests.stub.server import StubServer
from tests.support.command import environment, moot
from tests.support.mcp_client import a_change, over_stdio, refused
from tests.support.server import DECISION, serving

KEY = "hush-hush-hush"
LOOKS_LIKE_ONE = "sk-proj-0123456789abcdefgh"
SAID = f"the key {KEY} is not {LOOKS_LIKE_ONE}"


def _breaks(_: Recorded) -> Behaviour:
    return Behaviour(text="One two three.", error_event_after=1, error_message=SAID)


def test_the_stream_and_the_stored_session_are_without_the_key(tmp_path: Path, stub: StubServer) -> None:
    def answer(request: Recorded) -> Behaviour:
        if request.schema is not None:
            return _breaks(request)
        return _breaks(request) if "You are The Coach" in request.system else Behaviour(text="No.")

    stub.default = answer
    # Nobody has heard a brief, so that one is asked for again: how often says nothing here.
    settings = tmp_path / "config" / "moot" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text("[gateway]\nretries = 1\n", encoding="utf-8")
    with serving(tmp_path, stub, OPENAI_API_KEY=KEY) as server:
        events = server.session()
        failed = {event["type"]: event["message"] for event in events if event["type"].endswith("error")}
        assert "the key *** is not ***" in failed["persona_error"]
        assert "the key *** is not ***" in failed["brief_error"]
        stub.default = _breaks
        challenge = {
            "personaId": "the-coach",
            "decision": DECISION,
            "initialResponse": "No.",
            "challengeText": "Why?",
            "priorChallenges": [],
        }
        with server.streaming("POST", "/api/board/challenge", json=challenge) as told:
            replied = list(told)
        assert "the key *** is not ***" in replied[-1]["message"]
        session = server.get(f"/api/board/sessions/{events[0]['sessionId']}").text
        exported = server.get(f"/api/board/sessions/{events[0]['sessionId']}/export?format=md").text
        refused = server.post("/api/board/questions", {"decision": DECISION}).text
    everything = json.dumps([events, replied]) + session + exported + refused
    stored = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    for secret in (KEY, LOOKS_LIKE_ONE):
        assert secret not in everything
        assert secret.encode() not in stored


def test_the_terminal_is_without_the_key(tmp_path: Path, stub: StubServer) -> None:
    stub.default = _breaks
    env = environment(tmp_path, stub, OPENAI_API_KEY=KEY)
    for more in ((), ("--json",)):
        ended = moot("ask", "the-coach", "Should we?", *more, env=env, cwd=tmp_path)
        assert ended.code == 1
        assert "the key *** is not ***" in ended.out + ended.err
        assert KEY not in ended.out + ended.err
        assert LOOKS_LIKE_ONE not in ended.out + ended.err


def test_an_mcp_client_is_without_the_key(tmp_path: Path, stub: StubServer) -> None:
    stub.default = _breaks

    async def ask() -> str:
        async with over_stdio(tmp_path, stub=stub) as client:
            return await refused(client, "ask_persona", persona="the-coach", question="Should we?")

    said = asyncio.run(ask())
    assert "is not ***" in said
    assert LOOKS_LIKE_ONE not in said


def test_a_change_keeps_no_key_of_a_review_that_failed(tmp_path: Path, stub: StubServer) -> None:
    change = a_change(tmp_path)
    stub.default = Behaviour(status=400, error_message=SAID)
    env = environment(tmp_path, stub, OPENAI_API_KEY=KEY)
    ended = moot("challenge", "add-login", "--engine", "model", env=env, cwd=tmp_path)
    assert ended.code == 1
    assert "the key *** is not ***" in ended.out + ended.err
    kept = "".join(file.read_text(encoding="utf-8") for file in change.rglob("*") if file.is_file())
    for secret in (KEY, LOOKS_LIKE_ONE):
        assert secret not in ended.out + ended.err + kept
