"""What was built so far, batch by batch: verdicts, tasks, files, and what went wrong.

Computed, never drafted: from a change's own files, and from what git called the workspace before and after
it. Refuses to know whether what was built is what was meant.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from moot.changes import approval, tasks
from moot.changes.folder import ChangeFolder, ChangeFolders
from moot.changes.state_file import PERSON
from moot.errors import MootError
from moot.llm.messages import Source, Weight
from moot.repo import git
from moot.workflow.state import Trees, WorkflowState

MOST_FILES = 60
_DID = {"A": "added", "M": "changed", "D": "deleted", "T": "changed"}


def built(state: WorkflowState, folders: ChangeFolders, root: Path) -> tuple[Source, ...]:
    """Of every batch that was begun, the oldest first."""
    found = []
    trees = {each.batch: each for each in state.trees}
    for number, batch in enumerate(state.batches, start=1):
        begun = batch.change_id and (batch.status == "complete" or number - 1 in trees)
        if begun:
            lines = [*_lines(batch.change_id, folders), *_files(trees.get(number - 1), root)]
            about = f'batch="{number}" title="{batch.title}" change="{batch.change_id}"'
            text = f"<built {about}>\n" + "\n".join(lines) + "\n</built>"
            found.append(Source(f"what was built in batch {number}", text, Weight.DEPENDED_ON))
    return tuple(found)


def _lines(change_id: str, folders: ChangeFolders) -> list[str]:
    try:
        folder = folders.open(change_id)
        return [*_verdicts(folder), *_tasks(folder)]
    except (MootError, OSError) as error:
        return [f"Its files cannot be read any more: {error}"]


def _tasks(folder: ChangeFolder) -> Iterator[str]:
    boxes = tasks.tasks(folder.tasks() or "")
    done = sum(box.done for box in boxes)
    yield f"{done} of {len(boxes)} tasks done:"
    for box in boxes:
        yield f"- {'done' if box.done else 'left open'}: {box.text}"
    if work := folder.state().work:
        yield "What came of each attempt, the oldest first:"
    for one in work:
        yield f"- {one.task}: {'failed' if one.problem else 'succeeded'}"
        for what, said in (("The coding agent said", one.said), ("What went wrong", one.problem)):
            if said:
                yield f"  {what}: {_indented(said)}"


def _verdicts(folder: ChangeFolder) -> Iterator[str]:
    for number, made in enumerate(folder.reviews(), start=1):
        if made.record.engine == PERSON:
            yield f"Approved by the person: {made.record.because}"
            continue
        try:
            summary = approval.read(made).summary
        except MootError:
            summary = "its words are no longer in proposal.md"
        yield f"Review {number} of its plan: {made.record.verdict}. {_indented(summary)}"


def _files(trees: Trees | None, root: Path) -> Iterator[str]:
    found = git.differences(root, trees.before, trees.after) if trees else None
    if found is None:
        yield "Which files that has changed, git cannot say."
        return
    yield f"Files changed: {len(found) or 'none'}"
    names = sorted(found)
    yield from (f"- {_DID.get(found[name].status, 'changed')}: {name}" for name in names[:MOST_FILES])
    if len(names) > MOST_FILES:
        yield f"- and {len(names) - MOST_FILES} more, which git_diff and list_directory show"


def _indented(text: str) -> str:
    return text.strip().replace("\n", "\n    ")
