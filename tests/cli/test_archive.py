"""`moot archive`: what a built change specifies is merged, or it is said why not."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.change import SPEC, Change

MODIFIES = SPEC.replace(
    "## Acceptance", "## Modified Requirements\n\n### Rate limit\n\nTwenty.\n\n## Acceptance"
)


def is_complete(change: Change) -> None:
    change.write("STATE.yaml", "phase: complete\nreviews: []\n")


def test_what_was_merged_is_said(tmp_path: Path) -> None:
    change = Change("moot", tmp_path)
    is_complete(change)
    ended = change.run("archive", "feat-auth", "--json")
    assert ended.code == 0, ended.err
    told = json.loads(ended.out)
    assert told["merged"] == ["merged into moot/specs/sign-in.md: 1 added"]
    assert (change.root / "moot" / "specs" / "sign-in.md").is_file()
    assert (change.root / told["archived"]).is_dir()


def test_a_conflict_is_named_and_nothing_is_merged(tmp_path: Path) -> None:
    change = Change("moot", tmp_path)
    is_complete(change)
    change.write("specs/sign-in.md", MODIFIES)
    ended = change.run("archive", "feat-auth")
    assert (ended.code, ended.out) == (1, "")
    assert "specs/sign-in.md:8: the requirement 'Rate limit' is to be modified" in ended.err
    assert "Reopen the change" in ended.err
    assert change.path.is_dir()
    assert not (change.root / "moot" / "specs").exists()


def test_a_contradiction_is_found_without_a_model(tmp_path: Path) -> None:
    change = Change("moot", tmp_path)
    change.write("specs/sign-in.md", MODIFIES)
    ended = change.run("validate-proposal", "feat-auth")
    assert ended.code == 1
    assert "specs/sign-in.md:8: error: the requirement 'Rate limit' is to be modified" in ended.out
