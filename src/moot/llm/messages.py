"""What is said to a model, and what comes back. Plain values, shared by prompting and the gateway.

Knows no provider and no wire format. A `Reply` is always whole: whatever stops in the middle raises.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

T = TypeVar("T")

OnText = Callable[[str], None]
"""Told each piece of text as it arrives, in order, on the event loop's thread. It must not block."""


def deaf(_: str) -> None:
    """For callers who want the whole reply only."""


# -- what is said to a model ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's wish to use a tool. `arguments` is the JSON text as the model wrote it: untrusted."""

    id: str
    name: str
    arguments: str


class Weight(IntEnum):
    """What goes first where not everything fits."""

    NEEDED = 0
    """Without it there is nothing to ask: never left out."""
    DEPENDED_ON = 1
    HELPFUL = 2


@dataclass(frozen=True, slots=True)
class Image:
    """`name` is what the text calls it."""

    name: str
    media_type: str
    data: bytes = field(repr=False)

    @property
    def base64(self) -> str:
        return b64encode(self.data).decode()


@dataclass(frozen=True, slots=True)
class Source:
    """Something that a model is told whole, or not at all. By its `name` the model and the person hear of it
    where it is left out: "the notes of step 01-02". Of several, those that come later are newer. One with an
    `image` is left out where the model takes none."""

    name: str
    text: str
    weight: Weight = Weight.HELPFUL
    image: Image | None = None


@dataclass(frozen=True, slots=True)
class UserSaid:
    """The sources come first, then the text. `images` are those of sources that are in the text already, or
    in what all requests begin with: providers take images from the user only."""

    text: str
    sources: tuple[Source, ...] = ()
    images: tuple[Image, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelSaid:
    """What a model answered before. `echo` is the provider's own form of that turn, which it wants
    back unchanged within a tool loop (signed thinking blocks, for one); nobody else looks into it."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    echo: Any = None


@dataclass(frozen=True, slots=True)
class ToolAnswered:
    call_id: str
    text: str
    is_error: bool = False


Message = UserSaid | ModelSaid | ToolAnswered


@dataclass(frozen=True, slots=True)
class ToolSpec:
    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that runs in this process. `run` gets validated input; a ToolFault is told to the model."""

    name: str
    description: str
    takes: type[BaseModel]
    run: Callable[[Any], Awaitable[str]]

    def spec(self) -> ToolSpec:
        return ToolSpec(self.name, self.description, self.takes.model_json_schema())


class ToolFault(Exception):
    """What went wrong in a tool, in words that a model can act on."""


# -- what a caller asks for ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Request:
    """`openers` are beginnings of sentences in the speaker's voice; only a tiny model needs them. After the
    `last` asking, a typed reply that does not validate is not returned to the model any more. `remind` is
    asked when the model has nothing more to say, and what it answers, if anything, is said to it, once.
    Where it answers nothing after a tool was called, all is done, and no further turn is paid for.

    `shared` is what all requests of a session begin with, block by block, so that a provider may keep it:
    it stands before `system`. Of the messages, the first `history` may be left out, the oldest first, where
    not all fit; the answers of tools take up to `tools_tokens` besides. `looks` is how often the speaker may
    look something up in the repository, with tools that are added where there is one (repo/eyes.py).
    `may_use_tools` is asked before each turn: where it says no, the model has to answer without any more.
    `usual_tokens` is how long a reply is expected to be, where that is not half of `max_tokens`."""

    system: str
    messages: tuple[Message, ...]
    max_tokens: int
    temperature: float | None = None
    tools: tuple[Tool, ...] = ()
    openers: tuple[str, ...] = ()
    last: bool = False
    remind: Callable[[], str] | None = None
    shared: tuple[tuple[Source, ...], ...] = ()
    history: int = 0
    tools_tokens: int = 0
    looks: int = 0
    may_use_tools: Callable[[], bool] | None = None
    usual_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Tokens:
    """`input_tokens` counts all input; the two cache fields say how much of it was read from or
    written to the provider's prompt cache. `estimated`: the provider did not count all of it."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    estimated: bool = False

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.estimated or other.estimated,
        )


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole reply: the last turn's text, where tools were used; what was said between tool calls was heard,
    but is no answer. Tokens and cost are those of all requests that led to it, the failed ones
    included; `cost_usd` is None where no price is known; `cut_short` says that the reply
    ended at its token limit; `attempts` counts requests, retries and re-asks included; `left_out` names what
    the model was not told, because it would not have fitted."""

    text: str
    model: str
    usage: Tokens
    cost_usd: float | None
    duration_ms: int
    first_text_ms: int | None = None
    attempts: int = 1
    cut_short: bool = False
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Draft(Generic[T]):
    """A typed reply: the validated value, and the reply that it was read from. `returned`: the first one did
    not validate, so that this is the second."""

    value: T
    reply: Reply
    returned: bool = False
