"""Which ids and paths may be used: everything that a user, a model or an MCP client names comes through here.

Knows the shape of an id, and how to keep a path under its root. Refuses to know what lies at a path,
and never writes. What is refused raises `UnsafePath` or `InvalidId`; what is merely missing, `NotFound`.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from moot.errors import InvalidId, InvalidInput, NotFound, UnsafePath
from moot.files.atomic import decode

LONGEST_NAME = 255
LONGEST_PATH = 1024

_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_DRIVE = re.compile(r"[A-Za-z]:")
# Cc: NUL, line breaks, escapes, C1. Zl and Zp: line breaks by another name. Cs: not text at all.
_UNPRINTABLE = frozenset({"Cc", "Zl", "Zp", "Cs"})


def valid_id(value: str, field: str) -> str:
    """`value` itself, if it is an id. `field` is what the person knows it by."""
    # fullmatch, because `$` also matches before a final line break; not \d, which takes any script's digits.
    if not _ID.fullmatch(value):
        raise InvalidId(field, value)
    return value


@dataclass(frozen=True, slots=True)
class Entry:
    """One name in a folder. `other`: a device, a pipe, or a link that leads outside or nowhere."""

    name: str
    kind: Literal["file", "folder", "other"]


@dataclass(frozen=True, slots=True)
class Root:
    """A folder, and the only way to the paths in it that somebody else has named.

    The root may itself be a link. Links below it may lead anywhere else below it.
    """

    path: Path
    real: Path = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "real", Path(os.path.realpath(self.path)))

    def resolve(self, relative: str, *, must_exist: bool = False) -> Path:
        """The real path, free of links and below the root's real path."""
        # realpath, because Path.resolve raises RuntimeError on a loop of links in Python 3.11 and 3.12.
        real = Path(os.path.realpath(self.real.joinpath(*_parts(relative))))
        if not real.is_relative_to(self.real):
            raise UnsafePath(relative, f"it leads outside the folder it has to stay in{self._link(relative)}")
        try:
            mode = real.stat().st_mode
        except FileNotFoundError:
            if must_exist:
                raise NotFound("file", relative) from None
        except OSError as error:
            raise UnsafePath(relative, _plain(error)) from None
        else:
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                raise UnsafePath(relative, "it is neither a file nor a folder")
        return real

    def _link(self, relative: str) -> str:
        """Which link it is that leads out, and what to do about it."""
        at = self.real
        for part in _parts(relative):
            at /= part
            if at.is_symlink() and not Path(os.path.realpath(at)).is_relative_to(self.real):
                name = at.relative_to(self.real).as_posix()
                return f": the link '{name}' leads out of it; remove it, or put a real folder or file there"
        return ""

    def read_text(self, relative: str, limit_bytes: int) -> str:
        """A whole file of at most `limit_bytes`; bytes that are no UTF-8 are damage."""
        with self._opened(relative) as handle:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise UnsafePath(relative, "it is not a file")
            # One byte more than allowed, rather than the size beforehand: the file may be growing.
            with os.fdopen(os.dup(handle), "rb") as file:
                data = file.read(limit_bytes + 1)
        if len(data) > limit_bytes:
            raise InvalidInput("path", f"{relative} is larger than {limit_bytes} bytes")
        return decode(data, relative)

    def list(self, relative: str = ".") -> tuple[Entry, ...]:
        """What is in a folder, by name. A name that is no text is shown with replacement characters."""
        with self._opened(relative) as handle:
            if not stat.S_ISDIR(os.fstat(handle).st_mode):
                raise UnsafePath(relative, "it is not a folder")
            with os.scandir(handle) as entries:
                names = sorted(entry.name for entry in entries)
            return tuple(
                Entry(os.fsencode(name).decode("utf-8", "replace"), self._kind(handle, relative, name))
                for name in names
            )

    def _kind(self, folder: int, relative: str, name: str) -> Literal["file", "folder", "other"]:
        try:
            mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
            if stat.S_ISLNK(mode):
                mode = self.resolve(f"{relative}/{name}", must_exist=True).stat().st_mode
        except (OSError, UnsafePath, NotFound):
            return "other"
        return "file" if stat.S_ISREG(mode) else "folder" if stat.S_ISDIR(mode) else "other"

    @contextmanager
    def _opened(self, relative: str) -> Iterator[int]:
        """A descriptor of what `resolve` found, even if somebody puts a link in its place meanwhile.

        The resolved path has no links in it. It is opened one component at a time, each relative to the
        one before and none through a link: a link that was swapped in since fails to open. Comparing
        paths after opening would also do, but only where the system can name an open descriptor.
        """
        real = self.resolve(relative, must_exist=True)
        # O_NONBLOCK: opening a pipe, if one was swapped in, must not wait for its other end.
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            handle = os.open(self.real, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY)
            for name in real.relative_to(self.real).parts:
                parent = handle
                try:
                    handle = os.open(name, flags, dir_fd=parent)
                finally:
                    os.close(parent)
        except FileNotFoundError:
            raise NotFound("file", relative) from None
        except OSError as error:
            raise UnsafePath(relative, _plain(error)) from None
        try:
            yield handle
        finally:
            os.close(handle)


def unlinked(path: Path) -> Path:
    """`path`, which was free of links when it was found, if it still is: whoever works in a folder
    meanwhile may have put one there."""
    return unlinked_root(path).path


def unlinked_root(path: Path) -> Root:
    """`path` as a root, if it still is as it was found: see `unlinked`."""
    root = Root(path)
    if root.real != path:
        raise UnsafePath(path.name, "a link was put in its way; remove it and put back what was there")
    return root


def _parts(relative: str) -> list[str]:
    """The components of a path that is harmless as a text, whatever is on the disk."""
    problem = None
    if not relative:
        problem = "it is empty"
    elif any(unicodedata.category(character) in _UNPRINTABLE for character in relative):
        problem = "it contains control characters or is no valid text"
    elif "\\" in relative:
        problem = "it contains a backslash; folders are separated by '/'"
    elif relative.startswith("/") or _DRIVE.match(relative):
        problem = "it is absolute"
    elif len(relative.encode()) > LONGEST_PATH:
        problem = f"it is longer than {LONGEST_PATH} bytes"
    parts = [] if problem else [part for part in relative.split("/") if part not in {"", "."}]
    if ".." in parts:
        problem = "it contains '..'"
    elif any(len(part.encode()) > LONGEST_NAME for part in parts):
        problem = f"a name in it is longer than {LONGEST_NAME} bytes"
    if problem:
        raise UnsafePath(relative, problem)
    return parts


def _plain(error: OSError) -> str:
    match error.errno:
        case errno.ELOOP:
            return "links in it lead round in a circle, or changed while it was read"
        case errno.ENOTDIR:
            return "a part of it is a file, not a folder"
        case errno.EACCES | errno.EPERM:
            return "reading it is not permitted"
        case _:
            return (error.strerror or str(error)).lower()
