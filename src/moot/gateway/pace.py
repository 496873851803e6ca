"""How often replies are read when there are many of them.

With a few streams each token is read as it comes. With hundreds, waking up for every one of them is most of
the work, and nobody sees the difference to reading them all together, some thirty times a second.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

READS_PER_SECOND = 8000
SHORTEST_SECONDS = 0.016
"""A frame of a screen: waiting for less would save nothing."""
LONGEST_SECONDS = 0.032


class Pace:
    """Whoever reads a stream says so, and lets it wait for the next beat before reading on."""

    def __init__(self) -> None:
        self._streams = 0
        self._held: list[asyncio.Transport] = []

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

    def hold(self, connection: asyncio.Transport | None) -> None:
        """What comes over it waits outside this process until it is time to read on, from all at once."""
        seconds = self.seconds
        if not seconds or connection is None or not connection.is_reading():
            return
        if not self._held:
            asyncio.get_running_loop().call_later(seconds, self._let_go)
        connection.pause_reading()
        self._held.append(connection)

    def _let_go(self) -> None:
        held, self._held = self._held, []
        for connection in held:
            if not connection.is_closing():
                connection.resume_reading()
