"""An approved change is built: task by task, by a coding agent, with a test command after each.

Whether a task is done is not for the agent to say: something must have changed, and the tests must pass. The
boxes in tasks.md are where that is kept, so that the next run goes on with the first that is open.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from moot.changes import Changes, Tell
from moot.errors import AgentMissing, FileDamaged, GitRefused, MootError, UncommittedWork
from moot.flows.change import Move, Phase, moved
from moot.gateway.metering import charging
from moot.masking import mask
from moot.metered_programs import MeteredCoder
from moot.processes import environment
from moot.prompting import change as prompts
from moot.reviewers.coding import Coder, Order, find_coder
from moot.reviewers.process import Ended, run
from moot.texts import markdown, tasks
from moot.texts.tasks import Task
from moot.workspace import survey
from moot.workspace.change_state import Call
from moot.workspace.changes import TASKS, ChangeFolder
from moot.workspace.claim import claimed

if TYPE_CHECKING:
    from moot.config import Settings

MARKS = (".claim.json", ".*.moot-lock", ".*.moot-new")
"""Files that are there only while something is written, or somebody is at work."""
_TICKED = re.compile(r"\[[xX]\]")


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
        with claimed(folder.path, "implemented"), charging(self._changes.account(change_id)):
            self._changes.settle(folder, tell)
            phase = moved(Phase(folder.state().phase), Move.IMPLEMENT)
            if not _tasks(folder):
                raise FileDamaged(str(folder.path / TASKS), "there is no task in it")
            if not _open(folder):
                return self._finished(folder)
            coder = self._coder()
            if coder is None:
                text = prompts.handover(folder.id, self._place(folder), _tasks(folder), self._test)
                return Built(Phase(folder.state().phase), left=_open(folder), handover=text)
            if self._commit:
                await self._can_commit(folder)
            folder.update_state(lambda data: data.update(phase=str(phase), last_action="implement"))
            return await self._carried_out(folder, coder, tell)

    async def _carried_out(self, folder: ChangeFolder, coder: Coder, tell: Tell) -> Built:
        done: list[str] = []
        while (number := _first_open(_tasks(folder))) is not None:
            task = _tasks(folder)[number - 1]
            tell(f"{coder.name} does task {number}: {task.text}")
            reviewed = folder.proposal() or ""
            try:
                problem = await self._one(folder, coder, number, tell)
            finally:
                if left := folder.bring_back_reviews(reviewed):
                    tell(f"reviews were changed or lost, and are back; the text without them is in {left}")
            if problem:
                return Built(Phase.IMPLEMENTING, tuple(done), _open(folder), problem)
            _tick(folder, task)
            done.append(task.text)
            if not _open(folder):
                # Before the last commit, so that it takes along where the change stands.
                self._finished(folder)
            if self._commit:
                await self._committed(f"{task.text}\n\nChange: {folder.id}")
        return Built(Phase(folder.state().phase), tuple(done))

    async def _one(self, folder: ChangeFolder, coder: Coder, number: int, tell: Tell) -> str:
        """Why the task is not done; nothing if it is."""
        root, timeout = self._moot.workspace.root, self._settings.workflow.timeout_secs
        boxes = _tasks(folder)
        text = prompts.task(folder.id, self._place(folder), boxes, number, self._test)
        before = _fingerprint(root)
        began = time.monotonic()
        try:
            worked = await coder.work(Order(text, root, timeout), tell)
        except (MootError, asyncio.CancelledError) as failed:
            took = round((time.monotonic() - began) * 1000)
            interrupted = isinstance(failed, asyncio.CancelledError)
            kind = "interrupted" if interrupted else type(failed).__name__
            folder.record_call(Call("implement", coder.name, duration_ms=took, outcome=kind))
            if interrupted:
                raise
            return str(failed)
        finally:
            _reopen(folder, boxes)
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
            said = worked.said.strip() or "(nothing)"
            return f"{coder.name} changed nothing, and said: {said}\nIf the task is done, tick its box."
        if boxes[number - 1].text not in _open(folder):
            return f"{coder.name} has taken the task out of {TASKS}"
        return await self._tested(tell)

    async def _tested(self, tell: Tell) -> str:
        """What is wrong; nothing if all is well, or there is no test."""
        if not self._test:
            return ""
        tell(f"runs {self._test}")
        try:
            ended = await self._run("the test command", ("/bin/sh", "-c", self._test))
        except MootError as failed:
            return str(failed)
        if not ended.code:
            return ""
        return f"`{self._test}` ended with {ended.code}:\n{mask(ended.last_words) or '(it said nothing)'}"

    # -- git ---------------------------------------------------------------------------------

    async def _can_commit(self, folder: ChangeFolder) -> None:
        """Asked before anybody is paid for work that could not be committed."""
        if await self._changed(f":!{self._place(folder)}"):
            raise UncommittedWork("--commit would take work along that is not part of the change")
        await self._git("var", "GIT_AUTHOR_IDENT")
        await self._git("var", "GIT_COMMITTER_IDENT")

    async def _committed(self, message: str) -> None:
        """Everything but the marks of this very run, which are gone when it ends."""
        marks = [f":(top,exclude,glob)**/{mark}" for mark in MARKS]
        if await self._changed(*marks):
            await self._git("add", "--all", "--", ":/", *marks)
            await self._git("commit", "--quiet", "--message", message)

    async def _changed(self, *excluded: str) -> bool:
        """Whether anything else is not committed."""
        every = ("status", "--porcelain", "--untracked-files=all", "--", ":/")
        return bool(await self._git(*every, *excluded))

    async def _git(self, *arguments: str) -> str:
        """What git says. Its settings count, as they would for the person who asked for the commit."""
        ended = await self._run("git", ("git", *arguments))
        if ended.code:
            raise GitRefused(ended.last_words or f"git {arguments[0]} failed")
        return ended.last_words

    async def _run(self, name: str, command: tuple[str, ...]) -> Ended:
        return await run(
            name,
            command,
            text="",
            cwd=self._moot.workspace.root,
            env=environment.for_own_program(self._moot.env, self._moot.config.user.implement.test_pass_env),
            timeout=self._settings.workflow.timeout_secs,
            hear=lambda _: None,
        )

    # -- around it ---------------------------------------------------------------------------

    def _finished(self, folder: ChangeFolder) -> Built:
        phase = moved(moved(Phase(folder.state().phase), Move.IMPLEMENT), Move.FINISH)
        folder.update_state(lambda data: data.update(phase=str(phase), last_action="implement"))
        return Built(phase, tuple(task.text for task in _tasks(folder)))

    def _coder(self) -> Coder | None:
        settings = self._settings.implement
        wanted = settings.agent if self._agent == "auto" else self._agent
        names = ("command", "codex", "claude") if wanted == "auto" else (wanted,)
        passed = self._moot.config.user.implement.pass_env
        found = (find_coder(name, settings.command, self._moot.env, passed) for name in names)
        coder = next((one for one in found if one is not None), None)
        if coder is None and wanted != "auto":
            why = (
                "[implement] command is not set in your configuration"
                if wanted == "command"
                else f"there is no program '{wanted}' on this machine"
            )
            raise AgentMissing(wanted, why)
        return None if coder is None else MeteredCoder(coder, self._moot)

    def _place(self, folder: ChangeFolder) -> str:
        return folder.path.relative_to(self._moot.workspace.root).as_posix()


def _tasks(folder: ChangeFolder) -> tuple[Task, ...]:
    return tasks.tasks(folder.tasks() or "")


def _first_open(boxes: tuple[Task, ...]) -> int | None:
    return next((number for number, task in enumerate(boxes, start=1) if not task.done), None)


def _open(folder: ChangeFolder) -> tuple[str, ...]:
    return tuple(task.text for task in _tasks(folder) if not task.done)


def _tick(folder: ChangeFolder, task: Task) -> None:
    """By its words: what stands above it may have changed."""
    same = [one for one in _tasks(folder) if one.text == task.text and not one.done]
    folder.write_tasks(tasks.tick(folder.tasks() or "", same[0].line))


def _reopen(folder: ChangeFolder, before: Sequence[Task]) -> None:
    """Takes back the ticks that an agent has made: it has been asked not to, and is not the judge of them."""
    missing = Counter(task.text for task in before if not task.done) - Counter(_open(folder))
    text = folder.tasks() or ""
    starts = markdown.parse(text).starts
    for task in reversed(tasks.tasks(text)):
        ticked = _TICKED.search(text, starts[task.line - 1]) if task.done else None
        if ticked and missing[task.text] > 0:
            missing[task.text] -= 1
            text = f"{text[: ticked.start()]}[ ]{text[ticked.end() :]}"
    if text != (folder.tasks() or ""):
        folder.write_tasks(text)


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
