"""Whether a reviewer is logged in, as its program says itself."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from moot.agents.login import is_logged_in
from tests.clients.conftest import NODE, client
from tests.stub.server import StubServer
from tests.support.change import Change
from tests.support.fake_agents import Fake, Run

NO, YES = '{\n  "loggedIn": false\n}\n', '{\n  "loggedIn": true\n}\n'


@pytest.mark.parametrize(
    ("name", "run", "expected"),
    [
        ("codex", Run(stderr="Not logged in\n", code=1), False),
        ("codex", Run(stderr="Logged in using ChatGPT\n"), True),
        ("codex", Run(stderr="error: unrecognized subcommand\n", code=2), None),
        ("claude", Run(NO.splitlines(), code=1), False),
        ("claude", Run(YES.splitlines()), True),
        ("claude", Run(code=1), None),
    ],
)
def test_a_program_says_whether_it_is_logged_in(
    name: str, run: Run, expected: bool | None, tmp_path: Path
) -> None:
    fake = Fake(tmp_path, name, run)
    assert asyncio.run(is_logged_in(name, fake.env)) is expected
    assert fake.started()["arguments"][-1] == "status"


def test_codex_with_a_provider_of_its_own_is_not_asked(tmp_path: Path) -> None:
    fake = Fake(tmp_path, "codex", Run(stderr="Not logged in\n", code=1))
    (tmp_path / "config.toml").write_text('model_provider = "mine"\n', encoding="utf-8")
    assert asyncio.run(is_logged_in("codex", {**fake.env, "CODEX_HOME": str(tmp_path)})) is None
    assert asyncio.run(is_logged_in("codex", {**fake.env, "CODEX_API_KEY": "k"})) is None
    assert fake.times_started == 0


@pytest.mark.parametrize("name", ["codex", "claude"])
def test_the_real_programs_say_so(name: str, tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "PATH": f"{client(name).parent}:{NODE}:/usr/bin:/bin"}
    assert asyncio.run(is_logged_in(name, env)) is False


@pytest.mark.parametrize("name", ["codex", "claude"])
def test_one_that_is_not_logged_in_is_passed_over(name: str, tmp_path: Path, stub: StubServer) -> None:
    change = Change("moot", tmp_path, stub)
    fake = Fake(tmp_path, name, Run(NO.splitlines(), "Not logged in\n", code=1))
    change.env["PATH"] = f"{fake.program.parent}:{change.env['PATH']}"
    change.reviewer_says("APPROVED")
    ended = change.run("challenge", "feat-auth")
    assert ended.code == 0, ended.err
    assert f"{name} is not logged in, and is passed over" in ended.err
    assert "model reviews" in ended.err
    handed_over = change.run("implement", "feat-auth")
    assert "No coding agent was found" in handed_over.err
    found = change.run("doctor", "--json").json["findings"]
    [shown] = [finding for finding in found if finding["what"] == name]
    assert (shown["good"], shown["found"]) == (True, f"{fake.program}, not logged in")
    assert shown["advice"].startswith(f"To use it: {name}")
