"""The tools of a program that reviews a diff: what it has to have read, and what is taken of it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from moot.changes.review_block import Severity
from moot.diffs.desk import DeskFolder, DeskTools
from moot.diffs.findings import Kind, Said
from moot.diffs.patch import parse
from moot.diffs.shapes import FindingGiven, ReviewGiven, in_words, plan_source, sources
from moot.llm.messages import ToolFault, Weight

DIFF = """\
diff --git a/shop.py b/shop.py
--- a/shop.py
+++ b/shop.py
@@ -1,2 +1,2 @@
 a = 1
-b = 2
+b = a / 0
"""
FINDING: dict[str, Any] = {
    "severity": "high",
    "kind": "Bug",
    "file": "shop.py",
    "quote": "b = a / 0",
    "problem": "It divides by zero.",
    "consequence": "Every start crashes.",
}
FOUND = Said(Severity.HIGH, Kind.BUG, "shop.py", "b = a / 0", "It divides by zero.", "Every start crashes.")


class Desk:
    def __init__(self, folder: Path, plan: str = "") -> None:
        self.log: list[str] = []
        (folder / "desk").mkdir()
        (folder / "root").mkdir()
        (folder / "root" / "shop.py").write_text("a = 1\n")
        (folder / "root" / ".env").write_text("KEY=1\n")
        self.folder = DeskFolder(folder / "desk")
        self.folder.lay_out(DIFF, plan)
        self.tools = DeskTools(self.folder, folder / "root", self.log.append)

    def append(self, *findings: dict[str, Any], **more: Any) -> Any:
        return self.tools.append_review([FindingGiven(**one) for one in findings], "It divides.", **more)

    def refused(self, *findings: dict[str, Any]) -> str:
        with pytest.raises(ToolFault) as fault:
            self.append(*findings)
        return str(fault.value)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_a_review_is_taken_of_a_diff_that_was_read(desk: Desk) -> None:
    assert "Read with read_file: diff.patch from line 1" in desk.refused(FINDING)
    assert desk.tools.read_file("diff.patch", limit=3).next_offset == 4
    assert "diff.patch from line 4" in desk.refused(FINDING)
    assert desk.tools.read_file("diff.patch", offset=4).truncated is False
    taken = desk.append(FINDING, rejects=True)
    assert (taken.findings, taken.not_found) == (1, 0)
    delivered = desk.folder.delivered()
    assert delivered is not None
    review = delivered.given.as_review("codex")
    assert (review.by, review.summary, review.said, review.rejects) == (
        "codex",
        "It divides.",
        (FOUND,),
        True,
    )
    assert "there is one already" in desk.refused(FINDING)
    assert desk.log[1] == "read diff.patch, lines 1–3 of 7"
    assert "gave its review: 1 findings" in desk.log


def test_the_plan_has_to_be_read_too(tmp_path: Path) -> None:
    desk = Desk(tmp_path, plan="Divide by one.\n")
    assert [entry.name for entry in desk.tools.list_directory().entries] == ["diff.patch", "plan.md"]
    desk.tools.read_file("diff.patch")
    assert "plan.md from line 1" in desk.refused(FINDING)
    desk.tools.read_file("plan.md")
    assert desk.append(FINDING).findings == 1


def test_quotes_that_are_not_in_the_diff_are_returned_once(desk: Desk) -> None:
    desk.tools.read_file("diff.patch")
    invented = FINDING | {"quote": "c = 3"}
    told = desk.refused(FINDING, invented)
    assert "- shop.py: c = 3\n" in told
    assert "b = a / 0" not in told
    assert desk.folder.delivered() is None
    taken = desk.append(FINDING, invented)
    assert (taken.findings, taken.not_found) == (2, 1)


def test_the_workspace_can_be_read_and_nothing_private(desk: Desk) -> None:
    assert desk.tools.read_file("@/shop.py").text == "1| a = 1"
    assert desk.tools.read_file("diff.patch").text.startswith("diff --git"), (
        "a diff says which lines they are"
    )
    assert [entry.name for entry in desk.tools.list_directory("@").entries] == ["shop.py"]
    for path in ("@/.env", "@/../desk/diff.patch", "review.json", "/etc/passwd", "@/nothing.py", "@x"):
        with pytest.raises(ToolFault):
            desk.tools.read_file(path)
    with pytest.raises(ToolFault, match=r"There is: diff.patch"):
        desk.tools.list_directory("specs")
    assert any(line.startswith("was refused: ") for line in desk.log)


def test_what_was_looked_up_is_kept_with_the_review(desk: Desk) -> None:
    desk.tools.read_file("diff.patch")
    desk.tools.read_file("@/shop.py")
    assert "a = 1" in asyncio.run(desk.tools.search("a =", "@"))
    with pytest.raises(ToolFault):
        asyncio.run(desk.tools.search("KEY", "@/.env"))
    desk.append(FINDING)
    delivered = desk.folder.delivered()
    assert delivered is not None
    assert delivered.looked_at == ("@/shop.py 1–1", "lines with “a =”")


def test_no_review_is_none(desk: Desk) -> None:
    assert desk.folder.delivered() is None


# -- shapes --------------------------------------------------------------------------------------


def test_a_kind_of_ones_own_is_a_bug_and_a_severity_is_not_guessed() -> None:
    assert FindingGiven(**FINDING | {"kind": "race"}).kind == "bug"
    assert FindingGiven(**FINDING | {"kind": 3}).kind == "bug"
    with pytest.raises(ValidationError):
        FindingGiven(**FINDING | {"severity": "Critical"})
    with pytest.raises(ValidationError):
        FindingGiven(**FINDING | {"consequence": ""})


def test_words_come_without_characters_that_act() -> None:
    given = ReviewGiven(findings=[FindingGiven(**FINDING | {"problem": "A\x1b[31m\r"})], summary="S\x07\n")
    review = given.as_review("x")
    assert (review.summary, review.said[0].problem) == ("S", "A[31m")


def test_what_programs_have_made_is_left_out_first() -> None:
    lock = "diff --git a/uv.lock b/uv.lock\n--- a/uv.lock\n+++ b/uv.lock\n@@ -1 +1 @@\n-a\n+b\n"
    found = sources(parse(DIFF + lock))
    assert [(one.name, one.weight) for one in found] == [
        ("the diff of uv.lock", Weight.HELPFUL),
        ("the diff of shop.py", Weight.DEPENDED_ON),
    ]
    assert DIFF.rstrip() in found[1].text
    assert plan_source("Do it.").weight is Weight.NEEDED


def test_what_is_left_out_is_named() -> None:
    assert in_words(()) == ""
    assert in_words((".env: private",)).endswith("\n- .env: private")
