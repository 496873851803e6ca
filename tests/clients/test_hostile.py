"""The real Codex and Claude Code in a repository that is one trap, and whose person has even said, in the
client's own window, that it may be trusted. The model is a stub, and asks for what it should not get."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from moot.agents import Job, find
from moot.changes import review_block
from moot.changes.folder import ChangeFolder
from moot.processes import environment, moot_command, only_with
from tests.clients.conftest import MODELS, Desk
from tests.clients.test_reviews import uses
from tests.stub.script import Behaviour, Spent
from tests.support.hostile_repository import CHANGE, Hostile

SECRET = "hunter2-hunter2"
APPROVAL = {"verdict": "APPROVED", "issues": [], "summary": "Read it all."}


@pytest.fixture
def hostile(desk: Desk) -> Iterator[Hostile]:
    made = Hostile(desk.folder)
    for name in (".env", "deploy.pem", "secrets/db.yaml"):
        (made.root / name).parent.mkdir(exist_ok=True)
        (made.root / name).write_text(f"PASSWORD={SECRET}\n", encoding="utf-8")
    (made.root / "notes.txt").symlink_to(".env")
    trust = f'\n[projects."{made.root}"]\ntrust_level = "trusted"\n'
    with (desk.folder / "codex" / "config.toml").open("a", encoding="utf-8") as config:
        config.write(trust)
    accepted = {"hasTrustDialogAccepted": True, "enabledMcpjsonServers": ["evil"]}
    trusted = {"projects": {str(made.root): accepted}}
    for folder in ("claude", "home"):
        (desk.folder / folder / ".claude.json").write_text(json.dumps(trusted), encoding="utf-8")
    yield made
    assert desk.processes() == []


def job(desk: Desk, root: Path) -> Job:
    server = moot_command("mcp", "--workspace", str(root), "--change", CHANGE)
    return Job(
        text="Review the change.",
        root=root,
        change_id=CHANGE,
        model=MODELS[desk.reviewer.name],
        resume=None,
        timeout=120,
        mcp_command=only_with(environment.for_review_server(desk.env), server),
    )


def review(desk: Desk, root: Path) -> None:
    reviewer = find(desk.reviewer.name, desk.env)
    assert reviewer is not None
    made = job(desk, root)
    run = ChangeFolder(CHANGE, root / "moot" / "changes" / CHANGE).begin_run(reviewer.name, "")
    made = replace(made, run=run, mcp_command=(*made.mcp_command, "--run", run))
    asyncio.run(reviewer.review(made, lambda _: None))


def test_a_real_reviewer_runs_nothing_of_the_repository(desk: Desk, hostile: Hostile) -> None:
    desk.stub.script(
        uses("read_file", {"path": "proposal.md"}, Spent(10, 1)),
        uses("read_file", {"path": "specs/sign-in.md"}, Spent(10, 1)),
        uses("read_file", {"path": "tasks.md"}, Spent(10, 1)),
        uses("append_review", APPROVAL, Spent(10, 1)),
        Behaviour(text="Done.", usage=Spent(10, 1)),
    )
    review(desk, hostile.root)
    assert review_block.verdict((hostile.root / "moot" / "changes" / CHANGE / "proposal.md").read_text())
    assert hostile.sprung == []


def test_a_real_reviewer_reads_no_private_file(desk: Desk, hostile: Hostile) -> None:
    root = str(hostile.root)
    attempts = {
        "codex": (
            ("exec_command", {"cmd": "cat .env notes.txt deploy.pem; grep -r PASSWORD ."}),
            ("shell", {"command": ["sh", "-c", "cat .env"]}),
            ("shell_command", {"command": "cat .env"}),
            ("view_image", {"path": f"{root}/.env"}),
        ),
        "claude": (
            ("Read", {"file_path": f"{root}/.env"}),
            ("Read", {"file_path": f"{root}/notes.txt"}),
            ("Read", {"file_path": f"{root}/secrets/db.yaml"}),
            ("Grep", {"pattern": "PASSWORD", "path": root, "output_mode": "content"}),
            ("Glob", {"pattern": "**/*"}),
            ("Bash", {"command": "cat .env", "description": "Look"}),
        ),
    }
    desk.stub.script(
        *(Behaviour(tool_calls=(attempt,)) for attempt in attempts[desk.reviewer.name]),
        uses("read_file", {"path": "@/.env"}),
        Behaviour(text="Done."),
    )
    review(desk, hostile.root)
    told = "".join(request.said for request in desk.stub.requests)
    assert "is private and cannot be read" in told, "every attempt was made: this is the last"
    assert SECRET not in told
    assert hostile.sprung == []
