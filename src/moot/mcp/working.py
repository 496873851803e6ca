"""Long work for a client: it is told how far the work is, and a client that cancels stops it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, TypeVar

import anyio
from mcp.server.mcpserver.context import Context

T = TypeVar("T")


async def to_its_end(work: Coroutine[Any, Any, T]) -> T:
    """Runs the work in a task of its own. Cancelled, it cancels the work once and waits for its end.

    In the request's own task, the package would cancel again whatever the work waits for on its way out, so
    that no session could be put away properly.
    """
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    finally:
        if not task.done():
            task.cancel()
            with anyio.CancelScope(shield=True):
                await asyncio.gather(task, return_exceptions=True)


class Progress:
    """Notifications in order, sent while the work goes on: what tells it of progress need not wait."""

    def __init__(self, context: Context[Any, Any], total: int | None = None) -> None:
        self._context = context
        self._total = total
        self._done = 0
        self._waiting: asyncio.Queue[str | None] = asyncio.Queue()
        self._sending: asyncio.Task[None] | None = None

    def tell(self, message: str) -> None:
        """One step further."""
        self._waiting.put_nowait(message)

    async def __aenter__(self) -> Progress:
        self._sending = asyncio.create_task(self._send())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """All that was told is sent before the answer is; a client that has left is told nothing more."""
        assert self._sending is not None
        if kind is None:
            self._waiting.put_nowait(None)
            await asyncio.gather(self._sending, return_exceptions=True)
        else:
            self._sending.cancel()

    async def _send(self) -> None:
        while (message := await self._waiting.get()) is not None:
            self._done += 1
            await self._context.report_progress(self._done, self._total, message)
