"""How work gets to a database: SQLite's to a thread, PostgreSQL's through its asynchronous driver.

What belongs together is one function of a connection, and one trip: SQLite has its own thread carry all of it
out. Statement by statement it would be five trips for each, which cost more than SQLite itself.

Knows connections and threads. Refuses to know any statement.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DisconnectionError, OperationalError

from moot.store.postgres import CONNECTING, was_ended

T = TypeVar("T")
Do = Callable[[Connection], T]

_READERS = 3


class DatabaseEngine(Protocol):
    url: URL
    dialect: str

    async def write(self, do: Do[T]) -> T:
        """In a transaction of its own."""

    async def run(self, do: Do[T]) -> T:
        """The same for a single statement."""

    async def read(self, do: Do[T]) -> T:
        """Waits for nobody who writes."""

    async def close(self) -> None: ...


class SqliteEngine:
    """All who write use one thread, and so take turns: SQLite takes one writer at a time, and of those who
    wait lets anybody be next, so that with many somebody would wait for ever. Once begun, a transaction goes
    on to its end whether or not anybody still waits for it."""

    dialect = "sqlite"

    def __init__(self, url: URL) -> None:
        self.url = url.set(drivername="sqlite+pysqlite")
        self._writer = _Threads("moot-writer", 1)
        self._read_only = False
        self._readers = _Threads("moot-reader", _READERS)
        # One more, for frames.
        self._sync = create_engine(self.url, pool_size=_READERS + 2, max_overflow=0)
        event.listen(self._sync, "connect", _prepare)

    async def in_turn(self, do: Callable[..., T], *given: Any) -> T:
        """For one who writes with a connection of its own: `do` is given where to get it."""
        return await self._writer.run(do, self._sync, *given)

    async def write(self, do: Do[T]) -> T:
        return await self._writer.run(self._write, do)

    run = write

    async def read(self, do: Do[T]) -> T:
        return await self._readers.run(self._read, do)

    def _write(self, do: Do[T]) -> T:
        if self._read_only:
            # SQLite finds that out when it opens a file: once it may be written, new connections can.
            self._sync.dispose()
        try:
            with self._sync.begin() as connection:
                found = do(connection)
                # What only asks something goes through here too, and says nothing of whether it can write.
                has_written = connection.connection.driver_connection.in_transaction  # type: ignore[union-attr]
        except OperationalError as error:
            self._read_only = "readonly" in str(error.orig)
            raise
        self._read_only = self._read_only and not has_written
        return found

    def _read(self, do: Do[T]) -> T:
        with self._sync.connect() as connection:
            return do(connection)

    async def close(self) -> None:
        await self._writer.run(self._sync.dispose)
        self._readers.stop()
        self._writer.stop()


class _Threads:
    """Threads that carry out what they are given, in order, each started when there is first something for
    it. An executor's futures and locks take longer than SQLite does for what is written sixteen times a
    second."""

    def __init__(self, name: str, most: int) -> None:
        self._name = name
        self._most = most
        self._given: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._threads: list[Thread] = []

    async def run(self, do: Callable[..., T], *given: Any) -> T:
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[T] = loop.create_future()
        self._given.put(partial(_carry_out, loop, outcome, do, given))
        if len(self._threads) < self._most:
            thread = Thread(target=self._serve, name=self._name, daemon=True)
            self._threads.append(thread)
            thread.start()
        return await outcome

    def _serve(self) -> None:
        while (one := self._given.get()) is not None:
            one()
            del one  # With its outcome, it would be kept until the next one comes.

    def stop(self) -> None:
        for _ in self._threads:
            self._given.put(None)
        for thread in self._threads:
            thread.join()
        self._threads.clear()


def _carry_out(
    loop: asyncio.AbstractEventLoop, outcome: asyncio.Future[T], do: Callable[..., T], given: tuple[Any, ...]
) -> None:
    # Who was to wait for it may have been cancelled, or the loop have ended with them.
    if outcome.cancelled():
        return
    tell: Callable[[], None]
    try:
        tell = partial(_unless_cancelled, outcome, outcome.set_result, do(*given))
    except Exception as error:
        tell = partial(_unless_cancelled, outcome, outcome.set_exception, error)
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(tell)


def _unless_cancelled(outcome: asyncio.Future[Any], say: Callable[[Any], None], what: Any) -> None:
    if not outcome.done():
        say(what)


def _prepare(connection: Any, _record: Any) -> None:
    cursor = connection.cursor()
    # WAL, so that a reader never blocks the writer; NORMAL loses no committed event when a process is
    # killed, only, at worst, the last ones when the machine itself loses power. By default each connection
    # would fill 2 MB with pages, as slowly as it is used, which looks like a leak: the system has them
    # anyway.
    for pragma in (
        "busy_timeout=10000",
        "journal_mode=WAL",
        "synchronous=NORMAL",
        "foreign_keys=ON",
        "cache_size=-256",
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()
    connection.create_function("casefold", 1, str.casefold, deterministic=True)


class PostgresEngine:
    dialect = "postgresql"

    def __init__(self, url: URL) -> None:
        # Imported here, because most use SQLite.
        from sqlalchemy.ext.asyncio import create_async_engine

        self.url = url.set(drivername="postgresql+psycopg")
        self._engine = create_async_engine(self.url, connect_args=CONNECTING)
        # A statement by itself is a transaction by itself: to begin and end one are two more round trips.
        self._single = self._engine.execution_options(isolation_level="AUTOCOMMIT")
        event.listen(self._engine.sync_engine, "checkout", _refuse_an_ended_one)

    async def write(self, do: Do[T]) -> T:
        async with self._engine.begin() as connection:
            return await connection.run_sync(do)

    async def run(self, do: Do[T]) -> T:
        async with self._single.connect() as connection:
            return await connection.run_sync(do)

    read = run

    async def close(self) -> None:
        await self._engine.dispose()


def _refuse_an_ended_one(connection: Any, *_: Any) -> None:
    """A connection that broke while nobody used it is nobody's failure: the pool makes another."""
    if was_ended(connection.driver_connection):
        raise DisconnectionError
