"""Server-sent events on the way out, `id:` and `data:` lines and nothing else, and clients who leave."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Sequence
from contextlib import aclosing
from typing import Any, TypeVar

import msgspec
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from moot.server import Payload

T = TypeVar("T")


class Idle(Payload):
    """Nothing is under way: the stream ends here. Without an id, because it is not part of the session."""


def event(payload: Payload) -> bytes:
    return b"data: " + msgspec.json.encode(payload) + b"\n\n"


def numbered(frames: Sequence[Any]) -> bytes:
    """Frames of a session, which are JSON already."""
    return b"".join(b"id: %d\ndata: %b\n\n" % (frame.seq, frame.body) for frame in frames)


class ClientLeft(HTTPException):
    def __init__(self) -> None:
        super().__init__(499, "The client has left.")


async def while_there(receive: Receive, work: Awaitable[T]) -> T:
    """What is done for a client who waits, and dropped when they leave: an answer that nobody reads is not
    paid for."""
    task = asyncio.current_task()
    assert task is not None
    there, left = True, False

    def leave(done: asyncio.Future[None]) -> None:
        nonlocal left
        if not done.cancelled():
            done.exception()  # One whose connection failed has left, too.
        if there:
            left = True
            task.cancel()

    leaving = asyncio.ensure_future(_left(receive))
    leaving.add_done_callback(leave)
    try:
        return await work
    except asyncio.CancelledError:
        if left and task.uncancel() == 0:
            raise ClientLeft from None
        raise
    finally:
        there = False
        leaving.cancel()


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


_HANDED_OVER = "moot.stream"
"""Where a scope has the stream that its route has answered with."""


class EventStream(Response):
    """What a route answers with; told by `Streams`."""

    media_type = "text/event-stream"

    def __init__(self, chunks: AsyncGenerator[bytes]) -> None:
        # No proxy may gather or keep what is said as it is said.
        super().__init__(headers={"cache-control": "no-store", "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._chunks = chunks

    async def __call__(self, scope: Scope, _receive: Receive, _send: Send) -> None:
        scope[_HANDED_OVER] = self

    async def tell(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        async with aclosing(self._chunks) as chunks:
            async for chunk in chunks:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
                del chunk  # It would be kept until the next one comes, which may be long.
        await send({"type": "http.response.body"})


class Streams:
    """Tells event streams from outside of the framework: what that holds for a request, which is a third of
    a listener's memory, is gone by the time a stream begins. Plain ASGI."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # The framework keeps things there. Those further out want to know which route it was.
        inner = dict(scope)
        try:
            await self._app(inner, receive, send)
        finally:
            scope.update({name: inner[name] for name in ("route", "path_params") if name in inner})
        stream: EventStream | None = inner.get(_HANDED_OVER)
        del inner
        if stream is not None:
            # Who has left need not be answered.
            with contextlib.suppress(ClientLeft):
                await while_there(receive, stream.tell(send))
