"""Who drives a session, where several processes could: a job for each, with the session as its lock.

The one module that knows procrastinate. A job is only the way to a driver: that a session is to be driven is
in the database's own table, so a job that is lost is noticed and made anew, and one too many finds nothing
to do. A job of a process that has stopped giving signs of life goes to another.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
from procrastinate import App, BaseRetryStrategy, JobContext, PsycopgConnector, RetryDecision
from procrastinate.exceptions import AlreadyEnqueued, ConnectorException, UniqueViolation
from procrastinate.jobs import Job, Status
from procrastinate.manager import JobManager
from procrastinate.schema import SchemaManager
from procrastinate.worker import Worker
from psycopg import sql
from psycopg_pool import AsyncConnectionPool
from sqlalchemy import Connection, text

from moot.server.places import place_in, place_of
from moot.server.sharing import LEASE_SECONDS
from moot.store.postgres import CONNECTING, notifications, was_ended
from moot.store.sessions import Store

HEARTBEAT_SECONDS = 1.0
_RETRY_SECONDS = 0.2
_PRUNE_SECONDS = 600.0
_COURTESY_SECONDS = 0.005
"""For each session that a process drives already: how much later it asks for the next."""
_LONGEST_COURTESY_SECONDS = 0.1
_DRIVE, _TIDY = "moot.drive", "moot.tidy_up"
_DRIVE_QUEUE, _TIDY_QUEUE = "drive", "tidy"

_SWEEPING = (
    "SELECT ARRAY(SELECT j.id FROM procrastinate_jobs j"
    " LEFT JOIN procrastinate_workers w ON w.id = j.worker_id"
    " WHERE j.status = 'doing' AND j.task_name = :task"
    " AND (w.id IS NULL OR w.last_heartbeat < now() - make_interval(secs => :lease))) AS stalled,"
    " ARRAY(SELECT j.id FROM procrastinate_jobs j WHERE j.status = 'doing' AND j.task_name = :task"
    " AND j.worker_id = CAST(:worker AS bigint)) AS ours,"
    " ARRAY(SELECT d.session FROM driving d WHERE d.until <= extract(epoch FROM clock_timestamp())"
    " AND NOT EXISTS (SELECT FROM procrastinate_jobs j"
    " WHERE j.lock = d.session AND j.status IN ('todo', 'doing'))) AS unclaimed"
)
"""Jobs of workers that have stopped giving signs of life, those that one worker has, and sessions that have
neither a job nor a driver whose lease holds. In one question, because everybody asks it every second."""

_log = logging.getLogger(__name__)


def _create_tables(connection: Connection) -> None:
    """Procrastinate's own, where they are missing."""
    if connection.scalar(text("SELECT to_regclass('procrastinate_jobs')")) is None:
        # Without parameters, so that it may be many statements.
        connection.execution_options(no_parameters=True).exec_driver_sql(SchemaManager.get_schema())


async def _check(connection: psycopg.AsyncConnection[Any]) -> None:
    if was_ended(connection):
        # One that does not know of its end would go back to the pool.
        await connection.close()
        raise psycopg.OperationalError("the server has ended the connection")


def _pool(**settings: Any) -> AsyncConnectionPool[Any]:
    """Procrastinate's own asks the server each time whether it is there."""
    return AsyncConnectionPool(**{**settings, "check": _check})


class _HandedOn(BaseRetryStrategy):
    """What a worker could not finish, because it stops, another goes on with at once. What failed by a
    mistake of ours is tried again, ever less often."""

    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:
        now = datetime.now(UTC)
        if isinstance(exception, asyncio.CancelledError):
            return RetryDecision(retry_at=now)
        return RetryDecision(retry_at=now + timedelta(seconds=min(600, 2 ** min(job.attempts, 10))))


class _PatientConnector(PsycopgConnector):
    """A worker would stop at the first query that fails. A database that is away, or can only be read, is
    waited for instead, unless the process wants to end."""

    patient = True

    def __init__(self, conninfo: str) -> None:
        super().__init__(
            conninfo=conninfo,
            min_size=1,
            max_size=4,
            timeout=2.0,
            # Given up early and begun again with the next query, not after ever longer waits.
            reconnect_timeout=1.0,
            kwargs={**CONNECTING, "connect_timeout": 2, "autocommit": True},
            pool_factory=_pool,
        )
        self._conninfo = conninfo

    async def _patiently(self, ask: Callable[..., Awaitable[Any]], query: str, values: dict[str, Any]) -> Any:
        while True:
            try:
                return await ask(query, **values)
            except ConnectorException as error:
                away = isinstance(
                    error.__cause__,
                    psycopg.OperationalError | psycopg.InterfaceError | psycopg.errors.ReadOnlySqlTransaction,
                )
                if not (away and self.patient):
                    raise
            await asyncio.sleep(_RETRY_SECONDS)

    async def execute_query_async(self, query: Any, **arguments: Any) -> None:
        await self._patiently(super().execute_query_async, query, arguments)

    async def execute_query_one_async(self, query: Any, **arguments: Any) -> dict[str, Any]:
        found: dict[str, Any] = await self._patiently(super().execute_query_one_async, query, arguments)
        return found

    async def execute_query_all_async(self, query: Any, **arguments: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = await self._patiently(super().execute_query_all_async, query, arguments)
        return found

    async def listen_notify(self, on_notification: Any, channels: Any) -> None:
        while True:
            with contextlib.suppress(psycopg.Error):
                async with await psycopg.AsyncConnection.connect(
                    self._conninfo, autocommit=True, **CONNECTING
                ) as connection:
                    for channel in channels:
                        await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
                    async for channel, note in notifications(connection):
                        await on_notification(channel=channel, payload=note)
            await asyncio.sleep(_RETRY_SECONDS)


class _FairManager(JobManager):
    """Whoever has more to do already lets the others go first."""

    def __init__(self, connector: PsycopgConnector, busy: Callable[[], int]) -> None:
        super().__init__(connector)
        self._busy = busy

    async def fetch_job(self, queues: Any, worker_id: int) -> Job | None:
        await asyncio.sleep(min(_LONGEST_COURTESY_SECONDS, _COURTESY_SECONDS * self._busy()))
        return await super().fetch_job(queues, worker_id)


class Jobs:
    local = False

    def __init__(
        self,
        store: Store,
        drive: Callable[[str], Awaitable[None]],
        tidy_up: Callable[[], Awaitable[None]],
        sessions_at_once: int,
    ) -> None:
        self._store = store
        self._sessions_at_once = sessions_at_once
        self._connector = _PatientConnector(store.conninfo)
        self._app = App(connector=self._connector)
        self._begun: Counter[int | None] = Counter()
        self._app.job_manager = _FairManager(self._connector, self._begun.total)
        self._worker: Worker | None = None
        self._suspected: set[int] = set()

        @self._app.task(name=_DRIVE, queue=_DRIVE_QUEUE, retry=_HandedOn(), pass_context=True)
        async def driving(context: JobContext, session: str) -> None:
            self._begun[context.job.id] += 1
            try:
                await drive(session)
            finally:
                self._begun[context.job.id] -= 1
                self._begun += Counter()

        @self._app.periodic(cron="*/10 * * * *")
        @self._app.task(name=_TIDY, queue=_TIDY_QUEUE, queueing_lock=_TIDY)
        async def tidying(timestamp: int) -> None:  # noqa: ARG001
            await tidy_up()

        self._driving = driving

    async def open(self) -> None:
        await self._store.write(_create_tables, alone="procrastinate")
        await self._app.open_async()

    async def close(self) -> None:
        self._connector.patient = False
        await self._app.close_async()

    def hurry(self) -> None:
        """From now on a database that is away is an error."""
        self._connector.patient = False

    async def want(self, session: str) -> None:
        with contextlib.suppress(AlreadyEnqueued):
            place = place_in(session)
            queue = f"{_DRIVE_QUEUE}-{place}" if place else _DRIVE_QUEUE
            job = self._driving.configure(lock=session, queueing_lock=session, queue=queue)
            await job.defer_async(session=session)

    async def work(self) -> None:
        """Does jobs until it is cancelled. Those under way are then handed on."""
        while True:
            self._worker = Worker(
                self._app,
                name=self._store.server,
                queues=[_DRIVE_QUEUE, f"{_DRIVE_QUEUE}-{place_of(self._store.workspace)}", _TIDY_QUEUE],
                concurrency=self._sessions_at_once,
                fetch_job_polling_interval=HEARTBEAT_SECONDS,
                shutdown_graceful_timeout=0,
                delete_jobs="always",
                install_signal_handlers=False,
                update_heartbeat_interval=HEARTBEAT_SECONDS,
                stalled_worker_timeout=_PRUNE_SECONDS,
            )
            try:
                await self._worker.run()  # type: ignore[no-untyped-call]
            except ConnectorException:
                _log.exception("The worker stopped and is started again.")
            await asyncio.sleep(HEARTBEAT_SECONDS)

    async def sweep(self) -> None:
        """Finds sessions that are to be driven and that nobody drives."""
        [found] = await self._store.sql(
            _SWEEPING,
            task=_DRIVE,
            lease=LEASE_SECONDS,
            worker=self._worker and self._worker.worker_id,
        )
        lost = {*found.stalled, *self._never_begun(found.ours)}
        if lost:
            doing = await self._app.job_manager.list_jobs_async(status="doing", task=_DRIVE)
            for job in doing:
                if job.id in lost:
                    await self._hand_on(job)
        for session in found.unclaimed:
            await self.want(session)

    def _never_begun(self, ours: Iterable[int]) -> set[int]:
        """A database that goes away in the moment of giving a job out leaves it given to somebody who does
        not know."""
        suspected, self._suspected = self._suspected, {id_ for id_ in ours if not self._begun[id_]}
        # Once is no proof: it may have been fetched this very moment.
        return self._suspected & suspected

    async def _hand_on(self, job: Job) -> None:
        manager = self._app.job_manager
        try:
            await manager.retry_job(job, retry_at=datetime.now(UTC))
        except UniqueViolation:
            # The next one for the same session is waiting already.
            with contextlib.suppress(ConnectorException):
                await manager.finish_job(job, status=Status.FAILED, delete_job=True)
        except ConnectorException:
            # Somebody else was faster.
            pass

    async def forget_dead_workers(self) -> None:
        await self._app.job_manager.prune_stalled_workers(_PRUNE_SECONDS)
