"""Items of earlier versions open, mean what they meant, and go on."""

from __future__ import annotations

import shutil
from pathlib import Path

from moot.analysis.flow import ANALYSIS
from moot.analysis.state import Step
from moot.roundtable.state import USER
from moot.roundtable.state import Step as RoundtableStep
from tests.cli.test_analyze import Project, speaking
from tests.stub.server import StubServer

ITEM = Path(__file__).with_name("data") / "offline-mode"
LOG = (ITEM / "session.jsonl").read_bytes()


def test_every_event_is_written_as_it_was() -> None:
    for line in LOG.splitlines():
        assert ANALYSIS.encode(ANALYSIS.decode(line)) == line


def test_the_log_means_what_it_meant() -> None:
    state = ANALYSIS.fold(map(ANALYSIS.decode, LOG.splitlines()))
    assert (state.step, state.completed, state.active_depth) == (Step.ROUNDTABLE, ("00-01", "01-01"), "deep")
    assert state.skipped_phases == {"00-quick-scan"}
    scope, context = state.done
    assert [one.text for one in scope.asked_back] == ["What do you mean by throughput?"]
    assert [said for said, _, _ in scope.feedback] == ["You forgot the tunnels."]
    assert context.exchanges[1] == ("And who else?", "And guests.")
    (held,) = state.elaborations
    assert held.summary == "we found that conflicts need a visible list"
    assert state.answered_questions == {"Who pays for the storage?"}
    assert (state.turns, state.happened) == (18, 55)
    table = state.roundtable
    assert table is not None
    assert (table.step, table.turns, table.calls) == (RoundtableStep.PERSONS_TURN, 6, 5)
    assert table.spoke == ("business-analyst", "solutions-architect", "system-designer", USER)


def test_it_goes_on_from_there_and_nothing_is_lost(tmp_path: Path, stub: StubServer) -> None:
    stub.default = speaking
    project = Project(tmp_path, stub)
    shutil.copytree(ITEM, project.item)
    ended = project.run("analyze", "offline-mode", answers=["done", "C", "Twelve of them."])
    assert "Let us pick up our roundtable on Business Context Discovery where it was." in ended.out
    assert "**Turns**: 6 | **Exit**: user-initiated" in ended.out
    assert (project.item / "session.jsonl").read_bytes().startswith(LOG)
    assert project.meta["steps_completed"] == ["00-01", "01-01", "01-02"]
    assert [held["step_id"] for held in project.meta["elaborations"]] == ["00-01", "01-01"]
    assert project.read("quick-scan.md") == (ITEM / "quick-scan.md").read_text(encoding="utf-8")
    assert "### Elaboration Insights (Step 01-01" in project.read("requirements-spec.md")
