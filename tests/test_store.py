from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from moot.errors import ConfigInvalid, NotFound, SessionMoved, StoreFailed
from moot.store import Store, open_store, sqlite_url


def with_store(file: Path, main: Callable[[Store], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with open_store(sqlite_url(file)) as store:
            await main(store)

    asyncio.run(whole())


def test_events_come_back_in_order_after_reopening(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "moot.db"
    ids: list[str] = []

    async def write(store: Store) -> None:
        session = await store.create("ask", "Should we?")
        ids.append(session.id)
        for seq in range(1, 13):
            await store.append(session.id, seq, f'{{"n":{seq}}}'.encode())

    async def read(store: Store) -> None:
        logged = await store.events(ids[0])
        assert [entry.seq for entry in logged] == list(range(1, 13))
        assert logged[11].body == b'{"n":12}'
        assert logged[0].at.tzinfo is UTC
        session = await store.session(ids[0])
        assert (session.format, session.title) == ("ask", "Should we?")
        assert session.created_at <= session.updated_at <= datetime.now(UTC)

    with_store(file, write)
    with_store(file, read)


def test_an_event_number_is_given_once(tmp_path: Path) -> None:
    async def main(store: Store) -> None:
        session = await store.create("ask", "t")
        await store.append(session.id, 1, b"first")
        with pytest.raises(SessionMoved):
            await store.append(session.id, 1, b"second")
        assert [entry.body for entry in await store.events(session.id)] == [b"first"]

    with_store(tmp_path / "moot.db", main)


def test_the_session_touched_last_is_listed_first(tmp_path: Path) -> None:
    async def main(store: Store) -> None:
        first = await store.create("ask", "first")
        second = await store.create("board", "second")
        await store.append(first.id, 1, b"{}")
        assert [s.title for s in await store.sessions()] == ["first", "second"]
        assert [s.id for s in await store.sessions("board")] == [second.id]
        assert len(await store.sessions(limit=1)) == 1
        assert await store.count() == 2

    with_store(tmp_path / "moot.db", main)


def test_a_session_is_found_by_an_unmistakable_beginning_of_its_id(tmp_path: Path) -> None:
    async def main(store: Store) -> None:
        one = await store.create("ask", "one")
        assert await store.session(one.id[:8]) == one
        await store.create("ask", "two")
        assert (await store.session(one.id)).title == "one"
        for wrong in ("ask-", "nothing", "%", "_sk-"):
            with pytest.raises(NotFound):
                await store.session(wrong)

    with_store(tmp_path / "moot.db", main)


def test_deleting_takes_the_events_too(tmp_path: Path) -> None:
    async def main(store: Store) -> None:
        session = await store.create("ask", "t")
        await store.append(session.id, 1, b"{}")
        await store.delete(session.id)
        assert await store.events(session.id) == []
        with pytest.raises(NotFound):
            await store.delete(session.id)

    with_store(tmp_path / "moot.db", main)


def test_a_file_that_is_no_database_is_reported_and_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "moot.db"
    file.write_text("dear diary\n" * 200, encoding="utf-8")

    async def never(_: Store) -> None:
        raise AssertionError

    with pytest.raises(StoreFailed, match="cannot be used"):
        with_store(file, never)
    assert file.read_text(encoding="utf-8") == "dear diary\n" * 200


@pytest.mark.parametrize("url", ["nonsense", "oracle:///x", "mongodb://h/x"])
def test_a_database_that_cannot_be_reached_is_a_clear_error(url: str) -> None:
    async def main() -> None:
        async with open_store(url):
            raise AssertionError

    with pytest.raises(ConfigInvalid, match="database"):
        asyncio.run(main())


def test_a_folder_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")

    async def never(_: Store) -> None:
        raise AssertionError

    with pytest.raises(ConfigInvalid, match="cannot be created"):
        with_store(tmp_path / "file" / "moot.db", never)


def test_passwords_are_not_shown() -> None:
    async def main() -> None:
        async with open_store("nosuchdb://moot:hunter2@127.0.0.1/moot"):
            raise AssertionError

    with pytest.raises(ConfigInvalid) as raised:
        asyncio.run(main())
    assert "hunter2" not in str(raised.value)


def test_two_processes_append_to_two_sessions_of_one_file(tmp_path: Path) -> None:
    """Each process writes its own session as fast as it can; SQLite's lock must lose nothing."""
    file = tmp_path / "moot.db"

    async def write(store: Store) -> None:
        session = await store.create("ask", str(os.getpid()))
        for seq in range(1, 51):
            await store.append(session.id, seq, b"{}")

    children = []
    for _ in range(2):
        child = os.fork()
        if child == 0:
            try:
                with_store(file, write)
            except BaseException:
                os._exit(1)
            os._exit(0)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]

    async def read(store: Store) -> None:
        sessions = await store.sessions()
        assert len(sessions) == 2
        for session in sessions:
            assert len(await store.events(session.id)) == 50

    with_store(file, read)
