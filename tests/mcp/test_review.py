"""A reviewer with a plain MCP client: the real command, over stdio and HTTP, in both eras of the protocol."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import given, settings

from mcp import Client
from moot import __version__
from moot.agents.protocol import TOOLS
from moot.changes import review_block
from tests.files.test_paths import LINKS, hostile_paths
from tests.support.mcp_client import (
    ISSUE,
    NOT_YET,
    PROPOSAL,
    SPEC,
    a_change,
    a_run,
    over_stdio,
    read_all,
    refused,
    serving,
    used,
)

ALL_TOOLS = [
    "read_file",
    "list_directory",
    "append_review",
    "list_changes",
    "get_change",
    "validate_change",
    "create_change",
    "challenge_change",
    "reopen_change",
    "abandon_change",
    "convene_board",
    "get_board",
    "stop_board",
    "go_on_with_board",
    "ask_again",
    "tick_condition",
    "ask_persona",
    "begin_session",
    "get_session",
    "list_sessions",
    "answer_session",
    "stop_session",
    "go_on_with_session",
    "weigh_evidence",
    "give_evidence",
    "read_evidence",
    "correct_decided",
    "estimate_session",
    "session_cost",
]
FETCHING = {
    "weigh_evidence",
    "estimate_session",
    "give_evidence",
    "convene_board",
    "ask_persona",
    "create_change",
}
"""They may be given the address of a page."""


IDEMPOTENT = ("append_review", "tick_condition", "stop_board", "stop_session", "give_evidence")
READING = (
    *("read_file", "list_directory", "search", "git_log", "git_diff"),
    *("list_changes", "get_change", "validate_change"),
    *("get_board", "get_session", "list_sessions", "weigh_evidence", "read_evidence"),
    *("estimate_session", "session_cost"),
)
WORKING = ("begin_session", "answer_session", "go_on_with_session")
"""A workflow has code changed and tests run."""


@asynccontextmanager
async def connected(transport: str, mode: str, folder: Path, *arguments: str) -> AsyncIterator[Client]:
    if transport == "stdio":
        async with over_stdio(folder, *arguments, mode=mode) as client:
            yield client
    else:
        with serving(folder, *arguments) as url:
            async with Client(url, mode=mode, read_timeout_seconds=60) as client:
                yield client


# -- what a client sees --------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_a_reviewer_reads_a_change_and_appends_its_review(tmp_path: Path, transport: str, mode: str) -> None:
    change = a_change(tmp_path)
    a_change(tmp_path, "another")

    async def review() -> None:
        async with connected(transport, mode, tmp_path, "--change", "add-login", *a_run(change)) as client:
            server = client.server_info
            assert server is not None
            assert (server.name, server.version) == ("moot", __version__)
            assert client.instructions is not None
            assert client.instructions.startswith("moot: the review of the change 'add-login'.")
            assert [tool.name for tool in (await client.list_tools()).tools] == list(TOOLS)
            found = await used(client, "search", text="Users can log in.")
            assert found["result"].startswith("[lines with “Users can log in.”: nothing]"), (
                "plans are no code"
            )
            assert (await used(client, "list_directory"))["entries"] == [
                {"name": "STATE.yaml", "kind": "file"},
                {"name": "proposal.md", "kind": "file"},
                {"name": "specs", "kind": "folder"},
                {"name": "tasks.md", "kind": "file"},
            ]
            assert await used(client, "read_file", path="proposal.md") == {
                "path": "proposal.md",
                "text": numbered(PROPOSAL),
                "offset": 1,
                "lines": 13,
                "next_offset": None,
                "truncated": False,
            }
            assert (await used(client, "read_file", path="specs/login.md"))["text"] == numbered(SPEC)
            assert (await used(client, "read_file", path="@/moot/changes/another/tasks.md"))["lines"] == 4
            assert await refused(client, "append_review", **NOT_YET) == (
                "The review was not appended: you have not read all of the change. Read with read_file: "
                "tasks.md. Then append your review."
            )
            await used(client, "read_file", path="tasks.md")
            appended = {"verdict": "NEEDS_REVISION", "high": 1, "medium": 0, "low": 0}
            assert await used(client, "append_review", **NOT_YET) == appended

    asyncio.run(review())
    written = (change / "proposal.md").read_text(encoding="utf-8")
    assert written.startswith(PROPOSAL)
    (block,) = review_block.blocks(written)
    assert review_block.read(block).issues[0].description == "No rate limit."


def test_tools_are_typed_both_ways_and_only_those_that_may_have_code_run_ask_for_approval(
    tmp_path: Path,
) -> None:
    a_change(tmp_path)

    async def look() -> tuple[list[Any], list[Any]]:
        async with over_stdio(tmp_path) as client:
            everything = (await client.list_tools()).tools
        async with over_stdio(tmp_path, "--change", "add-login") as client:
            return everything, (await client.list_tools()).tools

    everything, confined = asyncio.run(look())
    assert [tool.name for tool in everything] == ALL_TOOLS
    for tool in [*everything, *confined]:
        assert tool.description
        assert tool.output_schema["type"] == "object", tool.name
        assert tool.output_schema["required"], tool.name
        hints = tool.annotations
        writes = tool.name not in READING
        works = tool.name in WORKING
        assert (hints.read_only_hint, hints.destructive_hint) == (not writes, works), tool.name
        assert hints.open_world_hint is (works or tool.name in FETCHING), tool.name
        assert hints.idempotent_hint is (not writes or tool.name in IDEMPOTENT), tool.name
    same = [one for one in confined if one.name in ALL_TOOLS]
    for named, one in zip(everything[:3], same, strict=True):
        assert named.input_schema["required"][0] == "change_id"
        assert "change_id" not in one.input_schema["properties"]
        assert named.input_schema["required"][1:] == one.input_schema.get("required", [])
        assert named.output_schema == one.output_schema
    append = confined[-1].input_schema
    assert append["properties"]["verdict"]["enum"] == ["APPROVED", "NEEDS_REVISION", "REJECTED"]
    assert append["$defs"]["IssueGiven"]["properties"]["severity"]["enum"] == ["High", "Medium", "Low"]
    # Whoever quotes nothing is asked for it, and told what follows.
    assert append["$defs"]["IssueGiven"]["required"] == [name for name in ISSUE if name != "quote"]


# -- what is refused -----------------------------------------------------------------------------


def test_what_a_reviewer_is_refused_it_can_correct(tmp_path: Path) -> None:
    change = a_change(tmp_path)
    (change / "big.md").write_bytes(b"x" * 5_000_001)
    (change / "latin.md").write_bytes(b"caf\xe9\n")
    (change / "outside.md").symlink_to("/etc/passwd")
    medium = {**ISSUE, "severity": "Medium"}

    async def try_it() -> None:
        async with over_stdio(tmp_path, "--change", "add-login", *a_run(change)) as client:
            read = partial(refused, client, "read_file")
            append = partial(refused, client, "append_review")
            assert await read(path="../another/proposal.md") == (
                "path '../another/proposal.md' is not allowed: it contains '..'."
            )
            assert await read(path="/etc/passwd") == "path '/etc/passwd' is not allowed: it is absolute."
            assert await read(path="outside.md") == (
                "path 'outside.md' is not allowed: it leads outside the folder it has to stay in: "
                "the link 'outside.md' leads out of it; remove it, or put a real folder or file there."
            )
            assert "control characters" in await read(path="proposal.md\0")
            assert await read(path="big.md") == "'big.md' is larger than 5 MB and cannot be read."
            assert await read(path="latin.md") == ("'latin.md' is no UTF-8 text and cannot be read.")
            assert (await read(path="x.md")).startswith("There is no file 'x.md'. The change has: ")
            assert await read() == "Input not accepted: path: is missing."
            assert await read(path="proposal.md", offset=0) == (
                "Input not accepted: offset: has to be at least 1, and is 0."
            )
            assert await refused(client, "list_directory", path="proposal.md") == (
                "path 'proposal.md' is not allowed: it is not a folder."
            )
            assert await append(verdict="APPROVED", issues=[ISSUE], summary="Fine.") == (
                "The review was not appended: APPROVED is not possible with a High issue: lower its severity "
                "or the verdict."
            )
            assert await append(verdict="REJECTED", issues=[medium], summary="No.") == (
                "The review was not appended: REJECTED needs a High issue or at least two Medium issues."
            )
            assert await append(verdict="MAYBE", issues=[{**ISSUE, "severity": "Critical"}], summary="?") == (
                "Input not accepted: verdict: 'MAYBE' is none of APPROVED, NEEDS_REVISION, REJECTED; "
                "issues.0.severity: 'Critical' is none of High, Medium, Low."
            )
            assert await refused(client, "convene_board", decision="Escape?") == "Unknown tool: convene_board"
            assert (change / "proposal.md").read_text(encoding="utf-8") == PROPOSAL
            # Corrected, it is taken; once.
            await read_all(client)
            await used(client, "append_review", **NOT_YET)
            for second in (NOT_YET, {"verdict": "APPROVED", "issues": [], "summary": "I was wrong."}):
                assert await append(**second) == (
                    "The review was not appended: a run makes one review, and this one has made its own: you "
                    "are done."
                )

    asyncio.run(try_it())
    assert len(review_block.blocks((change / "proposal.md").read_text(encoding="utf-8"))) == 1


def test_a_review_that_moot_did_not_begin_is_refused(tmp_path: Path) -> None:
    """Without a run, with a made-up one, and with one that is over."""
    change = a_change(tmp_path)
    _, over = a_run(change)
    a_run(change)

    async def try_it(*arguments: str, **more: str) -> None:
        async with over_stdio(tmp_path, *arguments) as client:
            await read_all(client, **more)
            assert await refused(client, "append_review", **more, **NOT_YET) == (
                "The review was not appended: moot has begun no review of it here. Start it with `moot "
                "challenge add-login`."
            )

    asyncio.run(try_it(change_id="add-login"))
    for run in ((), ("--run", "made-up"), ("--run", over)):
        asyncio.run(try_it("--change", "add-login", *run))
    assert (change / "proposal.md").read_text(encoding="utf-8") == PROPOSAL


def test_a_proposal_deleted_in_the_middle_is_told_and_not_made_anew(tmp_path: Path) -> None:
    change = a_change(tmp_path)

    async def try_it() -> None:
        async with over_stdio(tmp_path, "--change", "add-login") as client:
            await used(client, "read_file", path="proposal.md")
            (change / "proposal.md").unlink()
            assert await refused(client, "append_review", **NOT_YET) == (
                "The review was not appended: the change has no proposal.md any more."
            )
            assert not (change / "proposal.md").exists()
            shutil.rmtree(change)
            assert await refused(client, "append_review", **NOT_YET) == "Change 'add-login' not found."
            assert await refused(client, "read_file", path="proposal.md") == (
                "There is no file 'proposal.md'. The change's folder is not there any more."
            )
            assert not change.exists()

    asyncio.run(try_it())


def test_a_change_that_is_not_there_is_answered_with_those_that_are(tmp_path: Path) -> None:
    a_change(tmp_path)

    async def try_it() -> None:
        async with over_stdio(tmp_path) as client:
            for tool, more in (
                ("read_file", {"path": "x"}),
                ("list_directory", {}),
                ("append_review", NOT_YET),
                ("get_change", {}),
                ("validate_change", {}),
            ):
                assert await refused(client, tool, change_id="nope", **more) == (
                    "Change 'nope' not found. There is: add-login."
                ), tool
                assert "'../add-login' is not an id" in await refused(
                    client, tool, change_id="../add-login", **more
                )
            for tool, more in (("reopen_change", {}), ("abandon_change", {"because": "x"})):
                assert await refused(client, tool, change_id="nope", **more) == (
                    "Change 'nope' not found. There is: add-login."
                ), tool

    asyncio.run(try_it())


# -- confinement ---------------------------------------------------------------------------------


def numbered(text: str) -> str:
    lines = text.rstrip("\n").split("\n")
    return "\n".join(f"{at:>{len(str(len(lines)))}}| {line}" for at, line in enumerate(lines, start=1))


@pytest.fixture(scope="module")
def trapped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[BlockingPortal, Client, Path]]:
    """A server for a change with every kind of link in it."""
    folder = tmp_path_factory.mktemp("trapped")
    change = a_change(folder)
    outside = change.parent / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("mark-of-outside", encoding="utf-8")
    (outside / "mark-of-outside").touch()
    for place in ("sub/deep", "a/b"):
        (change / place).mkdir(parents=True)
    for name in ("plain.txt", "sub/plain.txt"):
        (change / name).write_text("plain", encoding="utf-8")
    for name, leads_to in LINKS.items():
        (change / name).symlink_to(leads_to.replace("ROOT", str(change)))
    with start_blocking_portal() as portal:
        client = over_stdio(folder, "--change", "add-login")
        with portal.wrap_async_context_manager(client) as open_client:
            yield portal, open_client, folder


@settings(max_examples=300, deadline=None)
@given(path=hostile_paths)
def test_no_path_that_a_client_names_leads_out_of_the_change(
    trapped: tuple[BlockingPortal, Client, Path], path: str
) -> None:
    portal, client, folder = trapped
    # JSON carries no half characters.
    path = path.encode("utf-8", "replace").decode()
    for tool in ("read_file", "list_directory"):
        result = portal.call(client.call_tool, tool, {"path": path})
        seen = str(result)
        assert "mark-of-outside" not in seen
        assert "root:" not in seen
        assert str(folder) not in seen
