"""What an analysis asks of models, of the person and of the program, and what their answers amount to.

Derives every asking from the state alone. What an event then changes, the flow decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from moot.analysis import menu
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
    StepRef,
    StepsRead,
    Voice,
    WorkspaceScanned,
)
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
    RunTask,
    TaskDone,
    TaskFailed,
)
from moot.roundtable import effects as roundtable_effects

OPEN, READ, ASSESS, FEEDBACK = (f"analysis/{what}" for what in ("open", "read", "assess", "feedback"))
"""Names of prompts."""
STEPS, SCAN, IMPACT, WRITE, AMEND, CALL, BOARD = (
    f"analysis/{what}" for what in ("steps", "scan", "impact", "write", "amend", "call", "board")
)
"""What the program is asked to do."""

ASK_BACK = "Ask back if something is unclear."

_CARRIED_OUT = {
    Step.SCANNING: SCAN,
    Step.LOOKING: IMPACT,
    Step.WRITING: WRITE,
    Step.AMENDING: AMEND,
    Step.CALLING: CALL,
    Step.BOARD: BOARD,
}
_DRAFTED = {Step.READING: READ, Step.ASSESSING: ASSESS, Step.FEEDBACK: FEEDBACK}


def pending(state: AnalysisState) -> tuple[Effect, ...]:
    if state.failure is not None:
        return (menu.ask_about_failure(state),)
    if state.step is Step.ROUNDTABLE:
        assert state.roundtable is not None
        return roundtable_effects.pending(state.roundtable)
    effect = _asked_for(state, str(state.happened))
    return () if effect is None else (effect,)


def _asked_for(state: AnalysisState, key: str) -> Effect | None:
    if what := _CARRIED_OUT.get(state.step):
        return RunTask(what, key)
    if prompt := _DRAFTED.get(state.step):
        return DraftReply(prompt, key)
    match state.step:
        case Step.OPENING if not state.steps_read:
            return RunTask(STEPS, key)
        case Step.OPENING:
            assert state.current is not None
            return AskPersona(state.current.ref.persona, OPEN, key)
        case Step.ANSWERING:
            assert state.current is not None
            return AskPerson(state.current.ref.id, "your answer", key, hint=ASK_BACK, free_text=True)
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
        assert state.roundtable is not None
        return roundtable_effects.record(state.roundtable, effect, outcome)
    at = state.current.ref.id if state.current else ""
    match effect, outcome:
        case AskPerson(), PersonAnswered():
            return menu.answered(state, outcome)
        case _, PersonaFailed(kind, message) | TaskFailed(kind, message):
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
                    tuple(value.get("missing", ())),
                    str(value.get("follow_up", "")),
                    spoken,
                )
            if prompt == READ:
                return AnswerRead(at, str(value["reply"]), bool(value["answers"]), spoken)
            # Whoever only asks something has said nothing that could be written down.
            contents = dict(value["contents"]) if value.get("changes", True) else {}
            return FeedbackTaken(str(value["reply"]), contents, spoken)
        case RunTask(what), TaskDone(value):
            return _carried_out(state, what, value, at)
        case _:
            raise AssertionError(f"{effect} cannot lead to {outcome}")


def steps_read(value: Mapping[str, Any]) -> StepsRead:
    if "steps" not in value:
        return StepsRead()
    steps = msgspec.convert(value["steps"], tuple[StepRef, ...])
    return StepsRead(steps, msgspec.convert(value["voices"], tuple[Voice, ...]))


def _carried_out(state: AnalysisState, what: str, value: Any, at: str) -> AnalysisEvent:
    match what:
        case "analysis/steps":
            return steps_read(value)
        case "analysis/scan":
            return WorkspaceScanned(value["found"], value["depth"])
        case "analysis/impact":
            return ImpactLooked(value["found"])
        case "analysis/write":
            return StepCompleted(at, tuple(value["files"]), value.get("message", ""))
        case "analysis/amend":
            return FeedbackWritten(tuple(value["files"]))
        case "analysis/call":
            return BoardCalled(value["session"])
        case _:
            return BoardAnswered(
                state.board_question,
                value["session"],
                value["file"],
                value["recommendation"],
                value.get("message", ""),
            )
