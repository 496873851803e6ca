"""What a roundtable asks of models, of the person and of the program, and what their answers amount to.

Derives every asking from the state alone. What an event then changes, the flow decides.
"""

from __future__ import annotations

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
    Task,
    TaskFailed,
    Usage,
)
from moot.roundtable import lines
from moot.roundtable.events import (
    ArtifactsNotUpdated,
    ArtifactsUpdated,
    CheckFailed,
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
    TranscriptChecked,
)
from moot.roundtable.findings import Named, check
from moot.roundtable.replies import Framing, read_answer, read_failure, read_interruption, read_reply
from moot.roundtable.state import RoundtableState, Step
from moot.roundtable.synthesis import Minutes, synthesize

FRAMING, CHECK, SYNTHESIS = "roundtable/framing", "roundtable/check", "roundtable/synthesis"
CONTRIBUTION, TRADEOFF, AGAIN = "roundtable/contribution", "roundtable/tradeoff", "roundtable/again"
"""Names of prompts."""


class OpenRoundtable(Task[RoundtableOpened]):
    """Seat the panel, and lay out what it is about."""


class InsertInsights(Task[ArtifactsUpdated]):
    """Put the synthesis into the artifacts."""


class RecordElaboration(Task[ElaborationRecorded]):
    """Put on record that the roundtable was held."""


def pending(state: RoundtableState) -> tuple[Effect, ...]:
    match state.step:
        case Step.ENTRY:
            return (OpenRoundtable("1"),)
        case Step.TOPIC_FRAMING:
            return (DraftReply(FRAMING, state.opened.at), _ask_to_interrupt(state))
        case Step.DISCUSSION_LOOP:
            speaks = _ask_persona(state) if state.speaking else _ask_to_check(state)
            return (speaks, _ask_to_interrupt(state))
        case Step.PERSONS_TURN:
            return (_ask_person(state),)
        case Step.EXIT_DOUBTED:
            key = str(state.answers + 1)
            return (AskPerson("roundtable", lines.DOUBT, key, (_DONE, _STAY), free_text=True),)
        case Step.SYNTHESIS if not state.is_checked:
            return (_ask_to_check(state),)
        case Step.SYNTHESIS:
            return (DraftReply(SYNTHESIS, str(state.drafts + 1)),)
        case Step.SYNTHESIS_FAILED:
            return (_ask_about_failure(state),)
        case Step.ARTIFACT_UPDATE:
            return (InsertInsights(state.opened.at),)
        case Step.STATE_PERSIST:
            return (RecordElaboration(state.opened.at),)
        case Step.CLOSED:
            return ()


_DONE = Choice("done", "End the discussion")
_STAY = Choice("stay", "Go on")
_RETRY = Choice("retry", "Retry")
_GO_WITHOUT = Choice("go-without", "Go on without a synthesis")


def _ask_persona(state: RoundtableState) -> AskPersona:
    assert state.speaking is not None
    asked_for = TRADEOFF if state.summing_up else CONTRIBUTION
    return AskPersona(state.speaking, AGAIN if state.returned else asked_for, str(state.calls + 1))


def _ask_to_check(state: RoundtableState) -> DraftReply:
    return DraftReply(CHECK, str(state.checks + state.drafts + 1))


def _ask_person(state: RoundtableState) -> AskPerson:
    listen = "Say nothing – that ends the discussion" if state.silence_ends else "Listen on"
    turn = f"turn {state.turns + 1} of {state.opened.max_turns}{', the last' if state.is_spent else ''}"
    return AskPerson(
        "roundtable",
        f"your thoughts, to everyone or to one by name ({turn})",
        str(state.answers + 1),
        (Choice("listen", listen), _DONE),
        free_text=True,
    )


def _ask_to_interrupt(state: RoundtableState) -> AskPerson:
    """The same for as long as others speak, so that nobody who types is disturbed when the word passes on."""
    key = str(state.answers + 1)
    return AskPerson("roundtable", "done", key, (_DONE,), interrupting=True, free_text=True)


def _ask_about_failure(state: RoundtableState) -> AskPerson:
    assert state.synthesis_failure is not None
    expects = f"what next, as no synthesis was made: {state.synthesis_failure.message}"
    return AskPerson("synthesis", expects, str(state.drafts), (_RETRY, _GO_WITHOUT))


def record(state: RoundtableState, effect: Effect, outcome: Outcome) -> RoundtableEvent:
    match effect, outcome:
        case AskPersona(persona), PersonaSpoke():
            return read_reply(state, persona, outcome)
        case AskPersona(persona), PersonaFailed():
            return read_failure(state, persona, outcome)
        case AskPerson(interrupting=True), PersonAnswered():
            return read_interruption(state, outcome)
        case AskPerson(), PersonAnswered(choice=choice) if state.step is Step.SYNTHESIS_FAILED:
            return SynthesisRetried() if choice == _RETRY.id else SynthesisForgone()
        case AskPerson(), PersonAnswered():
            return read_answer(state, outcome)
        case DraftReply(), Drafted():
            return _read_draft(state, outcome)
        case DraftReply(), DraftFailed():
            return _do_without_draft(state, outcome)
        case OpenRoundtable(), TaskFailed(kind, message):
            return RoundtableNotOpened(kind, message)
        case InsertInsights(), TaskFailed(kind, message):
            return ArtifactsNotUpdated(kind, message)
        case RecordElaboration(), TaskFailed(_, message):
            return ElaborationRecorded(saved=False, message=message)
        case _:
            raise AssertionError(f"{outcome} is nothing that {effect} can lead to")


def _read_draft(state: RoundtableState, drafted: Drafted) -> RoundtableEvent:
    match drafted.value:
        case Framing(summary, focus_question):
            return TopicFramed(summary, focus_question, drafted.spoken)
        case Named() as named:
            checked = check(named, state.statements)
            heard = len(state.statements)
            return TranscriptChecked(checked.findings, heard, checked.thrown_out, drafted.spoken)
        case Minutes() as minutes:
            return _read_minutes(state, minutes, drafted.spoken, last=drafted.returned)
        case other:
            raise AssertionError(f"{other!r:.80} is no draft that was asked for")


def _do_without_draft(state: RoundtableState, failed: DraftFailed) -> RoundtableEvent:
    match state.step:
        case Step.TOPIC_FRAMING:
            return FramingFailed(failed.kind, failed.message, failed.retry_after)
        case Step.DISCUSSION_LOOP:
            return CheckFailed(failed.kind, failed.message, failed.retry_after)
        case _ if (before := state.returned_synthesis) is not None and state.opened.rules > 2:
            return SynthesisDrafted(before.synthesis, None, before.reasons)
        case _:
            return SynthesisFailed(failed.kind, failed.message, failed.raw, failed.retry_after)


def _read_minutes(
    state: RoundtableState, minutes: Minutes, spoken: Usage, *, last: bool
) -> SynthesisReturned | SynthesisDrafted:
    """Minutes are asked for at most twice, whatever is wrong with the first: their form or what they say."""
    synthesis, wrong = synthesize(minutes, state.findings, state.statements)
    if wrong and state.returned_synthesis is None and not last:
        return SynthesisReturned(synthesis, wrong, spoken)
    return SynthesisDrafted(synthesis, spoken, wrong)
