"""What a provider is asked to carry out.

A provider (anthropic, openai, local) carries out one `Call` and returns one `Turn`; it knows a
wire format and nothing of retries, tool loops, validation or prices. Only whole turns are returned:
whatever stops in the middle raises.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from moot.llm.messages import Message, OnText, Tokens, ToolCall, ToolSpec


@dataclass(frozen=True, slots=True)
class Schema:
    """The shape that a typed reply must have."""

    name: str
    json_schema: Mapping[str, Any]


@dataclass(slots=True)
class Tally:
    """What is known of a request's usage before its end. Kept up by the provider, because a reply that breaks
    off or is cancelled has cost something all the same."""

    used: Callable[[], Tokens | None] = lambda: None
    """None while nothing has come back."""
    is_sent: bool = True
    """False from when a provider has it until the server has it: until then it costs nothing."""
    is_refused: bool = False
    """The server did not take the request, or never got it: it costs nothing."""

    def so_far(self) -> Tokens | None:
        return self.used()


@dataclass(frozen=True, slots=True)
class Call:
    """`shared` stands before `system`, block by block: other calls begin with the same. With `must_answer`,
    the tools are named, because the conversation speaks of them, and may not be called any more."""

    model: str
    system: str
    messages: tuple[Message, ...]
    max_tokens: int
    temperature: float | None = None
    tools: tuple[ToolSpec, ...] = ()
    schema: Schema | None = None
    openers: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    must_answer: bool = False
    tally: Tally = field(default_factory=Tally, compare=False, repr=False)

    @property
    def whole_system(self) -> str:
        """For who makes no difference between what is shared and what is not."""
        return "\n\n".join(filter(None, (*self.shared, self.system)))


Stop = Literal["end", "limit", "tools", "refused"]


@dataclass(frozen=True, slots=True)
class Turn:
    """One whole answer of a provider. For a call with a schema, `text` is the JSON."""

    text: str
    usage: Tokens
    stop: Stop
    tool_calls: tuple[ToolCall, ...] = ()
    echo: Any = None


class Provider(Protocol):
    """One wire format to one server. Cancelling `exchange` closes the upstream connection."""

    async def prepare(self) -> None:
        """Loads what the first request would otherwise wait for, before it is noted as under way."""

    async def exchange(self, call: Call, hear: OnText) -> Turn: ...

    async def close(self) -> None: ...
