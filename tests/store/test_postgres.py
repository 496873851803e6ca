"""What a real PostgreSQL says to those who listen to it, and to those whose connection it has ended."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import psycopg
import pytest

from moot.errors import SessionMoved, StoreFailed
from moot.server.sharing import Sharing
from moot.store.postgres import notifications, was_ended
from moot.store.sessions import Frame, open_store
from tests.support.postgres import running_postgresql


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_postgresql(tmp_path_factory.mktemp("pg")) as url:
        yield url


def end_all(url: str) -> None:
    """Ends everybody's connections, and waits until they are gone."""
    others = "FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"SELECT pg_terminate_backend(pid, 10000) {others}")
        assert connection.execute(f"SELECT count(*) {others}").fetchall() == [(0,)]


def run(main: Callable[[], Awaitable[None]]) -> None:
    async def within_a_while() -> None:
        async with asyncio.timeout(20):
            await main()

    asyncio.run(within_a_while())


def test_that_the_server_has_ended_a_connection_is_seen_without_asking_it(url: str) -> None:
    async def main() -> None:
        async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
            await connection.execute("SELECT 1")
            assert not was_ended(connection)
            end_all(url)
            assert was_ended(connection)
        assert was_ended(connection), "closed by ourselves"

    run(main)


def test_connections_that_were_ended_while_nobody_used_them_are_nobodys_failure(url: str) -> None:
    async def main() -> None:
        async with open_store(url) as store:
            sessions = await asyncio.gather(*(store.create("ask", "t") for _ in range(3)))
            end_all(url)
            assert await store.count() == len(sessions)
            end_all(url)
            assert await Sharing(store).want(sessions[0].id, "")

    run(main)


def test_what_is_said_on_a_channel_is_told_until_the_connection_breaks(url: str) -> None:
    async def main() -> None:
        async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
            await connection.execute("LISTEN here")
            heard = notifications(connection)
            with psycopg.connect(url, autocommit=True) as other:
                for note in ("one", "two", "ü"):
                    other.execute("SELECT pg_notify('here', %s), pg_notify('there', 'no')", (note,))
            assert [await anext(heard) for _ in range(3)] == [("here", n) for n in ("one", "two", "ü")]
            waiting = asyncio.ensure_future(anext(heard))
            await asyncio.sleep(0)
            end_all(url)
            with pytest.raises(psycopg.OperationalError):
                await waiting

    run(main)


def test_of_frames_only_those_are_told_who_listen_elsewhere(url: str) -> None:
    notes: asyncio.Queue[tuple[str, list[str]]] = asyncio.Queue()

    async def main() -> None:
        async with open_store(url) as store, open_store(url) as elsewhere:
            connected = asyncio.Event()
            listening: asyncio.Task[Any] = asyncio.create_task(
                Sharing(elsewhere).listen(lambda *note: notes.put_nowait(note), connected.set)
            )
            await connected.wait()
            with psycopg.connect(url, autocommit=True) as somebody:
                somebody.execute("SELECT pg_notify('moot', ''), pg_notify('moot', 'nonsense')")
            assert [await notes.get(), await notes.get()] == [("", [])] * 2, "which is borne"
            alone, heard = [(await store.create("board", "t")).id for _ in range(2)]
            frames = [Frame(id_, 1, b"{}") for id_ in (alone, heard)]
            await store.append_frames(frames, subscribed={heard})
            assert await notes.get() == ("frames", [heard])
            await store.append_frames([Frame(alone, 2, b"{}")])
            await Sharing(store).add_listeners([alone])
            assert await notes.get() == ("listeners", [alone]), "and nothing before it"
            listening.cancel()

    run(main)


def test_frames_that_fill_the_connection_several_times_are_written_whole(url: str) -> None:
    async def main() -> None:
        async with open_store(url) as store:
            sessions = [(await store.create("board", "t")).id for _ in range(3)]
            frames = [
                Frame(id_, seq, b'"%b"' % (b"\xc3\xbc\\n" * 5000))
                for id_ in sessions
                for seq in range(1, 201)
            ]
            await store.append_frames(frames)
            assert [frame for id_ in sessions for frame in await store.frames(id_)] == frames
            with pytest.raises(SessionMoved):
                await store.append_frames([Frame(sessions[0], 1, b"{}")])
            end_all(url)
            with pytest.raises(StoreFailed):
                await store.append_frames([Frame(sessions[0], 201, b"{}")])
            await store.append_frames([Frame(sessions[0], 201, b"{}")])

    run(main)


def test_who_listens_is_known_elsewhere_until_they_stop(url: str) -> None:
    async def main() -> None:
        async with open_store(url) as store, open_store(url) as elsewhere:
            one, other = [(await store.create("board", "t", [b"{}"] * n)).id for n in (1, 2)]
            here, there = Sharing(store), Sharing(elsewhere)
            assert await there.listened_to_elsewhere([one, other]) == set()
            await here.add_listeners([other, "gone"])
            pulses = await here.pulses([one, other, "gone"])
            assert {id_: pulse.newest_event for id_, pulse in pulses.items()} == {one: 1, other: 2, "gone": 0}
            assert not any(pulse.has_listeners_elsewhere for pulse in pulses.values()), "not by oneself"
            pulses = await there.pulses([one, other])
            assert [pulses[id_].has_listeners_elsewhere for id_ in (one, other)] == [False, True]
            await here.remove_listener(other)
            assert not (await there.pulses([other]))[other].has_listeners_elsewhere

    run(main)
