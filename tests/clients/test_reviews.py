"""A real Codex and a real Claude Code review a change through the real MCP server. The model is a stub."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace

import pytest

from moot.agents import Job, Outcome
from moot.agents.protocol import NEW_SESSION
from moot.changes import prompts, review_block
from moot.changes.binding import Binding
from moot.changes.challenge import known_to_reviewers
from moot.changes.folder import ChangeFolder
from moot.changes.points import State
from moot.changes.review_block import Severity, Verdict
from moot.errors import KeyRefused, ProviderFailed, ReviewerCrashed
from moot.llm.messages import Tokens
from tests.clients.conftest import CHANGE, Desk
from tests.stub.script import Behaviour, Spent
from tests.support.mcp_client import ISSUE, NOT_YET, PROPOSAL

SERVER = "mcp__moot_review__"


def uses(tool: str, arguments: Mapping[str, object], spent: Spent | None = None) -> Behaviour:
    return Behaviour(tool_calls=((f"{SERVER}{tool}", arguments),), usage=spent)


def reads(spent: Spent | None = None) -> Behaviour:
    """Everything that a review is of."""
    files = ("proposal.md", "specs/login.md", "tasks.md")
    return Behaviour(tool_calls=tuple((f"{SERVER}read_file", {"path": path}) for path in files), usage=spent)


def reviewed(desk: Desk, job: Job) -> tuple[Outcome, list[str]]:
    progress: list[str] = []
    outcome = asyncio.run(desk.reviewer.review(job, progress.append))
    return outcome, progress


def failed(desk: Desk, job: Job) -> ProviderFailed:
    with pytest.raises(ProviderFailed) as caught:
        reviewed(desk, job)
    return caught.value


def test_a_real_review_lands_in_the_proposal(desk: Desk) -> None:
    contradiction = NOT_YET | {"verdict": "APPROVED"}
    desk.stub.script(
        reads(Spent(1000, 10)),
        uses("list_directory", {"path": "specs"}, Spent(2000, 20, cache_read_tokens=1000)),
        uses("append_review", contradiction, Spent(3000, 30)),
        uses("append_review", NOT_YET, Spent(4000, 40)),
        Behaviour(text="I have appended my review.", usage=Spent(5000, 50)),
    )
    outcome, progress = reviewed(desk, desk.job())
    # A client may run the calls of one reply at once, in any order.
    assert sorted(progress[:3]) == ["reads proposal.md", "reads specs/login.md", "reads tasks.md"]
    assert progress[3:] == [
        "lists specs",
        "appends its review",
        "is asked to correct its review",
        "appends its review",
    ]
    told = [request.said for request in desk.stub.requests]
    assert "Review the change." in told[0]
    assert "Users can log in." not in told[0]
    assert "Users can log in." in told[1]
    assert "login.md" in told[2]
    assert "APPROVED" in told[3]
    assert desk.proposal.startswith(PROPOSAL)
    (block,) = review_block.blocks(desk.proposal)
    review = review_block.read(block)
    assert (review.verdict, review.summary) == (Verdict.NEEDS_REVISION, "Not yet.")
    assert [issue.severity for issue in review.issues] == [Severity.HIGH]
    assert outcome.said == "I have appended my review."
    assert outcome.session_id is not None
    assert outcome.usage == Tokens(15000, 150, 1000)
    # 14,000 tokens at $5 a million, 1,000 from the cache at a tenth of that, 150 written at $25.
    assert outcome.cost_usd == (None if desk.reviewer.name == "codex" else pytest.approx(0.07425))
    assert desk.processes() == []


REQUIREMENT = "A bad date ends with exit code 2."


def test_a_real_reviewer_is_given_the_design_and_cannot_pass_over_a_point_of_it(desk: Desk) -> None:
    """The plan lacks a requirement of the approved design."""
    folder = ChangeFolder(CHANGE, desk.change)
    folder.bind(Binding(f"# Export\n\n## Dates\n\n- CSV only\n- {REQUIREMENT}\n"))
    job = desk.job(prompts.review(CHANGE, known_to_reviewers(folder)))
    missing = {**ISSUE, "description": "P2 is missing: nothing in the plan has the exit code."}
    covered = {"point": "P1", "state": "covered", "where": "proposal.md"}
    lacks = {"point": "P2", "state": "missing", "where": ""}
    fine = {"verdict": "APPROVED", "issues": [], "summary": "Fine."}
    judged = {
        "verdict": "NEEDS_REVISION",
        "issues": [missing],
        "summary": "Not yet.",
        "coverage": [covered, lacks],
    }
    desk.stub.script(
        reads(),
        uses("read_file", {"path": "design.md"}),
        uses("search", {"text": "exit code"}),
        uses("append_review", fine),
        uses("append_review", judged),
        Behaviour(text="Done."),
    )
    _, progress = reviewed(desk, job)
    told = [request.said for request in desk.stub.requests]
    assert f"- P2: {REQUIREMENT}" in told[0], "before it has read anything"
    assert told[2].count(REQUIREMENT) > told[1].count(REQUIREMENT), "and in the design, which it has read"
    assert f"P2 ({REQUIREMENT})" in told[4], "and where it approves without a word about it"
    assert "reads lines with “exit code”" in progress
    [made] = folder.reviews()
    assert made.record.coverage[1].state == State.MISSING
    assert {"design.md 1–13", "lines with “exit code”"} <= set(made.record.looked_at)


def test_a_resumed_session_remembers_and_counts_only_what_is_new(desk: Desk) -> None:
    desk.stub.script(Behaviour(text="The form has no limit.", usage=Spent(1000, 10)))
    first, _ = reviewed(desk, desk.job("Look at the form."))
    assert first.session_id is not None
    desk.stub.script(
        reads(Spent(1000, 10)),
        uses("append_review", NOT_YET, Spent(2000, 20)),
        Behaviour(text="Done.", usage=Spent(3000, 30)),
    )
    job = desk.job("Look again.", resume=first.session_id, tokens_before=first.usage)
    second, progress = reviewed(desk, job)
    asked = desk.stub.requests[1].said
    assert "Look at the form." in asked
    assert "The form has no limit." in asked
    assert "Look again." in asked
    assert progress[-1] == "appends its review"
    assert second.session_id == first.session_id
    assert (second.usage.input_tokens, second.usage.output_tokens) == (6000, 60)
    assert review_block.verdict(desk.proposal) == Verdict.NEEDS_REVISION


def test_a_session_that_is_gone_is_begun_anew(desk: Desk) -> None:
    gone = "0199a213-81c0-7800-8aa1-bbab2a035a53"
    desk.stub.script(Behaviour(text="Done.", usage=Spent(1000, 10)))
    outcome, progress = reviewed(desk, desk.job(resume=gone, tokens_before=Tokens(900, 9)))
    assert progress == [NEW_SESSION]
    assert outcome.session_id != gone
    assert (outcome.usage.input_tokens, outcome.usage.output_tokens) == (1000, 10)


def test_a_reviewer_cannot_write_to_the_workspace(desk: Desk) -> None:
    target = desk.workspace / "written"
    attempts = {
        "codex": (("exec_command", {"cmd": f"touch {target}"}),),
        "claude": (
            ("Write", {"file_path": str(target), "content": "x"}),
            ("Bash", {"command": f"touch {target}", "description": "Touch"}),
        ),
    }
    desk.stub.script(Behaviour(tool_calls=attempts[desk.reviewer.name]), Behaviour(text="Done."))
    outcome, _ = reviewed(desk, desk.job())
    assert outcome.said == "Done."
    assert len(desk.stub.requests) == 2
    assert not target.exists()


def test_a_server_that_does_not_start_is_no_review(desk: Desk) -> None:
    problem = failed(desk, desk.job(mcp_command=("/bin/false",)))
    assert type(problem) is ReviewerCrashed
    assert "MCP server" in str(problem)
    assert desk.processes() == []


def test_a_server_that_takes_its_time_is_waited_for(desk: Desk) -> None:
    job = desk.job()
    desk.stub.script(reads(), uses("append_review", NOT_YET), Behaviour(text="Done."))
    slowly = ("/bin/sh", "-c", 'sleep 2; exec "$@"', "sh", *job.mcp_command)
    reviewed(desk, replace(job, mcp_command=slowly))
    assert review_block.verdict(desk.proposal) == Verdict.NEEDS_REVISION


def test_a_refused_key_is_said_to_be_one(desk: Desk) -> None:
    desk.stub.default = Behaviour(status=401)
    assert type(failed(desk, desk.job())) is KeyRefused


def test_a_long_prompt_arrives_whole(desk: Desk) -> None:
    prompt = "Grüße. " * 40_000 + "That was all."
    desk.stub.script(Behaviour(text="Done.", usage=Spent(10, 1)))
    reviewed(desk, desk.job(prompt))
    assert prompt in desk.stub.requests[0].said


def test_cancelling_ends_all_that_was_started(desk: Desk) -> None:
    desk.stub.default = Behaviour(stall_after=0)

    async def cancelled() -> None:
        reviewing = asyncio.ensure_future(desk.reviewer.review(desk.job(), lambda _: None))
        await desk.stub.wait_for(lambda stub: stub.open_streams == 1, timeout=60)
        assert desk.processes() != []
        reviewing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reviewing

    asyncio.run(cancelled())
    desk.stub.wait(lambda stub: stub.clients_left == 1 and desk.processes() == [], timeout=10)
