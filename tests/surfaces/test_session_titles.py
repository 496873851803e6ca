"""Sessions can be found, named, pinned and deleted: over HTTP, in the terminal, on both databases."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from moot.store.database import sqlite_url
from moot.store.sessions import Store, open_store
from tests.stub.server import running_stub
from tests.support.board_session import events, keep
from tests.support.command import Ended, environment, moot
from tests.support.postgres import running_postgresql
from tests.support.server import Server, serving

SESSIONS = "/api/board/sessions"


@pytest.fixture(scope="module")
def postgresql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_postgresql(tmp_path_factory.mktemp("pg")) as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return sqlite_url(tmp_path / "moot.sqlite3")
    return str(request.getfixturevalue("postgresql"))


def test_a_search_finds_all_words_in_any_case_in_what_it_is_about_or_is_called(database: str) -> None:
    async def main() -> None:
        async with open_store(database, "/projects/search") as store:
            first = await store.create("board", "ÜBER die Miete\nim Frühling 100%")
            named = await store.create("board", "Something else")
            await store.create("board", "A third one")
            await store.change_head(named.id, name="Die Miete, neu")

            async def found(words: str) -> list[str]:
                return [session.id for session in await store.sessions(search=words)]

            assert await found("miete") == [named.id, first.id]
            assert await found("über MIETE") == [first.id]
            assert await found("neu") == [named.id]
            assert await found("something") == [named.id]
            assert await found("100%") == [first.id]
            assert await found("1_0%") == []
            assert len(await found("  ")) == 3

    asyncio.run(main())


def test_pinned_sessions_come_first_on_whatever_page(database: str) -> None:
    async def paged(store: Store) -> list[str]:
        seen: list[str] = []
        after = None
        while page := await store.sessions(limit=2, after=after):
            seen += [session.id for session in page]
            after = page[-1]
        return seen

    async def main() -> None:
        async with open_store(database, "/projects/pins") as store:
            made = [(await store.create("board", str(number))).id for number in range(7)]
            for number in (1, 2, 5):
                await store.change_head(made[number], pinned=True)
            order = [made[number] for number in (5, 2, 1, 6, 4, 3, 0)]
            assert await paged(store) == order
            latest = await store.sessions(limit=1, pinned_first=False)
            assert [session.id for session in latest] == [made[6]], "the latest is by time alone"

    asyncio.run(main())


@pytest.fixture
def two(tmp_path: Path) -> tuple[str, str]:
    return keep(tmp_path, events("Should we move?")), keep(tmp_path, events("Should we hire?"))


def listed(server: Server, **query: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = server.get(SESSIONS, params=query).json()["sessions"]
    return found


def test_a_session_is_named_pinned_and_found_over_http(tmp_path: Path, two: tuple[str, str]) -> None:
    move, hire = two
    with running_stub() as stub, serving(tmp_path, stub, "--no-open") as server:
        assert [(one["id"], one["title"], one["pinned"]) for one in listed(server)] == [
            (hire, "Should we hire?", False),
            (move, "Should we move?", False),
        ]
        before = server.get(f"{SESSIONS}/{move}").json()["session"]["updatedAt"]
        change = server.client.patch(
            f"{server.url}{SESSIONS}/{move}", json={"title": "  The\nlease\x07 ", "pinned": True}
        )
        assert change.status_code == 204
        first = listed(server)[0]
        assert (first["id"], first["title"], first["decision"]) == (move, "The lease", "Should we move?")
        assert first["pinned"]
        assert first["updatedAt"] == before
        assert [one["id"] for one in listed(server, search="LEASE")] == [move]
        assert [one["id"] for one in listed(server, search="hire")] == [hire]
        assert listed(server, search="nothing") == []
        assert server.get(f"{SESSIONS}/{move}/export?format=md").text.startswith("# The lease\n")
        assert server.get(f"{SESSIONS}/{move}").json()["session"]["title"] == "The lease"
        url = f"{server.url}{SESSIONS}/{move}"
        assert server.client.patch(url, json={"title": "", "pinned": False}).status_code == 204
        assert [(one["id"], one["title"]) for one in listed(server)][1] == (move, "Should we move?")
        refused = server.client.patch(url, json={"title": "x" * 201})
        assert (refused.status_code, refused.json()["error"][:6]) == (400, "title:")
        assert server.client.patch(f"{server.url}{SESSIONS}/board-none", json={}).status_code == 404


def test_a_session_is_named_pinned_found_and_deleted_in_the_terminal(
    tmp_path: Path, two: tuple[str, str]
) -> None:
    move, hire = two

    def said(*arguments: str) -> Ended:
        return moot("sessions", *arguments, env=environment(tmp_path), cwd=tmp_path)

    assert said("rename", move, "The lease").err == f"{move} is called: The lease\n"
    assert said("pin", move).err == f"{move} is pinned.\n"
    first, second = said().out.splitlines()
    assert first.startswith(move)
    assert first.endswith("pinned  The lease")
    assert second.startswith(hire)
    assert second.endswith("Should we hire?")
    assert [one["title"] for one in said("--json").json["sessions"]] == ["The lease", "Should we hire?"]
    assert [one["id"] for one in said("--search", "lease", "--json").json["sessions"]] == [move]
    assert "No session has all of these words" in said("--search", "moon").err
    assert said("unpin", move).code == 0
    assert said().out.splitlines()[0].startswith(hire)
    kept = said("delete", hire)
    assert kept.code == 2
    assert f"moot sessions delete {hire} --yes" in kept.err
    assert said("delete", hire, "--yes").err == f"{hire} is deleted.\n"
    assert [one["id"] for one in said("--json").json["sessions"]] == [move]
    assert said("delete", hire, "--yes").code == 1
