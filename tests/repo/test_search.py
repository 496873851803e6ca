"""The project without what moot has written about it."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from pathlib import Path

from moot.repo import search
from moot.repo.keywords import keyword
from moot.repo.listing import Mention
from moot.repo.search import Found

AUTHOR = {
    "GIT_AUTHOR_NAME": "Ann",
    "GIT_AUTHOR_EMAIL": "ann@example.org",
    "GIT_COMMITTER_NAME": "Ann",
    "GIT_COMMITTER_EMAIL": "ann@example.org",
}


def run_git(root: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(root), *arguments],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | AUTHOR,
        timeout=30,
    ).stdout.strip()


def put_file(root: Path, name: str, text: str = "x\n") -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


def test_what_moot_has_written_is_not_the_project(tmp_path: Path) -> None:
    put_file(tmp_path, "src/app.py")
    put_file(tmp_path, "moot/steps/own.md")
    put_file(tmp_path, "moot/itemsets.py")
    put_file(tmp_path, "moot/items/a/main.py")
    put_file(tmp_path, "moot/items/a/pyproject.toml", '[project]\nscripts = {a = "a:b"}\n')
    put_file(tmp_path, "moot/designs/2026-11-15-a.md")
    put_file(tmp_path, "moot/changes/a/proposal.md")
    put_file(tmp_path, "moot/workflow.json")
    put_file(tmp_path, "moot/queue.json")
    seen = search.look(tmp_path)
    assert seen.files == ("moot/itemsets.py", "moot/steps/own.md", "src/app.py")
    assert seen.suffixes == ((".py", 2), (".md", 1))
    assert seen.manifests == ()
    assert "moot/items/a/main.py" not in seen.entry_points


def test_items_of_another_tool_are_not_the_project_either(tmp_path: Path) -> None:
    put_file(tmp_path, "docs/guide.md")
    put_file(tmp_path, "docs/requirements/a/meta.json", "{}")
    put_file(tmp_path, "docs/requirements/a/quick-scan.md")
    assert search.look(tmp_path).files == ("docs/guide.md",)


def test_a_search_counts_lines_and_keeps_the_first_of_each_word(tmp_path: Path) -> None:
    put_file(tmp_path, "a.py", "import port_list\n\nport = 1; port = 2\r\nbold = port\nedit(port)\n")
    put_file(tmp_path, "b.py", "import os\n")
    files = ["a.py", "b.py", "gone.py"]
    assert search.search(tmp_path, files, [keyword("port"), keyword("edits")]) == {
        "a.py": Found(
            lines=Counter({"port": 4, "edits": 1}),
            first={
                "port": Mention("a.py", 1, "import port_list", "port"),
                "edits": Mention("a.py", 5, "edit(port)", "edits"),
            },
            mentioning=4,
            length=5,
        )
    }


def test_secrets_hidden_and_made_files_are_never_searched(tmp_path: Path) -> None:
    names = [".env", ".aws/credentials", "deploy/.env.local", "id_rsa", "server.pem", "keys/api.KEY",
             "package-lock.json", "uv.lock", "web/app.min.js", "logo.svg"]  # fmt: skip
    for name in [*names, "keyboard.py"]:
        put_file(tmp_path, name, "password\n")
    assert list(search.search(tmp_path, [*names, "keyboard.py"], [keyword("password")])) == ["keyboard.py"]


def test_a_long_line_is_cut_around_the_word_and_shows_no_escapes(tmp_path: Path) -> None:
    put_file(tmp_path, "a.py", "x" * 300 + " \x1b[31m\tport " + "y" * 300)
    (found,) = search.search(tmp_path, ["a.py"], [keyword("port")]).values()
    text = found.first["port"].text
    assert len(text) == 160
    assert "\ufffd[31m port yyy" in text


def test_no_single_file_hides_the_others_where_words_are_cited(tmp_path: Path) -> None:
    put_file(tmp_path, "a.py", "word\n" * 100)
    put_file(tmp_path, "b.py", "other\nword\n")
    put_file(tmp_path, "c.py", "word other\n")
    found = search.search(tmp_path, ["a.py", "b.py", "c.py"], [keyword("word"), keyword("other")])
    cited = [(each.file, each.line) for each in search.cite(found, ("word", "other"))]
    assert cited == [("a.py", 1), ("b.py", 1), ("b.py", 2), ("c.py", 1)]


def test_the_fingerprint_is_the_commit(tmp_path: Path) -> None:
    run_git(tmp_path, "init", "-q", "-b", "main")
    put_file(tmp_path, "a.py")
    run_git(tmp_path, "add", ".")
    before = search.fingerprint(tmp_path)
    assert before.startswith("sha256:")
    run_git(tmp_path, "commit", "-q", "-m", "Begin")
    assert search.fingerprint(tmp_path) == run_git(tmp_path, "rev-parse", "HEAD")


def test_without_git_the_fingerprint_follows_names_and_sizes(tmp_path: Path) -> None:
    put_file(tmp_path, "a.py", "one")
    first = search.fingerprint(tmp_path)
    put_file(tmp_path, "moot/items/x/meta.json", "{}")
    assert search.fingerprint(tmp_path) == first
    put_file(tmp_path, "a.py", "longer")
    second = search.fingerprint(tmp_path)
    (tmp_path / "a.py").rename(tmp_path / "b.py")
    assert len({first, second, search.fingerprint(tmp_path)}) == 3
