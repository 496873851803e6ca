"""How often replies are read.

The first words after a silence are read as they come. Where more keep coming, all streams are read together,
some sixteen times a second: waking up for every token of every stream would be most of the work, and
nobody reads faster than that. Of several, what comes between two readings waits in the kernel. Of the last
few it does not, so that the end, for which somebody waits, is seen when it comes.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

READ_SECONDS = 0.06
"""Between two readings of a stream. A stream of which nothing came in that time is read as it comes again, so
that less would not read most models' words together."""

SEVERAL = 4
"""From so many streams on, what comes between two readings waits in the kernel: to wake up for it would be a
third of the work. The slowest advisor of a board, and its brief, are fewer."""
MANY = 128
"""From so many streams on, one of which nothing came is read again with the others."""
TOGETHER = 64
"""So many streams are read in one go: while more were, nobody would be told anything."""


class Body(Protocol):
    """What has arrived of a reply."""

    def read_nowait(self) -> bytes: ...

    def at_eof(self) -> bool: ...

    def on_eof(self, callback: Callable[[], None]) -> None: ...


class Stream:
    """One reply, and who takes what is read of it."""

    __slots__ = ("_body", "_connection", "_pace", "_paused", "_read", "_take")

    def __init__(
        self, pace: Pace, body: Body, connection: asyncio.Transport | None, take: Callable[[bytes], None]
    ) -> None:
        """Without a connection all of the reply is here."""
        self._pace = pace
        self._body = body
        self._connection = connection
        self._take = take
        self._read: asyncio.Future[None] | None = None
        self._paused = False
        if connection is not None:
            # The end is not to wait for the next beat: somebody may be waiting for nothing else.
            body.on_eof(self._ends)

    async def attended(self) -> None:
        """Has it read for as long as something comes. Raises what `take` raises, or what broke the stream."""
        if self._connection is None or self._body.at_eof():
            return
        self._read = asyncio.get_running_loop().create_future()
        self._pace.join(self)
        try:
            await self._read
        finally:
            self._pace.leave(self)
            self.let_come()

    async def take_the_rest(self) -> None:
        """Takes what has come by now, for one who was cancelled: it was sent, and so it has to be paid."""
        self.let_come()
        # One turn of the loop finds what waits in the kernel, the next has it here.
        for _ in range(2):
            await asyncio.sleep(0)
        with contextlib.suppress(Exception):
            self._take(self._body.read_nowait())

    def let_come(self) -> None:
        if self._paused and self._connection is not None:
            self._paused = False
            if not self._connection.is_closing():
                self._connection.resume_reading()

    def read(self, several: bool = False, many: bool = False) -> None:
        """Takes what has come. Of `several`, what comes from now on waits in the kernel. A stream from which
        nothing came is left to who reads it, or, of `many`, read again with the others."""
        if self._read is None or self._read.done():
            return
        try:
            chunk = self._body.read_nowait()
            if chunk:
                self._take(chunk)
        except Exception as error:
            self._read.set_exception(error)
            return
        if self._body.at_eof() or not (chunk or many):
            self._read.set_result(None)
        elif several and self._connection is not None:
            self._paused = True
            self._connection.pause_reading()

    def _ends(self) -> None:
        if self._read is not None:
            asyncio.get_running_loop().call_soon(self.read)


class Pace:
    """Beats for all streams of a provider."""

    def __init__(self) -> None:
        self._streams = 0
        self._attended: dict[Stream, None] = {}
        self._to_read: list[list[Stream]] = []
        """The parts of this round that are still to come."""
        self._parts = 1
        self._beating = False
        self._next_beat = 0.0

    @contextmanager
    def stream(
        self, body: Body, connection: asyncio.Transport | None, take: Callable[[bytes], None]
    ) -> Iterator[Stream]:
        self._streams += 1
        try:
            yield Stream(self, body, connection, take)
        finally:
            self._streams -= 1

    def join(self, stream: Stream) -> None:
        self._attended[stream] = None
        if not self._beating:
            self._beating = True
            loop = asyncio.get_running_loop()
            self._next_beat = loop.time() + READ_SECONDS
            loop.call_at(self._next_beat, self._beat)

    def leave(self, stream: Stream) -> None:
        del self._attended[stream]
        if len(self._attended) < SEVERAL:
            for one in self._attended:
                one.let_come()

    def _beat(self) -> None:
        if not self._attended:
            self._beating = False
            self._to_read.clear()
            return
        loop = asyncio.get_running_loop()
        if not self._to_read:
            # In the order in which they began, so that those of a board are read, and told, together.
            self._to_read = _parts(list(self._attended))
            self._parts = len(self._to_read)
        some = self._to_read.pop()
        if len(self._attended) < SEVERAL:
            self._read(some)
        else:
            for stream in some:
                stream.let_come()
            # Twice around the loop: in between, it takes in what has come.
            loop.call_soon(loop.call_soon, self._read, some)
        self._next_beat = max(self._next_beat + READ_SECONDS / self._parts, loop.time())
        loop.call_at(self._next_beat, self._beat)

    def _read(self, some: list[Stream]) -> None:
        several, many = len(self._attended) >= SEVERAL, self._streams >= MANY
        for stream in some:
            stream.read(several, many)


def _parts(streams: list[Stream]) -> list[list[Stream]]:
    """As few as can be, and about as many in each."""
    count = -(-len(streams) // TOGETHER)
    size = -(-len(streams) // count)
    return [streams[start : start + size] for start in range(0, len(streams), size)]
