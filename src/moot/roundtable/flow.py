"""The roundtable: one step's topic, framed by the lead, discussed by everyone, synthesized, put on record.

Turns, limits, order and attribution are counted here, never left to a model. Where a roundtable stands is
derived from what has happened, never stored: see `RoundtableState.step`. It can run alone or as a part of
another flow, which then passes its events on.
"""

from __future__ import annotations

from dataclasses import replace

from moot.core.flow import Flow, Table, check_step, next_step
from moot.core.input import check_text
from moot.errors import IllegalMove, InvalidInput
from moot.roundtable import lines
from moot.roundtable.effects import pending, record
from moot.roundtable.events import (
    FEWEST_SPEAKERS,
    MAX_INPUT,
    MOST_SPEAKERS,
    ArtifactsNotUpdated,
    ArtifactsUpdated,
    CheckEvent,
    CheckFailed,
    ClosingEvent,
    ContributionFailed,
    ContributionReturned,
    ElaborationRecorded,
    ExitDoubted,
    FramingFailed,
    LeadRedirected,
    PersonaContributed,
    PersonaEvent,
    PersonaSilent,
    PersonLeft,
    PersonSilent,
    PersonSpokeUp,
    PersonStayed,
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
from moot.roundtable.state import PATIENCE, PROGRAM, USER, Kind, RoundtableState, Step

_OUT = (Step.SYNTHESIS, Step.STATE_PERSIST)
_ON_OR_OUT = (Step.DISCUSSION_LOOP, Step.PERSONS_TURN, *_OUT)
_HEARD = (Step.DISCUSSION_LOOP, Step.SYNTHESIS)

TRANSITIONS: Table = {
    (Step.ENTRY, RoundtableOpened): Step.TOPIC_FRAMING,
    (Step.ENTRY, RoundtableNotOpened): Step.CLOSED,
    (Step.TOPIC_FRAMING, TopicFramed): Step.DISCUSSION_LOOP,
    (Step.TOPIC_FRAMING, FramingFailed): Step.DISCUSSION_LOOP,
    (Step.TOPIC_FRAMING, PersonLeft): Step.STATE_PERSIST,
    (Step.DISCUSSION_LOOP, PersonaContributed): (Step.DISCUSSION_LOOP, Step.PERSONS_TURN, Step.SYNTHESIS),
    (Step.DISCUSSION_LOOP, PersonaSilent): _ON_OR_OUT,
    (Step.DISCUSSION_LOOP, ContributionReturned): Step.DISCUSSION_LOOP,
    (Step.DISCUSSION_LOOP, ContributionFailed): _ON_OR_OUT,
    (Step.DISCUSSION_LOOP, LeadRedirected): (Step.DISCUSSION_LOOP, Step.PERSONS_TURN, Step.SYNTHESIS),
    (Step.DISCUSSION_LOOP, TranscriptChecked): (Step.DISCUSSION_LOOP, Step.PERSONS_TURN),
    (Step.DISCUSSION_LOOP, CheckFailed): Step.PERSONS_TURN,
    (Step.DISCUSSION_LOOP, PersonLeft): _OUT,
    (Step.PERSONS_TURN, PersonSpokeUp): _HEARD,
    (Step.PERSONS_TURN, PersonSilent): _ON_OR_OUT,
    (Step.PERSONS_TURN, ExitDoubted): Step.EXIT_DOUBTED,
    (Step.PERSONS_TURN, PersonLeft): _OUT,
    (Step.EXIT_DOUBTED, PersonSpokeUp): _HEARD,
    (Step.EXIT_DOUBTED, PersonStayed): _HEARD,
    (Step.EXIT_DOUBTED, PersonLeft): _OUT,
    (Step.SYNTHESIS, TranscriptChecked): Step.SYNTHESIS,
    (Step.SYNTHESIS, SynthesisReturned): Step.SYNTHESIS,
    (Step.SYNTHESIS, SynthesisDrafted): Step.ARTIFACT_UPDATE,
    (Step.SYNTHESIS, SynthesisFailed): Step.SYNTHESIS_FAILED,
    (Step.SYNTHESIS_FAILED, SynthesisRetried): Step.SYNTHESIS,
    (Step.SYNTHESIS_FAILED, SynthesisForgone): Step.STATE_PERSIST,
    (Step.ARTIFACT_UPDATE, ArtifactsUpdated): Step.STATE_PERSIST,
    (Step.ARTIFACT_UPDATE, ArtifactsNotUpdated): Step.STATE_PERSIST,
    (Step.STATE_PERSIST, ElaborationRecorded): Step.CLOSED,
}


# -- advance -------------------------------------------------------------------------------------


def advance(state: RoundtableState, event: RoundtableEvent) -> RoundtableState:
    target = next_step(TRANSITIONS, state.step, event)
    after = _fold_in(state, event)
    check_step(target, after.step)
    return after


def _fold_in(state: RoundtableState, event: RoundtableEvent) -> RoundtableState:
    match event:
        case RoundtableOpened():
            return _open(event)
        case RoundtableNotOpened():
            return replace(state, not_opened=event).say(PROGRAM, "note", lines.NOT_OPENED)
        case TopicFramed(summary, focus, spoken):
            first, title = state.others[0], state.opened.step_title
            text = lines.framing(title, summary, focus, first.first_name, first.lens)
            return _frame(state.pay(spoken), focus, text)
        case FramingFailed(_, message):
            return _frame_plainly(state.say(PROGRAM, "failure", lines.plainly_framed(message)))
        case (
            PersonaContributed() | PersonaSilent() | ContributionReturned() | ContributionFailed()
            | LeadRedirected()
        ):  # fmt: skip
            return _hear_persona(state, event)
        case TranscriptChecked() | CheckFailed():
            return _check(state, event)
        case PersonLeft(text):
            state = _frame_plainly(state) if state.step is Step.TOPIC_FRAMING else state
            return _wrap_up(state.say(USER, "exit", text) if text else state)
        case PersonSpokeUp() | PersonSilent() | ExitDoubted() | PersonStayed():
            return _hear_person(replace(state, answers=state.answers + 1), event)
        case _:
            return _close(state, event)


def _open(event: RoundtableOpened) -> RoundtableState:
    ids = {speaker.id for speaker in event.speakers}
    if not FEWEST_SPEAKERS <= len(event.speakers) <= MOST_SPEAKERS:
        allowed = f"{FEWEST_SPEAKERS} to {MOST_SPEAKERS} can sit at a roundtable"
        raise InvalidInput("panel", f"has {len(event.speakers)} members; {allowed}")
    if len(ids) < len(event.speakers) or ids & {USER, PROGRAM}:
        raise InvalidInput("panel", "names somebody twice, or calls somebody user or program")
    if event.lead not in ids:
        raise InvalidInput("lead", f"{event.lead[:80]!r} does not sit at this roundtable")
    if event.max_turns < lines.FEWEST_TURNS:
        raise InvalidInput(
            "max_turns", f"is {event.max_turns}; at least {lines.FEWEST_TURNS} turns are needed"
        )
    state = RoundtableState(table=event)
    others = [(other.name, other.role) for other in state.others]
    introduction = lines.introduction(others, event.step_title, event.item, event.max_turns)
    state = state.say(PROGRAM, "introduction", introduction)
    for warning in event.warnings:
        state = state.say(PROGRAM, "note", warning)
    return state


def _frame(state: RoundtableState, focus: str, text: str) -> RoundtableState:
    due = tuple(other.id for other in state.others)
    return replace(state, focus_question=focus, due=due).take_turn(state.lead.id, "framing", text)


def _frame_plainly(state: RoundtableState) -> RoundtableState:
    first, title = state.others[0], state.opened.step_title
    return _frame(state, title, lines.plain_framing(title, first.first_name, first.lens))


def _hear_persona(state: RoundtableState, event: PersonaEvent) -> RoundtableState:
    if event.persona != state.speaking:
        raise IllegalMove(type(event).__name__, f"{state.step}, {event.persona[:80]}")
    after = _pass_word_on(state)
    match event:
        case ContributionReturned() if state.returned is None:
            return replace(state, returned=event).pay(event.spoken)
        case PersonaContributed(persona, text, spoken, marks, disagrees_with):
            disagreement = after.disagreement or (bool(disagrees_with) and not state.summing_up)
            kind: Kind = "tradeoff" if state.summing_up else "contribution"
            after = replace(after, disagreement=disagreement).pay(spoken)
            after = after.take_turn(persona, kind, text, marks)
        case PersonaSilent(_, spoken):
            after = after.pay(spoken)
        case ContributionFailed(persona, _, message):
            after = after.say(PROGRAM, "failure", lines.no_answer(state.speakers[persona].name, message))
        case LeadRedirected() if _may_redirect(state, event):
            after = _redirect(state, after, event)
        case _:
            raise IllegalMove(type(event).__name__, state.step)
    if after.exit_type is not None or after.calls < after.opened.max_turns:
        return after
    if not after.is_spent:
        # Earlier rules ended it here.
        return after.reach_limit()
    return replace(after.warn(), due=(), disagreement=False)


def _check(state: RoundtableState, event: CheckEvent) -> RoundtableState:
    is_due = not state.is_checked if state.step is Step.SYNTHESIS else state.is_round_to_check
    if not is_due:
        raise IllegalMove(type(event).__name__, f"{state.step}, checked")
    if isinstance(event, TranscriptChecked):
        return state.find(event)
    state = state.say(PROGRAM, "failure", lines.not_checked(event.message))
    return replace(state, tried=len(state.statements), checks=state.checks + 1)


def _pass_word_on(state: RoundtableState) -> RoundtableState:
    after = replace(state, calls=state.calls + 1, returned=None)
    return replace(after, due=state.due[1:]) if state.due else replace(after, disagreement=False)


def _may_redirect(state: RoundtableState, event: LeadRedirected) -> bool:
    lead, drifter = state.opened.lead, event.drifter
    return event.persona == lead != drifter and drifter in state.spoke and not state.summing_up


def _redirect(before: RoundtableState, after: RoundtableState, event: LeadRedirected) -> RoundtableState:
    focus = before.focus_question or ""
    if event.drifter == USER:
        text = lines.polite_redirect(focus, event.where)
    else:
        text = lines.redirect(before.first_names[event.drifter], event.subject, focus, event.where)
    # What was said beside the topic needs no more replies: it is the person's turn.
    after = replace(after, due=(), disagreement=False)
    return after.pay(event.spoken).say(event.persona, "redirect", text)


def _hear_person(
    state: RoundtableState, event: PersonSpokeUp | PersonSilent | ExitDoubted | PersonStayed
) -> RoundtableState:
    match event:
        case PersonSpokeUp(text, addressed):
            check_text("message", text, MAX_INPUT)
            return _speak_up(state, text, addressed)
        case PersonStayed(addressed):
            assert state.doubted is not None
            return _speak_up(state, state.doubted, addressed)
        case ExitDoubted(text):
            check_text("message", text, MAX_INPUT)
            state = replace(state, doubted=text, silences=0)
            return state.say(USER, "doubted", text).say(PROGRAM, "doubt", lines.DOUBT)
        case PersonSilent():
            return _listen_on(replace(state, silences=state.silences + 1))


def _speak_up(state: RoundtableState, text: str, addressed: tuple[str, ...]) -> RoundtableState:
    if unknown := set(addressed) - set(state.speakers):
        raise InvalidInput("addressed", f"{min(unknown)[:80]!r} does not sit at this roundtable")
    due = state.round_of(addressed)
    state = replace(state, silences=0, doubted=None, addressed=addressed, due=due)
    after = state.take_turn(USER, "contribution", text)
    return after.reach_limit() if state.is_spent and after.exit_type is None else after


def _listen_on(state: RoundtableState) -> RoundtableState:
    if state.on_last_turn:
        return state.reach_limit()
    if state.silences < PATIENCE:
        return replace(state, addressed=(), due=state.round_of())
    if state.silences == PATIENCE:
        return state.say(state.lead.id, "inactivity", lines.INACTIVITY)
    return _wrap_up(state)


def _wrap_up(state: RoundtableState) -> RoundtableState:
    line = lines.WRAP_UP if state.turns > 1 else lines.NOTHING_SAID
    return state.say(PROGRAM, "wrap-up", line).leave("user-initiated")


def _close(state: RoundtableState, event: ClosingEvent) -> RoundtableState:
    if isinstance(event, SynthesisReturned | SynthesisDrafted) and not state.may_be_synthesized:
        raise IllegalMove(type(event).__name__, f"{state.step}, unchecked")
    match event:
        case SynthesisReturned():
            if state.returned_synthesis is not None:
                raise IllegalMove(type(event).__name__, f"{state.step}, returned")
            return replace(state, returned_synthesis=event, drafts=state.drafts + 1).pay(event.spoken)
        case SynthesisDrafted(synthesis, spoken):
            return replace(state, synthesis=synthesis, drafts=state.drafts + 1).pay(spoken)
        case SynthesisFailed():
            return replace(state, synthesis_failure=event, drafts=state.drafts + 1)
        case SynthesisRetried():
            return replace(state, synthesis_failure=None)
        case SynthesisForgone():
            one_line = f"Discussed {state.opened.step_title} in {state.turns} turns, without a synthesis."
            return state.go_without_synthesis(one_line)
        case ArtifactsUpdated(announcements, unknown):
            return replace(state, announcements=announcements, unknown=unknown)
        case ArtifactsNotUpdated(_, message):
            return replace(state, announcements=(lines.not_updated(message),))
        case ElaborationRecorded(saved):
            after = replace(state, recorded=event)
            return after if saved else after.say(PROGRAM, "failure", lines.NOT_RECORDED)


ROUNDTABLE: Flow[RoundtableState, RoundtableEvent] = Flow(
    name="roundtable",
    initial=RoundtableState(),
    events=RoundtableEvent,
    advance=advance,
    pending=pending,
    make_event=record,
)
