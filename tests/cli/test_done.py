"""A workflow is "Done" only where the work is: real programs that write nonsense, cheat, go in circles or
hang are never done, each is said plainly, and one reply brings everything back to what it was."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.stub.script import Behaviour, Recorded
from tests.stub.server import StubServer
from tests.support.change import DRAFT
from tests.support.command import Ended
from tests.support.shop import Brain, Shop

APP = "def total(prices):\n    return sum(prices)\n"
TESTS = """\
import unittest

from app import total


class TotalTest(unittest.TestCase):
    def test_adds_up(self):
        self.assertEqual(total([100, 250]), 350)

    def test_an_empty_basket(self):
        self.assertEqual(total([]), 0)
"""
GOOD = """\
write("app.py", "def total(prices, off=0):\\n    return sum(prices) * (100 - off) // 100\\n")
write("test_app.py", read("test_app.py") + "\\n    def test_takes_off(self):\\n"
      "        self.assertEqual(total([999], 10), 899)\\n")
"""
TASK = "Let total() in app.py take a discount, with a test in test_app.py"
_AGENT = """\
import os, pathlib, sys, time
order = sys.stdin.read()
def read(name): return pathlib.Path(name).read_text(encoding="utf-8")
def write(name, text):
    pathlib.Path(name).parent.mkdir(parents=True, exist_ok=True)
    pathlib.Path(name).write_text(text, encoding="utf-8")
{does}
print("All done, and every test passes.")
"""


class Judging(Brain):
    """Has nothing against any diff."""

    def __call__(self, request: Recorded) -> Behaviour:
        if request.schema is not None and "findings" in request.schema["properties"]:
            self.asked.append("diff")
            clean = {"findings": [], "summary": "It does the task.", "rejects": False}
            return Behaviour(json_text=json.dumps(clean))
        return super().__call__(request)


class Till(Shop):
    """A repository with tests that pass, work of the person's own beside them, and an agent."""

    def __init__(self, folder: Path, stub: StubServer, does: str, settings: str = "") -> None:
        super().__init__(folder, stub)
        self.brain = Judging(plan={**DRAFT, "tasks": [TASK]})
        stub.default = self.brain
        self.write("app.py", APP)
        self.write("test_app.py", TESTS)
        self.write("other.py", "# Not of this task.\n")
        self.write(".gitignore", "__pycache__/\n")
        self.git("add", "-A")
        self.git("commit", "-qm", "Add up")
        self.write("notes.txt", "mine, and not committed\n")
        self.write("other.py", "# Not of this task.\n# mine, and staged\n")
        self.git("add", "other.py")
        agent = folder / "agent.py"
        agent.write_text(_AGENT.format(does=does), encoding="utf-8")
        command, test = json.dumps([sys.executable, str(agent)]), f"{sys.executable} -m unittest -q"
        self.user_says(
            f"[implement]\ncommand = {command}\ntest = {json.dumps(test)}\nattempts = 2\n"
            f"[workflow]\nunattended = true\nscript_retries = 0\n{settings}"
        )

    def build(self, *replies: Any) -> Ended:
        return self.brainstormed({"at": "uncommitted", "reply": "G"}, "A", "A", *replies)

    def standing(self) -> dict[str, Any]:
        """All that git and the folder know, but for moot's own files."""
        files = (path for path in self.root.rglob("*") if path.is_file())
        own = (self.root / "moot", self.root / ".git")
        return {
            "files": {
                path.relative_to(self.root).as_posix(): path.read_bytes()
                for path in files
                if not any(path.is_relative_to(one) for one in own) and "__pycache__" not in path.parts
            },
            "head": self._ask("rev-parse", "HEAD"),
            "branch": self._ask("branch", "--list"),
            "index": self._ask("ls-files", "--stage"),
            "status": self._ask("status", "--porcelain", "-uall", "--", ".", ":!moot"),
            "stash": self._ask("stash", "list"),
        }

    def _ask(self, *arguments: str) -> str:
        asked = ["/usr/bin/git", "-C", str(self.root), *arguments]
        return subprocess.run(asked, check=True, capture_output=True, text=True).stdout

    @property
    def change(self) -> Path:
        [folder] = (self.root / "moot" / "changes").iterdir()
        return folder


BAD = {
    "a syntax error": (
        'write("app.py", "def total(prices, off=0:\\n")',
        "-m unittest -q` ended with 1",
    ),
    "deleted tests": (
        GOOD + 'write("test_app.py", read("test_app.py").replace("def test_an_empty", "def an_empty"))',
        "It takes away what would show that the task is not done",
    ),
    "a deleted test file": (
        'write("app.py", read("app.py") + "\\n# faster now\\n")\nos.remove("test_app.py")',
        "It takes away what would show that the task is not done",
    ),
    "ticked boxes": (
        '[change] = pathlib.Path("moot/changes").iterdir()\n'
        'write(change / "tasks.md", read(change / "tasks.md").replace("[ ]", "[x]"))',
        "changed nothing but the change's own files, in which a ticked box is no work",
    ),
    "nothing": ("pass", "changed nothing, and said: All done, and every test passes."),
    "edits outside of the task": (
        GOOD + 'write("deploy/run.sh", "rm -rf /\\n")\nwrite("other.py", "# Mine now.\\n")',
        "It goes beyond the task",
    ),
    "circles": (
        'write("app.py", "def total(prices):\\n    return 0\\n")',
        "goes in circles: it has left the very files of an earlier attempt",
    ),
    "a hanging agent": (GOOD + "time.sleep(600)", "hung or took too long"),
    "an agent that ends badly": (GOOD + "sys.exit(3)", "3"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_work_is_never_done_is_said_plainly_and_comes_off_without_a_trace(
    stub: StubServer, tmp_path: Path, case: str
) -> None:
    does, said = BAD[case]
    till = Till(tmp_path, stub, does, "timeout_secs = 4\n" if "hanging" in case else "")
    before = till.standing()
    ended = till.build({"at": "open-tasks", "reply": "U"}, {"at": "open-tasks", "reply": "X"})
    assert ended.code == 0, ended.err
    told = " ".join((ended.out + ended.err).split())
    assert said in told
    assert "Done:" not in ended.out
    assert "0 of 1 tasks done" in ended.out
    assert (till.workflow["phase"], till.workflow["stopped"]) == ("execute", True)
    assert f"- [ ] {TASK}" in (till.change / "tasks.md").read_text(encoding="utf-8")
    assert "phase: complete" not in (till.change / "STATE.yaml").read_text(encoding="utf-8")
    assert till.standing() == before


def test_what_was_not_done_stays_as_it_was_left_until_the_person_decides(
    stub: StubServer, tmp_path: Path
) -> None:
    till = Till(tmp_path, stub, BAD["a syntax error"][0])
    till.build({"at": "open-tasks", "reply": "X"})
    assert till.read("app.py") == "def total(prices, off=0:\n"
    assert till.read("notes.txt") == "mine, and not committed\n"


def test_a_skipped_task_is_said_to_be_open_at_the_end(stub: StubServer, tmp_path: Path) -> None:
    till = Till(tmp_path, stub, BAD["a syntax error"][0])
    ended = till.build({"at": "open-tasks", "reply": "U"}, {"at": "open-tasks", "reply": "S"})
    assert "0 of 1 tasks done; what was skipped stays open in tasks.md" in ended.out
    assert "Done:" not in ended.out
    assert "1 task is open" in ended.out


def test_good_work_is_done_with_its_tests_and_a_review_on_record(stub: StubServer, tmp_path: Path) -> None:
    till = Till(tmp_path, stub, GOOD)
    ended = till.build()
    assert ended.code == 0, ended.err
    assert "Done: 1 of 1 batch complete" in ended.out
    assert till.brain.asked.count("diff") == 1
    told = " ".join((ended.out + ended.err).split())
    assert "2 files, +" in told
    assert "-m unittest -q); reviewed by model" in told
    assert ": APPROVED (" in told
    assert f"- [x] {TASK}" in (till.change / "tasks.md").read_text(encoding="utf-8")
    state = (till.change / "STATE.yaml").read_text(encoding="utf-8")
    assert "phase: complete" in state
    assert "verdict: APPROVED" in state
    assert till.read("notes.txt") == "mine, and not committed\n"


def test_each_task_is_a_commit_of_its_own_if_the_person_wants_it(stub: StubServer, tmp_path: Path) -> None:
    till = Till(tmp_path, stub, "time.sleep(0)")
    task = tmp_path / "agent.py"
    task.write_text(
        _AGENT.format(
            does='write("app.py", read("app.py") + "\\n# " + order.partition("<task>")[2].split("\\n")[1])'
        ),
        encoding="utf-8",
    )
    till.git("stash", "-u", "-q")
    till.git("config", "user.name", "A")
    till.git("config", "user.email", "a@example.org")
    till.attended()
    till.brain.plan = {**DRAFT, "tasks": ["Say `one` in app.py.", "Say two in app.py"]}
    ended = till.brainstormed("A", "A", {"at": "plan", "reply": "C"}, {"at": "plan", "reply": "A"})
    assert ended.code == 0, ended.err
    assert "Done: 1 of 1 batch complete" in ended.out
    log = till._ask("log", "--format=%s", "--reverse").splitlines()
    assert log[-2:] == ["Say one in app.py", "Say two in app.py"]
    assert till._ask("status", "--porcelain", "-uall", "--", ".", ":!moot") == ""
    committed = till._ask("show", "--name-only", "--format=", "HEAD").splitlines()
    change = till.change.relative_to(till.root).as_posix()
    assert [name for name in committed if not name.startswith(change)] == ["app.py"]


# -- nothing is built unasked --------------------------------------------------------------------


def test_without_a_reply_nothing_is_built_and_what_may_be_answered_is_said(
    stub: StubServer, tmp_path: Path
) -> None:
    till = Till(tmp_path, stub, GOOD)
    till.attended()
    before = till.standing()
    ended = till.build()
    assert ended.code == 1
    assert "step 'plan' needs an answer" in ended.err
    assert f"  1. {TASK}" in ended.out
    assert "Building it: 1 task, at least about" in ended.out
    assert till.standing() == before
    assert till.run("workflow", "resume", "--yes", answers=[]).code == 0
    assert till.workflow["phase"] == "done"


def test_it_is_built_on_a_branch_and_what_is_not_committed_comes_along(
    stub: StubServer, tmp_path: Path
) -> None:
    till = Till(tmp_path, stub, GOOD)
    till.attended()
    before = till.standing()
    ended = till.build({"at": "plan", "reply": "AB"})
    assert ended.code == 0, ended.err
    after = till.standing()
    assert "* moot-build-strip-ansi-codes-in-the-review-parser-" in after["branch"]
    assert (after["head"], after["index"], after["stash"]) == (
        before["head"], before["index"], before["stash"],
    )  # fmt: skip
    assert {name for name, text in after["files"].items() if before["files"].get(name) != text} == {
        "app.py",
        "test_app.py",
    }


def test_a_found_test_command_is_confirmed_once_in_a_workflow_and_run(
    stub: StubServer, tmp_path: Path
) -> None:
    till = Till(tmp_path, stub, BAD["a syntax error"][0])
    till.attended()
    settings = (tmp_path / "config" / "moot" / "config.toml").read_text(encoding="utf-8").splitlines()
    till.user_says("\n".join(line for line in settings if not line.startswith("test =")))
    till.write("moot.toml", f"[implement]\ntest = '{sys.executable} -m unittest -q'\n")
    replies = ({"at": "plan", "reply": "1"}, {"at": "plan", "reply": "A"}, {"at": "open-tasks", "reply": "X"})
    ended = till.build(*replies)
    assert "NOTHING IS TESTED" in ended.out
    assert f"After each task: {sys.executable} -m unittest -q" in ended.out
    assert "-m unittest -q` ended with 1" in " ".join(ended.err.split())


def test_what_was_built_is_archived_at_the_end_as_the_command_does(stub: StubServer, tmp_path: Path) -> None:
    till = Till(tmp_path, stub, GOOD)
    ended = till.build({"at": "next", "reply": "M"})
    assert ended.code == 0, ended.err
    assert "Archived: " in ended.out
    assert list((till.root / "moot" / "changes").glob("*")) == []
    assert list((till.root / "moot" / "specs").glob("*.md"))
