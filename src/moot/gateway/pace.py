"""How often replies are read when there are many of them.

With a few streams each token is read as it comes. With hundreds, waking up for every one of them is most of
the work, and nobody sees the difference to reading them all together, some twenty or thirty times a second.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

READS_PER_SECOND = 8000
SHORTEST_SECONDS = 0.016
"""A frame of a screen: waiting for less would save nothing."""
LONGEST_SECONDS = 0.024
"""Reading itself takes as long again with a thousand streams."""


class Body(Protocol):
    """What has arrived of a reply."""

    def read_nowait(self, n: int = -1) -> bytes: ...

    def at_eof(self) -> bool: ...


class _Attended:
    """A stream that is read with all the others. `ended` is set at its end, or when there are few again."""

    __slots__ = ("body", "connection", "ended", "take")

    def __init__(self, body: Body, connection: asyncio.Transport, take: Callable[[bytes], None]) -> None:
        self.body = body
        self.connection = connection
        self.take = take
        self.ended = asyncio.get_running_loop().create_future()

    def read(self) -> None:
        """Between two beats what comes waits in the kernel, which costs this process nothing."""
        try:
            chunk = self.body.read_nowait()
            if chunk:
                self.take(chunk)
        except Exception as error:
            self.end(error)
            return
        if self.body.at_eof():
            self.end()
        else:
            self.connection.pause_reading()

    def end(self, error: Exception | None = None) -> None:
        if self.ended.done():
            return
        if error is None:
            self.ended.set_result(None)
        else:
            self.ended.set_exception(error)

    def go_on(self) -> None:
        if not self.connection.is_closing():
            self.connection.resume_reading()


class Pace:
    """Whoever reads a stream says so, and with many others has it read."""

    def __init__(self) -> None:
        self._streams = 0
        self._attended: dict[_Attended, None] = {}
        self._beating = False

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

    async def attend(
        self, body: Body, connection: asyncio.Transport | None, take: Callable[[bytes], None]
    ) -> None:
        """Where there are many: hands on what comes, until the stream ends or there are few. Raises what
        `take` raises, or what broke the stream."""
        if not self.seconds or connection is None or body.at_eof():
            return
        one = _Attended(body, connection, take)
        self._attended[one] = None
        if not self._beating:
            self._beating = True
            self._wait()
        try:
            await one.ended
        finally:
            del self._attended[one]
            one.go_on()

    def _wait(self) -> None:
        asyncio.get_running_loop().call_later(self.seconds, self._beat)

    def _beat(self) -> None:
        for one in self._attended:
            one.go_on()
        # Twice around the loop: in between, it takes in what has come.
        loop = asyncio.get_running_loop()
        loop.call_soon(loop.call_soon, self._read_all)

    def _read_all(self) -> None:
        for one in self._attended:
            if not one.ended.done():
                one.read()
        if self._attended and self.seconds:
            self._wait()
            return
        self._beating = False
        for one in self._attended:
            one.end()
