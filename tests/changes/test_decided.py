"""What was decided about a change: from its files, with what the person corrects and gives in a session."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from moot.agents import Job, Outcome, Progress
from moot.changes import binding, flow, history
from moot.changes.binding import Binding
from moot.changes.challenge import Challenging
from moot.changes.decisions import Deciding
from moot.changes.flow import CHANGE, ChangeEvent, FilesRead, RevisionChosen, SessionState, WorkBegun
from moot.changes.folder import ChangeFolder
from moot.changes.looking import look
from moot.changes.review_shapes import IssueGiven
from moot.changes.service import Changes
from moot.changes.standing import Files, Standing
from moot.changes.work import ChangeWork
from moot.core.background import EvidenceGiven, LedgerCorrected
from moot.core.flow import TaskDone
from moot.core.ledger import Correction, Decided, Kind, lines
from moot.errors import IllegalMove, NotApproved
from moot.evidence.items import Evidence
from moot.llm.protocol import Call
from tests.support.change import write_change
from tests.support.changes import FakeReviewer, at_work, drafted, silent

NO_DATABASE = Decided("triage", Kind.REJECTED, "A database", "person", "triage")
CSV = Decided("q1", Kind.DECIDED, "CSV only", "Jordan Park", "questions")
NOTES = Evidence("notes.txt", "docs/notes.txt", "sha256:ab", "text/plain", "Dates are ISO.")
HIGH = IssueGiven(
    severity="High",
    description="No lost passkey.",
    location="specs",
    recommendation="Add.",
    quote="How a person signs in.",
)


@pytest.fixture
def folder(tmp_path: Path) -> ChangeFolder:
    folder = ChangeFolder("feat-auth", tmp_path / "project" / "moot" / "changes" / "feat-auth")
    write_change(folder.path, "proposed")
    return folder


def test_the_files_say_who_decided_what_and_why(
    folder: ChangeFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.bind(Binding(decided=(NO_DATABASE, CSV)))
    reviewer = FakeReviewer("NEEDS_REVISION", (HIGH,))
    monkeypatch.setattr("moot.changes.challenge.find", reviewer.found)

    async def decide() -> None:
        async with at_work(folder.path.parents[2], [drafted()]) as moot:
            changes = Changes(moot)
            deciding = Deciding(changes)
            await Challenging(changes).challenge(folder.id, "codex", silent)
            deciding.dismiss(folder.id, 1, "The next change.", silent)
            deciding.approve(folder.id, "Good enough.", silent)
            deciding.reopen(folder.id, silent)
            await changes.repropose(folder.id, "Shorter.", silent)

    with pytest.MonkeyPatch.context() as context:
        stamps = (f"2026-11-19T07:00:{second:02}Z" for second in range(60))
        context.setattr("moot.files.timestamps.now", lambda: next(stamps))
        # One review says what became of each point; this one is not asked.
        context.setattr("moot.changes.points.points", lambda _: ())
        context.setattr("moot.changes.history.points", lambda _: ())
        asyncio.run(decide())
    assert lines(history.decided(folder)) == [
        "D1. Rejected: A database (the person, at triage)",
        "D2. Decided: CSV only (Jordan Park, at questions)",
        "D3. Decided: the verdict was NEEDS_REVISION, on the text as it was then "
        "(the reviewer (gpt), at review 1)",
        "D4. Decided: the issue “No lost passkey.” is dismissed, because: The next change. "
        "(the person, at review 1)",
        "D5. Decided: the change is approved by the person, and by no reviewer, because: Good enough. "
        "(the person)",
        "D6. Decided: the change is reopened: what approved it no longer counts (the person)",
        "D7. Said: Shorter. (the person, at the revision in round 1)",
    ]


def test_a_reviewer_is_told_what_the_last_revision_changed(
    folder: ChangeFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    reviewer = FakeReviewer("NEEDS_REVISION", (HIGH,), asked=lambda job: told.append(job.text))
    monkeypatch.setattr("moot.changes.challenge.find", reviewer.found)

    async def work() -> None:
        async with at_work(folder.path.parents[2], [drafted()]) as moot:
            changes = Changes(moot)
            await Challenging(changes).challenge(folder.id, "codex", silent)
            await changes.repropose(folder.id, "", silent)
            await Challenging(changes).challenge(folder.id, "codex", silent)

    asyncio.run(work())
    first, second = told
    assert "<revised>" not in first
    assert "the verdict was" not in second, "it is not decided what the next one is going to be"
    changed = second[second.index("<revised>") : second.index("</revised>")]
    assert "--- proposal.md (before)\n+++ proposal.md (now)" in changed
    assert "-Nobody has to change anything." in changed.splitlines()
    assert "+Accounts are migrated." in changed.splitlines()
    assert "Review" not in changed, "the reviews in it are no part of that"


class Meanwhile(FakeReviewer):
    """Somebody adds a task after its review, and before that is counted."""

    async def review(self, job: Job, progress: Progress) -> Outcome:
        outcome = await super().review(job, progress)
        tasks = job.root / "moot" / "changes" / job.change_id / "tasks.md"
        tasks.write_text(
            f"{tasks.read_text(encoding='utf-8')}- [ ] Publish the passwords\n", encoding="utf-8"
        )
        return outcome


def test_a_review_of_a_text_that_changed_meanwhile_approves_nothing(
    folder: ChangeFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moot.changes.challenge.find", Meanwhile().found)

    async def challenge() -> None:
        async with at_work(folder.path.parents[2]) as moot:
            await Challenging(Changes(moot)).challenge(folder.id, "codex", silent)

    with pytest.raises(NotApproved, match=r"it was changed while it was reviewed: tasks\.md"):
        asyncio.run(challenge())
    assert folder.state().phase == "proposed"


def test_a_revision_that_leaves_out_what_the_person_wrote_says_so(folder: ChangeFolder) -> None:
    told: list[str] = []
    asked: list[Call] = []

    def draft(call: Call) -> str:
        asked.append(call)
        return drafted()

    def write(name: str, text: str, at: str) -> None:
        path = folder.path / name
        path.write_text(path.read_text(encoding="utf-8").replace(at, f"{at}{text}"), encoding="utf-8")

    async def work() -> None:
        async with at_work(folder.path.parents[2], [draft] * 3) as moot:
            changes = Changes(moot)
            await changes.repropose(folder.id, "Shorter.", told.append)
            write("specs/sign-in.md", "\n\nOwner: Ines.", "A lost passkey MUST be replaceable.")
            write("proposal.md", "\n## Notes\n\nAsk Ana.\n", "Accounts are migrated.\n")
            await changes.repropose(folder.id, "Still shorter.", told.append)
            await changes.repropose(folder.id, "Once more.", told.append)

    asyncio.run(work())
    assert [line for line in told if "by hand" in line] == [
        "has left out what you wrote by hand: Owner: Ines."
    ]
    said = [str(call.messages[0]) for call in asked]
    assert [text.count("Still shorter.") for text in said] == [0, 1, 1], "once, as a wish and then as said"
    assert "<wishes>\\nStill shorter." in said[1]
    assert folder.drafted()["proposal.md"].endswith("Ask Ana.\n")


# -- in a session --------------------------------------------------------------------------------


def resting(*events: ChangeEvent) -> SessionState:
    decided = tuple(
        Decided(binding.key_of(each.text), each.kind, each.text, each.by, each.at)
        for each in (NO_DATABASE, CSV)
    )
    found = Files("mark", Standing("feat-auth", "proposed"), decided=decided)
    return CHANGE.fold([FilesRead(found), *events])


def texts(state: SessionState) -> list[str]:
    return [entry.text for entry in CHANGE.ledger(state)]


def test_the_person_corrects_what_was_decided() -> None:
    assert texts(resting()) == ["A database", "CSV only"]
    corrected = LedgerCorrected(Correction(binding.key_of("CSV only"), "CSV and JSON", "proposed"))
    own = LedgerCorrected(Correction("own:1", "No colours", "proposed"))
    assert texts(resting(corrected, own)) == ["A database", "CSV and JSON", "No colours"]
    dropped = LedgerCorrected(Correction(binding.key_of("A database")))
    assert texts(resting(dropped)) == ["CSV only"]


def test_before_it_is_open_a_session_takes_nothing() -> None:
    with pytest.raises(IllegalMove):
        CHANGE.fold([EvidenceGiven((NOTES,))])


def test_without_a_word_of_the_persons_nothing_is_bound() -> None:
    assert not flow.binding(resting())


def test_what_was_corrected_and_given_is_kept_with_the_files_and_counts_once(folder: ChangeFolder) -> None:
    folder.bind(Binding(decided=(NO_DATABASE, CSV)))
    asked: list[str] = []

    async def revise() -> SessionState:
        def reply(call: object) -> str:
            asked.append(str(call))
            return drafted()

        async with at_work(folder.path.parents[2], [reply]) as moot:
            changes = Changes(moot)
            found = look(changes, folder.id)
            assert found is not None
            state = CHANGE.fold(
                [
                    FilesRead(found),
                    EvidenceGiven((NOTES,)),
                    LedgerCorrected(Correction(binding.key_of("CSV only"), "CSV and JSON")),
                    LedgerCorrected(Correction(binding.key_of("A database"))),
                    LedgerCorrected(Correction("own:1", "No colours")),
                    RevisionChosen("Shorter."),
                    WorkBegun("here"),
                ]
            )

            async def driver() -> str:
                return "here"

            [task] = CHANGE.pending(state)
            assert isinstance(task, flow.ReviseProposal)
            done = await ChangeWork(moot, folder.id, driver, silent).carry_out(task, state)
            assert isinstance(done, TaskDone)
            return CHANGE.advance(state, CHANGE.record(state, task, done))

    after = asyncio.run(revise())
    [said] = asked
    assert all(fact in said for fact in ("CSV and JSON", "No colours", "Dates are ISO."))
    assert "A database" not in said
    bound = binding.read(folder.design() or "")
    assert [entry.text for entry in bound.decided] == ["CSV and JSON", "No colours"]
    assert bound.evidence == (NOTES,)
    assert texts(after) == ["CSV and JSON", "No colours", "Shorter."]


def test_dropping_the_last_decision_leaves_none(folder: ChangeFolder) -> None:
    folder.bind(Binding("# X\n", (CSV,)))
    folder.bind(Binding(replaces_decided=True))
    assert binding.read(folder.design() or "") == Binding("# X")
