"""A workflow as workflow.json and queue.json keep it: state ⇄ plain JSON values.

The file is the truth, and people and other programs write into it too: what is missing gets its ordinary
value, what is not understood is refused with the dotted name of its field. No state is taken from a file that
the flow could not be in: above all, nothing is built whose plan has not been approved.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import msgspec

from moot.brainstorm.events import Part, Question, Section
from moot.brainstorm.replies import DISCUSS
from moot.brainstorm.state import BrainstormState, Step
from moot.core.conversation import PERSON, Conversation, Entry
from moot.errors import InvalidInput
from moot.text.faults import msgspec_fault
from moot.workflow.events import AttemptFailed, Batch, NextBegun, Restored, WorkflowEvent
from moot.workflow.fields import (
    ALWAYS,
    SavedFailure,
    SavedFields,
    SavedQuestion,
    SavedSaid,
    SavedSection,
    SavedTalk,
    SavedWorkflow,
)
from moot.workflow.state import Phase, WorkflowState

Saved = Mapping[str, Any]

USER = "user"
"""What the file calls the person."""
_PHASES = {
    "plan-draft": Phase.PLAN,
    "plan-write": Phase.PLAN,
    "plan-review": Phase.REVIEW,
    "configure": Phase.REVIEW,
}
"""Names that files of other programs have for ours."""
_QUESTION_TYPES = {"choice": "choice", "text": "text", "input": "text"}
_AT = re.compile(r" - at `(?:key in )?\$\.?(?P<field>[^`]*)`$")


# -- to the file ---------------------------------------------------------------------------------


def snapshot(state: WorkflowState) -> Saved:
    failure = state.failure
    saved = SavedWorkflow(
        phase=str(state.phase),
        user_description=state.brainstorm.description,
        config=dict(state.config),
        design_path=state.design_path,
        batches=state.batches or _pending(state.brainstorm.batches),
        current_batch_index=state.current_batch,
        total_cost_usd=state.total_cost,
        started_at=state.started_at,
        error=None if failure is None else failure.message,
        id=state.id,
        workspace_checked=state.checked,
        uncommitted=state.uncommitted,
        set_aside=state.set_aside,
        set_aside_problem=state.set_aside_problem,
        known_tree=state.known_tree,
        stashes=state.stashes,
        created_branch=state.branch,
        verdict=state.verdict,
        review_summary=state.review_summary,
        revisions=state.revisions,
        revision_wanted=state.revision_wanted,
        wishes=state.wishes,
        open_tasks=state.open_tasks,
        failed_task=state.failed_task,
        before_task=state.before_task,
        failed_with=state.failed_with,
        skipped=state.skipped,
        commenting=state.commenting,
        rolling_back=state.rolling_back,
        scouted=state.scouted,
        assessment=state.assessment,
        proposed_batches=state.proposed,
        adjusting=state.adjusting,
        adjustment=state.adjustment,
        queued=state.queued,
        from_queue=state.from_queue,
        waiting=state.waiting,
        next_chosen=state.next_chosen,
        failure=None
        if failure is None
        else SavedFailure(kind=failure.kind, message=failure.message, raw=failure.raw),
        stopped=state.stopped,
        happened=state.happened,
    )
    plain = _plain(saved, SavedWorkflow(phase="", user_description=""))
    return plain | {"brainstorm": _plain(_talk(state.brainstorm), SavedTalk())}


def _pending(parts: tuple[Part, ...]) -> tuple[Batch, ...]:
    return tuple(Batch(part.title, part.description) for part in parts)


def _plain(saved: SavedFields, default: SavedFields) -> dict[str, Any]:
    """Without what says nothing."""
    values, ordinary = msgspec.to_builtins(saved), msgspec.to_builtins(default)
    return {key: value for key, value in values.items() if key in ALWAYS or value != ordinary[key]}


def _talk(state: BrainstormState) -> SavedTalk:
    return SavedTalk(
        step=str(state.step),
        scout_output=state.scout_output,
        complexity_level=state.complexity_level,
        questions=tuple(
            SavedQuestion(
                id=each.id, text=each.text, type=each.type, options=each.options, answer=each.answer
            )
            for each in state.questions
        ),
        approaches=state.approaches,
        recommendation=state.recommendation,
        chosen_approach=state.chosen_approach,
        design_sections=tuple(
            SavedSection(id=each.id, title=each.title, content=each.content, status=each.status)
            for each in state.design_sections
        ),
        conversation_log=tuple(
            SavedSaid(
                role=USER if said.speaker == PERSON else said.speaker, step=said.step, content=said.content
            )
            for said in state.conversation
        ),
        scout_read=state.scout_read,
        triage=state.triage,
        batches=state.batches,
        splits=state.splits,
        because=state.because,
        questions_from=state.questions_from,
        approaches_from=state.approaches_from,
        design_from=state.design_from,
        current_section=state.current_section,
        visited=state.visited,
        gone_back_from=state.gone_back_from,
        picked_question=state.picked_question,
        writing=state.writing,
        request=state.request,
    )


# -- from the file -------------------------------------------------------------------------------


def restored(saved: Saved) -> Restored:
    """The one event that a file amounts to. Raises InvalidInput with the dotted name of what it does not
    understand."""
    state_of(saved)
    return Restored(dict(saved))


def brings(event: WorkflowEvent) -> Saved | None:
    """The other workflow that an event puts in the place of the running one."""
    return event.saved if isinstance(event, NextBegun) else None


def state_of(saved: Saved) -> WorkflowState:
    try:
        file = msgspec.convert(dict(saved), SavedWorkflow)
    except msgspec.ValidationError as error:
        raise _refused(error) from None
    if not file.user_description.strip():
        raise InvalidInput("userDescription", "is empty")
    failure = file.failure or (SavedFailure(kind="", message=file.error) if file.error else None)
    state = WorkflowState(
        phase=_phase(file.phase),
        id=file.id,
        config=file.config or {},
        started_at="" if file.started_at is None else file.started_at,
        brainstorm=_with_design(
            _brainstorm(file.brainstorm or SavedTalk(), file.user_description), file.design_content or ""
        ),
        design_path=file.design_path or "",
        batches=file.batches or (),
        current_batch=file.current_batch_index or 0,
        total_cost=file.total_cost_usd or 0.0,
        checked=file.workspace_checked,
        uncommitted=file.uncommitted,
        set_aside=file.set_aside if file.uncommitted is not None else "",
        set_aside_problem=file.set_aside_problem,
        known_tree=file.known_tree,
        stashes=file.stashes,
        branch=file.created_branch,
        verdict=file.verdict,
        review_summary=file.review_summary,
        revisions=file.revisions,
        revision_wanted=file.revision_wanted,
        wishes=file.wishes,
        open_tasks=file.open_tasks,
        failed_task=file.failed_task,
        before_task=file.before_task,
        failed_with=file.failed_with,
        skipped=file.skipped,
        commenting=file.commenting,
        rolling_back=file.rolling_back,
        scouted=file.scouted,
        assessment=file.assessment,
        proposed=file.proposed_batches,
        adjusting=file.adjusting,
        adjustment=file.adjustment,
        queued=file.queued,
        from_queue=file.from_queue,
        waiting=file.waiting,
        next_chosen=file.next_chosen,
        failure=None if failure is None else AttemptFailed(failure.kind, failure.message, failure.raw),
        stopped=file.stopped,
        happened=file.happened,
    )
    return _possible(state)


def _refused(error: msgspec.ValidationError) -> InvalidInput:
    text = str(error)
    found = _AT.search(text)
    problem = text[: found.start()] if found else text
    missing = re.search(r"missing required field `(\w+)`", problem)
    field = found["field"] if found else ""
    if missing:
        field = f"{field}.{missing[1]}".lstrip(".")
    return InvalidInput(field or "workflow", msgspec_fault(problem))


def _phase(name: str) -> Phase:
    known = {str(phase): phase for phase in Phase if phase is not Phase.UNOPENED} | _PHASES
    return known[_one_of("phase", name, known)]


def _one_of(field: str, name: str, known: Mapping[str, Any]) -> str:
    if name not in known:
        raise InvalidInput(field, f"{name[:80]!r} is none of {', '.join(known)}")
    return name


def _brainstorm(file: SavedTalk, description: str) -> BrainstormState:
    steps = {str(step): step for step in Step}

    def step(field: str, name: str) -> Step:
        return steps[_one_of(f"brainstorm.{field}", name, steps)]

    state = BrainstormState(
        step=step("step", file.step),
        description=description,
        scout_output=file.scout_output or "",
        scout_read=file.scout_read,
        triage=file.triage,
        complexity_level=file.complexity_level,
        batches=file.batches,
        splits=file.splits,
        questions=tuple(_question(n, each) for n, each in enumerate(file.questions or ())),
        questions_from=file.questions_from,
        approaches=file.approaches or (),
        approaches_from=file.approaches_from,
        recommendation=file.recommendation or "",
        because=file.because,
        chosen_approach=file.chosen_approach or "",
        design_sections=tuple(
            Section(each.id, each.title, each.content, "approved" if each.status == "approved" else "pending")
            for each in file.design_sections or ()
        ),
        design_from=file.design_from,
        current_section=file.current_section,
        visited=tuple(step(f"visited[{n}]", name) for n, name in enumerate(file.visited)),
        gone_back_from=tuple(step(f"goneBackFrom[{n}]", name) for n, name in enumerate(file.gone_back_from)),
        conversation=Conversation(
            tuple(
                Entry(PERSON if said.role == USER else said.role, said.step, said.content)
                for said in file.conversation_log or ()
            )
        ),
        picked_question=file.picked_question,
        writing=file.writing,
        request=file.request,
    )
    past_triage = state.step in (Step.QUESTIONS, Step.APPROACHES, Step.DESIGN)
    if past_triage and state.complexity_level is None:
        # Written by a program that knows no levels: the ordinary one.
        state = replace(state, complexity_level="exploration")
    _check(state)
    return state


def _with_design(state: BrainstormState, content: str) -> BrainstormState:
    """Another tool has the design that the person approved in one piece."""
    if not content.strip() or state.design_sections:
        return state
    return replace(state, design_sections=(Section("s1", "Design", content.strip(), "approved"),))


def _question(number: int, file: SavedQuestion) -> Question:
    kind = _QUESTION_TYPES[_one_of(f"brainstorm.questions[{number}].type", file.type, _QUESTION_TYPES)]
    saved = {"id": file.id, "text": file.text, "type": kind, "options": file.options or ()}
    return msgspec.convert(saved | {"answer": file.answer or ""}, Question)


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
    order = list(Step)
    way = [order.index(step) for step in (*state.visited, state.step)]
    if way != sorted(set(way)) or Step.SCOUT in state.visited:
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


def _possible(state: WorkflowState) -> WorkflowState:
    """The state, or what comes closest to it among those that the flow can be in."""
    if state.phase is Phase.BRAINSTORM and not state.brainstorm.finished:
        # Until the brainstorm is over, they are its own.
        talk = state.brainstorm
        parts = talk.batches or tuple(Part(each.title, each.description) for each in state.batches)
        return replace(state, brainstorm=replace(talk, batches=parts), batches=())
    if state.phase is Phase.BRAINSTORM:
        state = replace(state, phase=Phase.PLAN)
    if not state.batches:
        talk = state.brainstorm
        state = replace(state, batches=_pending(talk.batches or (Part(talk.title, talk.subject),)))
    if not 0 <= state.current_batch < len(state.batches):
        raise InvalidInput(
            "currentBatchIndex", f"is not the number of one of {len(state.batches)} batches, from 0"
        )
    if state.phase in (Phase.REVIEW, Phase.EXECUTE) and not state.batch.change_id:
        return replace(state, phase=Phase.PLAN, verdict=None)
    approved = state.verdict == "APPROVED"
    if state.phase is Phase.EXECUTE and not approved:
        # Reviews always run: what has not been approved is reviewed first.
        return replace(state, phase=Phase.REVIEW, verdict=None)
    if state.phase is Phase.REVIEW and approved:
        return replace(state, phase=Phase.EXECUTE)
    return state


# -- the queue -----------------------------------------------------------------------------------


class QueueChange(NamedTuple):
    """Ids of what has to leave the queue because the scope was changed again, and what the queue lacks."""

    remove: tuple[str, ...]
    add: tuple[Saved, ...]


def queue_change(state: WorkflowState) -> QueueChange:
    """Adding what is there already, and removing what is not, must change nothing."""
    add = tuple(
        snapshot(
            WorkflowState(
                Phase.BRAINSTORM,
                given_id,
                state.config,
                brainstorm=BrainstormState(description=f"{part.title}: {part.description}"),
            )
        )
        for given_id, part in state.rest.items()
        if given_id not in state.queued
    )
    return QueueChange(tuple(each for each in state.queued if each not in state.rest), add)
