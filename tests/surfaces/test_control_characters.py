"""Characters that act instead of being read get in by no way, and those that lie in old sessions get out by
none."""

from __future__ import annotations

import asyncio
import json
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.stub.script import Behaviour, Recorded
from tests.stub.server import StubServer, running_stub
from tests.support.board_session import BRIEF as OLD_BRIEF
from tests.support.board_session import events, keep
from tests.support.command import environment, moot
from tests.support.mcp_client import over_stdio, used
from tests.support.server import BRIEF, QUESTIONS, serving

DIRTY = "a\x07b\x1b[31m\x9b\u202ec\u2066d\x7f\r\n\te"
CLEAN = "ab[31mcd\n\te"


def acting(text: str) -> list[str]:
    return [
        sign
        for sign in text
        if (unicodedata.category(sign) == "Cc" and sign not in "\t\n")
        or "\u202a" <= sign <= "\u202e"
        or "\u2066" <= sign <= "\u2069"
    ]


def texts_in(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for name, inner in value.items():
                yield name
                yield from texts_in(inner)
        case list():
            for inner in value:
                yield from texts_in(inner)


def found_in(value: Any) -> list[str]:
    return [text for text in texts_in(value) if acting(text)]


def in_requests(stub: StubServer) -> list[str]:
    return [text for request in stub.requests for text in (request.system, request.said) if acting(text)]


def speak_dirty(stub: StubServer) -> None:
    """Advisors, questions and the brief are full of them; one advisor fails with some."""

    def dirty(value: Any) -> Any:
        match value:
            case str() if value not in ("moderate", "The Strategist", "The Analyst"):
                return f"{value}{DIRTY}"
            case dict():
                return {name: dirty(inner) for name, inner in value.items()}
            case list():
                return [dirty(inner) for inner in value]
        return value

    def answer(request: Recorded) -> Behaviour:
        if request.schema is not None:
            asked_for = QUESTIONS if "questions" in request.schema["properties"] else BRIEF
            return Behaviour(json_text=json.dumps(dirty(asked_for)))
        if "You are The Coach" in request.system:
            return Behaviour(status=400, error_message=f"no{DIRTY}")
        return Behaviour(text=f"Words {DIRTY} more {DIRTY}")

    stub.default = answer


def test_over_http_they_neither_come_in_nor_go_out(tmp_path: Path) -> None:
    with running_stub() as stub, serving(tmp_path, stub, "--no-open") as server:
        speak_dirty(stub)
        asked = server.post("/api/board/questions", {"decision": DIRTY}).json()
        assert found_in(asked) == []
        said = {"decision": f"Go? {DIRTY}", "answers": [{"question": DIRTY, "answer": DIRTY}]}
        with server.streaming("POST", "/api/board/session", json=said) as stream:
            frames = list(stream)
        session_id = frames[0]["sessionId"]
        assert found_in(frames) == []
        assert "brief_complete" in [frame["type"] for frame in frames]
        challenge = {
            "sessionId": session_id, "personaId": "the-analyst", "decision": "Go?",
            "initialResponse": "Words", "priorChallenges": [], "challengeText": DIRTY,
        }  # fmt: skip
        with server.streaming("POST", "/api/board/challenge", json=challenge) as stream:
            assert found_in(list(stream)) == []
        body = server.get(f"/api/board/sessions/{session_id}").json()["session"]
        assert body["decision"] == f"Go? {CLEAN}"
        assert body["answers"] == [{"question": CLEAN, "answer": CLEAN}]
        analyst = next(one for one in body["responses"] if one["personaId"] == "the-analyst")
        assert analyst["content"] == f"Words {CLEAN} more {CLEAN}"
        assert analyst["challenges"][0]["challengeText"] == CLEAN
        assert found_in(body) == []
        assert found_in(server.get("/api/board/sessions").json()) == []
        assert in_requests(stub) == []


@pytest.mark.parametrize("format_", ["md", "html", "json"])
def test_those_of_an_earlier_version_s_session_are_not_exported(tmp_path: Path, format_: str) -> None:
    session_id = _old_session(tmp_path)
    with running_stub() as stub, serving(tmp_path, stub, "--no-open") as server:
        text = server.get(f"/api/board/sessions/{session_id}/export?format={format_}").text
    assert "Wait for spring." in text
    assert found_in(json.loads(text) if format_ == "json" else text) == []


def test_those_of_an_earlier_version_s_session_are_not_told(tmp_path: Path) -> None:
    session_id = _old_session(tmp_path)
    with running_stub() as stub, serving(tmp_path, stub, "--no-open") as server:
        assert found_in(server.get(f"/api/board/sessions/{session_id}").json()) == []
        with server.streaming("GET", f"/api/board/sessions/{session_id}/events") as stream:
            frames = list(stream)
    assert {"persona_token", "brief_complete"} <= {frame["type"] for frame in frames}
    assert found_in(frames) == []


def _old_session(folder: Path) -> str:
    recommendation = replace(OLD_BRIEF.recommendation, conditions=(f"Cash {DIRTY}",))
    brief = replace(OLD_BRIEF, recommendation=recommendation, blind_spots=(DIRTY,))
    return keep(folder, events(f"Open? {DIRTY}", words=f"No {DIRTY}", brief=brief))


def test_in_the_terminal_they_neither_come_in_nor_go_out(tmp_path: Path) -> None:
    (tmp_path / "answers.yaml").write_text(json.dumps([DIRTY, "c", f"Why? {DIRTY}", "b"]), encoding="utf-8")
    with running_stub() as stub:
        speak_dirty(stub)
        ended = moot(
            "board", f"Go? {DIRTY}", "--answers", "answers.yaml", "--json",
            env=environment(tmp_path, stub), cwd=tmp_path,
        )  # fmt: skip
        assert in_requests(stub) == []
    assert ended.json["decision"] == f"Go? {CLEAN}"
    assert ended.json["answers"][0]["answer"] == CLEAN.strip()
    challenged = [one for response in ended.json["responses"] for one in response["challenges"]]
    assert challenged[0]["challengeText"] == f"Why? {CLEAN}"
    assert found_in(ended.json) == []
    assert acting(ended.err) == []


def test_over_mcp_they_neither_come_in_nor_go_out(tmp_path: Path) -> None:
    with running_stub() as stub:
        speak_dirty(stub)

        async def ask() -> tuple[Any, Any]:
            async with over_stdio(tmp_path, stub=stub) as client:
                decision = {"decision": f"Go? {DIRTY}", "context": DIRTY, "include_views": True}
                board = await used(client, "convene_board", **decision)
                return board, await used(
                    client, "ask_persona", persona="the-analyst", question=f"Why? {DIRTY}"
                )

        board, answer = asyncio.run(ask())
        assert found_in(board) == found_in(answer) == []
        assert answer["answer"] == f"Words {CLEAN} more {CLEAN}"
        assert in_requests(stub) == []
    kept = b"".join(file.read_bytes() for file in (tmp_path / "data" / "moot").iterdir())
    assert b"Go? " in kept
    assert "\u202e".encode() not in kept
