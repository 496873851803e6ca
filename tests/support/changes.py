"""Commands on changes in this process: a scripted model, a reviewer and a coder that do as they are told."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from moot.agents import Job, Order, Outcome, Progress
from moot.app import Moot, Options, opened
from moot.changes import history, rounds, state_file
from moot.changes.folder import ChangeFolder, ChangeFolders
from moot.changes.review_block import Review
from moot.changes.review_shapes import DispositionGiven, IssueGiven, PointGiven, VerdictGiven
from moot.changes.review_tools import ReviewTools
from moot.diffs.desk import Delivered, DeskFolder
from moot.diffs.shapes import ReviewGiven
from moot.files import atomic, timestamps
from moot.files.layout import Workspace
from moot.llm.messages import Tokens
from moot.llm.metering import UNMETERED
from moot.llm.model import Model
from moot.llm.names import ModelName
from moot.llm.prices import FREE
from moot.store.database import sqlite_url
from tests.stub.server import StubServer
from tests.support.change import DRAFT
from tests.support.scripted import Line, ScriptedProvider

MODEL = "anthropic:claude-sonnet-5-5"
STAMP = "2026-01-02T03:04:05Z"


def silent(_: str) -> None:
    """Nobody listens."""


class QuickDisk(atomic.Disk):
    """Nothing is synced: what a process has written, the system has, also when the process is killed."""

    def fsync(self, handle: int) -> None:
        del handle

    def fsync_dir(self, folder: Path) -> None:
        del folder


@asynccontextmanager
async def at_work(root: Path, lines: Iterable[Line] = (), settings: str = "") -> AsyncIterator[Moot]:
    """moot in a workspace, whose model says these lines, and whose user has these settings."""
    async with opened(Options(workspace=root), env={"PATH": "/usr/bin:/bin"}) as moot:
        model = Model(ModelName("openai", "scripted"), ScriptedProvider(lines), pricing=FREE)

        async def chosen(_: object) -> Model:
            return model

        config = root.parent / f"{root.name}.config.toml"
        if settings:
            config.write_text(settings, encoding="utf-8")
        vars(moot).update(
            gateway=SimpleNamespace(model=chosen, named=lambda _: model, pricing=lambda _: FREE)
        )
        vars(moot).update(meter=UNMETERED)
        vars(moot).update(user_config_file=config)
        yield moot


@asynccontextmanager
async def at_the_stub(stub: StubServer, root: Path, settings: str = "") -> AsyncIterator[Moot]:
    """moot in a workspace, whose model is the stub, with all that stands between the two."""
    env = {"PATH": "/usr/bin:/bin", "ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": stub.anthropic_base_url}
    options = Options(workspace=root, model=MODEL, database=sqlite_url(root.parent / "moot.db"))
    config = root.parent / "config.toml"
    config.write_text(settings, encoding="utf-8")
    async with opened(options, env) as moot:
        vars(moot).update(user_config_file=config)
        yield moot


def reviewed(folder: ChangeFolder, review: Review, engine: str = "codex") -> str:
    """A review of the change as it is, made in a run that is over; its block."""
    block = folder.append_review(review, folder.begin_run(engine, "gpt"))
    folder.update_state(state_file.end_run)
    return block


def drafted(**fields: Any) -> str:
    return json.dumps(DRAFT | fields)


@dataclass
class FakeReviewer:
    """Stands in for Codex: appends one review through the tools; the plan covers the whole design."""

    verdict: VerdictGiven = "APPROVED"
    issues: tuple[IssueGiven, ...] = ()
    summary: str = "Read it all."
    asked: Callable[[Job], None] = lambda _: None
    name: str = "codex"

    async def review(self, job: Job, progress: Progress) -> Outcome:
        del progress
        self.asked(job)
        folder = ChangeFolders(Workspace.at(job.root)).open(job.change_id)
        tools = ReviewTools(folder, job.root, timestamps.now, silent, job.run)
        tools.give()
        found = history.points_of(folder)
        covered = [PointGiven(point=one.id, state="covered", where="proposal.md") for one in found]
        raised = {one.description for one in self.issues}
        gone = [
            DispositionGiven(id=name, state="fixed", evidence="proposal.md")
            for name, issue in rounds.history(folder).left.items()
            if issue.description not in raised
        ]
        tools.append_review(self.verdict, list(self.issues), self.summary, covered, gone)
        return Outcome("gpt", "Done.", 7, Tokens(10, 5), 0.25, "11111111-2222-3333-4444-555555555555")

    def found(self, name: str, env: object, pass_env: object = ()) -> FakeReviewer | None:
        """In place of `find`: it is the one program on the machine."""
        del env, pass_env
        return self if name == self.name else None


@dataclass
class FakeCoder:
    """Does with an order what a function says; what that returns is what it says."""

    does: Callable[[Order], str]
    name: str = "fake"

    async def work(self, order: Order, progress: Progress) -> Outcome:
        del progress
        return Outcome("fake-1", self.does(order), 7, Tokens(10, 5), 0.5)

    def found(self, name: str, command: object, env: object, pass_env: object = ()) -> FakeCoder | None:
        """In place of `find_coder`."""
        del command, env, pass_env
        return self if name == "command" else None


@dataclass
class DiffReviewer:
    """Stands in for a program that reviews diffs: gives one review after another, or fails."""

    gives: list[ReviewGiven | Exception]
    name: str = "claude"
    plans: list[str] = field(default_factory=list)
    diffs: list[str] = field(default_factory=list)

    async def review(self, job: Job, _progress: Any) -> Outcome:
        desk = DeskFolder(Path(job.mcp_command[-1]))
        texts = desk.texts()
        self.plans.append(texts["plan.md"])
        self.diffs.append(texts["diff.patch"])
        given = self.gives.pop(0)
        if isinstance(given, Exception):
            raise given
        desk.take(Delivered(given=given))
        return Outcome("m-1", "Done.", 100, Tokens(1000, 10), 0.25, "s-1")

    def found(self, name: str, env: object, pass_env: object = ()) -> DiffReviewer | None:
        """In place of `find`."""
        del env, pass_env
        return self if name == self.name else None
