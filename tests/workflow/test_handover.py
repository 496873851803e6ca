"""What a workflow hands to the change of a batch binds it, and everybody who works on it is given it."""

from __future__ import annotations

import asyncio
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from msgspec.structs import replace

from moot.app import Moot
from moot.brainstorm.state import Step
from moot.changes import challenge, history, implement
from moot.changes.folder import ChangeFolder, ChangeFolders
from moot.changes.points import points
from moot.changes.task_reviews import Inspected, Judgement, TaskWork
from moot.core import ledger as core_ledger
from moot.core.background import EvidenceGiven, LedgerCorrected
from moot.core.flow import Event, Task, TaskDone
from moot.core.ledger import Correction
from moot.evidence.items import Evidence
from moot.files.layout import Workspace
from moot.llm.messages import Tokens
from moot.llm.protocol import Call, Turn
from moot.repo import git
from moot.workflow import handover, tasks
from moot.workflow.built import built as what_was_built
from moot.workflow.documents import design_document
from moot.workflow.effects import BuildBatch, LayOutPlan, PlanBatch, ReviewPlan, RevisePlan, ScoutAgain
from moot.workflow.events import BatchBuilt, DesignWritten
from moot.workflow.flow import WORKFLOW
from moot.workflow.menu import PlanApproved
from moot.workflow.state import WorkflowState
from moot.workflow.tasks import WorkflowWork
from tests.support.changes import FakeCoder, FakeReviewer, at_work, drafted, silent
from tests.support.workflow import BATCHES, Play, at, due, triage, whole

R = TypeVar("R", bound=Event)
REQUIREMENT = "A bad date ends with exit code 2."
SECTIONS = {
    "sections": [
        {"title": "Dates", "content": f"{REQUIREMENT} `src/dates.py` reads them."},
        {"title": "Output", "content": "One line for each parcel."},
    ]
}
NOTES = Evidence("notes.md", "docs/notes.md", "ab" * 32, "text/markdown", "Parcels are counted in dozens.")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    (root / "app.py").write_text("good\n", encoding="utf-8")
    for arguments in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "Begin")):
        who = ("-c", "user.name=t", "-c", "user.email=t@example.org")
        subprocess.run(["/usr/bin/git", "-C", str(root), *who, *arguments], check=True)
    return root


def approved(**replies: Any) -> Play:
    """A workflow in two batches whose design is about to be written down."""
    first = {"brainstorm/design": SECTIONS, "brainstorm/triage": triage(batches=BATCHES), **replies}
    first["brainstorm/discuss-triage"] = {"reply": "A file will do, then.", **triage(batches=BATCHES)}
    play = at(Step.TRIAGE, **first).choose("discuss: never use a database")
    play.put(EvidenceGiven((NOTES,)))
    play.choose("agree", "question-1: PostgreSQL", "finish", "approach-1")
    ended = play.choose("skip")
    stop = next(n for n, event in enumerate(ended.events) if isinstance(event, DesignWritten))
    del ended.events[stop:]
    return ended


def before_plan(play: Play, root: Path) -> WorkflowState:
    state = WORKFLOW.fold(play.events)
    written = done(root, *task_of(state))
    assert isinstance(written, DesignWritten)
    return WORKFLOW.advance(state, written)


def task_of(state: WorkflowState) -> tuple[type[Task[Any]], WorkflowState]:
    (task,) = WORKFLOW.pending(state)
    assert isinstance(task, Task)
    return type(task), state


def done(
    root: Path, kind: type[Task[R]], state: WorkflowState, *lines: Any, key: str = "1", settings: str = ""
) -> R:
    async def whole() -> R:
        async with at_work(root, lines, settings) as moot:
            outcome = await WorkflowWork(moot, silent).carry_out(kind(key), state)
        assert isinstance(outcome, TaskDone), outcome
        return kind(key).event_of(outcome)

    return asyncio.run(whole())


def saying(heard: list[str], reply: str) -> Callable[[Call], Turn]:
    """A model that keeps what it is told."""

    def say(call: Call) -> Turn:
        heard.append("\n\n".join((*call.shared, call.system, *(one.text for one in call.messages))))
        return Turn(reply, Tokens(1, 1), "end")

    return say


def folder_of(state: WorkflowState, root: Path) -> ChangeFolder:
    return ChangeFolder(state.batch.change_id, root / "moot" / "changes" / state.batch.change_id)


def planned(root: Path, heard: list[str] | None = None, **replies: Any) -> WorkflowState:
    state = before_plan(approved(**replies), root)
    heard = [] if heard is None else heard
    return WORKFLOW.advance(state, done(root, PlanBatch, state, saying(heard, drafted())))


# -- planning ------------------------------------------------------------------------------------


def test_the_planner_is_given_the_design_the_decisions_the_evidence_and_all_that_was_said(root: Path) -> None:
    heard: list[str] = []
    planned(root, heard)
    (told,) = heard
    for known in (
        REQUIREMENT,
        "Said: never use a database (the person, at triage)",
        "0? PostgreSQL (the person, at questions)",
        "A file will do, then.",
        "Parcels are counted in dozens.",
        "Batch 1 of 2: Test baseline",
    ):
        assert known in told
    assert told.index(REQUIREMENT) < told.index("<asked-for>"), "what binds comes first, and is cached"


def test_the_longest_idea_is_planned_whole(root: Path) -> None:
    state = before_plan(approved(), root)
    idea = "why " * 4_999 + "end"
    state = replace(state, brainstorm=replace(state.brainstorm, description=idea))
    heard: list[str] = []
    done(root, PlanBatch, state, saying(heard, drafted()))
    assert idea in heard[0]


def test_what_binds_is_in_the_changes_own_files_for_whoever_reviews_and_builds_it(root: Path) -> None:
    state = planned(root)
    folder = folder_of(state, root)
    texts = {point.text: point for point in history.points_of(folder)}
    assert REQUIREMENT in texts
    assert "never use a database" in texts
    bound = folder.design() or ""
    assert "Batch 1 of 2: Test baseline" in bound
    assert "Parcels are counted in dozens." in bound
    assert not any("is approved" in text or "Level:" in text for text in texts), "no point of a plan"
    assert len(texts) == len(points(bound)), "nothing is a point twice"


def test_a_document_that_the_person_has_edited_binds_as_they_left_it(root: Path) -> None:
    state = before_plan(approved(), root)
    file = root / state.design_path
    text = file.read_text(encoding="utf-8")
    answer = next(line for line in text.splitlines() if "PostgreSQL" in line and line.startswith("- Decided"))
    said = next(line for line in text.splitlines() if "never use a database" in line)
    text = text.replace(REQUIREMENT, "A bad date ends with exit code 3.")
    text = text.replace(answer, answer.replace("PostgreSQL", "a text file")).replace(f"{said}\n", "")
    file.write_text(text, encoding="utf-8")
    bound = handover.binding(state, text)
    assert "exit code 3" in bound.design
    assert "exit code 2" not in bound.design
    assert "a text file" in bound.design
    kept = [entry.text for entry in bound.decided]
    assert not any("0? PostgreSQL" in one or "never use a database" in one for one in kept)
    assert any("Way 2" in one for one in kept), "what was left as it was is still decided"


def test_a_document_of_an_earlier_version_has_numbers_and_binds_as_well(root: Path) -> None:
    state = before_plan(approved(), root)
    text = (root / state.design_path).read_text(encoding="utf-8")
    lines = iter(range(1, 100))
    old = re.sub(r"(?m)^- (?=Decided|Rejected|Said|Open)", lambda _: f"- D{next(lines)}. ", text)
    assert old != text
    assert handover.binding(state, old).decided == handover.binding(state, text).decided


def test_a_correction_that_came_after_the_document_holds() -> None:
    play = approved()
    state = WORKFLOW.fold(play.events)
    text = design_document(state)
    entry = next(one for one in WORKFLOW.ledger(state) if "0? PostgreSQL" in one.text)
    state = WORKFLOW.advance(state, LedgerCorrected(Correction(entry.key, "SQLite", "planning")))
    bound = handover.binding(state, f"{text}\nA remark by hand.\n")
    assert "A remark by hand." in bound.design
    assert "0? PostgreSQL" not in bound.design
    assert "SQLite" in [one.text for one in bound.decided]


# -- reviewing, revising, building ---------------------------------------------------------------


class ApprovingJudge:
    def __init__(self, moot: Moot, engine: str) -> None:
        del moot, engine

    async def inspect(self, work: TaskWork) -> Inspected:
        del work
        return Inspected("1 file, +1 -0")

    async def review(self, work: TaskWork, tell: object) -> Judgement:
        del work, tell
        return Judgement(verdict="APPROVED")


@pytest.fixture
def reviews(monkeypatch: pytest.MonkeyPatch, root: Path) -> list[str]:
    """What design.md said at each review, all of which approve."""
    found: list[str] = []

    def asked(job: Any) -> None:
        found.append((root / "moot" / "changes" / job.change_id / "design.md").read_text(encoding="utf-8"))

    monkeypatch.setattr(challenge, "find", FakeReviewer(asked=asked).found)
    monkeypatch.setattr(tasks, "TaskJudge", ApprovingJudge)
    return found


def corrected(state: WorkflowState, words: str) -> WorkflowState:
    return WORKFLOW.advance(state, LedgerCorrected(Correction("own:1", words, "review")))


def test_what_came_after_the_plan_is_reviewed_with_it(root: Path, reviews: list[str]) -> None:
    state = planned(root)
    first = done(root, ReviewPlan, state, key="2")
    assert done(root, ReviewPlan, state, key="2") == first
    assert len(reviews) == 1
    done(root, ReviewPlan, corrected(state, "No cloud."), key="4")
    assert "No cloud." not in reviews[0]
    assert "No cloud." in reviews[1]


def test_the_reviser_is_given_it_too(root: Path, reviews: list[str]) -> None:
    del reviews
    state = corrected(planned(root), "No cloud.")
    heard: list[str] = []
    wished = replace(state, wishes="Check the date")
    done(root, RevisePlan, wished, saying(heard, drafted(title="Passkeys, mended")), key="3")
    (told,) = heard
    for known in (
        REQUIREMENT,
        "never use a database",
        "A file will do, then.",
        "No cloud.",
        "Check the date",
    ):
        assert known in told


def test_what_came_after_the_review_is_told_to_the_agent_and_the_approval_stays(
    root: Path, reviews: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    del reviews
    told: list[str] = []

    def work(order: Any) -> str:
        told.append(order.text)
        with (root / "app.py").open("a", encoding="utf-8") as file:
            file.write("x\n")
        return "Done."

    monkeypatch.setattr(implement, "find_coder", FakeCoder(work).found)
    state = planned(root)
    done(root, ReviewPlan, state, key="2")
    bound = folder_of(state, root).design()
    later = corrected(state, "No cloud.")
    more = Evidence("later.md", "later.md", "cd" * 32, "text/plain", "Dozens have twelve.")
    later = replace(later, evidence=(*later.evidence, more))
    file = root / later.design_path
    file.write_text(file.read_text(encoding="utf-8") + "\nDates have four digits.\n", encoding="utf-8")
    assert done(root, BuildBatch, later, key="3").complete
    assert folder_of(state, root).design() == bound, "or the approval would be void"
    for known in (REQUIREMENT, "No cloud.", "Dozens have twelve.", "Dates have four digits."):
        assert known in told[0]
    assert "Parcels are counted in dozens." in (bound or ""), "which the agent is pointed to"


def test_nothing_is_news_where_nothing_has_come(root: Path) -> None:
    state = planned(root)
    folder = folder_of(state, root)
    work_bound = handover.binding(state, (root / state.design_path).read_text(encoding="utf-8"))
    assert folder.design() is not None
    assert handover.news(state, "", work_bound, edited=False) == ()


# -- what was built ------------------------------------------------------------------------------


def test_what_was_built_is_known_to_the_reassessor_and_the_next_planner(
    root: Path, reviews: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    del reviews

    def work(_: Any) -> str:
        with (root / "app.py").open("a", encoding="utf-8") as file:
            file.write("x\n")
        (root / "new.py").write_text("y\n", encoding="utf-8")
        return "I put dates into new.py."

    monkeypatch.setattr(implement, "find_coder", FakeCoder(work).found)
    state = replace(planned(root), known_tree=git.snapshot(root, ("moot/",)) or "")
    state = WORKFLOW.advance(state, done(root, ReviewPlan, state, key="2"))
    assert what_was_built(state, ChangeFolders(Workspace.at(root)), root) == (), "nothing is yet"
    state = WORKFLOW.advance(state, done(root, LayOutPlan, state, key="3"))
    state = WORKFLOW.advance(state, PlanApproved())
    built = done(root, BuildBatch, state, key="3")
    assert isinstance(built, BatchBuilt)
    state = WORKFLOW.advance(state, built)
    scouted = done(root, ScoutAgain, state, key="4")
    for known in (
        '<built batch="1" title="Test baseline"',
        "2 of 2 tasks done:",
        "- done: Store public keys",
        "Review 1 of its plan: APPROVED. Read it all.",
        "The coding agent said: I put dates into new.py.",
        "Files changed: 2\n- changed: app.py\n- added: new.py",
    ):
        assert known in scouted.built
    state = WORKFLOW.advance(state, scouted)
    assert "I put dates into new.py." in whole(due(state))
    heard: list[str] = []
    second = replace(state, current_batch=1, assessment="As planned.")
    done(root, PlanBatch, second, saying(heard, drafted()), key="9")
    assert "- added: new.py" in heard[0]
    assert "After the batch before this one:\nAs planned." in heard[0]


def test_a_change_beside_the_batches_is_made_from_the_whole_with_its_numbers() -> None:
    state = approved().state
    handed = handover.hand_over(state, "", "Only the dates.")
    numbers = {one.key: number for number, one in core_ledger.numbered(WORKFLOW.ledger(state)).items()}
    assert handed.decided
    assert all(one.number == numbers[one.key] for one in handed.decided)
    assert REQUIREMENT in handed.design
    assert handed.evidence == (NOTES,)
    assert handed.asked.startswith("Only the dates.\n\nThis is about the idea that was designed:\n")
    assert (handed.origin.format, handed.origin.id) == ("workflow", state.id)
