"""A test command that comes with a repository is not run before the person has confirmed exactly it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from moot.app import Moot
from moot.changes.testing import ConfirmedTests
from moot.errors import InvalidInput
from tests.support.changes import at_work


def within(root: Path, do: Callable[[Moot], Any], settings: str = "") -> Any:
    async def whole() -> Any:
        async with at_work(root, (), settings) as moot:
            vars(moot).update(user_tests_file=root.parent / "data" / "tests.json")
            return do(moot)

    root.mkdir(exist_ok=True)
    return asyncio.run(whole())


def command_of(moot: Moot) -> str:
    return ConfirmedTests(moot).command


def test_what_is_confirmed_holds_for_this_workspace_and_no_other(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    assert within(one, command_of) == ""
    within(one, lambda moot: ConfirmedTests(moot).keep(" make test "))
    assert (within(one, command_of), within(other, command_of)) == ("make test", "")
    within(other, lambda moot: ConfirmedTests(moot).keep("tox"))
    within(one, lambda moot: ConfirmedTests(moot).keep("make check"))
    assert (within(one, command_of), within(other, command_of)) == ("make check", "tox")


def test_a_repository_confirms_nothing(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (root / "moot.toml").write_text('[implement]\ntest = "touch owned"\n', encoding="utf-8")
    assert within(root, command_of) == ""
    assert within(root, lambda moot: ConfirmedTests(moot).found()[0].command) == "touch owned"
    assert "`touch owned` was found in moot.toml, and is not run" in str(
        within(root, lambda moot: ConfirmedTests(moot).hint())
    )


def test_the_persons_own_settings_need_no_confirmation(tmp_path: Path) -> None:
    root = tmp_path / "project"
    assert within(root, command_of, "[implement]\ntest = 'make own'\n") == "make own"
    assert within(root, lambda moot: ConfirmedTests(moot).hint()) == ""


@pytest.mark.parametrize("text", ["{", "[]", '{"x": 1}', "\xff"])
def test_what_was_kept_and_makes_no_sense_confirms_nothing(text: str, tmp_path: Path) -> None:
    kept = tmp_path / "data" / "tests.json"
    kept.parent.mkdir()
    kept.write_bytes(text.encode("latin-1"))
    assert within(tmp_path / "project", command_of) == ""


@pytest.mark.parametrize("command", ["", "  ", "make\ntest", "make \x1b[8mtest", "x" * 1_001])
def test_what_is_no_command_is_not_kept(command: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput):
        within(tmp_path / "project", lambda moot: ConfirmedTests(moot).keep(command))


def test_files_are_read_within_the_workspace_alone(tmp_path: Path) -> None:
    root = tmp_path / "project"
    (root / ".github" / "workflows").mkdir(parents=True)
    (tmp_path / "Makefile").write_text("test:\n", encoding="utf-8")
    (root / "Makefile").symlink_to(tmp_path / "Makefile")
    (root / "README.md").mkdir()
    (root / ".github" / "workflows" / "ci.yaml").write_text("- run: tox -e py\n", encoding="utf-8")
    found = within(root, lambda moot: [(one.command, one.source) for one in ConfirmedTests(moot).found()])
    assert found == [("tox -e py", ".github/workflows/ci.yaml")]
