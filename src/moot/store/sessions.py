"""Sessions and their event logs, in SQL. A session is its log: append, read back, list, delete.

Bodies are bytes to this module: what an event means is known to the flow that wrote it.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, Protocol

from sqlalchemy import ColumnElement, Connection, delete, func, insert, or_, select, text, update
from sqlalchemy.exc import IntegrityError

from moot.errors import KeyReused, NotFound, SessionMoved
from moot.store import tables
from moot.store.database import Database, make_engine
from moot.store.engines import DatabaseEngine, SqliteEngine
from moot.store.frames import FrameWriter, NumberTaken, PostgresFrameWriter, Run, SqliteFrameWriter
from moot.store.migrations import bring_up_to_date
from moot.store.postgres import CHANNEL, notes
from moot.store.sqlite_file import DatabaseFile, sqlite_file


@dataclass(frozen=True, slots=True)
class Session:
    """A session's head. Where it stands follows from its events."""

    id: str
    format: str
    title: str
    created_at: datetime
    updated_at: datetime
    workspace: str = ""
    """The folder that it was begun in; empty for one of an earlier version, which did not keep it."""
    owner: str = ""
    """Who began it; empty where nobody signs in, and then it is everybody's."""
    name: str = ""
    """What a person calls it; empty where nobody gave it a name."""
    pinned: bool = False

    @property
    def shown_title(self) -> str:
        return self.name or self.title


@dataclass(frozen=True, slots=True)
class Key:
    """A client's name for a request, and what the request asked for: sent again, it is the same request."""

    name: str
    fingerprint: str


KEEP_KEYS = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Logged:
    seq: int
    at: datetime
    body: bytes


class Place(Protocol):
    """A place in the list of sessions: after which one."""

    @property
    def id(self) -> str: ...
    @property
    def updated_at(self) -> datetime: ...
    @property
    def pinned(self) -> bool: ...


class Frame(NamedTuple):
    session: str
    seq: int
    body: bytes
    """JSON without line breaks."""


def frames_of(session_id: str, first: int, run: bytes) -> list[Frame]:
    """The frames of a row. An empty one only holds the number up to which frames have been cleared away."""
    bodies = enumerate(run.split(b"\n"), start=first)
    return [Frame(session_id, seq, body) for seq, body in bodies if body]


def _runs(frames: Sequence[Frame]) -> list[Run]:
    together: dict[str, list[Frame]] = {}
    for frame in frames:
        together.setdefault(frame.session, []).append(frame)
    return [(session, run[0].seq, b"\n".join(f.body for f in run)) for session, run in together.items()]


_ADD = text(f"""
    WITH driver AS (SELECT driver FROM driving WHERE session = :session FOR SHARE),
    added AS (
        INSERT INTO events (session, seq, at, body)
        SELECT CAST(:session AS varchar), CAST(:seq AS int), CAST(:at AS timestamptz), CAST(:body AS bytea)
        WHERE :anybody OR EXISTS (SELECT FROM driver WHERE driver = :server)
        RETURNING seq
    ),
    touched AS (UPDATE sessions SET updated_at = :at WHERE id = :session AND EXISTS (SELECT FROM added))
    SELECT pg_notify('{CHANNEL}', :note) FROM added
""")
"""PostgreSQL's way to add an event, note when, and notify others once it is there; nothing, and no row, where
another process drives. Nobody else can begin to before the end. In one statement, because each
is a round trip, and to begin and end a transaction are two more."""


class Store(Database):
    """Opened with `open_store`."""

    def __init__(self, engine: DatabaseEngine, file: DatabaseFile | None, workspace: str) -> None:
        super().__init__(engine, file)
        self.workspace = workspace
        self.server = secrets.token_hex(6)
        """The name of this process among those that use the same database."""
        self._frame_writer: FrameWriter = (
            SqliteFrameWriter(engine)
            if isinstance(engine, SqliteEngine)
            else PostgresFrameWriter(self.conninfo, self.server)
        )

    async def close(self) -> None:
        await self._frame_writer.close()
        await super().close()

    async def create(
        self,
        format_: str,
        title: str,
        opening: Sequence[bytes] = (),
        *,
        owner: str = "",
        key: Key | None = None,
    ) -> Session:
        """A new session with its first events, both or neither. With a key that came before, the session that
        it came with, whoever else sends it at the same time."""
        try:
            return await self._create(format_, title, opening, owner, key)
        except IntegrityError:
            known = await self.keyed(owner, key) if key else None
            if known is None:
                raise
            return known

    async def _create(
        self, format_: str, title: str, opening: Sequence[bytes], owner: str, key: Key | None
    ) -> Session:
        now = datetime.now(UTC)
        session = Session(f"{format_}-{_token()}", format_, title, now, now, self.workspace, owner)
        events = [
            {"session": session.id, "seq": seq, "at": now, "body": body}
            for seq, body in enumerate(opening, start=1)
        ]

        def insert_all(connection: Connection) -> None:
            if key is not None:
                # First, so that of those who come at once all but one find it there.
                connection.execute(delete(tables.keys).where(tables.keys.c.at < now - KEEP_KEYS))
                used = {"owner": owner, "key": key.name, "fingerprint": key.fingerprint}
                connection.execute(insert(tables.keys), used | {"session": session.id, "at": now})
            connection.execute(insert(tables.sessions), asdict(session))
            if events:
                connection.execute(insert(tables.events), events)

        await self.write(insert_all)
        return session

    async def keyed(self, owner: str, key: Key) -> Session | None:
        """The session that this person began with this key. Raises where it came with another request."""
        kept = tables.keys.c
        query = (
            select(kept.fingerprint, tables.sessions)
            .join(tables.sessions, tables.sessions.c.id == kept.session)
            .where(kept.owner == owner, kept.key == key.name, kept.at >= datetime.now(UTC) - KEEP_KEYS)
        )
        found = await self.read(query)
        if not found:
            return None
        [(fingerprint, *session)] = found
        if fingerprint != key.fingerprint:
            raise KeyReused(key.name)
        return Session(*session)

    async def append(self, session_id: str, seq: int, body: bytes, *, driving: bool = False) -> None:
        """Adds event number `seq` (from 1). The number is the caller's: where another process has added that
        event already, this raises instead of interleaving two stories. With `driving`, also where another
        process drives the session by now."""
        event = {"session": session_id, "seq": seq, "at": datetime.now(UTC), "body": body}

        def add(connection: Connection) -> None:
            connection.execute(insert(tables.events), event)
            # Once SQLite has begun to write, nobody else can take the lease before the end.
            driver = select(tables.driving.c.driver).where(tables.driving.c.session == session_id)
            if driving and connection.scalar(driver) != self.server:
                raise SessionMoved(session_id)
            touched = update(tables.sessions).where(tables.sessions.c.id == session_id)
            connection.execute(touched.values(updated_at=event["at"]))

        try:
            if not self.shared:
                await self.write(add)
            else:
                [note] = notes(self.server, "events", (session_id,))
                given = event | {"server": self.server, "anybody": not driving, "note": note}
                if not await self.run(_ADD, given):
                    raise SessionMoved(session_id)
        except IntegrityError as error:
            raise SessionMoved(session_id) from error

    async def ensure(self, session_id: str, format_: str, title: str) -> Session:
        """The session of this id, made where there is none: one whose events are in the workspace's files."""
        now = datetime.now(UTC)
        session = Session(session_id, format_, title, now, now, self.workspace)

        def insert_both(connection: Connection) -> None:
            connection.execute(insert(tables.sessions), asdict(session))
            connection.execute(
                insert(tables.events), {"session": session_id, "seq": 1, "at": now, "body": b""}
            )

        if not await self.newest_event(session_id):
            with contextlib.suppress(IntegrityError):
                await self.write(insert_both)
        return await self.session(session_id)

    async def newest_event(self, session_id: str) -> int:
        [(newest,)] = await self.read(
            select(func.max(tables.events.c.seq)).where(tables.events.c.session == session_id)
        )
        return int(newest or 0)

    async def count_event(self, session_id: str) -> int:
        """One more event, whose words are elsewhere. Returns its number; raises where the session is gone."""
        while True:
            number = await self.newest_event(session_id) + 1
            if number == 1:
                raise SessionMoved(session_id)
            with contextlib.suppress(SessionMoved):
                await self.append(session_id, number, b"")
                return number

    async def is_driven_here(self, session_id: str) -> bool:
        driver = select(tables.driving.c.driver).where(tables.driving.c.session == session_id)
        return [row.driver for row in await self.read(driver)] == [self.server]

    async def session(self, session_id: str) -> Session:
        """By its id, or by an unmistakable beginning of it."""
        query = (
            select(tables.sessions)
            .where(tables.sessions.c.id.startswith(session_id, autoescape=True))
            .limit(2)
        )
        rows = await self.read(query)
        exact = [row for row in rows if row.id == session_id]
        if not exact and len(rows) != 1:
            raise NotFound("session", session_id, tuple(row.id for row in rows))
        return Session(*(exact or rows)[0])

    async def events(self, session_id: str, after: int = 0) -> list[Logged]:
        """In order, those with a number above `after`."""
        query = (
            select(tables.events.c.seq, tables.events.c.at, tables.events.c.body)
            .where(tables.events.c.session == session_id, tables.events.c.seq > after)
            .order_by(tables.events.c.seq)
        )
        return [Logged(*row) for row in await self.read(query)]

    async def append_frames(self, frames: Sequence[Frame], subscribed: Collection[str] = ()) -> None:
        """Frames of any number of sessions, each session's in order and without a gap, in one transaction. Of
        those `subscribed` to elsewhere, other processes are notified."""
        runs = _runs(frames)
        try:
            with self._explained():
                await self._frame_writer.write(runs, subscribed)
        except NumberTaken as error:
            raise SessionMoved(frames[0].session) from error

    async def frames(self, session_id: str, after: int = 0, rows: int | None = None) -> list[Frame]:
        """In order, those with a number above `after`; with `rows`, not all at once."""
        mine = tables.frames.c.session == session_id
        # The next frame may be in the middle of a row.
        first = (
            select(func.max(tables.frames.c.seq))
            .where(mine, tables.frames.c.seq <= after + 1)
            .scalar_subquery()
        )
        query = (
            select(tables.frames.c.seq, tables.frames.c.body)
            .where(mine, tables.frames.c.seq >= func.coalesce(first, 0))
            .order_by(tables.frames.c.seq)
            .limit(rows)
        )
        found = await self.read(query)
        return [frame for seq, run in found for frame in frames_of(session_id, seq, run) if frame.seq > after]

    async def last_frame(self, session_id: str) -> int:
        query = (
            select(tables.frames.c.seq, tables.frames.c.body)
            .where(tables.frames.c.session == session_id)
            .order_by(tables.frames.c.seq.desc())
            .limit(1)
        )
        found = await self.read(query)
        return int(found[0].seq) + found[0].body.count(b"\n") if found else 0

    async def clear_frames(self, before: datetime, most: int = 200) -> int:
        """Clears away the frames of sessions that nobody has touched since, except for the number that they
        have reached; of how many sessions. A session can always be told again from its log."""
        query = (
            select(tables.frames.c.session)
            .join(tables.sessions, tables.sessions.c.id == tables.frames.c.session)
            .where(tables.sessions.c.updated_at < before)
            .group_by(tables.frames.c.session)
            .having(func.max(func.length(tables.frames.c.body)) > 0)
            .limit(most)
        )
        due = [row.session for row in await self.read(query)]
        for session_id in due:
            last = await self.last_frame(session_id)

            def clear(connection: Connection, session_id: str = session_id, last: int = last) -> None:
                connection.execute(delete(tables.frames).where(tables.frames.c.session == session_id))
                connection.execute(insert(tables.frames).values(session=session_id, seq=last, body=b""))

            await self.write(clear)
        return len(due)

    async def sessions(
        self,
        formats: str | Collection[str] | None = None,
        limit: int = 50,
        *,
        after: Place | None = None,
        everywhere: bool = False,
        seen_by: str | None = None,
        search: str = "",
        pinned_first: bool = True,
    ) -> Sequence[Session]:
        """Pinned ones first, then the newest; with `after`, those that follow that session in the list. Of
        this workspace and of none, unless they are wanted from everywhere; with `seen_by`, a person's own and
        those that are nobody's; with `search`, those whose title or name has all of its words."""
        kept = tables.sessions.c
        order = [kept.updated_at.desc(), kept.id]
        query = select(tables.sessions).order_by(*([kept.pinned.desc()] if pinned_first else []), *order)
        query = query.limit(limit)
        for word in self._fold_case(search).split():
            columns = (self._folded(kept.title), self._folded(kept.name))
            query = query.where(or_(*(column.contains(word, autoescape=True) for column in columns)))
        if formats is not None:
            wanted = (formats,) if isinstance(formats, str) else formats
            query = query.where(kept.format.in_(wanted))
        if not everywhere:
            query = query.where(kept.workspace.in_((self.workspace, "")))
        if seen_by is not None:
            query = query.where(kept.owner.in_((seen_by, "")))
        if after is not None:
            same = kept.pinned == after.pinned
            earlier = same & (kept.updated_at < after.updated_at)
            same_moment = same & (kept.updated_at == after.updated_at) & (kept.id > after.id)
            rest = [kept.pinned.is_(False)] if after.pinned else []
            query = query.where(or_(earlier, same_moment, *rest))
        return [Session(*row) for row in await self.read(query)]

    def _fold_case(self, words: str) -> str:
        """As the database does it."""
        return words.lower() if self.shared else words.casefold()

    def _folded(self, column: ColumnElement[str]) -> ColumnElement[str]:
        """SQLite's own knows only the letters of English."""
        return func.lower(column) if self.shared else func.casefold(column)

    async def change_head(
        self, session_id: str, *, name: str | None = None, pinned: bool | None = None
    ) -> None:
        """What is given is changed. The session keeps its place in time: nothing was said."""
        given = {"name": name, "pinned": pinned}
        changes = {column: value for column, value in given.items() if value is not None}
        if not changes:
            return
        mine = update(tables.sessions).where(tables.sessions.c.id == session_id)
        if not await self.run(mine.values(changes).returning(tables.sessions.c.id)):
            raise NotFound("session", session_id)

    async def count(self) -> int:
        [(found,)] = await self.read(select(func.count()).select_from(tables.sessions))
        return int(found)

    async def delete(self, session_id: str) -> None:
        def remove(connection: Connection) -> None:
            for table in (tables.events, tables.frames, tables.driving, tables.listeners, tables.keys):
                connection.execute(delete(table).where(table.c.session == session_id))
            if self.shared:
                # Others hear of it when, and only when, the transaction is there.
                for note in notes(self.server, "gone", (session_id,)):
                    connection.execute(text(f"SELECT pg_notify('{CHANNEL}', :note)"), {"note": note})
            gone = connection.execute(delete(tables.sessions).where(tables.sessions.c.id == session_id))
            if gone.rowcount == 0:
                raise NotFound("session", session_id)

        await self.write(remove)


@asynccontextmanager
async def open_store(url: str, workspace: str = "") -> AsyncIterator[Store]:
    """Opens the database, creating what is missing and bringing up to date what is old. New sessions are of
    this workspace."""
    path = sqlite_file(url)
    file = DatabaseFile(path) if path else None
    store = Store(make_engine(url), file, workspace)
    try:
        await store.write(lambda connection: bring_up_to_date(connection, tables.metadata))
        if file is not None:
            file.opened()
        yield store
    finally:
        await store.close()


def _token() -> str:
    """Nearly sixty bits in twelve letters and digits without look-alikes: short to type, beyond guessing."""
    alphabet = "abcdefghjkmnpqrstuvwxyz23456789"
    return "".join(secrets.choice(alphabet) for _ in range(12))
