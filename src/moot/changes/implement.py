"""An approved change is built: task by task, by a coding agent, with a test command after each.

What is built is exactly what was approved: that is looked up before every task, and whatever an agent does to
the change's own folder is undone. Whether a task is done is not for the agent to say: something must have
changed, and the tests must pass. The boxes in tasks.md are where that is kept, so that the next run goes on
with the first that is open.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from moot.agents import Coder, Order, find_coder
from moot.agents.process import Ended, run
from moot.changes import approval, history, prompts, state_file, tasks
from moot.changes.folder import TASKS, ChangeFolder
from moot.changes.metered_agents import recording_failure, run_metered
from moot.changes.phases import Move, Phase, moved
from moot.changes.prompts import Known
from moot.changes.service import Changes, Tell
from moot.changes.state_file import Call, Worked
from moot.changes.tasks import Task
from moot.errors import AgentMissing, FileDamaged, GitRefused, MootError, UncommittedWork
from moot.files.frozen import MARKS
from moot.files.lock import claimed_in_time
from moot.llm.messages import Source
from moot.llm.metering import charging
from moot.llm.names import ModelName
from moot.processes import environment
from moot.repo import git, listing
from moot.text.masking import mask

if TYPE_CHECKING:
    from moot.config import Settings

_LONGEST_SAID = 600
"""Characters of what an agent says, on the screen."""
NOTHING_TESTED = (
    "NOTHING IS TESTED: there is no test command, so that all there is to show that a task is done is that "
    "files have changed. Give one with --test, or keep it as `test` under [implement] in your settings"
)


@dataclass(frozen=True, slots=True)
class BuildResult:
    """What came of it. `problem` says why it stopped; `handover` is for whoever does it instead."""

    phase: Phase
    done: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    problem: str = ""
    handover: str = ""
    failed_task: int = 0
    """The number of the task that `problem` is about, from 1."""
    before_task: str = ""
    """What git calls the workspace as it was before that task."""
    untested: bool = False
    """Whether something was built, and no command has shown that it works."""


@dataclass(frozen=True, slots=True)
class Retry:
    """What an attempt knows of those before it: which task failed, and with what, and which are left out."""

    task: int = 0
    failed_with: str = ""
    skipped: tuple[int, ...] = ()


class Implementing:
    def __init__(
        self,
        changes: Changes,
        *,
        agent: str = "auto",
        test: str = "",
        commit: bool = False,
        retry: Retry | None = None,
        also: tuple[Source, ...] = (),
    ) -> None:
        """`also` is what the agent is to know besides what is in the change's files."""
        self._changes = changes
        self._moot = changes.moot
        self._agent = agent
        self._test = test or self._settings.implement.test
        self._commit = commit
        self._retry = retry
        self._also = also

    @property
    def _settings(self) -> Settings:
        return self._moot.config.both

    async def implement(self, change_id: str, tell: Tell) -> BuildResult:
        folder = self._changes.folders.open(change_id)
        async with claimed_in_time(folder.path, "implemented", tell):
            with charging(self._changes.account(change_id)):
                return await self._implement(folder, tell)

    async def _implement(self, folder: ChangeFolder, tell: Tell) -> BuildResult:
        self._changes.settle(folder, tell)
        phase = moved(folder.state().phase, Move.IMPLEMENT)
        self._check(folder)
        if not _tasks(folder):
            raise FileDamaged(str(folder.path / TASKS), "there is no task in it")
        if not _open(folder):
            return self._finish(folder)
        if self._next_task(folder) is None:
            return BuildResult(folder.state().phase, left=_open(folder))
        coder = await self._choose_coder(tell)
        if coder is None:
            known = self._known(folder)
            text = prompts.handover(folder.id, self._place(folder), _tasks(folder), self._test, known)
            return BuildResult(folder.state().phase, left=_open(folder), handover=text)
        if not self._test:
            tell(NOTHING_TESTED)
        if self._commit:
            await self._check_can_commit(folder)
        folder.update_state(lambda data: data.update(phase=str(phase), last_action="implement"))
        return await self._run_tasks(folder, coder, tell)

    def _check(self, folder: ChangeFolder) -> None:
        """Raises what is wrong: nobody has approved these very texts, or they could not have been."""
        approval.check(folder)
        self._changes.check(folder)

    async def _run_tasks(self, folder: ChangeFolder, coder: Coder, tell: Tell) -> BuildResult:
        done: list[str] = []
        while (number := self._next_task(folder)) is not None:
            task = _tasks(folder)[number - 1]
            tell(f"{coder.name} does task {number}: {task.text}")
            before = await self._take_snapshot()
            problem = await self._run_task(folder, coder, number, tell)
            if problem:
                left = _open(folder)
                return BuildResult(
                    Phase.IMPLEMENTING,
                    tuple(done),
                    left,
                    problem,
                    failed_task=number,
                    before_task=before,
                    untested=bool(done) and not self._test,
                )
            self._check(folder)
            folder.write_tasks(tasks.tick(folder.tasks() or "", task.line))
            done.append(task.text)
            if not _open(folder):
                # Before the last commit, so that it takes along where the change stands.
                self._finish(folder)
            if self._commit:
                await self._commit_all(f"{task.text}\n\nChange: {folder.id}")
        return BuildResult(folder.state().phase, tuple(done), _open(folder), untested=not self._test)

    def _next_task(self, folder: ChangeFolder) -> int | None:
        """The first open task that is not left out."""
        skipped = self._retry.skipped if self._retry else ()
        boxes = enumerate(_tasks(folder), start=1)
        return next((number for number, task in boxes if not task.done and number not in skipped), None)

    async def _take_snapshot(self) -> str:
        """Kept only for those who may want to go it."""
        if self._retry is None:
            return ""
        return await asyncio.to_thread(git.snapshot, self._moot.workspace.root) or ""

    @contextmanager
    def _protect(self, folder: ChangeFolder, tell: Tell) -> Iterator[None]:
        """Whatever others do to the change's own folder meanwhile is undone, and said."""
        before = folder.freeze()
        try:
            yield
        finally:
            undone, kept = folder.bring_back(before)
            if undone:
                where = f"; what was written there is in {kept}" if kept else ""
                tell(f"the change's own files are not for the agent to change, and are back{where}:")
                for name in undone:
                    tell(f"  {name}")

    async def _run_task(self, folder: ChangeFolder, coder: Coder, number: int, tell: Tell) -> str:
        """Why the task is not done; nothing if it is. Either way, later tasks and attempts know of it."""
        said, problem = await self._attempt(folder, coder, number, tell)
        worked = Worked(_tasks(folder)[number - 1].text, mask(said), mask(problem))
        folder.update_state(lambda data: state_file.note_work(data, worked))
        return problem

    async def _attempt(self, folder: ChangeFolder, coder: Coder, number: int, tell: Tell) -> tuple[str, str]:
        """What the agent said, and why the task is not done."""
        root, timeout = self._moot.workspace.root, self._settings.workflow.timeout_secs
        task = _tasks(folder)[number - 1].text
        failed_with = history.failure_of(folder, task)
        if self._retry and self._retry.task == number:
            failed_with = self._retry.failed_with
        place, known = self._place(folder), self._known(folder)
        text = prompts.task(folder.id, place, _tasks(folder), number, self._test, failed_with, known)
        before = self._marks(folder)
        try:
            with recording_failure(folder, "implement", coder.name), self._protect(folder, tell):
                name, order = ModelName(coder.name, ""), Order(text, root, timeout)
                worked = await run_metered(self._moot, name, text, lambda: coder.work(order, tell))
        except MootError as failed:
            return "", str(failed)
        said = worked.said.strip()
        if said:
            tell(f"{coder.name} says: {_shown(mask(said))}")
        changed = self._marks(folder) != before
        outcome = "ok" if changed else "changed nothing"
        used, cost, took = worked.usage, worked.cost_usd, worked.duration_ms
        folder.record_call(Call.of("implement", worked.model, used, cost, took, outcome))
        if not changed:
            words = f"{coder.name} changed nothing, and said: {said or '(nothing)'}"
            return said, f"{words}\nIf the task is done, tick its box."
        with self._protect(folder, tell):
            return said, await self._run_tests(tell)

    async def _run_tests(self, tell: Tell) -> str:
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

    async def _check_can_commit(self, folder: ChangeFolder) -> None:
        """Asked before anybody is paid for work that could not be committed."""
        if await self._has_changes(f":!{self._place(folder)}"):
            raise UncommittedWork("--commit would take work along that is not part of the change")
        await self._git("var", "GIT_AUTHOR_IDENT")
        await self._git("var", "GIT_COMMITTER_IDENT")

    async def _commit_all(self, message: str) -> None:
        """Everything but the marks of this very run, which are gone when it ends."""
        marks = [f":(top,exclude,glob)**/{mark}" for mark in MARKS]
        if await self._has_changes(*marks):
            await self._git("add", "--all", "--", ":/", *marks)
            await self._git("commit", "--quiet", "--message", message)

    async def _has_changes(self, *excluded: str) -> bool:
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
        order = Order("", self._moot.workspace.root, self._settings.workflow.timeout_secs)
        passed = self._moot.config.user.implement.test_pass_env
        return await run(name, command, order, environment.for_own_program(self._moot.env, passed))

    # -- around it ---------------------------------------------------------------------------

    def _finish(self, folder: ChangeFolder) -> BuildResult:
        phase = moved(moved(folder.state().phase, Move.IMPLEMENT), Move.FINISH)
        folder.update_state(lambda data: data.update(phase=str(phase), last_action="implement"))
        return BuildResult(phase, tuple(task.text for task in _tasks(folder)))

    async def _choose_coder(self, tell: Tell) -> Coder | None:
        settings = self._settings.implement
        wanted = settings.agent if self._agent == "auto" else self._agent
        names = ("command", "codex", "claude") if wanted == "auto" else (wanted,)
        passed = self._moot.config.user.implement.pass_env
        env = self._moot.env
        coder = await self._changes.choose_agent(
            names, lambda name: find_coder(name, settings.command, env, passed), passed, tell
        )
        if coder is None and wanted != "auto":
            why = (
                "[implement] command is not set in your configuration"
                if wanted == "command"
                else f"there is no program '{wanted}' on this machine"
            )
            raise AgentMissing(wanted, why)
        return coder

    def _marks(self, folder: ChangeFolder) -> dict[str, tuple[int, int]]:
        """What tells whether anything was changed. The change's own files are no work."""
        own = f"{self._place(folder)}/"
        marks = listing.marks(self._moot.workspace.root)
        return {name: mark for name, mark in marks.items() if not name.startswith(own)}

    def _known(self, folder: ChangeFolder) -> Known:
        return Known(history.points_of(folder), told=(*history.told(folder), *self._also))

    def _place(self, folder: ChangeFolder) -> str:
        return folder.path.relative_to(self._moot.workspace.root).as_posix()


def _tasks(folder: ChangeFolder) -> tuple[Task, ...]:
    return tasks.tasks(folder.tasks() or "")


def _shown(said: str) -> str:
    """On one line; later tasks and reassessments get all of it."""
    words = " ".join(said.split())
    return words if len(words) <= _LONGEST_SAID else f"{words[: _LONGEST_SAID - 1]}…"


def _open(folder: ChangeFolder) -> tuple[str, ...]:
    return tuple(task.text for task in _tasks(folder) if not task.done)
