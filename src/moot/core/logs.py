"""A session's events as the lines of a file, so that a session travels with the files that it is about.

Knows lines, and that a file which is not as this process left it belongs to whoever changed it. Refuses to
know what an event is: how one is written and read is given. A line that cannot be read, because half of it
is missing, two checkouts were merged, or a newer version wrote it, is damage that is named: without it, what
follows would mean something else. Only where nothing follows, at the open end of a file that a copy or a
power cut has shortened, is half an event no event: it is left out and makes way for the next.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from moot.errors import FileDamaged, SessionMoved
from moot.files import atomic
from moot.files.paths import unlinked

E = TypeVar("E")


class FileLog(Generic[E]):
    """`encode` gives JSON without line breaks; `decode` raises ValueError at what it does not know.

    `read` comes first. An `append` that finds anything else than was read or appended here raises
    SessionMoved. The whole text is compared, and not the number of lines: a checkout of another branch can
    have as many.
    """

    def __init__(self, path: Path, encode: Callable[[E], bytes], decode: Callable[[bytes], E]) -> None:
        self._real = path
        self._encode = encode
        self._decode = decode
        self._known = ""
        self.cut_off = False
        """Whether the file, when last looked at, ended in the middle of an event."""

    @property
    def _path(self) -> Path:
        return unlinked(self._real)

    async def read(self) -> list[E]:
        return await asyncio.to_thread(self._read)

    async def append(self, event: E) -> None:
        await asyncio.to_thread(self._append, self._encode(event).decode("utf-8"))

    def _read(self) -> list[E]:
        text = self._text()
        # Not splitlines: a text in JSON may contain what that takes for line breaks.
        lines = enumerate(text.split("\n"), start=1)
        events = [self._event(line, number) for number, line in lines if line.strip()]
        self._known = text
        return events

    def _append(self, line: str) -> None:
        # Before the lock, which would make a folder that was moved away anew.
        if self._known and not self._path.exists():
            raise SessionMoved(str(self._path))
        with atomic.locked(self._path):
            if self._text() != self._known:
                raise SessionMoved(str(self._path))
            if self.cut_off:
                atomic.write_atomic(self._path, self._known)
            atomic.append_line(self._path, line)
            self._known = self._text()

    def _text(self) -> str:
        """What the file says, without half an event at its open end."""
        data = atomic.read_bytes(self._path) or b""
        whole = data[: data.rfind(b"\n") + 1]
        self.cut_off = _is_half(data[len(whole) :])
        return atomic.decode(whole if self.cut_off else data, str(self._path))

    def _event(self, line: str, number: int) -> E:
        try:
            return self._decode(line.encode("utf-8"))
        except (ValueError, RecursionError) as error:
            problem = f"it is no whole event that this version knows: {error}"
            raise FileDamaged(str(self._path), problem, number) from None


def _is_half(line: bytes) -> bool:
    """Whether this is the beginning of an event, and not all of one: of another version's, all is there."""
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return line.startswith(b"{")
    return False
