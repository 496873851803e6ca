"""The analysis of an item, step by step, with a roundtable at every step boundary.

A step: its persona opens it and asks, the person answers, what that amounts to is assessed, what is missing
is asked for as often as the depth allows, the artifacts are written, and only then the menu shows.
Roundtables are a flow of their own within this one: their events are in the same log.
"""

from __future__ import annotations

from dataclasses import replace

from moot.analysis import ledger, menu
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
    OwnEvent,
    QuestionPut,
    SkippedTakenUp,
    StepAssessed,
    StepCompleted,
    StepEvent,
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
from moot.core.background import BackgroundEvent, LedgerCorrected, keep_background
from moot.core.flow import Flow, Table, check_step, next_step
from moot.core.input import check_fits
from moot.errors import IllegalMove, InvalidInput
from moot.roundtable import flow as roundtable_flow
from moot.roundtable.events import ElaborationRecorded, RoundtableEvent
from moot.roundtable.state import RoundtableState
from moot.roundtable.state import Step as RoundtableStep
from moot.text.depth import depth_once_read

_WHERE_MODELS_ARE_ASKED = (
    Step.OPENING,
    Step.READING,
    Step.ASSESSING,
    Step.FEEDBACK,
    Step.CALLING,
    Step.BOARD,
)
_NEXT = (Step.SCANNING, Step.LOOKING, Step.OPENING, Step.FINISHED)

TRANSITIONS: Table = {
    (Step.UNOPENED, AnalysisOpened): _NEXT,
    (Step.SCANNING, WorkspaceScanned): (Step.LOOKING, Step.OPENING, Step.FINISHED),
    (Step.LOOKING, ImpactLooked): Step.OPENING,
    (Step.OPENING, StepsRead): _NEXT,
    (Step.OPENING, StepOpened): Step.ANSWERING,
    (Step.ANSWERING, AnswerGiven): (Step.READING, Step.ASSESSING),
    (Step.READING, AnswerRead): (Step.ANSWERING, Step.ASSESSING),
    (Step.ASSESSING, StepAssessed): (Step.ANSWERING, Step.WRITING),
    (Step.WRITING, StepCompleted): Step.MENU,
    (Step.MENU, MenuChosen): (Step.ROUNDTABLE, Step.CHOOSING, *_NEXT),
    (Step.MENU, FeedbackGiven): Step.FEEDBACK,
    (Step.FEEDBACK, FeedbackTaken): Step.AMENDING,
    (Step.AMENDING, FeedbackWritten): Step.MENU,
    **{
        (Step.ROUNDTABLE, event): Step.MENU if target is RoundtableStep.CLOSED else Step.ROUNDTABLE
        for (_, event), target in roundtable_flow.TRANSITIONS.items()
    },
    (Step.CHOOSING, QuestionPut): (Step.CALLING, Step.MENU),
    (Step.CALLING, BoardCalled): Step.BOARD,
    (Step.BOARD, BoardAnswered): Step.MENU,
    **{(step, ModelFailed): step for step in _WHERE_MODELS_ARE_ASKED},
    **{(step, TriedAgain): step for step in _WHERE_MODELS_ARE_ASKED},
    **{(step, Withdrawn): Step.MENU for step in WITHDRAWABLE},
    (Step.FINISHED, SkippedTakenUp): _NEXT,
    (Step.FINISHED, StepsRead): _NEXT,
}

_NOTHING_FOUND = "Nothing was found."


# -- advance -------------------------------------------------------------------------------------


def advance_own(state: AnalysisState, event: OwnEvent) -> AnalysisState:
    target = next_step(TRANSITIONS, state.step, event)
    # Whatever has failed is tried again or given up before anything else happens.
    if isinstance(event, TriedAgain | Withdrawn) is not (state.failure is not None):
        raise IllegalMove(type(event).__name__, f"{state.step}, failed: {state.failure is not None}")
    after = _fold_in(state, event)
    step = after.step if isinstance(target, tuple) else target
    check_step(target, step)
    return replace(after, step=step, happened=state.happened + 1)


_advance = keep_background(advance_own)


def advance(state: AnalysisState, event: AnalysisEvent | BackgroundEvent) -> AnalysisState:
    after = _advance(state, event)
    return ledger.keep_order(after) if isinstance(event, _ENTERED) else after


_ENTERED = (
    AnswerGiven | StepAssessed | StepCompleted | FeedbackTaken | FeedbackWritten | Withdrawn | BoardAnswered
    | MenuChosen | StepsRead | ElaborationRecorded | LedgerCorrected
)  # fmt: skip
"""After what there can be more that was decided, said or left open."""


def _fold_in(state: AnalysisState, event: OwnEvent) -> AnalysisState:
    """With another step only where the table leaves that to the state."""
    match event:
        case AnalysisOpened():
            return _open(event)
        case StepsRead():
            return _take_steps(state, event)
        case WorkspaceScanned(found, depth, bodies):
            active = state.active_depth or depth
            state = replace(state, scan=found or _NOTHING_FOUND, active_depth=active, bodies=bodies)
            return _go_on(state)
        case ImpactLooked(found, bodies):
            return _go_on(replace(state, impact=found or _NOTHING_FOUND, bodies=bodies or state.bodies))
        case StepEvent():
            return _in_step(state, event)
        case MenuChosen(key):
            return _choose(state, key)
        case FeedbackGiven() | FeedbackTaken() | FeedbackWritten():
            return _take_feedback(state, event)
        case QuestionPut() | BoardCalled() | BoardAnswered():
            return _at_board(state, event)
        case SkippedTakenUp():
            if not state.skipped_steps:
                raise IllegalMove(type(event).__name__, state.step)
            return _go_on(replace(state, skipped_phases=frozenset()))
        case ModelFailed() | TriedAgain() | Withdrawn():
            return _fail_or_recover(state, event)
        case _:
            return _at_roundtable(state, event)


def _open(event: AnalysisOpened) -> AnalysisState:
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
        keeps_numbers=event.keeps_numbers,
    )
    return _go_on(state)


def _take_steps(state: AnalysisState, event: StepsRead) -> AnalysisState:
    """The files count as they are now. What was completed stays so, even if its file is no longer there."""
    if state.steps_read:
        raise IllegalMove(type(event).__name__, state.step)
    if event.edits is not None:
        state = replace(state, edits=event.edits)
    if event.steps is None:
        return replace(state, steps_read=True)
    known = {voice.id for voice in event.voices}
    voices = (*event.voices, *(voice for voice in state.voices if voice.id not in known))
    state = _go_on(replace(state, steps=event.steps, voices=voices))
    return replace(state, steps_read=state.step is Step.OPENING)


def _go_on(state: AnalysisState) -> AnalysisState:
    """To the next step that is due. Before the first of some phases, the program looks for itself."""
    following = state.next_due
    current, step = None, Step.FINISHED
    if following is not None:
        if following.phase == SCAN_PHASE and not state.scan:
            step = Step.SCANNING
        elif following.phase == IMPACT_PHASE and not state.impact:
            step = Step.LOOKING
        else:
            current, step = StepRecord(following, state.depth_of(following)), Step.OPENING
    return replace(state, step=step, current=current, question="", steps_read=False)


def _fail_or_recover(state: AnalysisState, event: ModelFailed | TriedAgain | Withdrawn) -> AnalysisState:
    match event:
        case ModelFailed():
            return replace(state, failure=event)
        case TriedAgain():
            return replace(state, failure=None)
        case Withdrawn():
            if words := state.pending_feedback:
                record = state.record
                state = state.with_record(replace(record, unheard=(*record.unheard, words)))
            return replace(state, failure=None, pending_feedback="", board_question="", board_session="")


# -- within a step -------------------------------------------------------------------------------


def _in_step(state: AnalysisState, event: StepEvent) -> AnalysisState:
    record = state.record
    if event.step != record.ref.id:
        raise IllegalMove(type(event).__name__, f"{state.step} of {record.ref.id}")
    match event:
        case StepOpened(_, text, spoken, _):
            current = replace(record.read(spoken), opening=text)
            return replace(state, current=current, question=text).pay(spoken)
        case AnswerGiven(_, text, wish, may_ask):
            current = replace(record, exchanges=(*record.exchanges, (state.question, text)))
            step = Step.READING if may_ask else Step.ASSESSING
            return _listen(replace(state, step=step, current=current, question=""), text, wish)
        case AnswerRead(_, reply, answers, spoken):
            state = replace(state, current=record.read(spoken))
            return _answer(state.pay(spoken), reply, is_answer=answers)
        case StepAssessed(follow_up=follow_up, spoken=spoken):
            asked = len(record.exchanges) - 1
            goes_on = bool(follow_up.strip()) and asked < FOLLOW_UPS[record.depth]
            step, question = (Step.ANSWERING, follow_up) if goes_on else (Step.WRITING, "")
            current = replace(
                record.read(spoken),
                summary=event.summary,
                contents=event.contents,
                missing=event.missing,
                decided=event.decided,
                rejected=event.rejected,
                left_open=event.left_open,
                settled=(*record.settled, *event.settled),
                taken_back=(*record.taken_back, *event.taken_back),
            )
            current = ledger.keep_corrected(state, current)
            return replace(state, step=step, current=current, question=question).pay(spoken)
        case StepCompleted(unknown=unknown):
            record = replace(record, unknown=unknown)
            completed = (*state.completed, event.step)
            return replace(state, completed=completed, current=record, done=(*state.done, record))
        case _:
            raise AssertionError(f"{event} is of no step")


def _answer(state: AnalysisState, reply: str, *, is_answer: bool) -> AnalysisState:
    """A question is answered. If the person only asked, what they were asked stays open."""
    if not reply.strip():
        return replace(state, step=Step.ASSESSING)
    record = state.record
    *before, (question, text) = record.exchanges
    record = replace(record, asked_back=(*record.asked_back, AskedBack(len(before), text, reply)))
    if is_answer:
        return replace(state, step=Step.ASSESSING, current=record)
    current = replace(record, exchanges=tuple(before))
    return replace(state, step=Step.ANSWERING, current=current, question=question)


def _listen(state: AnalysisState, text: str, wish: Wish | None) -> AnalysisState:
    """What a person writes can ask for another depth, from there on."""
    if not text.strip():
        raise InvalidInput("answer", "say something, or a few words such as: not known yet")
    check_fits("answer", text, MAX_ANSWER)
    if wish == "unchanged":
        return state
    return replace(state, active_depth=wish or depth_once_read(text) or state.active_depth)


# -- at its menu ---------------------------------------------------------------------------------


def _choose(state: AnalysisState, key: str) -> AnalysisState:
    offered = {KEPT_AS[choice.id]: choice.id for choice in menu.choices(state)}
    match offered.get(key):
        case None:
            raise InvalidInput("choice", f"{key!r} is not offered here")
        case "elaborate":
            return replace(state, step=Step.ROUNDTABLE, roundtable=RoundtableState())
        case "ask-board":
            return replace(state, step=Step.CHOOSING)
        case "skip-phase":
            return _go_on(replace(state, skipped_phases=state.skipped_phases | {state.record.ref.phase}))
        case _:
            return _go_on(state)


def _take_feedback(
    state: AnalysisState, event: FeedbackGiven | FeedbackTaken | FeedbackWritten
) -> AnalysisState:
    match event:
        case FeedbackGiven(text, wish):
            return _listen(replace(state, pending_feedback=text), text, wish)
        case FeedbackTaken(reply, contents, spoken, settled, taken_back, decided, rejected, left_open):
            record = state.record.read(spoken)
            record = replace(
                record,
                feedback=(*record.feedback, (state.pending_feedback, reply, contents)),
                decided_there=(*record.decided_there, *decided),
                rejected_there=(*record.rejected_there, *rejected),
                left_open_there=(*record.left_open_there, *left_open),
                settled=(*record.settled, *settled),
                taken_back=(*record.taken_back, *taken_back),
            )
            state = state.with_record(record)
            return replace(state, pending_feedback="").pay(spoken)
        case FeedbackWritten(_, unknown):
            every = tuple(dict.fromkeys((*state.record.unknown, *unknown)))
            return state.with_record(replace(state.record, unknown=every))


def _at_board(state: AnalysisState, event: QuestionPut | BoardCalled | BoardAnswered) -> AnalysisState:
    match event:
        case QuestionPut(question):
            if question and question not in state.open_questions:
                raise InvalidInput("question", "it is none of the open ones")
            return replace(state, board_question=question, step=Step.CALLING if question else Step.MENU)
        case BoardCalled(session):
            return replace(state, board_session=session)
        case BoardAnswered(question):
            state = state.with_record(replace(state.record, briefs=(*state.record.briefs, event)))
            answered = state.answered_questions | {question}
            return replace(state, answered_questions=answered, board_question="", board_session="")


def _at_roundtable(state: AnalysisState, event: RoundtableEvent) -> AnalysisState:
    table = roundtable_flow.advance(state.table, event)
    if table.step is not RoundtableStep.CLOSED:
        return replace(state, roundtable=table)
    state = replace(state, roundtable=None, bills=(*state.bills, *table.bills))
    if table.synthesis is None:
        return state
    questions = tuple(left.question for left in table.synthesis.open_questions)
    held = Elaboration(state.record.ref.id, table.synthesis.one_line, questions, table)
    return replace(state, elaborations=(*state.elaborations, held))


ANALYSIS: Flow[AnalysisState, AnalysisEvent] = Flow(
    "analysis", AnalysisState(), AnalysisEvent, advance, pending, record, ledger.ledger
)
