"""A task is done when something has changed, its tests pass, none of them is gone, and a reviewer has nothing
against it; whatever an agent does instead is said, is not "done", and can be rolled back."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from moot.agents import Order
from moot.app import Options, opened
from moot.changes import implement, retrying
from moot.changes.attempts import subject_of
from moot.changes.decisions import Deciding
from moot.changes.folder import ChangeFolder
from moot.changes.implement import BuildResult, Implementing, Retry
from moot.changes.retrying import RolledBack
from moot.changes.service import Changes
from moot.changes.state_file import Worked
from moot.diffs import reviewing, service
from moot.diffs.flow import DIFF, DiffState, Step
from moot.diffs.shapes import FindingGiven, ReviewGiven
from moot.diffs.task_judge import TaskJudge
from moot.errors import GitRefused, InvalidInput, KeyRefused, ReviewerTimedOut
from moot.store.database import sqlite_url
from tests.support.change import write_change
from tests.support.changes import DiffReviewer, FakeCoder, silent

TASKS = "- [ ] Let `app.py` add two numbers\n- [ ] Say in `app.py` who wrote it\n"
TEST = f"{sys.executable} -m py_compile app.py"
COMPILES = f"test = '{TEST}'\n"
FINE = ReviewGiven(findings=[], summary="It adds, and a test shows it.")

Does = Callable[[Path], str]


def finding(quote: str) -> ReviewGiven:
    one = FindingGiven(
        severity="High",
        kind="plan",
        file="app.py",
        quote=quote,
        problem="It subtracts.",
        consequence="Every sum is wrong.",
        fix="Add.",
    )
    return ReviewGiven(findings=[one], summary="It is the other way round.")


@dataclass
class Site:
    """A repository with a change of two tasks that is approved, and with work of the person's own that is not
    committed."""

    root: Path
    monkeypatch: pytest.MonkeyPatch
    told: list[str] = field(default_factory=list)
    orders: list[str] = field(default_factory=list)

    def git(self, *arguments: str) -> str:
        who = ("-c", "user.name=t", "-c", "user.email=t@example.org")
        done = subprocess.run(
            ["/usr/bin/git", "-C", str(self.root), *who, *arguments],
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def agent(self, *does: Does) -> None:
        """One thing after another; the last again and again."""
        left = list(does)

        def work(order: Order) -> str:
            self.orders.append(order.text)
            return (left.pop(0) if len(left) > 1 else left[0])(self.root)

        self.monkeypatch.setattr(implement, "find_coder", FakeCoder(work, "command").found)

    def reviewer(self, *gives: ReviewGiven | Exception) -> DiffReviewer:
        program = DiffReviewer(list(gives))
        self.monkeypatch.setattr(reviewing, "find", program.found)
        self.monkeypatch.setattr(service, "find", program.found)
        return program

    def build(self, settings: str = "", retry: Retry | None = None, *, commit: bool = False) -> BuildResult:
        async def whole() -> BuildResult:
            options = Options(self.root, database=sqlite_url(self.root.parent / "moot.db"))
            config = self.root.parent / "config.toml"
            config.write_text(f"[workflow]\nscript_retries = 0\n[implement]\n{settings}", encoding="utf-8")
            async with opened(options, {"PATH": "/usr/bin:/bin", "HOME": str(self.root.parent)}) as moot:
                vars(moot).update(user_config_file=config)
                changes = Changes(moot)
                if changes.folders.open("feat").state().phase == "proposed":
                    Deciding(changes).approve("feat", "Fine.", silent)
                judge = TaskJudge(moot, "claude")
                building = Implementing(changes, retry=retry, judge=judge, commit=commit)
                built = await building.implement("feat", self.told.append)
                self.work = changes.folders.open("feat").state().work
                self.calls = changes.folders.open("feat").state().calls
                self.sessions = {}
                store = await moot.store()
                for one in self.work:
                    if one.review:
                        bodies = [entry.body for entry in await store.events(one.review, after=0)]
                        self.sessions[one.review] = DIFF.fold([DIFF.decode_stored(body) for body in bodies])
                return built

        return asyncio.run(whole())

    work: tuple[Worked, ...] = ()
    calls: tuple[Any, ...] = ()
    sessions: dict[str, DiffState] = field(default_factory=dict)

    @property
    def boxes(self) -> str:
        return (self.root / "moot" / "changes" / "feat" / "tasks.md").read_text(encoding="utf-8")

    @property
    def folder(self) -> ChangeFolder:
        return ChangeFolder("feat", self.root / "moot" / "changes" / "feat")

    def roll_back(self) -> RolledBack:
        return retrying.roll_back(self.folder, self.root, ("moot/",))

    def files(self) -> dict[str, str]:
        return {
            path.relative_to(self.root).as_posix(): path.read_text(encoding="utf-8")
            for path in sorted(self.root.rglob("*"))
            if path.is_file() and not {"moot", ".git", "__pycache__"} & set(path.relative_to(self.root).parts)
        }


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    site = Site(tmp_path / "project", monkeypatch)
    site.write("app.py", "def add(a, b):\n    pass\n")
    site.write("other.py", "x = 1\n")
    site.write(
        "tests/test_app.py", "def test_one():\n    assert True\n\n\ndef test_two():\n    assert True\n"
    )
    site.write(".gitignore", "__pycache__/\n")
    site.git("init", "-q")
    site.git("add", "-A")
    site.git("commit", "-qm", "Begin")
    write_change(site.root / "moot" / "changes" / "feat", "proposed")
    site.write("moot/changes/feat/tasks.md", TASKS)
    # Of the person: changed, new, and deleted.
    site.write("other.py", "x = 2\n")
    site.write("notes.txt", "mine\n")
    return site


def adds(root: Path) -> str:
    (root / "app.py").write_text("def add(a, b):\n    return a + b\n", encoding="utf-8")
    return "I added."


def signs(root: Path) -> str:
    with (root / "app.py").open("a", encoding="utf-8") as file:
        file.write("# by us\n")
    return "I signed it."


def subtracts(root: Path) -> str:
    (root / "app.py").write_text("def add(a, b):\n    return a - b\n", encoding="utf-8")
    return "I added."


def breaks(root: Path) -> str:
    (root / "app.py").write_text("def add(a, b:\n", encoding="utf-8")
    return "All done, and the tests pass."


def errs(root: Path) -> str:
    breaks(root)
    (root / "new").mkdir(exist_ok=True)
    (root / "new" / "file.py").write_text("1\n", encoding="utf-8")
    return "All done, and the tests pass."


def deletes_tests(root: Path) -> str:
    adds(root)
    (root / "tests" / "test_app.py").write_text("def test_one():\n    assert True\n", encoding="utf-8")
    return "Done."


def skips_tests(root: Path) -> str:
    adds(root)
    file = root / "tests" / "test_app.py"
    file.write_text(
        f"import pytest\n\n\n@pytest.mark.skip\n{file.read_text(encoding='utf-8')}", encoding="utf-8"
    )
    return "Done."


def ticks(root: Path) -> str:
    file = root / "moot" / "changes" / "feat" / "tasks.md"
    file.write_text(file.read_text(encoding="utf-8").replace("[ ]", "[x]"), encoding="utf-8")
    return "All boxes are ticked."


def strays(root: Path) -> str:
    adds(root)
    (root / "lib").mkdir(exist_ok=True)
    (root / "lib" / "billing.py").write_text("price = 0\n", encoding="utf-8")
    return "Done."


def commits(root: Path) -> str:
    adds(root)
    who = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    subprocess.run(["/usr/bin/git", "-C", str(root), *who, "commit", "-qam", "Mine"], check=True)
    return "Done."


def hangs(_root: Path) -> str:
    raise ReviewerTimedOut("command", "it was stopped after 2 s")


# -- done ----------------------------------------------------------------------------------------


def test_good_work_is_done_with_tests_and_a_review_on_record(site: Site) -> None:
    site.agent(adds, signs)
    program = site.reviewer(FINE, FINE)
    built = site.build(COMPILES)
    assert (built.problem, built.left, built.phase) == ("", (), "complete")
    assert (built.untested, built.unreviewed) == (False, False)
    assert site.boxes == TASKS.replace("[ ]", "[x]")
    first, second = site.work
    assert (first.said, first.size, first.tests) == ("I added.", "1 file, +1 -1", TEST)
    assert (first.verdict, first.by, second.by) == ("APPROVED", "claude", "claude")
    assert [state.step for state in site.sessions.values()] == [Step.JUDGED] * 2
    assert built.record[0] == (
        f"Let `app.py` add two numbers: 1 file, +1 -1; tests passed ({TEST}); "
        f"reviewed by claude: APPROVED ({first.review})"
    )
    assert built.cost_usd == 1.5
    assert [(call.step, call.cost_usd) for call in site.calls] == [
        ("implement", 0.5), ("review task", 0.25), ("implement", 0.5), ("review task", 0.25),
    ]  # fmt: skip
    assert "Let `app.py` add two numbers" in program.plans[0], "it is held against the task"
    assert "A passkey can be registered" in program.plans[0], "and against the change"
    assert "- Say in `app.py` who wrote it" in program.plans[0], "and what is still to come is no gap"
    assert "+    return a + b" in program.diffs[0]
    assert "notes.txt" not in program.diffs[0], "what the person had there is not the agent's"
    assert "+    return a + b" not in program.diffs[1], "one task, one diff"


def test_what_was_wrong_goes_back_to_the_agent_which_fixes_it(site: Site) -> None:
    site.agent(breaks, subtracts, adds, signs)
    site.reviewer(finding("return a - b"), FINE, FINE)
    built = site.build(f"attempts = 3\n{COMPILES}")
    assert (built.problem, built.left) == ("", ())
    assert "SyntaxError" in site.orders[1]
    assert "It subtracts. Every sum is wrong." in site.orders[2]
    assert "app.py:2" in site.orders[2], "with the place"
    assert [bool(one.problem) for one in site.work] == [True, True, False, False]
    assert any("task 1 is not done: " in line and "(2 of 3)" in line for line in site.told)


def test_the_review_sees_all_attempts_at_a_task_as_one_diff(site: Site) -> None:
    site.agent(subtracts, adds, signs)
    program = site.reviewer(finding("return a - b"), FINE, FINE)
    site.build()
    assert "-    pass\n+    return a + b" in program.diffs[1]


def test_a_task_that_takes_a_test_away_is_done_when_it_is_put_back(site: Site) -> None:
    def restores(root: Path) -> str:
        (root / "tests" / "test_app.py").write_text(kept, encoding="utf-8")
        return "It is back."

    kept = site.files()["tests/test_app.py"]
    site.agent(deletes_tests, restores, signs)
    site.reviewer(FINE, FINE)
    assert site.build().problem == ""
    assert "deletes the test in tests/test_app.py:5: def test_two():" in site.orders[1]


# -- not done, and said plainly ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("does", "said"),
    [
        (errs, "SyntaxError"),
        (deletes_tests, "- deletes the test in tests/test_app.py:5: def test_two():"),
        (skips_tests, "- skips a test in tests/test_app.py:4: @pytest.mark.skip"),
        (ticks, "changed nothing but the change's own files, in which a ticked box is no work"),
        (strays, "- changes a file that the task does not concern: lib/billing.py"),
        (commits, "has committed by itself"),
        (hangs, "hung or took too long: "),
    ],
)
def test_whatever_else_an_agent_does_is_not_done_and_can_be_rolled_back(
    does: Does, said: str, site: Site
) -> None:
    before = site.files()
    site.agent(does)
    program = site.reviewer(FINE)
    built = site.build(COMPILES)
    assert said in built.problem
    assert (built.done, built.failed_task, built.phase) == ((), 1, "implementing")
    assert site.boxes == TASKS
    assert program.diffs == [], "nobody is paid to review that"
    back = site.roll_back()
    assert site.files() == before, "with what the person had not committed"
    assert not back.kept
    assert site.roll_back().files == (), "back is back"


def test_who_leaves_the_same_files_again_goes_in_circles(site: Site) -> None:
    site.agent(errs)
    built = site.build(f"attempts = 3\n{COMPILES}")
    assert "goes in circles: it has left the very files of an earlier attempt" in built.problem
    assert len(site.orders) == 2, "a third attempt would only cost money"
    site.agent(lambda _: "It is fine as it is.")
    again = site.build(f"attempts = 1\n{COMPILES}")
    assert "goes in circles" in again.problem, "also over runs"
    assert again.before_task == built.before_task, "and back is before the first of them"


def test_what_a_reviewer_finds_is_not_done(site: Site) -> None:
    site.agent(subtracts)
    site.reviewer(finding("return a - b"), finding("return a - b"))
    built = site.build()
    assert "The review says NEEDS_REVISION:\n- High (plan) app.py:2: It subtracts." in built.problem
    assert site.boxes == TASKS
    assert [one.verdict for one in site.work] == ["NEEDS_REVISION"] * 2


def test_a_quote_that_is_not_in_the_diff_holds_nothing_up(site: Site) -> None:
    site.agent(adds, signs)
    site.reviewer(finding("eval(input())"), FINE)
    assert site.build().problem == ""


def test_what_nobody_could_review_is_not_done_and_the_agent_is_not_asked_again(site: Site) -> None:
    site.agent(adds)
    site.reviewer(KeyRefused("claude", "no login"))
    built = site.build()
    assert "It was not reviewed in full. No review by claude: claude: no login" in built.problem
    assert (len(site.orders), site.boxes) == (1, TASKS)
    # Once there is somebody, the work that is there counts; the agent has nothing left to change.
    site.agent(lambda _: "It is there already.", signs)
    site.reviewer(FINE, FINE)
    assert site.build().left == ()


def test_somebody_elses_changes_between_two_runs_are_theirs(site: Site) -> None:
    site.agent(errs)
    first = site.build(f"attempts = 1\n{COMPILES}")
    site.write("other.py", "x = 3\n")
    site.agent(errs, adds, signs)
    program = site.reviewer(FINE, FINE)
    second = site.build(f"attempts = 1\n{COMPILES}")
    assert second.before_task != first.before_task
    site.roll_back()
    assert site.files()["other.py"] == "x = 3\n"
    assert program.diffs == []


def test_a_review_can_be_switched_off_and_that_is_said(site: Site) -> None:
    site.agent(adds, signs)
    built = site.build("review = false\n")
    assert (built.problem, built.unreviewed, built.untested) == ("", True, True)
    assert any(line.startswith("NOTHING IS REVIEWED: `review = false`") for line in site.told)
    assert "NOT TESTED; NOT REVIEWED" in built.record[0]


def test_without_git_nothing_can_be_reviewed_and_that_is_said(site: Site) -> None:
    site.git("status")
    (site.root / ".git").rename(site.root.parent / "gone")
    site.agent(adds, signs)
    built = site.build(COMPILES)
    assert (built.problem, built.unreviewed) == ("", True)
    assert any(line.startswith("NOTHING IS REVIEWED, and nothing can be rolled back") for line in site.told)
    assert "git cannot say what was changed" in built.record[0]


# -- what the person may do about it -------------------------------------------------------------


def test_what_somebody_has_changed_since_is_not_rolled_back(site: Site) -> None:
    site.agent(errs)
    site.build(f"attempts = 1\n{COMPILES}")
    site.write("app.py", "mine\n")
    site.write("mine.py", "new\n")
    back = site.roll_back()
    assert (back.files, back.kept) == (("new/file.py",), ("app.py",))
    assert str(back) == "rolled back: new/file.py; changed since, and left alone: app.py"
    assert (site.files()["app.py"], site.files()["mine.py"]) == ("mine\n", "new\n")
    assert not (site.root / "new").exists()


def test_a_comment_reaches_the_agent_with_what_failed(site: Site) -> None:
    site.agent(errs)
    site.build(f"attempts = 1\n{COMPILES}")
    site.agent(adds, signs)
    again = retrying.retry(site.folder, "Close the bracket.")
    assert again is not None
    assert again.task == 1
    site.build(f"review = false\n{COMPILES}", again)
    assert "SyntaxError" in site.orders[1]
    assert "The person says: Close the bracket." in site.orders[1]


def test_a_task_that_is_skipped_stays_open(site: Site) -> None:
    site.agent(errs)
    site.build(f"attempts = 1\n{COMPILES}")
    site.roll_back()
    site.agent(signs)
    built = site.build("review = false\n", retrying.retry(site.folder, skip=1))
    assert (built.done, len(built.left)) == (("Say in `app.py` who wrote it",), 1)
    assert retrying.failed_task(site.folder) is None, "what was tried last is done"


def test_where_no_task_has_failed_there_is_nothing_to_say_or_to_roll_back(site: Site) -> None:
    assert retrying.failed_task(site.folder) is None
    assert retrying.retry(site.folder) is None
    with pytest.raises(InvalidInput):
        retrying.retry(site.folder, "Why?")
    with pytest.raises(InvalidInput):
        retrying.retry(site.folder, skip=3)
    with pytest.raises(GitRefused):
        site.roll_back()


# -- commits -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "subject"),
    [
        ("store public keys.", "Store public keys"),
        ("Let `app.py` **add** two numbers", "Let app.py add two numbers"),
        (
            "Add " + "many words " * 20,
            "Add many words many words many words many words many words many words…",
        ),
        ("x" * 100, "X" + "x" * 70 + "…"),
    ],
)
def test_a_commit_has_a_subject_that_git_shows_whole(task: str, subject: str) -> None:
    assert subject_of(task) == subject
    assert len(subject) <= 72
