"""Writes that lose nothing: whole or not at all, one at a time, and on the disk before they count as done.

Knows temporary files, locks and fsync. Refuses to know what is in a file, and which paths are allowed:
a path that somebody else has named goes through `paths.Root.resolve` first.

Beside a file `notes.md` that is being written there are, for a moment, `.notes.md.moot-lock` and
`.notes.md.moot-new`. A killed process leaves them behind; the next write of `notes.md` removes them.

The lock is beside the file because that is the one place that all processes agree on. A per-user runtime
folder depends on the environment, so that a service, a container and a login shell would each lock in a
different one and overwrite each other. So as not to litter a repository it exists only while held. Removing
a lock file is safe here: only its holder removes it, as the last thing it does, and a process that was
waiting for the removed one notices (filelock looks at the link count) and starts over.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from moot.errors import FileDamaged, InvalidInput, LockTimeout, UnsafePath

LOCK_SECONDS = 10.0
LARGEST_TEXT = 20_000_000
_POLL_SECONDS = 0.01
_LONGEST_STEM = 200


class Disk:
    """Every call to the system that a write makes, so that a test can make any one of them fail."""

    def unlink(self, path: Path) -> None:
        path.unlink(missing_ok=True)

    def open(self, path: Path, mode: int) -> int:
        # O_EXCL never writes through a link that lies in wait under the temporary name.
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)

    def chmod(self, handle: int, mode: int) -> None:
        os.fchmod(handle, mode)

    def write(self, handle: int, data: memoryview) -> int:
        return os.write(handle, data)

    def fsync(self, handle: int) -> None:
        os.fsync(handle)

    def close(self, handle: int) -> None:
        os.close(handle)

    def rename(self, source: Path, target: Path) -> None:
        source.rename(target)

    def fsync_dir(self, folder: Path) -> None:
        handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        except OSError as error:
            # A file system that cannot sync a folder says so in this way; nothing better can be done there.
            if error.errno not in {errno.EINVAL, errno.ENOTSUP}:
                raise
        finally:
            os.close(handle)


disk = Disk()


def write_atomic(path: Path, data: bytes | str, *, timeout: float = LOCK_SECONDS) -> None:
    """Replaces the file, or creates it and its folders. Whoever reads sees the old text or the new one."""
    encoded = _encode(data, path) if isinstance(data, str) else data
    with locked(path, timeout):
        _replace(_real(path), encoded)


def update(path: Path, change: Callable[[str | None], str], *, timeout: float = LOCK_SECONDS) -> str:
    """Rewrites the file as `change` of its text (None: there is no file yet) and returns the new text.

    `change` must not itself write this file: what it wrote would be replaced. If the text stays
    the same, the file is not touched.
    """
    with locked(path, timeout):
        old = read(path)
        new = change(old)
        if new != old:
            _replace(_real(path), _encode(new, path))
        return new


def append_line(path: Path, line: str, *, timeout: float = LOCK_SECONDS) -> None:
    """Adds one line at the end of the file, and ends the line before it if that was left open.

    The file is replaced like any other: an append in place can stop in the middle of the line.
    """
    if "\n" in line or "\r" in line:
        raise InvalidInput("line", "it contains a line break")
    encoded = _encode(line, path) + b"\n"
    with locked(path, timeout):
        target = _real(path)
        old = b"" if _mode(target) is None else target.read_bytes()
        _replace(target, old + (b"\n" if old and not old.endswith(b"\n") else b"") + encoded)


def read(path: Path) -> str | None:
    """The text of a file with its line ends as they are; None if there is no file."""
    target = _real(path)
    if _mode(target) is not None and target.stat().st_size > LARGEST_TEXT:
        raise FileDamaged(str(path), f"it is larger than {LARGEST_TEXT // 1_000_000} MB")
    data = read_bytes(path)
    return None if data is None else decode(data, str(path))


def read_bytes(path: Path) -> bytes | None:
    target = _real(path)
    return None if _mode(target) is None else target.read_bytes()


@contextmanager
def locked(path: Path, timeout: float = LOCK_SECONDS) -> Iterator[None]:
    """Keeps every other thread and process that asks for this path waiting. The file need not exist.

    A thread may take a lock that it already holds, so the functions above work inside.
    """
    target = _real(path)
    _make_folder(target.parent)
    place = _beside(target, "moot-lock")
    # No fallback: on a file system without locks, filelock's substitute would outlive a killed process.
    lock = FileLock(place, is_singleton=True, thread_local=True, fallback_to_soft=False)
    try:
        lock.acquire(timeout=timeout, poll_interval=_POLL_SECONDS)
    except Timeout:
        raise LockTimeout(str(path), timeout) from None
    try:
        yield
    finally:
        if lock.lock_counter == 1:
            with suppress(OSError):
                place.unlink()
        lock.release()


def decode(data: bytes, file: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FileDamaged(file, "it is not UTF-8 text", line) from None


def _encode(text: str, path: Path) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidInput(path.name, "the text contains half a character (a lone surrogate)") from None


def _replace(target: Path, data: bytes) -> None:
    """Only under the lock, so whatever has the temporary name was left behind by a killed process."""
    mode = _mode(target)
    new = _beside(target, "moot-new")
    disk.unlink(new)
    try:
        # A private file must not be readable by others for the moment before its mode is set.
        handle = disk.open(new, 0o644 if mode is None else 0o600)
        try:
            if mode is not None:
                disk.chmod(handle, mode)
            rest = memoryview(data)
            while rest:
                rest = rest[disk.write(handle, rest) :]
            disk.fsync(handle)
        finally:
            disk.close(handle)
        disk.rename(new, target)
    except BaseException:
        with suppress(OSError):
            disk.unlink(new)
        raise
    disk.fsync_dir(target.parent)


def _mode(target: Path) -> int | None:
    try:
        status = target.stat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode):
        raise UnsafePath(str(target), "it is not a file")
    return stat.S_IMODE(status.st_mode)


def _make_folder(folder: Path) -> None:
    """Each new folder is synced into its parent: a file is not safe in a folder that can still vanish."""
    if not folder.is_dir():
        _make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        disk.fsync_dir(folder.parent)


def _real(path: Path) -> Path:
    """Two names of one file share its lock, and a linked file is written where it really is."""
    return Path(os.path.realpath(path))


def _beside(target: Path, suffix: str) -> Path:
    name = target.name
    if len(os.fsencode(name)) > _LONGEST_STEM:
        name = hashlib.sha256(os.fsencode(name)).hexdigest()
    return target.with_name(f".{name}.{suffix}")
