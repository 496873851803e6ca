"""The SQLite file: who may read it, whether it is still there and whole, and how it is copied.

Knows files and SQLite's own checks. Refuses to know any table.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import tempfile
from contextlib import closing, suppress
from pathlib import Path

from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from moot.errors import AlreadyThere, InvalidInput, NotFound, StoreFailed

DAMAGED = "is damaged: restore it from a backup"
_SAID_OF_DAMAGE = "malformed"
"""How SQLite says SQLITE_CORRUPT."""

_log = logging.getLogger("moot")


def sqlite_file(url: str) -> Path | None:
    """The file of a SQLite URL; None for other databases. Nothing is kept in memory alone."""
    try:
        parsed = make_url(url)
    except ArgumentError:
        return None
    name = parsed.database
    if parsed.get_backend_name() != "sqlite" or not name or name == ":memory:" or name.startswith("file:"):
        return None
    return Path(name)


class DatabaseFile:
    """One file in use. What it was when it was opened, it has to stay."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._identity: tuple[int, int] | None = None

    def prepare(self) -> None:
        """Makes what is missing, for its user alone, and narrows what others could read: a session is
        nobody else's business. SQLite gives the files beside it the same mode."""
        _make_private_folder(self.path.parent)
        with suppress(FileExistsError):
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        for path in (self.path, *_beside(self.path)):
            _narrow(path)

    def opened(self) -> None:
        """From now on, this very file is meant."""
        self._identity = _identity(self.path)

    def check(self) -> None:
        """Raises where the file is no longer the one that was opened: SQLite would go on writing into the
        one that nobody can find any more."""
        found = _identity(self.path)
        if self._identity is not None and found != self._identity:
            what = "replaced" if found else "deleted"
            raise StoreFailed(
                str(self.path), f"the file was {what} while moot was using it; put it back, or restart moot"
            )


def explain(problem: str) -> str:
    """What SQLite says, and what to do about it where that is not plain."""
    if _SAID_OF_DAMAGE in problem:
        return f"{problem}: the file {DAMAGED}"
    return problem


def is_damage(problem: str) -> bool:
    return DAMAGED in problem


def find_damage(path: Path) -> str:
    """What SQLite finds wrong with a file, in its words; empty for one that is whole. Reads all of it."""
    try:
        with closing(sqlite3.connect(f"file:{_quoted(path)}?mode=ro", uri=True)) as connection:
            found = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.DatabaseError as error:
        return str(error) if _SAID_OF_DAMAGE in str(error) else ""
    return "" if found is None or found[0] == "ok" else str(found[0]).strip().replace("\n", " ")


def back_up(source: Path, target: Path, *, force: bool) -> None:
    """A whole copy as of one moment, whoever writes meanwhile. It appears under its name when it is complete
    and has been checked."""
    if not source.exists():
        raise NotFound("database", str(source))
    if target.exists() and target.samefile(source):
        raise InvalidInput("FILE", f"{target} is the database itself")
    if target.exists() and not force:
        raise AlreadyThere("file", target.name, target)
    # Made by mkstemp, so nobody else can read it at any time.
    handle, name = tempfile.mkstemp(prefix=f".{target.name}-", dir=target.parent)
    os.close(handle)
    copy = Path(name)
    try:
        with closing(sqlite3.connect(f"file:{_quoted(source)}?mode=ro", uri=True)) as reading:
            reading.execute("PRAGMA busy_timeout=10000")
            with closing(sqlite3.connect(copy)) as writing:
                reading.backup(writing)
                # One file, with nothing beside it that would have to be kept too.
                writing.execute("PRAGMA journal_mode=DELETE")
        if problem := find_damage(copy):
            raise StoreFailed(str(source), f"{problem}: the file {DAMAGED}")
        _sync(copy)
        copy.replace(target)
        _sync(target.parent)
    except sqlite3.Error as error:
        raise StoreFailed(str(source), explain(str(error))) from error
    finally:
        for left in (copy, *_beside(copy)):
            left.unlink(missing_ok=True)


def _beside(path: Path) -> tuple[Path, Path]:
    return path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")


def _make_private_folder(folder: Path) -> None:
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    for one in reversed(missing):
        one.mkdir(mode=0o700, exist_ok=True)


def _narrow(path: Path) -> None:
    try:
        mode = path.stat().st_mode & 0o777
        if mode & 0o077:
            path.chmod(mode & 0o700)
            _log.warning("Others could read %s: now only its owner can", path)
    except FileNotFoundError:
        pass
    except PermissionError:
        _log.warning("Others can read %s, and it is not this user's to change", path)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _quoted(path: Path) -> str:
    from urllib.parse import quote

    return quote(str(path.absolute()))


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
