"""A survey tells what is there, within bounds, and is led nowhere else."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moot.processes import git_settings
from moot.repo import git, listing
from moot.repo.keywords import keyword
from moot.repo.listing import Survey, look, named_files, tree
from moot.repo.search import search

AUTHOR = {
    "GIT_AUTHOR_NAME": "Ann",
    "GIT_AUTHOR_EMAIL": "ann@example.org",
    "GIT_COMMITTER_NAME": "Ann",
    "GIT_COMMITTER_EMAIL": "ann@example.org",
}


def run_git(root: Path, *arguments: str) -> None:
    subprocess.run(
        ["git", "-C", str(root), *arguments],
        check=True,
        capture_output=True,
        env=os.environ | AUTHOR,
        timeout=30,
    )


def put_file(root: Path, name: str, text: str = "x\n") -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


def of(*files: str, capped: bool = False) -> Survey:
    return Survey(files, capped, (), (), (), "", in_git=False, log=())


def containing(word: str, root: Path, seen: Survey) -> list[str]:
    return list(search(root, seen.files, [keyword(word)]))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository in which nothing is committed yet."""
    root = tmp_path / "project"
    root.mkdir()
    run_git(root, "init", "-q", "-b", "main")
    return root


# -- with git ------------------------------------------------------------------------------------


def test_git_says_what_belongs_to_the_project(project: Path) -> None:
    put_file(project, ".gitignore", "secret.txt\nout/\n")
    put_file(project, "src/app.py")
    put_file(project, "node_modules/kept/index.js")
    put_file(project, "gone.py")
    run_git(project, "add", ".")
    run_git(project, "commit", "-q", "-m", "Begin\n\nbody")
    (project / "gone.py").unlink()
    put_file(project, "secret.txt")
    put_file(project, "out/made.py")
    put_file(project, "new.py")
    seen = look(project)
    assert seen.files == (".gitignore", "new.py", "node_modules/kept/index.js", "src/app.py")
    assert (seen.in_git, seen.capped) == (True, False)
    assert seen.suffixes == ((".py", 2), (".js", 1))
    assert seen.log == ("Begin",)


def test_the_log_is_the_last_ten_subjects(project: Path) -> None:
    for number in range(12):
        run_git(project, "commit", "-q", "--allow-empty", "-m", f"Number {number}\n\nbody")
    run_git(project, "commit", "-q", "--allow-empty", "-m", "\x1b[31mred " + "x" * 300)
    seen = look(project)
    assert seen.log[0] == "\ufffd[31mred " + "x" * 191
    assert seen.log[1:] == tuple(f"Number {number}" for number in range(11, 2, -1))


def test_a_repository_without_commits_has_no_log(project: Path) -> None:
    put_file(project, "a.py")
    seen = look(project)
    assert (seen.files, seen.log, seen.in_git) == (("a.py",), (), True)


def test_a_folder_of_a_repository_is_surveyed_alone(project: Path) -> None:
    put_file(project, "outer.py")
    put_file(project, "part/inner.py")
    assert look(project / "part").files == ("inner.py",)


def test_a_folder_that_the_repository_around_it_ignores_is_walked(project: Path) -> None:
    put_file(project, ".gitignore", "play/\n")
    put_file(project, "play/game.py")
    seen = look(project / "play")
    assert (seen.files, seen.in_git) == (("game.py",), False)


def test_a_repository_that_ignores_everything_has_no_files(project: Path) -> None:
    put_file(project, ".gitignore", "*\n")
    put_file(project, "secret.py")
    seen = look(project)
    assert (seen.files, seen.in_git) == ((), True)


def test_the_repository_of_a_hook_is_not_mistaken_for_this_one(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_file(project, "here.py")
    other = tmp_path / "other"
    other.mkdir()
    run_git(other, "init", "-q")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    assert look(project).files == ("here.py",)


def test_a_repository_cannot_have_its_programs_run(project: Path, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\n", encoding="utf-8")
    trap.chmod(0o755)
    put_file(project, "a.py")
    run_git(project, "add", ".")
    run_git(project, "commit", "-q", "-m", "One")
    for key in ("core.fsmonitor", "core.pager", "pager.log", "gpg.program", "core.sshCommand"):
        run_git(project, "config", key, str(trap))
    run_git(project, "config", "log.showSignature", "true")
    assert look(project).log == ("One",)
    assert not (tmp_path / "sprung").exists()


def test_without_git_installed_the_folder_is_walked(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_file(project, "a.py")
    monkeypatch.setenv("PATH", "")
    seen = look(project)
    assert (seen.files, seen.in_git, seen.log) == (("a.py",), False, ())


def test_a_git_that_hangs_is_given_up(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = tmp_path / "bin" / "git"
    put_file(tmp_path, "bin/git", "#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    put_file(project, "a.py")
    monkeypatch.setenv("PATH", f"{slow.parent}:{os.environ['PATH']}")
    for module in (git, git_settings):
        monkeypatch.setattr(module, "_SECONDS", 0.1)
    assert look(project).files == ("a.py",)


def test_a_list_that_git_does_not_finish_is_cut_between_names(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("aa", "bb", "cc"):
        put_file(project, name)
    monkeypatch.setattr(git, "_MOST_BYTES", 7)
    seen = look(project)
    assert (seen.files, seen.capped) == (("aa", "bb"), True)


# -- without git ---------------------------------------------------------------------------------


@pytest.fixture
def plain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in no repository, wherever the tests run."""
    monkeypatch.setattr(git, "files", lambda _: None)
    return tmp_path


def test_a_walk_passes_over_what_is_not_the_projects_own(plain: Path) -> None:
    for name in (
        "src/app.py",
        ".env",
        ".cache/x.py",
        "node_modules/a/index.js",
        "src/__pycache__/app.pyc",
        "venv/bin/python",
        "docs/build/made.html",
        "README",
    ):
        put_file(plain, name)
    assert look(plain).files == ("README", "src/app.py")


def test_a_real_folder_without_a_repository_is_walked(tmp_path: Path) -> None:
    put_file(tmp_path, "a.py")
    seen = look(tmp_path)
    assert (seen.files, seen.in_git, seen.log) == (("a.py",), False, ())


def test_an_empty_folder_has_an_empty_survey(plain: Path) -> None:
    seen = look(plain)
    assert seen == of()
    assert tree(seen) == ""
    assert containing("x", plain, seen) == []
    assert look(plain / "missing") == of()


def test_a_folder_that_may_not_be_read_is_passed_over(plain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_file(plain, "a.py")
    put_file(plain, "locked/b.py")
    scandir = os.scandir

    def refusing(path: Path) -> object:
        if Path(path).name == "locked":
            raise PermissionError
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    assert look(plain).files == ("a.py",)


# -- bounds and traps ----------------------------------------------------------------------------


@pytest.mark.parametrize("with_git", [True, False])
def test_of_too_many_files_the_nearest_are_taken_and_it_says_so(
    project: Path, monkeypatch: pytest.MonkeyPatch, with_git: bool
) -> None:
    for name in ("a/deep/er/1.py", "a/deep/2.py", "a/3.py", "z.py", "b/4.py", "y.py"):
        put_file(project, name)
    monkeypatch.setattr(listing, "MOST_FILES", 4)
    if not with_git:
        monkeypatch.setattr(git, "files", lambda _: None)
    seen = look(project)
    assert seen.files == ("a/3.py", "b/4.py", "y.py", "z.py")
    assert seen.capped
    assert tree(seen).splitlines()[-1] == "… only the first 4 files were looked at"
    monkeypatch.setattr(listing, "MOST_FILES", 6)
    assert (len(look(project).files), look(project).capped) == (6, False)


@pytest.mark.parametrize("bound", ["_MOST_FOLDERS", "_MOST_IN_A_FOLDER"])
def test_a_walk_that_is_cut_short_says_so(plain: Path, monkeypatch: pytest.MonkeyPatch, bound: str) -> None:
    for name in ("a/1.py", "b/2.py", "c/3.py"):
        put_file(plain, name)
    monkeypatch.setattr(listing, bound, 2)
    seen = look(plain)
    assert seen.capped
    assert len(seen.files) < 3


def test_thirty_thousand_files_are_capped(plain: Path) -> None:
    for folder in range(30):
        (plain / f"f{folder}").mkdir()
        for number in range(1000):
            os.close(os.open(plain / f"f{folder}" / f"{number}.py", os.O_CREAT | os.O_WRONLY))
    seen = look(plain)
    assert (len(seen.files), seen.capped) == (20_000, True)


@pytest.mark.parametrize("with_git", [True, False])
def test_links_are_never_followed(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, with_git: bool
) -> None:
    put_file(tmp_path, "outside/secret.py", "needle\n")
    put_file(project, "own.py", "needle\n")
    (project / "README.md").symlink_to(tmp_path / "outside" / "secret.py")
    (project / "pyproject.toml").symlink_to(tmp_path / "outside" / "secret.py")
    (project / "folder").symlink_to(tmp_path / "outside")
    (project / "circle").symlink_to(project)
    os.mkfifo(project / "pipe")
    if not with_git:
        monkeypatch.setattr(git, "files", lambda _: None)
    seen = look(project)
    assert (seen.files, seen.readme, seen.manifests) == (("own.py",), "", ())
    assert containing("needle", project, seen) == ["own.py"]


def test_a_file_that_becomes_a_link_after_the_survey_is_not_followed(plain: Path, tmp_path: Path) -> None:
    root = plain / "root"
    put_file(root, "a.py", "needle")
    put_file(tmp_path, "secret.py", "needle")
    seen = look(root)
    (root / "a.py").unlink()
    (root / "a.py").symlink_to(tmp_path / "secret.py")
    assert containing("needle", root, seen) == []


def test_names_that_would_forge_what_is_shown_are_left_out(project: Path) -> None:
    put_file(project, "good.py")
    put_file(project, "two\nlines.py")
    put_file(project, "red\x1b[31m.py")
    (project / os.fsdecode(b"\xff.py")).write_text("x", encoding="utf-8")
    put_file(project, "größe.py")
    assert look(project).files == ("good.py", "größe.py")


def test_changes_are_not_part_of_what_they_change(project: Path) -> None:
    for name in (
        "moot/changes/a/proposal.md",
        "moot/archive/2026-01-01-b/proposal.md",
        "moot/designs/c.md",
        "moot/specs/sign-in.md",
        "src/moot/changes/d.py",
    ):
        put_file(project, name)
    assert look(project).files == ("moot/designs/c.md", "moot/specs/sign-in.md", "src/moot/changes/d.py")


def test_the_changes_of_another_tool_are_not_either(project: Path) -> None:
    put_file(project, "agentd/changes/a/proposal.md")
    put_file(project, "agentd/config.toml")
    assert look(project).files == ("agentd/config.toml",)


def test_the_same_workspace_gives_the_same_survey(project: Path) -> None:
    for name in ("b/x.py", "a.py", "c/d/e.rs", "README.md"):
        put_file(project, name)
    assert look(project) == look(project)


# -- what kind of project ------------------------------------------------------------------------


def test_manifests_and_entry_points_are_named(plain: Path) -> None:
    put_file(plain, "pyproject.toml", '[project]\nname = "p"\n[project.scripts]\nmoot = "moot.cli:main"\n')
    put_file(plain, "web/package.json", '{"name": "page", "main": "index.js", "bin": {"run": "run.js"}}')
    put_file(plain, "tool/package.json", '{"name": "tool", "bin": "tool.js"}')
    put_file(plain, "rust/Cargo.toml", '[[bin]]\nname = "fast"\npath = "src/fast.rs"\n')
    put_file(plain, "rust/src/main.rs")
    put_file(plain, "src/p/__main__.py")
    seen = look(plain)
    assert seen.manifests == ("pyproject.toml", "rust/Cargo.toml", "tool/package.json", "web/package.json")
    assert seen.entry_points == (
        "moot = moot.cli:main (pyproject.toml)",
        "fast = src/fast.rs (rust/Cargo.toml)",
        "tool = tool.js (tool/package.json)",
        "run = run.js (web/package.json)",
        "main = index.js (web/package.json)",
        "rust/src/main.rs",
        "src/p/__main__.py",
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", "[project"),
        ("pyproject.toml", "project = 1"),
        ("pyproject.toml", "[project]\nscripts = 3"),
        ("package.json", "{"),
        ("package.json", "[]"),
        ("package.json", '{"bin": 3}'),
        ("package.json", '{"bin": ["a"]}'),
        ("package.json", "[" * 100_000),
        ("pyproject.toml", "a = " + "[" * 5000 + "]" * 5000),
        ("pyproject.toml", ".".join("a" * 20_000) + " = 1"),
        ("Cargo.toml", "bin = 1"),
        ("Cargo.toml", "[[bin]]\npath = 'x'"),
        ("Cargo.toml", "\0"),
    ],
)
def test_a_manifest_that_makes_no_sense_declares_nothing(plain: Path, name: str, text: str) -> None:
    put_file(plain, name, text)
    seen = look(plain)
    assert (seen.manifests, seen.entry_points) == ((name,), ())


def test_the_readme_is_its_first_eighty_lines(plain: Path) -> None:
    put_file(plain, "readme.txt", "not this")
    put_file(plain, "docs/README.md", "nor this")
    put_file(plain, "ReadMe.md", "\ufeff# Title\r\n" + "".join(f"line {n}\r\n" for n in range(2, 200)))
    lines = look(plain).readme.split("\n")
    assert (lines[0], lines[1], lines[-1], len(lines)) == ("# Title", "line 2", "line 80", 80)


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"x" * 1_000_001, b"a\0b"])
def test_a_readme_that_is_no_text_is_passed_over(plain: Path, content: bytes) -> None:
    (plain / "README.md").write_bytes(content)
    seen = look(plain)
    assert (seen.files, seen.readme) == (("README.md",), "")


# -- the tree ------------------------------------------------------------------------------------


def test_a_tree_shows_two_levels_and_counts_the_rest() -> None:
    seen = of("a-b/x.py", "a/b/c/d.py", "a/b/e.py", "a/f.py", "g.py")
    assert tree(seen) == ("a-b/ (1 file)\n  x.py\na/ (3 files)\n  b/ (2 files)\n  f.py\ng.py")
    assert tree(seen, depth=1) == "a-b/ (1 file)\na/ (3 files)\ng.py"
    assert "      d.py" in tree(seen, depth=4)


def test_a_long_tree_is_cut_and_says_so() -> None:
    lines = tree(of(*(f"{number:03}.py" for number in range(250)))).splitlines()
    assert (len(lines), lines[0], lines[199]) == (201, "000.py", "199.py")
    assert lines[200] == "… and 50 more lines"


# -- searching ------------------------------------------------------------------------------------


def test_binary_and_large_files_are_not_searched(plain: Path) -> None:
    put_file(plain, "fits.txt", "needle" + " " * (1_000_000 - 6))
    put_file(plain, "large.txt", "needle" + " " * (1_000_001 - 6))
    put_file(plain, "nul.bin", "needle\0")
    (plain / "latin.txt").write_bytes(b"needle \xe9")
    put_file(plain, "bom.txt", "\ufeffneedle")
    assert containing("needle", plain, look(plain)) == ["bom.txt", "fits.txt"]


def test_a_search_reads_only_so_much(plain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b", "c"):
        put_file(plain, name, "needle")
    monkeypatch.setattr(listing, "_MOST_BYTES_SEARCHED", 7)
    assert containing("needle", plain, look(plain)) == ["a", "b"]


def test_files_that_are_gone_since_the_survey_are_passed_over(plain: Path) -> None:
    put_file(plain, "a", "needle")
    seen = look(plain)
    (plain / "a").unlink()
    assert containing("needle", plain, seen) == []


# -- named files ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Change src/app/main.py.", ("src/app/main.py",)),
        ("see `src/app/main.py:12`, and ./setup.cfg", ("src/app/main.py", "setup.cfg")),
        ("in app/main.py:12:3 (and @/Makefile)", ("src/app/main.py", "Makefile")),
        ("main.py is long", ("src/app/main.py",)),
        ("every __init__.py", ()),
        ("two.py twice: two.py", ("a/two.py", "b/two.py")),
        ("a/two.py", ("a/two.py",)),
        ("`my notes.txt` and `run`", ("my notes.txt", "run")),
        ("make it run", ()),
        ("domain.py xsrc/app/main.py src/app/main.pyc", ()),
        ("../src/app/main.py", ()),
        ("", ()),
    ],
)
def test_a_text_names_files(text: str, expected: tuple[str, ...]) -> None:
    packages = tuple(f"{name}/__init__.py" for name in "abcd")
    seen = of(
        "Makefile", "a/two.py", "b/two.py", "my notes.txt", "run", "setup.cfg", "src/app/main.py", *packages
    )
    assert named_files(seen, text) == expected


@given(text=st.text(max_size=200), files=st.lists(st.text(min_size=1, max_size=20), max_size=5, unique=True))
@settings(max_examples=60, deadline=None)
def test_whatever_a_text_says_only_files_of_the_survey_are_named(text: str, files: list[str]) -> None:
    named = named_files(of(*files), text + " " + " ".join(files))
    assert set(named) <= set(files)
    assert len(named) == len(set(named))
