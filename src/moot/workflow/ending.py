"""What a workflow came to: the diff, the tests and the reviews of each task, and what is open.

Computed from the changes' own files and from what git called the workspace; what an agent or a model says of
it is in none of it. Refuses to know how it is shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from moot.changes import tasks
from moot.changes.attempts import record_of
from moot.changes.folder import ChangeFolders
from moot.changes.phases import Phase
from moot.diffs import patch, signs
from moot.errors import MootError
from moot.repo import git
from moot.workflow.events import BatchSummary, Summary
from moot.workflow.state import Trees, WorkflowState

MOST_OPEN = 10


def sum_up(state: WorkflowState, folders: ChangeFolders, root: Path, own: tuple[str, ...]) -> Summary:
    trees = {each.batch: each for each in state.trees}
    batches, built = [], []
    for number, batch in enumerate(state.batches):
        size = _size(trees[number], root, own) if number in trees else ""
        try:
            folder = folders.open(batch.change_id) if batch.change_id else None
            boxes = tasks.tasks(folder.tasks() or "") if folder else ()
            done = [box.text for box in boxes if box.done]
            last = {one.task: one for one in folder.state().work if not one.problem} if folder else {}
            if folder and batch.status == "complete" and folder.state().phase is Phase.COMPLETE:
                built.append(batch.change_id)
            record = record_of(folder, done) if folder else ()
        except (MootError, OSError):
            # Somebody has put it away, or it cannot be read.
            batches.append(BatchSummary(batch.title, batch.change_id, size=size))
            continue
        batches.append(
            BatchSummary(
                batch.title,
                batch.change_id,
                done=len(done),
                tasks=len(boxes),
                still_open=tuple(box.text for box in boxes if not box.done),
                record=record,
                untested=sum(not (task in last and last[task].tests) for task in done),
                unreviewed=sum(not (task in last and last[task].review) for task in done),
                size=size,
            )
        )
    return Summary(tuple(batches), tuple(built))


def _size(trees: Trees, root: Path, own: tuple[str, ...]) -> str:
    found = git.difference(root, trees.before, trees.after, context=0)
    if found is None:
        return ""
    parsed = patch.parse(found.decode("utf-8", "replace"))
    names = {name for file in parsed.files for name in (file.old, file.new) if name}
    return signs.size_of(patch.without(parsed, {name for name in names if name.startswith(own)}))


# -- in words ------------------------------------------------------------------------------------


def headline(state: WorkflowState) -> str:
    """ "Done" is said of nothing that is not."""
    complete = sum(batch.status == "complete" for batch in state.batches)
    count = len(state.batches)
    told = f"{complete} of {count} batch{'' if count == 1 else 'es'} complete"
    still = sum(len(batch.still_open) for batch in state.summary.batches) if state.summary else 0
    opened = f"; {still} task{' is' if still == 1 else 's are'} open" if still else ""
    return f"{'Done' if complete == count and not still else 'Ended, and not done'}: {told}{opened}"


def in_words(summary: Summary) -> Iterator[str]:
    for number, batch in enumerate(summary.batches, start=1):
        if not batch.change_id:
            yield f"Batch {number}, {batch.title}: not begun"
            continue
        size = f"; {batch.size}" if batch.size else ""
        yield f"Batch {number}, {batch.title}: {batch.done} of {batch.tasks} tasks{size}"
        yield from (f"  {line}" for line in batch.record)
        yield from (f"  open: {task}" for task in batch.still_open[:MOST_OPEN])
        if len(batch.still_open) > MOST_OPEN:
            yield f"  and {len(batch.still_open) - MOST_OPEN} more"
    untested, unreviewed = (
        sum(getattr(batch, what) for batch in summary.batches) for what in ("untested", "unreviewed")
    )
    if untested:
        yield f"NOT TESTED: no command has shown that {_tasks(untested)} work{'s' * (untested == 1)}."
    if unreviewed:
        yield f"NOT REVIEWED: nobody has looked at what was done for {_tasks(unreviewed)}."


def _tasks(count: int) -> str:
    return f"{count} task{'' if count == 1 else 's'}"
