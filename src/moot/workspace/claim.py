"""One process at a time works on a change or an item, and another that wants to is told who does.

Knows an OS lock, which ends with the process that holds it however that ends, and a text beside it that says
who that is. The lock alone decides; the text is only for people, and may be missing or stale. Refuses to
know what is being done.

A second claim is refused within one process too, also within one thread: two tasks of a server are two.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from moot.errors import Busy, MootError, NotFound
from moot.workspace import change_state, writing
from moot.workspace.paths import Root

_LOCK = ".claim.moot-lock"
_HOLDER = ".claim.json"
_LARGEST_HOLDER = 4096
# Long enough for a holder that is just leaving to be gone, or that has just come to have written its name.
_PATIENCE_SECONDS = 0.25


@contextmanager
def claimed(folder: Path, doing: str, kind: str = "change") -> Iterator[None]:
    """Holds the change, or raises Busy. `doing` completes "it is being …": challenged, implemented."""
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
            _say_who(folder, doing)
            yield
        finally:
            for name in (_HOLDER, _LOCK):
                with suppress(OSError):
                    os.unlink(name, dir_fd=inside)
            lock.release()
    finally:
        os.close(inside)


def _say_who(folder: Path, doing: str) -> None:
    holder = {"doing": doing, "pid": os.getpid(), "host": socket.gethostname(), "since": change_state.now()}
    # A name that a killed holder has left behind, or a link that lies in wait, goes first.
    (folder / _HOLDER).unlink(missing_ok=True)
    writing.write_atomic(folder / _HOLDER, json.dumps(holder) + "\n")


def _busy(folder: Path, kind: str) -> Busy:
    try:
        holder = json.loads(Root(folder).read_text(_HOLDER, _LARGEST_HOLDER))
        who = int(holder["pid"]), str(holder["host"]), str(holder["since"])
        return Busy(folder.name, str(holder["doing"]), *who, kind=kind)
    except (MootError, OSError, ValueError, TypeError, KeyError):
        return Busy(folder.name, kind=kind)
