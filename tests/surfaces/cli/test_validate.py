"""The local checks of a change through the real command: no model, every finding with its file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from moot.texts import review_block
from moot.texts.review_block import Issue, Review, Severity, Verdict
from moot.workspace.changes import ChangeFolder
from tests.changing import reviewed
from tests.surfaces.cli.change import PROPOSAL, SPEC, Change

REVIEW = Review(Verdict.NEEDS_REVISION, (Issue(Severity.HIGH, "No.", "here", "Do."),), "Not yet.", "today")


@pytest.fixture(params=["moot", "agentd"])
def change(request: pytest.FixtureRequest, tmp_path: Path) -> Change:
    return Change(request.param, tmp_path)


def test_a_whole_change_is_valid(change: Change) -> None:
    ended = change.run("validate-proposal", "feat-auth", "--strict")
    assert (ended.code, ended.out) == (0, "Change 'feat-auth' is valid.\n")


def test_every_finding_has_its_file_and_line(change: Change) -> None:
    change.write("proposal.md", PROPOSAL.replace("## Why\nPasswords get phished.", "## Why\n"))
    change.write("specs/sign-in.md", SPEC.replace("- **THEN** they are signed in\n", ""))
    change.write("tasks.md", "Nothing yet.\n")
    ended = change.run("validate-proposal", "feat-auth")
    assert ended.code == 1
    assert ended.out.splitlines() == [
        "proposal.md:6: error: the section '## Why' is empty",
        "specs/sign-in.md:8: error: the scenario has no THEN",
        "tasks.md:1: error: there is no task: a line that begins with '- [ ] '",
        "3 to mend.",
    ]
    assert f'Mend the files by hand, or run: {change.name} proposal feat-auth "…"' in ended.err
    found = change.run("validate-proposal", "feat-auth", "--json").json
    assert (found["valid"], len(found["findings"])) == (False, 3)
    assert found["findings"][0] == {
        "file": "proposal.md", "line": 6, "level": "error", "message": "the section '## Why' is empty",
    }  # fmt: skip


def test_a_warning_counts_only_where_that_is_asked_for(change: Change) -> None:
    change.write("proposal.md", PROPOSAL + "\n## Impact\nAgain.\n")
    lenient = change.run("validate-proposal", "feat-auth")
    assert lenient.code == 0
    assert "proposal.md:15: warning: the section '## Impact' is there twice" in lenient.out
    assert change.run("validate-proposal", "feat-auth", "--strict").code == 1


def test_reviews_are_checked_as_they_stand(change: Change) -> None:
    none = change.run("validate-challenge", "feat-auth")
    assert (none.code, none.out.splitlines()[0]) == (1, "proposal.md:1: error: there is no complete review")
    reviewed(ChangeFolder("feat-auth", change.path), REVIEW)
    written = change.read("proposal.md")
    assert written == review_block.append(PROPOSAL, REVIEW)
    assert change.run("validate-challenge", "feat-auth", "--strict").code == 0
    change.write("proposal.md", written.replace("NEEDS_REVISION", "APPROVED"))
    approved = change.run("validate-challenge", "feat-auth")
    assert approved.code == 1
    assert "proposal.md:15: error: APPROVED is not possible with a High issue" in approved.out
    assert "proposal.md:15: error: a review that was not made by moot" in approved.out
    assert "the last review that moot made is no longer there" in approved.out
    change.write("proposal.md", written.replace("NEEDS_REVISION", "MAYBE"))
    maybe = change.run("validate-challenge", "feat-auth", "--json").json
    assert (maybe["valid"], maybe["findings"][0]["line"]) == (False, 15)


def test_a_change_that_is_not_there(change: Change) -> None:
    for command in ("validate-proposal", "validate-challenge"):
        ended = change.run(command, "nonexistent")
        assert ended.code == 1
        assert "Change 'nonexistent' not found" in ended.err
