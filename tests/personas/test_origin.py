"""A file of the workspace that takes a shipped persona's place is named wherever that persona speaks."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import msgspec
import pytest

from moot.analysis.events import Voice
from moot.board.events import Member
from moot.personas.library import SHIPPED, load_library, scaffold
from moot.roundtable.panel import as_speaker
from tests.stub.script import Behaviour
from tests.stub.server import StubServer
from tests.support.command import environment, moot
from tests.support.mcp_client import over_stdio
from tests.support.server import DECISION, a_board

SHOWN = "The Mentor (moot/personas/the-mentor.md)"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace" / "moot" / "personas"
    folder.mkdir(parents=True)
    text = (SHIPPED / "personas" / "the-mentor.md").read_text(encoding="utf-8")
    (folder / "the-mentor.md").write_text(text, encoding="utf-8")
    (folder / "my-own.md").write_text(scaffold("my-own", "My Own"), encoding="utf-8")
    return tmp_path / "workspace"


def test_only_what_takes_the_place_of_a_shipped_persona_has_an_origin(workspace: Path) -> None:
    library = load_library(workspace / "moot")
    assert library.persona("the-mentor").shown == SHOWN
    assert library.persona("the-mentor").name == "The Mentor", "models are told the name alone"
    assert library.persona("my-own").shown == "My Own"
    assert library.persona("the-coach").shown == "The Coach"


def test_a_roundtable_knows_it_and_older_sessions_still_open(workspace: Path) -> None:
    persona = load_library(workspace / "moot").persona("the-mentor")
    assert as_speaker(persona).shown == SHOWN
    old = {"id": "the-mentor", "name": "The Mentor", "role": "Judgement", "contribution": "sense-checker"}
    assert msgspec.convert(old, Member).shown == "The Mentor"
    assert msgspec.convert(old, Voice).shown == "The Mentor"


def test_the_terminal_names_it_in_an_answer_and_in_the_list(
    workspace: Path, tmp_path: Path, stub: StubServer
) -> None:
    env = environment(tmp_path, stub)
    stub.script(Behaviour(text="Sleep on it."))
    ended = moot("ask", "the-mentor", "Should we?", env=env, cwd=workspace)
    assert ended.code == 0, ended.err
    assert SHOWN in ended.out + ended.err
    assert "moot/personas" not in stub.requests[0].said
    assert f"{SHOWN}:" in moot("personas", env=env, cwd=workspace).out


def test_a_board_names_it_in_the_terminal_in_its_record_and_in_json(
    workspace: Path, tmp_path: Path, stub: StubServer
) -> None:
    a_board(stub)
    env = environment(tmp_path, stub)
    ended = moot("board", DECISION, "--no-questions", "--json", env=env, cwd=workspace)
    told = json.loads(ended.out)
    assert SHOWN in [persona["name"] for persona in told["personas"]]
    assert SHOWN in [response["personaName"] for response in told["responses"]]
    plain = moot("board", "--resume", told["id"], env=env, cwd=workspace)
    assert SHOWN in plain.out + plain.err


def test_an_mcp_client_is_told(workspace: Path, stub: StubServer) -> None:
    async def ask() -> object:
        async with over_stdio(workspace, stub=stub) as client:
            stub.script(Behaviour(text="Sleep on it."))
            result = await client.call_tool(
                "ask_persona", {"persona": "the-mentor", "question": "Should we?"}
            )
            assert result.structured_content is not None
            return result.structured_content["name"]

    assert asyncio.run(ask()) == SHOWN
