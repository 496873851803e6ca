"""What the server has to know of a format to serve its sessions live: its flow, and what listeners are told.

Refuses to know any format: each says it of itself.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import msgspec
from pydantic.alias_generators import to_snake

from moot.core.flow import AskPersona, Event, Flow, ModelEffect

S = TypeVar("S")
E = TypeVar("E", bound=Event)


class Payload(msgspec.Struct, tag_field="type", tag=to_snake, rename="camel"):
    """A frame, before it is JSON: its type is the name of its class, and its fields come in their order."""


class StreamError(Payload, tag="error"):
    message: str


class TaskStart(Payload):
    """The program does something outside; `task` is the name of its kind."""

    task: str
    key: str


class Progress(Payload):
    """How what is being done comes along."""

    text: str


class Looked(Payload):
    """Who speaks or drafts has looked something up in the repository: "src/app.py, lines 1 to 80". What
    nobody speaks, such as a draft, has no persona."""

    persona_id: str
    prompt: str
    key: str
    what: str


class Words(Protocol):
    """A frame of what somebody says, as far as it has come."""

    token: str


_encode = msgspec.json.Encoder().encode


class Outbox(Generic[S, E]):
    """Collects what there is to tell until it is taken. Words that arrive close together go out together."""

    def __init__(self) -> None:
        self.log_seq = 0
        """The number of the newest event in the log."""
        self._waiting: list[Any] = []
        self._open: dict[Hashable, Words] = {}
        """What somebody is saying, as far as it was not taken yet."""

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def take(self) -> list[bytes]:
        waiting, self._waiting = self._waiting, []
        self._open.clear()
        return [_encode(frame) for frame in waiting]

    def tell(self, frame: Payload) -> None:
        self._waiting.append(frame)

    def add_words(self, speech: Hashable, frame: Words) -> None:
        """Joined to the words before them under the same speech, until `close` or until they are taken."""
        if (joined := self._open.get(speech)) is not None:
            joined.token += frame.token
            return
        self._waiting.append(frame)
        self._open[speech] = frame

    def close(self, speech: Hashable) -> None:
        self._open.pop(speech, None)

    # -- what a format says of it ------------------------------------------------------------

    def began(self, effect: ModelEffect, state: S) -> None:
        """A model has been asked."""
        raise NotImplementedError

    def said(self, effect: ModelEffect, text: str) -> None:
        raise NotImplementedError

    def looks(self, effect: ModelEffect, what: str) -> None:
        """Who speaks or drafts has looked something up."""
        self.tell(
            Looked(effect.persona if isinstance(effect, AskPersona) else "", effect.prompt, effect.key, what)
        )

    def happened(self, event: E, before: S, after: S) -> None:
        raise NotImplementedError

    def happened_elsewhere(self, event: E, before: S, after: S) -> None:
        """Another process has added it to the log: what led to it was not told from here."""
        raise NotImplementedError


@dataclass(frozen=True)
class Format(Generic[S, E]):
    flow: Flow[S, E]
    outbox: Callable[[], Outbox[S, E]]
    start: Callable[[str, S, bool], Payload]
    """The first frame of a session, made of its id, its state, and whether its model is tiny."""
    missing: Callable[[S, list[Any], Payload, int], Outbox[S, E]]
    """What is in the log but is not among the frames that were told, which are JSON as some version has
    written it, given the first frame and the number of the newest event."""
    title: Callable[[S], str]
    model: Callable[[S], str]
    stop: Callable[[S], Sequence[E]] = lambda _: ()
    """What happens when the person stops whoever speaks; nothing, where it is enough that nobody goes on."""
    go_on: Callable[[S], Sequence[E]] = lambda _: ()
    """What happens when they have it go on."""
