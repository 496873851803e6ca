"""What has been told of a session, for those who listen in this process.

The newest frames are in memory. A listener who falls behind them reads on from the store, where all of them
are: however slow one is, memory does not grow, and nobody else waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

from moot.store.sessions import Frame, Store

KEEP_FRAMES = 1000
"""Some seconds of a board."""

ROWS_AT_ONCE = 100
BATCH_BYTES = 64 * 1024
"""About as much is handed to a listener at once: it waits in memory until they have read it, for each of
them."""


class FrameBuffer:
    def __init__(self, newest: int = 0) -> None:
        self.newest = newest
        """The number of the newest frame that is written, as far as is known here."""
        self._newest_then = 0
        self._kept: list[Frame] = []
        self._waiting: list[asyncio.Future[None]] = []

    def skip_to(self, seq: int) -> None:
        """Frames up to this one are in the store."""
        if seq > self.newest:
            self._kept.clear()
            self.newest = seq
        self.look_again()

    def tell(self, frames: Sequence[Frame]) -> None:
        """Frames that have been written, in order and without a gap, for everybody who listens."""
        for frame in frames:
            if frame.seq > self.newest:
                self._kept.append(frame)
                self.newest = frame.seq
        if len(self._kept) > 2 * KEEP_FRAMES:
            del self._kept[:-KEEP_FRAMES]
        self.look_again()

    def look_again(self) -> None:
        """Something has changed, or whether there is more to come."""
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            if not one.done():
                one.set_result(None)

    def drop(self) -> None:
        """Nobody is in a hurry: who wants to hear them again finds them in the store."""
        self._kept.clear()

    def drop_if_still(self) -> None:
        """The same, if there have been no new ones since this was last asked."""
        if self._kept and self.newest == self._newest_then:
            self.drop()
        self._newest_then = self.newest

    async def after(
        self, seq: int, store: Store, session: str, is_quiet: Callable[[], bool]
    ) -> AsyncIterator[Sequence[Frame]]:
        """Those with higher numbers, in batches, until nothing more is to come."""
        while True:
            await self.until(lambda: self.newest > seq or is_quiet())  # noqa: B023
            if self.newest <= seq:
                return
            newest, batch = self.newest, self._kept_after(seq)
            if not batch:
                batch = await store.frames(session, seq, rows=ROWS_AT_ONCE)
            if not batch:
                # Only numbers are left of them: they have been cleared away. Not so those written meanwhile.
                seq = newest
                continue
            batch = _portion(batch)
            seq = batch[-1].seq
            yield batch
            del batch  # It would be kept until the next one comes, which may be long.

    async def until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            changed = asyncio.get_running_loop().create_future()
            self._waiting.append(changed)
            try:
                await changed
            finally:
                # Whoever leaves in the moment of a change has been taken off the list already.
                if changed in self._waiting:
                    self._waiting.remove(changed)

    def _kept_after(self, seq: int) -> Sequence[Frame]:
        if not self._kept or self._kept[0].seq > seq + 1:
            return ()
        return self._kept[seq + 1 - self._kept[0].seq :]


def _portion(frames: Sequence[Frame]) -> Sequence[Frame]:
    size = 0
    for number, frame in enumerate(frames, 1):
        size += len(frame.body)
        if size >= BATCH_BYTES:
            return frames[:number]
    return frames
