"""The analysis of an item, step by step, with a roundtable at every step boundary.

A step: its persona opens it and asks, the person answers, what that amounts to is assessed, what is missing is
asked for as often as the depth allows, the artifacts are written, and only then the menu shows. Roundtables
are a flow of their own within this one: their events are in the same log.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from moot.errors import IllegalMove, InvalidInput
from moot.flows import analysis_menu, roundtable, roundtable_asking
from moot.flows.analysis_events import (
    MAX_ANSWER,
    AnalysisEvent,
    AnalysisOpened,
    AnswerGiven,
    BoardAnswered,
    FeedbackGiven,
    FeedbackTaken,
    FeedbackWritten,
    ImpactLooked,
    MenuChosen,
    ModelFailed,
    QuestionPut,
    StepAssessed,
    StepCompleted,
    StepOpened,
    TriedAgain,
    WorkspaceScanned,
)
from moot.flows.analysis_state import (
    FOLLOW_UPS,
    IMPACT_PHASE,
    SCAN_PHASE,
    AnalysisState,
    Elaboration,
    Step,
    StepRecord,
)
from moot.flows.flow import (
    AskPerson,
    AskPersona,
    CarriedOut,
    CarryOut,
    Drafted,
    DraftFailed,
    DraftReply,
    Effect,
    Event,
    Flow,
    NotCarriedOut,
    Outcome,
    PersonaFailed,
    PersonAnswered,
    PersonaSpoke,
)
from moot.flows.roundtable_events import RoundtableEvent
from moot.flows.roundtable_state import RoundtableState
from moot.flows.roundtable_state import Step as RoundtableStep
from moot.texts.depth import depth_in

OPEN, ASSESS, FEEDBACK = "analysis/open", "analysis/assess", "analysis/feedback"
"""Names of prompts."""
SCAN, IMPACT, WRITE, AMEND, BOARD = (
    f"analysis/{what}" for what in ("scan", "impact", "write", "amend", "board")
)
"""What the program is asked to do."""

_ROUNDTABLE_EVENTS: tuple[type[Event], ...] = tuple(kind for _, kind in roundtable.TRANSITIONS)

_WHERE_MODELS_ARE_ASKED = (Step.OPENING, Step.ASSESSING, Step.FEEDBACK, Step.BOARD)
_FOLLOWING = (Step.SCANNING, Step.LOOKING, Step.OPENING, Step.FINISHED)

TRANSITIONS: dict[tuple[Step, type[Event]], tuple[Step, ...]] = {
    (Step.UNOPENED, AnalysisOpened): _FOLLOWING,
    (Step.SCANNING, WorkspaceScanned): (Step.OPENING,),
    (Step.LOOKING, ImpactLooked): (Step.OPENING,),
    (Step.OPENING, StepOpened): (Step.ANSWERING,),
    (Step.ANSWERING, AnswerGiven): (Step.ASSESSING,),
    (Step.ASSESSING, StepAssessed): (Step.ANSWERING, Step.WRITING),
    (Step.WRITING, StepCompleted): (Step.MENU,),
    (Step.MENU, MenuChosen): (Step.ROUNDTABLE, Step.CHOOSING, *_FOLLOWING),
    (Step.MENU, FeedbackGiven): (Step.FEEDBACK,),
    (Step.FEEDBACK, FeedbackTaken): (Step.AMENDING,),
    (Step.AMENDING, FeedbackWritten): (Step.MENU,),
    **{(Step.ROUNDTABLE, kind): (Step.ROUNDTABLE, Step.MENU) for kind in _ROUNDTABLE_EVENTS},
    (Step.CHOOSING, QuestionPut): (Step.BOARD, Step.MENU),
    (Step.BOARD, BoardAnswered): (Step.MENU,),
    **{(step, ModelFailed): (step,) for step in _WHERE_MODELS_ARE_ASKED},
    **{(step, TriedAgain): (step,) for step in _WHERE_MODELS_ARE_ASKED},
}
"""Which event may happen where, and the steps that it can lead to: which of them follows from the state."""


# -- advance -------------------------------------------------------------------------------------


def advance(state: AnalysisState, event: AnalysisEvent) -> AnalysisState:
    if (state.step, type(event)) not in TRANSITIONS:
        allowed = tuple(kind.__name__ for at, kind in TRANSITIONS if at is state.step)
        raise IllegalMove(type(event).__name__, state.step, allowed)
    return replace(_advanced(state, event), happened=state.happened + 1)


def _advanced(state: AnalysisState, event: AnalysisEvent) -> AnalysisState:
    match event:
        case AnalysisOpened():
            return _opened(event)
        case WorkspaceScanned(found, depth):
            return _at_opening(replace(state, scan=found, active_depth=state.active_depth or depth))
        case ImpactLooked(found):
            return _at_opening(replace(state, impact=found))
        case ModelFailed():
            return replace(state, failure=event)
        case TriedAgain():
            if state.failure is None:
                raise IllegalMove(type(event).__name__, state.step)
            return replace(state, failure=None)
        case MenuChosen(key):
            return _chosen(state, key)
        case QuestionPut(question):
            if question and question not in state.open_questions:
                raise InvalidInput("question", "it is none of the open ones")
            return replace(state, board_question=question, step=Step.BOARD if question else Step.MENU)
        case BoardAnswered(question):
            answered = state.answered_questions | {question}
            return replace(state, answered_questions=answered, board_question="", step=Step.MENU)
        case (
            StepOpened() | AnswerGiven() | StepAssessed() | StepCompleted() | FeedbackGiven()
            | FeedbackTaken() | FeedbackWritten()
        ):  # fmt: skip
            return _in_step(state, event)
        case _:
            return _in_roundtable(state, event)


def _opened(event: AnalysisOpened) -> AnalysisState:
    if not event.steps:
        raise InvalidInput("steps", "there are none to analyse by")
    state = AnalysisState(
        slug=event.slug,
        title=event.title,
        description=event.description,
        model=event.model,
        steps=event.steps,
        voices=event.voices,
        completed=event.completed,
        depth_overrides=event.depth_overrides,
        warnings=event.warnings,
    )
    return _to_next(state)


def _to_next(state: AnalysisState) -> AnalysisState:
    """On to the next step that is due. Before the first of some phases, the program looks for itself."""
    following = state.next_due
    if following is None:
        return replace(state, step=Step.FINISHED, current=None)
    if following.phase == SCAN_PHASE and not state.scan:
        return replace(state, step=Step.SCANNING, current=None)
    if following.phase == IMPACT_PHASE and not state.impact:
        return replace(state, step=Step.LOOKING, current=None)
    return _at_opening(state)


def _at_opening(state: AnalysisState) -> AnalysisState:
    ref = state.next_due
    assert ref is not None
    return replace(state, step=Step.OPENING, current=StepRecord(ref, state.depth_of(ref)), question="")


def _in_step(state: AnalysisState, event: Any) -> AnalysisState:
    record = state.current
    assert record is not None
    if getattr(event, "step", record.ref.id) != record.ref.id:
        raise IllegalMove(type(event).__name__, f"{state.step} of {record.ref.id}")
    match event:
        case StepOpened(_, text, spoken):
            current = replace(record, opening=text)
            return _billed(replace(state, step=Step.ANSWERING, current=current, question=text), spoken)
        case AnswerGiven(_, text):
            _check(text)
            current = replace(record, exchanges=(*record.exchanges, (state.question, text)))
            return _heard(replace(state, step=Step.ASSESSING, current=current, question=""), text)
        case StepAssessed(_, summary, contents, _, follow_up, spoken):
            asked = len(record.exchanges) - 1
            current = replace(record, summary=summary, contents=contents)
            goes_on = bool(follow_up.strip()) and asked < FOLLOW_UPS[record.depth]
            step = Step.ANSWERING if goes_on else Step.WRITING
            question = follow_up if goes_on else ""
            return _billed(replace(state, step=step, current=current, question=question), spoken)
        case StepCompleted(step):
            return replace(
                state, step=Step.MENU, completed=(*state.completed, step), done=(*state.done, record)
            )
        case FeedbackGiven(text):
            _check(text)
            return _heard(replace(state, step=Step.FEEDBACK, pending_feedback=text), text)
        case FeedbackTaken(reply, contents, spoken):
            feedback = (*record.feedback, (state.pending_feedback, reply, contents))
            current = replace(record, feedback=feedback)
            state = replace(state, step=Step.AMENDING, current=current, done=(*state.done[:-1], current))
            return _billed(replace(state, pending_feedback=""), spoken)
        case _:
            return replace(state, step=Step.MENU)


def _check(text: str) -> None:
    if not text.strip():
        raise InvalidInput("answer", "say something, or a few words such as: not known yet")
    if len(text) > MAX_ANSWER:
        raise InvalidInput("answer", f"has {len(text)} characters; at most {MAX_ANSWER}")


def _heard(state: AnalysisState, text: str) -> AnalysisState:
    """What a person writes can ask for another depth, from there on."""
    return replace(state, active_depth=depth_in(text) or state.active_depth)


def _billed(state: AnalysisState, spoken: Any) -> AnalysisState:
    return state if spoken is None else replace(state, bills=(*state.bills, spoken))


def _chosen(state: AnalysisState, key: str) -> AnalysisState:
    if key not in {option.key for option in analysis_menu.options(state)}:
        raise InvalidInput("choice", f"{key!r} is not offered here")
    record = state.current
    assert record is not None
    match key:
        case "E":
            return replace(state, step=Step.ROUNDTABLE, roundtable=RoundtableState())
        case "B":
            return replace(state, step=Step.CHOOSING)
        case "S":
            return _to_next(replace(state, skipped_phases=state.skipped_phases | {record.ref.phase}))
        case _:
            return _to_next(state)


def _in_roundtable(state: AnalysisState, event: RoundtableEvent) -> AnalysisState:
    assert state.roundtable is not None
    assert state.current is not None
    table = roundtable.advance(state.roundtable, event)
    if table.step is not RoundtableStep.CLOSED:
        return replace(state, roundtable=table)
    state = replace(state, step=Step.MENU, roundtable=None, bills=(*state.bills, *table.bills))
    if table.synthesis is None:
        return state
    questions = tuple(open_question.question for open_question in table.synthesis.open_questions)
    assert state.current is not None
    ended = Elaboration(state.current.ref.id, table.synthesis.one_line, questions)
    return replace(state, elaborations=(*state.elaborations, ended))


# -- pending -------------------------------------------------------------------------------------


def pending(state: AnalysisState) -> tuple[Effect, ...]:
    if state.failure is not None:
        return (analysis_menu.ask_about_failure(state),)
    occasion = str(state.happened)
    record = state.current
    match state.step:
        case Step.SCANNING:
            return (CarryOut(SCAN, occasion),)
        case Step.LOOKING:
            return (CarryOut(IMPACT, occasion),)
        case Step.OPENING:
            assert record is not None
            return (AskPersona(record.ref.persona, OPEN, occasion),)
        case Step.ANSWERING:
            assert record is not None
            return (AskPerson(record.ref.id, "your answer", occasion),)
        case Step.ASSESSING:
            return (DraftReply(ASSESS, occasion),)
        case Step.WRITING:
            return (CarryOut(WRITE, occasion),)
        case Step.MENU:
            return (analysis_menu.ask_at_menu(state),)
        case Step.FEEDBACK:
            return (DraftReply(FEEDBACK, occasion),)
        case Step.AMENDING:
            return (CarryOut(AMEND, occasion),)
        case Step.ROUNDTABLE:
            assert state.roundtable is not None
            return roundtable_asking.pending(state.roundtable)
        case Step.CHOOSING:
            return (analysis_menu.ask_for_question(state),)
        case Step.BOARD:
            return (CarryOut(BOARD, occasion),)
        case _:
            return ()


# -- record --------------------------------------------------------------------------------------


def record(state: AnalysisState, effect: Effect, outcome: Outcome) -> AnalysisEvent:
    if state.step is Step.ROUNDTABLE:
        assert state.roundtable is not None
        return roundtable_asking.record(state.roundtable, effect, outcome)
    at = state.current.ref.id if state.current else ""
    match effect, outcome:
        case AskPerson(), PersonAnswered(text):
            return analysis_menu.answered(state, text.strip())
        case _, PersonaFailed(kind, message) | NotCarriedOut(kind, message):
            return ModelFailed(kind, message)
        case _, DraftFailed(kind, message, raw):
            return ModelFailed(kind, message, raw)
        case AskPersona(), PersonaSpoke(text, spoken):
            return StepOpened(at, text, spoken)
        case DraftReply(prompt), Drafted(value, spoken):
            if prompt == ASSESS:
                return StepAssessed(
                    at,
                    str(value["summary"]),
                    dict(value["contents"]),
                    tuple(value["missing"]),
                    str(value["follow_up"]),
                    spoken,
                )
            return FeedbackTaken(str(value["reply"]), dict(value["contents"]), spoken)
        case CarryOut(what), CarriedOut(value):
            return _carried_out(state, what, value, at)
        case _:
            raise AssertionError(f"{effect} cannot lead to {outcome}")


def _carried_out(state: AnalysisState, what: str, value: Any, at: str) -> AnalysisEvent:
    match what:
        case "analysis/scan":
            return WorkspaceScanned(value["found"], value["depth"])
        case "analysis/impact":
            return ImpactLooked(value["found"])
        case "analysis/write":
            return StepCompleted(at, tuple(value["files"]), value.get("message", ""))
        case "analysis/amend":
            return FeedbackWritten(tuple(value["files"]))
        case _:
            return BoardAnswered(
                state.board_question,
                value["session"],
                value["file"],
                value["recommendation"],
                value.get("message", ""),
            )


ANALYSIS: Flow[AnalysisState, AnalysisEvent] = Flow(
    "analysis", AnalysisState(), AnalysisEvent, advance, pending, record
)
