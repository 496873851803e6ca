"""What models are told in a workflow: the prompts of its brainstorm, of a roundtable within that, and the one
between two batches.

Knows the state of a workflow. How a brainstorm or a roundtable is put to a model, their own prompts know.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from pydantic import BaseModel

from moot.brainstorm import prompts, shapes
from moot.brainstorm import text as words
from moot.brainstorm.events import MAX_PARTS, REPLAY_WORDS
from moot.brainstorm.prompts import Draft
from moot.brainstorm.replies import REPLIES as OF_THE_BRAINSTORM
from moot.core.conversation import Capped
from moot.core.model_effects import Prompts
from moot.llm.messages import Request
from moot.roundtable.prompts import PROMPTS as ROUNDTABLE
from moot.workflow import flow
from moot.workflow.effects import REASSESS, Reassessment
from moot.workflow.events import ScopeReassessed
from moot.workflow.state import REASSESS_STEP, WorkflowState

T = TypeVar("T")


def reassess(state: WorkflowState, *, small: bool) -> Draft:
    return _request(state, small=small), _shape(state, small=small)


def _request(state: WorkflowState, *, small: bool) -> Request:
    talk = state.brainstorm
    if small:
        return prompts.small_request(REASSESS, talk.subject, state.adjustment)
    said = prompts.material_of(talk, _said(state), _so_far(state), state.adjustment)
    number = {"next": str(state.current_batch + 2)}
    return prompts.request(REASSESS, number, said, prompts.TRIAGE_TOKENS)


def _shape(state: WorkflowState, *, small: bool) -> type[BaseModel]:
    def try_it(reply: Reassessment) -> None:
        flow.advance(state, ScopeReassessed(reply.assessment, reply.batches, shapes.NOTHING_SPOKEN))

    kept = len(state.left_over)
    limits = (min(kept, MAX_PARTS),) * 2 if small else (0, MAX_PARTS)
    fields: dict[str, Any] = {
        "assessment": (shapes.text_of(shapes.SMALL_LINE if small else 1500), ...),
        "batches": (shapes.list_of(shapes.part(small=small), limits), ...),
    }
    return shapes.make_shape("Reassessment", Reassessment, try_it, fields)


def _said(state: WorkflowState) -> Capped:
    """What was said about this since the batch was built, without the comment that is being answered."""
    talk = state.brainstorm.conversation
    said = talk.without_last() if state.adjustment else talk
    return said.at_steps((REASSESS_STEP,)).newest(REPLAY_WORDS)


def _so_far(state: WorkflowState) -> str:
    listed = [
        f"  Batch {number}, {each.status}: {each.title} – {each.description}"
        for number, each in enumerate(state.batches, start=1)
    ]
    parts = ["\n".join(("The batches:", *listed)), words.sections(state.brainstorm.design_sections)]
    if state.proposed is not None and state.proposed != state.left_over:
        proposed = words.parts(state.proposed, "Batch", state.current_batch + 2)
        parts.append("\n".join(("What you proposed for the rest:", *proposed)))
    return "\n\n".join(part for part in parts if part)


def _of_the_brainstorm(draft: Callable[..., Draft]) -> Callable[..., Draft]:
    return lambda state, *, small: draft(state.brainstorm, small=small)


def _at_roundtable(prompt: Callable[..., T]) -> Callable[..., T]:
    return lambda state, *given, small: prompt(state.brainstorm.table, *given, small=small)


PROMPTS = Prompts(
    speeches={name: _at_roundtable(speech) for name, speech in ROUNDTABLE.speeches.items()},
    drafts={
        **{name: _of_the_brainstorm(draft) for name, draft in prompts.DRAFTS.items()},
        **{name: _at_roundtable(draft) for name, draft in ROUNDTABLE.drafts.items()},
        REASSESS: reassess,
    },
    replies={**OF_THE_BRAINSTORM, **ROUNDTABLE.replies, REASSESS: Reassessment},
)
"""Each takes the state of the workflow."""
