"""What the processes on one database know of each other: which sessions are to be driven and by whom, who
listens where, which calls are under way, what was said for somebody elsewhere, and that something changed.

Knows SQL, SQLite's and PostgreSQL's, and how each says that something has changed. Nothing depends on that
arriving: it is only a reason to look, and everybody looks once a second anyway. What a process holds here is
leased: it expires when the process stops renewing it, so that one that was killed or frozen holds nothing for
long, and one that wakes up finds that it holds nothing any more.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from moot.errors import StoreFailed
from moot.store.postgres import CHANNEL, CONNECTING, notes, notifications
from moot.store.sessions import Frame, Store, frames_of

LEASE_SECONDS = 3.0
"""For how long a process is believed to be there without a word from it."""

_RECONNECT_SECONDS = 0.2

POLL_SECONDS = 0.04
"""How often a process asks a SQLite file whether another process has changed it. Only while there are others:
one alone never asks."""

_ALONE_SECONDS = 0.5

_CLOCK = {
    "postgresql": "extract(epoch FROM clock_timestamp())",
    "sqlite": "((julianday('now') - 2440587.5) * 86400.0)",
}
"""Seconds since 1970 by the database's clock, which is the same for everybody."""

_GIVEN = {
    "postgresql": "(SELECT e->>0 AS session, CAST(e->>1 AS int) AS number"
    " FROM json_array_elements(CAST(:given AS json)) AS e) AS w",
    "sqlite": "(SELECT json_extract(value, '$[0]') AS session, json_extract(value, '$[1]') AS number"
    " FROM json_each(:given)) AS w",
}
"""Sessions and a number each, as a table `w`."""


def _given(sessions: Mapping[str, int] | Iterable[str]) -> str:
    pairs = sessions.items() if isinstance(sessions, Mapping) else ((session, 0) for session in sessions)
    return json.dumps(list(pairs))


@dataclass(frozen=True, slots=True)
class Pulse:
    """How a session is, as far as all need to know who have to do with it."""

    newest_event: int
    """0 where it is gone."""
    has_listeners_elsewhere: bool


@dataclass(slots=True)
class Seen:
    """A session as somebody who does not drive it sees it. `orphaned` says that it is to be driven, but that
    whoever did has stopped without finishing, and no job will find another."""

    driven: bool
    orphaned: bool
    frames: list[Frame] = field(default_factory=list)


class Sharing:
    def __init__(self, store: Store) -> None:
        self._store = store
        self.server = store.server
        self._clock = _CLOCK[store.dialect]
        self._w = _GIVEN[store.dialect]
        self._has_others = False
        """SQLite alone: whether another process uses the file."""

    # -- notifications -----------------------------------------------------------------------

    async def listen(self, hear: Callable[[str, list[str]], None], connected: Callable[[], None]) -> None:
        """Reports what other processes have changed, for ever; `connected` each time anything may have been
        missed."""
        if self._store.shared:
            await self._listen_to_postgres(hear, connected)
        else:
            await self._poll_sqlite(connected)

    async def _listen_to_postgres(
        self, hear: Callable[[str, list[str]], None], connected: Callable[[], None]
    ) -> None:
        import psycopg

        while True:
            with contextlib.suppress(psycopg.Error):
                async with await psycopg.AsyncConnection.connect(
                    self._store.conninfo, autocommit=True, **CONNECTING
                ) as connection:
                    await connection.execute(f"LISTEN {CHANNEL}")
                    connected()
                    async for _, note in notifications(connection):
                        # Anybody who may use the database may say anything there.
                        server, _, said = note.partition(" ")
                        kind, *sessions = said.split(" ")
                        if server != self.server:
                            hear(kind, sessions)
            await asyncio.sleep(_RECONNECT_SECONDS)

    async def _poll_sqlite(self, changed: Callable[[], None]) -> None:
        version = 0
        while True:
            await asyncio.sleep(POLL_SECONDS if self._has_others else _ALONE_SECONDS)
            if not self._has_others:
                continue
            with contextlib.suppress(StoreFailed):
                now = await self._store.data_version()
                if now != version:
                    version = now
                    changed()

    async def announce(self) -> None:
        """Says on SQLite that this process has to do with some session, and learns whether others have, too.
        PostgreSQL's notifications need no such thing."""
        if self._store.shared:
            return
        await self._store.sql(
            f"INSERT INTO servers (server, until) VALUES (:server, {self._clock} + :lease)"
            " ON CONFLICT (server) DO UPDATE SET until = excluded.until",
            server=self.server,
            lease=LEASE_SECONDS,
        )
        others = await self._store.sql(
            f"SELECT 1 FROM servers WHERE server <> :server AND until > {self._clock} LIMIT 1",
            server=self.server,
        )
        self._has_others = bool(others)

    async def leave(self) -> None:
        """This process holds nothing any more."""
        await self._store.sql("DELETE FROM listeners WHERE server = :server", server=self.server)
        await self._store.sql("DELETE FROM servers WHERE server = :server", server=self.server)

    async def notify_frames(self, sessions: Iterable[str]) -> None:
        """There is something to see that those who listen elsewhere may not have been told of."""
        await self._tell("frames", sessions)

    async def _tell(self, kind: str, sessions: Iterable[str]) -> None:
        if self._store.shared:
            for note in notes(self.server, kind, sessions):
                await self._store.sql(f"SELECT pg_notify('{CHANNEL}', :note)", note=note)

    # -- which sessions are to be driven -----------------------------------------------------

    async def want(self, session: str, client: str) -> bool:
        """Has a session driven. Whether nobody had asked for that before."""
        rows = await self._store.sql(
            "INSERT INTO driving (session, wanted, client) SELECT id, 1, :client FROM sessions"
            " WHERE id = :session ON CONFLICT (session) DO UPDATE SET wanted = driving.wanted + 1"
            " RETURNING wanted",
            session=session,
            client=client,
        )
        return bool(rows) and rows[0].wanted == 1

    async def take(self, session: str) -> int | None:
        """Leases a session to this process: from now on no other logs what its models say. Returns how often
        driving it was asked for; None where nobody asked, or another process holds the lease."""
        rows = await self._store.sql(
            f"UPDATE driving SET driver = :server, until = {self._clock} + :lease WHERE session = :session"
            f" AND (driver IN ('', :server) OR until <= {self._clock}) RETURNING wanted",
            session=session,
            server=self.server,
            lease=LEASE_SECONDS,
        )
        return int(rows[0].wanted) if rows else None

    async def renew(self, sessions: Iterable[str]) -> set[str]:
        """Renews the leases on these; those that another process has taken meanwhile are not among the
        result."""
        rows = await self._store.sql(
            f"UPDATE driving SET until = {self._clock} + :lease WHERE driver = :server"
            f" AND session IN (SELECT w.session FROM {self._w}) RETURNING session",
            server=self.server,
            lease=LEASE_SECONDS,
            given=_given(sessions),
        )
        return {row.session for row in rows}

    async def release(self, session: str) -> None:
        """Gives a session back that is still to be driven: whoever comes first may go on with it."""
        await self._store.sql(
            "UPDATE driving SET driver = '', until = 0 WHERE session = :session AND driver = :server",
            session=session,
            server=self.server,
        )
        await self._tell("frames", [session])

    async def still_wanted(self, session: str) -> int | None:
        """The same of a session that this process drives already; None where another does by now."""
        rows = await self._store.sql(
            "SELECT wanted FROM driving WHERE session = :session AND driver = :server",
            session=session,
            server=self.server,
        )
        return int(rows[0].wanted) if rows else None

    async def driver_of(self, session: str) -> str:
        """The process that holds the lease; empty where none does."""
        rows = await self._store.sql(
            f"SELECT driver FROM driving WHERE session = :session AND until > {self._clock}", session=session
        )
        return str(rows[0].driver) if rows else ""

    async def finish(self, session: str, wanted: int) -> bool:
        """False where it was asked for again meanwhile, or another drives it."""
        rows = await self._store.sql(
            "DELETE FROM driving WHERE session = :session AND wanted = :wanted AND driver = :server"
            " RETURNING session",
            session=session,
            wanted=wanted,
            server=self.server,
        )
        if rows:
            await self._tell("frames", [session])
        return bool(rows)

    async def give_up(self, session: str) -> None:
        """It cannot be driven."""
        await self._store.sql("DELETE FROM driving WHERE session = :session", session=session)
        await self._tell("frames", [session])

    @property
    def _is_driven(self) -> str:
        """With PostgreSQL a job looks for somebody who drives it, so that it counts as driven from when that
        is asked for; with SQLite, from when somebody does."""
        return "d.session IS NOT NULL" if self._store.shared else f"d.until > {self._clock}"

    async def driven(self, sessions: Sequence[str]) -> set[str]:
        rows = await self._store.sql(
            f"SELECT d.session FROM {self._w} JOIN driving d ON d.session = w.session"
            f" WHERE {self._is_driven}",
            given=_given(sessions),
        )
        return {row.session for row in rows}

    async def is_under_way(self, client: str) -> tuple[int, int]:
        """How many sessions are driven for anybody, and for this client."""
        [row] = await self._store.sql(
            "SELECT count(*) AS everybody, coalesce(sum(CASE WHEN d.client = :client THEN 1 ELSE 0 END), 0)"
            f" AS own FROM driving d WHERE {self._is_driven}",
            client=client,
        )
        return int(row.everybody), int(row.own)

    # -- what there is to see ----------------------------------------------------------------

    async def look(self, after: Mapping[str, int]) -> dict[str, Seen]:
        """Frames with numbers above those given, and whether there will be more: all as of one moment, so
        that a session that is no longer driven has no frame that is missing here."""
        rows = await self._store.sql(
            f"SELECT w.session, {self._is_driven} AS driven,"
            f" d.session IS NOT NULL AND d.until <= {self._clock} AS orphaned, f.seq, f.body"
            f" FROM {self._w}"
            " LEFT JOIN driving d ON d.session = w.session"
            " LEFT JOIN frames f ON f.session = w.session AND f.seq > w.number"
            " ORDER BY w.session, f.seq",
            given=_given(after),
        )
        found: dict[str, Seen] = {}
        for row in rows:
            seen = found.setdefault(row.session, Seen(bool(row.driven), bool(row.orphaned)))
            if row.seq is not None:
                seen.frames.extend(frames_of(row.session, row.seq, row.body))
        return found

    # -- who listens -------------------------------------------------------------------------

    async def add_listeners(self, sessions: Sequence[str], *, tell: bool = True) -> None:
        """Somebody listens here: whoever drives these sessions is to tell of them until the lease expires."""
        await self._store.sql(
            "INSERT INTO listeners (session, server, until)"
            f" SELECT s.id, :server, {self._clock} + :lease FROM {self._w}"
            " JOIN sessions s ON s.id = w.session WHERE true"
            " ON CONFLICT (session, server) DO UPDATE SET until = excluded.until",
            server=self.server,
            lease=LEASE_SECONDS,
            given=_given(sorted(sessions)),
        )
        if tell:
            await self._tell("listeners", sessions)

    async def pulses(self, sessions: Sequence[str]) -> dict[str, Pulse]:
        rows = await self._store.sql(
            "SELECT w.session,"
            " (SELECT coalesce(max(e.seq), 0) FROM events e WHERE e.session = w.session) AS newest,"
            " EXISTS (SELECT 1 FROM listeners l WHERE l.session = w.session"
            f" AND l.server <> :server AND l.until > {self._clock}) AS heard FROM {self._w}",
            server=self.server,
            given=_given(sessions),
        )
        return {row.session: Pulse(int(row.newest), bool(row.heard)) for row in rows}

    async def remove_listener(self, session: str) -> None:
        await self._store.sql(
            "DELETE FROM listeners WHERE server = :server AND session = :session",
            server=self.server,
            session=session,
        )
        await self._tell("listeners", [session])

    async def listened_to_elsewhere(self, sessions: Sequence[str]) -> set[str]:
        return {id_ for id_, pulse in (await self.pulses(sessions)).items() if pulse.has_listeners_elsewhere}

    # -- tidying up --------------------------------------------------------------------------

    async def delete_expired(self) -> None:
        """What processes that are no more have left behind."""
        for table in ("listeners", "servers"):
            await self._store.sql(f"DELETE FROM {table} WHERE until < {self._clock} - 60")
