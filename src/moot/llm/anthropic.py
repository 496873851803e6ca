"""Anthropic's Messages API: requests through the official SDK, replies from the raw event bytes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec

from moot.errors import KeyRefused, StreamBroken
from moot.llm import http, http_errors
from moot.llm.claude_models import traits
from moot.llm.messages import Image, ModelSaid, OnText, Tokens, ToolAnswered, ToolCall, UserSaid
from moot.llm.metering import least_of, tokens_of
from moot.llm.protocol import Call, Stop, Turn
from moot.llm.schemas import strict

if TYPE_CHECKING:
    from collections.abc import Callable

    import anthropic

_THINKING_FORMS = ("between_tools", "disabled", "room")
_PARTS = {
    "temperature": http.Adaptable(2, ("temperature",)),
    "thinking": http.Adaptable(len(_THINKING_FORMS), ("thinking",)),
    "draft": http.Adaptable(2, ("output_config", "output_format", "structured output", "json_schema")),
    "effort": http.Adaptable(2, ("effort",)),
}


class AnthropicProvider(http.HttpProvider["anthropic.AsyncAnthropic"]):
    parts = _PARTS

    def _sdk(self) -> Callable[..., anthropic.AsyncAnthropic]:
        import anthropic

        return anthropic.AsyncAnthropic

    async def _send(self, call: Call, forms: dict[str, int], hear: OnText) -> Turn:
        import anthropic

        body = request_body(call, forms)
        said = http.Gathering(hear, silent=call.schema is not None)
        room = http.Room(call.model, body["max_tokens"])
        decoder = Decoder(call, said.add, room)
        call.tally.used = decoder.used
        try:
            sending = self._client().post(
                "/v1/messages", stream_cls=anthropic.AsyncStream[object], **http.posted(body)
            )
            del body  # It holds all that was said, and a reply may take minutes.
            response = await sending
            await self._read(response, call, decoder.take, said, room)
        except anthropic.APIError as error:
            call.tally.is_refused = http.is_refused(error)
            raise http.failure(error, call.model) from error
        except (anthropic.AnthropicError, TypeError) as error:
            # Raised before anything is sent, where no credential can be found.
            if "authentication" not in str(error).lower() and "credential" not in str(error).lower():
                raise
            call.tally.is_refused = True
            raise KeyRefused(call.model, "no API key was found") from error
        return decoder.turn()


# -- requests ------------------------------------------------------------------------------------


def request_body(call: Call, forms: Mapping[str, int]) -> dict[str, Any]:
    """The request in the forms that this model is known to take."""
    known = traits(call.model)
    body: dict[str, Any] = {
        "model": call.model,
        "max_tokens": call.max_tokens,
        "messages": _messages(call),
        "stream": True,
    }
    if call.shared:
        body["system"] = _blocks(call)
    elif call.system:
        body["system"] = call.system
    if call.temperature is not None and known.takes_temperature and not forms["temperature"]:
        # Current models refuse it; older ones take it.
        body["temperature"] = call.temperature
    output_config: dict[str, Any] = {}
    if known.thinking != "absent":
        form = _THINKING_FORMS.index(known.thinking) + forms["thinking"]
        thinking = _THINKING_FORMS[min(form, len(_THINKING_FORMS) - 1)]
        if thinking == "room":
            body["max_tokens"] += http.ROOM_FOR_THINKING
            if not forms["effort"]:
                output_config["effort"] = "low"
        else:
            body["thinking"] = {"type": thinking}
    tools = [
        {"name": tool.name, "description": tool.description, "input_schema": dict(tool.schema)}
        for tool in call.tools
    ]
    if call.schema is not None:
        if forms["draft"]:
            tools.append(
                {
                    "name": call.schema.name,
                    "description": "Gives the answer.",
                    "input_schema": strict(call.schema.json_schema),
                }
            )
            may_call = call.tools and not call.must_answer
            body["tool_choice"] = {"type": "any"} if may_call else {"type": "tool", "name": call.schema.name}
        else:
            output_config["format"] = {"type": "json_schema", "schema": strict(call.schema.json_schema)}
    if tools:
        body["tools"] = tools
        body |= {"tool_choice": {"type": "none"}} if call.must_answer and "tool_choice" not in body else {}
    if output_config:
        body["output_config"] = output_config
    return body


def _blocks(call: Call) -> list[dict[str, Any]]:
    """What other calls begin with may be kept by the provider, up to the end of each block; it keeps four."""
    kept = {"cache_control": {"type": "ephemeral"}}
    blocks = [{"type": "text", "text": text, **kept} for text in call.shared[:4]]
    rest = "\n\n".join(filter(None, (*call.shared[4:], call.system)))
    return [*blocks, *([{"type": "text", "text": rest}] if rest else [])]


def _messages(call: Call) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    for message in call.messages:
        match message:
            case UserSaid(text, images=()):
                messages.append({"role": "user", "content": text})
            case UserSaid(text, images=images):
                shown = [block for image in images for block in _shown(image)]
                messages.append({"role": "user", "content": [*shown, {"type": "text", "text": text}]})
            case ModelSaid(echo=list() as blocks):
                messages.append({"role": "assistant", "content": blocks})
            case ModelSaid(text):
                messages.append({"role": "assistant", "content": text})
            case ToolAnswered(call_id, text, is_error):
                result = {
                    "type": "tool_result",
                    "tool_use_id": call_id,
                    "content": text,
                    "is_error": is_error,
                }
                last = messages[-1]
                if last["role"] == "user" and isinstance(last["content"], list):
                    last["content"].append(result)
                else:
                    messages.append({"role": "user", "content": [result]})
    return messages


def _shown(image: Image) -> tuple[dict[str, Any], dict[str, Any]]:
    source = {"type": "base64", "media_type": image.media_type, "data": image.base64}
    return {"type": "text", "text": f"{image.name}:"}, {"type": "image", "source": source}


# -- replies -------------------------------------------------------------------------------------


class _Counts(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class _Message(msgspec.Struct):
    usage: _Counts = msgspec.field(default_factory=_Counts)


class _Block(msgspec.Struct):
    type: str = ""
    id: str = ""
    name: str = ""
    text: str = ""
    thinking: str = ""
    signature: str = ""
    data: str = ""


class _StopDetails(msgspec.Struct):
    explanation: str | None = None


class _Delta(msgspec.Struct):
    type: str = ""
    text: str = ""
    partial_json: str = ""
    thinking: str = ""
    signature: str = ""
    stop_reason: str | None = None
    stop_details: _StopDetails | None = None


class _Error(msgspec.Struct):
    type: str = ""
    message: str = ""


class _Event(msgspec.Struct):
    """The few fields that matter, of all event types at once."""

    type: str = ""
    index: int = 0
    delta: _Delta | None = None
    content_block: _Block | None = None
    message: _Message | None = None
    usage: _Counts | None = None
    error: _Error | None = None


_decode = msgspec.json.Decoder(_Event).decode

_STOPS: dict[str, Stop] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "max_tokens": "limit",
    "model_context_window_exceeded": "limit",
    "tool_use": "tools",
    "refusal": "refused",
}


class Decoder:
    """Folds the events of one reply; only a reply that reached its end becomes a turn."""

    def __init__(self, call: Call, hear: OnText, room: http.Room | None = None) -> None:
        self._call = call
        self._hear = hear
        self._room = room or http.Room(call.model, call.max_tokens)
        self._blocks: dict[int, _Block] = {}
        self._pieces: dict[int, list[str]] = {}
        self._counts = _Counts()
        self._is_counted = False
        """Whether the output was counted to its end."""
        self._stop_reason: str | None = None
        self._explanation = ""
        self._ended = False

    def take(self, data: bytes) -> bool:
        """Whether the event brought the reply on: a ping does not."""
        try:
            event = _decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise StreamBroken(self._call.model, "the reply contained something that is no event") from error
        if event.type == "content_block_delta" and event.delta is not None:
            self._add(event.index, event.delta)
        elif event.type == "content_block_start" and event.content_block is not None:
            self._blocks[event.index] = event.content_block
            self._room.check_calls(len(self._blocks))
            if event.content_block.type == "text" and event.content_block.text:
                self._add(event.index, _Delta("text_delta", text=event.content_block.text))
        elif event.type == "message_start" and event.message is not None:
            self._counts = event.message.usage
        elif event.type == "message_delta":
            self._finish(event.delta, event.usage)
        elif event.type == "message_stop":
            self._ended = True
        elif event.type == "error":
            told = event.error or _Error()
            raise http_errors.from_stream_error(self._call.model, told.type, told.message)
        return event.type != "ping"

    def _add(self, index: int, delta: _Delta) -> None:
        if index not in self._blocks:
            return
        pieces = self._pieces.setdefault(index, [])
        if delta.type == "text_delta":
            pieces.append(self._room.take(delta.text))
            if self._call.schema is None:
                self._hear(delta.text)
        elif delta.type == "input_json_delta":
            pieces.append(self._room.take(delta.partial_json))
        elif delta.type == "thinking_delta":
            pieces.append(self._room.take(delta.thinking))
        elif delta.type == "signature_delta":
            self._blocks[index].signature += self._room.take(delta.signature)

    def _finish(self, delta: _Delta | None, counts: _Counts | None) -> None:
        if delta is not None and delta.stop_reason is not None:
            self._stop_reason = delta.stop_reason
            if delta.stop_details is not None:
                self._explanation = delta.stop_details.explanation or ""
        if counts is not None:
            # These are cumulative; what is absent stands as message_start said it.
            for field in counts.__struct_fields__:
                told = getattr(counts, field)
                if told is not None:
                    setattr(self._counts, field, told)
            self._is_counted = counts.output_tokens is not None

    def turn(self) -> Turn:
        call = self._call
        if not self._ended or self._stop_reason is None:
            raise StreamBroken(call.model, "the reply ended without its end")
        joined = {index: "".join(self._pieces.get(index, [])) for index in self._blocks}
        text = "".join(joined[i] for i, block in self._blocks.items() if block.type == "text")
        calls = tuple(
            ToolCall(block.id, block.name, joined[i] or "{}")
            for i, block in self._blocks.items()
            if block.type == "tool_use"
        )
        if self._stop_reason not in _STOPS:
            raise StreamBroken(call.model, f"the reply stopped unfinished ({self._stop_reason})")
        stop = _STOPS[self._stop_reason]
        if call.schema is not None:
            answers = [c for c in calls if c.name == call.schema.name]
            if answers:
                text, calls = answers[0].arguments, ()
                stop = "limit" if stop == "limit" else "end"
        return Turn(
            text=text or (self._explanation if stop == "refused" else ""),
            usage=self._usage(),
            stop=stop,
            tool_calls=calls,
            echo=[_echo(block, joined[i]) for i, block in self._blocks.items()] if calls else None,
        )

    @cached_property
    def _least(self) -> int:
        return least_of(self._call).input_tokens

    def used(self) -> Tokens | None:
        """So far. What was not counted by the provider is estimated from what was said."""
        return self._usage() if self._pieces or self._counts.input_tokens is not None else None

    def _usage(self) -> Tokens:
        counts = self._counts
        read, written = counts.cache_read_input_tokens or 0, counts.cache_creation_input_tokens or 0
        fresh = counts.input_tokens
        if fresh is None and not (read or written):
            fresh = self._least
        output = counts.output_tokens or 0
        if not self._is_counted:
            said = [http.joined(pieces) for pieces in self._pieces.values()]
            output = max(output, tokens_of(*said))
        return Tokens(
            input_tokens=(fresh or 0) + read + written,
            output_tokens=output,
            cache_read_tokens=read,
            cache_write_tokens=written,
            estimated=counts.input_tokens is None or not self._is_counted,
        )


def _echo(block: _Block, joined: str) -> dict[str, Any]:
    match block.type:
        case "tool_use":
            return {"type": "tool_use", "id": block.id, "name": block.name, "input": _arguments(joined)}
        case "thinking":
            return {"type": "thinking", "thinking": block.thinking + joined, "signature": block.signature}
        case "redacted_thinking":
            return {"type": "redacted_thinking", "data": block.data}
        case _:
            return {"type": "text", "text": joined}


def _arguments(joined: str) -> Any:
    """A tool's input goes back as an object; what did not parse goes back as an empty one."""
    try:
        return msgspec.json.decode(joined or "{}")
    except (msgspec.DecodeError, RecursionError):
        return {}
