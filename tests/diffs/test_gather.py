"""The diffs of real repositories; what is private is left out aloud."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from moot.changes import review_block
from moot.changes.review_block import Issue, Review, Severity, Verdict
from moot.diffs.gather import (
    MOST_PLANS,
    Gathered,
    of_plan,
    of_plan_at,
    of_text,
    of_workspace,
    read_plan,
)
from moot.diffs.patch import Status
from moot.errors import GitRefused, InvalidInput, NotFound
from tests.support.change import write_change

SECRET = "AKIA" + "ABCDEFGHIJKLMNOP"


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A branch that has left main, and main that has gone on."""
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "shop.py").write_text("a = 1\nb = 2\n")
    (tmp_path / "moved.py").write_text("x = 1\ny = 2\nz = 3\n")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "one")
    git(tmp_path, "switch", "-qc", "feature")
    (tmp_path / "shop.py").write_text("a = 1\nb = 3\n")
    git(tmp_path, "commit", "-qam", "two")
    git(tmp_path, "switch", "-q", "main")
    (tmp_path / "later.py").write_text("later = 1\n")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "three")
    git(tmp_path, "switch", "-q", "feature")
    return tmp_path


def shown(gathered: Gathered) -> list[tuple[str, Status]]:
    return [(file.path, file.status) for file in gathered.patch.files]


def test_uncommitted_work_is_with_new_files_and_renames(repo: Path) -> None:
    (repo / "moved.py").rename(repo / "new name.py")
    (repo / "new.py").write_text("n = 1\n")
    (repo / ".gitignore").write_text("ignored\n")
    (repo / "ignored").write_text("i\n")
    git(repo, "config", "diff.noprefix", "true")
    gathered = of_workspace(repo)
    assert gathered.what == "the work that is not committed"
    assert shown(gathered) == [
        (".gitignore", Status.ADDED), ("new name.py", Status.RENAMED), ("new.py", Status.ADDED),
    ]  # fmt: skip
    # Nothing of the person's was staged for that.
    staged = subprocess.run(["git", "diff", "--cached"], cwd=repo, check=True, capture_output=True).stdout
    assert staged == b""


def test_staged_work_is_only_what_is_staged(repo: Path) -> None:
    (repo / "shop.py").write_text("a = 5\nb = 3\n")
    git(repo, "add", "shop.py")
    (repo / "shop.py").write_text("a = 6\nb = 3\n")
    gathered = of_workspace(repo, staged=True)
    assert (gathered.what, gathered.patch.files[0].lines[1].text) == ("what is staged", "a = 5")
    since = of_workspace(repo, "main", staged=True)
    assert since.what == "what is staged since main"
    assert [line.text for line in since.patch.files[0].lines if line.sign == "+"] == ["a = 5", "b = 3"]


def test_a_base_counts_from_where_the_branch_left_it(repo: Path) -> None:
    (repo / "new.py").write_text("n = 1\n")
    gathered = of_workspace(repo, "main")
    assert (gathered.what, gathered.intent) == ("all changes since main", "two")
    assert shown(gathered) == [("new.py", Status.ADDED), ("shop.py", Status.MODIFIED)]


def test_ranges_are_as_git_has_them(repo: Path) -> None:
    (repo / "new.py").write_text("n = 1\n")
    assert shown(of_workspace(repo, "main...feature")) == [("shop.py", Status.MODIFIED)]
    git(repo, "commit", "--allow-empty", "-qm", "four\n\nBecause of three.")
    assert of_workspace(repo, "main...feature").intent == "two\n\nfour\n\nBecause of three."
    git(repo, "commit", "--allow-empty", "-qm", f"the key is {SECRET}")
    assert of_workspace(repo, "main...feature").intent == ""
    assert shown(of_workspace(repo, "main..feature")) == [
        ("later.py", Status.DELETED), ("shop.py", Status.MODIFIED),
    ]  # fmt: skip
    assert shown(of_workspace(repo, "main...")) == [("shop.py", Status.MODIFIED)]


def test_a_repository_without_a_commit_has_all_of_it_new(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "a.py").write_text("a = 1\n")
    assert shown(of_workspace(tmp_path)) == [("a.py", Status.ADDED)]


def test_names_in_a_folder_of_a_repository_are_below_it(repo: Path) -> None:
    (repo / "sub").mkdir()
    (repo / "sub" / "a.py").write_text("a = 1\n")
    (repo / "new.py").write_text("n = 1\n")
    assert shown(of_workspace(repo / "sub")) == [("a.py", Status.ADDED)]


@pytest.mark.parametrize("base", ["nowhere", "--output=x", "main..nowhere", "main\0"])
def test_what_is_no_commit_is_said_to_be_none(repo: Path, base: str) -> None:
    with pytest.raises(NotFound):
        of_workspace(repo, base)
    assert not (repo / "x").exists()


def test_nothing_and_nowhere_are_said(repo: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    assert of_workspace(repo).patch.files == ()
    with pytest.raises(InvalidInput, match="is no part of main"):
        of_workspace(repo, "main..feature", staged=True)
    git(repo, "switch", "-q", "--orphan", "alone")
    git(repo, "commit", "-q", "--allow-empty", "-m", "alone")
    with pytest.raises(InvalidInput, match="no commit in common"):
        of_workspace(repo, "main")
    with pytest.raises(InvalidInput, match="git has nothing to say here"):
        of_workspace(tmp_path_factory.mktemp("none"))


def test_what_is_private_or_has_a_secret_is_left_out_aloud(repo: Path) -> None:
    (repo / ".env").write_text("KEY=1\n")
    (repo / "shop.py").write_text(f"a = 1\nb = 3\nkey = '{SECRET}'\n")
    (repo / "new.py").write_text("n = 1\n")
    (repo / "i.bin").write_bytes(b"\0\1\2")
    gathered = of_workspace(repo)
    assert [name for name, _ in shown(gathered)] == ["i.bin", "new.py"]
    assert gathered.left_out == (
        ".env: private",
        "shop.py: line 3 looks like an AWS access key",
        "i.bin: binary, only its name is shown",
    )
    assert SECRET not in gathered.patch.text


def test_a_private_file_that_is_renamed_stays_out() -> None:
    text = "diff --git a/.env b/plain\nsimilarity index 100%\nrename from .env\nrename to plain\n"
    with pytest.raises(InvalidInput, match="can be shown to a reviewer: plain"):
        of_text(text)


def test_a_secret_in_a_name_is_found_too() -> None:
    text = f"diff --git a/{SECRET} b/{SECRET}\nold mode 100644\nnew mode 100755\n"
    other = "diff --git a/run b/run\nold mode 100644\nnew mode 100755\n"
    assert of_text(text + other).left_out == (f"{SECRET}: its header looks like an AWS access key",)


def test_a_plan_is_a_diff_that_adds_it() -> None:
    gathered = of_plan("# Plan\n\nDo it.\n", "docs/plan.md")
    assert gathered.what == "the plan in docs/plan.md"
    [file] = gathered.patch.files
    assert (file.path, file.status) == ("plan.md", Status.ADDED)
    assert [(line.new, line.text) for line in file.lines] == [(1, "# Plan"), (2, ""), (3, "Do it.")]
    assert of_plan("Do it.", "").what == "the plan that was handed over"


def test_the_folder_of_a_change_is_a_plan_without_its_reviews(tmp_path: Path) -> None:
    place = tmp_path / "feat-auth"
    write_change(place)
    (place / "AGENTS.md").write_text("For reviewers.\n")
    proposal = place / "proposal.md"
    review = Review(Verdict.NEEDS_REVISION, (Issue(Severity.HIGH, "No rate limit."),), "No.", "")
    proposal.write_text(review_block.append(proposal.read_text(), review))
    gathered = of_plan_at(place)
    assert gathered.what == f"the plan in {place}"
    assert [file.path for file in gathered.patch.files] == ["proposal.md", "specs/sign-in.md", "tasks.md"]
    assert "Passwords get phished." in gathered.patch.text
    assert "rate limit" not in gathered.patch.text
    assert "rate limit" not in of_plan_at(proposal).patch.text
    held = read_plan(place)
    assert '<file name="specs/sign-in.md">' in held
    assert "rate limit" not in held + read_plan(proposal)


def test_any_folder_with_markdown_in_it_is_a_plan(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no Markdown file"):
        of_plan_at(tmp_path)
    for name in ("b.md", "sub/a.md", ".git/c.md", "empty.md", "code.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("" if name == "empty.md" else "# Do it\n")
    assert [file.path for file in of_plan_at(tmp_path).patch.files] == ["b.md", "sub/a.md"]
    for number in range(MOST_PLANS):
        (tmp_path / f"{number}.md").write_text("# Do it\n")
    with pytest.raises(InvalidInput, match="name one, or a smaller folder"):
        read_plan(tmp_path)
    with pytest.raises(NotFound, match="nowhere"):
        of_plan_at(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("plan", "problem"), [(" \n", "is empty"), (f"a\n{SECRET}", "line 2 looks like an AWS")]
)
def test_a_plan_that_goes_to_nobody_is_refused(plan: str, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        of_plan(plan, "plan.md")


def test_a_series_that_changes_a_file_twice_says_how_its_lines_are_counted() -> None:
    one = "--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n+a\n b\n"
    other = "--- a/x\n+++ b/x\n@@ -2 +2 @@\n-b\n+c\n"
    [note] = of_text(one + other).left_out
    assert note == "x: changed 2 times in this patch, and lines are counted after each change by itself"


def test_what_git_cannot_show_is_said(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moot.repo.git.difference", lambda *_, **__: None)
    with pytest.raises(GitRefused, match="cannot show the work that is not committed"):
        of_workspace(repo)
    monkeypatch.setattr("moot.repo.git.snapshot", lambda *_: None)
    with pytest.raises(GitRefused, match="what the folder is now"):
        of_workspace(repo)
