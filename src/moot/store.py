"""Sessions and their event logs, in SQL. A session is its log: append, read back, list, delete.

Bodies are bytes to this module: what an event means is known to the flow that wrote it. One SQLite file by
default; any other database that SQLAlchemy reaches by URL.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import secrets
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import (
    Column,
    DateTime,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    create_engine,
    delete,
    event,
    func,
    insert,
    select,
    text,
    update,
)
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, IntegrityError, NoSuchModuleError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.schema import CreateIndex, CreateTable
from sqlalchemy.types import TypeDecorator

from moot.errors import ConfigInvalid, NotFound, SessionMoved, StoreFailed


class _Instant(TypeDecorator[datetime]):
    """Aware UTC times on every database; SQLite alone would forget the zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Any) -> datetime | None:  # noqa: ARG002
        return value and value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Any) -> datetime | None:  # noqa: ARG002
        return value and value.replace(tzinfo=UTC)


_metadata = MetaData()

_sessions = Table(
    "sessions",
    _metadata,
    Column("id", String(64), primary_key=True),
    Column("format", String(32), nullable=False, index=True),
    Column("title", String, nullable=False),
    Column("created_at", _Instant, nullable=False),
    Column("updated_at", _Instant, nullable=False, index=True),
)

_events = Table(
    "events",
    _metadata,
    Column("session", ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True),
    Column("seq", Integer, primary_key=True),
    Column("at", _Instant, nullable=False),
    Column("body", LargeBinary, nullable=False),
)


_frames = Table(
    "frames",
    _metadata,
    Column("session", ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True),
    Column("seq", Integer, primary_key=True),
    Column("body", LargeBinary, nullable=False),
)
"""What listeners of a session are told, word for word, so that one who was away can be told the rest. Frames
that were written together are one row, under the number of the first, a line each."""

_ROWS_AT_ONCE = 10_000
"""SQLite takes 32,766 values in a statement."""


def _slices(runs: list[_Run]) -> Iterator[list[_Run]]:
    for start in range(0, len(runs), _ROWS_AT_ONCE):
        yield runs[start : start + _ROWS_AT_ONCE]


@functools.lru_cache(maxsize=256)
def _inserting(rows: int, sign: str) -> str:
    """One statement for all rows. A statement for each would give up and take back Python's lock each time,
    and wait for a busy loop up to five milliseconds a row."""
    row = f"({sign}, {sign}, {sign})"
    return f"INSERT INTO frames (session, seq, body) VALUES {', '.join([row] * rows)}"


@dataclass(frozen=True, slots=True)
class Session:
    """A session's head. Where it stands follows from its events."""

    id: str
    format: str
    title: str
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Logged:
    seq: int
    at: datetime
    body: bytes


class Frame(NamedTuple):
    session: str
    seq: int
    body: bytes
    """JSON without line breaks."""


_Run = tuple[str, int, bytes]
"""A row: consecutive frames of a session under the number of the first, a line each."""


def _runs(frames: Sequence[Frame]) -> list[_Run]:
    together: dict[str, list[Frame]] = {}
    for frame in frames:
        together.setdefault(frame.session, []).append(frame)
    return [(session, run[0].seq, b"\n".join(f.body for f in run)) for session, run in together.items()]


class _FrameWriter:
    """Writes frames to SQLite in one hop to a thread of its own. Through the asynchronous engine every
    statement is a hop, and frames are written sixty times a second."""

    def __init__(self, url: URL) -> None:
        self._engine = create_engine(url.set(drivername="sqlite+pysqlite"))
        event.listen(self._engine, "connect", _prepare_sqlite)
        self._thread = ThreadPoolExecutor(1, "moot-frames")

    async def write(self, runs: list[_Run]) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, self._write, runs)

    def _write(self, runs: list[_Run]) -> None:
        with self._engine.begin() as connection:
            for some in _slices(runs):
                connection.exec_driver_sql(_inserting(len(some), "?"), tuple(itertools.chain(*some)))

    def close(self) -> None:
        self._thread.shutdown()
        self._engine.dispose()


class Store:
    """Opened with `open_store`."""

    def __init__(self, engine: AsyncEngine, frame_writer: _FrameWriter | None = None) -> None:
        self._engine = engine
        self._frame_writer = frame_writer

    @asynccontextmanager
    async def _writing(self) -> AsyncIterator[AsyncConnection]:
        with _explained(self._engine):
            async with self._engine.begin() as connection:
                yield connection

    @asynccontextmanager
    async def _reading(self) -> AsyncIterator[AsyncConnection]:
        with _explained(self._engine):
            async with self._engine.connect() as connection:
                yield connection

    async def create(self, format_: str, title: str, opening: Sequence[bytes] = ()) -> Session:
        """A new session with its first events, both or neither."""
        now = datetime.now(UTC)
        session = Session(f"{format_}-{_token()}", format_, title, now, now)
        async with self._writing() as connection:
            await connection.execute(
                insert(_sessions).values(
                    id=session.id, format=format_, title=title, created_at=now, updated_at=now
                )
            )
            for seq, body in enumerate(opening, start=1):
                await connection.execute(
                    insert(_events).values(session=session.id, seq=seq, at=now, body=body)
                )
        return session

    async def append(self, session_id: str, seq: int, body: bytes) -> None:
        """Adds event number `seq` (from 1). The number is the caller's: where another process has added that
        event already, this raises instead of interleaving two stories."""
        now = datetime.now(UTC)
        try:
            async with self._writing() as connection:
                await connection.execute(
                    insert(_events).values(session=session_id, seq=seq, at=now, body=body)
                )
                await connection.execute(
                    update(_sessions).where(_sessions.c.id == session_id).values(updated_at=now)
                )
        except IntegrityError as error:
            raise SessionMoved(session_id) from error

    async def session(self, session_id: str) -> Session:
        """By its id, or by an unmistakable beginning of it."""
        query = select(_sessions).where(_sessions.c.id.startswith(session_id, autoescape=True)).limit(2)
        async with self._reading() as connection:
            rows = (await connection.execute(query)).all()
        exact = [row for row in rows if row.id == session_id]
        if not exact and len(rows) != 1:
            raise NotFound("session", session_id, tuple(row.id for row in rows))
        return Session(*(exact or rows)[0])

    async def events(self, session_id: str) -> list[Logged]:
        query = (
            select(_events.c.seq, _events.c.at, _events.c.body)
            .where(_events.c.session == session_id)
            .order_by(_events.c.seq)
        )
        async with self._reading() as connection:
            return [Logged(*row) for row in await connection.execute(query)]

    async def append_frames(self, frames: Sequence[Frame]) -> None:
        """Frames of any number of sessions, each session's in order and without a gap, in one transaction."""
        runs = _runs(frames)
        try:
            if self._frame_writer is None:
                sign = "?" if self._engine.dialect.name == "sqlite" else "%s"
                async with self._writing() as connection:
                    for some in _slices(runs):
                        values = tuple(itertools.chain(*some))
                        await connection.exec_driver_sql(_inserting(len(some), sign), values)
            else:
                with _explained(self._engine):
                    await self._frame_writer.write(runs)
        except IntegrityError as error:
            raise SessionMoved(frames[0].session) from error

    async def frames(self, session_id: str, after: int = 0) -> list[Frame]:
        """In order, those with a number above `after`."""
        mine = _frames.c.session == session_id
        # The next frame may be in the middle of a row.
        first = select(func.max(_frames.c.seq)).where(mine, _frames.c.seq <= after + 1).scalar_subquery()
        query = (
            select(_frames.c.seq, _frames.c.body)
            .where(mine, _frames.c.seq >= func.coalesce(first, 0))
            .order_by(_frames.c.seq)
        )
        async with self._reading() as connection:
            rows = (await connection.execute(query)).all()
        return [
            Frame(session_id, seq, body)
            for first_seq, run in rows
            for seq, body in enumerate(run.split(b"\n"), start=first_seq)
            if seq > after
        ]

    async def last_frame(self, session_id: str) -> int:
        query = (
            select(_frames.c.seq, _frames.c.body)
            .where(_frames.c.session == session_id)
            .order_by(_frames.c.seq.desc())
            .limit(1)
        )
        async with self._reading() as connection:
            last = (await connection.execute(query)).first()
        return int(last.seq) + last.body.count(b"\n") if last else 0

    async def sessions(self, format_: str | None = None, limit: int = 50) -> Sequence[Session]:
        """Newest first."""
        query = select(_sessions).order_by(_sessions.c.updated_at.desc(), _sessions.c.id).limit(limit)
        if format_ is not None:
            query = query.where(_sessions.c.format == format_)
        async with self._reading() as connection:
            return [Session(*row) for row in await connection.execute(query)]

    async def count(self) -> int:
        async with self._reading() as connection:
            found = await connection.scalar(select(func.count()).select_from(_sessions))
        return int(found or 0)

    async def delete(self, session_id: str) -> None:
        async with self._writing() as connection:
            for table in (_events, _frames):
                await connection.execute(delete(table).where(table.c.session == session_id))
            gone = await connection.execute(delete(_sessions).where(_sessions.c.id == session_id))
            if gone.rowcount == 0:
                raise NotFound("session", session_id)


@asynccontextmanager
async def open_store(url: str) -> AsyncIterator[Store]:
    """Opens the database, creating what is missing."""
    engine = _engine(url)
    try:
        with _explained(engine):
            async with engine.begin() as connection:
                await _create_missing(connection)
        in_a_file = engine.dialect.name == "sqlite" and engine.url.database not in (None, "", ":memory:")
        writer = _FrameWriter(engine.url) if in_a_file else None
        try:
            yield Store(engine, writer)
        finally:
            if writer is not None:
                await asyncio.to_thread(writer.close)
    finally:
        await engine.dispose()


@contextmanager
def _explained(engine: AsyncEngine) -> Iterator[None]:
    """What a database says, in a sentence; that an event number is taken stays for `append` to say."""
    try:
        yield
    except IntegrityError:
        raise
    except DatabaseError as error:
        raise StoreFailed(engine.url.render_as_string(hide_password=True), str(error.orig)) from error


async def _create_missing(connection: AsyncConnection) -> None:
    """One statement each that asks and acts at once: two processes may open a new database together.
    PostgreSQL's own "if not exists" is not safe against that, so there they take turns."""
    if connection.dialect.name == "postgresql":
        await connection.execute(text("SELECT pg_advisory_xact_lock(6466723)"))
    for table in _metadata.sorted_tables:
        await connection.execute(CreateTable(table, if_not_exists=True))
        for index in sorted(table.indexes, key=lambda index: str(index.name)):
            await connection.execute(CreateIndex(index, if_not_exists=True))


def sqlite_url(file: Path) -> str:
    return f"sqlite:///{file}"


def _engine(url: str) -> AsyncEngine:
    try:
        parsed = make_url(url)
        drivers = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+psycopg"}
        parsed = parsed.set(drivername=drivers.get(parsed.drivername, parsed.drivername))
        if parsed.get_backend_name() == "sqlite" and parsed.database and parsed.database != ":memory:":
            Path(parsed.database).parent.mkdir(parents=True, exist_ok=True)
        engine = create_async_engine(parsed)
    except (ArgumentError, NoSuchModuleError, ModuleNotFoundError) as error:
        raise ConfigInvalid(
            "database", f"{_shown(url)} cannot be used: {error}. Write it as sqlite:////path/to/file"
        ) from error
    except OSError as error:
        raise ConfigInvalid("database", f"{_shown(url)} cannot be created: {error.strerror}") from error
    if parsed.get_backend_name() == "sqlite":
        event.listen(engine.sync_engine, "connect", _prepare_sqlite)
    return engine


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    cursor = connection.cursor()
    # WAL, so that a reader never blocks the writer; NORMAL loses no committed event when a process is
    # killed, only, at worst, the last ones when the machine itself loses power.
    for pragma in ("busy_timeout=10000", "journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _shown(url: str) -> str:
    """A database URL without its password."""
    try:
        return make_url(url).render_as_string(hide_password=True)
    except ArgumentError:
        return "the database URL"


def _token() -> str:
    """Nearly sixty bits in twelve letters and digits without look-alikes: short to type, beyond guessing."""
    alphabet = "abcdefghjkmnpqrstuvwxyz23456789"
    return "".join(secrets.choice(alphabet) for _ in range(12))
