"""What the processes on one PostgreSQL know of each other: which sessions are to be driven, who listens
where, which calls are under way, what was said for somebody elsewhere, and that something has changed.

Knows SQL and notifications. Nothing depends on a notification arriving: each is only a reason to look, and
everybody looks once a second anyway. What a process holds here runs out when it stops renewing it, so that
one that was killed holds nothing for long.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from moot.frame_writers import SaidWord
from moot.postgres import CHANNEL, CONNECTING, notes, told
from moot.store import Frame, Store, frames_of

LEASE_SECONDS = 3.0
"""For how long a process is believed to be there without a word from it."""

_RECONNECT_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Pulse:
    """How a session is, as far as all need to know who have to do with it."""

    newest_event: int
    """0 where it is gone."""
    heard_elsewhere: bool


@dataclass(slots=True)
class Seen:
    """A session as somebody who does not drive it sees it."""

    driven: bool
    frames: list[Frame] = field(default_factory=list)


class Sharing:
    def __init__(self, store: Store) -> None:
        assert store.shared
        self._store = store
        self.server = store.server

    # -- notifications -----------------------------------------------------------------------

    async def listen(self, hear: Callable[[str, list[str]], None], connected: Callable[[], None]) -> None:
        """Tells what other processes have changed, for ever; `connected` each time there is a connection
        anew, because what was said before it was not heard."""
        import psycopg

        while True:
            with contextlib.suppress(psycopg.Error):
                async with await psycopg.AsyncConnection.connect(
                    self._store.conninfo, autocommit=True, **CONNECTING
                ) as connection:
                    await connection.execute(f"LISTEN {CHANNEL}")
                    connected()
                    async for _, note in told(connection):
                        # Anybody who may use the database may say anything there.
                        server, _, said = note.partition(" ")
                        kind, *sessions = said.split(" ")
                        if server != self.server:
                            hear(kind, sessions)
            await asyncio.sleep(_RECONNECT_SECONDS)

    async def tell_of_frames(self, sessions: Iterable[str]) -> None:
        """There is something to see that those who listen elsewhere may not have been told of."""
        await self._tell("frames", sessions)

    async def _tell(self, kind: str, sessions: Iterable[str]) -> None:
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
        """Makes this process the one that drives a session: from now on no other logs what its models say.
        How often that was asked for; None where it is not to be driven."""
        rows = await self._store.sql(
            "UPDATE driving SET driver = :server WHERE session = :session RETURNING wanted",
            session=session,
            server=self.server,
        )
        return int(rows[0].wanted) if rows else None

    async def still_wanted(self, session: str) -> int | None:
        """The same of a session that this process drives already; None where another does by now."""
        rows = await self._store.sql(
            "SELECT wanted FROM driving WHERE session = :session AND driver = :server",
            session=session,
            server=self.server,
        )
        return int(rows[0].wanted) if rows else None

    async def driven_to_its_end(self, session: str, wanted: int) -> bool:
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

    async def driven(self, sessions: Sequence[str]) -> set[str]:
        rows = await self._store.sql(
            "SELECT session FROM driving WHERE session = ANY(CAST(:sessions AS text[]))",
            sessions=list(sessions),
        )
        return {row.session for row in rows}

    async def under_way(self, client: str) -> tuple[int, int]:
        """How many sessions are driven for anybody, and for this client."""
        [row] = await self._store.sql(
            "SELECT count(*) AS everybody, count(*) FILTER (WHERE client = :client) AS own FROM driving",
            client=client,
        )
        return int(row.everybody), int(row.own)

    # -- what there is to see ----------------------------------------------------------------

    async def look(self, after: Mapping[str, int]) -> dict[str, Seen]:
        """Frames with numbers above those given, and whether there will be more: all as of one moment, so
        that a session that is no longer driven has no frame that is missing here."""
        rows = await self._store.sql(
            "SELECT w.session, d.session IS NOT NULL AS driven, f.seq, f.body"
            " FROM unnest(CAST(:sessions AS text[]), CAST(:after AS int[])) AS w(session, after)"
            " LEFT JOIN driving d ON d.session = w.session"
            " LEFT JOIN frames f ON f.session = w.session AND f.seq > w.after"
            " ORDER BY w.session, f.seq",
            sessions=list(after),
            after=list(after.values()),
        )
        found: dict[str, Seen] = {}
        for row in rows:
            seen = found.setdefault(row.session, Seen(row.driven))
            if row.seq is not None:
                seen.frames.extend(frames_of(row.session, row.seq, row.body))
        return found

    async def words(self, waiting: Iterable[tuple[str, int]]) -> list[SaidWord]:
        """Everything said so far to these sessions' challenges, in order."""
        pairs = list(waiting)
        rows = await self._store.sql(
            "SELECT v.session, v.challenge, v.attempt, v.seq, v.text"
            " FROM unnest(CAST(:sessions AS text[]), CAST(:challenges AS int[])) AS w(session, challenge)"
            " JOIN words v ON v.session = w.session AND v.challenge = w.challenge"
            " ORDER BY v.session, v.challenge, v.attempt, v.seq",
            sessions=[session for session, _ in pairs],
            challenges=[challenge for _, challenge in pairs],
        )
        return [SaidWord(*row) for row in rows]

    async def forget_words(self, session: str, challenge: int) -> None:
        await self._store.sql(
            "DELETE FROM words WHERE session = :session AND challenge <= :challenge",
            session=session,
            challenge=challenge,
        )

    # -- who listens -------------------------------------------------------------------------

    _LISTENING = (
        "WITH listening AS (INSERT INTO listeners (session, server, until)"
        " SELECT s.id, :server, now() + make_interval(secs => :lease)"
        " FROM sessions s WHERE s.id = ANY(CAST(:attended AS text[]))"
        " ON CONFLICT (session, server) DO UPDATE SET until = excluded.until) "
    )

    async def listens(self, session: str) -> None:
        """Somebody listens here: whoever drives the session is to tell of it from now on."""
        [note] = notes(self.server, "listeners", [session])
        await self._store.sql(
            f"{self._LISTENING} SELECT pg_notify('{CHANNEL}', :note)",
            attended=[session],
            server=self.server,
            lease=LEASE_SECONDS,
            note=note,
        )

    async def beat(self, sessions: Sequence[str], attended: Sequence[str]) -> dict[str, Pulse]:
        """Says that to those `attended` somebody listens here, which is believed until the lease runs out.
        How all are."""
        rows = await self._store.sql(
            f"{self._LISTENING} SELECT w.session,"
            " (SELECT coalesce(max(e.seq), 0) FROM events e WHERE e.session = w.session) AS newest,"
            " EXISTS (SELECT FROM listeners l WHERE l.session = w.session"
            " AND l.server <> :server AND l.until > now()) AS heard"
            " FROM unnest(CAST(:sessions AS text[])) AS w(session)",
            sessions=list(sessions),
            attended=sorted(attended),
            server=self.server,
            lease=LEASE_SECONDS,
        )
        return {row.session: Pulse(int(row.newest), row.heard) for row in rows}

    async def listens_no_more(self, session: str | None = None) -> None:
        """Nobody here listens to a session, or to any."""
        await self._store.sql(
            "DELETE FROM listeners WHERE server = :server AND session = coalesce(:session, session)",
            server=self.server,
            session=session,
        )
        if session is not None:
            await self._tell("listeners", [session])

    async def heard_elsewhere(self, sessions: Sequence[str]) -> set[str]:
        rows = await self._store.sql(
            "SELECT DISTINCT session FROM listeners WHERE session = ANY(CAST(:sessions AS text[]))"
            " AND server <> :server AND until > now()",
            sessions=list(sessions),
            server=self.server,
        )
        return {row.session for row in rows}

    # -- calls under way ---------------------------------------------------------------------

    async def take_slot(self, provider: str, most: int) -> bool:
        """One of so many calls that all processes together may have under way, if there is one left. Who
        asks at the same time waits for the other's row."""
        async with self._store.alone(f"slots {provider}") as sql:
            [row] = await sql(
                "SELECT coalesce(sum(taken), 0) AS taken FROM slots"
                " WHERE provider = :provider AND until > now()",
                provider=provider,
            )
            if row.taken >= most:
                return False
            await sql(
                "INSERT INTO slots (provider, server, taken, until)"
                " VALUES (:provider, :server, 1, now() + make_interval(secs => :lease))"
                " ON CONFLICT (provider, server) DO UPDATE SET until = excluded.until,"
                " taken = CASE WHEN slots.until > now() THEN slots.taken + 1 ELSE 1 END",
                provider=provider,
                server=self.server,
                lease=LEASE_SECONDS,
            )
            return True

    async def give_back_slot(self, provider: str) -> None:
        await self._store.sql(
            "UPDATE slots SET taken = greatest(taken - 1, 0) WHERE provider = :provider AND server = :server",
            provider=provider,
            server=self.server,
        )
        await self._tell("slots", [provider])

    async def renew_slots(self, taken: Mapping[str, int]) -> None:
        """As many as are really taken here: what the database missed while it was away is made good."""
        await self._store.sql(
            "INSERT INTO slots (provider, server, taken, until)"
            " SELECT w.provider, :server, w.taken, now() + make_interval(secs => :lease)"
            " FROM unnest(CAST(:providers AS text[]), CAST(:taken AS int[])) AS w(provider, taken)"
            " ON CONFLICT (provider, server) DO UPDATE SET until = excluded.until, taken = excluded.taken",
            server=self.server,
            lease=LEASE_SECONDS,
            providers=list(taken),
            taken=list(taken.values()),
        )

    # -- tidying up --------------------------------------------------------------------------

    async def clear_away_the_dead(self) -> None:
        """What processes that are no more have left behind."""
        for table in ("listeners", "slots"):
            await self._store.sql(f"DELETE FROM {table} WHERE until < now() - interval '1 minute'")
        await self._store.sql(
            "DELETE FROM words v USING sessions s"
            " WHERE s.id = v.session AND s.updated_at < now() - interval '1 hour'"
        )
