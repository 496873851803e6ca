"""What git knows of a folder: the files that belong to it, and what was done last.

Knows the commands, and that a repository is somebody else's: its settings can name programs to run and
servers to ask, and neither happens here, except in `commit`, which the person has asked for. Where git has
nothing to say (it is not installed, there is no repository, it does not trust this one, it takes too long),
there is no answer, and no error.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from moot.errors import GitRefused
from moot.files.frozen import MARKS
from moot.processes import environment, find_program, git_settings

_MOST_BYTES = 64_000_000
_SECONDS = 20
_NAMES_AT_ONCE = 500
_LITERAL = {"GIT_LITERAL_PATHSPECS": "1"}
MOST_PATHS = 200
"""Named to git at once."""
GONE = "0"
"""The mode of a file that is not there."""


def files(root: Path) -> tuple[list[str], bool] | None:
    """The names, relative to `root`, of what is tracked or at least not ignored, and whether that is cut off.

    A name that is no text has surrogates in it. Deleted files, links and submodules are among them.
    """
    listed = output(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    if listed is None:
        return None
    if not listed and _is_ignored_from_outside(root):
        return None
    # Behind the last NUL there is nothing, or a name that was cut off.
    names = {os.fsdecode(name) for name in listed.split(b"\0")[:-1]}
    return sorted(names), len(listed) == _MOST_BYTES


def subjects(root: Path, count: int) -> tuple[str, ...]:
    """The first lines of the latest commits, the last one first."""
    listed = output(root, "log", f"--max-count={count}", "--no-show-signature", "--format=%s") or b""
    return tuple(line for line in listed.decode("utf-8", "replace").split("\n") if line.strip())


def messages(root: Path, after: str, until: str, count: int) -> str:
    """What the latest commits between two say of themselves, merges left out, the first one first."""
    form = "--format=%s%n%n%b%x1e"
    shape = ("--no-show-signature", "--no-color", "--no-decorate", "--no-notes", "--no-merges", "--reverse")
    listed = output(root, "log", f"--max-count={count}", *shape, form, f"{after}..{until}") or b""
    parts = listed.decode("utf-8", "replace").split("\x1e")
    return "\n\n".join(part.strip() for part in parts if part.strip())


class Commit(NamedTuple):
    id: str
    date: str
    subject: str
    body: str


def history(root: Path, below: str, count: int) -> list[Commit] | None:
    """The latest commits that touch a path, the last one first. None where there is none."""
    form = "--format=%h%x1f%cs%x1f%s%x1f%b%x1e"
    shape = ("--no-show-signature", "--no-color", "--no-decorate", "--no-notes", "--abbrev=10", form)
    listed = output(root, "log", f"--max-count={count}", *shape, "--", below, more=_LITERAL)
    if not listed:
        return None
    records = listed.decode("utf-8", "replace").split("\x1e")[:-1]
    fields = [[*record.lstrip("\n").split("\x1f"), "", "", ""][:4] for record in records]
    return [Commit(*one) for one in fields]


def changed_names(root: Path, commit: str, below: str) -> list[str] | None:
    """The files that a commit has changed, or, without one, that differ from the last; of a file that was
    renamed, both names. None where git does not have it."""
    listed = output(
        root, *_differing(commit), "--no-renames", "--name-only", "-z", "--", below, more=_LITERAL
    )
    return None if listed is None else [os.fsdecode(name) for name in listed.split(b"\0") if name.strip()]


def patch(root: Path, commit: str, names: Sequence[str]) -> str | None:
    """What `changed_names` are about, for some of them; what was renamed as that, where both of its names are
    among them. Nothing that converts or compares files is run."""
    shown = output(
        root, *_differing(commit), "--find-renames", "--patch", "--unified=3", "--", *names, more=_LITERAL
    )
    return None if shown is None else shown.decode("utf-8", "replace").strip("\n")


def untracked(root: Path, below: str) -> list[str]:
    listed = output(root, "ls-files", "-z", "--others", "--exclude-standard", "--", below, more=_LITERAL)
    return [os.fsdecode(name) for name in (listed or b"").split(b"\0") if name]


def _differing(commit: str) -> tuple[str, ...]:
    """Never by a program, and never inside of a submodule, which has settings of its own."""
    how = ("--no-color", "--no-ext-diff", "--no-textconv", "--relative", "--submodule=short")
    if commit:
        own = ("--no-show-signature", "--format=", "--no-notes", "-m", "--first-parent")
        return ("show", *own, *how, f"{commit}^{{commit}}")
    return ("diff", *how, "--ignore-submodules=dirty", "HEAD")


def commit_of(root: Path, name: str) -> str:
    """The full id of what a branch, a tag or an id stands for; empty where there is no such commit."""
    if not name or name.startswith("-") or "\0" in name:
        return ""
    return line(root, "rev-parse", "--quiet", "--verify", "--end-of-options", f"{name}^{{commit}}")


def merge_base(root: Path, one: str, other: str) -> str:
    """Of two full ids, the commit that both come from; empty where that is not here."""
    return line(root, "merge-base", one, other)


def empty_tree(root: Path) -> str:
    return line(root, "hash-object", "-t", "tree", "--stdin")


def difference(root: Path, *between: str, context: int) -> bytes | None:
    """The patch between two trees, or, with `--cached`, between one and what is staged. Names are below the
    folder, whatever the person's settings say of prefixes."""
    shape = ("--no-color", "--no-ext-diff", "--no-textconv", "--relative", "--submodule=short")
    names = ("--src-prefix=a/", "--dst-prefix=b/", "--find-renames", "--ignore-submodules=dirty")
    found = output(root, "diff", *shape, *names, f"--unified={context}", *between, "--")
    return None if found is not None and len(found) == _MOST_BYTES else found


def changed(root: Path) -> bool:
    """Whether anything is not committed. Without a repository, nothing is."""
    return bool(_status(root))


def uncommitted(root: Path) -> tuple[str, ...]:
    """The names of all files below a folder that are not committed. Without a repository, none."""
    every = ("--untracked-files=all", "--no-renames", "--", ".")
    prefix = line(root, "rev-parse", "--show-prefix")
    entries = os.fsdecode(_status(root, *every)).split("\0")
    return tuple(entry[3:].removeprefix(prefix) for entry in entries if entry)


def commit(root: Path, message: str) -> None:
    """Commits everything, with the person's own settings and hooks. What git has against it is an error."""
    env = environment.for_own_program(os.environ)
    for arguments in (("add", "--all"), ("commit", "--quiet", "--message", message)):
        done = subprocess.run(
            ["git", "-C", str(root), *arguments],
            # In a git hook, variables of that name name another repository.
            env={name: value for name, value in env.items() if not name.startswith("GIT_")},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        if done.returncode:
            raise GitRefused(done.stderr.strip() or f"git {arguments[0]} failed")


class Entry(NamedTuple):
    """A file in a tree or an index. Its mode is `GONE` where it is not there."""

    mode: str
    blob: str


class Difference(NamedTuple):
    status: str
    old_mode: str
    new_mode: str
    blob: str

    @property
    def entry(self) -> Entry:
        return Entry(GONE if self.status == "D" else self.new_mode, self.blob)


def differences(root: Path, one: str, other: str) -> dict[str, Difference] | None:
    """Below the folder. None where git does not have them."""
    if not re.fullmatch("[0-9a-f]{4,64}", one) or not re.fullmatch("[0-9a-f]{4,64}", other):
        return None
    listed = output(root, "diff-tree", "-r", "-z", "--no-renames", "--relative", one, other)
    if listed is None:
        return None
    fields = iter(os.fsdecode(listed).split("\0")[:-1])
    found = {}
    for told, name in zip(fields, fields, strict=True):
        old_mode, new_mode, _, blob, status = told.removeprefix(":").split(" ")
        found[name] = Difference(status, old_mode, new_mode, blob)
    return found


def snapshot(root: Path, without: tuple[str, ...] = ()) -> str | None:
    """What git calls the folder as it is now, ignored files left out: a tree, beside the person's index and
    branches. None where git cannot keep one. What begins with one of `without`, and the marks of work that is
    under way, are as in the index."""
    index = output(root, "rev-parse", "--path-format=absolute", "--git-path", "index")
    if index is None:
        return None
    with tempfile.TemporaryDirectory() as place:
        own = Path(place) / "index"
        try:
            # With its time: by that git knows for which files it has to look closer, because they may have
            # been written after the index in the same tick of the clock.
            shutil.copy2(os.fsdecode(index.strip()), own)
        except FileNotFoundError:
            pass
        except OSError:
            return None
        more = {"GIT_INDEX_FILE": str(own)}
        left_out = [f":(exclude,literal){name.rstrip('/')}" for name in without]
        left_out += [f":(exclude,glob)**/{mark}" for mark in MARKS] if without else []
        if output(root, "add", "--all", "--", ".", *left_out, more=more) is None:
            return None
        tree = output(root, "write-tree", more=more)
    return tree.decode().strip() if tree else None


def bring_back(root: Path, tree: str, kept: tuple[str, ...]) -> list[str]:
    """Makes the folder what it was at a snapshot, and says which files that changed. What begins with one of
    `kept` stays as it is."""
    now = snapshot(root)
    if now is None:
        raise GitRefused("git cannot say what has changed since")
    since = differences(root, tree, now)
    if since is None:
        raise GitRefused("git no longer has what was there before")
    changed = {name: one.status for name, one in since.items() if not name.startswith(kept)}
    write(root, tree, changed)
    return sorted(changed)


def write(root: Path, tree: str, changed: Mapping[str, str]) -> None:
    """Makes files what they are in a tree. By name: how each differs from it now; "A", it is not in it."""
    for name in (name for name, how in changed.items() if how == "A"):
        path = root / name
        path.unlink(missing_ok=True)
        for folder in path.parents:
            if folder == root or any(folder.iterdir()):
                break
            folder.rmdir()
    back = [name for name, how in changed.items() if how != "A"]
    for name in back:
        if (root / name).is_dir() and not (root / name).is_symlink():
            # Git would remove it with all that is in it: only what it ignores is left there.
            raise GitRefused(f"{name} is a folder now, with files in it that git ignores")
    with tempfile.TemporaryDirectory() as place:
        more = {"GIT_INDEX_FILE": str(Path(place) / "index")}
        if output(root, "read-tree", tree, more=more) is None:
            raise GitRefused("git no longer has what was there before")
        for at in range(0, len(back), _NAMES_AT_ONCE):
            some = back[at : at + _NAMES_AT_ONCE]
            if output(root, "checkout-index", "--force", "--", *some, more=more) is None:
                raise GitRefused("git could not write what was there before")


def _status(root: Path, *more: str) -> bytes:
    # Not into submodules: git would look there with their own settings.
    return output(root, "status", "--porcelain", "-z", "--ignore-submodules=dirty", *more) or b""


def _is_ignored_from_outside(root: Path) -> bool:
    """Whether the repository is that of a folder further up, which wants nothing to do with this one."""
    is_below_its_top = bool(line(root, "rev-parse", "--show-prefix"))
    return is_below_its_top and output(root, "check-ignore", "-q", ".") is not None


def line(root: Path, *arguments: str) -> str:
    """The one line that git answers with; empty where it fails."""
    return os.fsdecode(output(root, *arguments) or b"").removesuffix("\n")


def output(
    root: Path, *arguments: str, more: Mapping[str, str] | None = None, given: bytes = b""
) -> bytes | None:
    """What git says to `given`, run in the folder by the rule for all programs. None where it fails."""
    program = find_program("git", os.environ)
    if program is None:
        return None
    command = [program, "-C", str(root), "--no-pager", *arguments]
    env = environment.for_git(os.environ)
    try:
        env |= git_settings.harmless(root, env, program) | dict(more or {})
        # Through a file, so that no more than the limit is ever in memory.
        with tempfile.TemporaryFile() as said:
            subprocess.run(
                command,
                check=True,
                env=env,
                input=given,
                stdout=said,
                stderr=subprocess.DEVNULL,
                timeout=_SECONDS,
            )
            said.seek(0)
            return said.read(_MOST_BYTES)
    except (OSError, subprocess.SubprocessError):
        return None
