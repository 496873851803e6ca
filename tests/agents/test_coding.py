"""How coding agents are started."""

from __future__ import annotations

from pathlib import Path

from tests.stub.server import StubServer
from tests.support.change import Change
from tests.support.fake_agents import Fake, Run


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
