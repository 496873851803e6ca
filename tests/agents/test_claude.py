from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from moot.agents import Job, Outcome, find
from moot.agents.protocol import NEW_SESSION
from moot.errors import KeyRefused, ProviderDown, ProviderFailed, RequestRejected, ReviewerCrashed
from moot.llm.messages import Tokens
from tests.support.fake_agents import Fake, Run, a_job, lines, recorded

SESSION = "6c089823-7f1e-4d0f-9a32-b6d2f6d75d94"
OTHER = "1b65b887-69f2-44b7-ac34-70095f01bec6"


def review(fake: Fake, job: Job) -> tuple[Outcome, list[str]]:
    claude = find("claude", fake.env)
    assert claude is not None
    progress: list[str] = []
    outcome = asyncio.run(claude.review(job, progress.append))
    return outcome, progress


def failed(fake: Fake, job: Job) -> ProviderFailed:
    with pytest.raises(ProviderFailed) as caught:
        review(fake, job)
    return caught.value


def init(session: str = SESSION, status: str = "connected") -> dict[str, Any]:
    servers = [{"name": "moot_review", "status": status}]
    return {
        "type": "system",
        "subtype": "init",
        "session_id": session,
        "model": "claude-opus-5",
        "mcp_servers": servers,
    }


OPUS = {
    "inputTokens": 40,
    "outputTokens": 5,
    "cacheReadInputTokens": 9,
    "cacheCreationInputTokens": 1,
    "costUSD": 0.25,
}
HAIKU = {"inputTokens": 50, "outputTokens": 2, "costUSD": 0.125, "costBasis": "list"}


def result(**changes: Any) -> dict[str, Any]:
    return {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "result": "Done.",
        "modelUsage": {"claude-opus-5": OPUS, "claude-haiku-5": HAIKU},
        "permission_denials": [],
    } | changes


def a_turn(session: str = SESSION) -> Run:
    return Run(lines(init(session), result()))


def test_a_recorded_review_gives_its_outcome_and_its_progress(tmp_path: Path) -> None:
    fake = Fake(tmp_path, "claude", Run(recorded("claude")))
    outcome, progress = review(fake, a_job(tmp_path, model="opus"))
    assert outcome == Outcome(
        session_id=SESSION,
        model="claude-opus-4-5-20251101",
        usage=Tokens(750, 75, 20),
        cost_usd=0.005572499999999999,
        duration_ms=outcome.duration_ms,
        said="Done.",
    )
    assert progress == [
        "reads proposal.md",
        "lists specs",
        "reads none.md",
        "read_file failed",
        "appends its review",
    ]


def test_claude_gets_the_prompt_as_input_and_our_settings_as_options(tmp_path: Path) -> None:
    fake = Fake(tmp_path, "claude", a_turn())
    review(fake, a_job(tmp_path, model="opus"))
    noted = fake.started()
    options = dict(argument.split("=", 1) for argument in noted["arguments"] if "=" in argument)
    assert noted["stdin"] == "--review\nthe “change”."
    assert noted["cwd"] == str(tmp_path)
    assert [argument for argument in noted["arguments"] if "=" not in argument] == [
        "-p",
        "--verbose",
        "--strict-mcp-config",
    ]
    assert json.loads(options.pop("--mcp-config")) == {
        "mcpServers": {
            "moot_review": {
                "type": "stdio",
                "command": "/opt/py thon",
                "args": ["-m", "moot", "mcp", "--change", 'add-"login"'],
            }
        }
    }
    assert options == {
        "--output-format": "stream-json",
        "--setting-sources": "user",
        "--tools": "",
        "--permission-mode": "dontAsk",
        "--allowedTools": "mcp__moot_review__read_file,mcp__moot_review__list_directory,"
        "mcp__moot_review__search,mcp__moot_review__git_log,mcp__moot_review__git_diff,"
        "mcp__moot_review__append_review",
        "--model": "opus",
    }
    assert noted["env"]["CLAUDE_X"] == "claude"
    assert {"CODEX_X", "OWN"}.isdisjoint(noted["env"])
    assert noted["env"]["MCP_CONNECTION_NONBLOCKING"] == "0"


def test_tokens_are_those_of_every_model_that_had_a_part(tmp_path: Path) -> None:
    outcome, _ = review(Fake(tmp_path, "claude", a_turn()), a_job(tmp_path))
    assert (outcome.model, outcome.usage) == ("claude-opus-5", Tokens(100, 7, 9))
    assert outcome.cost_usd == 0.375


def test_what_a_session_used_before_it_was_resumed_is_not_counted_again(tmp_path: Path) -> None:
    told = result(model_usage_since_last_result={"claude-haiku-5": HAIKU}, total_cost_usd=9)
    fake = Fake(tmp_path, "claude", Run(lines(init(), told)))
    outcome, _ = review(fake, a_job(tmp_path, resume=SESSION))
    assert (outcome.usage, outcome.cost_usd) == (Tokens(50, 2), 0.125)


@pytest.mark.parametrize("usage", [{"costUSD": 0.5, "costBasis": "unknown"}, {}])
def test_a_cost_that_is_only_a_guess_is_not_given(tmp_path: Path, usage: dict[str, Any]) -> None:
    told = result(modelUsage={"claude-opus-5": OPUS, "new-one": usage})
    outcome, _ = review(Fake(tmp_path, "claude", Run(lines(init(), told))), a_job(tmp_path))
    assert outcome.cost_usd is None


def test_a_resumed_session_reports_its_own_run_already(tmp_path: Path) -> None:
    fake = Fake(tmp_path, "claude", a_turn())
    outcome, progress = review(fake, a_job(tmp_path, resume=SESSION, tokens_before=Tokens(90, 6)))
    assert (outcome.session_id, outcome.usage) == (SESSION, Tokens(100, 7, 9))
    assert progress == []
    assert fake.started()["arguments"][-1] == f"--resume={SESSION}"


def test_a_session_that_is_gone_is_begun_anew(tmp_path: Path) -> None:
    told = [f"No conversation found with session ID: {SESSION}"]
    gone = result(subtype="error_during_execution", is_error=True, errors=told)
    fake = Fake(tmp_path, "claude", Run(lines(gone), code=1), a_turn(OTHER))
    outcome, progress = review(fake, a_job(tmp_path, resume=SESSION))
    assert outcome.session_id == OTHER
    assert progress == [NEW_SESSION]
    assert not any("resume" in argument for argument in fake.started(1)["arguments"])


@pytest.mark.parametrize("status", ["failed", "pending", "needs-auth"])
def test_a_review_without_its_server_is_stopped_before_it_costs(tmp_path: Path, status: str) -> None:
    fake = Fake(tmp_path, "claude", Run(lines(init(status=status)), hangs=True))
    problem = failed(fake, a_job(tmp_path))
    assert type(problem) is ReviewerCrashed
    assert str(problem) == "claude: it could not start moot's MCP server"


def test_a_tool_of_ours_that_was_denied_is_a_failure_although_all_ended_well(tmp_path: Path) -> None:
    denials = [{"tool_name": "Read"}, {"tool_name": "mcp__moot_review__append_review"}]
    fake = Fake(tmp_path, "claude", Run(lines(init(), result(permission_denials=denials))))
    assert str(failed(fake, a_job(tmp_path))) == "claude: its settings forbid append_review"


def test_a_tool_of_its_own_that_was_denied_is_none(tmp_path: Path) -> None:
    fake = Fake(tmp_path, "claude", Run(lines(init(), result(permission_denials=[{"tool_name": "Read"}]))))
    outcome, _ = review(fake, a_job(tmp_path))
    assert outcome.said == "Done."


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, RequestRejected), (401, KeyRefused), (529, ProviderDown), (None, ReviewerCrashed)],
)
def test_an_error_counts_whatever_the_subtype_says(
    tmp_path: Path, status: int | None, kind: type[ProviderFailed]
) -> None:
    told = result(is_error=True, api_error_status=status, result="API Error: no")
    problem = failed(Fake(tmp_path, "claude", Run(lines(init(), told))), a_job(tmp_path))
    assert type(problem) is kind
    assert str(problem) == "claude: API Error: no"


def test_a_claude_without_a_login_is_refused_its_key(tmp_path: Path) -> None:
    words = "Not logged in · Please run /login"
    said = {"type": "assistant", "error": "authentication_failed", "message": {"content": []}}
    told = result(is_error=True, api_error_status=None, result=words)
    problem = failed(Fake(tmp_path, "claude", Run(lines(init(), said, told), code=1)), a_job(tmp_path))
    assert type(problem) is KeyRefused
    assert str(problem) == f"claude: {words}"


def test_a_claude_that_ends_in_the_middle_has_crashed(tmp_path: Path) -> None:
    fake = Fake(
        tmp_path, "claude", Run(recorded("claude")[:4], "    at main()\nSegmentation fault\n", code=139)
    )
    assert str(failed(fake, a_job(tmp_path))) == "claude: Segmentation fault"


def test_a_result_that_does_not_say_that_it_is_good_is_not(tmp_path: Path) -> None:
    fake = Fake(tmp_path, "claude", Run(lines(init(), {"type": "result"})))
    assert str(failed(fake, a_job(tmp_path))) == "claude: it ended without a word"


def test_retries_and_corrections_are_shown(tmp_path: Path) -> None:
    use = {"type": "tool_use", "id": "t1", "name": "mcp__moot_review__append_review", "input": {}}
    answer = {"type": "tool_result", "tool_use_id": "t1", "is_error": True, "content": "no summary"}
    events = lines(
        init(),
        {"type": "system", "subtype": "api_retry", "error": "overloaded"},
        {"type": "assistant", "message": {"content": [use, "odd", {"type": "text", "text": "Hm."}]}},
        {"type": "user", "message": {"content": [answer]}},
        {"type": "user", "message": {"content": "odd"}},
        {"type": "brand_new"},
        result(),
    )
    _, progress = review(Fake(tmp_path, "claude", Run(events)), a_job(tmp_path))
    assert progress == ["tries again: overloaded", "appends its review", "is asked to correct its review"]
