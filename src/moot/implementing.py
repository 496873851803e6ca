"""An approved change is built: task by task, by a coding agent, with a test command after each.

Whether a task is done is not for the agent to say: something must have changed, and the tests must pass. The
boxes in tasks.md are where that is kept, so that the next run goes on with the first that is open.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from moot.changes import Changes, Tell
from moot.errors import MootError, ReviewerMissing, UncommittedWork
from moot.flows.change import Move, Phase, moved
from moot.prompting import change as prompts
from moot.reviewers.coding import Coder, Order, find_coder
from moot.reviewers.process import run
from moot.texts import tasks
from moot.texts.tasks import Task
from moot.workspace import git, survey
from moot.workspace.change_state import Call
from moot.workspace.changes import ChangeFolder
from moot.workspace.claim import claimed

if TYPE_CHECKING:
    from moot.config import Settings


@dataclass(frozen=True, slots=True)
class Built:
    """What came of it. `problem` says why it stopped; `handover` is for whoever does it instead."""

    phase: Phase
    done: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    problem: str = ""
    handover: str = ""


class Implementing:
    def __init__(
        self, changes: Changes, *, agent: str = "auto", test: str = "", commit: bool = False
    ) -> None:
        self._changes = changes
        self._moot = changes.moot
        self._agent = agent
        self._test = test or self._settings.implement.test
        self._commit = commit

    @property
    def _settings(self) -> Settings:
        return self._moot.config.both

    async def implement(self, change_id: str, tell: Tell) -> Built:
        folder = self._changes.folders.open(change_id)
        with claimed(folder.path, "implemented"):
            phase = moved(Phase(folder.state().phase), Move.IMPLEMENT)
            if not any(not task.done for task in _tasks(folder)):
                return self._finished(folder)
            coder = self._coder()
            if coder is None:
                text = prompts.handover(folder.id, self._place(folder), _tasks(folder), self._test)
                return Built(Phase(folder.state().phase), left=_open(folder), handover=text)
            if self._commit and git.changed(self._moot.workspace.root):
                raise UncommittedWork("--commit would take work along that is not part of the change")
            folder.update_state(lambda data: data.update(phase=str(phase), last_action="implement"))
            return await self._carried_out(folder, coder, tell)

    async def _carried_out(self, folder: ChangeFolder, coder: Coder, tell: Tell) -> Built:
        done: list[str] = []
        while (number := _first_open(_tasks(folder))) is not None:
            task = _tasks(folder)[number - 1]
            tell(f"{coder.name} does task {number}: {task.text}")
            problem = await self._one(folder, coder, number, tell)
            if problem:
                return Built(Phase.IMPLEMENTING, tuple(done), _open(folder), problem)
            _ticked(folder, task)
            if self._commit:
                git.commit(self._moot.workspace.root, f"{task.text}\n\nChange: {folder.id}")
            done.append(task.text)
        return self._finished(folder, tuple(done))

    async def _one(self, folder: ChangeFolder, coder: Coder, number: int, tell: Tell) -> str:
        """Why the task is not done; nothing if it is."""
        root, timeout = self._moot.workspace.root, self._settings.workflow.timeout_secs
        text = prompts.task(folder.id, self._place(folder), _tasks(folder), number, self._test)
        before = _fingerprint(root)
        try:
            worked = await coder.work(Order(text, root, timeout), tell)
        except MootError as failed:
            folder.record_call(Call("implement", coder.name, outcome=type(failed).__name__))
            return str(failed)
        changed = _fingerprint(root) != before
        folder.record_call(
            Call(
                "implement",
                worked.model,
                worked.tokens_in,
                worked.tokens_out,
                worked.cost_usd,
                worked.duration_ms,
                "ok" if changed else "changed nothing",
            )
        )
        if not changed:
            return f"{coder.name} changed nothing, and said: {worked.said.strip() or '(nothing)'}"
        if not self._test:
            return ""
        tell(f"runs {self._test}")
        ended = await run(
            "the test command",
            ("/bin/sh", "-c", self._test),
            text="",
            cwd=root,
            env=self._moot.env,
            timeout=timeout,
            hear=lambda _: None,
        )
        return f"`{self._test}` ended with {ended.code}:\n{ended.last_words}" if ended.code else ""

    def _finished(self, folder: ChangeFolder, done: tuple[str, ...] = ()) -> Built:
        phase = moved(moved(Phase(folder.state().phase), Move.IMPLEMENT), Move.FINISH)
        folder.update_state(lambda data: data.update(phase=str(phase), last_action="implement"))
        return Built(phase, done or tuple(task.text for task in _tasks(folder)))

    def _coder(self) -> Coder | None:
        settings = self._settings.implement
        wanted = settings.agent if self._agent == "auto" else self._agent
        names = ("command", "codex", "claude") if wanted == "auto" else (wanted,)
        found = (find_coder(name, settings.command, self._moot.env) for name in names)
        coder = next((one for one in found if one is not None), None)
        if coder is None and wanted != "auto":
            why = (
                "[implement] command is not set" if wanted == "command" else f"there is no program '{wanted}'"
            )
            raise ReviewerMissing(wanted, why)
        return coder

    def _place(self, folder: ChangeFolder) -> str:
        return folder.path.relative_to(self._moot.workspace.root).as_posix()


def _tasks(folder: ChangeFolder) -> tuple[Task, ...]:
    return tasks.tasks(folder.tasks() or "")


def _first_open(boxes: tuple[Task, ...]) -> int | None:
    return next((number for number, task in enumerate(boxes, start=1) if not task.done), None)


def _open(folder: ChangeFolder) -> tuple[str, ...]:
    return tuple(task.text for task in _tasks(folder) if not task.done)


def _ticked(folder: ChangeFolder, task: Task) -> None:
    """By its words: an agent may have moved it, or ticked it itself."""
    same = [one for one in _tasks(folder) if one.text == task.text and not one.done]
    if same:
        folder.write_tasks(tasks.tick(folder.tasks() or "", same[0].line))


def _fingerprint(root: Path) -> Mapping[str, tuple[int, int]]:
    """What tells whether anything was changed."""
    marks: dict[str, tuple[int, int]] = {}
    for name in survey.look(root).files:
        try:
            status = (root / name).stat()
        except OSError:
            continue
        marks[name] = (status.st_mtime_ns, status.st_size)
    return marks
