"""What is not committed, as git tells it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from moot.repo import git


def run_git(root: Path, *arguments: str) -> None:
    who = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
    subprocess.run(["git", "-C", str(root), *who, *arguments], check=True, capture_output=True, timeout=30)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in ("kept.py", "changed.py", "renamed.py", "gone.py"):
        (tmp_path / name).write_text(f"{name}\n" * 9, encoding="utf-8")
    run_git(tmp_path, "init", "-q")
    run_git(tmp_path, "add", "-A")
    run_git(tmp_path, "commit", "-qm", "Begin")
    return tmp_path


def test_a_clean_repository_has_nothing_uncommitted(project: Path) -> None:
    assert git.uncommitted(project) == ()


def test_everything_that_is_not_committed_is_named(project: Path) -> None:
    (project / "changed.py").write_text("x\n", encoding="utf-8")
    (project / "gone.py").unlink()
    (project / "new\nline.py").write_text("x\n", encoding="utf-8")
    run_git(project, "mv", "renamed.py", "other name.py")
    named = {"changed.py", "gone.py", "new\nline.py", "other name.py", "renamed.py"}
    assert set(git.uncommitted(project)) == named
    (project / "folder").mkdir()
    (project / "folder" / "inner.py").write_text("x\n", encoding="utf-8")
    assert git.uncommitted(project / "folder") == ("inner.py",)


def test_without_a_repository_there_is_nothing_to_commit(tmp_path: Path) -> None:
    assert git.uncommitted(tmp_path) == ()
