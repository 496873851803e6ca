"""One SQL database: how it is reached, who writes when, and whether it is still there and whole.

One SQLite file by default; any other database that SQLAlchemy reaches by URL. Refuses to know what is in it.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Executable, bindparam, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import (
    ArgumentError,
    DatabaseError,
    DisconnectionError,
    IntegrityError,
    NoSuchModuleError,
)
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from moot.errors import ConfigInvalid, StoreFailed
from moot.extras import POSTGRES, require
from moot.store import tables
from moot.store.frames import NotWritten, prepare_sqlite
from moot.store.migrations import check_version
from moot.store.postgres import CONNECTING, was_ended
from moot.store.sqlite_file import DatabaseFile, explain, find_damage, is_damage, sqlite_file


class Database:
    """Statements and transactions, one writer at a time where the database is a file."""

    def __init__(
        self,
        engine: AsyncEngine,
        file: DatabaseFile | None = None,
    ) -> None:
        self._engine = engine
        self._file = file
        self._damaged = False
        # A statement by itself is a transaction by itself: to begin and end one are two more round trips.
        self._single = engine.execution_options(isolation_level="AUTOCOMMIT") if self.shared else engine
        self._read_only = False
        self._watching: sqlite3.Connection | None = None
        # SQLite takes one writer at a time, and of those who wait lets anybody be next: with many, somebody
        # waits for ever. Here they take turns.
        self._turn: AbstractAsyncContextManager[Any] = nullcontext() if self.shared else asyncio.Lock()

    @property
    def shared(self) -> bool:
        """Whether processes on several machines may use this database, and are notified of changes."""
        return self.dialect == "postgresql"

    @property
    def dialect(self) -> str:
        return self._engine.dialect.name

    @property
    def conninfo(self) -> str:
        """How a PostgreSQL is reached by its own means."""
        url = self._engine.url.set(drivername="postgresql")
        return url.render_as_string(hide_password=False)

    async def sql(self, statement: str, **values: Any) -> list[Any]:
        """One statement in a transaction of its own, for those who share the database."""
        return await self.run(text(statement), values)

    async def run(self, statement: Executable, values: dict[str, Any] | None = None) -> list[Any]:
        """The same, for a statement that is built from the tables."""
        with self._explained():
            async with self._turn, self._single.begin() as connection:
                result = await connection.execute(statement, values)
                return list(result.all()) if result.returns_rows else []

    async def read(self, query: Executable) -> list[Any]:
        """What a query finds. Waits for nobody who writes."""
        async with self._reading() as connection:
            return list((await connection.execute(query)).all())

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """The database in use: where it is a file, still the one that was opened. What it says is put in a
        sentence."""
        if self._file is not None:
            self._file.check()
        try:
            with explained(self._engine):
                yield
        except StoreFailed as failed:
            self._damaged = self._damaged or is_damage(failed.problem)
            raise

    @asynccontextmanager
    async def alone(self, purpose: str) -> AsyncIterator[Callable[..., Awaitable[list[Any]]]]:
        """Several statements in one transaction, of all processes only here for that purpose."""
        async with self._writing() as connection:

            async def sql(statement: str, **values: Any) -> list[Any]:
                result = await connection.execute(text(statement), values)
                return list(result.all()) if result.returns_rows else []

            await sql("SELECT pg_advisory_xact_lock(hashtext(:purpose))", purpose=purpose)
            yield sql

    @asynccontextmanager
    async def transaction(self, alone: str = "") -> AsyncIterator[AsyncConnection]:
        """For those who keep tables of their own. With `alone`, nobody else is in one of the same name, so
        that what was read still holds when it is written."""
        async with self._writing() as connection:
            if alone and self.shared:
                lock = text("SELECT pg_advisory_xact_lock(hashtext(:purpose))")
                await connection.execute(lock, {"purpose": alone})
            elif alone:
                await connection.exec_driver_sql("BEGIN IMMEDIATE")
            yield connection

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection]:
        async with self._reading() as connection:
            yield connection

    @asynccontextmanager
    async def _writing(self) -> AsyncIterator[AsyncConnection]:
        async with self._turn:
            if self._read_only:
                # SQLite finds that out when it opens a file: once it may be written, new connections can.
                await self._engine.dispose()
            try:
                with self._explained():
                    async with self._engine.begin() as connection:
                        yield connection
                self._read_only = False
            except StoreFailed as failed:
                self._read_only = "readonly" in failed.problem
                raise

    @asynccontextmanager
    async def _reading(self) -> AsyncIterator[AsyncConnection]:
        with self._explained():
            async with self._single.connect() as connection:
                yield connection

    def stop_watching(self) -> None:
        watching, self._watching = self._watching, None
        if watching is not None:
            watching.close()

    async def data_version(self) -> int:
        """Another number than before where another connection has changed a SQLite file. It costs some
        microseconds: less than to have a thread do it."""
        if self._watching is None:
            file = self._engine.url.database
            if not file or file == ":memory:":
                return 0
            with self._explained():
                self._watching = sqlite3.connect(file, check_same_thread=False)
        with self._explained():
            return int(self._watching.execute("PRAGMA data_version").fetchone()[0])

    async def check(self) -> None:
        """Raises where the database is away, is damaged, cannot be written, or is of a schema that this
        program does not know. Really writes: a full disk, or one that may only be read, answers every
        question."""
        async with self._reading() as connection:
            await connection.run_sync(check_version)
        if self._damaged:
            await self.check_file()
        # Something new each time: what is the same already, SQLite does not write.
        beat = text(
            "INSERT INTO heartbeat (id, at) VALUES (1, :at) ON CONFLICT (id) DO UPDATE SET at = excluded.at"
        ).bindparams(bindparam("at", datetime.now(UTC), tables.Instant))
        async with self._writing() as connection:
            await connection.execute(beat)

    async def check_file(self) -> None:
        """Raises where the database is a file that is damaged. Reads all of it."""
        if self._file is None:
            return
        self._file.check()
        found = await asyncio.to_thread(find_damage, self._file.path)
        self._damaged = bool(found)
        if found:
            raise StoreFailed(str(self._file.path), explain(f"database disk image is malformed ({found})"))


@contextmanager
def explained(engine: AsyncEngine) -> Iterator[None]:
    """What a database says, in a sentence; that an event number is taken stays for `append` to say."""
    try:
        yield
    except IntegrityError:
        raise
    except (DatabaseError, PoolTimeout, NotWritten, sqlite3.Error) as error:
        problem = explain(str(getattr(error, "orig", error)).strip())
        raise StoreFailed(engine.url.render_as_string(hide_password=True), problem) from error


def sqlite_url(file: Path) -> str:
    return f"sqlite:///{file}"


def make_engine(url: str) -> AsyncEngine:
    try:
        parsed = make_url(url)
        drivers = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+psycopg"}
        parsed = parsed.set(drivername=drivers.get(parsed.drivername, parsed.drivername))
        if path := sqlite_file(url):
            DatabaseFile(path).prepare()
        if parsed.get_backend_name() == "postgresql":
            require(POSTGRES)
            engine = create_async_engine(parsed, connect_args=CONNECTING)
            event.listen(engine.sync_engine, "checkout", _refuse_an_ended_one)
        elif parsed.get_backend_name() == "sqlite" and parsed.database and parsed.database != ":memory:":
            # Each connection is a thread: a few serve all, and none comes and goes with every rush.
            engine = create_async_engine(parsed, pool_size=4, max_overflow=0)
        else:
            engine = create_async_engine(parsed)
    except (ArgumentError, NoSuchModuleError, ModuleNotFoundError) as error:
        raise ConfigInvalid(
            "database", f"{_shown(url)} cannot be used: {error}. Write it as sqlite:////path/to/file"
        ) from error
    except OSError as error:
        raise ConfigInvalid("database", f"{_shown(url)} cannot be created: {error.strerror}") from error
    if parsed.get_backend_name() == "sqlite":
        event.listen(engine.sync_engine, "connect", prepare_sqlite)
        event.listen(engine.sync_engine, "connect", _keep_few_pages)
        event.listen(engine.sync_engine, "connect", _add_casefold)
    return engine


def _keep_few_pages(connection: Any, _record: Any) -> None:
    """By default each connection fills 2 MB with pages, as slowly as it is used, which looks like a leak. The
    system has them anyway."""
    cursor = connection.cursor()
    cursor.execute("PRAGMA cache_size=-256")
    cursor.close()


def _add_casefold(connection: Any, _record: Any) -> None:
    connection.create_function("casefold", 1, str.casefold, deterministic=True)


def _refuse_an_ended_one(connection: Any, *_: Any) -> None:
    """A connection that broke while nobody used it is nobody's failure: the pool makes another."""
    if was_ended(connection.driver_connection):
        raise DisconnectionError


def _shown(url: str) -> str:
    """A database URL without its password."""
    try:
        return make_url(url).render_as_string(hide_password=True)
    except ArgumentError:
        return "the database URL"
