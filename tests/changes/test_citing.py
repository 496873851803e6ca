"""What a change's files cite of its evidence and is not there: who checks, drafts and reviews it hears it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from moot.agents import Job
from moot.changes import citing
from moot.changes.binding import Binding
from moot.changes.challenge import Challenging
from moot.changes.folder import ChangeFolder
from moot.changes.service import Changes
from moot.evidence.items import Evidence
from tests.support.change import PROPOSAL, write_change
from tests.support.changes import FakeReviewer, at_work, drafted, silent

NOTES = Evidence("notes.txt", "docs/notes.txt", "ab", "text/plain", "At most two reservations a book.")
INVENTED = '"At most three reservations a book" [E1:1].'
TOLD = (
    'proposal.md:{}: cites what is not there: [E1:1]: not in the lines: "At most three reservations a book"'
)


@pytest.fixture
def folder(tmp_path: Path) -> ChangeFolder:
    folder = ChangeFolder("feat-auth", tmp_path / "project" / "moot" / "changes" / "feat-auth")
    write_change(folder.path, "proposed")
    return folder


def test_a_drafter_that_invents_a_quotation_is_found_out(folder: ChangeFolder) -> None:
    told: list[str] = []

    async def work() -> list[str]:
        async with at_work(folder.path.parents[2], [drafted(why=INVENTED), drafted()]) as moot:
            changes = Changes(moot)
            await changes.propose("another", "Reserve.", told.append, Binding(evidence=(NOTES,)))
            made = changes.folders.open("another")
            found = [str(one.message) for one in changes.findings(made) if one.level == "warning"]
            await changes.repropose("another", "Two.", silent)
            assert citing.sources(made) == (), "it is gone"
            return found

    [warning] = [one for one in asyncio.run(work()) if "cites" in one]
    assert warning == TOLD.format(0).partition(": ")[2]
    assert TOLD.format(9) in told


def test_a_reviewer_is_told_of_it(folder: ChangeFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.bind(Binding(evidence=(NOTES,)))
    folder.write_proposal(PROPOSAL.replace("Passwords get phished.", INVENTED))
    asked: list[Job] = []
    monkeypatch.setattr("moot.changes.challenge.find", FakeReviewer(asked=asked.append).found)

    async def work() -> None:
        async with at_work(folder.path.parents[2]) as moot:
            await Challenging(Changes(moot)).challenge(folder.id, "codex", silent)

    asyncio.run(work())
    assert TOLD.format(7) in asked[0].text


def test_without_evidence_brackets_are_the_persons_own(folder: ChangeFolder) -> None:
    folder.write_proposal(PROPOSAL.replace("Passwords get phished.", INVENTED))
    assert citing.sources(folder) == ()
