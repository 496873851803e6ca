"""What the person may do about a task that is not done: say something and have it tried again, leave it open,
or have it rolled back.

Goes by what STATE.yaml keeps of each attempt. Rolling back touches what the attempts have changed, and of
that nothing that somebody has changed since. Refuses to know how it is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from moot.changes import history, tasks
from moot.changes.folder import ChangeFolder
from moot.changes.implement import Retry
from moot.changes.standing import FailedTask
from moot.errors import GitRefused, InvalidInput
from moot.files.lock import claimed
from moot.repo import git


@dataclass(frozen=True, slots=True)
class RolledBack:
    """`kept` are files of the task that somebody has changed since: they are as they were left."""

    files: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()

    def __str__(self) -> str:
        said = f"rolled back: {', '.join(self.files)}" if self.files else "nothing was left to roll back"
        kept = f"; changed since, and left alone: {', '.join(self.kept)}" if self.kept else ""
        return said + kept


def failed_task(folder: ChangeFolder) -> FailedTask | None:
    """The one that was tried last, if it is open."""
    work = folder.state().work
    if not work or not work[-1].problem:
        return None
    boxes = enumerate(tasks.tasks(folder.tasks() or ""), start=1)
    number = next((at for at, task in boxes if not task.done and task.text == work[-1].task), 0)
    before, left = history.before_first(folder, work[-1].task)
    return FailedTask(number, work[-1].task, work[-1].problem, bool(before and left)) if number else None


def retry(folder: ChangeFolder, comment: str = "", skip: int = 0) -> Retry | None:
    """With the person's words for the agent, or without a task, by its number."""
    failed, count = failed_task(folder), len(tasks.tasks(folder.tasks() or ""))
    if skip and not 1 <= skip <= count:
        raise InvalidInput("skip", f"is not the number of one of {count} tasks, from 1")
    if comment and failed is None:
        raise InvalidInput("comment", "has nothing to say something to: no task has failed")
    if comment and failed is not None:
        told = f"{failed.problem}\n\nThe person says: {comment}"
        return Retry(failed.number, told, (skip,) * bool(skip))
    return Retry(skipped=(skip,)) if skip else None


def roll_back(folder: ChangeFolder, root: Path, own: tuple[str, ...]) -> RolledBack:
    failed = failed_task(folder)
    if failed is None or not failed.can_roll_back:
        raise GitRefused("there is no failed task here that git knows the way back from")
    before, left = history.before_first(folder, failed.text)
    with claimed(folder.path, "rolled back"):
        return undo(root, before, left, own)


def undo(root: Path, before: str, left: str, own: tuple[str, ...]) -> RolledBack:
    """Makes what differs between two trees what it was in the first, where it is still as in the second."""
    now = git.snapshot(root)
    if now is None:
        raise GitRefused("git cannot say what has changed since")
    done, since, still = (
        git.differences(root, *pair) for pair in ((before, left), (left, now), (before, now))
    )
    if done is None or since is None or still is None:
        raise GitRefused("git no longer has what was there before")
    names = [name for name in sorted(done) if not name.startswith(own) and name in still]
    back = {name: done[name].status for name in names if name not in since}
    git.write(root, before, back)
    return RolledBack(tuple(back), tuple(name for name in names if name in since))
