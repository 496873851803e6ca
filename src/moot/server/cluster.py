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
from moot.files.lock import enter_in_time
from moot.server.active_session import RETRY_SECONDS, AnySession
from moot.server.format import Progress, StreamError
from moot.server.local_jobs import LocalJobs
from moot.server.sharing import LEASE_SECONDS, Pulse, Sharing

if TYPE_CHECKING:
    from moot.server.hub import Drives, Hub
    from moot.server.jobs import Jobs

HEARTBEAT_SECONDS = 1.0

T = TypeVar("T")


class Cluster:
    def __init__(self, hub: Hub, sharing: Sharing, work: Drives) -> None:
        self.sharing = sharing
        self._hub = hub
        self._works = work != "none"
        self._jobs: Jobs | LocalJobs = LocalJobs(self._drive, self._tidy_up)
        if hub.store.shared and work != "own":
            # Imported here, because most use SQLite, and it takes long.
            from moot.server.jobs import Jobs

            self._jobs = Jobs(hub.store, self._drive, self._tidy_up, hub.settings.sessions_per_worker)
        self._notices: dict[str, set[str]] = {}
        self._something = asyncio.Event()
        self._at_all = False
        self._failed_at = float("-inf")
        self._renewed_at = time.monotonic()
        self._tasks: list[asyncio.Task[Any]] = []
        self._working: asyncio.Task[None] | None = None

    async def start(self) -> None:
        await self._jobs.open()
        listening = self.sharing.listen(self._receive, self._notice_all)
        self._tasks = [asyncio.create_task(one) for one in (listening, self._watch(), self._heartbeat())]
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
        # If the database is away, the lease expires by itself.
        with contextlib.suppress(StoreFailed):
            await self.sharing.leave()
        await self._jobs.close()

    # -- a session here ----------------------------------------------------------------------

    async def watch(self, live: AnySession, *, new: bool) -> None:
        """Follows a session that was just read: until this process drives it, its frames come from the
        database. A new one has none yet."""
        assert live.session is not None
        id_, store = live.session.id, self._hub.store
        live.here = False
        if not self._hub.active_sessions:
            await self.sharing.announce()
        if new:
            live.has_unsent = True
            return
        told = await store.frames(id_)
        live.buffer.skip_to(await store.last_frame(id_))
        live.seq = live.buffer.newest
        live.has_unsent = live.has_missing_frames(told)
        await self._read_frames([live], settled=True)

    async def look_again(self, live: AnySession) -> None:
        """Catches up with a session that nobody here was listening to."""
        if not live.here:
            await live.runner.catch_up()
            await self._read_frames([live], settled=True)

    async def want(self, live: AnySession) -> None:
        assert live.session is not None
        live.wants += 1
        live.announced_quiet = False
        live.driven_elsewhere = not live.held
        try:
            if await self.sharing.want(live.session.id, live.client) or self._jobs.local:
                await self._jobs.want(live.session.id)
            live.driven_elsewhere = not live.held
            live.has_unsent = False
        finally:
            live.wants += 1

    async def halt(self, live: AnySession) -> None:
        """Whoever drives it elsewhere finds within a second that it is not to be driven any more."""
        assert live.session is not None
        await self.sharing.give_up(live.session.id)
        await live.pause()
        live.driven_elsewhere = False
        self._notice("frames", live.session.id)

    async def listeners_changed(self, live: AnySession) -> None:
        assert live.session is not None
        if live.listeners:
            await self.sharing.add_listeners([live.session.id])
        else:
            await self.sharing.remove_listener(live.session.id)

    async def lost(self, live: AnySession) -> None:
        live.here = False
        live.driven_elsewhere = True
        self._notice_all()

    async def notify_frames(self, sessions: Sequence[str]) -> None:
        """Notifies the other processes of new frames. If that fails, they find them within a second
        anyway."""
        with contextlib.suppress(StoreFailed):
            await self.sharing.notify_frames(sessions)

    # -- driving -----------------------------------------------------------------------------

    async def _drive(self, session_id: str) -> None:
        """A job: drives one session until nothing is pending or nobody listens."""
        try:
            live = await self._patiently(lambda: self._to_drive(session_id))
        except MootError:
            # It is gone, or damaged, which whoever opens it is told.
            await self._patiently(lambda: self.sharing.give_up(session_id))
            return
        # If a process seemed dead for a moment, it can get its own job a second time.
        async with live.one_driver:
            live.hold(True)
            try:
                await self._drive_until_done(live, session_id)
            finally:
                if live.driving:
                    await live.pause()
                    await live.driven()
                    live.driven_elsewhere = True
                    # If the database is away, the lease expires by itself.
                    with contextlib.suppress(StoreFailed):
                        await self.sharing.release(session_id)
                live.here = False
                live.hold(False)
            live.notify_watchers()
            self._hub.settled(live)

    async def _to_drive(self, session_id: str) -> AnySession:
        """From memory if it is there: whoever drives it reads the database first in any case."""
        return self._hub.found(session_id) or await self._hub.live(await self._hub.store.session(session_id))

    async def _drive_until_done(self, live: AnySession, session_id: str) -> None:
        start = self._hub.start_of(live)
        wanted = await self._patiently(lambda: self.sharing.take(session_id))
        if wanted is None:
            # Another process is driving it, or has finished it.
            live.driven_elsewhere = True
            self._notice("frames", session_id)
            return
        live.has_lease = True
        await self._patiently(lambda: live.take_over(self._hub.store, start))
        with contextlib.ExitStack() as stack:
            try:
                await enter_in_time(stack, partial(self._hub.claim, live), partial(_tell_progress, live))
            except MootError as busy:
                live.tell(StreamError(str(busy)))
                await live.driven()
                await self._patiently(lambda: self.sharing.give_up(session_id))
                return
            await self._drive_leased(live, session_id, wanted)

    async def _drive_leased(self, live: AnySession, session_id: str, first_wanted: int) -> None:
        wanted: int | None = first_wanted
        while wanted is not None:
            await self._patiently(lambda: self._count_listeners([live]))
            live.drive()
            await live.driven()
            if live.lost:
                await self.lost(live)
                return
            if await self._patiently(partial(self.sharing.finish, session_id, wanted)):
                return
            wanted = await self._patiently(lambda: self.sharing.still_wanted(session_id))
            await self._patiently(live.runner.catch_up)

    async def check_lease(self, live: AnySession) -> None:
        """Before a model is asked: a process that was frozen for longer than its lease must not go on as if
        nothing had happened. Raises SessionMoved where another drives the session by now."""
        if live.has_lease and time.monotonic() - self._renewed_at > LEASE_SECONDS:
            await self._patiently(self._renew_leases)
        if live.lost and live.session is not None:
            raise SessionMoved(live.session.id)

    async def _renew_leases(self) -> None:
        now = time.monotonic()
        has_lease = {id_: live for id_, live in self._hub.active_sessions.items() if live.has_lease}
        renewed = await self.sharing.renew(list(has_lease)) if has_lease else set()
        self._renewed_at = now
        for id_, live in has_lease.items():
            # One that has ended meanwhile has released its lease.
            if id_ not in renewed and live.has_lease and live.driving:
                await live.abandon()

    async def _patiently(self, ask: Callable[[], Awaitable[T]]) -> T:
        while True:
            try:
                return await ask()
            except StoreFailed:
                await asyncio.sleep(RETRY_SECONDS)

    # -- looking -----------------------------------------------------------------------------

    def _receive(self, kind: str, sessions: list[str]) -> None:
        active_sessions = self._hub.active_sessions
        for id_ in sessions:
            if id_ in active_sessions:
                self._notice(kind, id_)

    def _notice_all(self) -> None:
        self._at_all = True
        self._something.set()

    def _notice(self, kind: str, session: str) -> None:
        self._notices.setdefault(kind, set()).add(session)
        self._something.set()

    async def _watch(self) -> None:
        """Notices that arrive while others are being handled wait for the next round."""
        while True:
            await self._something.wait()
            self._something.clear()
            notices, self._notices = self._notices, {}
            at_all, self._at_all = self._at_all, False
            try:
                await self._handle_notices(notices, at_all=at_all)
            except StoreFailed:
                self._failed_at = time.monotonic()
                await asyncio.sleep(RETRY_SECONDS)
                self._notice_all()

    async def _handle_notices(self, notices: dict[str, set[str]], *, at_all: bool) -> None:
        if at_all:
            await self._check_pulses(notices)
        for id_ in notices.get("gone", ()):
            await self._hub.forget(id_)

        def noticed(kind: str) -> list[AnySession]:
            here = self._hub.active_sessions
            return [here[id_] for id_ in notices.get(kind, ()) if id_ in here]

        everyone = list(self._hub.active_sessions.values()) if at_all else []
        await self._catch_up(noticed("events"))
        await self._count_listeners(noticed("listeners"))
        await self._read_frames(everyone or noticed("frames"))

    async def _catch_up(self, active_sessions: Iterable[AnySession]) -> None:
        for live in active_sessions:
            try:
                await live.runner.catch_up()
            except StoreFailed:
                raise
            except MootError:
                # Its log is damaged: whoever drives it reports that.
                continue
            self._hub.settled(live)

    async def _read_frames(self, active_sessions: Iterable[AnySession], *, settled: bool = False) -> None:
        """Reads new frames of sessions that other processes drive, and whether more will come. Sessions that
        nobody here needs are skipped unless `settled` is set."""
        seen_by = {
            live.session.id: (live, live.wants)
            for live in active_sessions
            if live.session is not None and not live.here and (settled or not live.is_forgotten)
        }
        if not seen_by:
            return
        after = {id_: live.buffer.newest for id_, (live, _) in seen_by.items()}
        for id_, seen in (await self.sharing.look(after)).items():
            live, wants = seen_by[id_]
            if live.here:
                continue
            live.buffer.tell(seen.frames)
            live.seq = live.buffer.newest
            driven = seen.driven
            # It goes on for whoever was listening; merely opening a session starts nothing.
            if seen.orphaned and self._jobs.local and live.listeners and live.driven_elsewhere:
                driven = True
                if self._is_settled():
                    await self._jobs.want(id_)
            # A query that began before somebody asked for a driver does not know about it.
            if driven or wants == live.wants:
                live.driven_elsewhere = driven
            live.announced_quiet = live.announced_quiet and not driven
            if not live.driven_elsewhere:
                live.notify_watchers()
            self._hub.settled(live)

    async def _count_listeners(self, active_sessions: Iterable[AnySession]) -> None:
        here = {live.session.id: live for live in active_sessions if live.session is not None and live.here}
        if not here:
            return
        listened_to = await self.sharing.listened_to_elsewhere(list(here))
        newly = [id_ for id_ in listened_to if not here[id_].has_listeners_elsewhere]
        for id_, live in here.items():
            live.set_listeners_elsewhere(id_ in listened_to)
        if newly:
            # Until now they were not notified of new frames.
            await self.notify_frames(newly)

    # -- once a second -----------------------------------------------------------------------

    async def _heartbeat(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            try:
                await self._renew()
            except StoreFailed:
                self._failed_at = time.monotonic()
                await asyncio.sleep(RETRY_SECONDS)

    async def _renew(self) -> None:
        active_sessions = dict(self._hub.active_sessions)
        for live in active_sessions.values():
            live.buffer.drop_if_still()
        if active_sessions:
            await self.sharing.announce()
        await self._renew_leases()
        if attended := [id_ for id_, live in active_sessions.items() if live.listeners]:
            await self.sharing.add_listeners(attended, tell=False)
        if active_sessions:
            self._notice_all()
        if self._is_settled() and self._works:
            await self._jobs.sweep()

    def _is_settled(self) -> bool:
        """Whether the database has been back long enough for every process to have renewed its leases."""
        return time.monotonic() - self._failed_at > LEASE_SECONDS

    async def _check_pulses(self, notices: dict[str, set[str]]) -> None:
        active_sessions = dict(self._hub.active_sessions)
        if not active_sessions:
            return
        settled = self._is_settled()
        for id_, pulse in (await self.sharing.pulses(list(active_sessions))).items():
            if kind := self._check_pulse(active_sessions[id_], pulse, settled=settled):
                notices.setdefault(kind, set()).add(id_)

    def _check_pulse(self, live: AnySession, pulse: Pulse, *, settled: bool) -> str | None:
        """What has changed in a session, if anything has."""
        if pulse.newest_event == 0:
            return "gone"
        if live.here and settled:
            if pulse.has_listeners_elsewhere != live.has_listeners_elsewhere:
                self._notice("listeners", live.session.id)  # type: ignore[union-attr]
            else:
                live.set_listeners_elsewhere(pulse.has_listeners_elsewhere)
        return "events" if pulse.newest_event > live.log_seq else None

    async def _tidy_up(self) -> None:
        await self._hub.tidy_up()
        await self.sharing.delete_expired()
        await self._jobs.forget_dead_workers()


def _tell_progress(live: AnySession, text: str) -> None:
    live.tell(Progress(text))
