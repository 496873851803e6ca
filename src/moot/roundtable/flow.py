"""The roundtable: one step's topic, framed by the lead, discussed by everyone, synthesized, put on record.

Turns, limits, order and attribution are counted here, never left to a model. Where a roundtable stands is
derived from what has happened, never stored: see `RoundtableState.step`. It can run alone or as a part of
another flow, which then passes its events on.
"""

from __future__ import annotations

from dataclasses import replace

from moot.core.flow import Event, Flow
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
    PersonEvent,
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
)
from moot.roundtable.state import PATIENCE, PROGRAM, USER, Kind, RoundtableState, Step

_ON_OR_OUT = (Step.DISCUSSION_LOOP, Step.SYNTHESIS, Step.STATE_PERSIST)
_OUT = (Step.SYNTHESIS, Step.STATE_PERSIST)

TRANSITIONS: dict[tuple[Step, type[Event]], tuple[Step, ...]] = {
    (Step.ENTRY, RoundtableOpened): (Step.TOPIC_FRAMING,),
    (Step.ENTRY, RoundtableNotOpened): (Step.CLOSED,),
    (Step.TOPIC_FRAMING, TopicFramed): (Step.DISCUSSION_LOOP,),
    (Step.TOPIC_FRAMING, FramingFailed): (Step.DISCUSSION_LOOP,),
    (Step.TOPIC_FRAMING, PersonLeft): (Step.STATE_PERSIST,),
    (Step.DISCUSSION_LOOP, PersonaContributed): (Step.DISCUSSION_LOOP, Step.SYNTHESIS),
    (Step.DISCUSSION_LOOP, PersonaSilent): _ON_OR_OUT,
    (Step.DISCUSSION_LOOP, ContributionReturned): (Step.DISCUSSION_LOOP,),
    (Step.DISCUSSION_LOOP, ContributionFailed): _ON_OR_OUT,
    (Step.DISCUSSION_LOOP, LeadRedirected): (Step.DISCUSSION_LOOP, Step.SYNTHESIS),
    (Step.DISCUSSION_LOOP, PersonSpokeUp): (Step.DISCUSSION_LOOP, Step.SYNTHESIS),
    (Step.DISCUSSION_LOOP, PersonSilent): _ON_OR_OUT,
    (Step.DISCUSSION_LOOP, ExitDoubted): (Step.DISCUSSION_LOOP,),
    (Step.DISCUSSION_LOOP, PersonStayed): (Step.DISCUSSION_LOOP, Step.SYNTHESIS),
    (Step.DISCUSSION_LOOP, PersonLeft): _OUT,
    (Step.SYNTHESIS, SynthesisReturned): (Step.SYNTHESIS,),
    (Step.SYNTHESIS, SynthesisDrafted): (Step.SYNTHESIS,),
    (Step.SYNTHESIS, SynthesisFailed): (Step.SYNTHESIS,),
    (Step.SYNTHESIS, SynthesisRetried): (Step.SYNTHESIS,),
    (Step.SYNTHESIS, SynthesisForgone): (Step.STATE_PERSIST,),
    (Step.SYNTHESIS, ArtifactsUpdated): (Step.STATE_PERSIST,),
    (Step.SYNTHESIS, ArtifactsNotUpdated): (Step.STATE_PERSIST,),
    (Step.STATE_PERSIST, ElaborationRecorded): (Step.CLOSED,),
}
"""Which event may happen where, and the steps that it can lead to: which of them follows from the state."""


# -- advance -------------------------------------------------------------------------------------


def advance(state: RoundtableState, event: RoundtableEvent) -> RoundtableState:
    if (state.step, type(event)) not in TRANSITIONS:
        allowed = tuple(kind.__name__ for at, kind in TRANSITIONS if at is state.step)
        raise IllegalMove(type(event).__name__, state.step, allowed)
    match event:
        case RoundtableOpened():
            return _open(event)
        case RoundtableNotOpened():
            return replace(state, not_opened=event).saying(PROGRAM, "note", lines.NOT_OPENED)
        case TopicFramed() | FramingFailed():
            return _frame(state, event)
        case (
            PersonaContributed()
            | PersonaSilent()
            | ContributionReturned()
            | ContributionFailed()
            | LeadRedirected()
        ):
            return _hear(state, event)
        case PersonSpokeUp() | PersonSilent() | ExitDoubted() | PersonStayed() | PersonLeft():
            return _listen(state, event)
        case _:
            return _close(state, event)


def _illegal(state: RoundtableState, event: Event) -> IllegalMove:
    return IllegalMove(type(event).__name__, state.step)


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
    state = state.saying(PROGRAM, "introduction", introduction)
    for warning in event.warnings:
        state = state.saying(PROGRAM, "note", warning)
    return state


def _frame(state: RoundtableState, event: TopicFramed | FramingFailed) -> RoundtableState:
    first, title = state.others[0], state.opened.step_title
    if isinstance(event, TopicFramed):
        focus = event.focus_question
        text = lines.framing(title, event.summary, focus, first.first_name, first.lens)
        return _framed(state.billed(event.spoken), focus, text)
    return _frame_plainly(state.saying(PROGRAM, "failure", lines.plainly_framed(event.message)))


def _frame_plainly(state: RoundtableState) -> RoundtableState:
    first, title = state.others[0], state.opened.step_title
    return _framed(state, title, lines.plain_framing(title, first.first_name, first.lens))


def _framed(state: RoundtableState, focus: str, text: str) -> RoundtableState:
    due = tuple(other.id for other in state.others)
    return replace(state, focus_question=focus, due=due).taking_turn(state.lead.id, "framing", text)


def _hear(state: RoundtableState, event: PersonaEvent) -> RoundtableState:
    if event.persona != state.speaking:
        raise IllegalMove(type(event).__name__, f"{state.step}, {event.persona[:80]}")
    if isinstance(event, ContributionReturned):
        if state.returned is not None:
            raise _illegal(state, event)
        return replace(state, returned=event).billed(event.spoken)
    kind: Kind = "tradeoff" if state.summing_up else "contribution"
    after = _word_passed_on(state)
    match event:
        case PersonaContributed(persona, text, spoken, marks, disagrees_with):
            disagreement = after.disagreement or (bool(disagrees_with) and not state.summing_up)
            after = replace(after, disagreement=disagreement).billed(spoken)
            after = after.taking_turn(persona, kind, text, marks)
        case PersonaSilent(_, spoken):
            after = after.billed(spoken)
        case ContributionFailed(persona, _, message):
            after = after.saying(PROGRAM, "failure", lines.no_answer(state.speakers[persona].name, message))
        case LeadRedirected():
            after = _redirect(state, after, event)
    # However much silence and failure there is, a roundtable costs no more calls than it has turns.
    spent = after.exit_type is None and after.calls == after.opened.max_turns
    return after.at_limit() if spent else after


def _word_passed_on(state: RoundtableState) -> RoundtableState:
    after = replace(state, calls=state.calls + 1, returned=None)
    return replace(after, due=state.due[1:]) if state.due else replace(after, disagreement=False)


def _redirect(before: RoundtableState, after: RoundtableState, event: LeadRedirected) -> RoundtableState:
    lead, drifter = before.opened.lead, event.drifter
    if event.persona != lead or drifter == lead or drifter not in before.spoke or before.summing_up:
        raise _illegal(before, event)
    focus = before.focus_question or ""
    if event.drifter == USER:
        text = lines.polite_redirect(focus, event.where)
    else:
        text = lines.redirect(before.first_names[event.drifter], event.subject, focus, event.where)
    # What was said beside the topic needs no more replies: the floor is the user's.
    after = replace(after, due=(), disagreement=False)
    return after.billed(event.spoken).saying(event.persona, "redirect", text)


def _listen(state: RoundtableState, event: PersonEvent) -> RoundtableState:
    if isinstance(event, PersonLeft):
        if state.step is Step.TOPIC_FRAMING:
            state = _frame_plainly(state)
        if event.text:
            state = state.saying(USER, "exit", event.text)
        return _wrap_up(state)
    if state.speaking is not None:
        raise IllegalMove(type(event).__name__, f"{state.step}, {state.speaking}")
    after = replace(state, answers=state.answers + 1)
    match event:
        case PersonSpokeUp(text, addressed):
            check_text("message", text, MAX_INPUT)
            return _speak_up(after, text, addressed)
        case PersonStayed(addressed) if state.doubted is not None:
            return _speak_up(after, state.doubted, addressed)
        case ExitDoubted(text) if state.doubted is None:
            check_text("message", text, MAX_INPUT)
            after = replace(after, doubted=text, silences=0)
            return after.saying(USER, "doubted", text).saying(PROGRAM, "doubt", lines.DOUBT)
        case PersonSilent() if state.doubted is None:
            return _listen_on(replace(after, silences=state.silences + 1))
        case _:
            raise _illegal(state, event)


def _speak_up(state: RoundtableState, text: str, addressed: tuple[str, ...]) -> RoundtableState:
    if unknown := set(addressed) - set(state.speakers):
        raise InvalidInput("addressed", f"{min(unknown)[:80]!r} does not sit at this roundtable")
    due = state.round_of(addressed)
    state = replace(state, silences=0, doubted=None, addressed=addressed, due=due)
    return state.taking_turn(USER, "contribution", text)


def _listen_on(state: RoundtableState) -> RoundtableState:
    if state.on_last_turn:
        return state.at_limit()
    if state.silences < PATIENCE:
        return replace(state, addressed=(), due=state.round_of())
    if state.silences == PATIENCE:
        return state.saying(state.lead.id, "inactivity", lines.INACTIVITY)
    return _wrap_up(state)


def _wrap_up(state: RoundtableState) -> RoundtableState:
    line = lines.WRAP_UP if state.turns > 1 else lines.NOTHING_SAID
    return state.saying(PROGRAM, "wrap-up", line).leaving("user-initiated")


def _close(state: RoundtableState, event: ClosingEvent) -> RoundtableState:
    drafting = state.synthesis is None and state.synthesis_failure is None
    failed = state.synthesis is None and state.synthesis_failure is not None
    match event:
        case SynthesisReturned() if drafting and state.returned_synthesis is None:
            return replace(state, returned_synthesis=event, drafts=state.drafts + 1).billed(event.spoken)
        case SynthesisDrafted(synthesis, spoken) if drafting:
            return replace(state, synthesis=synthesis, drafts=state.drafts + 1).billed(spoken)
        case SynthesisFailed() if drafting:
            return replace(state, synthesis_failure=event, drafts=state.drafts + 1)
        case SynthesisRetried() if failed:
            return replace(state, synthesis_failure=None)
        case SynthesisForgone() if failed:
            one_line = f"Discussed {state.opened.step_title} in {state.turns} turns, without a synthesis."
            return state.without_synthesis(one_line)
        case ArtifactsUpdated(announcements) if state.synthesis is not None:
            return replace(state, announcements=announcements)
        case ArtifactsNotUpdated(_, message) if state.synthesis is not None:
            return replace(state, announcements=(lines.not_updated(message),))
        case ElaborationRecorded(saved):
            after = replace(state, recorded=event)
            return after if saved else after.saying(PROGRAM, "failure", lines.NOT_RECORDED)
        case _:
            raise _illegal(state, event)


ROUNDTABLE: Flow[RoundtableState, RoundtableEvent] = Flow(
    name="roundtable",
    initial=RoundtableState(),
    events=RoundtableEvent,
    advance=advance,
    pending=pending,
    make_event=record,
)
