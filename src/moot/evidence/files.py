"""Files and folders as evidence: which may be read, and their bytes, without waiting and within bounds.

Who names a path decides how far it may lead: the person at the terminal anywhere on their machine, everybody
else into the workspace only. Private files are never read, whoever names them, by whichever link. Refuses to
know what bytes say.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path

from moot.errors import MootError
from moot.evidence.bounds import in_words
from moot.evidence.reading import NotTaken
from moot.files.paths import Root
from moot.repo.listing import look
from moot.repo.secrets import is_private

MISSING = "there is no such file or folder"
PRIVATE = "is a private file by its name, which is never sent"
_SYSTEM = (Path("/proc"), Path("/sys"))


class Reach(Enum):
    """How far a path may lead."""

    ANYWHERE = auto()
    WORKSPACE = auto()
    NOWHERE = auto()
    """Whoever asks has no files here."""


@dataclass(frozen=True, slots=True)
class Place:
    """A file or folder that may be read: free of links, and as the person knows it."""

    real: Path
    origin: str
    is_folder: bool


def find(named: str, workspace: Path, reach: Reach) -> Place:
    """What a path leads to. Raises NotTaken."""
    if reach is Reach.NOWHERE:
        raise NotTaken("is a path, and files of this server can be given only by whoever runs it")
    root = Root(workspace)
    if reach is Reach.WORKSPACE:
        try:
            real = root.resolve(named, must_exist=True)
        except MootError as refused:
            raise NotTaken(_in_short(refused)) from None
        names = [named]
    else:
        try:
            path = Path(named).expanduser()
            real = Path(os.path.realpath(path))
            real.stat()
        except FileNotFoundError:
            raise NotTaken(MISSING) from None
        except (OSError, ValueError, RuntimeError) as error:
            raise NotTaken(f"cannot be read: {getattr(error, 'strerror', None) or error}".lower()) from None
        names = [str(path)]
    if any(real.is_relative_to(place) for place in _SYSTEM):
        raise NotTaken("belongs to the system and is no document")
    origin = _as_known(real, root.real, real.parent)
    if not real.is_relative_to(root.real):
        names.append(str(real))
    if any(map(is_private, (*names, origin))):
        raise NotTaken(PRIVATE)
    mode = real.stat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise NotTaken("is neither a file nor a folder")
    return Place(real, origin, stat.S_ISDIR(mode))


def exists_in(workspace: Path, named: str) -> bool:
    """Whether a word is a path in the workspace."""
    try:
        Root(workspace).resolve(named, must_exist=True)
    except (MootError, OSError, ValueError):
        return False
    return True


def read_bytes(real: Path, most: int) -> bytes:
    """A whole file. Never waits for a pipe, and never follows a link that was put there since. Raises
    NotTaken."""
    try:
        handle = os.open(real, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise NotTaken(f"cannot be read: {(error.strerror or str(error)).lower()}") from None
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise NotTaken("is not a file")
        if status.st_size > most:
            raise NotTaken(f"{in_words(status.st_size)}, at most {in_words(most)} are taken")
        try:
            data = file.read(most + 1)
        except OSError as error:
            raise NotTaken(f"cannot be read: {(error.strerror or str(error)).lower()}") from None
    if len(data) > most:
        raise NotTaken(f"more than {in_words(most)}, which is what is taken")
    return data


def read_stdin(most: int) -> bytes:
    """To its end. Raises NotTaken where somebody would have to type it."""
    if sys.stdin is None or sys.stdin.isatty():
        raise NotTaken("is the terminal: pipe something into moot, or name a file")
    data = sys.stdin.buffer.read(most + 1)
    if len(data) > most:
        raise NotTaken(f"more than {in_words(most)}, which is what is taken")
    return data


def files_of(place: Place, workspace: Path) -> Iterator[Place]:
    """All files of a folder that belong to it, those nearest to it first; links are none."""
    names = sorted(look(place.real).files, key=lambda name: (name.count("/"), name))
    for name in names:
        real = place.real / name
        yield Place(real, _as_known(real, Root(workspace).real, place.real.parent), is_folder=False)


def _as_known(real: Path, workspace: Path, above: Path) -> str:
    """What a model is told of where it is: in the workspace, below the home folder, or else its name in what
    was given, because nobody has to know how this machine is laid out."""
    if real.is_relative_to(workspace):
        return real.relative_to(workspace).as_posix()
    try:
        return f"~/{real.relative_to(Path(os.path.realpath(Path.home()))).as_posix()}"
    except (ValueError, RuntimeError):
        return real.relative_to(above).as_posix()


def _in_short(refused: MootError) -> str:
    problem = getattr(refused, "problem", "")
    return f"is not allowed: {problem}" if problem else MISSING
