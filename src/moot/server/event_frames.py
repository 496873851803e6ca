"""The frames of a format that has none of its own: who speaks and what is said, what the program is doing,
every event as the log has it, and what the person is asked now.

Knows every flow's effects, and no flow. A client that reads them needs to know no format either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from moot.core.flow import AskPerson, AskPersona, Event, Flow, ModelEffect, Replaced
from moot.server.format import Format, Outbox, Payload

S = TypeVar("S")
E = TypeVar("E", bound=Event)


def asks(flow: Flow[S, Any], state: S) -> list[Payload]:
    """What the person may answer now, as it travels."""
    return [ask_out(effect) for effect in flow.pending(state) if isinstance(effect, AskPerson)]


def ask_out(ask: AskPerson) -> Payload:
    return {
        "step": ask.step,
        "key": ask.key,
        "expects": ask.expects,
        "hint": ask.hint,
        "optional": ask.optional,
        "interrupting": ask.interrupting,
        "freeText": ask.free_text,
        "choices": [
            {
                "id": choice.id,
                "label": choice.label,
                "takes": str(choice.takes),
                "suggestions": list(choice.suggestions),
            }
            for choice in ask.choices
        ],
    }


class EventOutbox(Outbox[S, E]):
    def __init__(self, flow: Flow[S, E]) -> None:
        super().__init__()
        self._flow = flow

    def began(self, effect: ModelEffect, state: S) -> None:  # noqa: ARG002
        self.tell("speech_start", **_whose(effect))

    def said(self, effect: ModelEffect, text: str) -> None:
        self.add_word(effect, "speech_token", text, **_whose(effect))

    def happened(self, event: E, before: S, after: S) -> None:
        self._open.clear()
        if isinstance(event, Replaced):
            self.tell_state(after)
            return
        self.tell("event", number=self.log_seq, event=msgspec.to_builtins(event))
        self._tell_asks(asks(self._flow, before), asks(self._flow, after))

    def happened_elsewhere(self, event: E, before: S, after: S) -> None:
        self.happened(event, before, after)

    def tell_state(self, state: S) -> None:
        """Everything at once, for whoever has not been told how it came about."""
        self.tell("state", number=self.log_seq, state=view(state))
        self.tell("asked", asks=asks(self._flow, state))

    def _tell_asks(self, before: list[Payload], after: list[Payload]) -> None:
        if after != before:
            self.tell("asked", asks=after)


def _whose(effect: ModelEffect) -> Payload:
    persona = effect.persona if isinstance(effect, AskPersona) else ""
    return {"personaId": persona, "prompt": effect.prompt, "key": effect.key}


def view(state: Any) -> Any:
    """A state as plain JSON values."""
    return msgspec.to_builtins(state)


def event_format(
    flow: Flow[S, E],
    title: Callable[[S], str],
    model: Callable[[S], str],
    stop: Callable[[S], Sequence[E]] = lambda _: (),
    go_on: Callable[[S], Sequence[E]] = lambda _: (),
) -> Format[S, E]:
    def start(session_id: str, state: S, tiny: bool) -> Payload:
        return {"sessionId": session_id, "format": flow.name, "model": model(state), "tiny": tiny}

    def missing(state: S, told: list[Payload], first: Payload, log_seq: int) -> Outbox[S, E]:
        """The state as it is, unless the newest event is among the frames."""
        outbox: EventOutbox[S, E] = EventOutbox(flow)
        outbox.log_seq = log_seq
        if not told:
            outbox.tell("session_start", **first)
        if max((frame["number"] for frame in told if "number" in frame), default=0) < log_seq:
            outbox.tell_state(state)
        return outbox

    return Format(flow, lambda: EventOutbox(flow), start, missing, title, model, stop, go_on)
