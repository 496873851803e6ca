"""What a roundtable asks of models, of the person and of the program, and what their answers amount to.

Derives every asking from the state alone. What an event then changes, the flow decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from moot.core.flow import (
    AskPerson,
    AskPersona,
    Choice,
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
    Usage,
)
from moot.roundtable import lines
from moot.roundtable.events import (
    ArtifactsNotUpdated,
    ArtifactsUpdated,
    ElaborationRecorded,
    FramingFailed,
    RoundtableEvent,
    RoundtableNotOpened,
    RoundtableOpened,
    SynthesisDrafted,
    SynthesisFailed,
    SynthesisForgone,
    SynthesisRetried,
    SynthesisReturned,
    TopicFramed,
)
from moot.roundtable.insights import Synthesis
from moot.roundtable.replies import answered, heard, interrupted, not_heard
from moot.roundtable.state import RoundtableState, Step
from moot.roundtable.synthesis import corrected, faults, left_out

OPEN, INSERT, RECORD = "roundtable/open", "roundtable/insert", "roundtable/record"
"""Names of what the program does."""
FRAMING, SYNTHESIS = "roundtable/framing", "roundtable/synthesis"
RULES = 2
"""By which a roundtable that opens now is held."""
CONTRIBUTION, TRADEOFF, AGAIN = "roundtable/contribution", "roundtable/tradeoff", "roundtable/again"
"""Names of prompts."""


def pending(state: RoundtableState) -> tuple[Effect, ...]:
    match state.step:
        case Step.ENTRY:
            return (RunTask(OPEN, "1"),)
        case Step.TOPIC_FRAMING:
            return (DraftReply(FRAMING, state.opened.at), _interruption(state))
        case Step.DISCUSSION_LOOP if state.speaking is not None:
            return (_next_word(state), _interruption(state))
        case Step.DISCUSSION_LOOP:
            return (_next_word(state),)
        case Step.SYNTHESIS if state.synthesis is not None:
            return (RunTask(INSERT, state.opened.at),)
        case Step.SYNTHESIS if state.synthesis_failure is not None:
            return (_ask_about_failure(state.synthesis_failure, str(state.drafts)),)
        case Step.SYNTHESIS:
            return (DraftReply(SYNTHESIS, str(state.drafts + 1)),)
        case Step.STATE_PERSIST:
            return (RunTask(RECORD, state.opened.at),)
        case _:
            return ()


def _next_word(state: RoundtableState) -> Effect:
    if state.speaking is not None:
        asked_for = TRADEOFF if state.summing_up else CONTRIBUTION
        return AskPersona(state.speaking, AGAIN if state.returned else asked_for, str(state.calls + 1))
    key = str(state.answers + 1)
    if state.doubted is not None:
        return AskPerson("roundtable", lines.DOUBT, key, (_DONE, _STAY), free_text=True)
    silent = "Say nothing – that ends the discussion" if state.silence_ends else "Listen on"
    choices = (Choice("listen", silent), _DONE)
    asked = (
        f"your thoughts, to everyone or to one by name (turn {state.turns + 1} of {state.opened.max_turns})"
    )
    return AskPerson("roundtable", asked, key, choices, free_text=True)


_DONE = Choice("done", "End the discussion")
_STAY = Choice("stay", "Go on")


def _interruption(state: RoundtableState) -> AskPerson:
    """The same for as long as others speak, so that nobody who types is disturbed when the word passes on."""
    key = str(state.answers + 1)
    return AskPerson("roundtable", "done", key, (_DONE,), interrupting=True, free_text=True)


_RETRY = Choice("retry", "Retry")
_GO_WITHOUT = Choice("go-without", "Go on without a synthesis")


def _ask_about_failure(failure: SynthesisFailed, key: str) -> AskPerson:
    expects = f"what next, as no synthesis was made: {failure.message}"
    return AskPerson("synthesis", expects, key, (_RETRY, _GO_WITHOUT))


def record(state: RoundtableState, effect: Effect, outcome: Outcome) -> RoundtableEvent:
    match effect, outcome:
        case AskPersona(persona), PersonaSpoke():
            return heard(state, persona, outcome)
        case AskPersona(persona), PersonaFailed():
            return not_heard(state, persona, outcome)
        case AskPerson(interrupting=True), PersonAnswered():
            return interrupted(state, outcome)
        case AskPerson(step="roundtable"), PersonAnswered():
            return answered(state, outcome)
        case AskPerson(step="synthesis"), PersonAnswered(choice=choice):
            return SynthesisRetried() if choice == _RETRY.id else SynthesisForgone()
        case DraftReply(prompt="roundtable/framing"), Drafted(value, spoken):
            return TopicFramed(value["summary"], value["focus_question"], spoken)
        case DraftReply(prompt="roundtable/framing"), DraftFailed(kind, message, _, retry_after):
            return FramingFailed(kind, message, retry_after)
        case DraftReply(prompt="roundtable/synthesis"), Drafted():
            return _drafted(state, outcome)
        case DraftReply(prompt="roundtable/synthesis"), DraftFailed():
            return _not_drafted(state, outcome)
        case RunTask(what), TaskDone() | TaskFailed():
            return _carried_out(what, outcome)
        case _:
            raise AssertionError(f"{outcome} is nothing that {effect} can lead to")


def _carried_out(what: str, outcome: TaskDone | TaskFailed) -> RoundtableEvent:
    match what, outcome:
        case "roundtable/open", TaskDone(value):
            return opened(value)
        case "roundtable/open", TaskFailed(kind, message):
            return RoundtableNotOpened(kind, message)
        case "roundtable/insert", TaskDone(value):
            return ArtifactsUpdated(tuple(value["announcements"]))
        case "roundtable/insert", TaskFailed(kind, message):
            return ArtifactsNotUpdated(kind, message)
        case "roundtable/record", TaskDone():
            return ElaborationRecorded(saved=True)
        case "roundtable/record", TaskFailed(_, message):
            return ElaborationRecorded(saved=False, message=message)
        case _:
            raise AssertionError(f"{what} is nothing that a roundtable asks for")


def opened(value: Mapping[str, Any]) -> RoundtableOpened:
    """From what was found outside; a turn limit that makes no sense is replaced, and said to be."""
    max_turns, problem = lines.turn_limit(value.get("max_turns"))
    warnings = [warning for warning in (value.get("warning"), problem) if warning]
    given = {name: value[name] for name in RoundtableOpened.__struct_fields__ if name in value}
    return msgspec.convert(
        {**given, "max_turns": max_turns, "warnings": warnings, "rules": RULES}, RoundtableOpened
    )


def _drafted(state: RoundtableState, outcome: Drafted) -> RoundtableEvent:
    """A synthesis is asked for at most twice, whatever is wrong with the first: its form or what it says."""
    synthesis = msgspec.convert(outcome.value, Synthesis)
    wrong = faults(state, synthesis)
    if wrong and state.returned_synthesis is None and not outcome.returned:
        return SynthesisReturned(synthesis, wrong, outcome.spoken)
    return _put_right(state, synthesis, outcome.spoken, wrong)


def _not_drafted(state: RoundtableState, failed: DraftFailed) -> RoundtableEvent:
    if (before := state.returned_synthesis) is not None:
        return _put_right(state, before.synthesis, None, before.reasons)
    return SynthesisFailed(failed.kind, failed.message, failed.raw, failed.retry_after)


def _put_right(
    state: RoundtableState, synthesis: Synthesis, spoken: Usage | None, wrong: tuple[str, ...]
) -> SynthesisDrafted:
    return SynthesisDrafted(corrected(state, synthesis), spoken, (*wrong, *left_out(state, synthesis)))
