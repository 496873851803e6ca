"""Killed at any moment, a command leaves a change that can go on, and nobody is paid twice for one review."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Literal

import pytest

from moot.changes import review_block
from moot.changes.folder import ChangeFolder
from moot.changes.review_shapes import IssueGiven
from moot.changes.review_tools import ReviewTools
from moot.files import timestamps
from tests.stub.script import Behaviour
from tests.stub.server import StubServer
from tests.support.change import HIGH, PROPOSAL, Change
from tests.support.killing import COMMANDS
from tests.support.ready import Popen
from tests.support.waiting import until

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("command", COMMANDS)
def test_killed_at_every_step_of_writing(command: str, tmp_path: Path) -> None:
    """Each file that the command writes is left out, half written, or written but not yet in its place."""
    ended = subprocess.run(
        [sys.executable, "-m", "tests.support.killing", command, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout) > 10, "so many steps at least, each killed once"


def killed_at_request(change: Change, number: int, *arguments: str) -> None:
    """The real command, killed while the model is being asked for the so-many-th time."""
    process = Popen(
        change.command(*arguments),
        env=change.env,
        cwd=change.root,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until(lambda: len(change.stub.requests) == number)
    finally:
        process.kill()
        assert process.wait(timeout=30) == -signal.SIGKILL


NEVER = Behaviour(text="…", first_token_delay=600)
READS = Behaviour(
    tool_calls=tuple(
        ("read_file", {"path": path}) for path in ("proposal.md", "specs/sign-in.md", "tasks.md")
    )
)


def leave_review(change: Change, verdict: Literal["REJECTED"], *issues: dict[str, str]) -> None:
    """As a challenge does that is killed between its review and counting it."""
    folder = ChangeFolder("feat-auth", change.path)
    tools = ReviewTools(folder, change.root, timestamps.now, lambda _: None, folder.begin_run("model", "m"))
    tools.give()
    tools.append_review(verdict, [IssueGiven.model_validate(issue) for issue in issues], "Read it.")


@pytest.mark.parametrize("before", [(), (READS,)], ids=["asked", "reading"])
def test_a_challenge_that_is_killed_before_its_review(
    before: tuple[Behaviour, ...], tmp_path: Path, stub: StubServer
) -> None:
    change = Change("moot", tmp_path, stub)
    change.stub.script(*before, NEVER)
    killed_at_request(change, len(before) + 1, "challenge", "feat-auth")
    folder = ChangeFolder("feat-auth", change.path)
    assert (folder.state().phase, folder.proposal()) == ("proposed", PROPOSAL)
    change.reviewer_says("APPROVED")
    again = change.run("challenge", "feat-auth")
    assert (again.code, again.out.splitlines()[0]) == (0, "APPROVED - Ready for implementation!"), again.err
    assert len(review_block.blocks(change.read("proposal.md"))) == 1
    assert folder.state().phase == "challenged"
    assert [path.name for path in change.path.iterdir() if path.name.startswith(".")] == []


def test_a_challenge_that_is_killed_behind_its_review(tmp_path: Path, stub: StubServer) -> None:
    change = Change("moot", tmp_path, stub)
    leave_review(change, "REJECTED", HIGH)
    [written] = review_block.blocks(change.read("proposal.md"))
    folder = ChangeFolder("feat-auth", change.path)
    assert folder.state().phase == "proposed", "nobody has counted it yet"
    listed = change.run("changes")
    assert "REJECTED" in listed.out, "the verdict of the last complete review"
    assert "its last review does not count yet: moot challenge feat-auth" in listed.out
    again = change.run("challenge", "feat-auth")
    assert (again.code, again.out.splitlines()[0]) == (0, "REJECTED - Fundamental problems"), again.err
    assert "an earlier run ended before its review was counted" in again.err
    assert not change.stub.requests, "nobody is asked again"
    assert [block.raw for block in review_block.blocks(change.read("proposal.md"))] == [written.raw]
    assert folder.state().phase == "rejected"
    assert "does not count yet" not in change.run("changes").out


@pytest.mark.parametrize("command", ["reproposal", "implement"])
def test_a_review_that_a_killed_challenge_left_counts_for_other_commands(
    command: str, tmp_path: Path, stub: StubServer
) -> None:
    change = Change("moot", tmp_path, stub)
    change.write("STATE.yaml", "change_id: feat-auth\nphase: challenged\nreviews: []\n")
    leave_review(change, "REJECTED", HIGH)
    ended = change.run(command, "feat-auth")
    assert "an earlier run ended before its review was counted" in ended.err
    assert change.state["reviews"][0]["verdict"] == "REJECTED"
    if command == "implement":
        assert ended.code == 1
        assert "implement is not possible at step 'rejected'" in ended.err
    else:
        assert "works from 1 open issue" in ended.err


def test_a_drafter_that_is_killed_leaves_the_old_text(tmp_path: Path, stub: StubServer) -> None:
    change = Change("moot", tmp_path, stub)
    change.reviewer_says("NEEDS_REVISION", HIGH)
    assert change.run("challenge", "feat-auth").code == 0
    before = {path: path.read_bytes() for path in change.path.rglob("*.md")}
    asked = len(change.stub.requests)
    change.stub.script(NEVER)
    killed_at_request(change, asked + 1, "reproposal", "feat-auth")
    assert {path: path.read_bytes() for path in change.path.rglob("*.md")} == before
    change.drafter_says()
    again = change.run("reproposal", "feat-auth")
    assert again.code == 0, again.err
    assert "People who lost it get a link." in change.read("proposal.md")
