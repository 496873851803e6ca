"""The person's own decisions about a change, through the real command: recorded as theirs, and a way out of
every phase."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from moot.files.documents import YamlDocument
from tests.stub.server import StubServer
from tests.support.change import HIGH, MEDIUM, PROPOSAL, TASKS, Change
from tests.support.command import Ended
from tests.support.terminal import ENTER, at_terminal

WHY = ("--because", "It is a demo.")


@pytest.fixture
def change(tmp_path: Path, stub: StubServer) -> Change:
    return Change("moot", tmp_path, stub)


def says(change: Change, *replies: str) -> tuple[str, str]:
    file = change.root.parent / "answers.yaml"
    file.write_text("".join(f"- '{reply}'\n" for reply in replies), encoding="utf-8")
    return "--answers", str(file)


def challenged(change: Change, verdict: str, *issues: dict[str, str]) -> None:
    change.reviewer_says(verdict, *issues)
    assert change.run("challenge", "feat-auth").code == 0


def approved(change: Change, *more: str) -> Ended:
    return change.run("approve", "feat-auth", *WHY, *says(change, "y"), *more)


def test_nobody_is_asked_to_confirm_what_is_not_possible(change: Change) -> None:
    challenged(change, "NEEDS_REVISION", HIGH)
    for arguments, told in (
        (("dismiss", "feat-auth", "3"), "there is no issue 3"),
        (("approve", "feat-auth"), "its last review leaves 1 issue in the way; dismiss it first"),
    ):
        with at_terminal(*arguments, *WHY, env=change.env, cwd=change.root) as terminal:
            terminal.wait_for(told)
            assert terminal.end() == 1
        assert "(y or n)" not in terminal.seen


def test_an_issue_is_dismissed_by_its_id_as_well(change: Change) -> None:
    change.reviewer_says("NEEDS_REVISION", HIGH, MEDIUM)
    assert change.run("challenge", "feat-auth").code == 0
    unknown = change.run("dismiss", "feat-auth", "I7", *WHY, *says(change, "y"))
    assert (unknown.code, "its issues are I1, I2" in unknown.err) == (2, True)
    dismissed = change.run("dismiss", "feat-auth", "i2", *WHY, *says(change, "y"))
    assert dismissed.out == f"Dismissed by you: Medium: {MEDIUM['description']}\n"
    [record] = change.state["dismissed"]
    assert (record["issue"], record["id"]) == (2, "I2")


def test_whoever_dismisses_an_issue_is_shown_it_and_its_number(change: Change) -> None:
    change.reviewer_says("NEEDS_REVISION", MEDIUM, HIGH)
    told = change.run("challenge", "feat-auth")
    assert f"\n  1 Medium {MEDIUM['description']} [" in told.out
    assert f"\n  2 High   {HIGH['description']} [" in told.out
    assert f"\n  2 High: {HIGH['description']}\n" in approved(change).err
    with at_terminal("dismiss", "feat-auth", "2", *WHY, env=change.env, cwd=change.root) as terminal:
        terminal.wait_for("Issue 2 of 'feat-auth', High:")
        terminal.wait_for(HIGH["description"])
        terminal.wait_for("Dismiss it? (y or n)")
        terminal.wait_for(">")
        terminal.type(f"n{ENTER}")
        terminal.wait_for("Change 'feat-auth' stays as it is.")
        assert terminal.end() == 1
    assert "dismissed" not in change.state


def test_the_person_approves_what_a_reviewer_would_not(change: Change) -> None:
    challenged(change, "NEEDS_REVISION", HIGH, MEDIUM)
    ended = approved(change)
    assert ended.code == 1
    assert "its last review leaves 2 issues in the way; dismiss them first" in ended.err
    assert HIGH["description"] in ended.err
    assert change.state["phase"] == "proposed"
    dismissed = change.run("dismiss", "feat-auth", "1", *WHY, *says(change, "y"))
    assert dismissed.code == 0, dismissed.err
    assert dismissed.out == f"Dismissed by you: High: {HIGH['description']}\n"
    [record] = change.state["dismissed"]
    assert (record["issue"], record["because"]) == (1, "It is a demo.")
    assert "was dismissed already" in change.run("dismiss", "feat-auth", "1", *WHY, *says(change, "y")).err
    assert "there is no issue 3" in change.run("dismiss", "feat-auth", "3", *WHY, *says(change, "y")).err

    ended = approved(change, "--json")
    assert ended.json == {
        "change": "feat-auth", "phase": "challenged", "approvedBy": "person", "because": "It is a demo.",
    }  # fmt: skip
    state = change.state
    assert (state["phase"], state["last_action"]) == ("challenged", "approve")
    assert state["verdict"] == "NEEDS_REVISION", "that is what the reviewer has said"
    assert (state["reviews"][-1]["engine"], state["reviews"][-1]["hash"]) == ("person", "")
    assert change.read("proposal.md").count("review:start") == 1, "no block pretends to be a review"
    listed = change.run("changes")
    assert "approved by the person, and by no reviewer: It is a demo." in listed.out
    assert "dismissed by the person: 1 of its issues" in listed.out
    [told] = change.run("changes", "--json").json
    assert (told["approved_by"], told["verdict"]) == ("person", "NEEDS_REVISION")

    assert "- Store public keys" in change.run("implement", "feat-auth").out, "it can be handed over now"
    change.write("tasks.md", f"{TASKS}- [ ] More\n")
    changed = change.run("implement", "feat-auth")
    assert (changed.code, changed.out) == (1, "")
    assert "since then it was changed: tasks.md." in changed.err, "bound to the text, as any approval"

    change.reviewer_says("APPROVED")
    assert change.run("challenge", "feat-auth").code == 0
    told_reviewer = change.stub.requests[-1].system
    assert f"- {HIGH['description']}\n  Dismissed because: It is a demo." in told_reviewer


@pytest.mark.parametrize(
    ("command", "review"), [(("approve",), ("APPROVED",)), (("dismiss", "1"), ("REJECTED", HIGH))]
)
def test_only_a_person_decides(change: Change, command: tuple[str, ...], review: tuple[Any, ...]) -> None:
    challenged(change, *review)
    before = change.read("STATE.yaml")
    nobody = change.run(command[0], "feat-auth", *command[1:], *WHY)
    assert nobody.code == 1
    assert "There is no terminal to ask on" in nobody.err
    no = change.run(command[0], "feat-auth", *command[1:], *WHY, *says(change, "n"))
    assert (no.code, no.out) == (1, "")
    assert change.run(command[0], "feat-auth", *command[1:], "--because", " ", *says(change, "y")).code == 2
    assert change.read("STATE.yaml") == before


def test_an_invalid_change_is_not_approved_by_anybody(change: Change) -> None:
    change.write("proposal.md", "# One line\n")
    ended = approved(change)
    assert ended.code == 1
    assert "is not ready for a review" in ended.err


def test_a_rejected_change_that_was_mended_by_hand_is_challenged_again(change: Change) -> None:
    challenged(change, "REJECTED", HIGH)
    asked = len(change.stub.requests)
    ended = change.run("challenge", "feat-auth")
    assert ended.code == 1
    assert "its text is still what was rejected; change it first" in ended.err
    assert len(change.stub.requests) == asked
    text = change.read("proposal.md")
    change.write("proposal.md", text.replace("with a passkey.", "with a passkey, or by a link."))
    challenged(change, "APPROVED")
    assert change.state["phase"] == "challenged"


def test_a_change_that_was_reopened_has_to_be_approved_again(change: Change) -> None:
    assert "reopen is not possible at step 'proposed'" in change.run("reopen", "feat-auth").err
    challenged(change, "APPROVED")
    ended = change.run("reopen", "feat-auth")
    assert (ended.code, ended.out) == (0, "Change 'feat-auth' is proposed again.\n")
    assert change.state["phase"] == "proposed"
    state = change.read("STATE.yaml")
    change.write("STATE.yaml", state.replace("phase: proposed", "phase: challenged"))
    typed = change.run("implement", "feat-auth")
    assert typed.code == 1
    assert "it was reopened after its last review" in typed.err


@pytest.mark.parametrize("phase", ["proposed", "challenged", "implementing", "complete", "rejected"])
def test_a_change_can_be_given_up_in_every_phase(change: Change, phase: str) -> None:
    change.write("STATE.yaml", f"change_id: feat-auth\nphase: {phase}\nreviews: []\n")
    ended = change.run("abandon", "feat-auth", "--because", "Nobody needs it.", "--json")
    assert ended.code == 0, ended.err
    place = change.root / ended.json["archived"]
    state = YamlDocument.load(place / "STATE.yaml")
    assert (state["phase"], state["abandoned"]["because"]) == ("archived", "Nobody needs it.")
    assert (place / "proposal.md").read_text(encoding="utf-8") == PROPOSAL
    assert not change.path.exists()


@pytest.mark.parametrize("phase", ["implementing", "complete", "rejected"])
def test_work_that_has_begun_can_go_back(change: Change, phase: str) -> None:
    change.write("STATE.yaml", f"change_id: feat-auth\nphase: {phase}\nreviews: []\n")
    assert change.run("reopen", "feat-auth", "--json").json == {"change": "feat-auth", "phase": "proposed"}


def test_what_is_being_built_can_be_proposed_anew(change: Change) -> None:
    change.write("STATE.yaml", "change_id: feat-auth\nphase: implementing\nreviews: []\n")
    change.drafter_says()
    ended = change.run("reproposal", "feat-auth", "Links for lost keys.")
    assert ended.code == 0, ended.err
    assert change.state["phase"] == "proposed"


@pytest.mark.parametrize(("reply", "code"), [("y", 1), ("n", 1)])
def test_implement_offers_to_challenge_a_changed_text_again(change: Change, reply: str, code: int) -> None:
    challenged(change, "APPROVED")
    change.write("tasks.md", f"{TASKS}- [ ] More\n")
    asked = len(change.stub.requests)
    change.reviewer_says("APPROVED")
    ended = change.run("implement", "feat-auth", *says(change, reply))
    assert ended.code == code
    assert ended.err.count("since then it was changed: tasks.md") == 1
    if reply == "y":
        assert "APPROVED - Ready for implementation!" in ended.err
        assert "- More" in ended.out, "there is no coding agent: all tasks are handed over"
        assert len(change.stub.requests) > asked
    else:
        assert (ended.out, len(change.stub.requests)) == ("", asked)
        assert "Challenge it again: `moot challenge feat-auth`." in ended.err
