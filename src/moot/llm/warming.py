"""Of several requests that begin alike, lets one go ahead until its beginning has been read.

A provider's cache has a beginning only from the first word of the reply on: eight requests sent at once would
each pay for reading and keeping the same evidence. The others wait for that word, and for no longer than
PATIENCE. Pure but for the clock; refuses to know a wire format.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager

from moot.llm.metering import tokens_of
from moot.llm.protocol import Call

WORTH_WAITING = 4096
"""Tokens: for fewer, the wait costs more than it saves."""
PATIENCE = 15.0
"""Seconds. Reading a full window takes longer, but by then something else is wrong."""
KEPT_SECONDS = 240.0
"""Providers keep what they have read for five minutes from when it was last used."""


def beginning(call: Call) -> Hashable | None:
    """What other requests have to begin with, to find it in the cache: providers put tools and the shape of a
    typed reply before everything else. None where it is too short to wait for."""
    if not call.shared or tokens_of(*call.shared) < WORTH_WAITING:
        return None
    shape = call.schema and call.schema.name
    return (call.model, shape, tuple(tool.name for tool in call.tools), hash(call.shared))


class Warming:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._ahead: dict[Hashable, asyncio.Future[None]] = {}
        self._kept_until: dict[Hashable, float] = {}

    @asynccontextmanager
    async def turn(self, key: Hashable) -> AsyncIterator[Callable[[], None]]:
        """Entered when the request may be sent. What it yields is called at the first word of the reply."""
        waited_until = self._clock() + PATIENCE
        while self._is_unread(key) and (ahead := self._ahead.get(key)) is not None:
            left = waited_until - self._clock()
            if left <= 0:
                break
            # Of one that fails, another takes the place.
            await asyncio.wait([ahead], timeout=left)
        going_ahead: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self._is_unread(key):
            self._ahead.setdefault(key, going_ahead)

        def read() -> None:
            self._kept_until[key] = self._clock() + KEPT_SECONDS
            if not going_ahead.done():
                going_ahead.set_result(None)

        try:
            yield read
            read()
        finally:
            if self._ahead.get(key) is going_ahead:
                del self._ahead[key]
            if not going_ahead.done():
                going_ahead.set_result(None)
            self._forget_old()

    def _is_unread(self, key: Hashable) -> bool:
        return self._kept_until.get(key, 0.0) <= self._clock()

    def _forget_old(self) -> None:
        now = self._clock()
        for key in [one for one, until in self._kept_until.items() if until <= now]:
            del self._kept_until[key]
