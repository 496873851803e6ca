"""What came of an attempt at a task, and the words for it: what is not done, what nobody has looked at, and
what shows that a task is done.

Refuses to know how a task is carried out: see implement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from moot.changes.folder import ChangeFolder
from moot.changes.state_file import Worked
from moot.changes.task_reviews import Judgement

NOTHING_TESTED = (
    "NOTHING IS TESTED: there is no test command, so that all there is to show that a task is done is that "
    "files have changed. Keep one as `test` under [implement] in your own settings; `moot implement --test` "
    "takes one for once"
)
NOTHING_REVIEWED = (
    "NOTHING IS REVIEWED, and nothing can be rolled back: git cannot say here what a task has changed. "
    "`git init` in the workspace is enough"
)
REVIEW_IS_OFF = "NOTHING IS REVIEWED: `review = false` is set under [implement] in your settings"
COMMITTED = (
    "{name} has committed by itself, which is not for it to do. `git reset --soft {before}` takes the commit "
    "back and keeps the files"
)
SAME_FILES = "it has left the very files of an earlier attempt"
MOST_SUBJECT = 72
NOT_JUDGED = Judgement()


@dataclass(frozen=True, slots=True)
class Attempt:
    """What came of one. `is_found`: the problem is in what was done, so that the agent can fix it. `at_end`
    is what git calls the workspace then, before the tests have left anything in it."""

    said: str = ""
    problem: str = ""
    is_found: bool = False
    at_end: str = ""
    size: str = ""
    tests: str = ""
    judged: Judgement = NOT_JUDGED

    def first_line(self) -> str:
        return self.problem.partition("\n")[0].rstrip(" .:")


def changed_nothing(name: str, said: str, undone: Sequence[str]) -> str:
    but = " but the change's own files, in which a ticked box is no work" * bool(undone)
    words = f"{name} changed nothing{but}, and said: {said or '(nothing)'}"
    return f"{words}\nIf the task is done, tick its box."


def subject_of(task: str) -> str:
    """What a commit is called that is a task: its first line, without marks and a full stop, of a length that
    git's own tools show whole."""
    plain = " ".join(task.replace("`", "").replace("**", "").split()).rstrip(".;: ")
    subject = plain[:1].upper() + plain[1:]
    if len(subject) <= MOST_SUBJECT:
        return subject
    return f"{subject[: MOST_SUBJECT - 1].rpartition(' ')[0] or subject[: MOST_SUBJECT - 1]}…"


def record_of(folder: ChangeFolder, done: Sequence[str]) -> tuple[str, ...]:
    """For each of these tasks, what shows that it is done."""
    lasts = {one.task: one for one in folder.state().work if not one.problem}
    return tuple(f"{task}: {_shown_by(lasts[task])}" for task in done if task in lasts)


def _shown_by(one: Worked) -> str:
    parts = [
        one.size or "git cannot say what was changed",
        f"tests passed ({one.tests})" if one.tests else "NOT TESTED",
        f"reviewed by {one.by}: {one.verdict} ({one.review})" if one.review else "NOT REVIEWED",
    ]
    return "; ".join(parts)
