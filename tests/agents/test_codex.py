from __future__ import annotations

import asyncio
import itertools
import tomllib
from pathlib import Path

import pytest

from moot.agents import Job, Outcome, find
from moot.agents.protocol import NEW_SESSION
from moot.errors import (
    KeyRefused,
    ProviderDown,
    ProviderFailed,
    RequestRejected,
    ReviewerCrashed,
    ReviewerTimedOut,
)
from moot.llm.messages import Tokens
from tests.support.fake_agents import Fake, Run, a_job, lines, recorded

THREAD = "01a1df63-31f2-70b0-ab0f-4691ec633013"
OTHER = "01a1df62-84b9-7c11-8e95-dfbb6c69ea75"
GONE = Run(
    stderr=f"Error: thread/resume: thread/resume failed: no rollout found for thread id {THREAD}\n",
    code=1,
)


def review(fake: Fake, job: Job) -> tuple[Outcome, list[str]]:
    codex = find("codex", fake.env)
    assert codex is not None
    progress: list[str] = []
    outcome = asyncio.run(codex.review(job, progress.append))
    return outcome, progress


def failed(fake: Fake, job: Job) -> ProviderFailed:
    with pytest.raises(ProviderFailed) as caught:
        review(fake, job)
    return caught.value


def turn(thread: str, read: int, written: int, cached: int = 0) -> Run:
    usage = {"input_tokens": read, "output_tokens": written, "cached_input_tokens": cached}
    return Run(
        lines(
            {"type": "thread.started", "thread_id": thread},
            {"type": "turn.started"},
            {"type": "turn.completed", "usage": usage},
        )
    )


def failing(message: str, code: int = 1) -> Run:
    return Run(
        lines(
            {"type": "thread.started", "thread_id": THREAD},
            {"type": "error", "message": "Reconnecting... 1/5"},
            {"type": "turn.failed", "error": {"message": message}},
        ),
        stderr="some noise",
        code=code,
    )


def test_a_recorded_review_gives_its_outcome_and_its_progress(tmp_path: Path) -> None:
    fake = Fake(tmp_path, "codex", Run(recorded("codex"), "WARNING: this and that\n"))
    outcome, progress = review(fake, a_job(tmp_path, model="gpt-5.6-sol"))
    assert outcome == Outcome(
        session_id=THREAD,
        model="gpt-5.6-sol",
        usage=Tokens(3735, 70, 20),
        cost_usd=None,
        duration_ms=outcome.duration_ms,
        said="Done.",
    )
    assert progress == [
        "reads proposal.md",
        "lists specs",
        "appends its review",
        "reads none.md",
        "read_file failed",
    ]


def test_codex_gets_the_prompt_as_input_and_our_settings_as_options(tmp_path: Path) -> None:
    fake = Fake(tmp_path, "codex", turn(THREAD, 1, 1))
    review(fake, a_job(tmp_path, model="gpt-5.6-sol"))
    noted = fake.started()
    arguments = noted["arguments"]
    assert noted["stdin"] == "--review\nthe “change”."
    assert noted["env"]["CODEX_X"] == "codex"
    assert {"CLAUDE_X", "OWN"}.isdisjoint(noted["env"])
    assert noted["cwd"] == str(tmp_path)
    assert arguments[:4] == ["exec", "--json", "--skip-git-repo-check", "--sandbox=read-only"]
    assert arguments[4:6] == ["--cd", str(tmp_path)]
    assert arguments[-2:] == ["--model=gpt-5.6-sol", "-"]
    settings = "\n".join(value for option, value in itertools.pairwise(arguments) if option == "-c")
    assert tomllib.loads(settings) == {
        "approval_policy": "never",
        "features": {"shell_tool": False, "unified_exec": False, "view_image": False},
        "projects": {str(tmp_path): {"trust_level": "untrusted"}},
        "mcp_servers": {
            "moot_review": {
                "command": "/opt/py thon",
                "args": ["-m", "moot", "mcp", "--change", 'add-"login"'],
                "required": True,
                "default_tools_approval_mode": "approve",
                "startup_timeout_sec": 60,
                "tool_timeout_sec": 120,
            }
        },
    }


def test_without_a_model_codex_takes_its_own(tmp_path: Path) -> None:
    fake = Fake(tmp_path, "codex", turn(THREAD, 1, 1))
    outcome, _ = review(fake, a_job(tmp_path))
    assert outcome.model == "default"
    assert not any(argument.startswith("--model") for argument in fake.started()["arguments"])


def test_a_resumed_thread_counts_only_what_it_used_since(tmp_path: Path) -> None:
    fake = Fake(tmp_path, "codex", turn(THREAD, 650, 65, 30))
    outcome, progress = review(fake, a_job(tmp_path, resume=THREAD, tokens_before=Tokens(600, 60, 20)))
    assert (outcome.session_id, outcome.usage) == (THREAD, Tokens(50, 5, 10))
    assert progress == []
    assert fake.started()["arguments"][-3:] == ["resume", THREAD, "-"]


def test_a_thread_that_counts_anew_is_not_reduced_below_what_it_says(tmp_path: Path) -> None:
    fake = Fake(tmp_path, "codex", turn(THREAD, 50, 5))
    outcome, _ = review(fake, a_job(tmp_path, resume=THREAD, tokens_before=Tokens(600, 60)))
    assert outcome.usage == Tokens(50, 5)


def test_a_silently_new_thread_is_noticed_and_not_reduced(tmp_path: Path) -> None:
    fake = Fake(tmp_path, "codex", turn(OTHER, 650, 65))
    outcome, progress = review(fake, a_job(tmp_path, resume=THREAD, tokens_before=Tokens(600, 60)))
    assert (outcome.session_id, outcome.usage) == (OTHER, Tokens(650, 65))
    assert progress == [NEW_SESSION]


def test_a_thread_that_is_gone_is_begun_anew(tmp_path: Path) -> None:
    fake = Fake(tmp_path, "codex", GONE, turn(OTHER, 70, 7))
    outcome, progress = review(fake, a_job(tmp_path, resume=THREAD, tokens_before=Tokens(60, 6)))
    assert (outcome.session_id, outcome.usage) == (OTHER, Tokens(70, 7))
    assert progress == [NEW_SESSION]
    assert "resume" in fake.started(0)["arguments"]
    assert "resume" not in fake.started(1)["arguments"]


def test_an_option_in_place_of_a_thread_is_never_passed_on(tmp_path: Path) -> None:
    fake = Fake(tmp_path, "codex", turn(OTHER, 70, 7))
    _, progress = review(fake, a_job(tmp_path, resume="--dangerously-bypass-approvals-and-sandbox"))
    assert progress == [NEW_SESSION]
    assert not any("danger" in argument for argument in fake.started()["arguments"])


@pytest.mark.parametrize(
    ("message", "kind", "words"),
    [
        (
            "unexpected status 401 Unauthorized: Incorrect API key, url: https://x/v1/responses",
            KeyRefused,
            "codex: unexpected status 401 Unauthorized: Incorrect API key, url: https://x/v1/responses",
        ),
        (
            "unexpected status 503 Service Unavailable: overloaded",
            ProviderDown,
            "codex: unexpected status 503 Service Unavailable: overloaded",
        ),
        (
            '{"error": {"message": "No such model.", "type": "invalid_request_error"}}',
            RequestRejected,
            "codex: No such model.",
        ),
        (
            "stream disconnected before completion",
            ReviewerCrashed,
            "codex: stream disconnected before completion",
        ),
        ("[]", ReviewerCrashed, "codex: []"),
    ],
)
def test_a_failed_turn_says_why(tmp_path: Path, message: str, kind: type[ProviderFailed], words: str) -> None:
    problem = failed(Fake(tmp_path, "codex", failing(message)), a_job(tmp_path))
    assert type(problem) is kind
    assert str(problem) == words


def test_a_codex_that_cannot_begin_is_quoted(tmp_path: Path) -> None:
    words = "WARNING: this\nError: required MCP servers failed to initialize: moot_review\n"
    problem = failed(Fake(tmp_path, "codex", Run(stderr=words, code=1)), a_job(tmp_path))
    assert type(problem) is ReviewerCrashed
    assert str(problem) == "codex: required MCP servers failed to initialize: moot_review"


def test_a_codex_that_ends_in_the_middle_has_crashed(tmp_path: Path) -> None:
    fake = Fake(tmp_path, "codex", Run(recorded("codex")[:6]))
    assert str(failed(fake, a_job(tmp_path))) == "codex: it ended without finishing its turn"


def test_a_codex_that_does_not_end_is_stopped(tmp_path: Path) -> None:
    fake = Fake(tmp_path, "codex", Run(hangs=True))
    assert type(failed(fake, a_job(tmp_path, timeout=0.5))) is ReviewerTimedOut


def test_events_of_another_shape_are_passed_over(tmp_path: Path) -> None:
    odd = lines(
        {"type": "item.started"},
        {"type": "item.started", "item": [1]},
        {"type": "item.completed", "item": "x"},
        {"type": "brand.new"},
        {"no": "type"},
        {"type": "error"},
    )
    fake = Fake(tmp_path, "codex", Run(odd + turn(THREAD, 3, 2).lines))
    outcome, progress = review(fake, a_job(tmp_path))
    assert outcome.usage == Tokens(3, 2)
    assert progress == ["an error"]


def test_commands_and_corrections_are_shown(tmp_path: Path) -> None:
    call = {"type": "mcp_tool_call", "server": "moot_review", "tool": "append_review", "status": "failed"}
    foreign = {"type": "mcp_tool_call", "server": "other", "tool": "append_review", "status": "failed"}
    events = lines(
        {"type": "item.started", "item": {"type": "command_execution", "command": "/bin/bash -lc 'ls'"}},
        {"type": "item.started", "item": foreign},
        {"type": "item.completed", "item": foreign},
        {"type": "item.completed", "item": call},
    )
    fake = Fake(tmp_path, "codex", Run(events + turn(THREAD, 3, 2).lines))
    _, progress = review(fake, a_job(tmp_path))
    assert progress == ["runs /bin/bash -lc 'ls'", "is asked to correct its review"]
