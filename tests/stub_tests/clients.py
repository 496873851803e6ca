"""The two real SDKs as clients of the stub, and what they heard."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import anthropic
import openai
import pytest

from tests.stub.server import StubServer

WIRES: tuple[Literal["anthropic", "openai"], ...] = ("anthropic", "openai")
SCHEMA = {
    "type": "object",
    "properties": {"verdict": {"enum": ["yes", "no"]}, "why": {"type": "string", "maxLength": 3}},
    "required": ["verdict", "why"],
    "additionalProperties": False,
}
PARTIAL = ["One", " two"]
INSTANCE = {"verdict": "yes", "why": "stu"}
QUESTION: dict[str, Any] = {"role": "user", "content": "Why so?"}

# Loading the certificate authorities takes 40 ms of each client's life, and loopback has no use for them.
_NO_AUTHORITIES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


@dataclass
class Heard:
    """What a client made of a reply."""

    pieces: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    tool_names: list[str] = field(default_factory=list)
    tool_inputs: list[str] = field(default_factory=list)
    stop: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None

    @property
    def text(self) -> str:
        return "".join(self.pieces)


def anthropic_client(stub: StubServer) -> anthropic.AsyncAnthropic:
    return anthropic.AsyncAnthropic(
        base_url=stub.anthropic_base_url,
        api_key="key",
        max_retries=0,
        http_client=anthropic.DefaultAsyncHttpxClient(verify=_NO_AUTHORITIES),
    )


def openai_client(stub: StubServer) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(
        base_url=stub.openai_base_url,
        api_key="key",
        max_retries=0,
        http_client=openai.DefaultAsyncHttpxClient(verify=_NO_AUTHORITIES),
    )


async def ask_anthropic(stub: StubServer, heard: Heard, **params: Any) -> None:
    asked: dict[str, Any] = {
        "model": "m",
        "max_tokens": 9,
        "system": "Be brief.",
        "messages": [QUESTION],
    }
    async with anthropic_client(stub) as client:
        async for event in await client.messages.create(**(asked | params), stream=True):
            match event.type:
                case "message_start":
                    heard.input_tokens = event.message.usage.input_tokens
                case "content_block_start" if event.content_block.type == "tool_use":
                    heard.tool_names.append(event.content_block.name)
                    heard.tool_inputs.append("")
                case "content_block_delta" if event.delta.type == "text_delta":
                    heard.pieces.append(event.delta.text)
                case "content_block_delta" if event.delta.type == "thinking_delta":
                    heard.thoughts.append(event.delta.thinking)
                case "content_block_delta" if event.delta.type == "input_json_delta":
                    heard.tool_inputs[-1] += event.delta.partial_json
                case "message_delta":
                    heard.stop = event.delta.stop_reason
                    heard.output_tokens = event.usage.output_tokens


async def ask_openai(stub: StubServer, heard: Heard, **params: Any) -> None:
    asked: dict[str, Any] = {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief."}, QUESTION],
        "stream_options": {"include_usage": True},
    }
    async with openai_client(stub) as client:
        async for chunk in await client.chat.completions.create(**(asked | params), stream=True):
            if chunk.usage is not None:
                heard.input_tokens = chunk.usage.prompt_tokens
                heard.output_tokens = chunk.usage.completion_tokens
            for choice in chunk.choices:
                heard.stop = choice.finish_reason or heard.stop
                heard.pieces += [choice.delta.content] if choice.delta.content else []
                heard.refusals += [choice.delta.refusal] if choice.delta.refusal else []
                thought = getattr(choice.delta, "reasoning_content", None)
                heard.thoughts += [thought] if thought else []
                for call in choice.delta.tool_calls or ():
                    assert call.function is not None
                    if call.function.name:
                        heard.tool_names.append(call.function.name)
                        heard.tool_inputs.append("")
                    heard.tool_inputs[call.index] += call.function.arguments or ""


ASK: dict[str, Callable[..., Awaitable[None]]] = {"anthropic": ask_anthropic, "openai": ask_openai}


def hear(stub: StubServer, wire: str, **params: Any) -> Heard:
    heard = Heard()
    asyncio.run(_within(ASK[wire](stub, heard, **params)))
    return heard


async def _within(asking: Awaitable[None]) -> None:
    async with asyncio.timeout(10):
        await asking


def hear_until(stub: StubServer, wire: str, error: type[Exception], **params: Any) -> tuple[Heard, Exception]:
    heard = Heard()
    with pytest.raises(error) as caught:
        asyncio.run(_within(ASK[wire](stub, heard, **params)))
    return heard, caught.value


def shape_params(wire: str) -> dict[str, Any]:
    if wire == "anthropic":
        return {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}}
    shape = {"name": "verdict", "schema": SCHEMA, "strict": True}
    return {"response_format": {"type": "json_schema", "json_schema": shape}}


def tool_params(wire: str) -> dict[str, Any]:
    if wire == "anthropic":
        return {
            "tools": [{"name": "submit", "description": "Submit.", "input_schema": SCHEMA}],
            "tool_choice": {"type": "tool", "name": "submit"},
        }
    function = {"name": "submit", "description": "Submit.", "parameters": SCHEMA}
    return {
        "tools": [{"type": "function", "function": function}],
        "tool_choice": {"type": "function", "function": {"name": "submit"}},
    }
