from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest

from moot.errors import ConfigInvalid, KeyReused, NotFound, SessionMoved, StoreFailed
from moot.server.sharing import Sharing
from moot.store.database import sqlite_url
from moot.store.sessions import Frame, Key, Store, open_store
from tests.support.postgres import running_postgresql


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
            assert not await sharing.finish(session.id, 2)
            assert await sharing.still_wanted(session.id) is None
            await sharing.release(session.id)
            assert await sharing.take(session.id) is None, "nobody gives back what is another's"
            await other.release(session.id)
            assert await sharing.take(session.id) == 2
            assert await sharing.finish(session.id, 2)
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


# -- the file ------------------------------------------------------------------------------------


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


async def _write_something(store: Store) -> None:
    await store.create("ask", "t")


def test_the_file_is_its_user_s_alone(tmp_path: Path) -> None:
    os.umask(0o022)
    file = tmp_path / "new" / "folder" / "moot.db"

    async def look(store: Store) -> None:
        await _write_something(store)
        written = sorted(path.name for path in file.parent.iterdir())
        assert written == ["moot.db", "moot.db-shm", "moot.db-wal"]
        assert {mode(path) for path in file.parent.iterdir()} == {0o600}

    with_store(file, look)
    assert mode(file) == 0o600
    assert (mode(file.parent), mode(file.parent.parent)) == (0o700, 0o700)


def test_a_file_that_others_can_read_is_narrowed_with_a_note(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tmp_path.chmod(0o755)
    file = tmp_path / "moot.db"
    files = [tmp_path / name for name in ("moot.db", "moot.db-wal", "moot.db-shm")]
    with_store(file, _write_something)

    async def widen(store: Store) -> None:
        await _write_something(store)
        for path in files:
            path.chmod(0o644)
        async with open_store(sqlite_url(file)):
            assert {mode(path) for path in files} == {0o600}

    with_store(file, widen)
    assert [record.getMessage() for record in caplog.records if str(file) in record.getMessage()] == [
        f"Others could read {name}: now only its owner can" for name in (file, f"{file}-wal", f"{file}-shm")
    ]
    assert mode(tmp_path) == 0o755, "a folder that was there is left alone"
    caplog.clear()
    with_store(file, _write_something)
    assert not caplog.records


@pytest.mark.parametrize("how", ["deleted", "replaced"])
def test_a_file_that_is_gone_is_said_and_not_written_to(how: str, tmp_path: Path) -> None:
    file, away = tmp_path / "moot.db", tmp_path / "away"

    async def main(store: Store) -> None:
        session = await store.create("board", "t")
        file.rename(away)
        if how == "replaced":
            file.write_bytes(away.read_bytes())
        for write in (
            lambda: store.create("board", "lost"),
            lambda: store.append(session.id, 1, b"{}"),
            lambda: store.append_frames([Frame(session.id, 1, b"a")]),
            lambda: store.sql("DELETE FROM spending"),
            lambda: store.delete(session.id),
            store.check,
        ):
            with pytest.raises(StoreFailed, match=f"was {how} while moot was using it") as failed:
                await write()
            assert "put it back, or restart moot" in str(failed.value)
        assert file.exists() is (how == "replaced")
        # Put back, everything goes on.
        away.rename(file)
        await store.append(session.id, 1, b"{}")
        await store.append_frames([Frame(session.id, 1, b"a")])
        await store.check()

    with_store(file, main)


def test_a_damaged_file_is_said_to_be_damaged(tmp_path: Path) -> None:
    file = tmp_path / "moot.db"
    ids: list[str] = []

    async def fill(store: Store) -> None:
        for number in range(200):
            session = await store.create("board", f"{number} " * 200, [b"x" * 2000])
            ids.append(session.id)

    with_store(file, fill)
    content = bytearray(file.read_bytes())
    for page in range(60, len(content) // 4096):
        content[page * 4096 : page * 4096 + 200] = b"\xff" * 200
    file.write_bytes(content)

    async def read(store: Store) -> None:
        with pytest.raises(StoreFailed, match="is damaged: restore it from a backup"):
            await store.check_file()
        with pytest.raises(StoreFailed, match="is damaged: restore it from a backup"):
            await asyncio.gather(*(store.events(id_) for id_ in ids))
        with pytest.raises(StoreFailed, match="is damaged: restore it from a backup"):
            await store.check()

    with_store(file, read)


# -- the list ------------------------------------------------------------------------------------


def test_the_list_is_read_in_pages_without_a_gap_or_a_repeat(database: str) -> None:
    async def main(store: Store) -> None:
        made = [(await store.create("board", str(number))).id for number in range(25)]
        found: list[str] = []
        after = None
        for _ in range(10):
            page = await store.sessions("board", limit=7, after=after)
            found += [session.id for session in page]
            if len(page) < 7:
                break
            after = page[-1]
        assert found == made[::-1]

    with_store(database, main)


def test_sessions_of_one_moment_are_paged_too(tmp_path: Path) -> None:
    from sqlalchemy import update

    from moot.store import tables

    async def main(store: Store) -> None:
        made = sorted([(await store.create("board", "t")).id for _ in range(9)])
        await store.run(update(tables.sessions).values(updated_at=datetime(2026, 1, 1, tzinfo=UTC)))
        found: list[str] = []
        after = None
        while page := await store.sessions(limit=2, after=after):
            found += [session.id for session in page]
            after = page[-1]
        assert found == made

    with_store(tmp_path / "moot.db", main)


def test_a_session_knows_its_workspace_and_its_owner(database: str) -> None:
    async def main() -> None:
        async with open_store(database, workspace="/projects/one") as one:
            mine = await one.create("board", "mine", owner="ada")
            free = await one.create("board", "free")
        async with open_store(database, workspace="/projects/two") as two:
            other = await two.create("board", "other", owner="bob")
        async with open_store(database) as nowhere:
            old = await nowhere.create("board", "old")
        async with open_store(database, workspace="/projects/one") as store:
            assert (await store.session(mine.id)).workspace == "/projects/one"
            assert (await store.session(other.id)).owner == "bob"

            async def listed(**which: object) -> list[str]:
                return [session.id for session in await store.sessions(**which)]  # type: ignore[arg-type]

            assert await listed() == [old.id, free.id, mine.id]
            assert await listed(everywhere=True) == [old.id, other.id, free.id, mine.id]
            assert await listed(everywhere=True, seen_by="ada") == [old.id, free.id, mine.id]
            assert await listed(everywhere=True, seen_by="bob") == [old.id, other.id, free.id]

    asyncio.run(main())


# -- keys ----------------------------------------------------------------------------------------


def test_a_key_gives_one_session_however_often_it_comes(database: str) -> None:
    async def main(store: Store) -> None:
        key = Key("k", "what was asked")
        async with open_store(database) as elsewhere:
            made = await asyncio.gather(
                *(one.create("board", "t", [b"{}"], owner="ada", key=key) for one in [store, elsewhere] * 4)
            )
        assert len({session.id for session in made}) == 1
        assert len(await store.events(made[0].id)) == 1
        assert await store.count() == 1
        assert (await store.create("board", "t", owner="bob", key=key)).id != made[0].id
        with pytest.raises(KeyReused):
            await store.create("board", "t", owner="ada", key=Key("k", "something else"))
        assert await store.keyed("ada", key) == made[0]
        assert await store.keyed("ada", Key("other", "what was asked")) is None
        await store.delete(made[0].id)
        assert await store.keyed("ada", key) is None

    with_store(database, main)


def test_a_key_is_kept_for_a_day(database: str) -> None:
    from sqlalchemy import update

    from moot.store import tables

    async def main(store: Store) -> None:
        key = Key("k", "what was asked")
        first = await store.create("board", "t", key=key)
        for hours, same in ((23, True), (25, False)):
            then = datetime.now(UTC) - timedelta(hours=hours)
            await store.run(update(tables.keys).values(at=then))
            assert (await store.create("board", "t", key=key) == first) is same

    with_store(database, main)
