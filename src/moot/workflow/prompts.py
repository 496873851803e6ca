"""What models are told in a workflow: the prompts of its brainstorm, of a roundtable within that, and the one
between two batches.

Knows the state of a workflow. How a brainstorm or a roundtable is put to a model, their own prompts know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from pydantic import BaseModel

from moot.brainstorm import prompts, shapes
from moot.brainstorm import text as words
from moot.brainstorm.events import MAX_PARTS
from moot.brainstorm.prompts import Draft, Known
from moot.brainstorm.replies import REPLIES as OF_THE_BRAINSTORM
from moot.brainstorm.state import BRAINSTORMER
from moot.core.looked import not_found
from moot.core.model_effects import Prompts
from moot.evidence import items
from moot.llm.messages import Request, Source, Weight
from moot.roundtable.prompts import PROMPTS as ROUNDTABLE
from moot.roundtable.prompts import Hosted
from moot.workflow import flow, ledger
from moot.workflow.effects import DISCUSS_PLAN, REASSESS, PlanReply, Reassessment
from moot.workflow.events import PlanDiscussed, ScopeReassessed
from moot.workflow.state import WorkflowState
from moot.workflow.usual import USUAL

T = TypeVar("T")

PLAN_ROOM = prompts.Room(6_144, 768)
ROUNDTABLE_LOOKS = 3
"""How often whoever speaks at a roundtable may look into the repository for one contribution."""


def reassess(state: WorkflowState, *, small: bool) -> Draft:
    return _request(state, small=small), _shape(state, small=small)


def discuss_plan(state: WorkflowState, *, small: bool) -> Draft:
    def try_it(reply: PlanReply) -> None:
        flow.advance(state, PlanDiscussed(reply.reply, reply.revision, shapes.NOTHING_SPOKEN))

    most = shapes.SMALL_LINE if small else 2000
    fields: dict[str, Any] = {
        "reply": (shapes.text_of(most), ...),
        "revision": (shapes.loose(0 if small else 2000), ""),
    }
    shape = shapes.make_shape("PlanReply", PlanReply, try_it, fields)
    talk = state.brainstorm
    if small:
        return prompts.small_request(DISCUSS_PLAN, talk.subject, state.discussed), shape
    known, sources = _known(state), (*_so_far(state), *_plan(state))
    request = prompts.request(DISCUSS_PLAN, {}, talk, known, iter(sources), state.discussed, PLAN_ROOM)
    return request, shape


def _plan(state: WorkflowState) -> Iterator[Source]:
    """As the person sees it, and whole."""
    if state.plan is None:
        return
    text = f"<plan>\n{state.plan.text}\n</plan>"
    yield Source("the plan", text, Weight.NEEDED)
    lines = [f"The reviewer says {state.verdict}: {state.review_summary}".rstrip(": ")]
    lines += [f"Open issue {issue}" for issue in state.plan.issues]
    lines += [state.plan.obstacle] if state.plan.obstacle else []
    lines += [f"Building it: {state.plan.estimate}"]
    lines += [f"Tests: {state.plan.tests or state.plan.untested}"]
    yield Source("what the review says", "<review>\n" + "\n".join(lines) + "\n</review>", Weight.NEEDED)


def _request(state: WorkflowState, *, small: bool) -> Request:
    talk = state.brainstorm
    if small:
        return prompts.small_request(REASSESS, talk.subject, state.adjustment)
    number = {"next": str(state.current_batch + 2)}
    so_far = _so_far(state)
    return prompts.request(
        REASSESS, number, talk, _known(state), so_far, state.adjustment, prompts.DESIGN_ROOM
    )


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


def _so_far(state: WorkflowState) -> Iterator[Source]:
    """The design as it is on disk, what was to be built of it, and what was."""
    if state.design_on_disk:
        text = f"<design>\n{state.design_on_disk}\n</design>"
        yield Source("the design document, as somebody has changed it", text, Weight.DEPENDED_ON)
    else:
        yield from prompts.so_far(state.brainstorm)
    listed = [
        f"  Batch {number}, {each.status}: {each.title} – {each.description}"
        for number, each in enumerate(state.batches, start=1)
    ]
    parts = ["\n".join(("The batches:", *listed))]
    if state.proposed is not None and state.proposed != state.left_over:
        proposed = words.parts(state.proposed, "Batch", state.current_batch + 2)
        parts.append("\n".join(("What you proposed for the rest:", *proposed)))
    yield Source("the batches", "<batches>\n" + "\n\n".join(parts) + "\n</batches>", Weight.NEEDED)
    if state.built:
        yield Source("what was built", state.built, Weight.DEPENDED_ON)


def _known(state: WorkflowState) -> Known:
    said = (one.content for one in state.brainstorm.conversation_log if one.speaker == BRAINSTORMER)
    return Known(
        items.sources(state.evidence),
        ledger.source_beside_conversation(state),
        not_found(((text, state.evidence) for text in said), state.evidence),
    )


def _of_the_brainstorm(draft: Callable[..., Draft]) -> Callable[..., Draft]:
    return lambda state, *, small: draft(state.brainstorm, _known(state), small=small)


def _at_roundtable(prompt: Callable[..., T]) -> Callable[..., T]:
    def hosted(state: WorkflowState, *given: Any, small: bool) -> T:
        talk, known = state.brainstorm, _known(state)
        if small:
            return prompt(talk.table, *given, small=True)
        shared, sources = prompts.shared(talk, known), prompts.at_roundtable(talk, known)
        table = Hosted(talk.table, shared, sources, ROUNDTABLE_LOOKS, prompts.LOOK_TOKENS)
        return prompt(table, *given, small=False)

    return hosted


PROMPTS = Prompts(
    speeches={name: _at_roundtable(speech) for name, speech in ROUNDTABLE.speeches.items()},
    drafts={
        **{name: _of_the_brainstorm(draft) for name, draft in prompts.DRAFTS.items()},
        **{name: _at_roundtable(draft) for name, draft in ROUNDTABLE.drafts.items()},
        REASSESS: reassess,
        DISCUSS_PLAN: discuss_plan,
    },
    replies={
        **OF_THE_BRAINSTORM,
        **ROUNDTABLE.replies,
        REASSESS: Reassessment,
        DISCUSS_PLAN: PlanReply,
    },
    usual=USUAL,
)
"""Each takes the state of the workflow."""
