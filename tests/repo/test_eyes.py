"""What a model may look up in a workspace: never private, within two budgets, and nothing cut unsaid."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from moot.llm.context import BYTES_PER_TOKEN
from moot.llm.messages import ToolFault
from moot.repo.eyes import LONGEST_LINE, SPEC_TOKENS, Eyes
from moot.repo.reading import MAX_CHARACTERS
from tests.files.test_paths import LINKS, hostile_paths
from tests.support.hostile_repository import Hostile

ALL = 1_000_000


def look(eyes: Eyes, tool: str, **given: Any) -> str:
    """As a model would: its input is validated first."""
    tools = {one.name: one for one in eyes.tools()}
    one = tools[tool]
    return asyncio.run(one.run(one.takes.model_validate(given)))  # type: ignore[arg-type]


def refused(eyes: Eyes, tool: str, **given: Any) -> str:
    with pytest.raises(ToolFault) as caught:
        look(eyes, tool, **given)
    return str(caught.value)


def git(root: Path, *arguments: str) -> None:
    who = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false")
    when = {"GIT_AUTHOR_DATE": "2026-03-01T12:00:00Z", "GIT_COMMITTER_DATE": "2026-03-01T12:00:00Z"}
    subprocess.run(
        ["git", "-C", str(root), *who, *arguments],
        check=True,
        capture_output=True,
        timeout=30,
        env={"PATH": "/usr/bin:/bin", "HOME": str(root)} | when,
    )


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    for name, text in {
        "src/app.py": "def dry_run():\n    return price(1)\n\n\ndef price(n):\n    return n\n",
        "tests/test_app.py": "from app import price\n",
        "README.md": "The price is right.\n",
        ".env": "PRICE_KEY=hunter2\n",
        "deploy/server.pem": "price\n",
        "moot/designs/one.md": "price\n",
        "package-lock.json": "price\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


@pytest.fixture
def repository(shop: Path) -> Path:
    git(shop, "init", "-q", "-b", "main")
    git(shop, "add", "-A", "-f")
    git(shop, "commit", "-qm", "Begin\n\nBecause of the price.")
    (shop / "src" / "app.py").write_text("def price(n):\n    return n\n", encoding="utf-8")
    (shop / ".env").write_text("PRICE_KEY=hunter3\n", encoding="utf-8")
    git(shop, "commit", "-qam", "Drop the dry run")
    return shop


# -- looking -------------------------------------------------------------------------------------


def test_a_folder_is_listed_without_what_is_private(shop: Path) -> None:
    eyes = Eyes(shop, 5, ALL)
    assert look(eyes, "list_directory").splitlines() == [
        "[the top folder: names 1–6 of 6, to the end]",
        "README.md",
        "deploy/",
        "moot/",
        "package-lock.json",
        "src/",
        "tests/",
        "[looks left: 4]",
    ]
    assert look(eyes, "list_directory", path="deploy").splitlines() == [
        "[deploy/: nothing]",
        "[looks left: 3]",
    ]
    assert eyes.looked_at == ("the top folder", "deploy/")


def test_a_file_is_read_with_the_numbers_of_its_lines(shop: Path) -> None:
    told: list[str] = []
    eyes = Eyes(shop, 5, ALL, told.append)
    assert look(eyes, "read_file", path="./src//app.py", offset=4, limit=2).splitlines() == [
        "[src/app.py: lines 4–5 of 6; go on with offset=6]",
        "4| ",
        "5| def price(n):",
        "[looks left: 4]",
    ]
    assert look(eyes, "read_file", path="src/app.py", offset=6).splitlines()[0] == (
        "[src/app.py: lines 6–6 of 6, to the end]"
    )
    assert told == ["src/app.py 4–5", "src/app.py 6–6"] == list(eyes.looked_at)


def test_an_empty_file_has_nothing_in_it(shop: Path) -> None:
    (shop / "empty.py").touch()
    assert look(Eyes(shop, 1, ALL), "read_file", path="empty.py").splitlines() == [
        "[empty.py: nothing]",
        "[this was the last look]",
    ]


def test_a_text_is_found_in_code_before_tests_before_prose_and_nowhere_else(shop: Path) -> None:
    eyes = Eyes(shop, 5, ALL)
    assert look(eyes, "search", text="PRICE").splitlines() == [
        "[lines with “PRICE”: lines 1–4 of 4, to the end]",
        "src/app.py:2: return price(1)",
        "src/app.py:5: def price(n):",
        "tests/test_app.py:1: from app import price",
        "README.md:1: The price is right.",
        "[looks left: 4]",
    ]
    assert eyes.looked_at == ("lines with “PRICE”",)


@pytest.mark.parametrize("text", ["dry run", "dryRun", "dry-run", "Dry  Run"])
def test_where_no_line_has_a_text_those_that_spell_it_in_another_way_are_found(shop: Path, text: str) -> None:
    lines = look(Eyes(shop, 5, ALL), "search", text=text).splitlines()
    assert lines[1:3] == [
        "src/app.py:1: def dry_run():",
        "[no line has it word for word; these spell it in another way]",
    ]


def test_a_search_keeps_to_a_folder_and_moot_s_own_files_are_searched_where_they_are_named(
    shop: Path,
) -> None:
    eyes = Eyes(shop, 5, ALL)
    assert "tests/test_app.py:1" in look(eyes, "search", text="price", path="tests")
    assert "src/app.py" not in look(eyes, "search", text="price", path="tests/")
    assert "moot/designs/one.md:1: price" in look(eyes, "search", text="price", path="moot")
    assert "nothing" in look(eyes, "search", text="no such thing", path="src/app.py")


def test_a_search_says_where_to_go_on(shop: Path) -> None:
    (shop / "src" / "long.py").write_text("needle\n" * 100, encoding="utf-8")
    eyes = Eyes(shop, 5, ALL)
    first = look(eyes, "search", text="needle")
    assert first.startswith("[lines with “needle”: lines 1–60 of 100; go on with offset=61]")
    assert look(eyes, "search", text="needle", offset=61).count("needle") == 41
    assert refused(eyes, "search", text="needle", offset=101) == (
        "lines with “needle” has 100 lines: offset=101 is behind its end."
    )


def test_a_text_that_is_everywhere_is_said_to_be(shop: Path) -> None:
    (shop / "src" / "long.py").write_text("needle\n" * 1_001, encoding="utf-8")
    assert "of 1000; " in look(Eyes(shop, 5, ALL), "search", text="needle")
    assert "only the first 1,000 lines with it are known" in look(Eyes(shop, 5, ALL), "search", text="needle")


def test_a_long_line_is_shown_around_what_was_found_and_said_to_be_longer(shop: Path) -> None:
    (shop / "src" / "long.py").write_text("x" * 500 + "needle" + "y" * 500, encoding="utf-8")
    line = look(Eyes(shop, 5, ALL), "search", text="needle").splitlines()[1]
    assert line.startswith("src/long.py:1: … x")
    assert line.endswith("y …")
    assert "needle" in line


def test_commits_are_listed_with_their_messages(repository: Path) -> None:
    lines = look(Eyes(repository, 5, ALL), "git_log").splitlines()
    assert lines[0] == "[git log: commits 1–2 of 2, to the end]"
    assert lines[1].endswith(" 2026-03-01 Drop the dry run")
    assert lines[2].endswith(" 2026-03-01 Begin")
    assert lines[3] == "    Because of the price."
    assert "Drop" not in look(Eyes(repository, 5, ALL), "git_log", path="README.md")


def test_a_commit_is_shown_without_what_is_private(repository: Path) -> None:
    eyes = Eyes(repository, 5, ALL)
    commit = look(eyes, "git_log").splitlines()[1].split(" ")[0]
    shown = look(eyes, "git_diff", commit=commit)
    assert "| -def dry_run():" in shown
    assert "hunter" not in shown
    assert "[1 more changed file, private or too many, not shown]" in shown
    assert eyes.looked_at == ("git log", f"git diff {commit}")
    assert "nothing" in look(eyes, "git_diff", commit=commit, path="tests")


def test_what_is_not_committed_is_shown_and_new_files_are_named(repository: Path) -> None:
    (repository / "README.md").write_text("The price is wrong.\n", encoding="utf-8")
    (repository / ".env").write_text("PRICE_KEY=hunter4\n", encoding="utf-8")
    (repository / "new.py").write_text("x = 1\n", encoding="utf-8")
    (repository / "new.pem").write_text("x = 1\n", encoding="utf-8")
    shown = look(Eyes(repository, 5, ALL), "git_diff")
    assert "| +The price is wrong." in shown
    assert "hunter" not in shown
    assert "read with read_file: new.py]" in shown


def test_a_file_that_was_renamed_is_shown_as_that_unless_one_of_its_names_is_private(
    repository: Path,
) -> None:
    git(repository, "mv", "src/app.py", "src/till.py")
    git(repository, "mv", "deploy/server.pem", "deploy/server.txt")
    shown = look(Eyes(repository, 5, ALL), "git_diff")
    assert "rename from src/app.py" in shown
    assert "rename to src/till.py" in shown
    assert "def dry_run" not in shown, "nothing in it is another"
    assert "server.pem" not in shown
    assert "new file mode" in shown, "what it was called before is not said"
    git(repository, "commit", "--quiet", "-m", "Rename")
    head = (repository / ".git" / "refs" / "heads" / "main").read_text().strip()
    assert "rename to src/till.py" in look(Eyes(repository, 5, ALL), "git_diff", commit=head)


def test_where_there_is_no_git_that_is_said(shop: Path) -> None:
    eyes = Eyes(shop, 5, ALL)
    assert refused(eyes, "git_log") == "Git has no history of this."
    assert (
        refused(eyes, "git_diff")
        == refused(eyes, "git_diff", commit="abcdef")
        == "There is no such commit here."
    )


@pytest.mark.parametrize("commit", ["HEAD", "--output=x", "main", "abc", "../x", "ABCDEF"])
def test_a_commit_is_named_by_its_id_alone(repository: Path, commit: str) -> None:
    with pytest.raises(ValidationError):
        look(Eyes(repository, 5, ALL), "git_diff", commit=commit)


def test_git_runs_nothing_that_the_repository_names(tmp_path: Path) -> None:
    hostile = Hostile(tmp_path)
    with (hostile.root / ".git" / "config").open("a", encoding="utf-8") as config:
        trap = f"{hostile.root}/.git/traps/program"
        config.write(f'[diff]\n\texternal = {trap}\n[diff "evil"]\n\tcommand = {trap}\n\ttextconv = {trap}\n')
        config.write(f"[pager]\n\tlog = {trap}\n\tshow = {trap}\n[color]\n\tui = always\n")
    (hostile.root / ".gitattributes").write_text("* diff=evil\n", encoding="utf-8")
    (hostile.root / "plain.txt").write_text("changed\n", encoding="utf-8")
    eyes = Eyes(hostile.root, 5, ALL)
    commit = look(eyes, "git_log").splitlines()[1].split(" ")[0]
    assert "+changed" in look(eyes, "git_diff")
    assert "\x1b" not in look(eyes, "git_diff", commit=commit)
    assert hostile.sprung == []


# -- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize("path", [".env", "deploy/server.pem", ".git/config", "innocent.txt"])
@pytest.mark.parametrize("tool", ["read_file", "list_directory", "search", "git_log", "git_diff"])
def test_what_is_private_is_refused_by_every_tool(repository: Path, tool: str, path: str) -> None:
    (repository / "innocent.txt").symlink_to(".env")
    more = {"text": "price"} if tool == "search" else {}
    eyes = Eyes(repository, 5, ALL)
    assert (
        refused(eyes, tool, path=path, **more) == f"{path!r} is private and cannot be read. Go on without it."
    )
    assert eyes.looked_at == ()


@settings(max_examples=60, deadline=None)
@given(
    path=hostile_paths,
    tool=st.sampled_from(["read_file", "list_directory", "search", "git_log", "git_diff"]),
)
def test_no_path_leads_out(tmp_path_factory: pytest.TempPathFactory, path: str, tool: str) -> None:
    base = tmp_path_factory.mktemp("base")
    (base / "outside").mkdir()
    (base / "outside" / "secret.txt").write_text("secret", encoding="utf-8")
    root = base / "root"
    (root / "sub" / "deep").mkdir(parents=True)
    for name, leads_to in LINKS.items():
        (root / name).symlink_to(leads_to.replace("ROOT", str(root)))
    more = {"text": "secret"} if tool == "search" else {}
    try:
        said = look(Eyes(root, 5, ALL), tool, path=path, **more)
    except (ToolFault, ValidationError) as fault:
        said = str(fault)
    assert "1| secret" not in said
    assert str(base) not in said


def test_a_link_that_leads_out_is_refused(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("secret", encoding="utf-8")
    root = tmp_path / "root"
    root.mkdir()
    (root / "out").symlink_to("../outside")
    assert "leads outside the folder" in refused(Eyes(root, 5, ALL), "read_file", path="out/secret.txt")
    assert "nothing" in look(Eyes(root, 5, ALL), "search", text="secret")


def test_a_file_with_a_nul_is_no_text(shop: Path) -> None:
    (shop / "blob").write_bytes(b"a\0b")
    assert refused(Eyes(shop, 5, ALL), "read_file", path="blob") == "'blob' is no text and cannot be read."


def test_a_file_that_is_not_there_is_answered_with_those_of_its_name(shop: Path) -> None:
    assert refused(Eyes(shop, 5, ALL), "read_file", path="app.py") == (
        "There is no file 'app.py'. There is: src/app.py."
    )
    assert refused(Eyes(shop, 5, ALL), "read_file", path="x.py") == (
        "There is no file 'x.py'. Search for it, or list a folder."
    )


def test_names_with_controls_do_not_act(shop: Path) -> None:
    (shop / "src" / "a\x1b[2Jb\n").touch()
    assert "a\ufffd[2Jb\ufffd" in look(Eyes(shop, 5, ALL), "list_directory", path="src")
    eyes = Eyes(shop, 5, ALL)
    look(eyes, "search", text="a\x1b[2J\nb")
    assert eyes.looked_at == ("lines with “a[2J b”",)


# -- the budget of calls -------------------------------------------------------------------------


@pytest.mark.parametrize(("looks", "read"), [(1, 1), (2, 2), (3, 2)])
def test_as_many_looks_are_answered_as_there_are_and_then_it_is_said_plainly(
    shop: Path, looks: int, read: int
) -> None:
    """With one look too few, exactly enough, and one to spare."""
    eyes = Eyes(shop, looks, ALL)
    answers = [
        look(eyes, "read_file", path="README.md", offset=1),
        look(eyes, "read_file", path="src/app.py"),
    ]
    assert sum("price" in answer for answer in answers) == read
    assert eyes.is_open == (looks == 3)
    if looks == 1:
        assert answers[1] == (
            "Nothing more can be read: all 1 looks are used. Answer now with what you have, and say what you "
            "could not check."
        )
        assert eyes.looked_at == ("README.md 1–1",)


def test_a_refused_look_counts(shop: Path) -> None:
    eyes = Eyes(shop, 1, ALL)
    refused(eyes, "read_file", path=".env")
    assert not eyes.is_open
    assert look(eyes, "list_directory").startswith("Nothing more can be read")


# -- the budget of tokens ------------------------------------------------------------------------


def cost_of(root: Path, lines: int) -> int:
    """Tokens of an answer with the file's first lines."""
    answer = look(Eyes(root, 2, ALL), "read_file", path="long.py", limit=lines)
    return -(-len(answer.encode()) // BYTES_PER_TOKEN)


@pytest.mark.parametrize(("more", "lines"), [(-1, 99), (0, 100), (1, 100)])
def test_what_fits_exactly_is_given_whole_and_one_token_less_says_where_to_go_on(
    tmp_path: Path, more: int, lines: int
) -> None:
    (tmp_path / "long.py").write_text("".join(f"line {n:03}\n" for n in range(1, 101)), encoding="utf-8")
    eyes = Eyes(tmp_path, 2, cost_of(tmp_path, 100) + more)
    answer = look(eyes, "read_file", path="long.py")
    assert answer.count("line ") == lines
    assert ("go on with offset=" in answer) == (lines < 100)
    assert eyes.looked_at == (f"long.py 1–{lines}",)


def test_what_was_read_and_what_is_read_next_share_the_budget(tmp_path: Path) -> None:
    (tmp_path / "long.py").write_text("".join(f"line {n:03}\n" for n in range(1, 101)), encoding="utf-8")
    eyes = Eyes(tmp_path, 9, cost_of(tmp_path, 100) + cost_of(tmp_path, 50))
    assert look(eyes, "read_file", path="long.py").count("line ") == 100
    assert 45 <= look(eyes, "read_file", path="long.py").count("line ") <= 50
    assert look(eyes, "read_file", path="long.py").startswith(
        "Nothing more can be read: the room for it is used up"
    )
    assert not eyes.is_open


def test_where_not_even_a_line_fits_nothing_more_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "long.py").write_text("x" * 3_000, encoding="utf-8")
    eyes = Eyes(tmp_path, 9, 500)
    assert look(eyes, "read_file", path="long.py").startswith("Nothing more can be read: the room")
    assert eyes.looked_at == ()
    assert not eyes.is_open


@settings(max_examples=40, deadline=None)
@given(
    lines=st.lists(
        st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=300), max_size=60
    ),
    tokens=st.integers(1, 3_000),
    calls=st.integers(1, 5),
)
def test_what_is_read_never_exceeds_the_budget_and_nothing_is_cut_unsaid(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], tokens: int, calls: int
) -> None:
    root = tmp_path_factory.mktemp("root")
    (root / "file.py").write_text("\n".join(lines), encoding="utf-8")
    eyes = Eyes(root, calls, tokens)
    spent, offset = 0, 1
    for _ in range(calls):
        try:
            answer = look(eyes, "read_file", path="file.py", offset=offset)
        except ToolFault:
            break
        if answer.startswith("Nothing more"):
            break
        spent += -(-len(answer.encode()) // BYTES_PER_TOKEN)
        if "go on with offset=" not in answer:
            break
        offset = int(answer.partition("offset=")[2].partition("]")[0])
    assert spent <= tokens


def test_a_line_beyond_measure_is_cut_and_said_to_be(tmp_path: Path) -> None:
    (tmp_path / "bundle.js").write_text("x" * (LONGEST_LINE + 1) + "\nlast\n", encoding="utf-8")
    answer = look(Eyes(tmp_path, 2, ALL), "read_file", path="bundle.js")
    assert "… (1 more characters of this line are not shown)\n2| last\n" in answer


def test_one_look_gives_no_more_than_any_client_passes_on(tmp_path: Path) -> None:
    (tmp_path / "wide.py").write_text(("y" * 3_000 + "\n") * 20, encoding="utf-8")
    answer = look(Eyes(tmp_path, 2, ALL), "read_file", path="wide.py")
    assert len(answer) <= MAX_CHARACTERS
    assert "lines 1–13 of 20; go on with offset=14]" in answer


# -- always --------------------------------------------------------------------------------------


def test_the_same_calls_give_the_same_answers(repository: Path) -> None:
    calls: list[Callable[[Eyes], str]] = [
        lambda eyes: look(eyes, "list_directory"),
        lambda eyes: look(eyes, "search", text="price"),
        lambda eyes: look(eyes, "read_file", path="src/app.py"),
        lambda eyes: look(eyes, "git_log"),
        lambda eyes: look(eyes, "git_diff"),
    ]
    once, again = Eyes(repository, 9, ALL), Eyes(repository, 9, ALL)
    assert [call(once) for call in calls] == [call(again) for call in calls]


def test_the_tools_are_described_within_what_is_set_aside_for_it(shop: Path) -> None:
    described = [json.dumps(dict(one.spec().schema)) + one.description for one in Eyes(shop, 1, ALL).tools()]
    assert sum(map(len, described)) // BYTES_PER_TOKEN < SPEC_TOKENS
    assert described == [
        json.dumps(dict(one.spec().schema)) + one.description for one in Eyes(shop, 9, 9).tools()
    ]
