"""What a session of a change offers is what the commands do, and what they refuse is not offered."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from moot.changes import challenge, implement
from moot.changes.decisions import Deciding
from moot.changes.flow import (
    CHANGE,
    AbandonmentChosen,
    ApprovalChosen,
    ArchiveChosen,
    ChallengeChosen,
    Chosen,
    DismissalChosen,
    DraftChosen,
    FilesRead,
    ImplementationChosen,
    ReopeningChosen,
    RevisionChosen,
    SessionState,
    WorkBegun,
    WorkFailed,
    choices,
)
from moot.changes.folder import ChangeFolder
from moot.changes.looking import look
from moot.changes.phases import Phase
from moot.changes.review_block import Issue, Review, Severity, Verdict
from moot.changes.service import Changes
from moot.changes.work import ChangeWork
from moot.core.flow import AskPerson, PersonAnswered, Task, TaskDone
from moot.errors import InvalidInput
from moot.files import atomic
from tests.support.change import write_change
from tests.support.changes import FakeCoder, FakeReviewer, QuickDisk, at_work, drafted, reviewed, silent

HIGH = Issue(Severity.HIGH, "No scenario for a lost passkey.", "specs/sign-in.md", "Add one.")
Prepare = Callable[[Changes, ChangeFolder], object]


def counted(folder: ChangeFolder, verdict: Verdict, phase: Phase, *issues: Issue) -> None:
    reviewed(folder, Review(verdict, issues, "Read it all.", ""))
    folder.update_state(lambda data: data.update(phase=str(phase), verdict=str(verdict)))


def needs_revision(_: Changes, folder: ChangeFolder) -> None:
    counted(folder, Verdict.NEEDS_REVISION, Phase.PROPOSED, HIGH)


def dismissed(changes: Changes, folder: ChangeFolder) -> None:
    needs_revision(changes, folder)
    Deciding(changes).dismiss(folder.id, 1, "Later.", silent)


def approved(_: Changes, folder: ChangeFolder) -> None:
    counted(folder, Verdict.APPROVED, Phase.CHALLENGED)


def approved_by_the_person(changes: Changes, folder: ChangeFolder) -> None:
    Deciding(changes).approve(folder.id, "Good enough.", silent)


def rejected(_: Changes, folder: ChangeFolder) -> None:
    counted(folder, Verdict.REJECTED, Phase.REJECTED, HIGH)


def reopened(changes: Changes, folder: ChangeFolder) -> None:
    approved(changes, folder)
    Deciding(changes).reopen(folder.id, silent)


def edited(prepare: Prepare) -> Prepare:
    def prepared(changes: Changes, folder: ChangeFolder) -> None:
        prepare(changes, folder)
        folder.write_tasks("- [ ] Something else\n")

    return prepared


def at(phase: Phase) -> Prepare:
    def prepared(changes: Changes, folder: ChangeFolder) -> None:
        approved(changes, folder)
        folder.update_state(lambda data: data.update(phase=str(phase)))

    return prepared


def left_behind(_: Changes, folder: ChangeFolder) -> None:
    """By a challenge that was killed after its review."""
    folder.append_review(
        Review(Verdict.NEEDS_REVISION, (HIGH,), "Read it all.", ""), folder.begin_run("codex", "")
    )


STANDINGS: dict[str, Prepare] = {
    "new": lambda _changes, _folder: None,
    "without-tasks": lambda _, folder: (folder.path / "tasks.md").unlink(),
    "needs-revision": needs_revision,
    "dismissed": dismissed,
    "approved": approved,
    "approved-and-edited": edited(approved),
    "approved-by-the-person": approved_by_the_person,
    "rejected": rejected,
    "rejected-and-edited": edited(rejected),
    "reopened": reopened,
    "implementing": at(Phase.IMPLEMENTING),
    "implementing-and-edited": edited(at(Phase.IMPLEMENTING)),
    "complete": at(Phase.COMPLETE),
    "left-behind": left_behind,
}
CHOICES: tuple[tuple[str, str, Chosen], ...] = (
    ("draft", "Passkeys.", DraftChosen("Passkeys.")),
    ("challenge", "", ChallengeChosen()),
    ("revise", "", RevisionChosen()),
    ("revise", "Simpler.", RevisionChosen("Simpler.")),
    ("implement", "", ImplementationChosen()),
    ("archive", "", ArchiveChosen()),
    ("approve", "Fine.", ApprovalChosen("Fine.")),
    ("dismiss-1", "Later.", DismissalChosen(1, "Later.")),
    ("reopen", "", ReopeningChosen()),
    ("abandon", "No.", AbandonmentChosen("No.")),
)


def is_offered(state: SessionState, choice: str, text: str) -> bool:
    (ask,) = CHANGE.pending(state)
    assert isinstance(ask, AskPerson)
    try:
        ask.check(PersonAnswered(text, choice))
    except InvalidInput:
        return False
    return True


async def refusal(root: Path, state: SessionState, chosen: Chosen) -> str:
    """What is wrong with it, if it is done all the same."""

    async def driver() -> str:
        return "server-1"

    async with at_work(root, [drafted()]) as moot:
        work = ChangeWork(moot, "feat-auth", driver, silent)
        outcome = await work.carry_out(Task("1"), SessionState(files=state.files, chosen=chosen))
    assert isinstance(outcome, TaskDone)
    return outcome.value.problem if isinstance(outcome.value, WorkFailed) else ""


@pytest.mark.parametrize("standing", STANDINGS)
def test_what_is_offered_is_what_the_commands_do(
    standing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(atomic, "disk", QuickDisk())
    monkeypatch.setattr(challenge, "find", FakeReviewer().found)
    number = iter(range(100))

    def builds(order: object) -> str:
        del order
        (root / f"built-{next(number)}").touch()
        return "Done."

    monkeypatch.setattr(implement, "find_coder", FakeCoder(builds).found)
    prepared = tmp_path / "prepared"
    write_change(prepared / "moot" / "changes" / "feat-auth", "proposed")

    async def begin() -> SessionState:
        async with at_work(prepared) as moot:
            changes = Changes(moot)
            STANDINGS[standing](changes, changes.folders.open("feat-auth"))
            files = look(changes, "feat-auth")
            assert files is not None
            return CHANGE.fold([FilesRead(files)])

    state = asyncio.run(begin())
    for place, (choice, text, chosen) in enumerate(CHOICES):
        root = tmp_path / f"copy-{place}"
        shutil.copytree(prepared, root)
        problem = asyncio.run(refusal(root, state, chosen))
        assert is_offered(state, choice, text) == (not problem), f"{choice} {text!r}: {problem}"


def test_what_was_chosen_for_other_files_is_not_begun(tmp_path: Path) -> None:
    root = tmp_path / "project"
    write_change(root / "moot" / "changes" / "feat-auth", "proposed")

    async def main() -> None:
        async def driver() -> str:
            return "server-1"

        async with at_work(root) as moot:
            changes = Changes(moot)
            work = ChangeWork(moot, "feat-auth", driver, silent)
            files = look(changes, "feat-auth")
            assert files is not None
            state = CHANGE.fold([FilesRead(files), ChallengeChosen()])
            (begin,) = CHANGE.pending(state)
            assert isinstance(begin, Task)
            assert await work.carry_out(begin, state) == TaskDone(WorkBegun("server-1"))
            changes.folders.open("feat-auth").write_tasks("- [ ] Something else\n")
            outcome = await work.carry_out(begin, state)
            assert isinstance(outcome, TaskDone)
            assert isinstance(outcome.value, WorkFailed)
            assert "changed after this was chosen" in outcome.value.problem
            assert outcome.value.files != files
            assert choices(CHANGE.advance(state, outcome.value))

    asyncio.run(main())
