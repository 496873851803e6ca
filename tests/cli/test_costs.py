"""What a session costs, said by the real command: before the first request, and when it has ended."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.stub.script import Behaviour
from tests.stub.server import StubServer
from tests.support.command import environment, moot
from tests.support.server import DECISION, a_board

PRICES = '[prices."openai:gpt-5.6"]\ninput = 10.0\noutput = 50.0\ncache_read = 1.0\n'


@pytest.fixture
def env(tmp_path: Path, stub: StubServer) -> dict[str, str]:
    settings = tmp_path / "config" / "moot" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(PRICES, encoding="utf-8")
    (tmp_path / "sales.txt").write_text("We sold 41 loaves on that day.\n" * 2_600, encoding="utf-8")
    return environment(tmp_path, stub)


def test_a_board_says_beforehand_what_it_takes_and_afterwards_what_it_has_cost(
    stub: StubServer, env: dict[str, str], tmp_path: Path
) -> None:
    a_board(stub)
    ended = moot("board", DECISION, "--no-questions", "--with", "sales.txt", env=env, cwd=tmp_path)
    assert ended.code == 0
    foretold, spent = ended.err.index("This takes about "), ended.err.index("It has cost: 9 requests, ")
    assert foretold < ended.err.index("tokens · ") < spent, "before the first reply, and after the last"


def test_a_script_gets_both_in_the_document(stub: StubServer, env: dict[str, str], tmp_path: Path) -> None:
    stub.default = Behaviour(text="No.")
    (tmp_path / "answers.yaml").write_text(json.dumps(["Why?"]), encoding="utf-8")
    asked = ("ask", "the-coach", "Should we?", "--with", "sales.txt", "--answers", "answers.yaml", "--json")
    ended = moot(*asked, env=env, cwd=tmp_path)
    assert ended.code == 0
    estimate, bill = ended.json["estimate"], ended.json["bill"]
    assert (estimate["requests"], estimate["atLeast"]) == (1, False)
    assert estimate["costUsd"] == pytest.approx(estimate["inputTokens"] * 1e-5 + 512 * 5e-5)
    assert bill["requests"] == 2
    assert bill["costUsd"] == pytest.approx(bill["inputTokens"] * 1e-5 + bill["outputTokens"] * 5e-5)
    resumed = moot("ask", "--resume", ended.json["session"], "--json", env=env, cwd=tmp_path)
    assert resumed.json["bill"] == bill
    assert resumed.json["estimate"] is None, "nobody is asked"


def test_what_cannot_be_known_beforehand_is_said_to_be_a_lower_bound(
    stub: StubServer, env: dict[str, str], tmp_path: Path
) -> None:
    ended = moot("analyze", "Offline mode", env=env, cwd=tmp_path)
    assert "This takes at least about " in ended.err
    assert "It has cost: " in ended.err
    assert stub.requests
