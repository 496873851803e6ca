"""The frames of a format that has none of its own: who speaks and what is said, what the program is doing,
every event as the log has it, and what the person is asked now.

Knows every flow's effects, and no flow. A client that reads them needs to know no format either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from moot.core.background import Background, EvidenceGiven
from moot.core.citing import unverified_in
from moot.core.described import Described
from moot.core.flow import AskPerson, AskPersona, Event, Flow, ModelEffect, Replaced, Takes
from moot.evidence.items import Evidence, without_contents
from moot.server.format import Format, Looked, Outbox, Payload, Progress, StreamError, TaskStart

S = TypeVar("S")
E = TypeVar("E", bound=Event)


class ChoiceOut(Described, frozen=True, rename="camel"):
    """`suggestions` are texts that may be taken over as they are. What is `inPerson` no agent may choose."""

    id: str
    label: str
    takes: Takes
    suggestions: tuple[str, ...]
    in_person: bool


class AskOut(Described, frozen=True, rename="camel"):
    """What the person may answer now. An `interrupting` one is put while others speak."""

    step: str
    key: str
    expects: str
    hint: str
    optional: bool
    interrupting: bool
    free_text: bool
    choices: tuple[ChoiceOut, ...]


def asks(flow: Flow[S, Any], state: S) -> tuple[AskOut, ...]:
    return tuple(
        msgspec.convert(effect, AskOut, from_attributes=True)
        for effect in flow.pending(state)
        if isinstance(effect, AskPerson)
    )


# -- the stream ----------------------------------------------------------------------------------


class SessionOpened(Payload, tag="session_start"):
    session_id: str
    format: str
    model: str
    tiny: bool


class SpeechStart(Payload):
    """A second one for the same persona, prompt and key means that it begins again: what was said before is
    void. What nobody speaks, such as a draft, has no persona."""

    persona_id: str
    prompt: str
    key: str


class SpeechToken(Payload):
    persona_id: str
    prompt: str
    key: str
    token: str


class Happened(Payload, tag="event"):
    """The event of this number in the log, as the log has it, but for what evidence says. `unverified` is
    what is cited in it from the evidence and is not there, in words."""

    number: int
    event: dict[str, Any]
    unverified: tuple[str, ...] = ()


class WholeState(Payload, tag="state"):
    """The state after the event of this number: whatever was told before is in it."""

    number: int
    state: dict[str, Any]


class Asked(Payload):
    """All that the person may answer now."""

    asks: tuple[AskOut, ...]


FormatFrame = (
    SessionOpened
    | SpeechStart
    | SpeechToken
    | TaskStart
    | Progress
    | Looked
    | Happened
    | WholeState
    | Asked
    | StreamError
)


class EventOutbox(Outbox[S, E]):
    def __init__(self, flow: Flow[S, E]) -> None:
        super().__init__()
        self._flow = flow

    def began(self, effect: ModelEffect, state: S) -> None:  # noqa: ARG002
        self.tell(SpeechStart(*_whose(effect)))

    def said(self, effect: ModelEffect, text: str) -> None:
        self.add_words(effect, SpeechToken(*_whose(effect), text))

    def happened(self, event: E, before: S, after: S) -> None:
        self._open.clear()
        if isinstance(event, Replaced):
            self.tell_state(after)
            return
        plain = _in_brief(event, isinstance(event, EvidenceGiven))
        self.tell(Happened(self.log_seq, plain, unverified_in(event, _evidence(after))))
        asked = asks(self._flow, after)
        if asked != asks(self._flow, before):
            self.tell(Asked(asked))

    def happened_elsewhere(self, event: E, before: S, after: S) -> None:
        self.happened(event, before, after)

    def tell_state(self, state: S) -> None:
        """Everything at once, for whoever has not been told how it came about."""
        self.tell(WholeState(self.log_seq, view(state)))
        self.tell(Asked(asks(self._flow, state)))


def _evidence(state: Any) -> tuple[Evidence, ...]:
    background = getattr(state, "background", None)
    return background.evidence if isinstance(background, Background) else ()


def _whose(effect: ModelEffect) -> tuple[str, str, str]:
    return effect.persona if isinstance(effect, AskPersona) else "", effect.prompt, effect.key


def view(state: Any) -> Any:
    """A state as plain JSON values, without what evidence says: that can be megabytes, and is the same each
    time."""
    return _in_brief(state, bool(_evidence(state)))


def _in_brief(value: Any, has_evidence: bool) -> Any:
    plain = msgspec.to_builtins(value)
    return without_contents(plain) if has_evidence else plain


def event_format(
    flow: Flow[S, E],
    title: Callable[[S], str],
    model: Callable[[S], str],
    stop: Callable[[S], Sequence[E]] = lambda _: (),
    go_on: Callable[[S], Sequence[E]] = lambda _: (),
) -> Format[S, E]:
    def start(session_id: str, state: S, tiny: bool) -> Payload:
        return SessionOpened(session_id, flow.name, model(state), tiny)

    def missing(state: S, told: list[Any], first: Payload, log_seq: int) -> Outbox[S, E]:
        """The state as it is, unless the newest event is among the frames."""
        outbox: EventOutbox[S, E] = EventOutbox(flow)
        outbox.log_seq = log_seq
        if not told:
            outbox.tell(first)
        if max((frame["number"] for frame in told if "number" in frame), default=0) < log_seq:
            outbox.tell_state(state)
        return outbox

    return Format(flow, lambda: EventOutbox(flow), start, missing, title, model, stop, go_on)
