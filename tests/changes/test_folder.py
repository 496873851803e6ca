"""A change on the disk: what is written is whole, what others wrote stays, what is damaged is named."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from moot.changes import review_block, state_file
from moot.changes.folder import ChangeFolder, ChangeFolders
from moot.changes.review_block import Issue, Review, Severity, Verdict
from moot.changes.state_file import (
    Call,
    Checksum,
    RecordedReview,
    SessionTokens,
    Totals,
    Validation,
    note_session,
)
from moot.errors import (
    AlreadyThere,
    FileDamaged,
    InvalidId,
    InvalidInput,
    NotFound,
    ReviewNotTaken,
    UnsafePath,
)
from moot.files import atomic, timestamps
from moot.files.folder import TextFolder
from moot.files.layout import Workspace
from tests.support.changes import reviewed

NOON = "2026-11-15T12:00:00Z"
LATER = "2026-11-15T12:30:00Z"

NEW_STATE = """\
change_id: add-login
schema_version: '2.0'
created_at: 2026-11-15T12:00:00Z
updated_at: 2026-11-15T12:00:00Z
phase: proposed
iteration: 1
last_action: null
session_id: null
verdict: null
checksums: {}
validations: []
telemetry:
  calls: []
  totals:
    calls: 0
    tokens_in: 0
    tokens_out: 0
    cost_usd: null
    duration_ms: 0
reviews: []
"""

THEIRS = """\
# kept by another tool
change_id: add-login   # as in the folder
schema_version: "2.0"
created_at: 2026-06-15T08:00:00.123456789+00:00
phase: 'proposed'
iteration: 2
verdict: needs_revision
validations:
  - step: proposal
    valid: false
    errors: ["no Why"]   # listed
telemetry:
  calls:
    # the first
    - {step: challenge, model: codex, tokens_in: 10, tokens_out: null, cost_usd: 0.1}
  totals:
    theirs: 7
owner: ann
"""

APPROVAL = Review(Verdict.APPROVED, (), "All good.", NOON)
OBJECTION = Review(Verdict.NEEDS_REVISION, (Issue(Severity.HIGH, "No rollback"),), "Not yet.", NOON)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    def set_to(time: str) -> None:
        monkeypatch.setattr(timestamps, "now", lambda: time)

    set_to(NOON)
    return set_to


class Fast(atomic.Disk):
    """Power failures are not what is tried here, so nothing waits for the disk."""

    def fsync(self, handle: int) -> None:
        pass

    def fsync_dir(self, folder: Path) -> None:
        pass


@pytest.fixture(autouse=True)
def fast_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atomic, "disk", Fast())


@pytest.fixture
def changes(tmp_path: Path) -> ChangeFolders:
    return ChangeFolders(Workspace.at(tmp_path))


@pytest.fixture
def change(changes: ChangeFolders) -> ChangeFolder:
    return changes.create("add-login")


def state_text(change: ChangeFolder) -> str:
    return (change.path / "STATE.yaml").read_text(encoding="utf-8")


def put_state(change: ChangeFolder, text: str) -> None:
    (change.path / "STATE.yaml").write_bytes(text.encode())


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# -- folders -------------------------------------------------------------------------------------


def test_a_new_change_has_a_state_that_people_can_read(change: ChangeFolder, tmp_path: Path) -> None:
    assert change.path == tmp_path / "moot" / "changes" / "add-login"
    assert names(change.path) == ["STATE.yaml"]
    assert state_text(change) == NEW_STATE
    state = change.state()
    assert (state.change_id, state.phase, state.iteration, state.reviews) == ("add-login", "proposed", 1, ())
    assert (state.created_at, state.updated_at, state.verdict, state.last_action) == (NOON, NOON, None, None)


def test_a_change_is_not_created_over_another(changes: ChangeFolders, change: ChangeFolder) -> None:
    change.write_proposal("mine")
    with pytest.raises(AlreadyThere, match="Change 'add-login' already exists"):
        changes.create("add-login")
    assert change.proposal() == "mine"
    assert state_text(change) == NEW_STATE


@pytest.mark.parametrize("sign", ["proposal.md", "tasks.md", "specs/api.md"])
def test_files_without_a_state_are_a_change_too(changes: ChangeFolders, tmp_path: Path, sign: str) -> None:
    file = tmp_path / "moot" / "changes" / "by-hand" / sign
    file.parent.mkdir(parents=True)
    file.write_text("x", encoding="utf-8")
    with pytest.raises(AlreadyThere):
        changes.create("by-hand")
    assert [each.id for each in changes.all()] == ["by-hand"]
    state = changes.open("by-hand").state()
    assert (state.phase, state.created_at, state.reviews) == ("proposed", NOON, ())
    assert not (tmp_path / "moot" / "changes" / "by-hand" / "STATE.yaml").exists()


def test_an_empty_folder_that_a_killed_process_left_can_be_created_again(
    changes: ChangeFolders, tmp_path: Path
) -> None:
    (tmp_path / "moot" / "changes" / "half").mkdir(parents=True)
    assert changes.open("half").state().phase == "proposed"
    assert changes.all() == []
    changes.create("half")
    assert [each.id for each in changes.all()] == ["half"]


def test_a_file_in_the_place_of_a_change_stays(changes: ChangeFolders, tmp_path: Path) -> None:
    (tmp_path / "moot" / "changes").mkdir(parents=True)
    (tmp_path / "moot" / "changes" / "odd").write_text("x", encoding="utf-8")
    with pytest.raises(AlreadyThere):
        changes.create("odd")
    with pytest.raises(NotFound, match="Change 'odd' not found"):
        changes.open("odd")
    assert (tmp_path / "moot" / "changes" / "odd").read_text(encoding="utf-8") == "x"


def test_an_unknown_change_is_not_found_and_the_known_ones_are_named(changes: ChangeFolders) -> None:
    changes.create("b")
    changes.create("a")
    with pytest.raises(NotFound, match="Change 'nonexistent' not found") as caught:
        changes.open("nonexistent")
    assert caught.value.known == ("a", "b")


@pytest.mark.parametrize("name", ["../x", "", "A", "a/b", "/etc", "a\n", "x" * 65])
def test_what_is_no_id_names_no_change(changes: ChangeFolders, name: str) -> None:
    for use in (changes.open, changes.create):
        with pytest.raises(InvalidId):
            use(name)


def test_a_workspace_without_changes_has_none(changes: ChangeFolders) -> None:
    assert changes.all() == []


def test_what_is_no_change_is_not_listed(
    changes: ChangeFolders, change: ChangeFolder, tmp_path: Path
) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    (outside / "proposal.md").write_text("x", encoding="utf-8")
    place = change.path.parent
    (place / "archive").mkdir()
    (place / "Not An Id").mkdir()
    (place / "linked").symlink_to(outside)
    os.mkfifo(place / "pipe")
    assert [each.id for each in changes.all()] == ["add-login"]
    with pytest.raises(UnsafePath):
        changes.open("linked")


def test_another_tools_changes_are_used_where_they_are(tmp_path: Path) -> None:
    theirs = tmp_path / "agentd" / "changes" / "feat-auth"
    theirs.mkdir(parents=True)
    (theirs / "STATE.yaml").write_text(THEIRS, encoding="utf-8")
    changes = ChangeFolders(Workspace.at(tmp_path))
    assert changes.open("feat-auth").state().change_id == "add-login"
    assert changes.create("next").path == tmp_path / "agentd" / "changes" / "next"


# -- archive -------------------------------------------------------------------------------------


def test_an_archived_change_is_moved_whole(
    changes: ChangeFolders, change: ChangeFolder, tmp_path: Path
) -> None:
    change.write_proposal("the proposal")
    change.write_specs({"api.md": "the spec"})
    target = changes.archive(change)
    assert target == tmp_path / "moot" / "archive" / "2026-11-15-add-login"
    assert names(target) == ["STATE.yaml", "proposal.md", "specs"]
    assert (target / "specs" / "api.md").read_text(encoding="utf-8") == "the spec"
    assert changes.all() == []


def test_an_archive_never_overwrites(changes: ChangeFolders, tmp_path: Path) -> None:
    places = []
    for text in ("first", "second", "third"):
        change = changes.create("add-login")
        change.write_proposal(text)
        places.append(changes.archive(change))
    archive = tmp_path / "moot" / "archive"
    assert [place.name for place in places] == [
        "2026-11-15-add-login",
        "2026-11-15-add-login-2",
        "2026-11-15-add-login-3",
    ]
    texts = [(archive / place.name / "proposal.md").read_text(encoding="utf-8") for place in places]
    assert texts == ["first", "second", "third"]


def test_an_archive_does_not_replace_a_file(
    changes: ChangeFolders, change: ChangeFolder, tmp_path: Path
) -> None:
    taken = tmp_path / "moot" / "archive" / "2026-11-15-add-login"
    taken.parent.mkdir()
    taken.write_text("theirs", encoding="utf-8")
    assert changes.archive(change).name == "2026-11-15-add-login-2"
    assert taken.read_text(encoding="utf-8") == "theirs"


def test_an_archive_that_leads_outside_is_refused(
    changes: ChangeFolders, change: ChangeFolder, tmp_path: Path
) -> None:
    (tmp_path / "moot" / "archive").symlink_to(tmp_path.parent)
    with pytest.raises(UnsafePath):
        changes.archive(change)
    assert names(change.path) == ["STATE.yaml"]


def test_whoever_still_holds_an_archived_change_cannot_bring_it_back(
    changes: ChangeFolders, change: ChangeFolder
) -> None:
    changes.archive(change)
    for use in (
        change.state,
        change.proposal,
        change.specs,
        lambda: change.write_tasks("x"),
        lambda: change.record_call(Call("proposal")),
        lambda: change.append_review(APPROVAL, "a run"),
        lambda: changes.archive(change),
    ):
        with pytest.raises(NotFound, match="Change 'add-login' not found"):
            use()
    assert not change.path.exists()


# -- documents -----------------------------------------------------------------------------------


def test_documents_are_read_as_they_were_written(change: ChangeFolder) -> None:
    assert (change.proposal(), change.tasks(), change.agents(), change.specs()) == (None, None, None, {})
    change.write_proposal("\ufeff# P\r\n")
    change.write_tasks("- [ ] one\r\n")
    change.write_agents("# A")
    change.write_specs({"b.md": "B", "specs/a.md": "A\r\n"})
    assert change.proposal() == "\ufeff# P\r\n"
    assert change.tasks() == "- [ ] one\r\n"
    assert change.agents() == "# A"
    assert list(change.specs().items()) == [("specs/a.md", "A\r\n"), ("specs/b.md", "B")]


def test_specs_that_are_no_longer_named_go_only_when_asked(change: ChangeFolder) -> None:
    change.write_specs({"old.md": "old", "kept.md": "one"})
    (change.path / "specs" / "notes.txt").write_text("theirs", encoding="utf-8")
    change.write_specs({"kept.md": "two"})
    assert change.specs() == {"specs/kept.md": "two", "specs/old.md": "old"}
    change.write_specs({"kept.md": "three"}, remove_others=True)
    assert change.specs() == {"specs/kept.md": "three"}
    assert names(change.path / "specs") == ["kept.md", "notes.txt"]


@pytest.mark.parametrize("name", ["../x.md", "a/b.md", ".hidden.md", "x.txt", "", "specs/../x.md"])
def test_a_spec_has_a_plain_name(change: ChangeFolder, name: str) -> None:
    with pytest.raises(InvalidInput):
        change.write_specs({"good.md": "x", name: "x"})
    assert names(change.path) == ["STATE.yaml"]


def test_a_file_of_exactly_the_limit_is_taken_and_a_larger_one_is_damage(change: ChangeFolder) -> None:
    file = change.path / "proposal.md"
    file.write_bytes(b"x" * 1_000_000)
    assert change.proposal() == "x" * 1_000_000
    file.write_bytes(b"x" * 1_000_001)
    run = change.begin_run("codex", "")
    for use in (
        change.proposal,
        lambda: change.append_review(APPROVAL, run),
        lambda: change.write_proposal(""),
    ):
        with pytest.raises(FileDamaged, match="larger than 1 MB") as caught:
            use()
        assert caught.value.file == str(file)
    assert file.stat().st_size == 1_000_001


def test_nothing_is_written_that_could_not_be_read_again(change: ChangeFolder) -> None:
    text = "x" * 999_950 + "\n"
    change.write_proposal(text)
    with pytest.raises(InvalidInput, match="would be larger than 1 MB"):
        reviewed(change, APPROVAL)
    assert (change.proposal(), change.reviews()) == (text, ())
    with pytest.raises(InvalidInput, match="would be larger"):
        change.write_tasks("é" * 500_001)
    assert change.tasks() is None


@pytest.mark.parametrize("name", ["proposal.md", "tasks.md", "AGENTS.md", "STATE.yaml", "specs/api.md"])
@pytest.mark.parametrize("kind", ["link outside", "pipe", "folder", "not UTF-8", "link in a circle"])
def test_what_is_no_text_of_this_folder_is_named_and_left_as_it_is(
    change: ChangeFolder, tmp_path: Path, name: str, kind: str
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("phase: proposed\n", encoding="utf-8")
    file = change.path / name
    file.parent.mkdir(exist_ok=True)
    file.unlink(missing_ok=True)
    match kind:
        case "link outside":
            file.symlink_to(victim)
        case "pipe":
            os.mkfifo(file)
        case "folder":
            file.mkdir()
        case "not UTF-8":
            file.write_bytes(b"phase: proposed\n\xff\n")
        case _:
            file.symlink_to(file)
    before = identity(file)
    uses: dict[str, tuple[Callable[[], Any], ...]] = {
        "proposal.md": (
            change.proposal,
            change.reviews,
            change.strangers,
            change.reviewed_files,
            lambda: change.write_proposal("x"),
        ),
        "tasks.md": (change.tasks,),
        "AGENTS.md": (change.agents,),
        "STATE.yaml": (change.state, lambda: change.record_call(Call("proposal"))),
        "specs/api.md": (change.specs, lambda: change.record_checksums(["specs/api.md"])),
    }
    for use in uses[name]:
        with pytest.raises(FileDamaged) as caught:
            use()
        assert caught.value.file == str(file)
        assert caught.value.line == (2 if kind == "not UTF-8" else None)
    assert identity(file) == before
    assert victim.read_text(encoding="utf-8") == "phase: proposed\n"


def identity(file: Path) -> tuple[int, ...]:
    """Not when it was last looked at: that a link is followed counts as that."""
    status = file.lstat()
    return (status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns, status.st_nlink)


def test_a_write_does_not_leave_the_folder_through_a_link(change: ChangeFolder, tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("untouched", encoding="utf-8")
    (tmp_path / "elsewhere").mkdir()
    (change.path / "tasks.md").symlink_to(tmp_path / "victim")
    (change.path / "AGENTS.md").symlink_to(tmp_path / "not-there")
    (change.path / "specs").symlink_to(tmp_path / "elsewhere")
    for use in (
        lambda: change.write_tasks("x"),
        lambda: change.write_agents("x"),
        lambda: change.write_specs({"a.md": "x"}),
        change.specs,
    ):
        with pytest.raises(FileDamaged, match="leads outside"):
            use()
    assert (tmp_path / "victim").read_text(encoding="utf-8") == "untouched"
    assert names(tmp_path) == ["elsewhere", "moot", "victim"]
    assert names(tmp_path / "elsewhere") == []


def test_a_spec_that_leads_nowhere_is_not_passed_over(change: ChangeFolder) -> None:
    change.write_specs({"api.md": "x"})
    (change.path / "specs" / "gone.md").symlink_to("missing.md")
    with pytest.raises(FileDamaged, match=r"gone\.md: it leads nowhere"):
        change.specs()


# -- reviews -------------------------------------------------------------------------------------


def test_a_review_is_appended_and_its_block_returned(change: ChangeFolder) -> None:
    change.write_proposal("# P\n")
    block = reviewed(change, OBJECTION)
    assert block == review_block.render(OBJECTION)
    assert change.proposal() == f"# P\n\n{block}\n"


def test_there_is_no_review_without_a_proposal(change: ChangeFolder) -> None:
    with pytest.raises(NotFound):
        reviewed(change, APPROVAL)
    assert names(change.path) == ["STATE.yaml"]


def test_a_rewrite_keeps_the_reviews_or_does_not_happen(change: ChangeFolder) -> None:
    change.write_proposal("# P\r\n")
    first = reviewed(change, OBJECTION)
    second = reviewed(change, APPROVAL)
    before = change.proposal()
    for wrong in (
        "# New\n",
        f"# New\n\n{first}\n",
        f"# New\n\n{second}\n\n{first}\n",
        f"# New\n\n{first}\n\n{second}\n\n{second}\n",
        f"# New\n\n{first}\n\n{second}\n".replace("\r\n", "\n"),
        f"# New\n\n{first}\n\n{second}\n".replace("All good", "All bad"),
    ):
        with pytest.raises(InvalidInput, match="reviews"):
            change.write_proposal(wrong)
        assert change.proposal() == before
    change.write_proposal(f"# New\n\n{first}\n\n{second}\n")
    assert change.proposal() == f"# New\n\n{first}\n\n{second}\n"


def test_a_proposal_cannot_bring_its_own_review(change: ChangeFolder) -> None:
    with pytest.raises(InvalidInput, match="reviews"):
        change.write_proposal(f"# P\n\n{review_block.render(APPROVAL)}\n")
    assert change.proposal() is None


def test_a_review_is_recorded_with_what_it_is_of(change: ChangeFolder) -> None:
    change.write_proposal("# P\n")
    change.write_specs({"api.md": "# A\n"})
    change.write_tasks("- [ ] One\n")
    run = change.begin_run("codex", "gpt")
    block = change.append_review(OBJECTION, run)
    state = change.state()
    [record] = state.reviews or ()
    assert record.hash == "sha256:" + hashlib.sha256(block.encode()).hexdigest()
    assert (record.verdict, record.at, record.engine, record.model, record.run) == (
        Verdict.NEEDS_REVISION, NOON, "codex", "gpt", run,
    )  # fmt: skip
    assert len(record.id) == 12
    assert list(record.files) == ["proposal.md", "specs/api.md", "tasks.md"]
    assert record.files == change.reviewed_files(), "its own block is no part of what it is of"
    assert (state.phase, state.verdict) == ("proposed", None), "it does not count before it is counted"
    [made] = change.reviews()
    assert (made.record, made.block and made.block.raw) == (record, block)
    assert change.strangers() == ()


def test_a_review_needs_a_run_that_is_under_way_and_has_made_none(change: ChangeFolder) -> None:
    change.write_proposal("# P\n")
    first = change.begin_run("codex", "")
    second = change.begin_run("codex", "")
    for run in ("", first, "made up"):
        with pytest.raises(ReviewNotTaken, match="moot has begun no review"):
            change.append_review(APPROVAL, run)
    change.append_review(OBJECTION, second)
    with pytest.raises(ReviewNotTaken, match="a run makes one review"):
        change.append_review(APPROVAL, second)
    change.end_run(second)
    assert change.state().run is not None, "its review is still to be counted"
    change.update_state(state_file.end_run)
    with pytest.raises(ReviewNotTaken, match="moot has begun no review"):
        change.append_review(APPROVAL, second)
    assert len(review_block.blocks(change.proposal() or "")) == 1


def test_half_of_a_review_is_void(change: ChangeFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed between the record and the block, or the disk refused the block."""
    change.write_proposal("# P\n")
    run = change.begin_run("codex", "")
    write = TextFolder.write

    def refuse(_: TextFolder, file: str, text: str) -> None:
        raise OSError(f"no room for {file}, {len(text)}")

    monkeypatch.setattr(TextFolder, "write", refuse)
    with pytest.raises(OSError, match=r"no room for proposal\.md"):
        change.append_review(APPROVAL, run)
    monkeypatch.setattr(TextFolder, "write", write)
    assert change.reviews() == ()
    change.append_review(APPROVAL, run)
    (change.path / "proposal.md").write_text("# P\n", encoding="utf-8")
    [made] = change.reviews()
    assert made.block is None
    change.end_run(run)
    assert (change.reviews(), change.state().run) == ((), None)


def test_what_moot_did_not_make_is_a_stranger(change: ChangeFolder) -> None:
    change.write_proposal("# P\n")
    block = reviewed(change, OBJECTION)
    text = change.proposal() or ""
    file = change.path / "proposal.md"
    for pasted in (f"{text}\n{block}\n", f"{text}\n{review_block.render(APPROVAL)}\n"):
        file.write_text(pasted, encoding="utf-8")
        [stranger] = change.strangers()
        assert stranger.line > 10, "the one that stands below"
        assert [made.block is not None for made in change.reviews()] == [True]
    file.write_text(text.replace("Not yet.", "Not quite."), encoding="utf-8")
    assert [made.block for made in change.reviews()] == [None], "a changed one is another's"
    assert len(change.strangers()) == 1
    (change.path / "STATE.yaml").unlink()
    file.write_text(text, encoding="utf-8")
    assert (change.reviews(), len(change.strangers())) == ((), 1)


def test_other_line_ends_make_no_other_review_or_text(change: ChangeFolder) -> None:
    change.write_proposal("# P\n")
    reviewed(change, APPROVAL)
    before = change.reviewed_files()
    file = change.path / "proposal.md"
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n"))
    assert change.strangers() == ()
    assert change.reviewed_files() == before


def test_records_of_an_earlier_version_are_read(change: ChangeFolder) -> None:
    block = review_block.render(APPROVAL)
    (change.path / "proposal.md").write_text(f"# P\n\n{block}\n", encoding="utf-8")
    digest = state_file.review_hash(block)
    record = f"- hash: {digest}\n  verdict: APPROVED\n  at: {NOON}\n  engine: codex\n"
    put_state(change, f"phase: challenged\nreviews:\n{record}")
    [made] = change.reviews()
    assert made.record == RecordedReview(digest, Verdict.APPROVED, NOON, "codex")
    assert made.block is not None
    assert made.record.reviewed == ""


# -- a frozen folder -----------------------------------------------------------------------------


def whole(folder: Path) -> dict[str, object]:
    return {
        path.relative_to(folder).as_posix(): str(path.readlink()) if path.is_symlink() else path.read_bytes()
        for path in folder.rglob("*")
        if path.is_symlink() or path.is_file()
    }


VANDALS = {
    "nothing": "true",
    "a file changed": "echo x > tasks.md",
    "a file gone": "rm proposal.md",
    "no text": r"printf '\377\376' > proposal.md",
    "a new file": "echo x > specs/b.md",
    "a link": "ln -sf /etc/passwd tasks.md",
    "a pipe": "rm tasks.md; mkfifo tasks.md",
    "a folder for a file": "rm tasks.md; mkdir tasks.md; touch tasks.md/x",
    "a file for a folder": "rm -r specs; touch specs",
    "a link for a folder": "rm -r specs; ln -s /etc specs",
    "all gone": 'rm -r "$PWD"',
    "another folder": 'rm -r "$PWD"; ln -s /etc "$PWD"',
    "not to be read": "chmod 0 STATE.yaml",
    "a file where things are kept": "echo x > earlier; echo x > tasks.md",
    "a link where things are kept": "ln -s /etc earlier; echo x > tasks.md",
    "a number that is taken": "mkdir earlier; echo x > earlier/1; ln -s /etc earlier/2; echo x > tasks.md",
}


@pytest.mark.parametrize("vandal", VANDALS)
def test_whatever_is_done_to_a_frozen_folder_is_undone(change: ChangeFolder, vandal: str) -> None:
    change.write_proposal("# P\n")
    change.write_specs({"a.md": "# A\n"})
    change.write_tasks("- [ ] One\n")
    (change.path / "link.md").symlink_to("tasks.md")
    before, frozen = whole(change.path), change.freeze()
    subprocess.run(["/bin/sh", "-c", VANDALS[vandal]], cwd=change.path, check=True)
    undone, kept = change.bring_back(frozen)
    after = whole(change.path)
    assert {name: after[name] for name in after if not name.startswith("earlier/")} == before
    assert change.freeze().items() >= frozen.items(), "modes, too"
    assert bool(undone) == (vandal != "nothing")
    left = [name for name in after if name.startswith("earlier/")]
    assert bool(kept) == bool(left) or vandal == "a pipe"
    assert not any(isinstance(after[name], str) for name in left), "nothing that was kept leads anywhere"
    assert change.bring_back(change.freeze()) == ((), "")


# -- STATE.yaml ----------------------------------------------------------------------------------


def test_only_what_is_recorded_changes_in_the_file(
    change: ChangeFolder, clock: Callable[[str], None]
) -> None:
    clock(LATER)
    change.record_call(Call("challenge", "codex:gpt", 1200, 300, 0.25, 4100, "ok"))
    expected = NEW_STATE.replace("updated_at: 2026-11-15T12:00:00Z", "updated_at: 2026-11-15T12:30:00Z")
    expected = expected.replace(
        """\
  calls: []
  totals:
    calls: 0
    tokens_in: 0
    tokens_out: 0
    cost_usd: null
    duration_ms: 0
""",
        """\
  calls:
  - step: challenge
    model: codex:gpt
    tokens_in: 1200
    tokens_out: 300
    cost_usd: 0.25
    duration_ms: 4100
    outcome: ok
    timestamp: 2026-11-15T12:30:00Z
  totals:
    calls: 1
    tokens_in: 1200
    tokens_out: 300
    cost_usd: 0.25
    duration_ms: 4100
""",
    )
    assert state_text(change) == expected


def test_what_another_tool_wrote_stays(change: ChangeFolder) -> None:
    put_state(change, THEIRS)
    state = change.state()
    assert state.created_at == "2026-06-15T08:00:00.123456789+00:00"
    assert (state.iteration, state.verdict) == (2, Verdict.NEEDS_REVISION)
    assert state.validations == (Validation("proposal", valid=False, errors=1, warnings=0),)
    assert state.calls == (Call("challenge", "codex", 10, 0, 0.1, 0),)
    change.record_call(Call("challenge", "m", 1, 2, None, 3, "failed: timed out"))
    assert state_text(change) == THEIRS.replace(
        "cost_usd: 0.1}\n",
        "cost_usd: 0.1}\n"
        "    - step: challenge\n"
        "      model: m\n"
        "      tokens_in: 1\n"
        "      tokens_out: 2\n"
        "      cost_usd: null\n"
        "      duration_ms: 3\n"
        "      outcome: 'failed: timed out'\n"
        "      timestamp: 2026-11-15T12:00:00Z\n",
    ).replace(
        "    theirs: 7\n",
        "    theirs: 7\n"
        "    calls: 2\n"
        "    tokens_in: 11\n"
        "    tokens_out: 2\n"
        "    cost_usd: 0.1\n"
        "    duration_ms: 3\n",
    ) + ("updated_at: 2026-11-15T12:00:00Z\n")


def test_keys_that_are_no_texts_are_somebody_elses_and_stay(change: ChangeFolder) -> None:
    put_state(change, "2: two\ntrue: yes\nphase: complete\nchecksums:\n  7: {hash: 12}\n")
    assert change.state().checksums == {"7": Checksum("12", "")}
    change.update_state(lambda data: data.update(phase="archived"))
    assert state_text(change) == (
        f"2: two\ntrue: yes\nphase: archived\nchecksums:\n  7: {{hash: 12}}\nupdated_at: {NOON}\n"
    )


def test_line_ends_and_byte_order_mark_of_a_state_stay(change: ChangeFolder) -> None:
    put_state(change, "\ufeff" + THEIRS.replace("\n", "\r\n"))
    change.update_state(lambda data: data.update(phase="challenged"))
    written = (change.path / "STATE.yaml").read_bytes().decode("utf-8")
    expected = THEIRS.replace("'proposed'", "'challenged'") + f"updated_at: {NOON}\n"
    assert written == "\ufeff" + expected.replace("\n", "\r\n")
    assert change.state().phase == "challenged"


def test_everything_that_is_recorded_can_be_read(change: ChangeFolder) -> None:
    change.write_proposal("# P\n")
    change.record_validation(Validation("validate-proposal", valid=True, errors=0, warnings=2))
    change.record_checksums(["proposal.md", "tasks.md"])

    def challenged(data: Any) -> None:
        data.update(phase="challenged", last_action="challenge", iteration=3)
        note_session(data, "codex", "0199-a", SessionTokens(500, 60))

    state = change.update_state(challenged)
    assert state == change.state()
    assert state.validations == (Validation("validate-proposal", True, 0, 2, NOON),)
    assert state.checksums == {
        "proposal.md": Checksum("sha256:" + hashlib.sha256(b"# P\n").hexdigest(), NOON)
    }
    assert (state.phase, state.last_action, state.iteration) == ("challenged", "challenge", 3)
    assert (state.session_id, state.session_engine) == ("0199-a", "codex")
    assert state.session_tokens == SessionTokens(500, 60)


def test_the_checksum_of_a_file_that_is_gone_goes(change: ChangeFolder) -> None:
    change.write_tasks("x")
    assert list(change.record_checksums(["tasks.md"]).checksums) == ["tasks.md"]
    (change.path / "tasks.md").unlink()
    assert list(change.record_checksums(["tasks.md"]).checksums) == []


def test_totals_are_the_sums_of_all_calls(change: ChangeFolder) -> None:
    for call in (
        Call("proposal", "a", 1, 10, 0.1, 100, "ok"),
        Call("challenge", "b", 2, 20, None, 200, "failed"),
        Call("challenge", "b", 3, 30, 0.2, 300, "ok"),
    ):
        change.record_call(call)
    assert change.state().totals == Totals(3, 6, 60, 0.3, 600)
    written = YAML(typ="safe").load(state_text(change))["telemetry"]
    assert written["totals"] == {
        "calls": 3,
        "tokens_in": 6,
        "tokens_out": 60,
        "cost_usd": 0.3,
        "duration_ms": 600,
    }
    assert [call["outcome"] for call in written["calls"]] == ["ok", "failed", "ok"]


_WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
_CALLS = st.builds(
    Call,
    step=_WORDS,
    model=_WORDS,
    tokens_in=st.integers(0, 10**9),
    tokens_out=st.integers(0, 10**9),
    cost_usd=st.none() | st.floats(0, 1000),
    duration_ms=st.integers(0, 10**9),
    outcome=_WORDS,
    timestamp=st.just(NOON),
)


@given(calls=st.lists(_CALLS, max_size=3))
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_call_is_kept_whatever_its_words_are(
    tmp_path_factory: pytest.TempPathFactory, calls: list[Call]
) -> None:
    change = ChangeFolders(Workspace.at(tmp_path_factory.mktemp("w"))).create("x")
    for call in calls:
        change.record_call(call)
    state = change.state()
    assert state.calls == tuple(calls)
    assert state.totals.tokens_in == sum(call.tokens_in for call in calls)
    assert state.totals.calls == len(calls)


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("", 1, "not a mapping"),
        ("- a\n", 1, "not a mapping"),
        ("phase: proposed\nphase: complete\n", 2, "duplicate"),
        ("phase: proposed\n  bad: [\n", 2, "mapping values are not allowed"),
        ("a: 1\nphase: testing\n", 2, "'testing' is none of proposed, challenged, implementing"),
        ("a: 1\n\nverdict: maybe\n", 3, "'maybe' is none of APPROVED"),
        ("verdict: [APPROVED]\n", 1, "verdict"),
        ("iteration: -1\n", 1, "iteration"),
        ("iteration: many\n", 1, "iteration"),
        ("iteration: true\n", 1, "iteration"),
        ("phase: {}\n", 1, "phase"),
        ("telemetry: none\n", 1, "mapping"),
        ("a: 1\ntelemetry:\n  totals: [1]\n", 2, "mapping"),
        ("telemetry:\n  calls: {}\n", 1, "telemetry"),
        ("telemetry:\n  calls:\n  - step: x\n    tokens_in: -4\n", 1, "0.tokens_in"),
        ("telemetry:\n  calls:\n  - step: x\n    cost_usd: .inf\n", 1, "0.cost_usd"),
        ("a: 1\nreviews:\n- hash: x\n", 2, "0.verdict"),
        ("reviews: yes please\n", 1, "reviews"),
        ("checksums:\n  proposal.md: abc\n", 1, r"proposal\.md"),
        ("validations: {}\n", 1, "validations"),
        ('a: 1\nschema_version: "3.0"\n', 2, "written by a newer version"),
        ("schema_version: 10\n", 1, "written by a newer version"),
        ("schema_version: latest\n", 1, "is no version"),
    ],
)
def test_a_state_that_makes_no_sense_is_named_and_left_as_it_is(
    change: ChangeFolder, text: str, line: int, problem: str
) -> None:
    put_state(change, text)
    for use in (change.state, lambda: change.update_state(lambda data: data.update(phase="complete"))):
        with pytest.raises(FileDamaged, match=problem) as caught:
            use()
        assert (caught.value.file, caught.value.line) == (str(change.path / "STATE.yaml"), line)
    assert state_text(change) == text


@pytest.mark.parametrize("version", ['"2.0"', "2.0", "2", "2.10", '"1.0"', "null"])
def test_this_and_earlier_schemas_are_read(change: ChangeFolder, version: str) -> None:
    put_state(change, f"schema_version: {version}\nphase: complete\n")
    assert change.state().phase == "complete"
    change.record_call(Call("x"))
    assert state_text(change).startswith(f"schema_version: {version}\n")


def test_a_state_of_more_than_a_megabyte_is_damage(change: ChangeFolder) -> None:
    put_state(change, "# " + "x" * 1_000_000)
    for use in (change.state, lambda: change.record_call(Call("x"))):
        with pytest.raises(FileDamaged, match="larger than 1 MB"):
            use()
    assert (change.path / "STATE.yaml").stat().st_size == 1_000_002


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        (lambda data: data.update(phase="done"), "phase"),
        (lambda data: data.update(verdict="maybe"), "verdict"),
        (lambda data: data.update(schema_version="3.0"), "schema_version"),
        (lambda data: state_file.note_call(data, Call("x", tokens_in=-1)), "telemetry"),
    ],
)
def test_a_state_that_could_not_be_read_again_is_not_written(
    change: ChangeFolder, wrong: Callable[[Any], None], field: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        change.update_state(wrong)
    assert caught.value.field == field
    assert state_text(change) == NEW_STATE


def test_an_update_that_fails_leaves_the_state(change: ChangeFolder) -> None:
    def fail(data: Any) -> None:
        data["phase"] = "complete"
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        change.update_state(fail)
    assert state_text(change) == NEW_STATE
    assert names(change.path) == ["STATE.yaml"]


# -- company and death ---------------------------------------------------------------------------

RECORDER = """
import sys
from pathlib import Path
from moot.files import atomic as writing
from moot.changes.state_file import Call
from moot.changes.folder import ChangeFolders
from moot.files.layout import Workspace

class Fast(writing.Disk):
    def fsync(self, handle): pass
    def fsync_dir(self, folder): pass

writing.disk = Fast()
change = ChangeFolders(Workspace.at(Path(sys.argv[1]))).open("add-login")
sys.stdin.readline()
for number in range(6):
    change.record_call(Call(sys.argv[2], tokens_in=number))
"""


def test_processes_on_one_state_lose_no_call(change: ChangeFolder, tmp_path: Path) -> None:
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", RECORDER, str(tmp_path), name], stdin=subprocess.PIPE, text=True
        )
        for name in ("a", "b")
    ]
    for worker in workers:
        assert worker.stdin is not None
        with worker.stdin:
            worker.stdin.write("go\n")
    assert [worker.wait(60) for worker in workers] == [0, 0]
    state = change.state()
    for name in ("a", "b"):
        assert [call.tokens_in for call in state.calls if call.step == name] == list(range(6))
    assert state.totals.tokens_in == 30


# Each step of a change's life, killed at each of its calls to the disk, looked at, and taken once more.
MORTAL = """
import json, os, shutil, signal, sys, uuid
from pathlib import Path
from types import SimpleNamespace
from moot.errors import AlreadyThere, NotFound
from moot.changes.review_block import Issue, Review, Severity, Verdict, blocks
from moot.files import timestamps
from moot.files import atomic as writing
from moot.changes.state_file import Call, end_run
from moot.changes.folder import ChangeFolders
from moot.files.layout import Workspace

CALLS = ("unlink", "open", "chmod", "write", "fsync", "close", "rename", "fsync_dir")
NOW = "2026-11-15T12:00:00Z"
root, kept = Path(sys.argv[1], "now"), Path(sys.argv[1], "kept")
review = Review(Verdict.NEEDS_REVISION, (Issue(Severity.HIGH, "No"),), "No.", NOW)
timestamps.now = lambda: NOW
uuid.uuid4 = lambda: SimpleNamespace(hex="0123456789abcdef")
changes = ChangeFolders(Workspace.at(root))

class DeadlyDisk(writing.Disk):
    def __init__(self, die_at, when):
        self.die_at, self.when, self.calls = die_at, when, []

    def __getattribute__(self, name):
        call = super().__getattribute__(name)
        if name not in CALLS:
            return call
        def counted(*args):
            if len(self.calls) == self.die_at:
                if self.when == "within" and name == "write":
                    os.write(args[0], args[1][: len(args[1]) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            self.calls.append(name)
            return None if name.startswith("fsync") else call(*args)
        return counted

def create():
    try:
        changes.create("add-login")
    except AlreadyThere:
        pass

def propose():
    changes.open("add-login").write_proposal("# P\\n")

def specify():
    changes.open("add-login").write_specs({"api.md": "A"})

def call():
    change = changes.open("add-login")
    if not change.state().calls:
        change.record_call(Call("challenge", tokens_in=5))

def begin():
    change = changes.open("add-login")
    if change.state().run is None:
        change.begin_run("x", "m")

def append():
    change = changes.open("add-login")
    run = change.state().run.id
    made = change.review_of(run)
    if made is not None and made.block is None:
        change.end_run(run)
        run = change.begin_run("x", "m")
        made = None
    if made is None:
        change.append_review(review, run)

def record():
    change = changes.open("add-login")
    if change.state().run is not None:
        change.update_state(end_run)

def archive():
    try:
        changes.archive(changes.open("add-login"))
    except NotFound:
        pass

def look():
    try:
        change = changes.open("add-login")
    except NotFound:
        return None
    state = change.state()
    whole = [made for made in change.reviews() if made.block]
    return [len(state.calls), len(whole), len(whole) and change.proposal(), change.specs()]

def files():
    return {str(path.relative_to(root)): path.read_text(encoding="utf-8")
            for path in sorted(root.rglob("*")) if path.is_file() and path.suffix != ".moot-lock"}

report = []
root.mkdir()
for step in (create, propose, specify, call, begin, append, record, archive):
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(root, kept)
    before = look()
    counting = writing.disk = DeadlyDisk(-1, "")
    step()
    after, whole = look(), files()
    deaths = [(number, when) for number, name in enumerate(counting.calls)
              for when in (("before", "within") if name == "write" else ("before",))]
    for die_at, when in deaths:
        shutil.rmtree(root)
        shutil.copytree(kept, root)
        child = os.fork()
        if child == 0:
            writing.disk = DeadlyDisk(die_at, when)
            step()
            os._exit(0)
        _, status = os.waitpid(child, 0)
        writing.disk = DeadlyDisk(-1, "")
        found = look()
        step()
        expected = [before, after] + ([[0, 0, None, {}]] if step is create else [])
        report.append([step.__name__, die_at, when, status, found in expected, files() == whole])
    shutil.rmtree(root)
    shutil.copytree(kept, root)
    step()
print(json.dumps(report))
"""


def test_a_process_killed_at_any_call_leaves_a_change_that_can_go_on(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", MORTAL, str(tmp_path)],
        capture_output=True,
        check=False,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    deaths = {step: sum(1 for each in report if each[0] == step) for step in {each[0] for each in report}}
    # A new file takes seven calls and one death within, an old one also a chmod, each new folder a sync.
    assert deaths == {
        "create": 11,
        "propose": 8,
        "specify": 9,
        "call": 9,
        "begin": 9,
        "append": 18,
        "record": 9,
        "archive": 3,
    }
    for step, die_at, when, status, is_old_or_new, is_whole_after_retry in report:
        assert status == signal.SIGKILL, (step, die_at, when)
        assert is_old_or_new, (step, die_at, when)
        assert is_whole_after_retry, (step, die_at, when)
