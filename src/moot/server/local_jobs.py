"""Jobs of one process: it drives the sessions that it is asked to drive itself.

The same interface as `jobs.Jobs`, where nobody else could be found to do the work: with SQLite, and for a
command that convenes a board of its own. That no other process drives the same session is for the lease.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable

from moot.errors import MootError

TIDY_SECONDS = 600.0

_log = logging.getLogger(__name__)


class LocalJobs:
    local = True

    def __init__(
        self, drive: Callable[[str], Awaitable[None]], tidy_up: Callable[[], Awaitable[None]]
    ) -> None:
        self._drive = drive
        self._tidy_up = tidy_up
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def open(self) -> None:
        """Nothing has to be opened."""

    async def close(self) -> None:
        """Nor closed."""

    def hurry(self) -> None:
        """And nothing is waited for."""

    async def want(self, session: str) -> None:
        """Drives a session, unless that is under way: then whoever drives it sees that it was asked for
        again."""
        there = self._tasks.get(session)
        # One that has just ended has not been taken off yet, and sees nothing any more.
        if there is None or there.done():
            task = asyncio.ensure_future(self._drive(session))
            self._tasks[session] = task
            task.add_done_callback(lambda done: self._ended(session, done))

    def _ended(self, session: str, task: asyncio.Future[None]) -> None:
        if self._tasks.get(session) is task:
            del self._tasks[session]
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("Driving session %s failed.", session, exc_info=error)

    async def work(self) -> None:
        """Until it is cancelled; what is under way is then given back."""
        try:
            while True:
                await asyncio.sleep(TIDY_SECONDS)
                with contextlib.suppress(MootError):
                    await self._tidy_up()
        finally:
            tasks = list(self._tasks.values())
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def sweep(self) -> None:
        """A session that nobody drives any more is found by whoever listens to it."""

    async def forget_dead_workers(self) -> None:
        """There are none."""
