"""A look at the real workspace: which files there are, and what kind of project that is.

Knows git, the usual names, and bounds on everything. Refuses to know what any file means, and never writes,
runs what the workspace brings along, or follows a link. What cannot be read is passed over: a survey
reports what it can. The same workspace always gives the same survey.

Git says what belongs to the project where there is git; changes and archived changes do not, because what is
planned from a survey must not find itself there. If there are too many files, those nearest to the root
are taken, and the survey says so.
"""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath

from moot.errors import MootError
from moot.files.layout import Workspace
from moot.files.paths import Root
from moot.repo import git, manifests

MOST_FILES = 20_000
LARGEST_SEARCHED = 1_000_000

_MOST_BYTES_SEARCHED = 256_000_000
_MOST_FOLDERS = 20_000
_MOST_IN_A_FOLDER = 50_000
_MOST_NAMES = 40
_OWN_NOTES = re.compile(r"moot/(?:.*/)?\.[^/]*$")
"""Who is at work, and locks."""
_README_LINES = 80
_README_CHARACTERS = 8_000
_LOG_ENTRIES = 10
_LINE_CHARACTERS = 200
_TREE_LINES = 200
_MOST_NAMESAKES = 3

_SKIPPED = """
__pycache__ bower_components build dist env node_modules site-packages target vendor venv
"""
_SKIPPED_FOLDERS = frozenset(_SKIPPED.split())
_READMES = ("readme.md", "readme.rst", "readme.txt", "readme")
_NAME = re.compile(r"`([^`\n]+)`|([\w@.+/-]+)")


@dataclass(frozen=True, slots=True)
class Survey:
    """Names are relative to the root, with `/`, sorted. `capped`: there are more files than are in here."""

    files: tuple[str, ...]
    capped: bool
    suffixes: tuple[tuple[str, int], ...]
    manifests: tuple[str, ...]
    entry_points: tuple[str, ...]
    readme: str
    in_git: bool
    log: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mention:
    file: str
    line: int
    text: str
    word: str


def look(root: Path) -> Survey:
    names, capped, in_git = _listed(root)
    near_first = sorted(filter(_is_text, names), key=_nearness)
    # One more than wanted, to know whether there is one.
    files = list(islice((name for name in near_first if _is_file(root, name)), MOST_FILES + 1))
    capped = capped or len(files) > MOST_FILES
    del files[MOST_FILES:]
    suffixes = Counter(suffix for name in files if (suffix := PurePosixPath(name).suffix.lower()))
    declaring = tuple(name for name in files if PurePosixPath(name).name in manifests.NAMES)[:_MOST_NAMES]
    return Survey(
        files=tuple(sorted(files)),
        capped=capped,
        suffixes=tuple(sorted(suffixes.items(), key=lambda item: (-item[1], item[0]))),
        manifests=declaring,
        entry_points=tuple(islice(_entry_points(root, declaring, files), _MOST_NAMES)),
        readme=_readme(root, files),
        in_git=in_git,
        log=tuple(map(_short, git.subjects(root, _LOG_ENTRIES))) if in_git else (),
    )


def marks(root: Path) -> dict[str, tuple[int, int]]:
    """What tells whether anything was changed: the time and size of every file, however many git lists. Only
    where there is no git, those that are too many are left out."""
    found = {}
    for name in _listed(root)[0]:
        try:
            status = (root / name).lstat()
        except OSError:
            continue
        found[name] = (status.st_mtime_ns, status.st_size)
    return found


# -- what a survey tells -------------------------------------------------------------------------


def tree(survey: Survey, depth: int = 2) -> str:
    """The folders and files of the upper levels; of a folder below, how much is in it."""
    counts: Counter[str] = Counter()
    shown: set[str] = set()
    for name in survey.files:
        parts = name.split("/")
        for level in range(1, len(parts)):
            counts["/".join(parts[:level]) + "/"] += 1
        shown.update("/".join(parts[:level]) + "/" for level in range(1, min(depth, len(parts) - 1) + 1))
        if len(parts) <= depth:
            shown.add(name)
    lines = []
    for name in sorted(shown):
        level = name.rstrip("/").count("/")
        label = name.rstrip("/").rpartition("/")[2]
        if name.endswith("/"):
            label += f"/ ({counts[name]} file{'s' if counts[name] > 1 else ''})"
        lines.append("  " * level + label)
    if len(lines) > _TREE_LINES:
        lines[_TREE_LINES:] = [f"… and {len(lines) - _TREE_LINES} more lines"]
    if survey.capped:
        lines.append(f"… only the first {len(survey.files)} files were looked at")
    return "\n".join(lines)


def named_files(survey: Survey, text: str) -> tuple[str, ...]:
    """The files that a text names, in its order: by path, by the end of a path, or by a name that is rare."""
    files = frozenset(survey.files)
    namesakes = defaultdict(list)
    for file in survey.files:
        namesakes[file.rpartition("/")[2]].append(file)
    named: dict[str, None] = {}
    for quoted, plain in _NAME.findall(text):
        name = re.sub(r":\d+.*$", "", quoted or plain.rstrip(".-")).removeprefix("@/").removeprefix("./")
        looks_like_a_file = quoted or "." in name or "/" in name or name[:1].isupper()
        if not looks_like_a_file:
            continue
        if name in files:
            named[name] = None
            continue
        alike = [file for file in namesakes.get(name.rpartition("/")[2], ()) if file.endswith(f"/{name}")]
        if len(alike) <= _MOST_NAMESAKES:
            named.update(dict.fromkeys(alike))
    return tuple(named)


def _texts(root: Path, files: Iterable[str]) -> Iterator[tuple[str, str]]:
    left = _MOST_BYTES_SEARCHED
    for file in files:
        text = _text(root, file)
        if text is not None:
            yield file, text
            left -= len(text)
        if left < 0:
            return


# -- files ---------------------------------------------------------------------------------------


def _own_places(root: Path) -> tuple[str, ...]:
    workspace = Workspace.at(root)
    return tuple(place.relative_to(root).as_posix() for place in (workspace.changes, workspace.archive))


def _own_files(root: Path) -> tuple[Path, ...]:
    workspace = Workspace.at(root)
    return workspace.workflow_file, workspace.queue_file


def _listed(root: Path) -> tuple[list[str], bool, bool]:
    """The names of all files but moot's own, whether that is cut off, and whether git was asked."""
    listed = git.files(root)
    names, capped = _walked(root) if listed is None else listed
    own = tuple(f"{place}/" for place in _own_places(root))
    kept = {file.relative_to(root).as_posix() for file in _own_files(root)}
    return (
        [
            name
            for name in names
            if not name.startswith(own) and name not in kept and not _OWN_NOTES.match(name)
        ],
        capped,
        listed is not None,
    )


def _walked(root: Path) -> tuple[list[str], bool]:
    """Level by level, so that a limit cuts off what is furthest from the root."""
    names: list[str] = []
    capped = False
    folders = [""]
    for folder in folders:
        try:
            with os.scandir(root / folder) as entries:
                found = sorted(islice(entries, _MOST_IN_A_FOLDER), key=lambda entry: entry.name)
        except OSError:
            continue
        capped |= len(found) == _MOST_IN_A_FOLDER
        for entry in found:
            if entry.name.startswith("."):
                continue
            if entry.is_file(follow_symlinks=False):
                names.append(folder + entry.name)
            elif entry.is_dir(follow_symlinks=False) and entry.name not in _SKIPPED_FOLDERS:
                if len(folders) < _MOST_FOLDERS:
                    folders.append(f"{folder}{entry.name}/")
                else:
                    capped = True
        if len(names) > MOST_FILES:
            return names, True
    return names, capped


def _is_file(root: Path, name: str) -> bool:
    # Git lists what was deleted, links and submodules too.
    try:
        return stat.S_ISREG((root / name).lstat().st_mode)
    except OSError:
        return False


def _nearness(name: str) -> tuple[int, str]:
    return name.count("/"), name


def _text(root: Path, name: str) -> str | None:
    try:
        text = Root(root).read_text(name, LARGEST_SEARCHED)
    except (MootError, OSError):
        return None
    return None if "\0" in text else text.removeprefix("\ufeff")


def _is_text(name: str) -> bool:
    """Names with line breaks, escapes or undecodable bytes are left out: they would forge what is shown."""
    return not any(unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"} for character in name)


def _short(line: str) -> str:
    shortened = line[:_LINE_CHARACTERS].rstrip("\r")
    return "".join(each if each == "\t" or _is_text(each) else "\ufffd" for each in shortened)


# -- what kind of project ------------------------------------------------------------------------


def _readme(root: Path, files: Iterable[str]) -> str:
    found = {name.lower(): name for name in sorted(files, reverse=True) if "/" not in name}
    name = next((found[readme] for readme in _READMES if readme in found), None)
    text = _text(root, name) if name else None
    lines = (text or "").replace("\r\n", "\n").split("\n")[:_README_LINES]
    return "\n".join(map(_short, lines))[:_README_CHARACTERS].strip()


def _entry_points(root: Path, declaring: Iterable[str], files: Iterable[str]) -> Iterator[str]:
    """`command = what it calls` from manifests, then files that are usually called."""
    for manifest in declaring:
        for name, target in manifests.commands(PurePosixPath(manifest).name, _text(root, manifest) or ""):
            yield _short(f"{name} = {target} ({manifest})")
    for file in files:
        if PurePosixPath(file).name in manifests.ENTRY_FILES:
            yield file
