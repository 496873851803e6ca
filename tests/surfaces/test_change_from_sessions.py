"""From an analysed item or a board to a change and back: in the terminal, over HTTP and over MCP."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.stub.script import Behaviour
from tests.stub.server import StubServer
from tests.support.any_format import AnyFormatClient
from tests.support.board_session import keep
from tests.support.change import DRAFT
from tests.support.command import environment, moot
from tests.support.mcp_client import over_stdio, refused, used
from tests.support.server import Server, serving
from tests.support.sourced import Held, Notes, events_of, write_item

SPEC = {**DRAFT["specs"][0], "requirements": ["An order MUST be kept on the device. (D2)"]}
PLAN = {**DRAFT, "specs": [SPEC], "left_open": [{"entry": "D4", "meanwhile": "for ever."}]}
FROM_BOARD = {
    **DRAFT,
    "specs": [{**SPEC, "requirements": ["It MUST be recorded before it is printed. (D1, D4)"]}],
    "left_open": [],
}


@pytest.fixture(autouse=True)
def item(tmp_path: Path) -> Path:
    return asyncio.run(write_item(tmp_path, Notes())).path


def read(folder: Path, name: str, change: str = "keep-orders") -> str:
    return (folder / "moot" / "changes" / change / name).read_text(encoding="utf-8")


def said_by(stub: StubServer, plan: dict[str, Any]) -> None:
    stub.default = Behaviour(json_text=json.dumps(plan))


# -- in the terminal -----------------------------------------------------------------------------


def test_an_item_becomes_a_change_that_says_where_each_requirement_comes_from(
    tmp_path: Path, stub: StubServer
) -> None:
    said_by(stub, PLAN)
    env = environment(tmp_path, stub)
    ended = moot("proposal", "keep-orders", "--from", "offline-mode", "--json", env=env, cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert ended.json["from"] == {"format": "analysis", "id": "offline-mode"}
    assert ended.json["takenUp"] == {"D2": ["specs/sign-in.md, R1"], "D3": []}
    assert "Made from the item offline-mode ('Offline mode'): 1 item" in ended.err
    assert "_From analysis offline-mode: D2_" in read(tmp_path, "specs/sign-in.md")
    assert "- D4. Open: For how long an order is kept." in read(tmp_path, "proposal.md")
    assert "- D4 (left open by Maya Chen's notes" in read(tmp_path, "design.md")
    listed = moot("items", "--json", env=env, cwd=tmp_path).json
    assert listed[0]["changes"] == [{"id": "keep-orders", "phase": "proposed"}]
    assert "change keep-orders (proposed)" in moot("items", env=env, cwd=tmp_path).out
    assert "made from analysis offline-mode" in moot("changes", env=env, cwd=tmp_path).out
    assert moot("changes", "--json", env=env, cwd=tmp_path).json[0]["source"] == "analysis offline-mode"


def test_what_is_not_taken_up_is_said_and_what_does_not_exist_stops_the_review(
    tmp_path: Path, stub: StubServer
) -> None:
    lax = {**PLAN, "specs": DRAFT["specs"]}
    stub.script(Behaviour(json_text=json.dumps(lax)), Behaviour(json_text=json.dumps(lax)))
    env = environment(tmp_path, stub)
    ended = moot("proposal", "keep-orders", "--from", "item:offline-mode", env=env, cwd=tmp_path)
    assert ended.code == 0, ended.err
    lost = (
        "D2 is taken up by no requirement and no task: “An order that cannot be sent is kept on the device.”"
    )
    assert lost in stub.requests[1].said, "the drafter hears of it once"
    assert lost in ended.err
    assert moot("validate-proposal", "keep-orders", env=env, cwd=tmp_path).code == 0
    strict = moot("validate-proposal", "keep-orders", "--strict", env=env, cwd=tmp_path)
    assert (strict.code, lost in strict.out) == (1, True)
    spec = tmp_path / "moot" / "changes" / "keep-orders" / "specs" / "sign-in.md"
    spec.write_text(spec.read_text("utf-8").replace("replaceable.", "replaceable. (D8)"), encoding="utf-8")
    refused = moot("challenge", "keep-orders", env=env, cwd=tmp_path)
    assert refused.code == 1
    assert "specs/sign-in.md:9: R1 names D8, which does not exist: there is D1 to D4" in refused.err
    assert len(stub.requests) == 2, "nobody was asked to review that"


def test_a_board_offers_to_be_made_a_change_and_says_which_were(tmp_path: Path, stub: StubServer) -> None:
    said_by(stub, FROM_BOARD)
    session = keep(tmp_path, events_of(Held()))
    env = environment(tmp_path, stub)
    before = moot("board", "--resume", session, env=env, cwd=tmp_path)
    offer = f"Make it a change, under its conditions: moot proposal ID --from {session}"
    assert offer in before.err
    assert "Made from it" not in before.err
    ended = moot("proposal", "receipts", "Only at fairs.", "--from", session, env=env, cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert f"_From {session}: D1, D4_" in read(tmp_path, "specs/sign-in.md", "receipts")
    assert "A condition to be met: Every sale is recorded first." in read(tmp_path, "design.md", "receipts")
    [asked] = stub.requests
    for part in ("Only at fairs.", "Those who claim expenses would be lost.", "Then I give way."):
        assert part in asked.said
    again = moot("board", "--resume", session, env=env, cwd=tmp_path)
    assert "Made from it: receipts (proposed)" in again.err


@pytest.mark.parametrize(
    ("named", "told"),
    [
        ("nothing", "there is no 'nothing': name an item, a board's session, or 'workflow'"),
        ("item:../..", "there is no '../..'"),
        ("workflow", "there is no workflow here whose design was approved"),
        ("board:", "there is no ''"),
    ],
)
def test_what_no_change_can_be_made_from(named: str, told: str, tmp_path: Path, stub: StubServer) -> None:
    env = environment(tmp_path, stub)
    ended = moot("proposal", "keep-orders", "--from", named, env=env, cwd=tmp_path)
    assert ended.code == 2
    assert told in ended.err
    assert not (tmp_path / "moot" / "changes").exists()


def test_without_a_source_a_change_needs_words(tmp_path: Path, stub: StubServer) -> None:
    ended = moot("proposal", "keep-orders", env=environment(tmp_path, stub), cwd=tmp_path)
    assert ended.code == 2
    assert "say in a sentence or two what should change" in ended.err


# -- over HTTP -----------------------------------------------------------------------------------


def head_of(server: Server, format_: str) -> dict[str, Any]:
    [found] = [one for one in server.get("/api/sessions").json()["sessions"] if one["format"] == format_]
    session: dict[str, Any] = server.get(f"/api/sessions/{found['id']}").json()["session"]
    return session


def test_over_http_a_change_is_made_from_a_session_and_leads_back_to_it(
    tmp_path: Path, stub: StubServer
) -> None:
    said_by(stub, PLAN)
    with serving(tmp_path, stub, "--no-open") as server:
        analysis = head_of(server, "analysis")
        assert analysis["changes"] == []
        opening = {"change": "keep-orders", "from": analysis["id"]}
        client = AnyFormatClient.begin(server, "change", **opening)
        client.follow(go_on=True)
        again = AnyFormatClient.begin(server, "change", **opening)
        assert again.path == client.path, "a request that is sent twice drafts once"
        ledger = {one["number"]: one["kind"] for one in client.session["ledger"]}
        assert ledger == {"D1": "said", "D2": "decided", "D3": "rejected", "D4": "open"}
        assert head_of(server, "analysis")["changes"] == [{"id": "keep-orders", "phase": "proposed"}]
        gone = server.post("/api/sessions", {"format": "change", "opening": {"change": "x", "from": "y"}})
        assert (gone.status_code, "from: there is no 'y'" in gone.json()["error"]) == (400, True)
    assert "_From analysis offline-mode: D2_" in read(tmp_path, "specs/sign-in.md")
    assert len(stub.requests) == 1


# -- over MCP ------------------------------------------------------------------------------------


def test_over_mcp_a_board_becomes_a_change_and_names_it(tmp_path: Path, stub: StubServer) -> None:
    said_by(stub, FROM_BOARD)
    session = keep(tmp_path, events_of(Held()))

    async def make() -> None:
        async with over_stdio(tmp_path, stub=stub) as client:
            made = await used(client, "create_change", change_id="receipts", source=f"board:{session}")
            assert (made["phase"], made["source"]) == ("proposed", session)
            told = await used(client, "get_session", session_id=session)
            assert told["changes"] == [{"id": "receipts", "phase": "proposed"}]
            said = await refused(client, "create_change", change_id="x", source="nothing")
            assert said.startswith("from: there is no 'nothing'")

    asyncio.run(make())
    assert f"_From {session}: D1, D4_" in read(tmp_path, "specs/sign-in.md", "receipts")
