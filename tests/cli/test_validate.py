"""The local checks of a change through the real command: no model, every finding with its file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from moot.changes import review_block
from moot.changes.folder import ChangeFolder
from moot.changes.review_block import Issue, Review, Severity, Verdict
from tests.support.change import PROPOSAL, SPEC, Change
from tests.support.changes import reviewed

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
        "3 problems to fix.",
    ]
    assert f'Fix the files by hand, or run: {change.name} proposal feat-auth "…"' in ended.err
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


# -- what was left behind ------------------------------------------------------------------------


def test_requirements_have_titles_of_their_own(change: Change) -> None:
    titles = [
        "R1: Keys expire",
        "R2:",
        "R1: Keys are rotated",
        "R3: keys EXPIRE",
        "",
        "R4: TODO",
        "R5\n\nText",
    ]
    written = "".join(f"### {title}\n\n" for title in titles)
    change.write("specs/sign-in.md", SPEC.replace("## Acc", f"## Requirements\n\n{written}## Acc"))
    ended = change.run("validate-proposal", "feat-auth")
    assert ended.code == 1
    assert ended.out.splitlines() == [
        "specs/sign-in.md:10: error: the requirement has no title",
        "specs/sign-in.md:12: error: the requirement 'R1: Keys are rotated' is there twice, in line 8, too",
        "specs/sign-in.md:14: error: the requirement 'R3: keys EXPIRE' is there twice, in line 8, too",
        "specs/sign-in.md:16: error: the requirement has no title",
        "specs/sign-in.md:18: warning: the heading 'R4: TODO' says nothing yet",
        "4 problems to fix.",
    ]


def test_scenarios_have_titles_of_their_own(change: Change) -> None:
    steps = "- **WHEN** a key is used\n- **THEN** it opens\n\n"
    titles = ("Scenario: Known passkey", "Scenario:", "Scenario: KNOWN passkey", "Scenario: TODO")
    written = "".join(f"### {title}\n{steps}" for title in titles)
    change.write("specs/sign-in.md", SPEC.partition("### Scenario")[0] + written)
    ended = change.run("validate-proposal", "feat-auth")
    assert ended.code == 0
    assert ended.out.splitlines()[:3] == [
        "specs/sign-in.md:12: warning: the scenario has no title",
        "specs/sign-in.md:16: warning: 'Scenario: KNOWN passkey' is there twice, in line 8, too",
        "specs/sign-in.md:20: warning: the heading 'Scenario: TODO' says nothing yet",
    ]


@pytest.mark.parametrize("words", ["TODO", "…", "- TBD\n- ???", "> To do: TODO"])
def test_a_section_for_later_is_found(change: Change, words: str) -> None:
    change.write("proposal.md", PROPOSAL.replace("Passwords get phished.", words))
    ended = change.run("validate-proposal", "feat-auth")
    assert ended.code == 0
    is_found = "proposal.md:6: warning: the section '## Why' says nothing yet" in ended.out
    assert is_found == ("To do" not in words)


def test_titles_for_later_broken_links_and_merges_are_found(change: Change) -> None:
    (change.root / "there.md").write_text("x", encoding="utf-8")
    change.write(
        "proposal.md",
        PROPOSAL + "\n<<<<<<< HEAD\nNo.\n=======\nYes.\n>>>>>>> other\n"
        "\n## TBD\n\nSee [it](/there.md), [that](specs/sign-in.md#x), [this](https://example.org/no),\n"
        "[none](no.md) and ![out](../../../../etc/passwd).\n\n```\n<<<<<<< HEAD\n[code](no.md)\n```\n"
        "\n[Named][one], [named], [never].\n\n[one]: gone.md\n[Named]: /there.md\n",
    )
    change.write("tasks.md", "- [ ] Store public keys\n- [ ] TODO\n")
    ended = change.run("validate-proposal", "feat-auth")
    assert ended.code == 1
    assert ended.out.splitlines() == [
        "proposal.md:15: error: a conflict of a merge is left here: '<<<<<<<'",
        "proposal.md:19: error: a conflict of a merge is left here: '>>>>>>>'",
        "proposal.md:21: warning: the heading 'TBD' says nothing yet",
        "tasks.md:2: warning: the task 'TODO' says nothing yet",
        "proposal.md:23: warning: the link 'no.md' leads nowhere",
        "proposal.md:23: warning: the link '../../../../etc/passwd' leads out of the workspace",
        "proposal.md:31: warning: the link 'gone.md' leads nowhere",
        "2 problems to fix.",
    ]


def test_a_form_to_copy_is_no_specification(change: Change) -> None:
    change.write("specs/_skeleton.md", "## Overview\n\nTODO\n")
    assert change.run("validate-proposal", "feat-auth", "--strict").code == 0
    (change.path / "specs" / "sign-in.md").unlink()
    assert "there is no specification" in change.run("validate-proposal", "feat-auth").out


def test_the_last_review_is_told_to_programs(change: Change) -> None:
    none = change.run("validate-challenge", "feat-auth", "--json").json
    assert (none["verdict"], none["counts"]) == (None, None)
    reviewed(ChangeFolder("feat-auth", change.path), REVIEW)
    found = change.run("validate-challenge", "feat-auth", "--json").json
    assert found["valid"] is True
    assert (found["verdict"], found["counts"]) == ("NEEDS_REVISION", {"high": 1, "medium": 0, "low": 0})
