"""Changes for an agent: which there are, where they stand, what is wrong with them, and a new one."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from tests.stub.script import Behaviour
from tests.stub.server import StubServer
from tests.support.mcp_client import ISSUE, NOT_YET, a_change, a_run, over_stdio, read_all, refused, used

DRAFT = {
    "title": "Add logout",
    "summary": "Users can log out.",
    "why": "They share machines.",
    "what_changes": ["A button."],
    "impact": "Small.",
    "specs": [
        {
            "name": "logout",
            "overview": "A button ends the session.",
            "requirements": ["It is on every page."],
            "scenarios": [{"title": "Out", "when": ["it is pressed"], "then": ["the session ends"]}],
        }
    ],
    "tasks": ["Add the button"],
}


def test_changes_are_listed_with_where_they_stand(tmp_path: Path) -> None:
    change = a_change(tmp_path)
    damaged = a_change(tmp_path, "damaged")
    (damaged / "STATE.yaml").write_text("phase: [", encoding="utf-8")

    async def look() -> None:
        async with over_stdio(tmp_path, "--change", "add-login", *a_run(change)) as client:
            medium = {**ISSUE, "severity": "Medium"}
            review = {**NOT_YET, "issues": [ISSUE, medium, medium]}
            await read_all(client)
            await used(client, "append_review", **review)
        async with over_stdio(tmp_path) as client:
            whole, broken = (await used(client, "list_changes"))["changes"]
            assert whole == await used(client, "get_change", change_id="add-login")
            assert (whole["change_id"], whole["phase"], whole["problem"]) == ("add-login", "proposed", None)
            assert (whole["high"], whole["medium"], whole["low"]) == (1, 2, 0)
            assert (whole["verdict"], whole["waiting"]) == ("NEEDS_REVISION", True)
            assert (whole["tasks_done"], whole["tasks"]) == (1, 2)
            assert (whole["approved_by"], whole["strangers"], whole["dismissed"]) == (None, 0, 0)
            assert broken["change_id"] == "damaged"
            assert broken["problem"].startswith("moot/changes/damaged/STATE.yaml, line 1: ")

    asyncio.run(look())


def test_what_is_wrong_with_a_change_is_told_by_file_and_line(tmp_path: Path) -> None:
    change = a_change(tmp_path)

    async def check() -> None:
        async with over_stdio(tmp_path) as client:
            sound = await used(client, "validate_change", change_id="add-login")
            assert sound == {"change_id": "add-login", "valid": True, "findings": []}
            proposal = (change / "proposal.md").read_text(encoding="utf-8")
            (change / "proposal.md").write_text(proposal.replace("They cannot.\n", ""), encoding="utf-8")
            (change / "tasks.md").unlink()
            unsound = await used(client, "validate_change", change_id="add-login")
            assert unsound["valid"] is False
            found = [(f["file"], f["line"], f["level"]) for f in unsound["findings"]]
            assert found == [("proposal.md", 6, "error"), ("tasks.md", 1, "error")]
            assert "Why" in unsound["findings"][0]["message"]

    asyncio.run(check())


def test_a_change_is_drafted_from_a_description(stub: StubServer, tmp_path: Path) -> None:
    stub.default = Behaviour(json_text=json.dumps(DRAFT))
    told: list[str | None] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:  # noqa: ARG001
        told.append(message)

    async def create() -> Any:
        async with over_stdio(tmp_path, stub=stub) as client:
            result = await client.call_tool(
                "create_change",
                {"change_id": "add-logout", "description": "Let users log out."},
                progress_callback=hear,
            )
            assert not result.is_error, result
            assert (await used(client, "validate_change", change_id="add-logout"))["valid"] is True
            said = await refused(
                client, "create_change", change_id="add-logout", description="Let users log out."
            )
            assert said == "Change 'add-logout' already exists: moot/changes/add-logout."
            assert "is not an id" in await refused(
                client, "create_change", change_id="../x", description="Let users log out."
            )
            assert (await refused(client, "create_change", change_id="x", description=" ")).startswith(
                "description: "
            )
            return result.structured_content

    created = asyncio.run(create())
    assert (created["change_id"], created["phase"], created["tasks"]) == ("add-logout", "proposed", 1)
    assert told[0] == "looks at the workspace"
    assert "openai:gpt-5.6 drafts" in told
    assert "Let users log out." in stub.requests[0].said
    change = tmp_path / "moot" / "changes" / "add-logout"
    assert "Users can log out." in (change / "proposal.md").read_text(encoding="utf-8")
    assert not (tmp_path / "moot" / "changes" / "x").exists()


def test_drafting_stops_when_the_client_cancels(stub: StubServer, tmp_path: Path) -> None:
    stub.default = Behaviour(json_text=json.dumps(DRAFT), first_token_delay=60)

    async def cancel() -> None:
        async with over_stdio(tmp_path, stub=stub) as client:
            arguments = {"change_id": "add-logout", "description": "Let users log out."}
            call = asyncio.create_task(client.call_tool("create_change", arguments))
            await stub.wait_for(lambda s: len(s.requests) == 1, timeout=30)
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
            await stub.wait_for(lambda s: s.clients_left == 1, timeout=10)
            # The change is free again.
            stub.default = Behaviour(json_text=json.dumps(DRAFT))
            assert (await used(client, "create_change", **arguments))["phase"] == "proposed"

    asyncio.run(cancel())


def test_a_change_is_challenged_reopened_and_given_up(stub: StubServer, tmp_path: Path) -> None:
    change = a_change(tmp_path)
    files = ("proposal.md", "specs/login.md", "tasks.md")
    review = {"verdict": "REJECTED", "issues": [ISSUE], "summary": "No."}
    stub.script(
        Behaviour(tool_calls=tuple(("read_file", {"path": path}) for path in files)),
        Behaviour(tool_calls=(("append_review", review),)),
        Behaviour(text="Done."),
    )

    async def try_it() -> None:
        async with over_stdio(tmp_path, stub=stub) as client:
            told = await used(client, "challenge_change", change_id="add-login")
            assert (told["verdict"], told["phase"], told["engine"]) == ("REJECTED", "rejected", "model")
            assert told["issues"] == [{**ISSUE, "id": "I1", "grounded": True}]
            assert "its text is still what was rejected" in await refused(
                client, "challenge_change", change_id="add-login"
            )
            assert (await used(client, "reopen_change", change_id="add-login"))["phase"] == "proposed"
            assert "reopen is not possible at step 'proposed'" in await refused(
                client, "reopen_change", change_id="add-login"
            )
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert not {"approve_change", "dismiss_issue", "approve", "dismiss"} & set(names)
            blank = await refused(client, "abandon_change", change_id="add-login", because=" ")
            assert blank == "because: say in a sentence why."
            gone = await used(client, "abandon_change", change_id="add-login", because="Nobody needs it.")
            state = (tmp_path / gone["archived"] / "STATE.yaml").read_text(encoding="utf-8")
            assert "because: Nobody needs it." in state

    asyncio.run(try_it())
    assert not change.exists()
