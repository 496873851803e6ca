"""What a test and the stub say to each other: behaviours one way, recorded requests the other.

Knows no wire format and does nothing by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tests.stub.flood import Flood

Body = Mapping[str, Any]
Stop = Literal["end", "limit", "tools", "refused"]

FAULTS = ("cut_after", "truncate_after", "stall_after", "error_event_after", "garbage_after")


@dataclass(frozen=True, slots=True)
class Spent:
    """Token counts to report instead of the real ones. `input_tokens` counts all input, cached included."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Behaviour:
    """What the stub does with one request.

    With neither `text`, `tokens` nor `tool_calls` it says a default sentence, or, if the request asks for a
    JSON schema or forces a tool, `json_text` (by default a minimal valid instance). The numbers of the faults
    count tokens of any kind (thinking, text, tool input); one beyond the last takes effect before the end.
    """

    text: str | None = None
    tokens: tuple[str, ...] | None = None
    """The pieces of the text, where their boundaries matter; otherwise a token is a word."""
    json_text: str | None = None
    thinking: str = ""
    tool_calls: tuple[tuple[str, Mapping[str, Any] | str], ...] = ()
    """Names and arguments; arguments given as a string are sent as they are, valid or not."""
    stop: Stop | None = None
    """By default "tools" if there are tool calls, else "end". A refusal with an empty text is a content
    filter's on the OpenAI wire; one with a text is the model's own."""
    usage: Spent | None = None
    omit_usage: bool = False
    """As some servers of the OpenAI wire do; Anthropic's always reports."""

    pace: float = 0
    """Tokens a second; 0 sends all that is left in one write."""
    header_delay: float = 0
    first_token_delay: float = 0
    """Begins after the headers and the opening event have been sent."""
    split: int = 0
    """Sends the body in chunks of so many bytes."""
    ping_every: int = 0
    """A keep-alive before every so-many-th token."""

    status: int = 200
    retry_after: float | str | None = None
    error_message: str | None = None
    """Also the explanation of a refusal on the Anthropic wire."""
    error_body: str | None = None
    """An HTML body in place of the wire's own error, as proxies send it."""
    reject_params: tuple[str, ...] = ()
    """Answers 400 if the body has one of these fields; dots reach into objects."""

    cut_after: int | None = None
    """Drops the connection."""
    reset: bool = False
    """A cut is a TCP reset, which may also take tokens that the client has not read yet."""
    truncate_after: int | None = None
    """Ends the HTTP body properly, without the wire's own end of the reply."""
    stall_after: int | None = None
    """Goes silent for ever."""
    stall_ping: float = 0
    """Seconds between keep-alives while stalled; 0 is complete silence."""
    error_event_after: int | None = None
    """Ends the stream with an error event: overloaded."""
    garbage_after: int | None = None
    """A data line that is no JSON; the reply goes on after it."""

    flood: Flood | None = None
    """After the last token, `flood_bytes` of what nobody asked for. The reply ends properly after it, if the
    client is still there."""
    flood_bytes: int = 0
    gzip: bool = False
    """Compresses the body, asked for or not."""

    def __post_init__(self) -> None:
        if sum(getattr(self, fault) is not None for fault in FAULTS) > 1:
            raise ValueError(f"a behaviour has at most one of {', '.join(FAULTS)}")
        if self.text is not None and self.tokens is not None:
            raise ValueError("a behaviour has text or tokens, not both")


@dataclass(frozen=True, slots=True)
class Recorded:
    """One request as it arrived. `headers` has lower-case names; `time` is time.monotonic()."""

    number: int
    wire: Literal["anthropic", "openai", "responses"]
    path: str
    headers: Mapping[str, str]
    body: Body
    system: str
    messages: tuple[Mapping[str, Any], ...]
    model: str
    time: float
    schema: Mapping[str, Any] | None = None
    """The JSON schema that the reply is asked to have, forced tools aside."""
    forced_tool: str | None = None
    """The one tool that the reply is told to call."""

    @property
    def stream(self) -> bool:
        return bool(self.body.get("stream"))

    @property
    def tools(self) -> tuple[str, ...]:
        return tuple(name for tool in self.body.get("tools") or () for name in tool_names(tool))

    @property
    def said(self) -> str:
        """All text of the request: the system prompt and every string in the messages."""
        return "\n".join([self.system, *_strings(self.messages)])


Answer = Behaviour | Callable[[Recorded], Behaviour]
Match = str | Callable[[Recorded], bool]


def tool_name(tool: Mapping[str, Any]) -> str:
    return str(tool.get("function", tool).get("name", ""))


def tool_names(tool: Mapping[str, Any]) -> tuple[str, ...]:
    """The name of a tool, or `namespace__name` of each that is in a namespace."""
    if tool.get("type") != "namespace":
        return (tool_name(tool),)
    return tuple(f"{tool['name']}__{tool_name(inner)}" for inner in tool.get("tools") or ())


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [text for key, part in value.items() if key not in ("role", "type") for text in _strings(part)]
    if isinstance(value, (list, tuple)):
        return [text for part in value for text in _strings(part)]
    return []
