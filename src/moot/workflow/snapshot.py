"""A workflow as workflow.json and queue.json keep it: state ⇄ plain JSON values.

A state has the fields of the file. Knows what is different there: names that other programs have, and what
the file says twice or in another place. The file is the truth, and people and other programs write into it
too: what is missing or null gets its ordinary value, what is not understood is refused with the dotted name
of its field. No state is taken from a file that the flow could not be in: above all, nothing is built whose
plan has not been approved.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from moot.brainstorm.events import Part
from moot.brainstorm.ledger import SAID
from moot.brainstorm.replies import DISCUSS
from moot.brainstorm.state import BrainstormState, Step
from moot.core.conversation import PERSON
from moot.core.flow import Event
from moot.errors import IllegalMove, InvalidInput
from moot.roundtable.state import Step as RoundtableStep
from moot.text.faults import msgspec_fault
from moot.workflow.events import NextBegun, Restored, batches_of
from moot.workflow.ledger import inherited
from moot.workflow.state import Phase, WorkflowState

T = TypeVar("T")

Saved = Mapping[str, Any]

USER = "user"
"""What the file calls the person."""
_PHASES = {str(phase): phase for phase in Phase if phase is not Phase.UNOPENED} | {
    "plan-draft": Phase.PLAN,
    "plan-write": Phase.PLAN,
    "plan-review": Phase.REVIEW,
    "configure": Phase.REVIEW,
}
"""By their names in files, also those of other programs."""
_WAYS = {
    (Step.TRIAGE, Step.QUESTIONS),
    (Step.TRIAGE, Step.DESIGN),
    (Step.TRIAGE, Step.DONE),
    (Step.QUESTIONS, Step.APPROACHES),
    (Step.APPROACHES, Step.DESIGN),
    (Step.DESIGN, Step.DONE),
}
"""From a step to the next."""
_AT = re.compile(r" - at `(?:key in )?\$\.?(?P<field>[^`]*)`$")


class _Beside(msgspec.Struct, rename="camel"):
    """What a file has and a state has not, or has elsewhere."""

    phase: str
    user_description: str
    brainstorm: dict[str, Any] | None = None
    design_content: str | None = None
    """Another tool has the design that the person approved in one piece."""
    error: str | None = None


# -- to the file ---------------------------------------------------------------------------------


def snapshot(state: WorkflowState) -> Saved:
    saved: dict[str, Any] = {}
    for name, value in msgspec.to_builtins(replace(state, tests_chosen="")).items():
        saved[name] = value
        # Two have their places between the fields of the state.
        if name == "phase":
            saved["userDescription"] = state.brainstorm.description
        if name == "startedAt":
            saved["error"] = None if state.failure is None else state.failure.message
    if not state.batches:
        saved["batches"] = msgspec.to_builtins(batches_of(state.brainstorm.batches))
    saved["brainstorm"].pop("description", None)
    for entry in saved["brainstorm"]["conversationLog"]:
        entry["role"] = USER if entry["role"] == PERSON else entry["role"]
    return saved


# -- from the file -------------------------------------------------------------------------------


def restored(saved: Saved) -> Restored:
    """The one event that a file amounts to. Raises InvalidInput with the dotted name of what it does not
    understand."""
    state_of(saved)
    return Restored(dict(saved))


def brings(event: Event) -> Saved | None:
    """The other workflow that an event puts in the place of the running one."""
    return event.saved if isinstance(event, NextBegun) else None


def state_of(saved: Saved) -> WorkflowState:
    beside = _converted(saved, _Beside)
    if not beside.user_description.strip():
        raise InvalidInput("userDescription", "is empty")
    if beside.phase not in _PHASES:
        raise InvalidInput("phase", f"{beside.phase[:80]!r} is none of {', '.join(_PHASES)}")
    fields = _without_nulls(saved) | {"phase": _PHASES[beside.phase], "brainstorm": _brainstorm(beside)}
    if beside.error:
        fields.setdefault("failure", {"kind": "", "message": beside.error})
    fields.pop("testsChosen", None)
    state = _converted(fields, WorkflowState)
    _check(state.brainstorm)
    return _possible(state)


def _brainstorm(beside: _Beside) -> Saved:
    fields = _without_nulls(beside.brainstorm or {})
    if fields.get("step") in (Step.QUESTIONS, Step.APPROACHES, Step.DESIGN):
        # Written by a program that knows no levels: the ordinary one.
        fields.setdefault("complexityLevel", "exploration")
    design = (beside.design_content or "").strip()
    if design and fields.get("designSections", []) == []:
        fields["designSections"] = [{"id": "s1", "title": "Design", "content": design, "status": "approved"}]
    for name, change in (("questions", _question), ("designSections", _section), ("conversationLog", _said)):
        fields[name] = _each(fields.get(name, ()), change)
    return fields | {"description": beside.user_description}


def _question(saved: Saved) -> Saved:
    return _without_nulls(saved) | ({"type": "text"} if saved.get("type") == "input" else {})


def _section(saved: Saved) -> Saved:
    return {**saved, "status": "approved" if saved.get("status") == "approved" else "pending"}


def _said(saved: Saved) -> Saved:
    return {**saved, "role": PERSON} if saved.get("role") == USER else saved


def _each(entries: Any, change: Callable[[Saved], Saved]) -> Any:
    """What is no list, or no object in it, stays: it is refused by the name that it has."""
    if not isinstance(entries, list | tuple):
        return entries
    return [change(entry) if isinstance(entry, Mapping) else entry for entry in entries]


def _without_nulls(saved: Saved) -> dict[str, Any]:
    return {name: value for name, value in saved.items() if value is not None}


def _converted(saved: Saved, kind: type[T]) -> T:
    try:
        return msgspec.convert(saved, kind)
    except msgspec.ValidationError as error:
        raise _refused(error) from None


def _refused(error: msgspec.ValidationError) -> InvalidInput:
    text = str(error)
    found = _AT.search(text)
    problem = text[: found.start()] if found else text
    missing = re.search(r"missing required field `(\w+)`", problem)
    field = found["field"] if found else ""
    if missing:
        field = f"{field}.{missing[1]}".lstrip(".")
    return InvalidInput(field or "workflow", msgspec_fault(problem))


def _check(state: BrainstormState) -> None:
    """What the steps rely on."""
    if state.complexity_level == "straightforward" and state.step in (Step.QUESTIONS, Step.APPROACHES):
        raise InvalidInput("brainstorm.step", f"there are no {state.step} at level straightforward")
    if state.picked_question and (
        state.step is not Step.QUESTIONS or not state.question(state.picked_question)
    ):
        raise InvalidInput("brainstorm.pickedQuestion", "is none of the questions that are asked now")
    for field, wish in (("request.wish", state.request and state.request.wish), ("writing", state.writing)):
        if wish and (state.step not in DISCUSS or state.is_due()):
            raise InvalidInput(f"brainstorm.{field}", f"there is nothing to {wish} yet")
        if wish == "revise" and state.step is not Step.DESIGN:
            raise InvalidInput(f"brainstorm.{field}", "only a design is revised")
    _check_roundtable(state)
    way = set(pairwise((*state.visited, state.step)))
    if not way <= _WAYS or (Step.TRIAGE in state.visited and state.triage is None):
        raise InvalidInput("brainstorm.visited", "is no way to the step that it is at")
    if state.chosen_approach and state.approaches and state.chosen is None:
        raise InvalidInput("brainstorm.chosenApproach", "is none of the approaches")
    if state.design_sections and not 0 <= state.current_section < len(state.design_sections):
        raise InvalidInput("brainstorm.currentSection", "is not the number of a section, from 0")
    named: dict[str, list[str]] = {
        "questions": [each.id for each in state.questions],
        "approaches": [each.id for each in state.approaches],
        "designSections": [each.id for each in state.design_sections],
    }
    for field, ids in named.items():
        if len(set(ids)) < len(ids):
            raise InvalidInput(f"brainstorm.{field}", "an id is there twice")


def _check_roundtable(state: BrainstormState) -> None:
    try:
        table = state.table
    except (IllegalMove, InvalidInput) as error:
        raise InvalidInput("brainstorm.roundtable", f"could not have happened like this: {error}") from None
    if state.roundtable and (table is None or table.step is RoundtableStep.CLOSED):
        raise InvalidInput("brainstorm.roundtable", "is not under way")


def _possible(state: WorkflowState) -> WorkflowState:
    """The state, or what comes closest to it among those that the flow can be in."""
    if state.uncommitted is None and state.set_aside:
        state = replace(state, set_aside="")
    if state.phase is Phase.BRAINSTORM and not state.brainstorm.finished:
        # Until the brainstorm is over, they are its own.
        talk = state.brainstorm
        parts = talk.batches or tuple(Part(each.title, each.description) for each in state.batches)
        return replace(state, brainstorm=replace(talk, batches=parts), batches=())
    if state.phase is Phase.BRAINSTORM:
        state = replace(state, phase=Phase.PLAN)
    if not state.batches:
        state = replace(state, batches=batches_of(state.brainstorm.parts))
    if not 0 <= state.current_batch < len(state.batches):
        raise InvalidInput(
            "currentBatchIndex", f"is not the number of one of {len(state.batches)} batches, from 0"
        )
    if state.phase is not Phase.PLAN:
        # What was split off is in the queue before anything is planned.
        state = replace(state, queued=tuple(state.rest))
    if state.phase in (Phase.REVIEW, Phase.EXECUTE) and not state.batch.change_id:
        return replace(state, phase=Phase.PLAN, verdict=None)
    approved = state.verdict == "APPROVED"
    if state.phase is Phase.EXECUTE and not approved:
        # Reviews always run: what has not been approved is reviewed first.
        return replace(state, phase=Phase.REVIEW, verdict=None)
    if state.phase is Phase.REVIEW and approved and state.plan is None and not state.revision_wanted:
        # Nobody has been asked yet whether it is to be built.
        return replace(state, layout_due=True)
    return state


# -- the queue -----------------------------------------------------------------------------------


class QueueChange(NamedTuple):
    """Ids of what has to leave the queue because the scope was changed again, and what the queue lacks."""

    remove: tuple[str, ...]
    add: tuple[Saved, ...]


def queue_change(state: WorkflowState) -> QueueChange:
    """Adding what is there already, and removing what is not, must change nothing."""
    noted = inherited(state) if state.rest else ()
    add = tuple(
        snapshot(
            WorkflowState(
                phase=Phase.BRAINSTORM,
                id=given_id,
                config=state.config,
                evidence=state.evidence,
                corrections=tuple(each for each in state.corrections if each.key.startswith(SAID)),
                brainstorm=BrainstormState(
                    description=f"{part.title}: {part.description}",
                    conversation_log=state.brainstorm.conversation_log,
                    noted=noted,
                ),
            )
        )
        for given_id, part in state.rest.items()
        if given_id not in state.queued
    )
    return QueueChange(tuple(each for each in state.queued if each not in state.rest), add)
