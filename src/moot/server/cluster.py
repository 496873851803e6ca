"""Several processes on one database: each can serve any client, and a session is driven by one at a time.

Whoever drives a session holds its lease, renews it every second, and stops where it has expired and another
has taken it. A client is served from the frames as they appear in the database; what a person does is added
to the log, wherever the session is driven. Notifications say where to look; one look is one query for all
sessions.

With PostgreSQL a job finds a process that drives a session. With SQLite, and for a command's own board, the
process that wants it driven does it itself, unless another holds the lease: then it listens, and goes on with
the session should that process stop without finishing.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from moot.errors import MootError, SessionMoved, StoreFailed
from moot.server.active_session import RETRY_SECONDS, ActiveSession
from moot.server.local_jobs import LocalJobs
from moot.server.sharing import LEASE_SECONDS, Pulse, Sharing

if TYPE_CHECKING:
    from moot.server.hub import Hub, Work
    from moot.server.jobs import Jobs

BEAT_SECONDS = 1.0

T = TypeVar("T")

AnySession = ActiveSession[Any, Any]


class Cluster:
    def __init__(self, engine: Hub, sharing: Sharing, work: Work) -> None:
        self.sharing = sharing
        self._engine = engine
        self._works = work != "none"
        self._jobs: Jobs | LocalJobs = LocalJobs(self._drive, self._tidy_up)
        if engine.store.shared and work != "own":
            # Imported here, because most use SQLite, and it takes long.
            from moot.server.jobs import Jobs

            self._jobs = Jobs(engine.store, self._drive, self._tidy_up, engine.settings.sessions_per_worker)
        self._heard: dict[str, set[str]] = {}
        self._something = asyncio.Event()
        self._at_all = False
        self._failed_at = float("-inf")
        self._renewed_at = time.monotonic()
        self._tasks: list[asyncio.Task[Any]] = []
        self._working: asyncio.Task[None] | None = None

    async def start(self) -> None:
        await self._jobs.open()
        listening = self.sharing.listen(self._hear, self._look_at_all)
        self._tasks = [asyncio.create_task(one) for one in (listening, self._look(), self._beat())]
        if self._works:
            self._working = asyncio.create_task(self._jobs.work())

    @property
    def running(self) -> bool:
        return bool(self._tasks) and not any(task.done() for task in self._tasks)

    async def stop_working(self) -> None:
        """What is under way goes on elsewhere."""
        self._jobs.hurry()
        if self._working is not None:
            self._working.cancel()
            await asyncio.gather(self._working, return_exceptions=True)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        # Where the database is away, it runs out by itself.
        with contextlib.suppress(StoreFailed):
            await self.sharing.leave()
        await self._jobs.close()

    # -- a session here ----------------------------------------------------------------------

    async def watch(self, live: AnySession, *, new: bool) -> None:
        """A session that was just read: it is told from the database until it is driven here. Nobody has told
        anything yet of a new one."""
        assert live.session is not None
        id_, store = live.session.id, self._engine.store
        live.here = False
        if not self._engine.lives:
            await self.sharing.announce()
        if new:
            live.untold = True
            return
        told = await store.frames(id_)
        live.feed.skip_to(await store.last_frame(id_))
        live.seq = live.feed.newest
        live.untold = live.is_untold(told)
        await self._see([live], settled=True)

    async def look_again(self, live: AnySession) -> None:
        """A session that nobody here listened to may have moved on."""
        if not live.here:
            await live.runner.catch_up()
            await self._see([live], settled=True)

    async def want(self, live: AnySession) -> None:
        assert live.session is not None
        live.wants += 1
        live.noted_quiet = False
        live.driven_elsewhere = not live.held
        try:
            if await self.sharing.want(live.session.id, live.client) or self._jobs.local:
                await self._jobs.want(live.session.id)
            live.driven_elsewhere = not live.held
            live.untold = False
        finally:
            live.wants += 1

    async def listeners_changed(self, live: AnySession) -> None:
        assert live.session is not None
        if live.listeners:
            await self.sharing.listens([live.session.id])
        else:
            await self.sharing.listens_no_more(live.session.id)

    async def lost(self, live: AnySession) -> None:
        live.here = False
        live.driven_elsewhere = True
        self._look_at_all()

    async def tell_of_frames(self, sessions: Sequence[str]) -> None:
        """Somebody elsewhere may not have been told of what was written. Where that fails, they look within
        the second."""
        with contextlib.suppress(StoreFailed):
            await self.sharing.tell_of_frames(sessions)

    # -- driving -----------------------------------------------------------------------------

    async def _drive(self, session_id: str) -> None:
        """A job: one session, until nothing is pending in it or nobody listens."""
        try:
            live = await self._patiently(lambda: self._to_drive(session_id))
        except MootError:
            # It is gone, or damaged, which whoever opens it is told.
            await self._patiently(lambda: self.sharing.give_up(session_id))
            return
        # A job whose process seemed dead for a moment comes to the same process a second time.
        async with live.one_driver:
            live.hold(True)
            try:
                await self._drive_to_its_end(live, session_id)
            finally:
                if live.driving:
                    await live.rest()
                    await live.driven()
                    live.driven_elsewhere = True
                    # Where the database is away, the lease expires by itself.
                    with contextlib.suppress(StoreFailed):
                        await self.sharing.release(session_id)
                live.here = False
                live.hold(False)
            live.let_watchers_look()
            self._engine.settled(live)

    async def _to_drive(self, session_id: str) -> AnySession:
        """As it is in memory, if it is: whoever drives it takes over what the database has before anything
        else."""
        return self._engine.found(session_id) or await self._engine.live(
            await self._engine.store.session(session_id)
        )

    async def _drive_to_its_end(self, live: AnySession, session_id: str) -> None:
        start = self._engine.start_of(live)
        wanted = await self._patiently(lambda: self.sharing.take(session_id))
        if wanted is None:
            # Another process drives it, or has driven it to its end.
            live.driven_elsewhere = True
            self._worth_a_look("frames", session_id)
            return
        live.leased = True
        await self._patiently(lambda: live.take_over(self._engine.store, start))
        while wanted is not None:
            await self._patiently(lambda: self._count_listeners([live]))
            live.drive()
            await live.driven()
            if live.lost:
                await self.lost(live)
                return
            if await self._patiently(partial(self.sharing.driven_to_its_end, session_id, wanted)):
                return
            wanted = await self._patiently(lambda: self.sharing.still_wanted(session_id))
            await self._patiently(live.runner.catch_up)

    async def check_lease(self, live: AnySession) -> None:
        """Before a model is asked: a process that was frozen for longer than its lease must not go on as if
        nothing had happened. Raises SessionMoved where another drives the session by now."""
        if live.leased and time.monotonic() - self._renewed_at > LEASE_SECONDS:
            await self._patiently(self._renew_leases)
        if live.lost and live.session is not None:
            raise SessionMoved(live.session.id)

    async def _renew_leases(self) -> None:
        now = time.monotonic()
        leased = {id_: live for id_, live in self._engine.lives.items() if live.leased}
        renewed = await self.sharing.renew(list(leased)) if leased else set()
        self._renewed_at = now
        for id_, live in leased.items():
            # One that has ended meanwhile has given its lease back.
            if id_ not in renewed and live.leased and live.driving:
                await live.let_go()

    async def _patiently(self, ask: Callable[[], Awaitable[T]]) -> T:
        while True:
            try:
                return await ask()
            except StoreFailed:
                await asyncio.sleep(RETRY_SECONDS)

    # -- looking -----------------------------------------------------------------------------

    def _hear(self, kind: str, sessions: list[str]) -> None:
        lives = self._engine.lives
        for id_ in sessions:
            if id_ in lives:
                self._worth_a_look(kind, id_)

    def _look_at_all(self) -> None:
        self._at_all = True
        self._something.set()

    def _worth_a_look(self, kind: str, session: str) -> None:
        self._heard.setdefault(kind, set()).add(session)
        self._something.set()

    async def _look(self) -> None:
        """While one look is under way, what is heard gathers for the next."""
        while True:
            await self._something.wait()
            self._something.clear()
            heard, self._heard = self._heard, {}
            at_all, self._at_all = self._at_all, False
            try:
                await self._look_where(heard, at_all=at_all)
            except StoreFailed:
                self._failed_at = time.monotonic()
                await asyncio.sleep(RETRY_SECONDS)
                self._look_at_all()

    async def _look_where(self, heard: dict[str, set[str]], *, at_all: bool) -> None:
        if at_all:
            await self._feel_all(heard)
        for id_ in heard.get("gone", ()):
            await self._engine.forget(id_)

        def lives(kind: str) -> list[AnySession]:
            return [live for id_ in heard.get(kind, ()) if (live := self._engine.lives.get(id_)) is not None]

        everyone = list(self._engine.lives.values()) if at_all else []
        await self._catch_up(lives("events"))
        await self._count_listeners(lives("listeners"))
        await self._see(everyone or lives("frames"))

    async def _catch_up(self, lives: Iterable[AnySession]) -> None:
        for live in lives:
            try:
                await live.runner.catch_up()
            except StoreFailed:
                raise
            except MootError:
                # Its log is damaged: whoever drives it says so.
                continue
            self._engine.settled(live)

    async def _see(self, lives: Iterable[AnySession], *, settled: bool = False) -> None:
        """New frames of sessions that are not driven here, and whether there will be more. Those that nobody
        cares for count only if `settled` ones are meant."""
        seen_by = {
            live.session.id: (live, live.wants)
            for live in lives
            if live.session is not None and not live.here and (settled or not live.forgotten)
        }
        if not seen_by:
            return
        after = {id_: live.feed.newest for id_, (live, _) in seen_by.items()}
        for id_, seen in (await self.sharing.look(after)).items():
            live, wants = seen_by[id_]
            if live.here:
                continue
            live.feed.tell(seen.frames)
            live.seq = live.feed.newest
            driven = seen.driven
            # Who heard it here hears it on; who only opened it has nothing begun.
            if seen.orphaned and self._jobs.local and live.listeners and live.driven_elsewhere:
                driven = True
                if self._is_settled():
                    await self._jobs.want(id_)
            # A look that began before somebody wanted it driven does not know of that.
            if driven or wants == live.wants:
                live.driven_elsewhere = driven
            live.noted_quiet = live.noted_quiet and not driven
            if not live.driven_elsewhere:
                live.let_watchers_look()
            self._engine.settled(live)

    async def _count_listeners(self, lives: Iterable[AnySession]) -> None:
        here = {live.session.id: live for live in lives if live.session is not None and live.here}
        if not here:
            return
        heard = await self.sharing.heard_elsewhere(list(here))
        newly = [id_ for id_ in heard if not here[id_].heard_elsewhere]
        for id_, live in here.items():
            live.heard(id_ in heard)
        if newly:
            # Until now they were not told of what was written.
            await self.tell_of_frames(newly)

    # -- once a second -----------------------------------------------------------------------

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            try:
                await self._renew()
            except StoreFailed:
                self._failed_at = time.monotonic()
                await asyncio.sleep(RETRY_SECONDS)

    async def _renew(self) -> None:
        lives = dict(self._engine.lives)
        for live in lives.values():
            live.feed.drop_if_still()
        if lives:
            await self.sharing.announce()
        await self._renew_leases()
        if attended := [id_ for id_, live in lives.items() if live.listeners]:
            await self.sharing.listens(attended, tell=False)
        if lives:
            self._look_at_all()
        if self._is_settled() and self._works:
            await self._jobs.sweep()

    def _is_settled(self) -> bool:
        """After the database was away everybody is late: they are given the time to say that they are
        there."""
        return time.monotonic() - self._failed_at > LEASE_SECONDS

    async def _feel_all(self, heard: dict[str, set[str]]) -> None:
        lives = dict(self._engine.lives)
        if not lives:
            return
        settled = self._is_settled()
        for id_, pulse in (await self.sharing.pulses(list(lives))).items():
            if kind := self._feel(lives[id_], pulse, settled=settled):
                heard.setdefault(kind, set()).add(id_)

    def _feel(self, live: AnySession, pulse: Pulse, *, settled: bool) -> str | None:
        """What has changed in a session, if anything has."""
        if pulse.newest_event == 0:
            return "gone"
        if live.here and settled:
            if pulse.heard_elsewhere != live.heard_elsewhere:
                self._worth_a_look("listeners", live.session.id)  # type: ignore[union-attr]
            else:
                live.heard(pulse.heard_elsewhere)
        return "events" if pulse.newest_event > live.log_seq else None

    async def _tidy_up(self) -> None:
        await self._engine.tidy_up()
        await self.sharing.clear_away_the_dead()
        await self._jobs.forget_dead_workers()
