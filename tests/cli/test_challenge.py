"""Every scenario of the challenge through the real command, under both of its names: texts and exit codes."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest

from moot.agents.protocol import TOOLS
from moot.changes import review_block
from tests.stub.script import Behaviour
from tests.stub.server import StubServer
from tests.support.change import HIGH, MEDIUM, PROPOSAL, Change
from tests.support.fake_agents import Fake, Run, lines
from tests.support.ready import Popen
from tests.support.waiting import until

NAMES = ("moot", "agentd")
THREAD = "01a1df63-31f2-70b0-ab0f-4691ec633013"


@pytest.fixture(params=NAMES)
def change(request: pytest.FixtureRequest, tmp_path: Path, stub: StubServer) -> Change:
    return Change(request.param, tmp_path, stub)


@pytest.fixture
def moot_change(tmp_path: Path, stub: StubServer) -> Change:
    return Change("moot", tmp_path, stub)


# -- the scenarios -------------------------------------------------------------------------------


def test_a_challenge_passes(change: Change) -> None:
    change.reviewer_says("APPROVED")
    ended = change.run("challenge", "feat-auth")
    assert ended.code == 0, ended.err
    assert ended.out.splitlines()[0] == "APPROVED - Ready for implementation!"
    written = change.read("proposal.md")
    assert written.startswith(PROPOSAL)
    assert review_block.verdict(written) == "APPROVED"
    assert change.state["phase"] == "challenged"
    assert change.state["verdict"] == "APPROVED"
    assert change.state["last_action"] == "challenge"
    assert "reads" in ended.err or "read proposal.md" in ended.err


def test_a_challenge_finds_issues(change: Change) -> None:
    change.reviewer_says("NEEDS_REVISION", HIGH, MEDIUM)
    ended = change.run("challenge", "feat-auth")
    assert ended.code == 0, ended.err
    assert ended.out.splitlines()[:2] == [
        "NEEDS_REVISION - Found 1 HIGH, 1 MEDIUM severity issues",
        "Issues: 1 high, 1 medium, 0 low (2 new, 0 repeated, 0 resolved)",
    ]
    [block] = review_block.blocks(change.read("proposal.md"))
    assert [issue.description for issue in review_block.read(block).issues] == [
        HIGH["description"],
        MEDIUM["description"],
    ]
    assert change.state["phase"] == "proposed"


def test_a_challenge_rejects(change: Change) -> None:
    change.reviewer_says("REJECTED", HIGH)
    ended = change.run("challenge", "feat-auth")
    assert (ended.code, ended.out.splitlines()[0]) == (0, "REJECTED - Fundamental problems")
    assert change.state["phase"] == "rejected"


def test_a_change_that_is_not_there(change: Change) -> None:
    ended = change.run("challenge", "nonexistent")
    assert ended.code == 1
    assert "Change 'nonexistent' not found" in ended.err
    assert change.stub.requests == []


def test_a_proposal_that_lacks_sections(change: Change) -> None:
    change.write("proposal.md", PROPOSAL.replace("## Why\nPasswords get phished.\n\n", ""))
    before = change.read("proposal.md")
    ended = change.run("challenge", "feat-auth")
    assert ended.code == 1
    assert "proposal.md:1: " in ended.err
    assert "Why" in ended.err
    assert f"{change.name} proposal" in ended.err
    assert (change.read("proposal.md"), change.stub.requests) == (before, [])


def test_a_second_challenge_after_a_reproposal(change: Change) -> None:
    change.reviewer_says("NEEDS_REVISION", HIGH, MEDIUM)
    change.run("challenge", "feat-auth")
    [first] = review_block.blocks(change.read("proposal.md"))
    change.drafter_says()
    revised = change.run("reproposal", "feat-auth")
    assert revised.code == 0, revised.err
    text = change.read("proposal.md")
    assert "People who lost it get a link." in text
    assert text.count(first.raw) == 1, "the earlier review, byte for byte"
    assert (change.state["phase"], change.state["iteration"]) == ("proposed", 2)
    asked = change.stub.requests[-1].said
    assert HIGH["description"] in asked
    change.reviewer_says("APPROVED", {**MEDIUM, "severity": "Low"})
    again = change.run("challenge", "feat-auth", "--json")
    assert again.code == 0, again.err
    assert again.json["verdict"] == "APPROVED"
    assert again.json["compared"] == {"new": 0, "repeated": 1, "resolved": 1}
    blocks = review_block.blocks(change.read("proposal.md"))
    assert (len(blocks), blocks[0].raw) == (2, first.raw)
    assert "People who lost it get a link." in change.stub.requests[-1].said, "it has read the new text"


# -- requirements --------------------------------------------------------------------------------


def test_the_reviewer_is_told_of_agents_md_and_works_through_the_tools(moot_change: Change) -> None:
    """R1, R5."""
    moot_change.reviewer_says("APPROVED")
    moot_change.run("challenge", "feat-auth")
    first = moot_change.stub.requests[0]
    assert first.tools == TOOLS
    assert "AGENTS.md" in first.system
    agents = moot_change.read("AGENTS.md")
    for part in ("feat-auth", "proposal.md", "specs/sign-in.md", "tasks.md", "High", "Open issues"):
        assert part in agents
    moot_change.write("AGENTS.md", "# My own\n")
    moot_change.reviewer_says("APPROVED", summary="Again.")
    moot_change.run("challenge", "feat-auth")
    assert moot_change.read("AGENTS.md") == "# My own\n", "a hand-written one stays"


BOUND = "# Expenses\n\n## Dates\n\n- CSV only\n- A bad date ends with exit code 2.\n"
COVERED = [{"point": "P1", "state": "covered", "where": "specs/sign-in.md"}]
MISSING = {**HIGH, "description": "P2 is missing: nothing says what a bad date ends with."}


def test_what_a_plan_lacks_of_the_design_is_in_what_the_reviewer_is_given(moot_change: Change) -> None:
    """And a reviewer that says nothing of a point is asked again."""
    moot_change.write("design.md", BOUND)
    unread = {"verdict": "APPROVED", "issues": [], "summary": "Fine."}
    judged = {
        "verdict": "NEEDS_REVISION",
        "issues": [MISSING],
        "summary": "Not yet.",
        "coverage": [*COVERED, {"point": "P2", "state": "missing", "where": ""}],
    }
    moot_change.stub.script(
        Behaviour(
            tool_calls=tuple(
                ("read_file", {"path": n}) for n in ("proposal.md", "specs/sign-in.md", "tasks.md")
            )
        ),
        Behaviour(tool_calls=(("append_review", unread),)),
        Behaviour(tool_calls=(("append_review", {**unread, "coverage": COVERED}),)),
        Behaviour(tool_calls=(("append_review", judged),)),
    )
    ended = moot_change.run("challenge", "feat-auth", "--json")
    assert ended.json["verdict"] == "NEEDS_REVISION", ended.err
    first, _, second, third = moot_change.stub.requests
    assert "- P2: A bad date ends with exit code 2." in first.system
    assert "- A bad date ends with exit code 2." in first.said.split("- P2:")[0], "the design itself, inline"
    assert "A bad date" not in moot_change.read("AGENTS.md"), "what is in the request is not read once more"
    asked_again = "what became of these points of the design: P1 (CSV only); P2 (A bad date ends"
    assert asked_again in second.said
    assert "these points of the design: P2 (A bad date ends" in third.said
    [review] = moot_change.state["reviews"]
    assert review["coverage"] == judged["coverage"]
    moot_change.drafter_says()
    assert moot_change.run("reproposal", "feat-auth").code == 0
    asked = moot_change.stub.requests[-1].said
    assert "A bad date ends with exit code 2." in asked, "the reviser is bound as well"


def test_every_attempt_is_in_the_state_file(moot_change: Change) -> None:
    """R7: also one that ends without a review."""
    moot_change.repository_says("[workflow]\nscript_retries = 1\nretry_delay_secs = 0\n")
    # Once, and again when it is reminded.
    moot_change.stub.script(*[Behaviour(text="Looks fine to me. **Verdict**: APPROVED")] * 2)
    moot_change.reviewer_says("APPROVED")
    ended = moot_change.run("challenge", "feat-auth")
    assert ended.code == 0, ended.err
    calls = moot_change.state["telemetry"]["calls"]
    assert [(call["step"], call["outcome"]) for call in calls] == [
        ("challenge", "ReviewerCrashed"),
        ("challenge", "ok"),
    ]
    assert calls[1]["tokens_in"] > 0
    assert calls[1]["tokens_out"] > 0
    assert calls[1]["model"].startswith("openai:")
    assert {"cost_usd", "duration_ms", "timestamp"} <= set(calls[1])
    assert moot_change.state["telemetry"]["totals"]["calls"] == 2


def test_an_interface_that_fails_is_tried_again_and_then_an_error(change: Change) -> None:
    change.repository_says("[workflow]\nscript_retries = 2\nretry_delay_secs = 0\n")
    change.user_says("[gateway]\nretries = 0\n")
    change.stub.default = Behaviour(status=500)
    ended = change.run("challenge", "feat-auth")
    assert ended.code == 1
    assert ended.err.count("once more in 0 s") == 2
    assert (len(change.stub.requests), change.read("proposal.md")) == (3, PROPOSAL)
    calls = change.state["telemetry"]["calls"]
    assert [call["outcome"] for call in calls] == ["ProviderDown"] * 3
    assert change.state["phase"] == "proposed"


def test_a_challenge_writes_three_files_and_no_other(change: Change) -> None:
    """R8."""
    before = files_of(change.root)
    change.reviewer_says("APPROVED")
    assert change.run("challenge", "feat-auth").code == 0
    after = files_of(change.root)
    folder = f"{change.name}/changes/feat-auth"
    assert {name for name in after if after[name] != before.get(name)} == {
        f"{folder}/{name}" for name in ("proposal.md", "AGENTS.md", "STATE.yaml")
    }
    assert before.keys() <= after.keys()


def files_of(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()
    }


def test_words_are_no_verdict(moot_change: Change) -> None:
    """A reviewer who says APPROVED but appends nothing has not reviewed."""
    moot_change.repository_says("[workflow]\nscript_retries = 0\n")
    moot_change.stub.script(Behaviour(text="**Verdict**: APPROVED"), Behaviour(text="As I said: APPROVED."))
    ended = moot_change.run("challenge", "feat-auth")
    assert ended.code == 1
    assert "ended without appending a review" in ended.err
    assert moot_change.read("proposal.md") == PROPOSAL
    assert moot_change.state["phase"] == "proposed"


def test_a_model_that_ends_without_a_review_is_reminded_once(moot_change: Change) -> None:
    moot_change.repository_says("[workflow]\nscript_retries = 0\n")
    moot_change.stub.script(Behaviour(text="All is well."))
    moot_change.reviewer_says("APPROVED")
    ended = moot_change.run("challenge", "feat-auth")
    assert ended.code == 0, ended.err
    told = json.dumps(moot_change.stub.requests[1].body["messages"])
    assert "All is well." in told, "it is the same conversation"
    assert "You have not appended a review" in told
    [call] = moot_change.state["telemetry"]["calls"]
    assert call["outcome"] == "ok", "that was one attempt"


def test_a_program_that_ends_without_a_review_is_reminded_in_its_session(
    moot_change: Change, tmp_path: Path
) -> None:
    usage = [{"input_tokens": 100, "output_tokens": 7}, {"input_tokens": 130, "output_tokens": 9}]
    runs = [
        Run(
            lines(
                {"type": "thread.started", "thread_id": THREAD},
                {"type": "turn.completed", "usage": used},
            )
        )
        for used in usage
    ]
    fake = Fake(tmp_path, "codex", *runs)
    moot_change.env["PATH"] = f"{fake.program.parent}:{moot_change.env['PATH']}"
    moot_change.repository_says("[workflow]\nscript_retries = 0\n")
    ended = moot_change.run("challenge", "feat-auth", "--engine", "codex")
    assert ended.code == 1
    assert "codex ended without appending a review, and is reminded" in ended.err
    assert fake.times_started == 2, "once, and not again and again"
    assert "resume" not in fake.started(0)["arguments"]
    assert fake.started(1)["arguments"][-3:] == ["resume", THREAD, "-"]
    assert fake.started(1)["stdin"].startswith("You have not appended a review")
    [call] = moot_change.state["telemetry"]["calls"]
    assert (call["tokens_in"], call["tokens_out"], call["outcome"]) == (130, 9, "ReviewerCrashed")


def test_a_failed_attempt_is_recorded_with_what_it_has_used(moot_change: Change) -> None:
    moot_change.repository_says("[workflow]\nscript_retries = 1\nretry_delay_secs = 0\n")
    moot_change.stub.script(*(Behaviour(text="It is fine.") for _ in range(4)))
    assert moot_change.run("challenge", "feat-auth").code == 1
    first, second = moot_change.state["telemetry"]["calls"]
    for call in (first, second):
        assert call["outcome"] == "ReviewerCrashed"
        assert call["tokens_in"] > 0
        assert call["tokens_out"] > 0


def test_a_review_that_contradicts_itself_is_sent_back(moot_change: Change) -> None:
    """R4."""
    wrong = {"verdict": "APPROVED", "issues": [HIGH], "summary": "Fine."}
    moot_change.stub.script(Behaviour(tool_calls=(("append_review", wrong),)))
    moot_change.reviewer_says("NEEDS_REVISION", HIGH)
    ended = moot_change.run("challenge", "feat-auth")
    assert ended.out.startswith("NEEDS_REVISION")
    assert len(review_block.blocks(moot_change.read("proposal.md"))) == 1
    assert "not possible with a High issue" in moot_change.stub.requests[1].said


@pytest.mark.parametrize(
    ("tasks", "model"), [(3, "m-low"), (4, "m-medium"), (10, "m-high"), (20, "m-critical")]
)
def test_the_model_is_chosen_by_complexity(moot_change: Change, tasks: int, model: str) -> None:
    """R6: one specification and so many boxes."""
    levels = ("low", "medium", "high", "critical")
    models = "".join(f'{level} = "openai:m-{level}"\n' for level in levels)
    moot_change.repository_says(f"[model]\n{models}")
    moot_change.write("tasks.md", "".join(f"- [ ] Task {number}\n" for number in range(tasks)))
    moot_change.reviewer_says("APPROVED")
    assert moot_change.run("challenge", "feat-auth").code == 0
    assert moot_change.stub.requests[0].model == model


def test_a_model_that_is_asked_for_reviews_whatever_else_is_there(moot_change: Change) -> None:
    moot_change.repository_says('[review]\nengine = "codex"\n[model]\nlow = "openai:cheap"\n')
    moot_change.reviewer_says("APPROVED")
    ended = moot_change.run("challenge", "feat-auth", "--model", "openai:dear")
    assert ended.code == 0, ended.err
    assert "model reviews (low complexity, openai:dear)" in ended.err
    assert {request.model for request in moot_change.stub.requests} == {"dear"}


@pytest.mark.parametrize(
    ("verdict", "fail_on", "code"),
    [
        ("APPROVED", "needs_revision", 0),
        ("NEEDS_REVISION", "needs_revision", 3),
        ("NEEDS_REVISION", "rejected", 0),
        ("REJECTED", "needs_revision", 3),
        ("REJECTED", "rejected", 3),
    ],
)
def test_a_verdict_can_be_made_to_count(moot_change: Change, verdict: str, fail_on: str, code: int) -> None:
    moot_change.reviewer_says(verdict, *([] if verdict == "APPROVED" else [HIGH]))
    assert moot_change.run("challenge", "feat-auth", "--fail-on", fail_on).code == code


# -- what may go wrong ---------------------------------------------------------------------------


@pytest.mark.parametrize(("how", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_two_challenges_at_once(how: signal.Signals, code: int, moot_change: Change) -> None:
    moot_change.stub.script(Behaviour(text="…", first_token_delay=600))
    first = Popen(
        moot_change.command("challenge", "feat-auth"),
        env=moot_change.env,
        cwd=moot_change.root,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        until(lambda: bool(moot_change.stub.requests))
        second = moot_change.run("challenge", "feat-auth")
        assert second.code == 1
        assert f"Change 'feat-auth' is being challenged by process {first.pid}" in second.err
    finally:
        first.send_signal(how)
        _, err = first.communicate(timeout=30)
    assert first.returncode == code, err
    assert moot_change.state["telemetry"]["calls"][0]["outcome"] == "interrupted"
    moot_change.reviewer_says("APPROVED")
    assert moot_change.run("challenge", "feat-auth").code == 0


def test_a_review_that_a_killed_run_left_is_taken_up(moot_change: Change) -> None:
    moot_change.reviewer_says("APPROVED")
    moot_change.run("challenge", "feat-auth")
    lost = moot_change.state
    state = moot_change.read("STATE.yaml").replace("phase: challenged", "phase: proposed")
    moot_change.write("STATE.yaml", f"{state}run:\n  id: {lost['reviews'][0]['run']}\n")
    asked = len(moot_change.stub.requests)
    ended = moot_change.run("challenge", "feat-auth")
    assert (ended.code, ended.out.splitlines()[0]) == (0, "APPROVED - Ready for implementation!")
    assert len(moot_change.stub.requests) == asked, "nobody is paid twice"
    assert moot_change.state["phase"] == lost["phase"] == "challenged"


def test_a_phase_that_does_not_allow_it_names_what_does(moot_change: Change) -> None:
    ended = moot_change.run("implement", "feat-auth")
    assert ended.code == 1
    assert "implement is not possible at step 'proposed'" in ended.err
    assert "Possible now: proposal, challenge, reproposal, dismiss, approve, abandon." in ended.err


def test_a_damaged_state_file_is_named_and_left_alone(moot_change: Change) -> None:
    moot_change.write("STATE.yaml", "phase: [proposed\n")
    ended = moot_change.run("challenge", "feat-auth")
    assert ended.code == 1
    assert "STATE.yaml" in ended.err
    assert moot_change.read("STATE.yaml") == "phase: [proposed\n"
    moot_change.write("STATE.yaml", "schema_version: '9.0'\nphase: proposed\n")
    assert "newer version" in moot_change.run("challenge", "feat-auth").err
    assert "newer version" in moot_change.run("changes").out


def test_a_proposal_that_is_deleted_in_mid_review(moot_change: Change) -> None:
    moot_change.repository_says("[workflow]\nscript_retries = 0\n")
    review = {"verdict": "APPROVED", "issues": [], "summary": "Fine."}

    def delete(_: object) -> Behaviour:
        (moot_change.path / "proposal.md").unlink()
        return Behaviour(tool_calls=(("append_review", review),))

    moot_change.stub.script(delete, Behaviour(text="It is gone."))
    ended = moot_change.run("challenge", "feat-auth")
    assert ended.code == 1
    assert "without appending a review" in ended.err
    assert not (moot_change.path / "proposal.md").exists()


# -- the loop ------------------------------------------------------------------------------------


def test_the_loop_stops_when_a_revision_changes_nothing(moot_change: Change) -> None:
    for number in range(3):
        moot_change.reviewer_says("NEEDS_REVISION", HIGH, summary=f"Round {number}.")
        if number < 2:
            moot_change.drafter_says()
    ended = moot_change.run("challenge", "feat-auth", "--revise")
    assert ended.code == 0, ended.err
    assert "Stopped after 3 rounds: the last revision changed nothing." in ended.out
    assert "round 1: NEEDS_REVISION: 1 found" in ended.err
    assert "round 3: NEEDS_REVISION: 1 repeated" in ended.err
    assert "another round: " in ended.err
    assert len(review_block.blocks(moot_change.read("proposal.md"))) == 3


def test_the_loop_stops_after_as_many_rounds_as_are_allowed(moot_change: Change) -> None:
    """And what an earlier loop has used up is not counted, nor what it has found forgotten."""
    moot_change.repository_says("[workflow]\nmax_rounds = 1\n")
    other = {**HIGH, "description": "Nobody says where the keys are kept."}
    runs = []
    for issue in (HIGH, other):
        moot_change.reviewer_says("NEEDS_REVISION", issue)
        runs.append(moot_change.run("challenge", "feat-auth", "--revise", "--json"))
    for ended in runs:
        told = (ended.json["rounds"], ended.json["rule"], ended.json["stopped"])
        assert told == (1, "budget", "1 round was made, as many as are allowed")
    [_, second] = runs
    assert [issue["id"] for issue in second.json["issues"]] == ["I2"]
    assert second.json["found"] == [{"introduced": 0, "missed": 1, "repeated": 0, "fixed": 1, "disputed": 0}]


def test_a_dispute_is_the_persons_and_never_goes_back_into_the_loop(moot_change: Change) -> None:
    other = {**MEDIUM, "description": "Nobody says where the keys are kept."}
    moot_change.repository_says("[workflow]\nmax_rounds = 9\n")
    moot_change.reviewer_says("NEEDS_REVISION", HIGH)
    moot_change.drafter_says()
    moot_change.reviewer_says("NEEDS_REVISION", {**HIGH, "severity": "Medium"}, other)
    moot_change.drafter_says(why="Passwords get phished, and forgotten.")
    moot_change.reviewer_says("NEEDS_REVISION", HIGH)
    ended = moot_change.run("challenge", "feat-auth", "--revise")
    assert ended.code == 0, ended.err
    assert "Stopped after 3 rounds: only I1 is left, and keeps coming back: decide it yourself." in ended.out
    accept = "accept the risk: moot dismiss feat-auth 1 --accept --because …"
    assert accept in ended.out

    answers = moot_change.root.parent / "answers.yaml"
    answers.write_text("- 'y'\n", encoding="utf-8")
    why = ("--because", "Support resets them by hand.", "--answers", str(answers))
    accepted = moot_change.run("dismiss", "feat-auth", "1", "--accept", *why)
    assert accepted.out == f"Risk accepted by you: High: {HIGH['description']}\n", accepted.err
    [record] = moot_change.state["dismissed"]
    assert (record["id"], record["accepted"]) == ("I1", True)
    moot_change.reviewer_says("NEEDS_REVISION", {**HIGH, "id": "I1"})
    again = moot_change.run("challenge", "feat-auth", "--revise")
    assert "Stopped after 1 round: nothing is left that has to be fixed." in again.out, again.err


def test_the_loop_ends_with_an_approval(moot_change: Change) -> None:
    moot_change.reviewer_says("NEEDS_REVISION", HIGH)
    moot_change.drafter_says()
    moot_change.reviewer_says("APPROVED")
    ended = moot_change.run("challenge", "feat-auth", "--revise", "--json")
    assert (ended.json["verdict"], ended.json["rounds"], ended.json["stopped"]) == ("APPROVED", 2, None)
    assert ended.json["compared"] == {"new": 0, "repeated": 0, "resolved": 1}
