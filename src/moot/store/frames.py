"""How frames get into a database sixty times a second: as few statements and as few waits as can be.

Knows the frames' tables, SQLite's and PostgreSQL's ways, and that other processes are notified in the same
transaction. Refuses to know what a frame says.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import sqlite3
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Protocol, cast

import msgspec
from sqlalchemy.exc import DatabaseError

from moot.store.postgres import CHANNEL, CONNECTING, notes, run_prepared

if TYPE_CHECKING:
    import psycopg
    from sqlalchemy.engine import Engine
    from sqlalchemy.pool import PoolProxiedConnection

    from moot.store.engines import SqliteEngine

Run = tuple[str, int, bytes]
"""A row: consecutive frames of a session under the number of the first, a line each."""


class NumberTaken(Exception):
    """Another process has written what comes next in a session, or has deleted the session."""


class NotWritten(Exception):
    """The database cannot be written now; the text says why."""


class FrameWriter(Protocol):
    async def write(self, runs: list[Run], subscribed: Collection[str]) -> None:
        """All or nothing. Other processes listen to the sessions `subscribed`, and are notified."""

    async def close(self) -> None: ...


@functools.lru_cache(maxsize=256)
def inserting(rows: int) -> str:
    """One statement for all rows. A statement for each would give up and take back Python's lock each time,
    and wait for a busy loop up to five milliseconds a row."""
    return f"INSERT INTO frames (session, seq, body) VALUES {', '.join(['(?, ?, ?)'] * rows)}"


class SqliteFrameWriter:
    """In the thread of all who write, on a connection of its own and without SQLAlchemy, which takes longer
    for a transaction than SQLite does."""

    def __init__(self, engine: SqliteEngine) -> None:
        self._engine = engine
        self._connection: PoolProxiedConnection | None = None

    async def write(self, runs: list[Run], subscribed: Collection[str]) -> None:  # noqa: ARG002
        """Who listens elsewhere sees by the file's version that there is something new."""
        await self._engine.in_turn(self._write, runs)

    def _write(self, engine: Engine, runs: list[Run]) -> None:
        try:
            if self._connection is None:
                self._connection = engine.raw_connection()
            # As a context, sqlite3's connection is a transaction.
            with cast("sqlite3.Connection", self._connection.driver_connection) as connection:
                connection.execute(inserting(len(runs)), tuple(itertools.chain(*runs)))
        except sqlite3.IntegrityError as error:
            raise NumberTaken from error
        except sqlite3.Error as error:
            self._disconnect()
            raise NotWritten(str(error)) from error
        except DatabaseError as error:
            raise NotWritten(str(error.orig)) from error

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.invalidate()

    async def close(self) -> None:
        await self._engine.in_turn(lambda _: self._disconnect())


_STATEMENT = (
    "WITH written AS (INSERT INTO frames (session, seq, body)"
    " SELECT e->>0, CAST(e->>1 AS int), decode(e->>2, 'base64') FROM json_array_elements($1::json) AS e)"
    f" SELECT pg_notify('{CHANNEL}', note) FROM json_array_elements_text($2::json) AS note"
)
_NAME = b"moot_frames"
_CONSTRAINT_VIOLATED = b"23"
"""How the code of such an error begins."""


class PostgresFrameWriter:
    """In one round trip on a connection of its own: rows and notifications are one statement, which is a
    transaction by itself."""

    def __init__(self, conninfo: str, server: str) -> None:
        self._conninfo = conninfo
        self._server = server
        self._connection: psycopg.AsyncConnection[Any] | None = None

    async def write(self, runs: list[Run], subscribed: Collection[str]) -> None:
        # Loaded here, because most who import this module use SQLite.
        import psycopg
        from psycopg.pq import DiagnosticField, ExecStatus

        noted = notes(self._server, "frames", (run[0] for run in runs if run[0] in subscribed))
        try:
            if self._connection is None:
                connecting = psycopg.AsyncConnection.connect(self._conninfo, autocommit=True, **CONNECTING)
                self._connection = await connecting
                await self._connection.execute(f"PREPARE {_NAME.decode()} AS {_STATEMENT}")
            values = [msgspec.json.encode(runs), msgspec.json.encode(noted)]
            result = await run_prepared(self._connection, _NAME, values)
        except psycopg.Error as error:
            await self.close()
            raise NotWritten(str(error).strip()) from error
        except asyncio.CancelledError:
            # What is still on its way over this connection is not ours to wait for any more.
            await self.close()
            raise
        if result.status != ExecStatus.TUPLES_OK:
            if (result.error_field(DiagnosticField.SQLSTATE) or b"").startswith(_CONSTRAINT_VIOLATED):
                raise NumberTaken
            await self.close()
            raise NotWritten(result.get_error_message())

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()
