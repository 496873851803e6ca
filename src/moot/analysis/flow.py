"""The analysis of an item, step by step, with a roundtable at every step boundary.

A step: its persona opens it and asks, the person answers, what that amounts to is assessed, what is missing
is asked for as often as the depth allows, the artifacts are written, and only then the menu shows.
Roundtables are a flow of their own within this one: their events are in the same log.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from moot.analysis import menu
from moot.analysis.effects import pending, record
from moot.analysis.events import (
    KEPT_AS,
    MAX_ANSWER,
    AnalysisEvent,
    AnalysisOpened,
    AnswerGiven,
    AnswerRead,
    BoardAnswered,
    BoardCalled,
    FeedbackGiven,
    FeedbackTaken,
    FeedbackWritten,
    ImpactLooked,
    MenuChosen,
    ModelFailed,
    QuestionPut,
    SkippedTakenUp,
    StepAssessed,
    StepCompleted,
    StepOpened,
    StepsRead,
    TriedAgain,
    Wish,
    Withdrawn,
    WorkspaceScanned,
)
from moot.analysis.state import (
    FOLLOW_UPS,
    IMPACT_PHASE,
    SCAN_PHASE,
    WITHDRAWABLE,
    AnalysisState,
    AskedBack,
    Elaboration,
    Step,
    StepRecord,
)
from moot.core.flow import Event, Flow
from moot.errors import IllegalMove, InvalidInput
from moot.roundtable import flow as roundtable_flow
from moot.roundtable.events import RoundtableEvent
from moot.roundtable.state import RoundtableState
from moot.roundtable.state import Step as RoundtableStep
from moot.text.depth import depth_once_read

_ROUNDTABLE_EVENTS: tuple[type[Event], ...] = tuple(kind for _, kind in roundtable_flow.TRANSITIONS)

_WHERE_MODELS_ARE_ASKED = (
    Step.OPENING,
    Step.READING,
    Step.ASSESSING,
    Step.FEEDBACK,
    Step.CALLING,
    Step.BOARD,
)
_FOLLOWING = (Step.SCANNING, Step.LOOKING, Step.OPENING, Step.FINISHED)

TRANSITIONS: dict[tuple[Step, type[Event]], tuple[Step, ...]] = {
    (Step.UNOPENED, AnalysisOpened): _FOLLOWING,
    (Step.SCANNING, WorkspaceScanned): _FOLLOWING,
    (Step.LOOKING, ImpactLooked): _FOLLOWING,
    (Step.OPENING, StepsRead): _FOLLOWING,
    (Step.OPENING, StepOpened): (Step.ANSWERING,),
    (Step.ANSWERING, AnswerGiven): (Step.READING, Step.ASSESSING),
    (Step.READING, AnswerRead): (Step.ANSWERING, Step.ASSESSING),
    (Step.ASSESSING, StepAssessed): (Step.ANSWERING, Step.WRITING),
    (Step.WRITING, StepCompleted): (Step.MENU,),
    (Step.MENU, MenuChosen): (Step.ROUNDTABLE, Step.CHOOSING, *_FOLLOWING),
    (Step.MENU, FeedbackGiven): (Step.FEEDBACK,),
    (Step.FEEDBACK, FeedbackTaken): (Step.AMENDING,),
    (Step.AMENDING, FeedbackWritten): (Step.MENU,),
    **{(Step.ROUNDTABLE, kind): (Step.ROUNDTABLE, Step.MENU) for kind in _ROUNDTABLE_EVENTS},
    (Step.CHOOSING, QuestionPut): (Step.CALLING, Step.MENU),
    (Step.CALLING, BoardCalled): (Step.BOARD,),
    (Step.BOARD, BoardAnswered): (Step.MENU,),
    **{(step, ModelFailed): (step,) for step in _WHERE_MODELS_ARE_ASKED},
    **{(step, TriedAgain): (step,) for step in _WHERE_MODELS_ARE_ASKED},
    **{(step, Withdrawn): (Step.MENU,) for step in WITHDRAWABLE},
    (Step.FINISHED, SkippedTakenUp): _FOLLOWING,
    (Step.FINISHED, StepsRead): _FOLLOWING,
}
"""Which event may happen where, and the steps that it can lead to: which of them follows from the state."""


_NOTHING_FOUND = "Nothing was found."


# -- advance -------------------------------------------------------------------------------------


def advance(state: AnalysisState, event: AnalysisEvent) -> AnalysisState:
    if (state.step, type(event)) not in TRANSITIONS:
        allowed = tuple(kind.__name__ for at, kind in TRANSITIONS if at is state.step)
        raise IllegalMove(type(event).__name__, state.step, allowed)
    if state.failure is not None and not isinstance(event, TriedAgain | Withdrawn):
        raise IllegalMove(type(event).__name__, f"{state.step}, failed")
    return replace(_advanced(state, event), happened=state.happened + 1)


def _advanced(state: AnalysisState, event: AnalysisEvent) -> AnalysisState:
    match event:
        case AnalysisOpened():
            return _opened(event)
        case StepsRead():
            return _steps_read(state, event)
        case WorkspaceScanned(found, depth):
            active = state.active_depth or depth
            return _to_next(replace(state, scan=found or _NOTHING_FOUND, active_depth=active))
        case ImpactLooked(found):
            return _to_next(replace(state, impact=found or _NOTHING_FOUND))
        case ModelFailed():
            return replace(state, failure=event)
        case TriedAgain() | Withdrawn():
            return _after_failure(state, event)
        case MenuChosen(key):
            return _chosen(state, key)
        case QuestionPut() | BoardCalled() | BoardAnswered():
            return _at_board(state, event)
        case SkippedTakenUp():
            if not state.skipped_steps:
                raise IllegalMove(type(event).__name__, state.step)
            return _to_next(replace(state, skipped_phases=frozenset()))
        case (
            StepOpened() | AnswerGiven() | AnswerRead() | StepAssessed() | StepCompleted()
            | FeedbackGiven() | FeedbackTaken() | FeedbackWritten()
        ):  # fmt: skip
            return _in_step(state, event)
        case _:
            return _in_roundtable(state, event)


def _at_board(state: AnalysisState, event: QuestionPut | BoardCalled | BoardAnswered) -> AnalysisState:
    match event:
        case QuestionPut(question):
            if question and question not in state.open_questions:
                raise InvalidInput("question", "it is none of the open ones")
            return replace(state, board_question=question, step=Step.CALLING if question else Step.MENU)
        case BoardCalled(session):
            return replace(state, board_session=session, step=Step.BOARD)
        case BoardAnswered(question):
            answered = state.answered_questions | {question}
            state = replace(state, answered_questions=answered, step=Step.MENU)
            return replace(state, board_question="", board_session="")


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


def _steps_read(state: AnalysisState, event: StepsRead) -> AnalysisState:
    """What is there now is gone by; what was completed stays so, whether or not its file is still there."""
    if state.steps_read:
        raise IllegalMove(type(event).__name__, state.step)
    if event.steps is None:
        return replace(state, steps_read=True)
    known = {voice.id for voice in event.voices}
    voices = (*event.voices, *(voice for voice in state.voices if voice.id not in known))
    state = _to_next(replace(state, steps=event.steps, voices=voices))
    return replace(state, steps_read=state.step is Step.OPENING)


def _after_failure(state: AnalysisState, event: TriedAgain | Withdrawn) -> AnalysisState:
    if state.failure is None:
        raise IllegalMove(type(event).__name__, state.step)
    state = replace(state, failure=None)
    if isinstance(event, TriedAgain):
        return state
    return replace(state, step=Step.MENU, pending_feedback="", board_question="", board_session="")


def _to_next(state: AnalysisState) -> AnalysisState:
    """On to the next step that is due. Before the first of some phases, the program looks for itself."""
    state = replace(state, steps_read=False)
    following = state.next_due
    if following is None:
        return replace(state, step=Step.FINISHED, current=None)
    if following.phase == SCAN_PHASE and not state.scan:
        return replace(state, step=Step.SCANNING, current=None)
    if following.phase == IMPACT_PHASE and not state.impact:
        return replace(state, step=Step.LOOKING, current=None)
    current = StepRecord(following, state.depth_of(following))
    return replace(state, step=Step.OPENING, current=current, question="")


def _in_step(state: AnalysisState, event: Any) -> AnalysisState:
    record = state.current
    assert record is not None
    if getattr(event, "step", record.ref.id) != record.ref.id:
        raise IllegalMove(type(event).__name__, f"{state.step} of {record.ref.id}")
    match event:
        case StepOpened(_, text, spoken):
            current = replace(record, opening=text)
            return _billed(replace(state, step=Step.ANSWERING, current=current, question=text), spoken)
        case AnswerGiven(_, text, wish, may_ask):
            _check(text)
            current = replace(record, exchanges=(*record.exchanges, (state.question, text)))
            step = Step.READING if may_ask else Step.ASSESSING
            return _heard(replace(state, step=step, current=current, question=""), text, wish)
        case AnswerRead():
            return _read(state, record, event)
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
        case FeedbackGiven(text, wish):
            _check(text)
            return _heard(replace(state, step=Step.FEEDBACK, pending_feedback=text), text, wish)
        case FeedbackTaken(reply, contents, spoken):
            feedback = (*record.feedback, (state.pending_feedback, reply, contents))
            current = replace(record, feedback=feedback)
            state = replace(state, step=Step.AMENDING, current=current, done=(*state.done[:-1], current))
            return _billed(replace(state, pending_feedback=""), spoken)
        case _:
            return replace(state, step=Step.MENU)


def _read(state: AnalysisState, record: StepRecord, event: AnswerRead) -> AnalysisState:
    """A question is answered. If it was nothing else, it is no answer, and what was asked is asked still."""
    state = _billed(state, event.spoken)
    if not event.reply.strip():
        return replace(state, step=Step.ASSESSING)
    *before, (question, text) = record.exchanges
    asked_back = (*record.asked_back, AskedBack(len(before), text, event.reply))
    record = replace(record, asked_back=asked_back)
    if event.answers:
        return replace(state, step=Step.ASSESSING, current=record)
    current = replace(record, exchanges=tuple(before))
    return replace(state, step=Step.ANSWERING, current=current, question=question)


def _check(text: str) -> None:
    if not text.strip():
        raise InvalidInput("answer", "say something, or a few words such as: not known yet")
    if len(text) > MAX_ANSWER:
        raise InvalidInput("answer", f"has {len(text)} characters; at most {MAX_ANSWER}")


def _heard(state: AnalysisState, text: str, wish: Wish | None) -> AnalysisState:
    """What a person writes can ask for another depth, from there on."""
    if wish == "unchanged":
        return state
    return replace(state, active_depth=wish or depth_once_read(text) or state.active_depth)


def _billed(state: AnalysisState, spoken: Any) -> AnalysisState:
    return state if spoken is None else replace(state, bills=(*state.bills, spoken))


def _chosen(state: AnalysisState, key: str) -> AnalysisState:
    offered = {KEPT_AS[choice.id]: choice for choice in menu.choices(state)}
    if key not in offered:
        raise InvalidInput("choice", f"{key!r} is not offered here")
    record = state.current
    assert record is not None
    match offered[key].id:
        case "elaborate":
            return replace(state, step=Step.ROUNDTABLE, roundtable=RoundtableState())
        case "ask-board":
            return replace(state, step=Step.CHOOSING)
        case "skip-phase":
            return _to_next(replace(state, skipped_phases=state.skipped_phases | {record.ref.phase}))
        case _:
            return _to_next(state)


def _in_roundtable(state: AnalysisState, event: RoundtableEvent) -> AnalysisState:
    assert state.roundtable is not None
    assert state.current is not None
    table = roundtable_flow.advance(state.roundtable, event)
    if table.step is not RoundtableStep.CLOSED:
        return replace(state, roundtable=table)
    state = replace(state, step=Step.MENU, roundtable=None, bills=(*state.bills, *table.bills))
    if table.synthesis is None:
        return state
    questions = tuple(open_question.question for open_question in table.synthesis.open_questions)
    assert state.current is not None
    ended = Elaboration(state.current.ref.id, table.synthesis.one_line, questions)
    return replace(state, elaborations=(*state.elaborations, ended))


ANALYSIS: Flow[AnalysisState, AnalysisEvent] = Flow(
    "analysis", AnalysisState(), AnalysisEvent, advance, pending, record
)
