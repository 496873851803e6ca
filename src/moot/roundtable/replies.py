"""What a reply at a roundtable amounts to: a contribution, silence, a redirect; an exit, an answer.

Turns texts into events; judges only by rules that a reader can check. Whether an event may happen, the flow
decides.
"""

from __future__ import annotations

import re

import msgspec

from moot.core.flow import PersonaFailed, PersonAnswered, PersonaSpoke, Usage
from moot.errors import InvalidInput
from moot.roundtable import lines
from moot.roundtable.addressing import Reading, read_address, read_input, read_reply_to_doubt
from moot.roundtable.echoes import echoes
from moot.roundtable.events import (
    ContributionFailed,
    ContributionReturned,
    ExitDoubted,
    LeadRedirected,
    PersonaContributed,
    PersonaEvent,
    PersonaSilent,
    PersonEvent,
    PersonLeft,
    PersonSilent,
    PersonSpokeUp,
    PersonStayed,
)
from moot.roundtable.state import RoundtableState
from moot.text.forbidden_words import words_used

_RECENT = 6
"""How many turns back a contribution may not be repeated."""

_REDIRECT = re.compile(r"REDIRECT: ([^|\n]*[^|\s][^|\n]*) \| ([^|\n]*[^|\s][^|\n]*)")


class Framing(msgspec.Struct, frozen=True):
    """The draft with which the lead opens. Those of the check and of the minutes are `findings.Named`
    and `synthesis.Minutes`."""

    summary: str
    focus_question: str


# -- personas ------------------------------------------------------------------------------------


def read_reply(state: RoundtableState, persona: str, outcome: PersonaSpoke) -> PersonaEvent:
    speaker, spoken = state.speakers[persona], outcome.spoken
    own = lines.strip_own_prefix(outcome.text, speaker.name, speaker.role)
    text = lines.cut_other_voices(own, (s.name for s in state.opened.speakers if s.id != persona))
    if lines.is_silence(text):
        # Whoever was turned to is asked once more.
        if persona in state.addressed and state.returned is None:
            return ContributionReturned(persona, text, (), spoken)
        return PersonaSilent(persona, spoken)
    if redirect := _REDIRECT.fullmatch(text.splitlines()[0].strip()):
        return _read_redirect(state, persona, redirect, spoken)
    # Summing up says again what was said: that is its purpose.
    if not state.summing_up and echoes(text, [said.text for said in state.discussion[-_RECENT:]]):
        return PersonaSilent(persona, spoken, "echo", text)
    used = words_used(speaker.forbidden_words, text, state.said_by_others(persona))
    if used and state.returned is None:
        return ContributionReturned(persona, text, used, spoken)
    return PersonaContributed(persona, text, spoken, used)


def read_failure(state: RoundtableState, persona: str, failed: PersonaFailed) -> PersonaEvent:
    """Of words that were returned and could not be replaced, the first are taken."""
    if (before := state.returned) is not None and before.words:
        return PersonaContributed(persona, before.text, None, before.words)
    return ContributionFailed(persona, failed.kind, failed.message, failed.retry_after)


def _read_redirect(
    state: RoundtableState, persona: str, redirect: re.Match[str], spoken: Usage
) -> PersonaEvent:
    """Only the lead redirects, and only somebody else."""
    drifter = state.discussion[-1].speaker
    if persona != state.opened.lead or persona == drifter or state.summing_up:
        return PersonaSilent(persona, spoken, "redirect", redirect[0])
    return LeadRedirected(persona, drifter, redirect[1].strip(), redirect[2].strip(), spoken)


# -- the person ----------------------------------------------------------------------------------


_LEFT = "done"
"""What the log says of whoever leaves without words of their own."""


def read_answer(state: RoundtableState, answer: PersonAnswered) -> PersonEvent:
    match answer.choice:
        case "done":
            return PersonLeft(_LEFT)
        case "listen":
            return PersonSilent()
        case "stay":
            return _stay(state)
    text = answer.text.strip()
    if state.doubted is not None:
        match read_reply_to_doubt(text, state.first_names):
            case "exit":
                return PersonLeft(text)
            case "stay":
                return _stay(state)
            case "new":
                return PersonSpokeUp(text, _choose_addressed(state, read_address(text, state.first_names)))
    reading = read_input(text, state.first_names)
    match reading.kind:
        case "nothing":
            return PersonSilent()
        case "exit":
            return PersonLeft(text)
        case "doubtful":
            return ExitDoubted(text)
        case _:
            return PersonSpokeUp(text, _choose_addressed(state, reading))


def read_interruption(state: RoundtableState, answer: PersonAnswered) -> PersonLeft:
    """Only an exit cannot wait for the person's turn."""
    if answer.choice == "done":
        return PersonLeft(_LEFT)
    text = answer.text.strip()
    if read_input(text, state.first_names).kind != "exit":
        raise InvalidInput("message", "that is said when it is your turn; done ends the discussion now")
    return PersonLeft(text)


def _stay(state: RoundtableState) -> PersonStayed:
    assert state.doubted is not None
    return PersonStayed(_choose_addressed(state, read_address(state.doubted, state.first_names)))


def _choose_addressed(state: RoundtableState, reading: Reading) -> tuple[str, ...]:
    """Who speaks to the group speaks to each: nobody at the table may keep silent then."""
    return state.round_of() if reading.kind == "group" else reading.addressed
