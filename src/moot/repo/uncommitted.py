"""Work in a folder that is not committed: found, stashed, taken along to a new branch.

Knows what git keeps, and that a person's work must not be lost: it is in the repository before a file of it
is touched, and a file that is not what was kept is not touched at all. After a kill, each of these can be
called again, and goes on. A file that git would change by a program, as Git LFS is one, is left to the
person, because programs that a repository names are not run. Refuses to know why any of this is wanted.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

from moot.errors import GitRefused
from moot.files.frozen import MARKS
from moot.repo import git
from moot.repo.git import GONE, Entry

_NOBODY = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "moot"), ("EMAIL", "moot@localhost"))
}
_KEPT = "the work is in the stash"
_SUBMODULE = "160000"


def find(root: Path, known: str, own: tuple[str, ...]) -> tuple[list[str], str]:
    """What is not committed and different from the tree `known`, if git still has that; and the tree that the
    folder is now, if git can keep one. Names that begin with one of `own` do not count."""
    names = [name for name in git.uncommitted(root) if not _is_own(name, own)]
    tree = git.snapshot(root, own) or ""
    if known and tree and (since := git.differences(root, known, tree)) is not None:
        names = [name for name in names if name in since]
    return sorted(names), tree


def stash(root: Path, known: str, shown: str, name: str, own: tuple[str, ...]) -> list[str]:
    """Sets aside what `find` has found, and says which files that were. `shown` is the tree that the person
    has decided about: if the folder is another by now, nothing happens. A stash of this name is there already
    if an earlier call was killed: then only the files are still to be taken away."""
    made = _stash_named(root, name)
    if made is None:
        files, now = find(root, known, own)
        _check_shown(shown, now)
        made = _store(root, name, _work(root, files, known, now))
    return _take_away(root, made, own)


def create_branch(root: Path, shown: str, name: str, own: tuple[str, ...]) -> str:
    """Switches to a new branch, with all that is not committed, and says which one it was before. `shown` as
    above."""
    if git.line(root, "symbolic-ref", "--quiet", "--short", "HEAD") != name:
        _check_shown(shown, git.snapshot(root, own) or "")
        there = git.line(root, "rev-parse", "--quiet", "--verify", f"refs/heads/{name}")
        if there and there != git.line(root, "rev-parse", "--quiet", "--verify", "HEAD"):
            raise GitRefused(f"there is a branch {name} already, at another commit")
        if git.output(root, "switch", "--quiet", *(() if there else ("--create",)), name) is None:
            raise GitRefused("no branch could be created here; `git status` may say why")
    before = git.line(root, "rev-parse", "--quiet", "--abbrev-ref", "@{-1}")
    return "" if before == "@{-1}" else before


def can_branch(root: Path) -> bool:
    """Whether `create_branch` would: there is a commit, and nothing half done."""
    if not git.line(root, "rev-parse", "--quiet", "--verify", "HEAD^{commit}"):
        return False
    doing = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD")
    return not any(git.line(root, "rev-parse", "--quiet", "--verify", one) for one in doing)


def is_clean(root: Path, own: tuple[str, ...]) -> bool:
    """Whether all is committed but what begins with one of `own`."""
    names = git.uncommitted(root)
    return can_branch(root) and all(_is_own(name, own) for name in names)


def _check_shown(shown: str, now: str) -> None:
    if not now:
        raise GitRefused("git cannot keep all of it: stash or commit it yourself")
    if now != shown:
        raise GitRefused("the workspace has changed since you were asked")


# -- what is kept --------------------------------------------------------------------------------


class _Work(NamedTuple):
    """By full name: the files as they are, as they are staged, and those that git did not know."""

    base: str
    files: Mapping[str, Entry]
    staged: Mapping[str, Entry]
    untracked: Mapping[str, Entry]


def _work(root: Path, names: list[str], known: str, now: str) -> _Work:
    base = git.line(root, "rev-parse", "--quiet", "--verify", "HEAD^{commit}")
    if not base:
        raise GitRefused("there is no commit yet, and git stashes nothing before the first")
    if git.output(root, "ls-files", "--unmerged"):
        raise GitRefused("a merge is not finished")
    prefix, changed = git.line(root, "rev-parse", "--show-prefix"), git.differences(root, base, now) or {}
    of_workflow = (git.differences(root, base, known) or {}) if known else {}
    if both := [name for name in names if name in of_workflow]:
        raise GitRefused(f"{both[0]} also has changes that are to stay: stash or commit it yourself")
    for name in names:
        if _SUBMODULE in changed.get(name, ()) or (root / name).is_dir():
            raise GitRefused(f"{name} is a folder or a repository now: stash or commit it yourself")
    if filtered := _filtered(root, names):
        raise GitRefused(f"{filtered} needs a filter, which moot does not run: stash or commit it yourself")
    index = _index(root)
    files: dict[str, Entry] = {}
    untracked: dict[str, Entry] = {}
    for name in names:
        full = f"{prefix}{name}"
        if name in changed:
            into = untracked if changed[name].status == "A" and full not in index else files
            into[full] = changed[name].entry
    gone = Entry(GONE, "0" * len(base))
    staged = {f"{prefix}{name}": index.get(f"{prefix}{name}", gone) for name in names}
    return _Work(base, files, {name: staged[name] for name in staged if name not in untracked}, untracked)


def _store(root: Path, name: str, work: _Work) -> str:
    """As `git stash --include-untracked` would: one commit, of which the others are parents."""
    staged = _commit(root, name, _tree(root, work.base, work.staged), work.base)
    parents = [work.base, staged]
    if work.untracked:
        parents.append(_commit(root, name, _tree(root, "", work.untracked)))
    made = _commit(root, name, _tree(root, work.base, work.files), *parents)
    if git.output(root, "stash", "store", "--quiet", "--message", name, made) is None:
        raise GitRefused("git did not take the stash")
    return made


def _stash_named(root: Path, name: str) -> str | None:
    listed = os.fsdecode(git.output(root, "stash", "list", "-z", "--format=%H %gs") or b"").split("\0")
    return next((one.partition(" ")[0] for one in listed if one.partition(" ")[2] == name), None)


def _commit(root: Path, message: str, tree: str, *parents: str) -> str:
    named = [part for parent in parents for part in ("-p", parent)]
    made = git.output(root, "commit-tree", tree, *named, "-m", message, more=_NOBODY)
    if not made:
        raise GitRefused("git could not keep the work")
    return made.decode().strip()


def _tree(root: Path, base: str, entries: Mapping[str, Entry]) -> str:
    """A commit's or tree's files with these in their places."""
    lines = [os.fsencode(f"{mode} {blob}\t{name}\0") for name, (mode, blob) in entries.items()]
    with tempfile.TemporaryDirectory() as place:
        more = {"GIT_INDEX_FILE": str(Path(place) / "index")}
        begun = git.output(root, "read-tree", *((base,) if base else ("--empty",)), more=more)
        told = git.output(root, "update-index", "-z", "--index-info", more=more, given=b"".join(lines))
        tree = git.output(root, "write-tree", more=more)
    if begun is None or told is None or not tree:
        raise GitRefused("git could not keep the work")
    return tree.decode().strip()


# -- what is taken away --------------------------------------------------------------------------


def _take_away(root: Path, made: str, own: tuple[str, ...]) -> list[str]:
    """Makes the files of a stash what they are in the commit that it is made on."""
    base = git.line(root, "rev-parse", "--verify", f"{made}^1")
    if base != git.line(root, "rev-parse", "--quiet", "--verify", "HEAD^{commit}"):
        raise GitRefused(f"{_KEPT}, and the branch has moved since: take away what is left of it yourself")
    untracked = git.line(root, "rev-parse", "--quiet", "--verify", f"{made}^3")
    kept = _tree(root, made, _listed(root, untracked) if untracked else {})
    files, staged = (
        git.differences(root, base, one) for one in (kept, git.line(root, "rev-parse", f"{made}^2"))
    )
    now = git.snapshot(root, own)
    there = git.differences(root, base, now) if now else None
    changed = git.differences(root, kept, now) if now else None
    if files is None or staged is None or there is None or changed is None:
        raise GitRefused(f"{_KEPT}, but git cannot say what is left of it in the workspace")
    left = {name: there[name].status for name in files if name in there}
    touched = [name for name in left if name in changed]
    git.write(root, base, {name: how for name, how in left.items() if name not in touched})
    names = files.keys() | staged.keys()
    reset = ("reset", "--quiet", "HEAD", "--pathspec-from-file=-", "--pathspec-file-nul")
    given = b"".join(os.fsencode(f"{name}\0") for name in names)
    if names and git.output(root, *reset, more={"GIT_LITERAL_PATHSPECS": "1"}, given=given) is None:
        raise GitRefused(f"{_KEPT}, but git could not take it out of the index")
    if touched:
        raise GitRefused(f"{_KEPT}, but {touched[0]} has changed since and was left as it is")
    return sorted(names)


def _listed(root: Path, tree: str) -> dict[str, Entry]:
    listed = os.fsdecode(git.output(root, "ls-tree", "-r", "-z", "--full-tree", tree) or b"").split("\0")
    fields = (line.partition("\t") for line in listed if line)
    return {name: Entry(told.split(" ")[0], told.split(" ")[2]) for told, _, name in fields}


# -- asking git ----------------------------------------------------------------------------------


def _index(root: Path) -> dict[str, Entry]:
    listed = git.output(root, "ls-files", "-z", "--stage", "--full-name")
    if listed is None:
        raise GitRefused("git cannot say what is staged")
    fields = (line.partition("\t") for line in os.fsdecode(listed).split("\0") if line)
    return {name: Entry(told.split(" ")[0], told.split(" ")[1]) for told, _, name in fields}


def _filtered(root: Path, names: Iterable[str]) -> str:
    """The first of them that a filter would change."""
    given = b"".join(os.fsencode(f"{name}\0") for name in names)
    told = git.output(root, "check-attr", "-z", "--stdin", "filter", given=given)
    if told is None:
        raise GitRefused("git cannot say which files need a filter")
    fields = os.fsdecode(told).split("\0")[:-1]
    asked = zip(fields[::3], fields[2::3], strict=True)
    return next((name for name, value in asked if value not in ("unspecified", "unset")), "")


def _is_own(name: str, own: tuple[str, ...]) -> bool:
    # A folder's name without its slash is that of a link to it.
    return (
        name.startswith(own)
        or f"{name}/" in own
        or any(fnmatch(name.rpartition("/")[2], mark) for mark in MARKS)
    )
