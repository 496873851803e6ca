"""A folder as it was, brought back after somebody was at work who had no business in it.

Knows files, links and what else can lie in a folder, and that whatever is there may have been put there to do
harm: nothing is followed, and what was left is moved aside, not read. Refuses to know what the files are for.
The marks of writing and of being at work (see atomic, lock) come and go, and are no part of it.
"""

from __future__ import annotations

import itertools
import os
import shutil
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Literal

from moot.files import atomic

MARKS = (".claim.json", ".*.moot-lock", ".*.moot-new")
"""Files that are there only while something is written, or somebody is at work."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What has a name in the folder. `data` is a file's bytes, or where a link leads."""

    kind: Literal["file", "link", "other"]
    data: bytes = b""
    mode: int = 0


def read(folder: Path) -> dict[str, Entry]:
    """Everything in a folder but its folders, by its path below it."""
    found: dict[str, Entry] = {}
    for place, folders, files in os.walk(folder):
        links = [name for name in folders if (Path(place) / name).is_symlink()]
        for name in (*files, *links):
            if not any(fnmatch(name, mark) for mark in MARKS):
                path = Path(place) / name
                found[path.relative_to(folder).as_posix()] = _entry(path)
    return found


def bring_back(folder: Path, before: Mapping[str, Entry], aside: str) -> tuple[tuple[str, ...], str]:
    """Makes the folder what it was. Says which names were changed, added or removed, and the folder below
    `aside` in which what was found is kept; an empty text if nothing was left to keep."""
    if folder.is_symlink() or not folder.is_dir():
        # Moved away, or replaced: whatever lies there now is nobody's change.
        if os.path.lexists(folder):
            folder.rename(_free(folder.with_name(f".{folder.name}.left")))
        folder.mkdir(parents=True)
    now = read(folder)
    changed = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
    if not changed:
        return (), ""
    if now.pop(aside, None):
        # A file or a link in the place where things are kept is itself not kept.
        (folder / aside).unlink()
    kept = ""
    numbers = (f"{aside}/{number}" for number in itertools.count(1))
    place = next(
        one for one in numbers if not any(f"{name}/".startswith(f"{one}/") for name in (*before, *now))
    )
    for name in changed:
        if name in now:
            kept = place
            _move_aside(folder / name, folder / place / name)
    for name in changed:
        if name in before:
            _put_back(folder, name, before[name])
    return tuple(changed), kept


def _entry(path: Path) -> Entry:
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode):
        return Entry("link", os.fsencode(path.readlink()))
    if not stat.S_ISREG(status.st_mode):
        return Entry("other")
    try:
        return Entry("file", path.read_bytes(), stat.S_IMODE(status.st_mode))
    except PermissionError:
        return Entry("other")


def _move_aside(path: Path, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink():
        # Kept as what it said, and not as something that leads anywhere.
        place.write_bytes(os.fsencode(path.readlink()))
        path.unlink()
    else:
        path.rename(place)


def _put_back(folder: Path, name: str, entry: Entry) -> None:
    path = folder / name
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if entry.kind == "link":
        path.symlink_to(os.fsdecode(entry.data))
    elif entry.kind == "file":
        atomic.write_atomic(path, entry.data)
        path.chmod(entry.mode)


def _free(path: Path) -> Path:
    names = (path.with_name(f"{path.name}-{number}") for number in itertools.count(1))
    return next(one for one in names if not os.path.lexists(one))
