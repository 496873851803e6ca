from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest

from moot.errors import ConfigInvalid, NotFound, SessionMoved, StoreFailed
from moot.sharing import Sharing
from moot.store import Frame, Store, open_store, sqlite_url
from tests.postgres import running_postgresql


def with_store(where: Path | str, main: Callable[[Store], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with open_store(where if isinstance(where, str) else sqlite_url(where)) as store:
            await main(store)

    asyncio.run(whole())


@pytest.fixture(scope="module")
def postgresql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real PostgreSQL of its own."""
    with running_postgresql(tmp_path_factory.mktemp("pg")) as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty database, of either kind."""
    if request.param == "sqlite":
        yield sqlite_url(tmp_path / "deep" / "moot.db")
        return
    url = str(request.getfixturevalue("postgresql"))
    yield url
    with psycopg.connect(url) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")


def test_events_come_back_in_order_after_reopening(database: str) -> None:
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

    with_store(database, write)
    with_store(database, read)


def test_an_event_number_is_given_once(database: str) -> None:
    async def main(store: Store) -> None:
        session = await store.create("ask", "t")
        await store.append(session.id, 1, b"first")
        with pytest.raises(SessionMoved):
            await store.append(session.id, 1, b"second")
        assert [entry.body for entry in await store.events(session.id)] == [b"first"]

    with_store(database, main)


def test_only_the_process_that_holds_the_lease_keeps_what_models_said(database: str) -> None:
    async def main(store: Store) -> None:
        session = await store.create("board", "t")
        sharing = Sharing(store)
        with pytest.raises(SessionMoved):
            await store.append(session.id, 1, b"{}", driving=True)
        assert await store.events(session.id) == []
        assert await sharing.want(session.id, "") is True
        assert await sharing.take(session.id) == 1
        await store.append(session.id, 1, b"{}", driving=True)
        async with open_store(database) as elsewhere:
            other = Sharing(elsewhere)
            assert await other.want(session.id, "") is False
            assert await other.take(session.id) is None, "while it is held"
            assert await sharing.renew([session.id, "gone"]) == {session.id}
            assert await other.renew([session.id]) == set()
            await _expire(store, session.id)
            assert await other.take(session.id) == 2, "one that has expired is anybody's"
            assert await sharing.take(session.id) is None, "also not of the one who had it"
            assert await sharing.renew([session.id]) == set()
            with pytest.raises(SessionMoved):
                await store.append(session.id, 2, b"{}", driving=True)
            await store.append(session.id, 2, b"{}")
            assert not await sharing.driven_to_its_end(session.id, 2)
            assert await sharing.still_wanted(session.id) is None
            await sharing.release(session.id)
            assert await sharing.take(session.id) is None, "nobody gives back what is another's"
            await other.release(session.id)
            assert await sharing.take(session.id) == 2
            assert await sharing.driven_to_its_end(session.id, 2)
            assert await other.take(session.id) is None, "nobody wants it any more"

    with_store(database, main)


async def _expire(store: Store, session_id: str) -> None:
    await store.sql("UPDATE driving SET until = 1 WHERE session = :session", session=session_id)


def test_an_expired_lease_is_renewed_where_nobody_else_has_taken_it(database: str) -> None:
    async def main(store: Store) -> None:
        session = await store.create("board", "t")
        sharing = Sharing(store)
        await sharing.want(session.id, "")
        await sharing.take(session.id)
        await _expire(store, session.id)
        [seen] = (await sharing.look({session.id: 0})).values()
        assert seen.orphaned
        assert await sharing.renew([session.id]) == {session.id}
        [seen] = (await sharing.look({session.id: 0})).values()
        assert seen.driven
        assert not seen.orphaned

    with_store(database, main)


def test_the_session_touched_last_is_listed_first(database: str) -> None:
    async def main(store: Store) -> None:
        first = await store.create("ask", "first")
        second = await store.create("board", "second")
        await store.append(first.id, 1, b"{}")
        assert [s.title for s in await store.sessions()] == ["first", "second"]
        assert [s.id for s in await store.sessions("board")] == [second.id]
        assert len(await store.sessions(limit=1)) == 1
        assert await store.count() == 2

    with_store(database, main)


def test_a_session_is_found_by_an_unmistakable_beginning_of_its_id(database: str) -> None:
    async def main(store: Store) -> None:
        one = await store.create("ask", "one")
        assert await store.session(one.id[:8]) == one
        await store.create("ask", "two")
        assert (await store.session(one.id)).title == "one"
        for wrong in ("ask-", "nothing", "%", "_sk-"):
            with pytest.raises(NotFound):
                await store.session(wrong)

    with_store(database, main)


def test_deleting_takes_the_events_too(database: str) -> None:
    async def main(store: Store) -> None:
        session = await store.create("ask", "t")
        await store.append(session.id, 1, b"{}")
        await store.delete(session.id)
        assert await store.events(session.id) == []
        with pytest.raises(NotFound):
            await store.delete(session.id)

    with_store(database, main)


def test_frames_come_back_from_any_position(database: str) -> None:
    async def main(store: Store) -> None:
        one, other = await store.create("board", "one"), await store.create("board", "other")
        await store.append_frames(
            [Frame(one.id, 1, b"a"), Frame(other.id, 1, b"x"), Frame(one.id, 2, b"b"), Frame(one.id, 3, b"c")]
        )
        for after in range(5):
            assert [f.body for f in await store.frames(one.id, after)] == [b"a", b"b", b"c"][after:]
        assert (await store.last_frame(one.id), await store.last_frame("nobody")) == (3, 0)
        with pytest.raises(SessionMoved):
            await store.append_frames([Frame(other.id, 2, b"y"), Frame(one.id, 1, b"again")])
        assert await store.last_frame(other.id) == 1, "all of a flush, or nothing"
        await store.append_frames([Frame(one.id, 4, b"d")])
        assert [f.seq for f in await store.frames(one.id, 1)] == [2, 3, 4]
        await store.delete(one.id)
        assert await store.frames(one.id) == []

    with_store(database, main)


def test_frames_that_are_cleared_away_leave_the_number_that_they_reached(database: str) -> None:
    async def main(store: Store) -> None:
        old, new = await store.create("board", "old"), await store.create("board", "new")
        for session in (old, new):
            await store.append_frames([Frame(session.id, 1, b"a"), Frame(session.id, 2, b"b")])
            await store.append_frames([Frame(session.id, seq, b"c") for seq in (3, 4, 5)])
        between = (await store.session(old.id)).updated_at + timedelta(microseconds=1)
        assert await store.clear_frames(between) == 1
        assert await store.clear_frames(between) == 0, "once is enough"
        assert await store.frames(old.id) == []
        assert await store.last_frame(old.id) == 5
        assert len(await store.frames(new.id)) == 5
        await store.append_frames([Frame(old.id, 6, b"d")])
        for after in range(6):
            assert [f.seq for f in await store.frames(old.id, after)] == [6]
        with pytest.raises(SessionMoved):
            await store.append_frames([Frame(old.id, 5, b"again")])

    with_store(database, main)


def test_frames_can_be_read_a_few_at_a_time(database: str) -> None:
    async def main(store: Store) -> None:
        session = await store.create("board", "t")
        for first in range(1, 31, 3):
            await store.append_frames([Frame(session.id, first + n, b"x") for n in range(3)])
        read: list[int] = []
        while some := await store.frames(session.id, read[-1] if read else 1, rows=4):
            assert len(some) <= 12
            read.extend(frame.seq for frame in some)
        assert read == list(range(2, 31))

    with_store(database, main)


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


def test_two_processes_open_and_append_at_once(database: str) -> None:
    """Each process writes its own session as fast as it can; nothing may be lost."""

    async def write(store: Store) -> None:
        session = await store.create("ask", str(os.getpid()))
        for seq in range(1, 51):
            await store.append(session.id, seq, b"{}")

    children = []
    for _ in range(2):
        child = os.fork()
        if child == 0:
            try:
                with_store(database, write)
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

    with_store(database, read)
