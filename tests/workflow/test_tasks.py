"""What the program does in a workflow is done, paid and billed once, however often it is asked for."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path
from typing import Any, TypeVar

import pytest
from msgspec.structs import replace

from moot.app import Moot
from moot.brainstorm.state import BrainstormState, Step
from moot.changes import challenge, implement
from moot.changes.folder import ChangeFolder, ChangeFolders
from moot.changes.review_shapes import IssueGiven
from moot.changes.task_reviews import Inspected, Judgement, TaskWork
from moot.core.flow import Event, Task, TaskDone, TaskFailed
from moot.workflow import tasks as workflow_tasks
from moot.workflow.effects import (
    BuildBatch,
    CheckWorkspace,
    CreateBranch,
    FinalizeWorkflow,
    LeaveQueue,
    PlanBatch,
    ReviewPlan,
    RevisePlan,
    RollBackTask,
    ScoutAgain,
    StashChanges,
    TakeNext,
    WriteDesign,
)
from moot.workflow.events import (
    Batch,
    BatchBuilt,
    BatchReviewed,
    NextBegun,
    QueueFoundEmpty,
    QueueLeft,
    Uncommitted,
    WorkStashed,
)
from moot.workflow.state import Phase, WorkflowState
from moot.workflow.tasks import WorkflowWork
from tests.support.change import HIGH
from tests.support.changes import FakeCoder, FakeReviewer, at_work, drafted, silent

R = TypeVar("R", bound=Event)
PLANNING = WorkflowState(
    phase=Phase.PLAN,
    id="w-1",
    brainstorm=BrainstormState(step=Step.DONE, description="Passkeys"),
    started_at="2026-01-02T03:04:05Z",
    design_path="moot/designs/passkeys.md",
    batches=(Batch("Passkeys", "Sign in with them.", "active"),),
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    return root


def work_of(moot: Moot) -> WorkflowWork:
    return WorkflowWork(moot, silent)


def done(
    root: Path, kind: type[Task[R]], state: WorkflowState, *lines: str, key: str = "1", settings: str = ""
) -> R:
    async def whole() -> R:
        task = kind(key)
        async with at_work(root, lines, settings) as moot:
            outcome = await work_of(moot).carry_out(task, state)
        assert isinstance(outcome, TaskDone), outcome
        return task.event_of(outcome)

    return asyncio.run(whole())


def planned(root: Path, state: WorkflowState = PLANNING) -> WorkflowState:
    change_id = done(root, PlanBatch, state, drafted()).change_id
    batch = Batch("Passkeys", "Sign in with them.", "active", change_id)
    return replace(state, phase=Phase.REVIEW, batches=(batch,))


def folder_of(state: WorkflowState, root: Path) -> ChangeFolder:
    return ChangeFolder(state.batch.change_id, root / "moot" / "changes" / state.batch.change_id)


# -- planning ------------------------------------------------------------------------------------


def test_a_plan_that_is_there_is_not_drafted_again(root: Path) -> None:
    first = done(root, PlanBatch, PLANNING, drafted())
    # The model has nothing left to say.
    assert done(root, PlanBatch, PLANNING) == first


def test_a_change_of_somebody_else_is_left_alone(root: Path) -> None:
    taken = done(root, PlanBatch, PLANNING, drafted()).change_id
    text = (root / "moot" / "changes" / taken / "proposal.md").read_text(encoding="utf-8")
    state_file = root / "moot" / "changes" / taken / "STATE.yaml"
    state_file.write_text(state_file.read_text(encoding="utf-8").replace("w-1", "w-2"), encoding="utf-8")
    assert done(root, PlanBatch, PLANNING, drafted()).change_id == f"{taken}-2"
    assert (root / "moot" / "changes" / taken / "proposal.md").read_text(encoding="utf-8") == text


def test_an_empty_change_that_a_kill_has_left_is_used(root: Path) -> None:
    change_id = done(root, PlanBatch, PLANNING, drafted()).change_id
    again = root.parent / "again"
    again.mkdir()

    async def begun() -> None:
        async with at_work(again) as moot:
            ChangeFolders(moot.workspace).create(change_id)

    asyncio.run(begun())
    assert done(again, PlanBatch, PLANNING, drafted()).change_id == change_id


def test_a_plan_that_the_model_cannot_make_is_a_failure_that_can_be_retried(root: Path) -> None:
    async def failing() -> TaskFailed | TaskDone | Any:
        async with at_work(root, ["{}", "{}"]) as moot:
            return await work_of(moot).carry_out(PlanBatch("1"), PLANNING)

    outcome = asyncio.run(failing())
    assert isinstance(outcome, TaskFailed)
    assert outcome.kind == "DraftInvalid"
    assert done(root, PlanBatch, PLANNING, drafted()).change_id


# -- reviewing and building ----------------------------------------------------------------------


@pytest.fixture
def paid(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A reviewer who costs a quarter and an agent who costs half a dollar a task."""
    paid: list[str] = []
    reviewer = FakeReviewer(asked=lambda _: paid.append("review"))
    monkeypatch.setattr(challenge, "find", reviewer.found)
    return paid


def builds(monkeypatch: pytest.MonkeyPatch, root: Path, paid: list[str], *, tasks: int) -> None:
    """An agent that does so many tasks, and then nothing."""

    def work(_: Any) -> str:
        if len([what for what in paid if what == "task"]) < tasks:
            paid.append("task")
            with (root / "app.py").open("a", encoding="utf-8") as file:
                file.write("x\n")
        return "Done."

    monkeypatch.setattr(implement, "find_coder", FakeCoder(work).found)


def test_a_review_that_is_there_is_not_paid_again(root: Path, paid: list[str]) -> None:
    state = planned(root)
    first = done(root, ReviewPlan, state, key="2")
    assert first == BatchReviewed("APPROVED", "Read it all.", high=0, medium=0, cost_usd=0.25)
    assert done(root, ReviewPlan, state, key="2") == first
    assert paid == ["review"]


def test_a_revision_that_is_there_is_not_paid_again(
    root: Path, paid: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    issue = IssueGiven.model_validate(HIGH)
    reviewer = FakeReviewer("NEEDS_REVISION", (issue,), asked=lambda _: paid.append("review"))
    monkeypatch.setattr(challenge, "find", reviewer.found)
    state = planned(root)
    assert done(root, ReviewPlan, state, key="2").high == 1
    done(root, RevisePlan, state, drafted(title="Passkeys, mended"), key="3")
    done(root, RevisePlan, state, key="3")
    assert "mended" in (folder_of(state, root).proposal() or "")
    # What was revised is reviewed anew.
    reviewer = FakeReviewer(asked=lambda _: paid.append("review"))
    monkeypatch.setattr(challenge, "find", reviewer.found)
    assert done(root, ReviewPlan, state, key="4").verdict == "APPROVED"
    assert paid == ["review", "review"]


def test_what_is_built_is_not_built_again(
    root: Path, paid: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    state = planned(root)
    done(root, ReviewPlan, state, key="2")
    builds(monkeypatch, root, paid, tasks=9)
    first = done(root, BuildBatch, state, key="3")
    assert first == BatchBuilt(
        complete=True,
        message="",
        tasks_done=2,
        tasks=2,
        failed_task=0,
        before_task="",
        tree="",
        cost_usd=1.0,
    )
    assert done(root, BuildBatch, state, key="3") == first
    assert paid == ["review", "task", "task"]


def test_going_on_with_open_tasks_bills_only_what_is_new(
    root: Path, paid: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    state = planned(root)
    done(root, ReviewPlan, state, key="2")
    builds(monkeypatch, root, paid, tasks=1)
    begun = done(root, BuildBatch, state, key="3")
    assert (begun.complete, begun.tasks_done) == (False, 1)
    assert "changed nothing" in begun.message
    assert begun.cost_usd == 1.0, "the attempt that came to nothing was paid, too"
    builds(monkeypatch, root, paid, tasks=9)
    ended = done(root, BuildBatch, state, key="5")
    assert (ended.complete, ended.cost_usd) == (True, 0.5)


def failing(root: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[WorkflowState, list[str], BatchBuilt]:
    """A repository whose agent writes what no test passes; what it was told, and what came of it."""
    git(root, "init", "-q")
    (root / "app.py").write_text("good\n", encoding="utf-8")
    (root / "notes.txt").write_text("not committed\n", encoding="utf-8")
    git(root, "add", "app.py")
    git(root, "commit", "-qm", "Begin")
    told: list[str] = []

    def work(order: Any) -> str:
        told.append(order.text)
        (root / "app.py").write_text("bad\n", encoding="utf-8")
        (root / "new").mkdir(exist_ok=True)
        (root / "new" / "file.py").write_text("bad\n", encoding="utf-8")
        (root / "notes.txt").unlink(missing_ok=True)
        return "Done."

    monkeypatch.setattr(implement, "find_coder", FakeCoder(work).found)
    state = planned(root)
    done(root, ReviewPlan, state, key="2")
    return state, told, done(root, BuildBatch, state, key="3", settings=FAILING_TEST)


def git(root: Path, *arguments: str) -> None:
    who = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    subprocess.run(["/usr/bin/git", "-C", str(root), *who, *arguments], check=True)


NO_TEST = "[implement]\nreview = false\n"
FAILING_TEST = "[implement]\nreview = false\nattempts = 1\ntest = 'echo test_codes is wrong; exit 2'\n"


def test_the_agent_that_tries_again_is_told_what_failed(
    root: Path, paid: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    del paid
    state, told, built = failing(root, monkeypatch)
    assert (built.complete, built.failed_task) == (False, 1)
    assert "test_codes is wrong" in built.message
    assert "test_codes is wrong" not in told[0].replace(FAILING_TEST.split("'")[1], "")
    again = replace(state, failed_task=1, failed_with=f"{built.message}\n\nThe person says: look at B")
    done(root, BuildBatch, again, key="5", settings=FAILING_TEST)
    assert built.message in told[1]
    assert "look at B" in told[1]


def test_a_batch_is_complete_once_a_reviewer_has_nothing_against_each_task(
    root: Path, paid: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    git(root, "init", "-q")
    (root / "app.py").write_text("good\n", encoding="utf-8")
    git(root, "add", "app.py")
    git(root, "commit", "-qm", "Begin")
    judged = iter((Judgement(verdict="APPROVED"), Judgement("It says no.", is_found=True), Judgement()))

    class Judge:
        def __init__(self, moot: Moot, engine: str) -> None:
            assert (moot.workspace.root, engine) == (root, "auto")

        async def inspect(self, work: TaskWork) -> Inspected:
            assert work.before != work.after
            return Inspected("1 file, +1 -0")

        async def review(self, work: TaskWork, tell: object) -> Judgement:
            del work, tell
            return next(judged)

    monkeypatch.setattr(workflow_tasks, "TaskJudge", Judge)
    builds(monkeypatch, root, paid, tasks=9)
    state = planned(root)
    done(root, ReviewPlan, state, key="2")
    begun = done(root, BuildBatch, state, key="3", settings="[implement]\nattempts = 1\n")
    assert (begun.complete, begun.tasks_done, begun.failed_task) == (False, 1, 2)
    assert begun.message == "It says no"
    ended = done(root, BuildBatch, replace(state, failed_task=2, failed_with=begun.message), key="5")
    assert (ended.complete, ended.tasks_done) == (True, 2)


def test_a_task_that_is_skipped_stays_open_and_the_next_is_done(
    root: Path, paid: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    state, _, _ = failing(root, monkeypatch)
    builds(monkeypatch, root, paid, tasks=9)
    ended = done(root, BuildBatch, replace(state, skipped=(1,)), key="5", settings=NO_TEST)
    assert (ended.complete, ended.tasks_done, ended.tasks) == (True, 1, 2)
    assert folder_of(state, root).state().phase != "complete"
    assert done(root, BuildBatch, replace(state, skipped=(1,)), key="5") == ended


def test_rolling_back_undoes_the_failed_task_and_nothing_else(
    root: Path, paid: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    del paid
    state, _, built = failing(root, monkeypatch)
    kept = {path: path.read_bytes() for path in (root / "moot").rglob("*") if path.is_file()}
    index = (root / ".git" / "index").read_bytes()
    back = replace(state, failed_task=1, before_task=built.before_task)
    files = done(root, RollBackTask, back, key="5").files
    assert files == ("app.py", "new/file.py", "notes.txt")
    assert (root / "app.py").read_text(encoding="utf-8") == "good\n"
    assert (root / "notes.txt").read_text(encoding="utf-8") == "not committed\n"
    assert not (root / "new").exists()
    assert {path: path.read_bytes() for path in kept} == kept
    assert (root / ".git" / "index").read_bytes() == index
    assert done(root, RollBackTask, back, key="5").files == ()


# -- uncommitted work ----------------------------------------------------------------------------


def test_uncommitted_work_is_set_aside_once_however_often_it_is_asked_for(root: Path) -> None:
    git(root, "init", "-q", "-b", "main")
    (root / "app.py").write_text("good\n", encoding="utf-8")
    git(root, "add", "app.py")
    git(root, "commit", "-qm", "Begin")
    (root / "moot").mkdir()
    (root / "moot" / "workflow.json").write_text("{}", encoding="utf-8")
    strange = root / os.fsdecode(b"\xff.py")
    strange.write_text("mine\n", encoding="utf-8")
    found = done(root, CheckWorkspace, PLANNING)
    assert found.files == ("\\xff.py",)
    shown = Uncommitted(found.files, 1, found.tree)
    first = done(root, CreateBranch, replace(PLANNING, uncommitted=shown))
    mark = first.name.removeprefix("moot-passkeys-")
    assert (len(mark), first.before) == (8, "main")
    assert done(root, CreateBranch, replace(PLANNING, uncommitted=shown)) == first
    stash = done(root, StashChanges, replace(PLANNING, uncommitted=shown))
    assert stash == WorkStashed(f"moot: before 'passkeys' ({mark})", ("\\xff.py",))
    assert not strange.exists()
    assert done(root, StashChanges, replace(PLANNING, uncommitted=shown)) == stash
    assert done(root, CheckWorkspace, PLANNING).files == ()
    git(root, "stash", "pop", "-q")
    assert strange.read_text(encoding="utf-8") == "mine\n"
    assert (root / "moot" / "workflow.json").read_text(encoding="utf-8") == "{}"


def test_the_places_of_moot_are_no_uncommitted_work_wherever_they_are(root: Path) -> None:
    git(root, "init", "-q")
    for name in ("kept/workflow.json", "agentd/changes/x/STATE.yaml", "docs/requirements/x/meta.json"):
        (root / name).parent.mkdir(parents=True)
        (root / name).write_text("{}", encoding="utf-8")
    (root / "moot").symlink_to("kept")
    for name in ("moot.toml", ".superteam-workflow.json", ".claim.json"):
        (root / name).write_text("", encoding="utf-8")
    files = done(root, CheckWorkspace, PLANNING).files
    assert files == (".superteam-workflow.json",), "moot's own is used here"
    (root / "moot").unlink()
    (root / "kept" / "workflow.json").unlink()
    assert done(root, CheckWorkspace, PLANNING).files == ()


# -- the rest ------------------------------------------------------------------------------------


def test_the_design_has_the_day_on_which_the_workflow_began(root: Path) -> None:
    first = done(root, WriteDesign, PLANNING)
    assert first.path == "moot/designs/2026-01-02-passkeys.md"
    assert done(root, WriteDesign, PLANNING) == first
    foreign = replace(PLANNING, started_at=1_760_000_000_000.0)
    assert done(root, WriteDesign, foreign).path == "moot/designs/2025-10-09-passkeys.md"


def test_what_somebody_makes_of_the_design_is_seen_after_a_batch(root: Path) -> None:
    written = done(root, WriteDesign, PLANNING)
    state = replace(PLANNING, design_path=written.path, design_hash=written.sha256)
    assert done(root, ScoutAgain, state).design == "", "it is as moot wrote it"
    file = root / written.path
    file.write_text(file.read_text(encoding="utf-8") + "\nExit with 2.\n", encoding="utf-8")
    assert done(root, ScoutAgain, state).design.endswith("\nExit with 2.\n")
    file.unlink()
    assert done(root, ScoutAgain, state).design == ""


def test_an_empty_queue_has_no_next_and_nothing_to_leave(root: Path) -> None:
    assert done(root, TakeNext, PLANNING) == QueueFoundEmpty()
    assert done(root, FinalizeWorkflow, PLANNING).waiting == ()
    assert done(root, LeaveQueue, PLANNING) == QueueLeft()


def test_a_queued_workflow_of_another_tool_gets_an_id_by_which_it_leaves(root: Path) -> None:
    (root / "moot").mkdir()
    (root / "moot" / "queue.json").write_text(
        '{"workflows": [{"userDescription": "Help"}]}', encoding="utf-8"
    )
    first = done(root, TakeNext, PLANNING)
    assert isinstance(first, NextBegun)
    assert done(root, FinalizeWorkflow, PLANNING).waiting == ("Help",)
    done(root, LeaveQueue, replace(PLANNING, id=first.saved["id"]))
    assert done(root, TakeNext, PLANNING) == QueueFoundEmpty()


def test_a_finished_workflow_is_archived_once_before_the_next_takes_its_place(root: Path) -> None:
    (root / "moot").mkdir()
    (root / "moot" / "queue.json").write_text(
        '{"workflows": [{"userDescription": "Help"}]}', encoding="utf-8"
    )
    finished = '{"phase": "done", "userDescription": "Passkeys", "theirs": 1}'
    (root / "moot" / "workflow.json").write_text(finished, encoding="utf-8")
    done(root, TakeNext, PLANNING)
    done(root, TakeNext, PLANNING)
    (kept,) = (root / "moot" / "archive" / "workflows").iterdir()
    assert kept.name.endswith("-passkeys.json")
    assert kept.read_text(encoding="utf-8") == finished
    assert (root / "moot" / "workflow.json").read_text(encoding="utf-8") == finished


def test_a_useless_reply_of_megabytes_is_not_told_whole(root: Path) -> None:
    told: list[str] = []

    async def failing() -> Any:
        async with at_work(root, ["x" * 3_000_000, "y" * 3_000_000]) as moot:
            return await WorkflowWork(moot, told.append).carry_out(PlanBatch("1"), PLANNING)

    outcome = asyncio.run(failing())
    assert isinstance(outcome, TaskFailed)
    assert len(outcome.message) < 10_000
    assert sum(map(len, told)) < 10_000
