"""Judges what a coding agent did for one task: the diff that git knows of, what it shows by itself, and a
review of it against the task, the specifications and the design.

The review is a session like any other of code: stored, and open to every surface. Refuses to know what
follows from a judgement.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from moot.changes.task_reviews import Inspected, Judgement, TaskWork, Tell
from moot.diffs import gather, signs
from moot.diffs import patch as patches
from moot.diffs.findings import Finding
from moot.diffs.flow import report_of
from moot.diffs.gather import Gathered
from moot.diffs.patch import Patch
from moot.diffs.report import Report
from moot.diffs.service import AUTO, Quiet, begin_review, open_review, seats
from moot.errors import GitRefused, MootError, SessionMoved, StoreFailed
from moot.repo import git
from moot.text.characters import strip_controls

if TYPE_CHECKING:
    from moot.app import Moot

_STANDARD = """\
A coding agent has carried out ONE task of a change, and the diff is what it did for that. Hold the diff
against the task first, then against the change's proposal, specifications and design as far as they concern
the task. What the task asks for and the diff lacks or contradicts, and what the diff does beyond the task,
are findings of the kind `plan`. That other tasks are not done yet is none.

<task>
{task}
</task>
{also_open}
{tests}{before}
{plan}{told}"""
_TESTED = "After it, `{command}` was run, and succeeded. Whether that tests what is new, is for you to see."
_UNTESTED = "Nothing was tested after it: nobody has shown that it works."
_BEFORE = """

An earlier attempt at this task was not taken. The agent was told the following, and what it did since is in
the diff, too. See whether it is put right; what the person says there holds.

<before>
{failed}
</before>"""


class TaskJudge:
    """`engine` reviews: auto, codex, claude, or model."""

    def __init__(self, moot: Moot, engine: str = AUTO) -> None:
        self._moot = moot
        self._engine = engine

    async def inspect(self, work: TaskWork) -> Inspected:
        patch = await asyncio.to_thread(self._patch, work)
        listed = await asyncio.to_thread(git.files, self._moot.workspace.root)
        there = listed[0] if listed else []
        problems = []
        if weakened := signs.find_weakened_tests(patch):
            problems.append(
                "It takes away what would show that the task is not done:\n"
                f"{signs.in_words(weakened)}\nPut that back. If the task really needs it, say so."
            )
        if beyond := signs.outside(patch, work.task, work.plan, there):
            problems.append(
                f"It goes beyond the task:\n{signs.in_words(beyond)}\n"
                "Undo that. If the task cannot be done without it, say why."
            )
        return Inspected(signs.size_of(patch), "\n\n".join(problems))

    async def review(self, work: TaskWork, tell: Tell) -> Judgement:
        try:
            return await self._review(work, tell)
        except (SessionMoved, StoreFailed):
            raise
        except MootError as failed:
            return Judgement(f"It could not be reviewed: {failed}")

    async def _review(self, work: TaskWork, tell: Tell) -> Judgement:
        gathered = await asyncio.to_thread(self._gather, work)
        plan = gather.check_plan(_standard(work))
        reviewers = await seats(self._moot, (self._engine,), tell)
        opened = await open_review(self._moot, gathered, reviewers, plan)
        session, runner = await begin_review(self._moot, opened, Quiet(), tell)
        state = await runner.run()
        report = report_of(state, session.id)
        problem, is_found = _problem(report)
        return Judgement(
            problem,
            is_found,
            str(report.judged.verdict) if report.judged else "",
            ", ".join(review.by for review in report.reviews),
            session.id,
            state.bills,
        )

    def _gather(self, work: TaskWork) -> Gathered:
        what = f"what was done for the task “{' '.join(work.task.split())}”"
        return gather.of_text(self._patch(work).text, what)

    def _patch(self, work: TaskWork) -> Patch:
        root = self._moot.workspace.root
        found = git.difference(root, work.before, work.after, context=gather.CONTEXT)
        if found is None:
            raise GitRefused("it cannot show what the agent did, or not in full")
        patch = patches.parse(found.decode("utf-8", "replace"))
        names = {name for file in patch.files for name in (file.old, file.new) if name}
        return patches.without(patch, {name for name in names if work.own and name.startswith(work.own)})


def _standard(work: TaskWork) -> str:
    listed = "\n".join(f"- {task}" for task in work.also_open)
    still = f"\nStill to be done after this one, each by itself:\n{listed}\n" if listed else ""
    tests = _TESTED.format(command=work.tests) if work.tests else _UNTESTED
    before = _BEFORE.format(failed=work.failed_with) if work.failed_with else ""
    told = f"\n\n{work.told}" if work.told else ""
    return _STANDARD.format(
        task=work.task, also_open=still, plan=work.plan, tests=tests, before=before, told=told
    )


def _problem(report: Report) -> tuple[str, bool]:
    """Why it does not count, and whether that is about the work."""
    judged = report.judged
    if judged is None or not report.is_complete:
        return f"It was not reviewed in full. {' '.join(map(strip_controls, report.gaps))}".strip(), False
    blocking = [one for one in judged.findings if one.blocks]
    if not blocking:
        return "", False
    found = "\n".join(_in_words(one) for one in blocking)
    return f"The review says {judged.verdict}:\n{found}", True


def _in_words(one: Finding) -> str:
    said = one.worst
    fix = f"\n  Suggested: {' '.join(said.fix.split())}" if said.fix else ""
    where, problem = one.place or one.file, " ".join(said.problem.split())
    return f"- {one.severity} ({one.kind}) {where}: {problem} {' '.join(said.consequence.split())}{fix}"
