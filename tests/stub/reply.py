"""What the stub says to one request: blocks of tokens, how they end, and the fault put into them.

Pure: from a behaviour and a recorded request to the pieces of bytes that are to be sent. Knows a wire format
only as a `Wire`, and neither sockets nor clocks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from tests.stub.instance import instance_of
from tests.stub.script import Behaviour, Body, Recorded, Spent, Stop, tool_name

DEFAULT_TEXT = "The stub has read the request and has nothing against it."
DEFAULT_REFUSAL = "I can't help with that."


@dataclass(frozen=True, slots=True)
class Block:
    kind: Literal["thinking", "text", "refusal", "tool"]
    tokens: tuple[str, ...]
    name: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    blocks: tuple[Block, ...]
    stop: Stop
    spent: Spent
    explanation: str | None = None
    reports_usage: bool = True


@dataclass(frozen=True, slots=True)
class Frames:
    """A reply as bytes: what comes before the first token, one piece for each token, what ends it."""

    head: bytes
    tokens: tuple[bytes, ...]
    tail: bytes


@dataclass(frozen=True, slots=True)
class Sending:
    """What is really sent, and what is done after it."""

    frames: Frames
    then: Literal["end", "cut", "stall"] = "end"
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Refusal:
    """An HTTP error, still without a wire format. `param` is the body field that it is about."""

    status: int
    message: str | None = None
    param: str | None = None
    value: Any = None


class Wire(Protocol):
    """What server.py needs of a wire format: the modules anthropic_wire, openai_wire and responses_wire."""

    PING: bytes
    GARBAGE: bytes

    def record(
        self, number: int, path: str, headers: Mapping[str, str], body: Body, time: float
    ) -> Recorded: ...
    def frames(self, plan: Plan, request: Recorded) -> Frames: ...
    def whole(self, plan: Plan, request: Recorded) -> Mapping[str, Any]: ...
    def error(self, refusal: Refusal, request: Recorded) -> Mapping[str, Any]: ...
    def error_event(self, message: str | None) -> bytes: ...
    def models(self, names: tuple[str, ...]) -> Mapping[str, Any]: ...


def tokens_of(text: str) -> tuple[str, ...]:
    """Words with the white space before them."""
    return tuple(re.findall(r"\s*\S+|\s+", text))


def plan(behaviour: Behaviour, request: Recorded) -> Plan:
    blocks = []
    if behaviour.thinking:
        blocks.append(Block("thinking", tokens_of(behaviour.thinking)))
    blocks += _answer_blocks(behaviour, request)
    calls_tools = any(block.kind == "tool" for block in blocks)
    spent = Spent(
        input_tokens=max(1, len(request.said.split())),
        output_tokens=sum(len(block.tokens) for block in blocks),
    )
    return Plan(
        blocks=tuple(blocks),
        stop=behaviour.stop or ("tools" if calls_tools else "end"),
        spent=behaviour.usage or spent,
        explanation=behaviour.error_message,
        reports_usage=not behaviour.omit_usage,
    )


def _answer_blocks(behaviour: Behaviour, request: Recorded) -> list[Block]:
    kind: Literal["text", "refusal"] = "refusal" if behaviour.stop == "refused" else "text"
    text = behaviour.tokens if behaviour.text is None else tokens_of(behaviour.text)
    if behaviour.tool_calls:
        spoken = [Block(kind, text)] if text else []
        return spoken + [Block("tool", tokens_of(_json(args)), name) for name, args in behaviour.tool_calls]
    if text is not None:
        return [Block(kind, text)]
    if behaviour.stop == "refused":
        return [Block(kind, tokens_of(DEFAULT_REFUSAL))]
    if request.forced_tool is not None:
        return [Block("tool", _shaped(behaviour, _tool_schema(request)), request.forced_tool)]
    if request.schema is not None:
        return [Block(kind, _shaped(behaviour, request.schema))]
    return [Block(kind, tokens_of(DEFAULT_TEXT))]


def _shaped(behaviour: Behaviour, schema: Mapping[str, Any]) -> tuple[str, ...]:
    return tokens_of(_json(instance_of(schema)) if behaviour.json_text is None else behaviour.json_text)


def weave(frames: Frames, behaviour: Behaviour, wire: Wire) -> Sending:
    """The frames with keep-alives and the fault, if any, put in."""
    tokens = list(frames.tokens)
    if behaviour.ping_every:
        for index in range(0, len(tokens), behaviour.ping_every):
            tokens[index] = wire.PING + tokens[index]

    def upto(count: int, tail: bytes = b"") -> Frames:
        return Frames(frames.head, tuple(tokens[:count]), tail)

    if behaviour.cut_after is not None:
        return Sending(upto(behaviour.cut_after), "cut", whole=False)
    if behaviour.stall_after is not None:
        return Sending(upto(behaviour.stall_after), "stall", whole=False)
    if behaviour.truncate_after is not None:
        return Sending(upto(behaviour.truncate_after), whole=False)
    if behaviour.error_event_after is not None:
        event = wire.error_event(behaviour.error_message)
        return Sending(upto(behaviour.error_event_after, event), whole=False)
    if behaviour.garbage_after is not None:
        before = tokens[: behaviour.garbage_after]
        tokens = [*before, wire.GARBAGE, *tokens[len(before) :]]
    return Sending(upto(len(tokens), frames.tail))


def weave_whole(body: bytes, behaviour: Behaviour) -> Sending:
    """The same for a reply that is not streamed: a fault in the middle leaves half of the body."""
    half = Frames(b"", (body[: len(body) // 2],), b"")
    if behaviour.cut_after is not None:
        return Sending(half, "cut", whole=False)
    if behaviour.stall_after is not None:
        return Sending(half, "stall", whole=False)
    if behaviour.truncate_after is not None or behaviour.garbage_after is not None:
        return Sending(half, whole=False)
    return Sending(Frames(b"", (body,), b""))


def refusal(behaviour: Behaviour, request: Recorded) -> Refusal | None:
    """The HTTP error that this request gets, if any."""
    if behaviour.status != 200:
        return Refusal(behaviour.status, behaviour.error_message)
    if behaviour.error_event_after is not None and not request.stream:
        return Refusal(529, behaviour.error_message)
    for param in behaviour.reject_params:
        value = _dig(request.body, param)
        if value is not None:
            return Refusal(400, behaviour.error_message, param, value)
    return None


def _dig(body: Any, dotted: str) -> Any:
    for name in dotted.split("."):
        if not isinstance(body, Mapping):
            return None
        body = body.get(name)
    return body


def _json(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _tool_schema(request: Recorded) -> Mapping[str, Any]:
    for tool in request.body.get("tools") or ():
        if tool_name(tool) == request.forced_tool:
            schema: Mapping[str, Any] = (
                tool.get("input_schema") or tool.get("function", {}).get("parameters") or {}
            )
            return schema
    return {"type": "object"}
