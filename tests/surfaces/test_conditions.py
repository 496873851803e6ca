"""Conditions of a brief are ticked on every surface, and every surface shows what another one ticked."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from tests.stub.server import running_stub
from tests.support.board_session import events, keep
from tests.support.command import environment, moot
from tests.support.mcp_client import over_stdio, refused, used
from tests.support.server import serving

CASH, TEAM = "Cash lasts a year.", "The team agrees."


def test_over_http_a_tick_is_kept_and_exported_and_can_be_taken_back(tmp_path: Path) -> None:
    session_id = keep(tmp_path, events())
    at = f"/api/board/sessions/{session_id}"
    with running_stub() as stub:
        with serving(tmp_path, stub, "--no-open") as server:
            assert server.get(at).json()["session"]["tickedConditions"] == []
            assert server.post(f"{at}/conditions", {"condition": TEAM}).status_code == 204
            answer = server.post(f"{at}/conditions", {"condition": "The sun shines."})
            assert (answer.status_code, answer.json()["error"]) == (
                400,
                "condition: 'The sun shines.' is no condition of the brief",
            )
        with serving(tmp_path, stub, "--no-open") as again:
            assert again.get(at).json()["session"]["tickedConditions"] == [TEAM]
            for query in ("format=md", "format=md&part=brief"):
                text = again.get(f"{at}/export?{query}").text
                assert f"- [ ] {CASH}\n- [x] {TEAM}\n" in text
            assert f"☑</span> {TEAM}" in again.get(f"{at}/export?format=html").text
            assert again.get(f"{at}/export?format=json").json()["tickedConditions"] == [TEAM]
            assert again.post(f"{at}/conditions", {"condition": TEAM, "ticked": False}).status_code == 204
            assert again.get(at).json()["session"]["tickedConditions"] == []
        assert stub.requests == [], "no model was asked"


def test_in_the_terminal_a_tick_is_one_choice_of_the_menu(tmp_path: Path) -> None:
    session_id = keep(tmp_path, events())
    (tmp_path / "answers.yaml").write_text("['b', 't 2', 'b', 't 3']\n", encoding="utf-8")
    ended = moot(
        "board", "--resume", session_id, "--answers", "answers.yaml", env=environment(tmp_path), cwd=tmp_path
    )
    assert f"1. [ ] {CASH}\n2. [ ] {TEAM}\n" in ended.out
    assert f"1. [ ] {CASH}\n2. [x] {TEAM}\n" in ended.out
    assert "name the number of a condition, 1 to 2" in ended.err
    record = moot("board", "--resume", session_id, "--json", env=environment(tmp_path), cwd=tmp_path).json
    assert record["tickedConditions"] == [TEAM]


def test_over_mcp_a_board_is_read_again_and_its_conditions_are_ticked(tmp_path: Path) -> None:
    session_id = keep(tmp_path, events())

    async def ask() -> tuple[Any, Any, str]:
        with running_stub() as stub:
            async with over_stdio(tmp_path, stub=stub) as client:
                before = await used(client, "get_board", session_id=session_id)
                after = await used(client, "tick_condition", session_id=session_id, condition=TEAM)
                told = await refused(client, "tick_condition", session_id=session_id, condition="The sun.")
                return before, after, told

    before, after, told = asyncio.run(ask())
    assert before["brief"]["recommendation"]["conditions"] == [CASH, TEAM]
    assert before["ticked_conditions"] == []
    assert after["ticked_conditions"] == [TEAM]
    assert "'The sun.' is no condition of the brief" in told
