"""Archived changes and what holds: merged whole or not at all, and known to whoever plans next."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from moot.app import Moot
from moot.changes.challenge import Challenging
from moot.changes.decisions import Deciding
from moot.changes.flow import (
    CHANGE,
    ArchiveChosen,
    ChangeGone,
    FilesRead,
    WorkBegun,
    WorkFailed,
)
from moot.changes.folder import ChangeFolder
from moot.changes.looking import Looking, look
from moot.changes.proposal import Finding
from moot.changes.service import Changes
from moot.changes.work import ChangeWork
from moot.core.flow import Task, TaskDone
from moot.errors import FileDamaged, InvalidInput, SpecsContradict, UnsafePath
from moot.files import atomic, timestamps
from moot.llm.protocol import Call
from tests.support.change import DRAFT, PROPOSAL, TASKS
from tests.support.changes import STAMP, FakeReviewer, QuickDisk, at_work, drafted, silent

PASSKEYS = """\
# Specification: sign-in

## Overview

How a person signs in.

## Requirements

### Rate limit

Ten a minute.

## Acceptance Criteria

### Scenario: Known passkey

- **WHEN** it is used
- **THEN** they are signed in
"""
TWENTY = """\
## Overview

Faster.

## Modified Requirements

### Rate limit

Twenty a minute.

## Acceptance Criteria

### Scenario: Eleven

- **WHEN** eleven sign in
- **THEN** all are
"""
CONFLICT = """\
The specifications of 'b' do not fit what holds, and nothing was merged:
  specs/sign-in.md:7: the requirement 'Rate limit' is to be modified, and has changed in \
moot/specs/sign-in.md (line 9) since this was last checked
Reopen the change, bring its specifications in line with moot/specs, and have it challenged again; or change \
moot/specs by hand; or abandon the change, which archives it without merging"""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atomic, "disk", QuickDisk())
    monkeypatch.setattr(timestamps, "now", lambda: STAMP)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    return made


def put(root: Path, change_id: str, phase: str = "complete", **specs: str) -> ChangeFolder:
    folder = ChangeFolder(change_id, root / "moot" / "changes" / change_id)
    (folder.path / "specs").mkdir(parents=True)
    (folder.path / "STATE.yaml").write_text(f"phase: {phase}\nreviews: []\n", encoding="utf-8")
    folder.write_proposal(PROPOSAL)
    folder.write_specs({f"{name.replace('_', '-')}.md": text for name, text in specs.items()})
    folder.write_tasks(TASKS)
    return folder


def working(root: Path, work: Callable[[Changes], Awaitable[None]]) -> None:
    async def go() -> None:
        async with at_work(root) as moot:
            await work(Changes(moot))

    asyncio.run(go())


def using(root: Path, use: Callable[[Changes], object]) -> None:
    async def work(changes: Changes) -> None:
        use(changes)

    working(root, work)


def text_of(root: Path, name: str = "specs/sign-in.md") -> str:
    return (root / "moot" / name).read_text(encoding="utf-8")


def everything(root: Path) -> dict[str, bytes]:
    found = (path for path in (root / "moot").rglob("*") if path.is_file() and path.name != ".claim.json")
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in found}


# -- archiving -----------------------------------------------------------------------------------


def test_archived_changes_say_what_holds_and_since_when(root: Path) -> None:
    put(root, "a", sign_in=PASSKEYS)
    put(root, "b", sign_in=TWENTY)
    told: list[str] = []

    def archive(changes: Changes) -> None:
        changes.archive("a", told.append)
        changes.archive("b", told.append)

    using(root, archive)
    assert text_of(root) == PASSKEYS.replace("Ten", "Twenty").replace(
        "### Scenario: Known",
        "### Scenario: Eleven\n\n- **WHEN** eleven sign in\n- **THEN** all are\n\n### Scenario: Known",
    )
    assert told == [
        "merged into moot/specs/sign-in.md: 2 added",
        "merged into moot/specs/sign-in.md: 1 added, 1 modified",
    ]
    assert text_of(root, "CHANGELOG.md").split("\n\n", 2)[2] == (
        "## 2026-01-02 b: Passkeys\n\n"
        "- Modified in `specs/sign-in.md`: Rate limit\n- Added to `specs/sign-in.md`: Scenario: Eleven\n\n"
        "## 2026-01-02 a: Passkeys\n\n"
        "- Added to `specs/sign-in.md`: Rate limit\n- Added to `specs/sign-in.md`: Scenario: Known passkey\n"
    )


def test_capitals_in_a_name_are_no_other_specification(root: Path) -> None:
    put(root, "a", sign_in=PASSKEYS)
    put(root, "b", SIGN_IN=TWENTY)
    using(root, lambda changes: (changes.archive("a"), changes.archive("b")))
    assert [path.name for path in (root / "moot/specs").iterdir()] == ["sign-in.md"]
    assert "Twenty" in text_of(root)


@pytest.mark.parametrize("phase", ["rejected", "archived"])
def test_what_was_not_built_is_not_merged(root: Path, phase: str) -> None:
    """And what an earlier version has begun to archive is moved as it would have been."""
    put(root, "a", phase, sign_in=PASSKEYS)
    using(root, lambda changes: changes.archive("a"))
    assert not (root / "moot/specs").exists()


def test_what_is_abandoned_is_not_merged(root: Path) -> None:
    put(root, "a", sign_in=PASSKEYS)
    using(root, lambda changes: Deciding(changes).abandon("a", "Too late."))
    assert not (root / "moot/specs").exists()


def test_a_change_that_says_nothing_of_requirements_leaves_no_trace(root: Path) -> None:
    put(root, "a", notes="# Notes\n")
    using(root, lambda changes: changes.archive("a"))
    assert sorted(path.name for path in (root / "moot").iterdir()) == ["archive", "changes"]


# -- conflicts -----------------------------------------------------------------------------------


def challenged(root: Path, change_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moot.changes.challenge.find", FakeReviewer().found)

    async def work(changes: Changes) -> None:
        await Challenging(changes).challenge(change_id, "codex", silent)

    working(root, work)


def complete(folder: ChangeFolder) -> None:
    folder.update_state(lambda data: data.update(phase="complete"))


def test_two_changes_of_one_requirement_stop_the_second_and_nothing_is_lost(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(root, "first", sign_in=PASSKEYS)
    using(root, lambda changes: changes.archive("first"))
    one = put(root, "a", "proposed", sign_in=TWENTY.replace("Twenty", "Thirty").replace("Eleven", "Twelve"))
    two = put(root, "b", "proposed", sign_in=TWENTY, other=PASSKEYS)
    for folder in (one, two):
        challenged(root, folder.id, monkeypatch)
        complete(folder)
    using(root, lambda changes: changes.archive("a"))
    before = everything(root)

    def refused(changes: Changes) -> None:
        with pytest.raises(SpecsContradict) as caught:
            changes.archive("b")
        assert str(caught.value) == CONFLICT

    using(root, refused)
    assert everything(root) == before
    assert "Thirty" in text_of(root)

    using(root, lambda changes: Deciding(changes).reopen("b", silent))
    challenged(root, "b", monkeypatch)
    complete(two)
    using(root, lambda changes: changes.archive("b"))
    assert "Twenty" in text_of(root), "whoever checked it again knew what it said"


def test_a_living_specification_that_was_changed_by_hand_is_not_written_over(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(root, "a", sign_in=PASSKEYS)
    using(root, lambda changes: changes.archive("a"))
    folder = put(root, "b", "proposed", sign_in=TWENTY)
    challenged(root, "b", monkeypatch)
    complete(folder)
    by_hand = text_of(root).replace("Ten a minute", "Ten a minute, and a hundred a day")
    (root / "moot/specs/sign-in.md").write_text(by_hand, encoding="utf-8")

    def refused(changes: Changes) -> None:
        [warning] = changes.findings(folder)
        assert (warning.file, warning.line, warning.level) == ("specs/sign-in.md", 7, "warning")
        assert warning.message.endswith("since this was last checked")
        with pytest.raises(SpecsContradict):
            changes.archive("b")

    using(root, refused)
    assert text_of(root) == by_hand


def test_contradictions_are_found_before_anybody_reviews(root: Path) -> None:
    put(root, "a", sign_in=PASSKEYS)
    using(root, lambda changes: changes.archive("a"))
    folder = put(root, "b", "proposed", sign_in=PASSKEYS, other=TWENTY)

    def check(changes: Changes) -> None:
        message = (
            "the requirement 'Rate limit' is to be modified, and is not in moot/specs/other.md; it may have "
            "been renamed or removed"
        )
        first, second = changes.findings(folder)
        assert first == Finding("specs/other.md", 7, "error", message)
        assert (second.file, second.line, second.level) == ("specs/sign-in.md", 9, "error")
        assert "is in moot/specs/sign-in.md already (line 9)" in second.message

    using(root, check)


def test_what_the_living_specifications_say_is_looked_at_again(root: Path) -> None:
    put(root, "b", "proposed", sign_in=TWENTY)

    def check(changes: Changes) -> None:
        looking = Looking(changes, "b")
        before = looking()
        assert before is not None
        assert "is not in moot/specs/sign-in.md" in before.obstacles.ready
        (root / "moot/specs").mkdir()
        (root / "moot/specs/sign-in.md").write_text(PASSKEYS, encoding="utf-8")
        after = looking()
        assert after is not None
        assert after.obstacles.ready == ""

    using(root, check)


def test_in_a_session_too_it_is_said_what_stops_it(root: Path) -> None:
    put(root, "first", sign_in=PASSKEYS)
    using(root, lambda changes: changes.archive("first"))
    put(root, "b", sign_in=TWENTY.replace("Rate limit", "Speed"))
    put(root, "c", sign_in=TWENTY)
    told: list[str] = []

    async def driver() -> str:
        return "here"

    async def archive(moot: Moot, change_id: str) -> object:
        found = look(Changes(moot), change_id)
        assert found is not None
        chosen = CHANGE.fold([FilesRead(found), ArchiveChosen(), WorkBegun("here")])
        task = CHANGE.pending(chosen)[0]
        assert isinstance(task, Task)
        done = await ChangeWork(moot, change_id, driver, told.append).carry_out(task, chosen)
        assert isinstance(done, TaskDone)
        return done.value

    async def go() -> None:
        async with at_work(root) as moot:
            failed = await archive(moot, "b")
            assert isinstance(failed, WorkFailed)
            assert "'Speed' is to be modified, and is not in moot/specs/sign-in.md" in failed.problem
            assert "Reopen the change" in failed.problem
            assert isinstance(await archive(moot, "c"), ChangeGone)

    asyncio.run(go())
    assert told == ["merged into moot/specs/sign-in.md: 1 added, 1 modified"]


# -- killed --------------------------------------------------------------------------------------


def test_what_was_merged_before_a_crash_is_not_merged_twice(root: Path) -> None:
    put(root, "first", sign_in=PASSKEYS, other=PASSKEYS)
    using(root, lambda changes: changes.archive("first"))
    removal = TWENTY.replace("Modified", "Removed")
    folder = put(root, "b", other=removal, sign_in=removal)

    class Full(QuickDisk):
        """Has no room for the second of two."""

        def rename(self, source: Path, target: Path) -> None:
            if target.name == "sign-in.md":
                raise OSError(28, "No space left on device")
            super().rename(source, target)

    def fails(changes: Changes) -> None:
        with pytest.MonkeyPatch.context() as context:
            context.setattr(atomic, "disk", Full())
            with pytest.raises(OSError, match="No space"):
                changes.archive("b")
        assert "Rate limit" not in text_of(root, "specs/other.md")
        assert "Rate limit" in text_of(root)
        assert folder.state().merging == STAMP
        assert changes.findings(folder) == ()

    using(root, fails)
    log = text_of(root, "CHANGELOG.md")
    by_hand = text_of(root)
    (root / "moot/specs/sign-in.md").write_text(
        by_hand.replace("### Rate limit", "### Speed"), encoding="utf-8"
    )
    using(root, lambda changes: changes.archive("b"))
    assert "### Speed" in text_of(root), "what is gone already has not to be removed"
    assert text_of(root, "CHANGELOG.md") == log
    assert not folder.path.exists()


def test_what_stops_the_rest_says_that_some_of_it_is_done(root: Path) -> None:
    folder = put(root, "b", sign_in=TWENTY)
    folder.update_state(lambda data: data.update(merging=STAMP))

    def fails(changes: Changes) -> None:
        with pytest.raises(SpecsContradict, match="what was not merged before is not:"):
            changes.archive("b")

    using(root, fails)


# -- files of other people -----------------------------------------------------------------------


def test_a_link_that_leads_out_is_named_and_not_followed(root: Path, tmp_path: Path) -> None:
    put(root, "a", sign_in=PASSKEYS)
    (root / "moot/specs").mkdir()
    outside = tmp_path / "outside.md"
    outside.write_text("secret", encoding="utf-8")
    (root / "moot/specs/sign-in.md").symlink_to(outside)

    def refused(changes: Changes) -> None:
        with pytest.raises(FileDamaged, match=r"specs/sign-in\.md"):
            changes.archive("a")

    using(root, refused)
    (root / "moot/specs/sign-in.md").unlink()
    (root / "moot/CHANGELOG.md").symlink_to(outside)

    def refused_again(changes: Changes) -> None:
        with pytest.raises(UnsafePath, match=r"moot/CHANGELOG\.md"):
            changes.archive("a")

    using(root, refused_again)
    assert outside.read_text(encoding="utf-8") == "secret"


def test_a_file_in_place_of_the_folder_is_named(root: Path) -> None:
    put(root, "a", sign_in=PASSKEYS)
    (root / "moot/specs").write_text("mine", encoding="utf-8")

    def refused(changes: Changes) -> None:
        with pytest.raises(FileDamaged, match="it has to be a folder"):
            changes.archive("a")

    using(root, refused)
    assert (root / "moot/specs").read_text(encoding="utf-8") == "mine"


def test_what_would_be_too_large_is_refused_before_anything_is_written(root: Path) -> None:
    put(root, "a", sign_in=PASSKEYS.replace("Ten a minute.", "x" * 600_000))
    using(root, lambda changes: changes.archive("a"))
    folder = put(
        root, "b", first=PASSKEYS, sign_in=PASSKEYS.replace("Rate limit", "Z").replace("Ten", "y" * 600_000)
    )
    before = everything(root)

    def refused(changes: Changes) -> None:
        with pytest.raises(InvalidInput, match="larger than 1 MB"):
            changes.archive("b")

    using(root, refused)
    assert everything(root) == before
    assert folder.path.exists()


# -- known to whoever plans and reviews ----------------------------------------------------------


def test_a_drafter_and_a_reviser_are_given_what_holds_whole(root: Path) -> None:
    (root / "moot/specs").mkdir(parents=True)
    for name, text in {
        "sign-in.md": PASSKEYS,
        "billing.md": "# Invoices\n\nCustomers pay invoices.\n",
        "weather.md": "# Rain\n",
        ".hidden.md": "# Hidden\n",
        "credentials.md": "# Private\n",
        "notes.txt": "No specification.",
    }.items():
        (root / "moot/specs" / name).write_text(text, encoding="utf-8")
    asked: list[str] = []
    spec = DRAFT["specs"][0] | {
        "modified": [{"title": "Rate limit", "text": "Twenty a minute."}],
        "removed": [{"title": "Scenario: Known passkey", "because": "# It is the other one now."}],
    }

    def answer(call: Call) -> str:
        asked.append("\n".join([*call.shared, call.system, call.messages[0].text]))
        return drafted(specs=[spec])

    async def work(changes: Changes) -> None:
        folder = await changes.propose("b", "Customers sign in to see their invoices.", silent)
        assert (
            "## Modified Requirements\n\n### Rate limit\n\nTwenty a minute.\n"
            in folder.specs()["specs/sign-in.md"]
        )
        assert [(one.file, one.name) for one in folder.state().living] == [
            ("sign-in.md", "rate limit"),
            ("sign-in.md", "scenario: known passkey"),
        ]
        await changes.repropose("b", "Rain.", silent)
        assert folder.specs()["specs/sign-in.md"].count("## Modified") == 1
        complete(folder)
        changes.archive("b")

    async def go() -> None:
        async with at_work(root, [answer, answer]) as moot:
            await work(Changes(moot))

    asyncio.run(go())
    first, second = asked
    assert '<living-specification file="moot/specs/sign-in.md">\nWhat holds already.' in second
    assert PASSKEYS.strip() in second, "its change touches it"
    assert "Customers pay invoices." in first
    assert "- moot/specs/weather.md" in first
    assert "# Private" not in first
    assert "# Hidden" not in first
    living = text_of(root)
    assert "Twenty a minute." in living
    assert "Known passkey" not in living
    assert "### b/R1\n\nA lost passkey MUST be replaceable." in living


def test_a_draft_that_contradicts_what_holds_is_returned_with_the_reason(root: Path) -> None:
    (root / "moot/specs").mkdir(parents=True)
    (root / "moot/specs/sign-in.md").write_text(PASSKEYS, encoding="utf-8")
    heard: list[str] = []

    def answer(title: str) -> Callable[[Call], str]:
        def say(call: Call) -> str:
            heard.append(call.messages[-1].text)
            return drafted(specs=[DRAFT["specs"][0] | {"modified": [{"title": title, "text": "Twenty."}]}])

        return say

    async def go() -> ChangeFolder:
        async with at_work(root, [answer("The limit"), answer("Rate limit")]) as moot:
            return await Changes(moot).propose("b", "Faster.", silent)

    folder = asyncio.run(go())
    assert "the requirement 'The limit' is to be modified, and is not in moot/specs/sign-in.md" in heard[1]
    assert "### Rate limit\n\nTwenty." in folder.specs()["specs/sign-in.md"]


def test_a_reviewer_is_given_what_the_change_touches(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(root, "a", sign_in=PASSKEYS)
    using(root, lambda changes: changes.archive("a"))
    folder = put(root, "b", "proposed", sign_in=TWENTY)
    told: list[str] = []
    monkeypatch.setattr(
        "moot.changes.challenge.find", FakeReviewer(asked=lambda job: told.append(job.text)).found
    )

    async def work(changes: Changes) -> None:
        await Challenging(changes).challenge("b", "codex", silent)

    working(root, work)
    assert PASSKEYS.strip() in told[0]
    assert [one.name for one in folder.state().living] == ["rate limit"]
