"""Uncommitted work is found, stashed and taken along, and none of it is lost, whenever that is killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moot.errors import GitRefused
from moot.processes import git_settings
from moot.repo import git, uncommitted
from tests.repo.test_git import run_git
from tests.support.hostile_repository import Hostile

OWN = ("moot/", "moot.toml")
NAME = "moot: before 'x' (1234)"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    for name in ("kept.py", "changed.py", "gone.py", "staged.py", "folder/inner.py"):
        write(root, name, f"{name}\n" * 9)
    write(root, ".gitignore", "*.log\n")
    write(root, "moot/workflow.json", "{}\n")
    run_git(root, "init", "-q", "-b", "main")
    run_git(root, "add", "-A")
    run_git(root, "commit", "-qm", "Begin")
    return root


def write(root: Path, name: str, text: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text, encoding="utf-8")


def worked_on(root: Path) -> None:
    """All kinds of work, and files of moot's own, which are as they are in the commit or not."""
    write(root, "changed.py", "mine\n")
    (root / "gone.py").unlink()
    write(root, "staged.py", "first\n")
    run_git(root, "add", "staged.py")
    write(root, "staged.py", "second\n")
    write(root, "new/deep/ä \n.py", "new\n")
    write(root, "new/seen.log", "ignored\n")
    (root / "link").symlink_to("kept.py")
    (root / "run.sh").write_text("#!/bin/sh\n", encoding="utf-8")
    (root / "run.sh").chmod(0o755)
    write(root, "moot/workflow.json", '{"phase": "brainstorm"}\n')
    write(root, "moot/changes/x/STATE.yaml", "phase: proposed\n")
    write(root, "moot.toml", "[implement]\n")
    write(root, "moot/.claim.json", "{}\n")


WORK = ["changed.py", "gone.py", "link", "new/deep/ä \n.py", "run.sh", "staged.py"]


def files(root: Path) -> dict[str, tuple[str, bytes | str]]:
    """All that is there, with what it is."""
    found: dict[str, tuple[str, bytes | str]] = {}
    for place, folders, names in os.walk(root):
        if ".git" in folders:
            folders.remove(".git")
        for name in names:
            path = Path(place) / name
            told = path.relative_to(root).as_posix()
            if path.is_symlink():
                found[told] = ("link", str(path.readlink()))
            else:
                found[told] = ("program" if os.access(path, os.X_OK) else "file", path.read_bytes())
    return found


def said(root: Path, *arguments: str) -> str:
    told = subprocess.run(
        ["git", "-C", str(root), *arguments], check=True, capture_output=True, text=True, timeout=30
    )
    return told.stdout.strip()


def stashed(root: Path, name: str = NAME, known: str = "") -> list[str]:
    _, tree = uncommitted.find(root, known, OWN)
    return uncommitted.stash(root, known, tree, name, OWN)


def of_moot(found: dict[str, tuple[str, bytes | str]]) -> dict[str, tuple[str, bytes | str]]:
    return {name: what for name, what in found.items() if name.startswith(OWN)}


# -- finding -------------------------------------------------------------------------------------


def test_every_file_that_is_not_committed_is_found_but_for_moots_own(project: Path) -> None:
    assert uncommitted.find(project, "", OWN)[0] == []
    worked_on(project)
    assert uncommitted.find(project, "", OWN)[0] == WORK


def test_what_was_there_before_is_not_found_again(project: Path) -> None:
    worked_on(project)
    _, known = uncommitted.find(project, "", OWN)
    assert uncommitted.find(project, known, OWN) == ([], known)
    write(project, "moot/workflow.json", "{}\n\n")
    assert uncommitted.find(project, known, OWN) == ([], known), "moot's own makes no difference"
    write(project, "changed.py", "more\n")
    assert uncommitted.find(project, known, OWN)[0] == ["changed.py"]
    run_git(project, "add", "-A")
    run_git(project, "commit", "-qm", "More")
    assert uncommitted.find(project, known, OWN)[0] == [], "it is committed"


def test_a_tree_that_git_no_longer_has_is_no_excuse(project: Path) -> None:
    worked_on(project)
    assert uncommitted.find(project, "0" * 40, OWN)[0] == WORK
    assert uncommitted.find(project, "HEAD; rm", OWN)[0] == WORK


def test_without_a_repository_nothing_is_found(tmp_path: Path) -> None:
    write(tmp_path, "a.py", "x\n")
    assert uncommitted.find(tmp_path, "", OWN) == ([], "")


def test_only_the_folder_counts_where_it_is_a_part_of_a_repository(project: Path) -> None:
    worked_on(project)
    write(project, "folder/inner.py", "mine\n")
    write(project, "folder/moot/workflow.json", "{}\n")
    inside = project / "folder"
    assert uncommitted.find(inside, "", OWN)[0] == ["inner.py"]
    before = files(project)
    assert stashed(inside) == ["inner.py"]
    assert files(project) == {**before, "folder/inner.py": ("file", b"folder/inner.py\n" * 9)}
    run_git(project, "stash", "pop")
    assert files(project) == before


# -- stashing ------------------------------------------------------------------------------------


def test_a_stash_takes_everything_away_but_moots_own_and_brings_it_all_back(project: Path) -> None:
    clean = files(project)
    worked_on(project)
    before = files(project)
    staged = said(project, "diff", "--cached", "--", "staged.py")
    assert stashed(project) == WORK
    after = files(project)
    assert of_moot(after) == of_moot(before)
    assert {name: what for name, what in after.items() if not name.startswith(OWN)} == {
        **{name: what for name, what in clean.items() if not name.startswith(OWN)},
        "new/seen.log": ("file", b"ignored\n"),
    }
    assert said(project, "diff", "--cached", "--name-only") == ""
    assert said(project, "stash", "list", "--format=%gs") == NAME
    run_git(project, "stash", "pop", "--index")
    assert files(project) == before
    assert said(project, "diff", "--cached", "--", "staged.py") == staged, "what was staged as well"


def test_a_change_that_is_only_staged_is_stashed_too(project: Path) -> None:
    write(project, "staged.py", "first\n")
    run_git(project, "add", "staged.py")
    write(project, "staged.py", "staged.py\n" * 9)
    assert uncommitted.find(project, "", OWN)[0] == ["staged.py"]
    assert stashed(project) == ["staged.py"]
    assert said(project, "status", "--porcelain") == ""
    run_git(project, "stash", "pop", "--index")
    assert said(project, "show", ":staged.py") == "first"


def test_only_what_was_asked_about_is_stashed(project: Path) -> None:
    write(project, "built.py", "of an earlier batch\n")
    _, known = uncommitted.find(project, "", OWN)
    write(project, "mine.py", "mine\n")
    assert stashed(project, known=known) == ["mine.py"]
    assert (project / "built.py").exists()
    assert uncommitted.find(project, known, OWN)[0] == []
    run_git(project, "stash", "pop")
    assert (project / "mine.py").read_text(encoding="utf-8") == "mine\n"


def refused(project: Path, known: str = "") -> str:
    before, index = files(project), (project / ".git" / "index").read_bytes()
    with pytest.raises(GitRefused) as caught:
        stashed(project, known=known)
    assert files(project) == before
    assert (project / ".git" / "index").read_bytes() == index
    assert said(project, "stash", "list") == ""
    return str(caught.value)


def test_a_file_with_work_that_is_to_stay_is_left_to_the_person(project: Path) -> None:
    write(project, "built.py", "of an earlier batch\n")
    _, known = uncommitted.find(project, "", OWN)
    write(project, "built.py", "and mine\n")
    assert "built.py also has changes that are to stay" in refused(project, known)


def test_a_file_that_a_filter_changes_is_left_to_the_person(project: Path) -> None:
    write(project, ".gitattributes", "*.bin filter=lfs\n")
    write(project, "large.bin", "bytes\n")
    assert "large.bin needs a filter" in refused(project)


def test_a_repository_within_is_left_to_the_person(project: Path) -> None:
    write(project, "inner/a.py", "x\n")
    run_git(project / "inner", "init", "-q")
    assert "stash or commit it yourself" in refused(project)
    run_git(project / "inner", "add", "-A")
    run_git(project / "inner", "commit", "-qm", "Begin")
    assert "inner/ is a folder or a repository now" in refused(project)


def test_a_merge_that_is_not_finished_is_left_to_the_person(project: Path) -> None:
    run_git(project, "switch", "-qc", "other")
    write(project, "changed.py", "theirs\n")
    run_git(project, "commit", "-qam", "Theirs")
    run_git(project, "switch", "-q", "main")
    write(project, "changed.py", "ours\n")
    run_git(project, "commit", "-qam", "Ours")
    with pytest.raises(subprocess.CalledProcessError):
        run_git(project, "merge", "other")
    assert "a merge is not finished" in refused(project)


def test_before_the_first_commit_there_is_no_stash_but_a_branch(tmp_path: Path) -> None:
    run_git(tmp_path, "init", "-q", "-b", "main")
    write(tmp_path, "a.py", "x\n")
    _, tree = uncommitted.find(tmp_path, "", OWN)
    with pytest.raises(GitRefused, match="no commit yet"):
        uncommitted.stash(tmp_path, "", tree, NAME, OWN)
    assert uncommitted.create_branch(tmp_path, tree, "moot-x", OWN) == ""
    assert said(tmp_path, "symbolic-ref", "--short", "HEAD") == "moot-x"
    assert files(tmp_path) == {"a.py": ("file", b"x\n")}


def test_work_that_the_person_was_not_shown_is_not_stashed(project: Path) -> None:
    worked_on(project)
    _, tree = uncommitted.find(project, "", OWN)
    write(project, "later.py", "x\n")
    before = files(project)
    with pytest.raises(GitRefused, match="has changed since you were asked"):
        uncommitted.stash(project, "", tree, NAME, OWN)
    with pytest.raises(GitRefused, match="has changed since you were asked"):
        uncommitted.create_branch(project, tree, "moot-x", OWN)
    assert files(project) == before
    assert said(project, "branch", "--show-current") == "main"


def test_a_folder_that_took_a_files_place_keeps_what_git_ignores(project: Path) -> None:
    known = git.snapshot(project)
    assert known
    (project / "changed.py").unlink()
    write(project, "changed.py/mine.py", "mine\n")
    write(project, "changed.py/seen.log", "ignored\n")
    assert "changed.py is a folder" in refused(project)
    with pytest.raises(GitRefused, match=r"changed\.py is a folder now"):
        git.bring_back(project, known, OWN)
    assert (project / "changed.py" / "seen.log").read_text(encoding="utf-8") == "ignored\n"


def test_nothing_that_the_repository_names_is_run(tmp_path: Path) -> None:
    hostile = Hostile(tmp_path)
    root = hostile.root
    (root / ".gitattributes").write_text("*.txt filter=evil\n", encoding="utf-8")
    write(root, "new.py", "mine\n")
    _, known = uncommitted.find(root, "", OWN)
    write(root, "plain.txt", "mine\n")
    with pytest.raises(GitRefused, match=r"plain\.txt needs a filter"):
        stashed(root, known=known)
    write(root, "plain.txt", "plain.txt\n")
    write(root, "newer.py", "mine\n")
    assert stashed(root, known=known) == ["newer.py"]
    assert not (root / "newer.py").exists()
    _, tree = uncommitted.find(root, "", OWN)
    uncommitted.create_branch(root, tree, "moot-x", OWN)
    assert hostile.sprung == []


# -- a new branch --------------------------------------------------------------------------------


def test_a_new_branch_takes_everything_along_and_says_where_it_came_from(project: Path) -> None:
    worked_on(project)
    before, status = files(project), said(project, "status", "--porcelain")
    _, tree = uncommitted.find(project, "", OWN)
    assert uncommitted.create_branch(project, tree, "moot-x", OWN) == "main"
    assert said(project, "branch", "--show-current") == "moot-x"
    assert (files(project), said(project, "status", "--porcelain")) == (before, status)
    write(project, "later.py", "x\n")
    assert uncommitted.create_branch(project, tree, "moot-x", OWN) == "main", "called again after a kill"


def test_a_branch_that_a_kill_has_left_is_used_and_one_of_somebody_else_is_not(project: Path) -> None:
    worked_on(project)
    _, tree = uncommitted.find(project, "", OWN)
    run_git(project, "branch", "moot-x")
    assert uncommitted.create_branch(project, tree, "moot-x", OWN) == "main"
    run_git(project, "switch", "-q", "main")
    run_git(project, "commit", "-qm", "On", "--allow-empty")
    with pytest.raises(GitRefused, match="there is a branch moot-x already"):
        uncommitted.create_branch(project, tree, "moot-x", OWN)


# -- killed at any point -------------------------------------------------------------------------

_KILLED = """
import os, signal, sys
from pathlib import Path
from moot.repo import git, uncommitted

left = int(sys.argv[2])
output, unlink = git.output, Path.unlink
git._NAMES_AT_ONCE = 1

def step():
    global left
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
    left -= 1

def counted_output(root, *arguments, **named):
    if arguments[:2] == ("stash", "store") or arguments[0] in ("checkout-index", "reset"):
        step()
    return output(root, *arguments, **named)

def counted_unlink(path, *arguments, **named):
    if path.is_relative_to(sys.argv[1]):
        step()
    return unlink(path, *arguments, **named)

git.output, Path.unlink = counted_output, counted_unlink
uncommitted.stash(Path(sys.argv[1]), "", sys.argv[3], {name!r}, {own!r})
step()
"""


def test_killed_before_any_step_the_stash_is_finished_by_calling_it_again(
    project: Path, tmp_path: Path
) -> None:
    """Before and after everything that changes a file, the index or the list of stashes."""
    worked_on(project)
    before = files(project)
    _, tree = uncommitted.find(project, "", OWN)
    code = _KILLED.format(own=OWN, name=NAME)
    again = tmp_path / "again"
    # Stored; three files are removed and three are written; the index.
    for step in range(1 + 3 + 3 + 1 + 1):
        shutil.copytree(project, again, symlinks=True)
        killed = subprocess.run(
            [sys.executable, "-c", code, str(again), str(step), tree], check=False, timeout=120
        )
        assert killed.returncode == -signal.SIGKILL, step
        assert of_moot(files(again)) == of_moot(before)
        assert uncommitted.stash(again, "", tree, NAME, OWN) == WORK
        assert uncommitted.find(again, "", OWN)[0] == []
        assert said(again, "stash", "list", "--format=%gs") == NAME, "one, not two"
        run_git(again, "stash", "pop", "--index")
        assert files(again) == before, step
        shutil.rmtree(again)
    ended = subprocess.run([sys.executable, "-c", code, str(project), "9", tree], check=False, timeout=120)
    assert ended.returncode == 0, "those were all"


def test_a_file_that_was_changed_after_a_kill_is_left_as_it_is(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worked_on(project)
    _, tree = uncommitted.find(project, "", OWN)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(git, "write", killed)
        with pytest.raises(KeyboardInterrupt):
            uncommitted.stash(project, "", tree, NAME, OWN)
    write(project, "changed.py", "typed since\n")
    with pytest.raises(GitRefused, match=r"changed\.py has changed since and was left as it is"):
        uncommitted.stash(project, "", tree, NAME, OWN)
    assert (project / "changed.py").read_text(encoding="utf-8") == "typed since\n"
    assert uncommitted.find(project, "", OWN)[0] == ["changed.py"]
    assert said(project, "show", "stash@{0}:changed.py") == "mine"


# -- whatever the work is ------------------------------------------------------------------------

NAMES = st.sampled_from(["kept.py", "changed.py", "folder/inner.py", "a b", "new/x.py", "new/y/z", "-n", "*"])
CONTENT = st.sampled_from([b"", b"one\n", b"\0\xff\r\n", b"kept.py\n" * 9])


def _write(name: str, data: bytes) -> Callable[[Path], None]:
    def step(root: Path) -> None:
        path = root / name
        if not path.is_dir() and not any(parent.is_file() for parent in path.parents):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
            path.write_bytes(data)

    return step


def _remove(name: str) -> Callable[[Path], None]:
    return lambda root: (root / name).unlink(missing_ok=True)


def _add(name: str) -> Callable[[Path], None]:
    def step(root: Path) -> None:
        subprocess.run(
            ["git", "-C", str(root), "--literal-pathspecs", "add", "--all", "--", name],
            check=False,
            capture_output=True,
        )

    return step


STEPS = st.lists(
    st.one_of(st.builds(_write, NAMES, CONTENT), st.builds(_remove, NAMES), st.builds(_add, NAMES)),
    min_size=1,
    max_size=6,
)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_whatever_was_done_a_stash_never_loses_any_of_it(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: list[Callable[[Path], None]]
) -> None:
    # There is nothing to be kept from running here, and looking for it takes half of the time.
    monkeypatch.setattr(git_settings, "harmless", lambda *_: {})
    root = tmp_path / "copy"
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(project, root, symlinks=True)
    for step in steps:
        step(root)
    before, staged = files(root), said(root, "ls-files", "--stage")
    found, _ = uncommitted.find(root, "", OWN)
    assert set(stashed(root)) == set(found) if found else True
    assert uncommitted.find(root, "", OWN)[0] == []
    if found:
        run_git(root, "stash", "pop", "--index")
        assert (files(root), said(root, "ls-files", "--stage")) == (before, staged)
