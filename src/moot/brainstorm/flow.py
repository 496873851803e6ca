"""The brainstorm: scout, triage, questions, approaches, design, and a conversation at each of them.

The level that the person confirms decides how much of it takes place, and how many questions and sections a
reply may have. It is part of a workflow: opening, failing, stopping and resuming are the workflow's business,
and its events are in the workflow's log.
"""

from __future__ import annotations

import dataclasses
from typing import Any, get_args

from msgspec.structs import replace

from moot.brainstorm import checks, ledger, rounds
from moot.brainstorm import text as words
from moot.brainstorm.effects import ConveneBoard, LookAtCode, ScoutWorkspace
from moot.brainstorm.events import (
    DEFERRED,
    ApproachesDiscussed,
    ApproachesDrafted,
    BrainstormReply,
    BrainstormResult,
    CodeFound,
    Consulted,
    DesignDiscussed,
    DesignDrafted,
    Level,
    QuestionsDiscussed,
    QuestionsDrafted,
    ScoutReported,
    SectionsRevised,
    TriageDiscussed,
    TriageDrafted,
)
from moot.brainstorm.menu import (
    AnswerGiven,
    AnswersClosed,
    ApproachChosen,
    BrainstormDecision,
    GoneBack,
    LevelConfirmed,
    PlanningChosen,
    PreviousSectionShown,
    QuestionPicked,
    RequestMade,
    RequestWithdrawn,
    ScopeKeptWhole,
    SectionsApproved,
    WritingBegun,
    WritingDropped,
)
from moot.brainstorm.replies import APPROACHES, DESIGN, DISCUSS, QUESTIONS, REVISE, TRIAGE
from moot.brainstorm.state import BrainstormState, Situation, Step
from moot.core.flow import DraftReply, Effect, Table, Task, check_step, next_step
from moot.errors import IllegalMove, InvalidInput
from moot.roundtable import effects as roundtable_effects
from moot.roundtable.effects import OpenRoundtable
from moot.roundtable.events import ElaborationRecorded, HeldEvent
from moot.roundtable.state import RoundtableState

BrainstormEvent = BrainstormResult | BrainstormDecision | HeldEvent

_AT_QUESTIONS = (Situation.ASKING, Situation.AT_QUESTIONS)
_AT_APPROACHES = (Situation.WEIGHING, Situation.AT_APPROACHES)
_AT_DESIGN = (Situation.DESIGNING, Situation.AT_DESIGN)
_DISCUSSING = {
    Situation.AT_TRIAGE: Situation.DISCUSSING_TRIAGE,
    Situation.AT_QUESTIONS: Situation.DISCUSSING_QUESTIONS,
    Situation.AT_APPROACHES: Situation.DISCUSSING_APPROACHES,
    Situation.AT_DESIGN: Situation.DISCUSSING_DESIGN,
}
_MENUS = tuple(_DISCUSSING)
_CONSULTING = (Situation.CONVENING, Situation.AT_ROUNDTABLE)
_FIRST_DRAFTS = (Situation.TRIAGING, Situation.ASKING, Situation.WEIGHING, Situation.DESIGNING)
_REPLYING = (*_FIRST_DRAFTS, *_DISCUSSING.values(), Situation.REVISING, *_CONSULTING)
"""Somebody is asked, who has to see the code first."""

TRANSITIONS: Table = {
    (Situation.SCOUTING, ScoutReported): Situation.TRIAGING,
    **{(at, CodeFound): at for at in _REPLYING},
    (Situation.TRIAGING, TriageDrafted): Situation.AT_TRIAGE,
    (Situation.AT_TRIAGE, ScopeKeptWhole): Situation.AT_TRIAGE,
    (Situation.AT_TRIAGE, LevelConfirmed): (*_AT_QUESTIONS, *_AT_DESIGN),
    (Situation.AT_TRIAGE, PlanningChosen): Situation.DONE,
    (Situation.ASKING, QuestionsDrafted): Situation.AT_QUESTIONS,
    (Situation.AT_QUESTIONS, QuestionPicked): Situation.ANSWERING,
    # Whoever takes answers back may have too few for the level: then there are new questions.
    **{(at, AnswerGiven): _AT_QUESTIONS for at in (Situation.AT_QUESTIONS, Situation.ANSWERING)},
    (Situation.ANSWERING, WritingDropped): _AT_QUESTIONS,
    (Situation.AT_QUESTIONS, AnswersClosed): _AT_APPROACHES,
    (Situation.WEIGHING, ApproachesDrafted): Situation.AT_APPROACHES,
    (Situation.AT_APPROACHES, ApproachChosen): _AT_DESIGN,
    (Situation.DESIGNING, DesignDrafted): Situation.AT_DESIGN,
    (Situation.AT_DESIGN, SectionsApproved): (Situation.AT_DESIGN, Situation.DONE),
    (Situation.AT_DESIGN, PreviousSectionShown): Situation.AT_DESIGN,
    **{(menu, WritingBegun): Situation.WRITING for menu in _MENUS},
    (Situation.WRITING, WritingDropped): _MENUS,
    **{(menu, RequestMade): (discussing, *_CONSULTING) for menu, discussing in _DISCUSSING.items()},
    (Situation.AT_DESIGN, RequestMade): (Situation.DISCUSSING_DESIGN, Situation.REVISING, *_CONSULTING),
    (Situation.WRITING, RequestMade): (*_DISCUSSING.values(), Situation.REVISING, *_CONSULTING),
    **{(discussing, RequestWithdrawn): menu for menu, discussing in _DISCUSSING.items()},
    (Situation.REVISING, RequestWithdrawn): Situation.AT_DESIGN,
    **{(at, RequestWithdrawn): _MENUS for at in _CONSULTING},
    (Situation.DISCUSSING_TRIAGE, TriageDiscussed): Situation.AT_TRIAGE,
    (Situation.DISCUSSING_QUESTIONS, QuestionsDiscussed): Situation.AT_QUESTIONS,
    (Situation.DISCUSSING_APPROACHES, ApproachesDiscussed): Situation.AT_APPROACHES,
    (Situation.DISCUSSING_DESIGN, DesignDiscussed): Situation.AT_DESIGN,
    (Situation.REVISING, SectionsRevised): Situation.AT_DESIGN,
    (Situation.CONVENING, Consulted): _MENUS,
    **{(Situation.AT_ROUNDTABLE, kind): Situation.AT_ROUNDTABLE for kind in get_args(HeldEvent)},
    (Situation.AT_ROUNDTABLE, ElaborationRecorded): _MENUS,
    **{(at, GoneBack): Situation.AT_TRIAGE for at in _AT_QUESTIONS},
    **{(at, GoneBack): _AT_QUESTIONS for at in _AT_APPROACHES},
    **{(at, GoneBack): (Situation.AT_TRIAGE, *_AT_APPROACHES) for at in _AT_DESIGN},
}
"""Which event may happen where, and what it can lead to: which of them follows from the state."""

# -- advance -------------------------------------------------------------------------------------


def advance(state: BrainstormState, event: BrainstormEvent) -> BrainstormState:
    target = next_step(TRANSITIONS, state.situation, event)
    changed = _note_reading(_change(state, event), event)
    check_step(target, changed.situation)
    return changed


def _note_reading(state: BrainstormState, event: BrainstormEvent) -> BrainstormState:
    """What a reply was made from stays with it; the code itself goes, for it may be another by the next."""
    if state.situation in _REPLYING and not isinstance(event, BrainstormReply):
        return state
    if isinstance(event, BrainstormReply):
        *before, last = state.conversation_log
        read = tuple(dict.fromkeys((*(one.name for one in state.code), *event.spoken.looked_at)))
        state = replace(state, conversation_log=(*before, replace(last, read=read)))
    return replace(state, code=(), code_from="")


def _change(state: BrainstormState, event: BrainstormEvent) -> BrainstormState:
    if isinstance(event, HeldEvent):
        return rounds.hold(state, event)
    match event:
        case ScoutReported(output, read):
            checks.scout(output)
            return replace(state, step=Step.TRIAGE, scout_output=output, scout_read=read, triage=None)
        case CodeFound(code):
            return state.with_code(code)
        case TriageDrafted() | ScopeKeptWhole() | LevelConfirmed() | PlanningChosen():
            return _at_triage(state, event)
        case QuestionsDrafted() | QuestionPicked() | AnswerGiven() | AnswersClosed():
            return _at_questions(state, event)
        case ApproachesDrafted(approaches, recommendation, because):
            checks.approaches(approaches, recommendation)
            said = words.approaches(approaches, recommendation, because)
            return rounds.say(rounds.with_approaches(state, approaches, recommendation, because), said)
        case ApproachChosen(approach):
            if state.approach(approach) is None:
                raise InvalidInput("approach", f"{approach!r} is none of those offered")
            return _move_on(replace(state, chosen_approach=approach), Step.DESIGN)
        case DesignDrafted() | SectionsApproved() | PreviousSectionShown():
            return _at_design(state, event)
        case GoneBack():
            gone = (*(step for step in state.gone_back_from if step is not state.step), state.step)
            return replace(state, step=state.visited[-1], visited=state.visited[:-1], gone_back_from=gone)
        case WritingBegun() | WritingDropped() | RequestMade():
            return rounds.begin(state, event)
        case _:
            return rounds.end(state, event)


def _at_triage(
    state: BrainstormState, event: TriageDrafted | ScopeKeptWhole | LevelConfirmed | PlanningChosen
) -> BrainstormState:
    match event:
        case TriageDrafted(proposal):
            checks.triage(proposal)
            return rounds.say(replace(state, triage=proposal), words.triage(proposal))
        case ScopeKeptWhole():
            if state.triage is None or not (state.triage.batches or state.triage.splits):
                raise IllegalMove(type(event).__name__, state.situation)
            noted = ledger.note_kept_whole(state)
            return replace(noted, triage=replace(state.triage, batches=(), splits=()))
        case LevelConfirmed(level):
            return _confirm(state, level, Step.DESIGN if level == "straightforward" else Step.QUESTIONS)
        case PlanningChosen():
            return _confirm(state, state.level_at_hand, Step.DONE)


def _confirm(state: BrainstormState, level: Level, step: Step) -> BrainstormState:
    assert state.triage is not None
    batches, splits = state.triage.batches, state.triage.splits
    return _move_on(replace(state, complexity_level=level, batches=batches, splits=splits), step)


def _at_questions(
    state: BrainstormState, event: QuestionsDrafted | QuestionPicked | AnswerGiven | AnswersClosed
) -> BrainstormState:
    match event:
        case QuestionsDrafted(drafted):
            checks.drafted_questions(state, drafted)
            asked = (*(each for each in state.questions if each.answered), *drafted)
            return rounds.say(rounds.with_questions(state, asked), words.questions(drafted))
        case QuestionPicked(wanted):
            _check_question(state, wanted)
            return replace(state, picked_question=wanted)
        case AnswerGiven(wanted, answer):
            _check_question(state, wanted)
            if state.picked_question not in ("", wanted):
                raise IllegalMove(type(event).__name__, f"{state.situation}, {state.picked_question}")
            checks.text("answer", answer)
            answered = tuple(
                replace(each, answer=answer) if each.id == wanted else each for each in state.questions
            )
            return replace(state, questions=answered, picked_question="")
        case AnswersClosed():
            closed = tuple(
                each if each.answered else replace(each, answer=DEFERRED) for each in state.questions
            )
            return _move_on(replace(state, questions=closed), Step.APPROACHES)


def _at_design(
    state: BrainstormState, event: DesignDrafted | SectionsApproved | PreviousSectionShown
) -> BrainstormState:
    match event:
        case DesignDrafted(drafted):
            checks.design(state, drafted)
            made = replace(state, design_sections=drafted, design_from=state.design_basis, current_section=0)
            return rounds.say(made, words.sections(drafted))
        case SectionsApproved(approved):
            return _approve(state, approved)
        case PreviousSectionShown():
            if not state.has_previous_section:
                raise IllegalMove(type(event).__name__, f"{state.situation}, the first section")
            return replace(state, current_section=state.current_section - 1)


def _approve(state: BrainstormState, approved: tuple[str, ...]) -> BrainstormState:
    """On to the next section that is not approved, or to the end."""
    there = {each.id for each in state.design_sections}
    shown = {each.id for each in state.shown_sections}
    if not set(approved) <= there or not shown <= set(approved):
        raise InvalidInput("sections", "what is shown can be approved, alone or with all others")
    sections = tuple(
        replace(each, status="approved") if each.id in approved else each for each in state.design_sections
    )
    state = replace(state, design_sections=sections)
    at, count = state.current_section, len(sections)
    waiting = [n for n in (*range(at + 1, count), *range(at)) if sections[n].status != "approved"]
    return replace(state, current_section=waiting[0]) if waiting else _move_on(state, Step.DONE)


def _move_on(state: BrainstormState, step: Step) -> BrainstormState:
    return replace(state, step=step, visited=(*state.visited, state.step))


def _check_question(state: BrainstormState, wanted: str) -> None:
    if not wanted or state.question(wanted) is None:
        raise InvalidInput("question", f"{wanted!r} is none of those asked")


# -- pending -------------------------------------------------------------------------------------

_TASKS: dict[Situation, type[Task[Any]]] = {
    Situation.SCOUTING: ScoutWorkspace,
    Situation.CONVENING: ConveneBoard,
}
_DRAFTS = {
    Situation.TRIAGING: TRIAGE,
    Situation.ASKING: QUESTIONS,
    Situation.WEIGHING: APPROACHES,
    Situation.DESIGNING: DESIGN,
    Situation.DISCUSSING_TRIAGE: DISCUSS[Step.TRIAGE],
    Situation.DISCUSSING_QUESTIONS: DISCUSS[Step.QUESTIONS],
    Situation.DISCUSSING_APPROACHES: DISCUSS[Step.APPROACHES],
    Situation.DISCUSSING_DESIGN: DISCUSS[Step.DESIGN],
    Situation.REVISING: REVISE,
}


def pending(state: BrainstormState, key: str) -> tuple[Effect, ...]:
    """What is asked of models and of the program; what is asked of the person is in the menu."""
    situation, table = state.situation, state.table
    if situation in _REPLYING and state.code_is_due and (table is None or table.table is None):
        return (LookAtCode(key),)
    if situation in _TASKS:
        return (_TASKS[situation](key),)
    if situation in _DRAFTS:
        return (DraftReply(_DRAFTS[situation], key),)
    return () if table is None else _at_roundtable(table, key)


def _at_roundtable(table: RoundtableState, key: str) -> tuple[Effect, ...]:
    """It is opened under the key that it was asked for with. From then on each of its keys begins with that,
    so that no two roundtables of a workflow ask for the same."""
    if table.table is None:
        return (OpenRoundtable(key),)
    asked = roundtable_effects.pending(table)
    return tuple(dataclasses.replace(effect, key=f"{table.opened.at}.{effect.key}") for effect in asked)
