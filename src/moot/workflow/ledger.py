"""Decided so far in a workflow: by its brainstorm, in its batches, and as the person has corrected it.

Derived from the state, whose own notes have what it would forget. Refuses to know who reads it.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from moot.analysis.asking import is_only_questions
from moot.brainstorm import ledger as of_brainstorm
from moot.brainstorm.state import Step
from moot.core import ledger
from moot.core.conversation import PERSON
from moot.core.ledger import Decided, Kind
from moot.llm.messages import Source
from moot.workflow.state import PLAN_STEP, REASSESS_STEP, WorkflowState

MOOT, REVIEWER = "moot", "the reviewer"
BUILD_STEP = "build"


def entries(state: WorkflowState) -> tuple[Decided, ...]:
    """With the person's corrections, under the numbers by which people, files and requests speak of them."""
    return ledger.number(ledger.correct(uncorrected(state), state.corrections), state.order)


def keep_order(state: WorkflowState) -> WorkflowState:
    """What has come about since is numbered after everything that was there."""
    new = tuple(entry.key for entry in entries(state) if entry.number > len(state.order))
    return replace(state, order=(*state.order, *new)) if new else state


def uncorrected(state: WorkflowState) -> tuple[Decided, ...]:
    return (*of_brainstorm.entries(state.brainstorm), *_batches(state)) if state.is_open else ()


_NO_POINTS = ("level", "skips", "splits", "batches", "section:", "assumed:", "built:", "review:")
"""Keys of entries that say how the work goes on, or that are in the design word for word."""
_CHOSEN = "approach"
"""Has a section of its own in the design. The others, which were passed over, have none."""
_AFTER_THE_DESIGN = ("review", "verdict", PLAN_STEP, "open-tasks", BUILD_STEP, REASSESS_STEP)


def binding(state: WorkflowState) -> tuple[Decided, ...]:
    """What a change has to keep to, besides the design: no advice, and nothing that the person has only
    asked."""
    said_otherwise = ledger.in_force(state.corrections)
    return tuple(
        each
        for each in entries(state)
        if not each.key.startswith(_NO_POINTS)
        and (each.key != _CHOSEN or each.key in said_otherwise)
        and each.by not in (MOOT, REVIEWER, of_brainstorm.BOARD)
        and not (each.kind is Kind.SAID and is_only_questions(each.text))
    )


def was_in_design(entry: Decided) -> bool:
    """Whether it was decided when the design document was written, which then has it."""
    return not entry.key.startswith("own:") and entry.at not in _AFTER_THE_DESIGN


def _batches(state: WorkflowState) -> Iterator[Decided]:
    for number, batch in enumerate(state.batches, start=1):
        if batch.status == "complete":
            text = f"Batch {number}, '{batch.title}', is built"
            yield Decided(f"built:{batch.change_id or number}", Kind.DECIDED, text, MOOT, BUILD_STEP)
    if state.verdict is not None:
        yield Decided(f"review:{state.current_batch}", *_review(state))


def _review(state: WorkflowState) -> tuple[Kind, str, str, str]:
    kind = Kind.DECIDED if state.verdict == "APPROVED" else Kind.REJECTED
    said = f". {state.review_summary}" if state.review_summary else ""
    text = f"The plan of batch '{state.batch.title}': {state.verdict}{said}"
    return kind, text, REVIEWER, "review"


def note_review(state: WorkflowState) -> WorkflowState:
    """Before a revision gets a verdict of its own."""
    return state if state.verdict is None else note(state, *_review(state))


def note(state: WorkflowState, kind: Kind, text: str, by: str, at: str) -> WorkflowState:
    """What the state would forget."""
    return replace(state, brainstorm=of_brainstorm.note(state.brainstorm, kind, text, by, at))


def inherited(state: WorkflowState) -> tuple[Decided, ...]:
    """What a part that is split off takes along, besides the conversation: where it comes from, and what the
    person decided about the whole."""
    talk = state.brainstorm
    parts = "; ".join(part.title for part in talk.splits)
    came_from = f"This is one of the parts of a larger idea: {talk.description}\nIts parts: {parts}"
    kept = [Decided("", Kind.DECIDED, came_from, PERSON, Step.TRIAGE)]
    kept += [each for each in entries(state) if each.key.startswith(("noted:", "own:"))]
    return tuple(replace(each, key=f"noted:{number}", number=0) for number, each in enumerate(kept, start=1))


# -- for requests --------------------------------------------------------------------------------


def source(state: WorkflowState) -> tuple[Source, ...]:
    """All of it, for somebody who was not there."""
    return ledger.source(entries(state), _corrected(state))


def source_beside_conversation(state: WorkflowState) -> tuple[Source, ...]:
    """Without what the person said, for somebody who is given the whole conversation."""
    said = [each for each in uncorrected(state) if each.key.startswith(of_brainstorm.SAID)]
    return ledger.source(entries(state), (*said, *_corrected(state)))


def _corrected(state: WorkflowState) -> list[Decided]:
    """As it still stands elsewhere, in the conversation or in the design."""
    keys = ledger.in_force(state.corrections)
    return [each for each in uncorrected(state) if each.key in keys]
