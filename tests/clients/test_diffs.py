"""The real Codex and the real Claude Code review a diff with a planted bug: `moot challenge --diff` starts
them, and they work at the desk that moot gives them. The model is a stub."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.clients.conftest import MODELS, Desk, Wall, client, environment_of
from tests.clients.test_reviews import uses
from tests.stub.script import Behaviour, Spent
from tests.stub.server import StubServer

BEFORE = "def total(cart):\n    return sum(cart)\n\n\ndef empty():\n    return []\n"
BUG = "    return sum(cart[1:])"
AFTER = BEFORE.replace("    return sum(cart)", BUG)
FINDING = {
    "severity": "High",
    "kind": "bug",
    "file": "shop.py",
    "quote": BUG,
    "line": 2,
    "problem": "The first item is not counted.",
    "consequence": "Every customer pays too little.",
    "fix": "Sum the whole cart.",
}
INVENTED = FINDING | {"quote": "return sum(basket)", "line": 9}
REVIEW = {"findings": [FINDING], "summary": "One item is free.", "rejects": False}
CLEAN = {"findings": [], "summary": "Fine.", "rejects": False}


def reads(*more: str) -> Behaviour:
    calls = [("mcp__moot_review__read_file", {"path": path}) for path in ("diff.patch", *more)]
    return Behaviour(tool_calls=tuple(calls), usage=Spent(1000, 10))


def a_shop(folder: Path) -> Path:
    """A workspace with a bug in it that is not committed, and a settings file that keeps to the stub."""
    folder.mkdir(parents=True, exist_ok=True)
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")

    def git(*arguments: str) -> None:
        subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    settings = f'[workflow]\nscript_retries = 0\n[claude]\nlow = "{MODELS["claude"]}"\n'
    (folder / "moot.toml").write_text(settings, encoding="utf-8")
    (folder / "shop.py").write_text(BEFORE, encoding="utf-8")
    (folder / ".env").write_text("KEY=1\n", encoding="utf-8")
    git("add", "-A")
    git("commit", "-qm", "one")
    (folder / "shop.py").write_text(AFTER, encoding="utf-8")
    return folder


def challenge(root: Path, env: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).parent / "moot"
    return subprocess.run(
        [program, "challenge", "--diff", *arguments],
        cwd=root, env=env, capture_output=True, text=True, timeout=180, check=False,
    )  # fmt: skip


def told(ended: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(ended.stdout)
    return read


def test_a_real_reviewer_finds_a_planted_bug(desk: Desk) -> None:
    root = a_shop(desk.workspace)
    desk.stub.script(
        uses("append_review", REVIEW, Spent(1000, 10)),
        reads("@/shop.py", "@/.env"),
        uses("append_review", REVIEW | {"findings": [FINDING, INVENTED]}, Spent(2000, 20)),
        uses("append_review", REVIEW, Spent(2000, 20)),
        Behaviour(text="I have appended my review.", usage=Spent(3000, 30)),
    )
    ended = challenge(root, desk.env, "--by", desk.reviewer.name, "--json", "--fail-on", "high")
    assert ended.returncode == 3, ended.stderr
    review = told(ended)
    [finding] = review["findings"]
    assert (finding["file"], finding["line"], finding["severity"], finding["blocks"]) == (
        "shop.py", 2, "High", True,
    )  # fmt: skip
    assert review["estimate"].startswith("at least about ")
    assert review["reviewers"][0]["summary"] == "One item is free."
    # 9,000 tokens at $5 a million, 90 at $25; Codex does not say what a model that nobody knows costs.
    cost = review["reviewers"][0]["costUsd"]
    assert cost == (None if desk.reviewer.name == "codex" else pytest.approx(0.04725))
    _, unread, read, returned, _ = (request.said for request in desk.stub.requests)
    assert "you have not read all of it" in unread
    assert f"+{BUG}" in read
    assert "is private and cannot be read" in read
    assert "These quotes are not in the diff" in returned
    assert "return sum(basket)" in returned
    assert desk.processes() == []
    assert list((desk.folder / "tmp").glob("moot-desk-*")) == []


def test_a_real_reviewer_that_forgets_its_review_is_reminded(desk: Desk) -> None:
    root = a_shop(desk.workspace)
    desk.stub.script(
        reads(),
        Behaviour(text="It is fine."),
        # In the same session; what was read before counts no more, because its server is another one.
        reads(),
        uses("append_review", CLEAN),
        Behaviour(text="Done."),
    )
    ended = challenge(root, desk.env, "--by", desk.reviewer.name)
    assert (ended.returncode, ended.stdout.splitlines()[0]) == (0, "APPROVED - Nothing found"), ended.stderr
    assert "is reminded" in ended.stderr
    assert "It is fine." in desk.stub.requests[2].said
    assert "You have not appended a review" in desk.stub.requests[2].said


def test_a_real_reviewer_without_a_review_is_no_pass(desk: Desk) -> None:
    root = a_shop(desk.workspace)
    desk.stub.default = Behaviour(text="Looks good to me. APPROVED.")
    ended = challenge(root, desk.env, "--by", desk.reviewer.name)
    assert ended.returncode == 1
    assert ended.stdout.splitlines()[0] == "NOT REVIEWED - No reviewer has finished"
    assert "ended without appending a review" in ended.stdout


def test_codex_and_claude_code_disagree_at_once(tmp_path: Path, stub: StubServer, wall: Wall) -> None:
    programs = {client("codex").parent, client("claude").parent}
    assert len(programs) == 1
    root = a_shop(tmp_path / "workspace")
    env = environment_of(tmp_path, programs.pop(), stub) | wall.proxies
    env["PATH"] = os.pathsep.join(dict.fromkeys(env["PATH"].split(os.pathsep)))
    found, clean = uses("append_review", REVIEW), uses("append_review", CLEAN)
    stub.on(lambda request: request.wire == "anthropic", reads(), found, Behaviour(text="Done."))
    stub.on(lambda request: request.wire != "anthropic", reads(), clean, Behaviour(text="Done."))
    ended = challenge(root, env, "--by", "codex", "--by", "claude", "--json", "--fail-on", "needs_revision")
    assert ended.returncode == 3, ended.stderr
    review = told(ended)
    assert [(one["by"], one["verdict"], one["summary"]) for one in review["reviewers"]] == [
        ("codex", "APPROVED", "Fine."),
        ("claude", "NEEDS_REVISION", "One item is free."),
    ]
    assert review["verdict"] == "NEEDS_REVISION", "what blocks for one blocks for all"
    assert review["estimate"].startswith("at least about ")
    assert f"codex, claude: {review['estimate']}" in ended.stderr
    listed = subprocess.run(
        [Path(sys.executable).parent / "moot", "sessions", "--json"],
        cwd=root, env=env, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    [kept] = json.loads(listed.stdout)["sessions"]
    assert (kept["id"], kept["format"], kept["turns"]) == (review["session"], "diff", 2)
