"""A workspace with one change, and the real command in it, under one of its names."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from moot.files.documents import YamlDocument
from tests.stub.script import Behaviour, Recorded
from tests.stub.server import StubServer
from tests.support.command import Ended, environment, path, run

PROPOSAL = """\
# Passkeys

## Summary
People sign in with a passkey.

## Why
Passwords get phished.

## What Changes
- A passkey can be registered in the settings.

## Impact
Nobody has to change anything.
"""

SPEC = """\
# Sign-in

## Overview
How a person signs in.

## Acceptance Criteria

### Scenario: Known passkey
- **WHEN** a person uses a registered passkey
- **THEN** they are signed in
"""

TASKS = "- [ ] Store public keys\n- [ ] Verify a signature\n"

DRAFT: dict[str, Any] = {
    "title": "Passkeys",
    "summary": "People sign in with a passkey. People who lost it get a link.",
    "why": "Passwords get phished.",
    "what_changes": ["A passkey can be registered in the settings."],
    "impact": "Accounts are migrated.",
    "specs": [
        {
            "name": "sign-in",
            "overview": "How a person signs in.",
            "requirements": ["A lost passkey MUST be replaceable."],
            "scenarios": [{"title": "Lost", "when": ["the passkey is lost"], "then": ["a link is sent"]}],
        }
    ],
    "tasks": ["Store public keys", "Send links"],
}

HIGH = {
    "severity": "High",
    "description": "The specification has no scenario for a lost passkey.",
    "location": "specs/sign-in.md",
    "recommendation": "Add one.",
    "quote": "## Summary",
}
MEDIUM = {**HIGH, "severity": "Medium", "description": "Tasks do not mention the migration of accounts."}


def appending(review: Mapping[str, Any]) -> Callable[[Recorded], Behaviour]:
    """A model that appends a review, and says of every open issue that it does not raise again that it is
    fixed."""

    def append(request: Recorded) -> Behaviour:
        raised = {one["description"] for one in review["issues"]}
        left = re.findall(r"^\d+\. (I\d+), \w+: (.*)$", request.said, re.MULTILINE)
        gone = dict.fromkeys(name for name, description in left if description not in raised)
        said = [{"id": name, "state": "fixed", "evidence": "It is there."} for name in gone]
        return Behaviour(tool_calls=(("append_review", {**review, "dispositions": said}),))

    return append


def write_change(folder: Path, phase: str | None = None) -> None:
    """The files of a change that can be reviewed; with a phase, also its STATE.yaml."""
    (folder / "specs").mkdir(parents=True)
    for name, text in {"proposal.md": PROPOSAL, "specs/sign-in.md": SPEC, "tasks.md": TASKS}.items():
        (folder / name).write_text(text, encoding="utf-8")
    if phase is not None:
        state = f"change_id: {folder.name}\nphase: {phase}\nreviews: []\n"
        (folder / "STATE.yaml").write_text(state, encoding="utf-8")


class Change:
    """The change `feat-auth` of a workspace, and the user who works on it."""

    def __init__(self, name: str, folder: Path, stub: StubServer | None = None) -> None:
        self.name = name
        self.root = folder / "project"
        self.path = self.root / name / "changes" / "feat-auth"
        self._stub = stub
        self._settings = folder / "config" / "moot" / "config.toml"
        # Where neither Codex nor Claude Code is: the model reviews, and nobody writes code.
        tools = folder / "bin"
        tools.mkdir()
        (tools / "git").symlink_to("/usr/bin/git")
        self.env = environment(folder, stub, PATH=path(tools))
        write_change(self.path)

    @property
    def stub(self) -> StubServer:
        assert self._stub is not None
        return self._stub

    def write(self, name: str, text: str) -> None:
        (self.path / name).write_text(text, encoding="utf-8")

    def read(self, name: str) -> str:
        return (self.path / name).read_text(encoding="utf-8")

    def repository_says(self, settings: str) -> None:
        (self.root / "moot.toml").write_text(settings, encoding="utf-8")

    def user_says(self, settings: str) -> None:
        self._settings.parent.mkdir(parents=True, exist_ok=True)
        self._settings.write_text(settings, encoding="utf-8")

    @property
    def state(self) -> dict[str, Any]:
        return YamlDocument.load(self.path / "STATE.yaml")

    def command(self, *arguments: str) -> list[str]:
        return [str(Path(sys.executable).parent / self.name), *arguments]

    def run(self, *arguments: str) -> Ended:
        return run(self.command(*arguments), self.env, self.root)

    def reviewer_says(self, verdict: str, *issues: dict[str, str], summary: str = "Read it all.") -> None:
        """A model that reads and appends a review: with that it is done."""
        review = {"verdict": verdict, "issues": list(issues), "summary": summary}
        specs = sorted(path.name for path in (self.path / "specs").iterdir())
        files = ("proposal.md", *(f"specs/{name}" for name in specs), "tasks.md")
        self.stub.script(
            Behaviour(tool_calls=tuple(("read_file", {"path": name}) for name in files)),
            appending(review),
        )

    def drafter_says(self, **fields: Any) -> None:
        """A model that answers with a whole draft."""
        self.stub.script(Behaviour(json_text=json.dumps(DRAFT | fields)))
