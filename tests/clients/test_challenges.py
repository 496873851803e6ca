"""The whole command with a real reviewer: `moot challenge` starts Codex or Claude Code, which work through
the MCP server that moot gives them; the next challenge goes on in the same session. The model is a stub."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from moot.changes import review_block
from moot.files.documents import YamlDocument
from tests.clients.conftest import CHANGE, MODELS, Desk
from tests.clients.test_reviews import reads, uses
from tests.stub.script import Behaviour, Spent
from tests.support.mcp_client import ISSUE, NOT_YET, PROPOSAL

APPROVAL = {"verdict": "APPROVED", "issues": [], "summary": "Now it has a limit."}
FIXED = [{"id": "I1", "state": "fixed", "evidence": "It has a limit."}]


def challenge(desk: Desk, name: str) -> dict[str, Any]:
    program = Path(sys.executable).parent / name
    ended = subprocess.run(
        [program, "challenge", CHANGE, "--engine", desk.reviewer.name, "--json"],
        cwd=desk.workspace,
        env=desk.env,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    told: dict[str, Any] = json.loads(ended.stdout)
    return told


@pytest.mark.parametrize("name", ["moot", "agentd"])
def test_a_real_reviewer_challenges_a_change_twice(name: str, desk: Desk) -> None:
    folder = desk.workspace / name / "changes" / CHANGE
    if name == "agentd":
        (desk.workspace / "moot").rename(desk.workspace / "agentd")
    settings = f'[workflow]\nscript_retries = 0\n[claude]\nlow = "{MODELS["claude"]}"\n'
    (desk.workspace / "moot.toml").write_text(settings, encoding="utf-8")
    desk.stub.script(
        reads(Spent(1000, 10)),
        uses("append_review", NOT_YET, Spent(2000, 20)),
        Behaviour(text="I have appended my review.", usage=Spent(3000, 30)),
    )
    first = challenge(desk, name)
    assert (first["verdict"], first["phase"], first["engine"]) == (
        "NEEDS_REVISION", "proposed", desk.reviewer.name,
    )  # fmt: skip
    written = (folder / "proposal.md").read_text(encoding="utf-8")
    assert written.startswith(PROPOSAL)
    [block] = review_block.blocks(written)

    desk.stub.script(
        reads(Spent(1000, 10)),
        uses("append_review", {**APPROVAL, "dispositions": FIXED}, Spent(4000, 40)),
        Behaviour(text="It is good now.", usage=Spent(5000, 50)),
    )
    second = challenge(desk, name)
    assert (second["verdict"], second["phase"]) == ("APPROVED", "challenged")
    assert second["compared"] == {"new": 0, "repeated": 0, "resolved": 1}
    assert "I have appended my review." in desk.stub.requests[3].said, "the same session goes on"
    after = (folder / "proposal.md").read_text(encoding="utf-8")
    assert after.startswith(written)
    assert [each.raw for each in review_block.blocks(after)][:-1] == [block.raw]

    state = YamlDocument.load(folder / "STATE.yaml")
    assert (state["phase"], state["verdict"], state["last_action"]) == ("challenged", "APPROVED", "challenge")
    assert state["session_engine"] == desk.reviewer.name
    calls = state["telemetry"]["calls"]
    assert [(call["tokens_in"], call["tokens_out"], call["outcome"]) for call in calls] == [
        (6000, 60, "ok"),
        (10000, 100, "ok"),
    ], "each run's own tokens, although the session counts all"
    if desk.reviewer.name == "claude":
        # 6,000 tokens at $5 a million, 60 at $25; Codex does not say what a model that nobody knows costs.
        assert calls[0]["cost_usd"] == pytest.approx(0.0315)
    assert (folder / "AGENTS.md").exists()
    assert desk.processes() == []


def test_a_real_reviewer_has_to_say_what_became_of_each_point_of_the_design(desk: Desk) -> None:
    folder = desk.workspace / "moot" / "changes" / CHANGE
    design = "# Login\n\n## Dates\n\nA bad date ends with exit code 2.\n"
    (folder / "design.md").write_text(design, encoding="utf-8")
    settings = f'[workflow]\nscript_retries = 0\n[claude]\nlow = "{MODELS["claude"]}"\n'
    (desk.workspace / "moot.toml").write_text(settings, encoding="utf-8")
    missing = {**ISSUE, "description": "P1 is missing: nothing says what a bad date ends with."}
    judged = {**NOT_YET, "issues": [missing], "coverage": [{"point": "P1", "state": "missing", "where": ""}]}
    desk.stub.script(
        uses("read_file", {"path": "AGENTS.md"}),
        uses("read_file", {"path": "design.md"}),
        reads(),
        uses("append_review", NOT_YET),
        uses("append_review", judged),
        Behaviour(text="I have appended my review."),
    )
    assert challenge(desk, "moot")["verdict"] == "NEEDS_REVISION"
    told, agents, designed, _, returned, _ = desk.stub.requests
    point = "P1: A bad date ends with exit code 2."
    assert point in told.said
    assert point not in agents.said.removeprefix(told.said), "once is enough"
    assert "## Files of the change" in agents.said
    assert "## Dates" in designed.said
    assert "say in the coverage what became of these points of the design: P1" in returned.said
    [review] = YamlDocument.load(folder / "STATE.yaml")["reviews"]
    assert review["coverage"] == [{"point": "P1", "state": "missing", "where": ""}]
