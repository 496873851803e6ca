"""What a request carries, within the model's window: whole sources or none, and what was left out.

Every format gives all that it has; this is the only place where anything is left out of what a model is told.
Where not everything fits, what is depended on and what is newest goes first, and both the model and the
person are told what is missing. Knows how large a text is. Refuses to know where a source comes from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from moot.errors import WindowTooSmall
from moot.llm.messages import Message, ModelSaid, Source, UserSaid, Weight
from moot.llm.metering import IMAGE_TOKENS

if TYPE_CHECKING:
    from moot.llm.messages import Request

BYTES_PER_TOKEN = 3
"""Of code and of most prose at least: what is counted is never too little by much."""
_APART = "\n\n"
_MESSAGE = 8
"""Bytes for what stands around a message."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """A request without sources, as it is sent, and the names of what it does not carry."""

    request: Request
    left_out: tuple[str, ...] = ()


def size_of(text: str) -> int:
    """In bytes."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def needed_tokens(request: Request) -> int:
    """How large the window has to be for all of it, the reply included."""
    return _tokens(_join(request, _every(request), request.messages, ())) + _reply(request)


def fit(request: Request, window: int, model: str, *, sees: bool = True) -> Fitted:
    """As much of the request as the window takes, and of images none where the model `sees` none. Raises
    WindowTooSmall where what is needed does not fit."""
    room = window - _reply(request)
    images = dict.fromkeys(one for one in _sources(request) if one.image is not None and not sees)
    unseen = tuple(f"{one.name}, which is an image: {model} takes none" for one in images)
    kept = _every(request) - images.keys()
    whole = _join(request, kept, request.messages, unseen)
    if _tokens(whole) <= room:
        return Fitted(whole, unseen)

    history, left_out = request.messages, list[Source]()
    forgotten = 0

    def is_too_large() -> bool:
        names = (*unseen, *_names(left_out, forgotten))
        return _tokens(_join(request, kept, history, names)) > room

    for source in _least_first(request, kept):
        if not is_too_large():
            break
        kept.remove(source)
        left_out.append(source)
    while is_too_large() and len(history) > len(request.messages) - request.history:
        history = history[1:]
        forgotten += 1
    while forgotten and len(history) > 1 and isinstance(history[0], ModelSaid):
        history = history[1:]
        forgotten += 1
    if is_too_large():
        names = (*unseen, *_names(left_out, forgotten))
        needed = _tokens(_join(request, kept, history, names))
        raise WindowTooSmall(model, window, needed + _reply(request))
    # What is too large by itself has not to take along everything that is smaller.
    for source in reversed(left_out.copy()):
        kept.add(source)
        left_out.remove(source)
        if is_too_large():
            kept.remove(source)
            left_out.append(source)
    missing = [one for one in _sources(request) if one not in kept and one not in images]
    names = (*unseen, *_names(missing, forgotten))
    return Fitted(_join(request, kept, history, names), names)


def _reply(request: Request) -> int:
    return request.max_tokens + request.tools_tokens


def _sources(request: Request) -> Iterable[Source]:
    """In their order, the oldest first."""
    for block in request.shared:
        yield from block
    for message in request.messages:
        if isinstance(message, UserSaid):
            yield from message.sources


def _every(request: Request) -> set[Source]:
    return set(_sources(request))


def _least_first(request: Request, kept: set[Source]) -> list[Source]:
    """Those that may be left out, in the order in which they are: the oldest of the least weight first."""
    given = [source for source in dict.fromkeys(_sources(request)) if source in kept]
    may_go = [source for source in given if source.weight is not Weight.NEEDED]
    return sorted(may_go, key=lambda source: -source.weight)


def _names(left_out: Iterable[Source], forgotten: int) -> tuple[str, ...]:
    earlier = (
        ("1 earlier message",) if forgotten == 1 else (f"{forgotten} earlier messages",) * bool(forgotten)
    )
    return (*earlier, *(source.name for source in left_out))


def _join(
    request: Request, kept: set[Source], messages: Sequence[Message], left_out: tuple[str, ...]
) -> Request:
    """The request with the text of what is kept in place of its sources. What all requests begin with has its
    images in the first message."""
    note = _note(left_out)
    shared = tuple(tuple(one for one in block if one in kept) for block in request.shared)
    shown = [one.image for block in shared for one in block if one.image is not None]
    joined: list[Message] = []
    for message in messages:
        if isinstance(message, UserSaid) and (message.sources or note or shown):
            given = [one for one in message.sources if one in kept]
            parts = [note, *(one.text for one in given), message.text]
            shown += [one.image for one in given if one.image is not None]
            joined.append(UserSaid(_APART.join(filter(None, parts)), images=(*message.images, *shown)))
            note, shown = "", []
        else:
            joined.append(message)
    return replace(request, shared=shared, messages=tuple(joined), history=0)


def _note(left_out: tuple[str, ...]) -> str:
    if not left_out:
        return ""
    listed = "\n".join(f"- {name}" for name in left_out)
    return (
        "<left-out>\nThis is not in what you are given, because it would not have fitted, or for the reason "
        f"beside it. Where your answer depends on it, say so.\n{listed}\n</left-out>"
    )


def shared_texts(request: Request) -> tuple[str, ...]:
    """The blocks that all requests of a session begin with, each as one text."""
    return tuple(filter(None, (_APART.join(one.text for one in block) for block in request.shared)))


def _tokens(request: Request) -> int:
    """At most about so many."""
    texts, images = [*shared_texts(request), request.system], 0
    for message in request.messages:
        texts.append(message.text)
        if isinstance(message, ModelSaid):
            texts.extend(call.arguments for call in message.tool_calls)
        elif isinstance(message, UserSaid):
            images += len(message.images)
    return -(-sum(size_of(text) + _MESSAGE for text in texts) // BYTES_PER_TOKEN) + images * IMAGE_TOKENS
