"""Files that an earlier version wrote open as what they were, and are written again to the letter."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from moot.brainstorm.menu import AnswerGiven, AnswersClosed
from moot.files.documents import JsonDocument
from moot.workflow.events import BatchReviewed, Plan, PlanLaidOut, Reopened, WorkspaceChecked
from moot.workflow.files import Queue, SnapshotLog
from moot.workflow.flow import WORKFLOW, WorkflowEvent
from moot.workflow.menu import TriedAgain
from moot.workflow.snapshot import brings, restored, snapshot
from moot.workflow.state import Stage, WorkflowState

STORED = Path(__file__).parent / "stored"
STAGES = {
    "adjusting": Stage.ADJUSTING,
    "answering-a-question": Stage.BRAINSTORMING,
    "asking-the-board": Stage.BRAINSTORMING,
    "at-uncommitted-work": Stage.AT_UNCOMMITTED,
    "begun-from-the-queue": Stage.LEAVING_QUEUE,
    "commenting-on-a-failed-task": Stage.COMMENTING,
    "creating-a-branch": Stage.BRANCHING,
    "failed-and-stopped": Stage.STOPPED,
    "finished-and-next-chosen": Stage.TAKING_NEXT,
    "reassessing": Stage.REASSESSING,
    "revising-a-design": Stage.BRAINSTORMING,
    "revising-a-plan": Stage.REVISING,
    "rolling-back": Stage.ROLLING_BACK,
    "trying-again": Stage.BUILDING,
}
LOOKED = (Reopened(), WorkspaceChecked((), "1111"))
BUILT_UNASKED = PlanLaidOut(Plan("Sound."), unattended=True)
TAKEN_UP: dict[str, tuple[WorkflowEvent, ...]] = {
    "questions": (*LOOKED, TriedAgain(), AnswerGiven("q2", "because"), AnswersClosed()),
    "configuring": (*LOOKED, BatchReviewed("APPROVED", "Sound.", cost_usd=0.07), BUILT_UNASKED),
}


def stored(name: str) -> str:
    return (STORED / f"{name}.json").read_text(encoding="utf-8")


def opened(text: str) -> WorkflowState:
    return WORKFLOW.fold([restored(json.loads(text))])


@pytest.mark.parametrize(("name", "stage"), STAGES.items())
def test_a_workflow_of_an_earlier_version_goes_on_and_is_written_as_it_was(
    tmp_path: Path, name: str, stage: Stage
) -> None:
    state = opened(stored(name))
    assert state.stage is stage
    again = tmp_path / "workflow.json"
    JsonDocument.update(again, lambda data: data.update(snapshot(state)))
    assert again.read_text(encoding="utf-8") == stored(name)


def test_a_queue_of_an_earlier_version_is_written_as_it_was(tmp_path: Path) -> None:
    waiting = [opened(json.dumps(entry)) for entry in Queue(STORED / "queue.json").list()]
    Queue(tmp_path / "queue.json").add(map(snapshot, waiting))
    assert (tmp_path / "queue.json").read_text(encoding="utf-8") == stored("queue")


@pytest.mark.parametrize(("name", "events"), TAKEN_UP.items())
def test_a_workflow_of_another_tool_is_carried_on_in_its_own_file(
    tmp_path: Path, name: str, events: tuple[WorkflowEvent, ...]
) -> None:
    path = tmp_path / "workflow.json"
    path.write_text(stored(f"another-tool/{name}"), encoding="utf-8")
    log: SnapshotLog[WorkflowState, WorkflowEvent] = SnapshotLog(
        path,
        initial=WORKFLOW.initial,
        advance=WORKFLOW.advance,
        snapshot=snapshot,
        restored=restored,
        brings=brings,
    )

    async def carry_on() -> None:
        await log.read()
        for event in events:
            await log.append(event)

    asyncio.run(carry_on())
    assert path.read_text(encoding="utf-8") == stored(f"another-tool/{name}-taken-up")
