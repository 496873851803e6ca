"""One program run to its end: text in, JSON lines out, and nothing of it left behind.

Knows processes, pipes and signals. Knows nothing of what the lines mean. The program leads a process group
of its own, and however the run ends (well, badly, too late, cancelled, or because moot was killed), that
group is gone afterwards: `processes.lifeline` is between the two. What left the group by itself ends with a
run that is broken off, where the system lists processes, and is not followed after one that ended by
itself.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import IO, Any

from moot.agents.protocol import Event, Order
from moot.errors import ReviewerCrashed, ReviewerMissing, ReviewerTimedOut
from moot.processes import inherited, tied_command

_CHUNK = 2**16
_LONGEST_LINE = 8 * 2**20
"""A file that was read comes in one line. As JSON it takes many times its size in memory."""
_TAIL = 4000
_POLITE = 3.0
"""Seconds between asking a group to end and making it."""

_End = IO[bytes]


@dataclass(frozen=True, slots=True)
class Ended:
    """`last_words` is the end of what the program wrote that was no JSON: mostly its standard error."""

    code: int
    last_words: str
    duration_ms: int

    @property
    def last_line(self) -> str:
        return self.last_words.rpartition("\n")[2]


async def run(
    name: str,
    command: Sequence[str],
    order: Order,
    env: Mapping[str, str],
    on_event: Callable[[Event], None] = lambda _: None,
) -> Ended:
    """The order's text is all that the program can read; `on_event` gets each JSON object as it comes, and
    what it raises ends the run."""
    started = time.monotonic()
    tail = _Tail()
    try:
        async with asyncio.timeout(order.timeout):
            code = await _run(name, command, order, env, on_event, tail)
    except TimeoutError as late:
        raise ReviewerTimedOut(name, f"it was stopped after {order.timeout:g} s") from late
    return Ended(code, tail.text(), int((time.monotonic() - started) * 1000))


async def _run(
    name: str,
    command: Sequence[str],
    order: Order,
    env: Mapping[str, str],
    on_event: Callable[[Event], None],
    tail: _Tail,
) -> int:
    def take(line: bytes) -> None:
        event = _object(line)
        if event is None:
            tail.add(line + b"\n")
        else:
            on_event(event)

    # Pipes of our own: with asyncio's, waiting for the program is waiting for whoever else holds them, too.
    line, their_line = socket.socketpair()
    async with _pipe() as (out, out_end), _pipe() as (err, err_end):
        try:
            process = await _start(name, command, order, env, out_end, err_end, their_line)
        except BaseException:
            line.close()
            raise
        ended = asyncio.ensure_future(process.wait())
        lines = asyncio.ensure_future(_read_lines(name, out, take))
        words = asyncio.ensure_future(_read_words(err, tail))
        try:
            await asyncio.wait({ended, lines}, return_when=asyncio.FIRST_COMPLETED)
            if lines.done():
                lines.result()
            await asyncio.wait({ended})
        finally:
            try:
                problem = line.recv(1000) if ended.done() else b""
                # The lifeline, if it is still there, takes this for the order to end everything.
                line.close()
                await _end_group(process.pid, ended, {ended, lines, words})
                await asyncio.wait({ended, lines, words}, timeout=_POLITE)
            finally:
                lines.cancel()
                words.cancel()
        if problem:
            raise ReviewerMissing(name, f"it cannot be started: {problem.decode(errors='replace')}")
        if lines.done():
            lines.result()
        return ended.result()


async def _start(
    name: str,
    command: Sequence[str],
    order: Order,
    env: Mapping[str, str],
    out_end: _End,
    err_end: _End,
    line: socket.socket,
) -> asyncio.subprocess.Process:
    # The text is a file and not a pipe, so that nobody has to feed it and its end is there from the start.
    with tempfile.TemporaryFile() as stdin, out_end, err_end, line:
        stdin.write(order.text.encode())
        stdin.seek(0)
        handles = (line.fileno(), *inherited())
        try:
            return await asyncio.create_subprocess_exec(
                *tied_command(handles, _POLITE, command),
                stdin=stdin,
                stdout=out_end,
                stderr=err_end,
                cwd=order.root,
                env=env,
                pass_fds=handles,
                start_new_session=True,
            )
        except OSError as problem:
            raise ReviewerMissing(name, f"it cannot be started: {problem.strerror}") from problem


@asynccontextmanager
async def _pipe() -> AsyncIterator[tuple[asyncio.StreamReader, _End]]:
    read_end, write_end = (os.fdopen(end, mode, 0) for end, mode in zip(os.pipe(), ("rb", "wb"), strict=True))
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), read_end
    )
    try:
        yield reader, write_end
    finally:
        write_end.close()
        transport.close()


async def _read_lines(name: str, reader: asyncio.StreamReader, take: Callable[[bytes], None]) -> None:
    line = bytearray()
    while chunk := await reader.read(_CHUNK):
        *ends, begun = chunk.split(b"\n")
        for end in ends:
            take(bytes(line + end))
            line.clear()
        line += begun
        if len(line) > _LONGEST_LINE:
            raise ReviewerCrashed(name, f"it wrote a line of more than {_LONGEST_LINE:,} bytes")
    take(bytes(line))


async def _read_words(reader: asyncio.StreamReader, tail: _Tail) -> None:
    while chunk := await reader.read(_CHUNK):
        tail.add(chunk)


def _object(line: bytes) -> Event | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


async def _end_group(group: int, ended: asyncio.Future[int], signs_of_life: set[asyncio.Future[Any]]) -> None:
    """Politely, then not. That the program has ended and nobody holds its pipes is taken for the end of all;
    asking the system would count the dead that nobody has buried yet, which in a container may stay."""
    # While the lifeline is there, it does this, and first: some programs take a second signal for an order.
    if ended.done() and not _send_signal(group, signal.SIGTERM):
        return
    try:
        await asyncio.wait(signs_of_life, timeout=_POLITE + 1)
    finally:
        _send_signal(group, signal.SIGKILL)
        # Also where somebody has lost patience: a loop that is closed before would never learn of the end.
        await asyncio.wait({ended}, timeout=_POLITE)


def _send_signal(group: int, number: int) -> bool:
    """Whether there was anybody to get the signal. Zombies do; some systems refuse a group of only these."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


class _Tail:
    def __init__(self) -> None:
        self._kept = b""
        self._before = 0

    def add(self, words: bytes) -> None:
        every = self._kept + words
        self._kept = every[-_TAIL:]
        self._before += len(every) - len(self._kept)

    def text(self) -> str:
        kept = self._kept.decode(errors="replace").strip()
        return f"[the {self._before:,} bytes before this are left out]\n{kept}" if self._before else kept
