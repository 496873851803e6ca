"""`moot challenge --diff` as it is typed: what is gathered, who reviews, what is told, how it exits."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.stub.script import Behaviour, Recorded
from tests.stub.server import StubServer
from tests.support.command import MOOT, Ended, environment, moot
from tests.support.ready import Popen
from tests.support.waiting import until

BUG = "    return sum(cart[1:])"
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
CLEAN = {"findings": [], "summary": "Fine.", "rejects": False}
FOUND = {"findings": [FINDING], "summary": "One item is free.", "rejects": False}


def says(review: dict[str, Any]) -> Behaviour:
    return Behaviour(json_text=json.dumps(review))


class Shop:
    def __init__(self, folder: Path, stub: StubServer) -> None:
        self.root = folder / "shop"
        self.root.mkdir()
        self.stub = stub
        self.env = environment(folder, stub)
        self.git("init", "-q", "-b", "main")
        (self.root / "shop.py").write_text("def total(cart):\n    return sum(cart)\n")
        self.git("add", "-A")
        self.git("commit", "-qm", "one")
        (self.root / "shop.py").write_text(f"def total(cart):\n{BUG}\n")

    def git(self, *arguments: str) -> None:
        identity = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *identity, *arguments], cwd=self.root, check=True, capture_output=True)

    def challenge(self, *arguments: str, stdin: str = "") -> Ended:
        return moot("challenge", *arguments, env=self.env, cwd=self.root, stdin=stdin)


@pytest.fixture
def shop(tmp_path: Path, stub: StubServer) -> Shop:
    return Shop(tmp_path, stub)


def test_uncommitted_code_is_reviewed_by_a_model(shop: Shop) -> None:
    shop.stub.script(says(FOUND))
    ended = shop.challenge("--diff", "--by", "model")
    assert ended.code == 0, ended.err
    assert ended.out.splitlines() == [
        "NEEDS_REVISION - Found 1 HIGH, 0 MEDIUM, 0 LOW",
        "",
        "F1  High   bug  shop.py:2  [blocks]",
        "    The first item is not counted.",
        "    So: Every customer pays too little.",
        "    Fix: Sum the whole cart.",
        "    >     return sum(cart[1:])",
        "",
        "model: One item is free.",
    ]
    assert "the work that is not committed: 1 file, +1 -1, for model: at least about " in ended.err
    assert re.search(r"Challenge: this took [\d,]+ tokens, price unknown", ended.err)
    asked = shop.stub.requests[0].said
    assert "+    return sum(cart[1:])" in asked
    listed = moot("sessions", "--json", env=shop.env, cwd=shop.root).json["sessions"]
    assert [(one["format"], one["step"]) for one in listed] == [("diff", "judged")]


@pytest.mark.parametrize(
    ("fail_on", "code"),
    [("never", 0), ("low", 3), ("medium", 3), ("high", 0), ("needs_revision", 0), ("rejected", 0)],
)
def test_what_fails_is_what_was_asked_for(shop: Shop, fail_on: str, code: int) -> None:
    shop.stub.script(says(FOUND | {"findings": [FINDING | {"severity": "Medium"}]}))
    assert shop.challenge("--diff", "--by", "model", "--fail-on", fail_on).code == code


def test_two_reviewers_that_disagree_are_both_kept(shop: Shop) -> None:
    def by_persona(request: Recorded) -> Behaviour:
        return says(CLEAN if "You are The Pragmatist" in request.said else FOUND)

    shop.stub.on(lambda _: True, by_persona, by_persona)
    ended = shop.challenge("--diff", "--by", "model", "--by", "the-pragmatist", "--json", "--fail-on", "high")
    assert ended.code == 3, ended.err
    told = ended.json
    assert told["verdict"] == "NEEDS_REVISION"
    assert [(one["by"], one["verdict"], one["summary"]) for one in told["reviewers"]] == [
        ("model", "NEEDS_REVISION", "One item is free."),
        ("the-pragmatist", "APPROVED", "Fine."),
    ]
    assert told["estimate"].startswith("at least about ")
    assert f"model, the-pragmatist: {told['estimate']}" in ended.err
    assert [voice["by"] for voice in told["findings"][0]["voices"]] == ["model"]


def test_of_a_reply_that_is_none_it_is_said_what_it_should_have_been(shop: Shop) -> None:
    shop.stub.script(*[Behaviour(json_text="Looks fine to me.")] * 2)
    ended = shop.challenge("--diff", "--by", "model")
    assert ended.code == 1
    assert "the model's reply is no valid Review: reply: is no valid JSON" in ended.out + ended.err


def test_only_who_failed_is_asked_again(shop: Shop) -> None:
    stub = shop.stub
    stub.on(lambda request: "You are The Pragmatist" in request.said, Behaviour(status=401))
    stub.on(lambda request: "You are The Pragmatist" not in request.said, says(CLEAN))
    first = shop.challenge("--diff", "--by", "model", "--by", "the-pragmatist", "--json")
    assert (first.code, first.json["complete"]) == (1, False)
    session = first.json["session"]
    stub.reset()
    stub.script(says(FOUND))
    again = shop.challenge("--resume", session, "--json", "--fail-on", "high")
    assert (again.code, again.json["complete"], again.json["session"]) == (3, True, session)
    assert [one["by"] for one in again.json["reviewers"]] == ["model", "the-pragmatist"]
    assert len(stub.requests) == 1
    shown = shop.challenge("--resume", session, "--format", "github")
    assert shown.out.startswith("::error file=shop.py,line=2,")
    assert len(stub.requests) == 1, "what is complete is only shown"
    refused = shop.challenge("--resume", session, "--diff")
    assert (refused.code, "the session knows" in refused.err) == (2, True)


def test_what_was_complete_when_it_was_killed_is_not_asked_again(shop: Shop) -> None:
    shop.stub.on(lambda request: "You are The Pragmatist" in request.said, Behaviour(stall_after=0))
    shop.stub.on(lambda request: "You are The Pragmatist" not in request.said, says(FOUND))

    def sessions() -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = moot("sessions", "--json", env=shop.env, cwd=shop.root).json[
            "sessions"
        ]
        return listed

    process = Popen(
        [*MOOT, "challenge", "--diff", "--by", "model", "--by", "the-pragmatist"],
        env=shop.env,
        cwd=shop.root,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until(lambda: len(shop.stub.requests) == 2)
        until(lambda: sessions()[0]["turns"] == 1)
    finally:
        process.kill()
        process.wait(10)
    shop.stub.reset()
    shop.stub.script(says(CLEAN))
    ended = shop.challenge("--resume", sessions()[0]["id"], "--json", "--fail-on", "high")
    assert (ended.code, ended.json["complete"]) == (3, True), ended.err
    [asked] = shop.stub.requests
    assert "You are The Pragmatist" in asked.said


def test_quotes_that_are_not_there_are_returned_once(shop: Shop) -> None:
    invented = FINDING | {"quote": "return sum(basket)"}
    shop.stub.script(says(FOUND | {"findings": [invented]}), says(FOUND))
    assert shop.challenge("--diff", "--by", "model", "--fail-on", "high").code == 3
    assert "These quotes are not in the diff:\n- shop.py: return sum(basket)" in shop.stub.requests[1].said
    shop.stub.script(*[says(FOUND | {"findings": [invented]})] * 2)
    ended = shop.challenge("--diff", "--by", "model", "--fail-on", "high")
    assert (ended.code, ended.out.splitlines()[0]) == (
        0,
        "APPROVED - Found 0 HIGH, 0 MEDIUM, 0 LOW; 1 more whose quote is not in the diff",
    )


def test_a_patch_comes_from_standard_input(shop: Shop) -> None:
    patch = "--- a/other.py\r\n+++ b/other.py\r\n@@ -7,2 +7,2 @@\r\n x = 1\r\n-y = 1\r\n+y = x / 0\r\n"
    shop.stub.script(says({**FOUND, "findings": [FINDING | {"file": "other.py", "quote": "y = x / 0"}]}))
    ended = shop.challenge("--diff", "-", "--by", "model", "--format", "github", stdin=patch)
    assert ended.code == 0, ended.err
    assert ended.out.startswith("::error file=other.py,line=8,endLine=8,title=High bug (model)::")
    refused = shop.challenge("--diff", "-", "--by", "model", stdin="no patch")
    assert (refused.code, "line 1: there is no diff in it" in refused.err) == (1, True)


def test_annotations_have_the_lines_of_the_files_on_disk(shop: Shop) -> None:
    """With CRLF, after lines that came and went, after a rename, and of what was removed."""
    long = [f"line_{number} = {number}" for number in range(1, 41)]
    (shop.root / "win.py").write_bytes("\r\n".join([*long, ""]).encode())
    (shop.root / "was.py").write_text("\n".join([*long, ""]))
    (shop.root / "gone.py").write_text("first = 1\nlast = 2\n")
    shop.git("add", "-A")
    shop.git("commit", "-qm", "two")
    win = ["import os", "import sys", *long[:20], *long[25:35], "line_36 = 1 / 0", *long[36:]]
    (shop.root / "win.py").write_bytes("\r\n".join([*win, ""]).encode())
    now = ["import os", *long[:9], *long[12:29], "line_30 = 1 / 0", *long[30:]]
    (shop.root / "was.py").unlink()
    (shop.root / "grün.py").write_text("\n".join([*now, ""]))
    (shop.root / "gone.py").unlink()
    quoted = [
        ("win.py", "line_36 = 1 / 0"), ("was.py", "line_30 = 1 / 0"), ("was.py", "line_11 = 11"),
        ("gone.py", "last = 2"),
    ]  # fmt: skip
    findings = [FINDING | {"file": file, "quote": quote, "line": None} for file, quote in quoted]
    shop.stub.script(says(FOUND | {"findings": findings}))
    ended = shop.challenge("--diff", "--by", "model", "--format", "github")
    assert ended.code == 0, ended.err
    places = [line.split(",endLine=")[0].removeprefix("::error ") for line in ended.out.splitlines()[:-1]]
    disk = {name: (shop.root / name).read_bytes().decode().splitlines() for name in ("win.py", "grün.py")}
    # What was removed is shown at the line that follows it now.
    assert places == [
        "file=gone.py,line=2",
        f"file=grün.py,line={disk['grün.py'].index('line_13 = 13') + 1}",
        f"file=grün.py,line={disk['grün.py'].index('line_30 = 1 / 0') + 1}",
        f"file=win.py,line={disk['win.py'].index('line_36 = 1 / 0') + 1}",
    ]
    assert "Removed line 11: " in ended.out


def test_a_diff_is_held_against_a_plan_and_a_plan_is_reviewed_alone(shop: Shop) -> None:
    plan = shop.root.parent / "plan.md"
    plan.write_text("# Plan\n\nSum everything.\n")
    shop.stub.script(says(CLEAN))
    assert shop.challenge("--diff", "--plan", str(plan), "--by", "model").code == 0
    asked = shop.stub.requests[0].said
    assert "<plan>\n# Plan\n\nSum everything.\n\n</plan>" in asked
    assert "a finding of the kind `plan`" in asked
    unclear = FINDING | {"file": "plan.md", "quote": "Sum everything.", "kind": "design", "line": None}
    shop.stub.script(says(FOUND | {"findings": [unclear]}))
    ended = shop.challenge("--plan", "-", "--by", "model", stdin=plan.read_text())
    assert ended.code == 0, ended.err
    assert "F1  High   design  plan.md:3  [blocks]" in ended.out
    assert "You review a plan before anybody builds it" in shop.stub.requests[1].said


def test_sarif_is_one_document(shop: Shop) -> None:
    shop.stub.script(says(FOUND))
    told = shop.challenge("--diff", "main", "--by", "model", "--format", "sarif")
    [result] = told.json["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 2, "endLine": 2}


def test_nothing_is_no_failure(shop: Shop) -> None:
    ended = shop.challenge("--staged", "--by", "model", "--fail-on", "low")
    assert (ended.code, ended.out) == (0, "NOTHING TO REVIEW - There is nothing in what is staged\n")
    told = shop.challenge("--staged", "--format", "sarif").json
    assert told["runs"][0]["results"] == []
    assert shop.stub.requests == []


def test_a_reviewer_that_fails_is_no_pass(shop: Shop) -> None:
    shop.stub.on(lambda request: "You are The Pragmatist" in request.said, Behaviour(status=401))
    shop.stub.on(lambda request: "You are The Pragmatist" not in request.said, says(CLEAN))
    ended = shop.challenge("--diff", "--by", "model", "--by", "the-pragmatist")
    assert ended.code == 1
    assert ended.out.splitlines()[0] == "APPROVED - Nothing found"
    assert "No review by the-pragmatist: " in ended.out


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        ((), 2, "name a change"),
        (("feat", "--format", "sarif"), 2, "is for --diff"),
        (("feat", "--by", "codex", "--by", "model"), 2, "one reviews"),
        (("feat", "--by", "the-pragmatist"), 2, "one reviews"),
        (("--diff", "--revise"), 2, "is for changes: code"),
        (("--diff", "-", "--plan", "-"), 2, "not both"),
        (("--diff", "-", "--staged"), 2, "no part of a patch"),
        (("main", "--plan", "-"), 2, "nothing to compare"),
        (("--diff", "nowhere"), 1, "'nowhere' not found"),
        (("--diff", "--by", "nobody"), 1, "'nobody' not found"),
        (("--diff", "--by", "model", "--by", "model"), 2, "named twice"),
        (("--diff", "--by", "codex"), 1, "no program 'codex'"),
        (("--diff", "--plan", "nowhere.md"), 1, "nowhere.md"),
    ],
)
def test_what_makes_no_sense_is_refused(shop: Shop, arguments: tuple[str, ...], code: int, why: str) -> None:
    shop.env = {**shop.env, "PATH": "/usr/bin:/bin"}
    ended = shop.challenge(*arguments)
    assert (ended.code, why in ended.err) == (code, True), ended.err
    assert shop.stub.requests == []


def test_what_is_left_out_is_said(shop: Shop) -> None:
    (shop.root / ".env").write_text("KEY=1\n")
    shop.stub.script(says(CLEAN))
    ended = shop.challenge("--diff", "--by", "model")
    assert "Left out: .env: private" in ended.out
    assert "KEY=1" not in shop.stub.requests[0].said
    assert ".env: private" in shop.stub.requests[0].said
