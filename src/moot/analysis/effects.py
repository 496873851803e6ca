"""What an analysis asks of models, of the person and of the program, and what their answers amount to.

Derives every asking from the state alone. What an event then changes, the flow decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from moot.analysis import ledger, menu
from moot.analysis.citable import not_there
from moot.analysis.events import (
    AnalysisEvent,
    AnswerRead,
    BoardAnswered,
    BoardCalled,
    FeedbackTaken,
    FeedbackWritten,
    ImpactLooked,
    ModelFailed,
    StepAssessed,
    StepCompleted,
    StepOpened,
    StepsRead,
    WorkspaceScanned,
)
from moot.analysis.replies import FeedbackReply, Notes, Reading
from moot.analysis.state import AnalysisState, Step
from moot.core.flow import (
    AskPerson,
    AskPersona,
    Drafted,
    DraftFailed,
    DraftReply,
    Effect,
    Outcome,
    PersonaFailed,
    PersonAnswered,
    PersonaSpoke,
    Task,
    TaskFailed,
)
from moot.roundtable import effects as roundtable_effects

OPEN, READ, ASSESS, FEEDBACK = (f"analysis/{what}" for what in ("open", "read", "assess", "feedback"))
"""Names of prompts."""
ASK_BACK = "Ask back if something is unclear."


class ReadSteps(Task[StepsRead]):
    """Look whether the step files say something new."""


class ScanWorkspace(Task[WorkspaceScanned]):
    """Look for what the workspace says about the item."""


class LookForImpact(Task[ImpactLooked]):
    """Look for what the item touches in the workspace."""


class WriteArtifacts(Task[StepCompleted]):
    """Write down what the step has come to, and that it is completed."""


class AmendArtifacts(Task[FeedbackWritten]):
    """Write down what the person's feedback has brought."""


class CallBoard(Task[BoardCalled]):
    """Begin a session of the Board on the question that the person has put."""


class ConveneBoard(Task[BoardAnswered]):
    """Have the Board speak, and keep its brief with the item."""


_TASKS: Mapping[Step, type[Task[Any]]] = {
    Step.SCANNING: ScanWorkspace,
    Step.LOOKING: LookForImpact,
    Step.WRITING: WriteArtifacts,
    Step.AMENDING: AmendArtifacts,
    Step.CALLING: CallBoard,
    Step.BOARD: ConveneBoard,
}
_DRAFTS: Mapping[Step, str] = {Step.READING: READ, Step.ASSESSING: ASSESS, Step.FEEDBACK: FEEDBACK}


def pending(state: AnalysisState) -> tuple[Effect, ...]:
    if state.failure is not None:
        return (menu.ask_about_failure(state),)
    if state.step is Step.ROUNDTABLE:
        return roundtable_effects.pending(state.table)
    effect = _ask(state, str(state.happened))
    return () if effect is None else (effect,)


def _ask(state: AnalysisState, key: str) -> Effect | None:
    if task := _TASKS.get(state.step):
        return task(key)
    if prompt := _DRAFTS.get(state.step):
        return DraftReply(prompt, key)
    match state.step:
        case Step.OPENING:
            return AskPersona(state.record.ref.persona, OPEN, key) if state.steps_read else ReadSteps(key)
        case Step.ANSWERING:
            return AskPerson(state.record.ref.id, "your answer", key, hint=ASK_BACK, free_text=True)
        case Step.MENU:
            return menu.ask_at_menu(state)
        case Step.CHOOSING:
            return menu.ask_for_question(state)
        case Step.FINISHED if state.skipped_steps:
            return menu.ask_about_skipped(state)
        case _:
            return None


def record(state: AnalysisState, effect: Effect, outcome: Outcome) -> AnalysisEvent:
    if state.step is Step.ROUNDTABLE:
        return ledger.with_keys(state, roundtable_effects.record(state.table, effect, outcome))
    match effect, outcome:
        case AskPerson(), PersonAnswered():
            return menu.read_answer(state, outcome)
        case _, PersonaFailed(kind, message) | TaskFailed(kind, message):
            return ModelFailed(kind, message)
        case _, DraftFailed(kind, message, raw):
            return ModelFailed(kind, message, raw)
        case AskPersona(), PersonaSpoke(text, spoken):
            return StepOpened(state.record.ref.id, text, spoken, *not_there(state, (text,)))
        case DraftReply(), Drafted(Reading(reply, answers), spoken):
            return AnswerRead(state.record.ref.id, reply, answers, spoken)
        case DraftReply(), Drafted(Notes() as notes, spoken):
            return StepAssessed(
                state.record.ref.id,
                notes.summary,
                notes.contents,
                notes.missing,
                notes.follow_up,
                spoken,
                notes.decided,
                notes.rejected,
                *ledger.changed(state, notes.settled, notes.taken_back),
                notes.left_open,
            )
        case DraftReply(), Drafted(FeedbackReply() as said, spoken):
            if not said.changes:
                return FeedbackTaken(said.reply, {}, spoken)
            changed = ledger.changed(state, said.settled, said.taken_back)
            ruled = (said.decided, said.rejected, said.left_open)
            return FeedbackTaken(said.reply, said.contents, spoken, *changed, *ruled)
        case _:
            raise AssertionError(f"{effect} cannot lead to {outcome}")
