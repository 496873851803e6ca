"""What whoever drafts a change can find out about the code, in a copy of this very repository."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import tarfile
from collections import Counter
from io import BytesIO
from pathlib import Path

import pytest

from moot.changes.binding import Binding
from moot.changes.service import Changes
from moot.changes.surroundings import surroundings
from moot.llm.messages import Source, Tokens, ToolAnswered, ToolCall
from moot.llm.protocol import Call, Turn
from tests.support.change import write_change
from tests.support.changes import at_work, drafted, silent

ROOT = Path(__file__).parents[2]
MODULE = "src/moot/changes/challenge.py"
_PATH = re.compile(r"[\w.-]+(?:/[\w.-]+)+\.\w+")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What git has of this repository, and nothing else."""
    root = tmp_path_factory.mktemp("copy")
    packed = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=BytesIO(packed)) as archive:
        archive.extractall(root, filter="data")
    return root


class Reader:
    """A model that knows what the request shows, and nothing else: of the files in it whose names have a word
    of the wish, it reads those that it is shown most often."""

    def __init__(self, looks: int) -> None:
        self._looks = looks
        self.was_told: list[str] = []

    def __call__(self, call: Call) -> Turn | str:
        answers = [one.text for one in call.messages if isinstance(one, ToolAnswered)]
        if answers:
            self.was_told = answers
        if len(answers) == self._looks:
            return drafted()
        asked = re.search(r"<asked-for>\n(.*?)\n</asked-for>", call.messages[0].text, re.DOTALL)
        assert asked is not None
        words = {word.lower() for word in re.findall(r"\w{5,}", asked[1])}
        seen = Counter(_PATH.findall("\n".join([*call.shared, call.system, call.messages[0].text])))
        about = [path for path, _ in seen.most_common() if any(word in path.lower() for word in words)]
        assert "path" in next(tool for tool in call.tools if tool.name == "read_file").schema["required"]
        wanted = json.dumps({"path": about[len(answers)]})
        return Turn("", Tokens(1, 1), "tools", (ToolCall(f"t{len(answers)}", "read_file", wanted),))


@pytest.mark.parametrize(
    "wish",
    [
        "Add a dry run to the challenge command: say which reviewer it would be, and what that would cost.",
        "Add a dry run to the challenge command, so that one sees what a reviewer would be given.",
        "moot challenge ID --dry-run should tell me what is going to happen before a reviewer is paid",
    ],
)
def test_in_this_repository_the_challenge_module_is_read_within_three_looks(copy: Path, wish: str) -> None:
    reader, told = Reader(3), list[str]()

    async def propose() -> None:
        async with at_work(copy, [reader] * 4) as moot:
            changes = Changes(moot)
            folder = await changes.propose("dry-run", wish, told.append)
            (call,) = folder.state().calls
            assert any(what.startswith(f"{MODULE} ") for what in call.looked_at)
            assert f"reads {call.looked_at[0]}" in told, "the person hears of it as it is read"
            for path in sorted(folder.path.rglob("*"), reverse=True):
                path.unlink() if path.is_file() else path.rmdir()
            folder.path.rmdir()

    asyncio.run(propose())
    assert any("class Challenging:" in answer for answer in reader.was_told)


def test_a_first_look_at_this_repository_has_the_command_and_what_the_project_says_of_itself(
    copy: Path,
) -> None:
    found = surroundings(copy, "Add a dry run to the challenge command")
    names = [one.name for one in found]
    assert names[:2] == ["the file CONTRIBUTING.md", "the file README.md"]
    assert any("challenge() in src/moot/cli/challenge.py" in name for name in names)
    likely = text_of(found, "where the words of the wish occur")
    assert re.search(
        r"^In src/moot/changes/: .*\bmodel_reviewer\.py, .*\breview_tools\.py, ", likely, re.MULTILINE
    )


def text_of(found: tuple[Source, ...], name: str) -> str:
    return next(one.text for one in found if one.name == name)


def test_a_first_look_follows_the_names_in_the_design_too(tmp_path: Path) -> None:
    put(tmp_path, "till.py", "def count_coins():\n    return 1\n")
    calls: list[Call] = []

    def reply(call: Call) -> str:
        calls.append(call)
        return drafted()

    async def propose() -> None:
        async with at_work(tmp_path, [reply]) as moot:
            design = Binding("# Coins\n\n- `count_coins` rounds up.\n")
            await Changes(moot).propose("coins", "Be exact.", silent, design)

    asyncio.run(propose())
    assert "return 1" in "\n".join(calls[0].shared)


def test_a_drafter_hears_of_the_other_changes_of_the_workspace(tmp_path: Path) -> None:
    write_change(tmp_path / "moot/changes/feat-auth", "challenged")
    put(tmp_path, "moot/changes/broken/STATE.yaml", "phase: [")
    calls: list[Call] = []

    def reply(call: Call) -> str:
        calls.append(call)
        return drafted()

    async def propose() -> None:
        async with at_work(tmp_path, [reply]) as moot:
            await Changes(moot).propose("coins", "Be exact.", silent)

    asyncio.run(propose())
    told = "\n".join(calls[0].shared)
    assert "- feat-auth (challenged): Passkeys\n</other-changes>" in told


def put(root: Path, name: str, text: str) -> None:
    place = root / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8")


def test_nothing_is_cut_before_it_is_seen_whether_it_fits(tmp_path: Path) -> None:
    """A README of many lines, and a folder of many files."""
    lines = [f"Line {number} of it." for number in range(500)]
    put(tmp_path, "README.md", "\n".join(lines))
    for number in range(150):
        put(tmp_path, f"a-folder-with-a-rather-long-name/and-a-file-with-one-{number:03}.py", "x = 1\n")
    found = surroundings(tmp_path, "Anything")
    assert all(f"| {line}" in text_of(found, "the file README.md") for line in lines)
    assert "and-a-file-with-one-149.py" in text_of(found, "a look at the workspace")


def test_of_what_is_too_long_it_is_said_how_long_it_is(tmp_path: Path) -> None:
    put(tmp_path, "README.md", "A line.\n" * 4_000)
    found = surroundings(tmp_path, "Anything")
    assert text_of(found, "how long README.md is").startswith("README.md has 4,000 lines, and is too long")


def test_a_file_that_the_wish_names_is_given_once_and_last(tmp_path: Path) -> None:
    put(tmp_path, "README.md", "# Shop\n")
    put(tmp_path, "app.py", "def total():\n    return 1\n")
    names = [one.name for one in surroundings(tmp_path, "Mend README.md", "It is in app.py.")]
    assert names.count("the file README.md") == 1
    assert names[-2:] == ["the file app.py", "the file README.md"]


def test_files_that_may_hold_secrets_say_nothing_of_themselves(tmp_path: Path) -> None:
    put(tmp_path, "README.md", "# Shop\n")
    (tmp_path / "CONTRIBUTING.md").symlink_to("/etc/hostname")
    names = [one.name for one in surroundings(tmp_path, "Anything")]
    assert "the file CONTRIBUTING.md" not in names
