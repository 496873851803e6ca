"""An approved change is built: task by task, by a coding agent, with a test command and a review after each.

What is built is exactly what was approved: that is looked up before every task, and whatever an agent does to
the change's own folder is undone. Whether a task is done is not for the agent to say: something must have
changed, the tests must pass, none may be gone, and a reviewer must have nothing against the diff. What is
wrong goes back to the agent, a bounded number of times. The boxes in tasks.md are where it is kept what is
done, so that the next run goes on with the first that is open.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from moot.agents import Coder, Order, find_coder
from moot.agents.process import Ended, run
from moot.changes import approval, history, prompts, state_file, tasks
from moot.changes.attempts import (
    COMMITTED,
    NOTHING_REVIEWED,
    NOTHING_TESTED,
    REVIEW_IS_OFF,
    SAME_FILES,
    Attempt,
    changed_nothing,
    record_of,
    subject_of,
)
from moot.changes.folder import TASKS, ChangeFolder
from moot.changes.metered_agents import recording_failure, run_metered
from moot.changes.phases import Move, Phase, moved
from moot.changes.prompts import Known
from moot.changes.service import Changes, Tell
from moot.changes.state_file import Call, Worked
from moot.changes.task_reviews import Inspected, Judge, TaskWork
from moot.changes.tasks import Task
from moot.changes.testing import ConfirmedTests
from moot.errors import (
    AgentMissing,
    FileDamaged,
    GitRefused,
    MootError,
    ReviewerTimedOut,
    UncommittedWork,
)
from moot.files.frozen import MARKS
from moot.files.lock import claimed_in_time
from moot.llm.messages import Source
from moot.llm.metering import charging
from moot.llm.names import ModelName
from moot.llm.prices import total_usd
from moot.processes import environment
from moot.repo import git, listing
from moot.text.masking import mask

if TYPE_CHECKING:
    from moot.config import Settings

_LONGEST_SAID = 600
"""Characters of what an agent says, on the screen."""


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
    unreviewed: bool = False
    """Whether something was built, and nobody has looked at it."""
    record: tuple[str, ...] = ()
    """For each task that is done, what shows that it is."""
    cost_usd: float | None = None
    """Of agents and reviews, as far as prices are known."""


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
        judge: Judge | None = None,
    ) -> None:
        """`also` is what the agent is to know besides what is in the change's files. Without a `judge`, the
        tests have the last word."""
        self._changes = changes
        self._moot = changes.moot
        self._agent = agent
        self._commands = ConfirmedTests(self._moot)
        self._test = test or self._commands.command
        self._commit = commit
        self._retry = retry
        self._also = also
        self._judge = judge
        self._own = tuple(name for name in self._moot.workspace.own if name != "moot.toml")
        self._git = False
        """Whether git can say what a task has changed."""

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
        await self._say_what_is_missing(tell)
        if self._commit:
            await self._check_can_commit(folder)
        folder.update_state(lambda data: data.update(phase=str(phase), last_action="implement"))
        return await self._run_tasks(folder, coder, tell)

    def _check(self, folder: ChangeFolder) -> None:
        """Raises what is wrong: nobody has approved these very texts, or they could not have been."""
        approval.check(folder)
        self._changes.check(folder)

    async def _say_what_is_missing(self, tell: Tell) -> None:
        self._git = bool(await self._take_snapshot())
        if not self._test:
            hint = await asyncio.to_thread(self._commands.hint)
            tell(f"{NOTHING_TESTED}. {hint}" if hint else NOTHING_TESTED)
        if self._judge is not None and not self._git:
            tell(NOTHING_REVIEWED)
        elif self._judge is not None and not self._reviews:
            tell(REVIEW_IS_OFF)

    @property
    def _reviews(self) -> bool:
        return self._moot.config.user.implement.review

    async def _run_tasks(self, folder: ChangeFolder, coder: Coder, tell: Tell) -> BuildResult:
        done: list[str] = []
        first = len(folder.state().calls)

        def result(phase: Phase, **more: Any) -> BuildResult:
            built = bool(done)
            reviewed = self._judge is not None and self._git and self._reviews
            return BuildResult(
                phase,
                tuple(done),
                _open(folder),
                untested=built and not self._test,
                unreviewed=built and not reviewed,
                record=record_of(folder, done),
                cost_usd=total_usd(call.cost_usd for call in folder.state().calls[first:]),
                **more,
            )

        while (number := self._next_task(folder)) is not None:
            task = _tasks(folder)[number - 1]
            tell(f"{coder.name} does task {number}: {task.text}")
            before = await self._before(folder, task.text)
            problem = await self._run_task(folder, coder, number, before, tell)
            if problem:
                # Where there is no git, there is no way back.
                return result(Phase.IMPLEMENTING, problem=problem, failed_task=number, before_task=before)
            self._check(folder)
            folder.write_tasks(tasks.tick(folder.tasks() or "", task.line))
            done.append(task.text)
            if not _open(folder):
                # Before the last commit, so that it takes along where the change stands.
                self._finish(folder)
            if self._commit:
                await self._commit_all(folder, f"{subject_of(task.text)}\n\nChange: {folder.id}")
        return result(folder.state().phase)

    def _next_task(self, folder: ChangeFolder) -> int | None:
        """The first open task that is not left out."""
        skipped = self._retry.skipped if self._retry else ()
        boxes = enumerate(_tasks(folder), start=1)
        return next((number for number, task in boxes if not task.done and number not in skipped), None)

    async def _before(self, folder: ChangeFolder, task: str) -> str:
        """What git calls the workspace before the first attempt at a task. Where somebody has changed it
        since the last attempt, that is theirs, and the next attempt is the first again."""
        now = await self._take_snapshot()
        first, left = history.before_first(folder, task)
        return first if await self._changed_between(left, now) is False else now

    async def _take_snapshot(self) -> str:
        return await asyncio.to_thread(git.snapshot, self._moot.workspace.root) or ""

    async def _changed_between(self, before: str, after: str) -> bool | None:
        """Whether anything but moot's own files is different. None where git cannot say."""
        if not (before and after):
            return None
        found = await asyncio.to_thread(git.differences, self._moot.workspace.root, before, after)
        return None if found is None else any(not name.startswith(self._own) for name in found)

    @contextmanager
    def _protect(self, folder: ChangeFolder, tell: Tell) -> Iterator[list[str]]:
        """Whatever others do to the change's own folder meanwhile is undone, and said. Which files that were,
        is in the list afterwards."""
        before, named = folder.freeze(), list[str]()
        try:
            yield named
        finally:
            undone, kept = folder.bring_back(before)
            named += undone
            if undone:
                where = f"; what was written there is in {kept}" if kept else ""
                tell(f"the change's own files are not for the agent to change, and are back{where}:")
                for name in undone:
                    tell(f"  {name}")

    async def _run_task(
        self, folder: ChangeFolder, coder: Coder, number: int, before: str, tell: Tell
    ) -> str:
        """Why the task is not done; nothing if it is. Either way, later tasks and attempts know of it."""
        task, most = _tasks(folder)[number - 1].text, self._settings.implement.attempts
        failed_with = history.failure_of(folder, task)
        if self._retry and self._retry.task == number:
            failed_with = self._retry.failed_with
        ends = list(history.failed_ends(folder, task))
        problem = ""
        for attempt in range(1, most + 1):
            made = await self._attempt(folder, coder, number, failed_with, before, tell)
            problem = made.problem
            circles = made.is_found and await self._comes_back(made.at_end, ends)
            if circles:
                problem = f"{coder.name} goes in circles: {SAME_FILES}.\n{problem}"
            left = await self._take_snapshot() if problem else ""
            self._note(folder, task, before, left, replace(made, problem=problem))
            if circles or not (problem and made.is_found) or attempt == most:
                break
            ends.append(made.at_end)
            failed_with = problem
            again = f"{coder.name} is told ({attempt + 1} of {most})"
            tell(f"task {number} is not done: {made.first_line()}; {again}")
        return problem

    async def _comes_back(self, end: str, ends: Iterable[str]) -> bool:
        """Whether an earlier attempt has ended with the same files."""
        for each in ends:
            if await self._changed_between(each, end) is False:
                return True
        return False

    def _note(self, folder: ChangeFolder, task: str, before: str, left: str, made: Attempt) -> None:
        judged = made.judged
        worked = Worked(
            task,
            mask(made.said),
            mask(made.problem),
            before=before,
            after=made.at_end,
            left=left,
            size=made.size,
            tests=made.tests,
            review=judged.session,
            verdict=judged.verdict,
            by=judged.by,
        )
        folder.update_state(lambda data: state_file.note_work(data, worked))
        for bill in judged.bills:
            folder.record_call(Call.of_usage("review task", bill))

    async def _attempt(
        self, folder: ChangeFolder, coder: Coder, number: int, failed_with: str, before: str, tell: Tell
    ) -> Attempt:
        root, timeout = self._moot.workspace.root, self._settings.workflow.timeout_secs
        listed = _tasks(folder)
        place, known = (
            self._place(folder),
            self._known(folder, listed[number - 1].text if failed_with else ""),
        )
        text = prompts.task(folder.id, place, listed, number, self._test, failed_with, known)
        marks, head = self._marks(folder), await self._head()
        undone: list[str] = []
        try:
            with recording_failure(folder, "implement", coder.name), self._protect(folder, tell) as undone:
                name, order = ModelName(coder.name, ""), Order(text, root, timeout)
                worked = await run_metered(self._moot, name, text, lambda: coder.work(order, tell))
        except ReviewerTimedOut as late:
            return Attempt(
                problem=f"{coder.name} hung or took too long: {late}", at_end=await self._take_snapshot()
            )
        except MootError as failed:
            return Attempt(problem=str(failed), at_end=await self._take_snapshot())
        said, at_end = worked.said.strip(), await self._take_snapshot()
        if said:
            tell(f"{coder.name} says: {_shown(mask(said))}")
        changed = await self._changed_between(before, at_end)
        if changed is None:
            changed = self._marks(folder) != marks
        outcome = "ok" if changed else "changed nothing"
        used, cost, took = worked.usage, worked.cost_usd, worked.duration_ms
        folder.record_call(Call.of("implement", worked.model, used, cost, took, outcome))
        made = Attempt(said, at_end=at_end)
        if not changed:
            return replace(made, problem=changed_nothing(coder.name, said, undone))
        if await self._head() != head:
            return replace(made, problem=COMMITTED.format(name=coder.name, before=head[:10]))
        return await self._judged(folder, number, failed_with, before, made, tell)

    async def _judged(
        self, folder: ChangeFolder, number: int, failed_with: str, before: str, made: Attempt, tell: Tell
    ) -> Attempt:
        """What the tests, the diff and a reviewer have against it, in this order: a review costs the most."""
        with self._protect(folder, tell):
            failed = await self._run_tests(tell)
        work = self._work(folder, number, failed_with, before, made.at_end)
        seen = Inspected()
        if self._judge is not None and work is not None:
            try:
                seen = await self._judge.inspect(work)
            except MootError as unseen:
                seen = Inspected(problem=f"Its diff cannot be looked at: {unseen}")
        problem = "\n\n".join(part for part in (failed, seen.problem) if part)
        tested = "" if failed else self._test
        made = replace(made, problem=problem, is_found=bool(problem), size=seen.size, tests=tested)
        if problem or self._judge is None or work is None or not self._reviews:
            return made
        judged = await self._judge.review(work, tell)
        return replace(made, problem=judged.problem, is_found=judged.is_found, judged=judged)

    def _work(
        self, folder: ChangeFolder, number: int, failed_with: str, before: str, after: str
    ) -> TaskWork | None:
        """None where git cannot say what was done."""
        if not (before and after):
            return None
        every, texts = _tasks(folder), self._changes.texts(folder)
        design = folder.design()
        binding = f'\n\n<file name="design.md">\n{design}\n</file>' if design else ""
        still = tuple(task.text for at, task in enumerate(every, start=1) if not task.done and at != number)
        plan = f"{texts.as_material()}{binding}"
        told = "\n\n".join(one.text for one in (*history.told_reviewer(folder), *self._also))
        task = every[number - 1].text
        return TaskWork(task, plan, before, after, self._own, still, self._test, failed_with, told)

    async def _head(self) -> str:
        return await asyncio.to_thread(git.commit_of, self._moot.workspace.root, "HEAD")

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
        """Asked before anybody is paid for work that could not be committed. What the task has left that is
        tried again is of the change."""
        if await self._is_as_left(folder):
            pass
        elif await self._has_changes(f":!{self._place(folder)}", *self._not_own()):
            raise UncommittedWork("--commit would take work along that is not part of the change")
        await self._run_git("var", "GIT_AUTHOR_IDENT")
        await self._run_git("var", "GIT_COMMITTER_IDENT")

    async def _is_as_left(self, folder: ChangeFolder) -> bool:
        """Whether the next task was tried before, and nobody has touched anything since."""
        number = self._next_task(folder)
        _, left = history.before_first(folder, _tasks(folder)[number - 1].text) if number else ("", "")
        return await self._changed_between(left, await self._take_snapshot()) is False

    def _not_own(self) -> list[str]:
        return [f":(exclude){name}" for name in self._own]

    async def _commit_all(self, folder: ChangeFolder, message: str) -> None:
        """The code and the change, without what else is moot's own, and the marks of this very run."""
        marks = [f":(top,exclude,glob)**/{mark}" for mark in MARKS]
        place = self._place(folder)
        for what in ((":/", *self._not_own()), (f":(literal){place}",)):
            if await self._run_git("status", "--porcelain", "--untracked-files=all", "--", *what, *marks):
                await self._run_git("add", "--all", "--", *what, *marks)
        if await self._run_git("diff", "--cached", "--name-only"):
            await self._run_git("commit", "--quiet", "--message", message)

    async def _has_changes(self, *excluded: str) -> bool:
        """Whether anything else is not committed."""
        every = ("status", "--porcelain", "--untracked-files=all", "--", ":/")
        return bool(await self._run_git(*every, *excluded))

    async def _run_git(self, *arguments: str) -> str:
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

    def _known(self, folder: ChangeFolder, failed: str = "") -> Known:
        return Known(history.points_of(folder), told=(*history.told(folder, failed), *self._also))

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
