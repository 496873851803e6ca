"""What a provider is asked to carry out.

A provider (anthropic, openai, local, scripted) carries out one `Call` and returns one `Turn`; it knows a
wire format and nothing of retries, tool loops, validation or prices. Only whole turns are returned:
whatever stops in the middle raises.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from moot.speech import (
    Draft,
    Hear,
    Message,
    ModelSaid,
    Reply,
    Request,
    Tool,
    ToolAnswered,
    ToolCall,
    ToolFault,
    ToolSpec,
    Usage,
    UserSaid,
    deaf,
)

__all__ = [
    "Call",
    "Draft",
    "Hear",
    "Message",
    "ModelSaid",
    "Provider",
    "Reply",
    "Request",
    "Schema",
    "Stop",
    "Tool",
    "ToolAnswered",
    "ToolCall",
    "ToolFault",
    "ToolSpec",
    "Turn",
    "Usage",
    "UserSaid",
    "deaf",
]


@dataclass(frozen=True, slots=True)
class Schema:
    """The shape that a typed reply must have."""

    name: str
    json_schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    model: str
    system: str
    messages: tuple[Message, ...]
    max_tokens: int
    temperature: float | None = None
    tools: tuple[ToolSpec, ...] = ()
    schema: Schema | None = None
    openers: tuple[str, ...] = ()


Stop = Literal["end", "limit", "tools", "refused"]


@dataclass(frozen=True, slots=True)
class Turn:
    """One whole answer of a provider. For a call with a schema, `text` is the JSON."""

    text: str
    usage: Usage
    stop: Stop
    tool_calls: tuple[ToolCall, ...] = ()
    echo: Any = None


class Provider(Protocol):
    """One wire format to one server. Cancelling `exchange` closes the upstream connection."""

    async def exchange(self, call: Call, hear: Hear) -> Turn: ...

    async def close(self) -> None: ...
