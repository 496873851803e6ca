"""One process at a time works on a change or an item, and another that wants to learns who does.

Knows an OS lock, which ends with the process that holds it however that ends, and a text beside it that says
who that is. The lock alone decides; the text is only for people, and may be missing or stale. A second lock
is inherited by the programs that the holder starts (`processes.inheriting`): after the holder was killed, it
says whether any of them is still there, and until they have ended nobody gets the claim. Refuses to know what
is being done.

A second claim is refused within one process too, also within one thread: two tasks of a server are two.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import json
import os
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from moot.errors import Busy, MootError, NotFound, StillEnding
from moot.files import atomic, timestamps
from moot.files.paths import Root
from moot.processes import inheriting

_LOCK = ".claim.moot-lock"
_CHILDREN = ".claim.children.moot-lock"
_HOLDER = ".claim.json"
_LARGEST_HOLDER = 4096
# Long enough for a holder that is just leaving to be gone, or that has just come to have written its name.
_PATIENCE_SECONDS = 0.25
# Programs get a few seconds to end before they are made to; this is for a machine that is very busy.
_LONGEST_END_SECONDS = 30.0
_STILL_ENDING = "The agent or test of the earlier run is still ending; waiting for it"


@contextmanager
def claimed(folder: Path, doing: str, kind: str = "change") -> Iterator[None]:
    """Holds the change, or raises Busy, or StillEnding where a holder was killed and programs that it had
    started have not ended. `doing` completes "it is being …": challenged, implemented."""
    try:
        # By descriptor: the folder may be moved meanwhile, and what was put into it is removed all the same.
        inside = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        raise NotFound(kind, folder.name) from None
    try:
        lock = FileLock(folder / _LOCK, is_singleton=False, thread_local=False, fallback_to_soft=False)
        try:
            lock.acquire(timeout=_PATIENCE_SECONDS, poll_interval=0.01)
        except Timeout:
            raise _busy(folder, kind) from None
        try:
            with _children(inside, folder.name, kind):
                _say_who(folder, doing)
                yield
        finally:
            for name in (_HOLDER, _LOCK):
                with suppress(OSError):
                    os.unlink(name, dir_fd=inside)
            lock.release()
    finally:
        os.close(inside)


@asynccontextmanager
async def claimed_in_time(
    folder: Path, doing: str, report: Callable[[str], None], kind: str = "change"
) -> AsyncIterator[None]:
    """As `claimed`; what a killed holder has left is waited for, and that is reported."""
    with ExitStack() as stack:
        await enter_in_time(stack, lambda: claimed(folder, doing, kind), report)
        yield


async def enter_in_time(
    stack: ExitStack, claim: Callable[[], AbstractContextManager[None]], report: Callable[[str], None]
) -> None:
    """Enters the claim as soon as what a killed holder has left is gone. Raises StillEnding if that takes too
    long."""
    clock = asyncio.get_running_loop().time
    latest = clock() + _LONGEST_END_SECONDS
    reported = False
    while True:
        try:
            return stack.enter_context(claim())
        except StillEnding:
            if clock() > latest:
                raise
        if not reported:
            report(_STILL_ENDING)
            reported = True
        await asyncio.sleep(0.05)


@contextmanager
def _children(inside: int, name: str, kind: str) -> Iterator[None]:
    """The lock that programs inherit. It is made and removed by whoever holds the other one, so that two
    never have a file of this name each."""
    with ExitStack() as stack:
        handle = _lock(inside, stack)
        if handle is None:
            raise StillEnding(name, kind=kind)
        try:
            with inheriting(handle):
                yield
        finally:
            # Given up, not released: who inherited it and has not ended still has it.
            stack.close()
            with suppress(OSError):
                if _lock(inside, stack) is not None:
                    os.unlink(_CHILDREN, dir_fd=inside)


def _lock(inside: int, stack: ExitStack) -> int | None:
    """None: somebody else has it."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        handle = os.open(_CHILDREN, flags, 0o600, dir_fd=inside)
    except OSError as problem:
        if problem.errno != errno.ELOOP:
            raise
        # A link that lies in wait.
        os.unlink(_CHILDREN, dir_fd=inside)
        handle = os.open(_CHILDREN, flags, 0o600, dir_fd=inside)
    stack.callback(os.close, handle)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return None
    return handle


def _say_who(folder: Path, doing: str) -> None:
    holder = {"doing": doing, "pid": os.getpid(), "host": socket.gethostname(), "since": timestamps.now()}
    # A name that a killed holder has left behind, or a link that lies in wait, goes first.
    (folder / _HOLDER).unlink(missing_ok=True)
    atomic.write_atomic(folder / _HOLDER, json.dumps(holder) + "\n")


def _busy(folder: Path, kind: str) -> Busy:
    try:
        holder = json.loads(Root(folder).read_text(_HOLDER, _LARGEST_HOLDER))
        who = int(holder["pid"]), str(holder["host"]), str(holder["since"])
        return Busy(folder.name, str(holder["doing"]), *who, kind=kind)
    except (MootError, OSError, ValueError, TypeError, KeyError):
        return Busy(folder.name, kind=kind)
