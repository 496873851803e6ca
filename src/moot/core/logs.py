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
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from moot.core.runner import LogReplaced
from moot.errors import FileDamaged, SessionMoved
from moot.files import atomic
from moot.files.paths import unlinked
from moot.store.sessions import Store

E = TypeVar("E")


class FileLog(Generic[E]):
    """`encode` gives JSON without line breaks; `decode` raises ValueError or DecodeError at what it does not
    know.

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

    async def is_begun(self) -> bool:
        return await asyncio.to_thread(self._path.exists)

    async def read(self) -> list[E]:
        return await asyncio.to_thread(self._read)

    async def news(self) -> list[E]:
        """What others have added. Raises LogReplaced where they have changed what was there."""
        return await asyncio.to_thread(self._news)

    async def append(self, event: E) -> None:
        await asyncio.to_thread(self._append, self._encode(event).decode("utf-8"))

    def _read(self) -> list[E]:
        text = self._text()
        events = self._events(text)
        self._known = text
        return events

    def _news(self) -> list[E]:
        text, known = self._text(), self._known
        if text == known:
            return []
        if not text.startswith(known):
            raise LogReplaced(self._read())
        events = self._events(text[len(known) :], known.count("\n"))
        self._known = text
        return events

    def _events(self, text: str, lines_before: int = 0) -> list[E]:
        # Not splitlines: a text in JSON may contain what that takes for line breaks.
        lines = enumerate(text.split("\n"), start=lines_before + 1)
        return [self._event(line, number) for number, line in lines if line.strip()]

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
        except (ValueError, RecursionError, msgspec.DecodeError) as error:
            # What the decoder says of it is in words for programmers.
            problem = "it is no whole event that this version knows"
            raise FileDamaged(str(self._path), problem, number) from error


def _is_half(line: bytes) -> bool:
    """Whether this is the beginning of an event, and not all of one: of another version's, all is there."""
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return line.startswith(b"{")
    return False


class AppendableFile(Protocol[E]):
    """A log in a file: it raises SessionMoved at an `append` where the file is not as it was left here."""

    async def read(self) -> list[E]: ...
    async def news(self) -> list[E]: ...
    def append(self, event: E) -> Coroutine[Any, Any, None]: ...


class WorkspaceLog(Generic[E]):
    """A log in the workspace's files, of a session that the store knows by its id alone. The file is what
    counts. For every event the store keeps a number without words, so that other processes hear that there
    is one more, and knows who drives the session.

    Somebody who changes the file without moot, or with another database, is noticed at the next look."""

    def __init__(self, file: AppendableFile[E], store: Store, session_id: str) -> None:
        self._file = file
        self._store = store
        self._session_id = session_id
        self.seq = 0
        self.driving = False

    async def read(self) -> list[E]:
        self.seq = await self._store.newest_event(self._session_id)
        return await self._file.read()

    async def news(self) -> list[E]:
        self.seq = await self._store.newest_event(self._session_id)
        return await self._file.news()

    async def append(self, event: E) -> None:
        await self._file.append(event)
        self.seq = await self._store.count_event(self._session_id)

    async def keep(self, event: E) -> None:
        """Whoever has lost the lease has been followed by somebody who writes, or will: what one of them
        writes second finds another file than it left."""
        if self.driving and not await self._store.is_driven_here(self._session_id):
            raise SessionMoved(self._session_id)
        await self.append(event)
