"""One SQL database: how it is reached, who writes when, and whether it is still there and whole.

An SQLite file, or PostgreSQL. Refuses to know what is in it.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Executable, bindparam, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from moot.errors import ConfigInvalid, StoreFailed
from moot.extras import POSTGRES, require
from moot.store import tables
from moot.store.engines import DatabaseEngine, PostgresEngine, SqliteEngine
from moot.store.frames import NotWritten
from moot.store.migrations import check_version
from moot.store.sqlite_file import DatabaseFile, explain, find_damage, is_damage, sqlite_file

T = TypeVar("T")


class Database:
    """Statements and transactions, one writer at a time where the database is a file."""

    def __init__(self, engine: DatabaseEngine, file: DatabaseFile | None) -> None:
        self._engine = engine
        self._file = file
        self._damaged = False
        self._watching: sqlite3.Connection | None = None

    @property
    def shared(self) -> bool:
        """Whether processes on several machines may use this database, and are notified of changes."""
        return self.dialect == "postgresql"

    @property
    def dialect(self) -> str:
        return self._engine.dialect

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

        def do(connection: Connection) -> list[Any]:
            result = connection.execute(statement, values)
            return list(result.all()) if result.returns_rows else []

        with self._explained():
            return await self._engine.run(do)

    async def write(self, do: Callable[[Connection], T], alone: str = "") -> T:
        """What `do` does, in one transaction. With `alone`, nobody else is in one of the same name, so that
        what was read still holds when it is written. `do` may be called in a thread."""

        def locked(connection: Connection) -> T:
            if self.shared:
                lock = text("SELECT pg_advisory_xact_lock(hashtext(:purpose))")
                connection.execute(lock, {"purpose": alone})
            else:
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            return do(connection)

        with self._explained():
            return await self._engine.write(locked if alone else do)

    async def read(self, query: Executable) -> list[Any]:
        """What a query finds. Waits for nobody who writes."""
        with self._explained():
            return await self._engine.read(lambda connection: list(connection.execute(query).all()))

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """The database in use: where it is a file, still the one that was opened. What it says is put in a
        sentence."""
        if self._file is not None:
            self._file.check()
        try:
            yield
        except IntegrityError:
            # That a number or a name is taken is for whoever wrote it to say.
            raise
        except (DatabaseError, PoolTimeout, NotWritten, sqlite3.Error) as error:
            problem = explain(str(getattr(error, "orig", error)).strip())
            self._damaged = self._damaged or is_damage(problem)
            raise StoreFailed(self._engine.url.render_as_string(hide_password=True), problem) from error

    async def close(self) -> None:
        if self._watching is not None:
            self._watching.close()
        await self._engine.close()

    async def data_version(self) -> int:
        """Another number than before where another connection has changed a SQLite file. It costs some
        microseconds: less than to have a thread do it."""
        assert self._file is not None
        with self._explained():
            if self._watching is None:
                self._watching = sqlite3.connect(self._file.path, check_same_thread=False)
            return int(self._watching.execute("PRAGMA data_version").fetchone()[0])

    async def check(self) -> None:
        """Raises where the database is away, is damaged, cannot be written, or is of a schema that this
        program does not know. Really writes: a full disk, or one that may only be read, answers every
        question."""
        with self._explained():
            await self._engine.read(check_version)
        if self._damaged:
            await self.check_file()
        # Something new each time: what is the same already, SQLite does not write.
        heartbeat = text(
            "INSERT INTO heartbeat (id, at) VALUES (1, :at) ON CONFLICT (id) DO UPDATE SET at = excluded.at"
        ).bindparams(bindparam("at", datetime.now(UTC), tables.Instant))
        await self.run(heartbeat)

    async def check_file(self) -> None:
        """Raises where the database is a file that is damaged. Reads all of it."""
        if self._file is None:
            return
        self._file.check()
        found = await asyncio.to_thread(find_damage, self._file.path)
        self._damaged = bool(found)
        if found:
            raise StoreFailed(str(self._file.path), explain(f"database disk image is malformed ({found})"))


def sqlite_url(file: Path) -> str:
    return f"sqlite:///{file}"


def make_engine(url: str) -> DatabaseEngine:
    try:
        parsed = make_url(url)
        if parsed.get_backend_name() == "sqlite" and parsed.database not in (None, "", ":memory:"):
            if path := sqlite_file(url):
                DatabaseFile(path).prepare()
            return SqliteEngine(parsed)
        if parsed.get_backend_name() != "postgresql":
            raise ArgumentError("sessions are kept in an SQLite file or in PostgreSQL")
        require(POSTGRES)
        return PostgresEngine(parsed)
    except ArgumentError as error:
        raise ConfigInvalid(
            "database",
            f"{_shown(url)} cannot be used: {error}. Write it as sqlite:////path/to/file or "
            "postgresql://user@host/database",
        ) from error
    except OSError as error:
        raise ConfigInvalid("database", f"{_shown(url)} cannot be created: {error.strerror}") from error


def _shown(url: str) -> str:
    """A database URL without its password."""
    try:
        return make_url(url).render_as_string(hide_password=True)
    except ArgumentError:
        return "the database URL"
