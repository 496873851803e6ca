"""Lays out a plan for the person, before anything is built of it: what its files say, what building costs,
and what git can do here.

It only looks. What would be refused is asked where it is raised when somebody tries. Refuses to know what the
person may choose then.
"""

from __future__ import annotations

from moot.changes import approval, foreseen, review_block, tasks
from moot.changes.folder import ChangeFolder
from moot.changes.service import Changes
from moot.changes.testing import ConfirmedTests
from moot.errors import MootError
from moot.repo import uncommitted
from moot.workflow.events import FoundTest, Plan
from moot.workflow.state import WorkflowState

NOTHING_TESTED = (
    "NOTHING IS TESTED: without a test command, all there is to show that a task is done is that files have "
    "changed. Confirm one below, or keep it as `test` under [implement] in your own settings"
)


def lay_out(state: WorkflowState, changes: Changes) -> Plan:
    moot, folder = changes.moot, changes.folders.open(state.batch.change_id)
    boxes = tasks.tasks(folder.tasks() or "")
    text, commands = changes.texts(folder).as_material(), ConfirmedTests(moot)
    calls = [call for one in changes.folders.all() for call in one.state().calls]
    attempts = moot.config.both.implement.attempts
    still = sum(not box.done for box in boxes)
    return Plan(
        summary=_summary(folder),
        tasks=tuple(box.text for box in boxes),
        issues=tuple(
            f"{issue.id or number} ({issue.severity}): {issue.description}"
            for number, issue in approval.numbered_open_issues(folder)
        ),
        estimate=foreseen.foresee_building(still, text + (folder.design() or ""), calls, attempts),
        obstacle=_obstacle(changes, folder),
        tests=commands.command,
        untested="" if commands.command else NOTHING_TESTED,
        found=()
        if commands.command
        else tuple(FoundTest(one.command, one.source) for one in commands.found()),
        can_commit=uncommitted.is_clean(moot.workspace.root, moot.workspace.own),
        can_branch=not state.build_branch and uncommitted.can_branch(moot.workspace.root),
        text=text,
    )


def _summary(folder: ChangeFolder) -> str:
    """The proposal's own, in its words."""
    written = review_block.outside(folder.proposal() or "")
    _, _, after = written.partition("## Summary")
    return after.partition("\n## ")[0].strip()


def _obstacle(changes: Changes, folder: ChangeFolder) -> str:
    try:
        approval.check(folder)
        changes.check(folder)
    except MootError as refused:
        return str(refused)
    return ""
