"""How often replies are read when there are many of them.

With a few streams each token is read as it comes. With hundreds, waking up for every one of them is most of
the work, and nobody sees the difference to reading them all together, some twenty-five times a second.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

READS_PER_SECOND = 8000
SHORTEST_SECONDS = 0.016
"""A frame of a screen: waiting for less would save nothing."""
LONGEST_SECONDS = 0.04


class Pace:
    """Whoever reads a stream says so, and asks before reading on."""

    def __init__(self) -> None:
        self._streams = 0
        self._waiting: list[asyncio.Future[None]] = []

    @contextmanager
    def stream(self) -> Iterator[None]:
        self._streams += 1
        try:
            yield
        finally:
            self._streams -= 1

    @property
    def seconds(self) -> float:
        """Between two readings, as many streams as there are now; nothing for few."""
        wanted = self._streams / READS_PER_SECOND
        return 0.0 if wanted < SHORTEST_SECONDS else min(wanted, LONGEST_SECONDS)

    async def beat(self) -> None:
        """Returns when it is time to read on, to all who wait at once."""
        seconds = self.seconds
        if not seconds:
            return
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_later(seconds, self._let_go)
        turn = loop.create_future()
        self._waiting.append(turn)
        await turn

    def _let_go(self) -> None:
        waiting, self._waiting = self._waiting, []
        for turn in waiting:
            if not turn.done():
                turn.set_result(None)
