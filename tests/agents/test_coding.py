"""How coding agents are started."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from moot.agents import Order, Outcome, find_coder
from moot.llm.messages import Tokens
from tests.stub.server import StubServer
from tests.support.change import Change
from tests.support.fake_agents import Fake, Run, lines


def started(name: str, folder: Path, stub: StubServer) -> list[str]:
    change = Change("moot", folder, stub)
    change.reviewer_says("APPROVED")
    assert change.run("challenge", "feat-auth").code == 0
    fake = Fake(folder, name, Run(code=1))
    change.env["PATH"] = f"{fake.program.parent}:{change.env['PATH']}"
    assert change.run("implement", "feat-auth", "--agent", name).code == 1
    arguments: list[str] = fake.started()["arguments"]
    return arguments


def test_claude_writes_code_with_the_users_settings_and_not_the_repositorys(
    tmp_path: Path, stub: StubServer
) -> None:
    assert "--setting-sources=user" in started("claude", tmp_path, stub)


def test_codex_writes_code_in_a_repository_that_it_does_not_trust(tmp_path: Path, stub: StubServer) -> None:
    arguments = started("codex", tmp_path, stub)
    assert any(argument.endswith('trust_level="untrusted"}}') for argument in arguments), arguments


def work(fake: Fake, name: str) -> tuple[Outcome, list[str]]:
    coder = find_coder(name, (), fake.env)
    assert coder is not None
    progress: list[str] = []
    return asyncio.run(coder.work(Order("Do it.", Path("/"), 20), progress.append)), progress


def test_what_codex_did_and_used_is_told(tmp_path: Path) -> None:
    events = lines(
        {"type": "thread.started", "thread_id": "0199"},
        {"type": "item.started", "item": {"type": "command_execution", "command": "make"}},
        {"type": "item.completed", "item": {"type": "file_change", "changes": [{"path": "a.py"}]}},
        {"type": "item.completed", "item": {"type": "agent_message", "text": "Done."}},
        {
            "type": "turn.completed",
            "usage": {"input_tokens": 9, "cached_input_tokens": 4, "output_tokens": 2},
        },
    )
    outcome, progress = work(Fake(tmp_path, "codex", Run(events)), "codex")
    assert progress == ["runs make", "edits a.py"]
    assert (outcome.model, outcome.said, outcome.usage) == ("codex", "Done.", Tokens(9, 2, 4))


def test_an_older_claude_says_what_all_models_have_cost_together(tmp_path: Path) -> None:
    used: dict[str, Any] = {"name": "Edit", "type": "tool_use", "input": {"file_path": "a.py"}}
    events = lines(
        {"type": "system", "subtype": "init", "session_id": "s", "mcp_servers": []},
        {"type": "assistant", "message": {"content": [used]}},
        {
            "type": "result",
            "is_error": False,
            "result": "Done.",
            "usage": {"input_tokens": 9, "output_tokens": 2},
            "total_cost_usd": 0.5,
        },
    )
    outcome, progress = work(Fake(tmp_path, "claude", Run(events)), "claude")
    assert progress == ["Edit a.py"]
    assert (outcome.model, outcome.said, outcome.usage) == ("claude", "Done.", Tokens(9, 2))
    assert outcome.cost_usd == 0.5
