"""OpenAI's chat completions, as OpenAI, Ollama, vLLM, llama.cpp, OpenRouter and many others speak it:
requests through the official SDK, replies from the raw event bytes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec

from moot.errors import KeyRefused, StreamBroken
from moot.llm import http, http_errors
from moot.llm.messages import Image, ModelSaid, OnText, Tokens, ToolAnswered, ToolCall, UserSaid
from moot.llm.metering import least_of, tokens_of
from moot.llm.protocol import Call, Stop, Turn
from moot.llm.schemas import strict

if TYPE_CHECKING:
    from collections.abc import Callable

    import openai

_PARTS = {
    "temperature": http.Adaptable(2, ("temperature",)),
    "limit": http.Adaptable(2, ("max_tokens", "max_completion_tokens")),
    "effort": http.Adaptable(4, ("reasoning_effort", "reasoning effort")),
    "usage": http.Adaptable(2, ("stream_options",)),
    "draft": http.Adaptable(3, ("response_format", "json_schema", "structured output", "tool_choice")),
}

_EFFORTS = ("none", "minimal", "low")


class OpenAIProvider(http.HttpProvider["openai.AsyncOpenAI"]):
    """`compatible` is any server but OpenAI's own."""

    parts = _PARTS

    def __init__(
        self,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        compatible: bool = False,
        stall_seconds: float = 120.0,
    ) -> None:
        super().__init__(api_key=api_key, base_url=base_url, stall_seconds=stall_seconds)
        self._compatible = compatible

    @property
    def keeps_beginnings(self) -> bool:
        return not self._compatible

    def _sdk(self) -> Callable[..., openai.AsyncOpenAI]:
        import openai

        return openai.AsyncOpenAI

    async def _send(self, call: Call, forms: dict[str, int], hear: OnText) -> Turn:
        import openai

        body = request_body(call, forms, compatible=self._compatible)
        said = http.Gathering(hear, silent=call.schema is not None)
        room = http.Room(call.model, body.get("max_tokens") or body["max_completion_tokens"])
        decoder = Decoder(call, said.add, room)
        call.tally.used = decoder.used
        try:
            sending = self._client().post(
                "/chat/completions", stream_cls=openai.AsyncStream[object], **http.posted(body)
            )
            del body  # It holds all that was said, and a reply may take minutes.
            response = await sending
            await self._read(response, call, decoder.take, said, room)
        except openai.APIError as error:
            call.tally.is_refused = http.is_refused(error)
            raise http.failure(error, call.model) from error
        except openai.OpenAIError as error:
            call.tally.is_refused = True
            raise KeyRefused(call.model, "no API key was found") from error
        return decoder.turn()


# -- requests ------------------------------------------------------------------------------------

_GPT_5 = re.compile(r"gpt-5(?:\.(\d+))?(?!\d)")
_THINKS = re.compile(r"qwen3|deepseek-r|gpt-oss|magistral|glm-4\.[5-9]|think|reason")
"""Open models that think before they answer, and cannot be told not to in a way that all servers take."""
_ALWAYS_REASONING = re.compile(r"\bo[134](?:-|$)")


def effort_form(model: str) -> int | None:
    """Where on the ladder of efforts a model begins; None for one that does not reason."""
    name = model.rsplit("/", 1)[-1]
    if "chat" in name:
        return None
    if found := _GPT_5.match(name):
        return 0 if found[1] else 1
    return 2 if _ALWAYS_REASONING.match(name) else None


def request_body(call: Call, forms: Mapping[str, int], *, compatible: bool) -> dict[str, Any]:
    """The request in the forms that this server is known to take."""
    body: dict[str, Any] = {"model": call.model, "messages": _messages(call), "stream": True}
    if not forms["usage"]:
        body["stream_options"] = {"include_usage": True}
    limit = call.max_tokens
    if _THINKS.search(call.model.lower()):
        limit += http.ROOM_FOR_THINKING
    first_effort = effort_form(call.model)
    if first_effort is None:
        if call.temperature is not None and not forms["temperature"]:
            body["temperature"] = call.temperature
    else:
        effort = first_effort + forms["effort"]
        if effort < len(_EFFORTS):
            body["reasoning_effort"] = _EFFORTS[effort]
        if effort > 0:
            limit += http.ROOM_FOR_THINKING
    names = ("max_tokens", "max_completion_tokens")
    body[names[(forms["limit"] + (not compatible)) % 2]] = limit
    tools = [_function(tool.name, tool.description, tool.schema) for tool in call.tools]
    if call.schema is not None:
        form, name = forms["draft"], call.schema.name
        if form == 0:
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": name, "strict": True, "schema": strict(call.schema.json_schema)},
            }
        else:
            tools.append(_function(name, "Gives the answer.", strict(call.schema.json_schema)))
            forced = {"type": "function", "function": {"name": name}}
            may_call = call.tools and not call.must_answer
            body["tool_choice"] = "required" if may_call or form == 2 else forced
    if tools:
        body["tools"] = tools
        body |= {"tool_choice": "none"} if call.must_answer and "tool_choice" not in body else {}
    if call.shared and not compatible:
        # Those with the same beginning are sent to where it is kept.
        body["prompt_cache_key"] = hashlib.sha256(call.shared[0].encode()).hexdigest()[:32]
    return body


def _function(name: str, description: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": dict(schema)},
    }


def _messages(call: Call) -> list[dict[str, Any]]:
    system = call.whole_system
    messages: list[dict[str, Any]] = [{"role": "system", "content": system}] if system else []
    for message in call.messages:
        match message:
            case UserSaid(text, images=()):
                messages.append({"role": "user", "content": text})
            case UserSaid(text, images=images):
                shown = [part for image in images for part in _shown(image)]
                messages.append({"role": "user", "content": [*shown, {"type": "text", "text": text}]})
            case ModelSaid(text, tool_calls):
                said: dict[str, Any] = {"role": "assistant", "content": text or None}
                if tool_calls:
                    said["tool_calls"] = [
                        {
                            "id": c.id,
                            "type": "function",
                            "function": {"name": c.name, "arguments": c.arguments},
                        }
                        for c in tool_calls
                    ]
                messages.append(said)
            case ToolAnswered(call_id, text):
                messages.append({"role": "tool", "tool_call_id": call_id, "content": text})
    return messages


def _shown(image: Image) -> tuple[dict[str, Any], dict[str, Any]]:
    url = f"data:{image.media_type};base64,{image.base64}"
    return {"type": "text", "text": f"{image.name}:"}, {"type": "image_url", "image_url": {"url": url}}


# -- replies -------------------------------------------------------------------------------------


class _Function(msgspec.Struct, gc=False):
    name: str | None = None
    arguments: str | None = None


class _ToolDelta(msgspec.Struct, gc=False):
    index: int = 0
    id: str | None = None
    function: _Function | None = None


class _Delta(msgspec.Struct, gc=False):
    content: str | None = None
    refusal: str | None = None
    tool_calls: list[_ToolDelta] | None = None


class _Choice(msgspec.Struct, gc=False):
    delta: _Delta | None = None
    finish_reason: str | None = None


class _Details(msgspec.Struct, gc=False):
    cached_tokens: int | None = None


class _Counts(msgspec.Struct, gc=False):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Details | None = None


class _Error(msgspec.Struct, gc=False):
    message: str | None = None
    type: str | None = None
    code: str | int | None = None


class _Chunk(msgspec.Struct, gc=False):
    choices: list[_Choice] | None = None
    usage: _Counts | None = None
    error: _Error | str | None = None


_decode = msgspec.json.Decoder(_Chunk).decode

_STOPS: dict[str, Stop] = {
    "stop": "end",
    "stop_sequence": "end",
    "eos_token": "end",
    "length": "limit",
    "tool_calls": "tools",
    "function_call": "tools",
    "content_filter": "refused",
}


class Decoder:
    """Folds the chunks of one reply; only a reply with a finish reason becomes a turn."""

    def __init__(self, call: Call, hear: OnText, room: http.Room | None = None) -> None:
        self._call = call
        self._hear = hear
        self._room = room or http.Room(call.model, call.max_tokens)
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._calls: dict[int, tuple[str, str, list[str]]] = {}
        self._counts = _Counts()
        self._has_begun = False
        self._finish_reason: str | None = None

    def take(self, data: bytes) -> bool:
        """Whether the event brought the reply on. Keep-alives are comments here, which are no events."""
        if data == b"[DONE]":
            return True
        try:
            chunk = _decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise StreamBroken(self._call.model, "the reply contained something that is no event") from error
        if chunk.error is not None:
            told = chunk.error if isinstance(chunk.error, _Error) else _Error(chunk.error)
            kind = told.type or str(told.code or "")
            raise http_errors.from_stream_error(self._call.model, kind, told.message or "")
        self._has_begun = True
        if chunk.usage is not None:
            self._counts = chunk.usage
        if chunk.choices:
            self._choose(chunk.choices[0])
        return True

    def _choose(self, choice: _Choice) -> None:
        if choice.finish_reason is not None:
            self._finish_reason = choice.finish_reason
        delta = choice.delta
        if delta is None:
            return
        if delta.content:
            self._text.append(self._room.take(delta.content))
            if self._call.schema is None:
                self._hear(delta.content)
        if delta.refusal:
            self._refusal.append(self._room.take(delta.refusal))
        for piece in delta.tool_calls or ():
            self._add_call(piece)

    def _add_call(self, piece: _ToolDelta) -> None:
        index = piece.index
        if piece.id and self._calls.get(index, ("",))[0] not in ("", piece.id):
            # Some servers give all calls of a turn the same index; another id is another call.
            index = max(self._calls) + 1
        identity, name, arguments = self._calls.get(index, ("", "", []))
        function = piece.function or _Function()
        if function.arguments:
            arguments.append(self._room.take(function.arguments))
        self._room.check_calls(len(self._calls))
        self._calls[index] = (identity or piece.id or "", name or function.name or "", arguments)

    def turn(self) -> Turn:
        call = self._call
        if self._finish_reason is None:
            raise StreamBroken(call.model, "the reply ended without its end")
        if self._finish_reason not in _STOPS:
            raise StreamBroken(call.model, f"the reply stopped unfinished ({self._finish_reason})")
        stop = _STOPS[self._finish_reason]
        text = "".join(self._text)
        calls = tuple(
            # Some servers give tool calls no id; the loop needs one to answer to.
            ToolCall(identity or f"call_{index}", name, "".join(arguments) or "{}")
            for index, (identity, name, arguments) in sorted(self._calls.items())
        )
        if self._refusal:
            stop, text = "refused", "".join(self._refusal)
        if call.schema is not None:
            answers = [c for c in calls if c.name == call.schema.name]
            if answers:
                text, calls = answers[0].arguments, ()
                stop = "limit" if stop == "limit" else "end"
        elif calls and stop == "end":
            # Ollama and others finish a turn that called tools with "stop".
            stop = "tools"
        return Turn(text=text, usage=self._usage(), stop=stop, tool_calls=calls)

    @cached_property
    def _least(self) -> int:
        return least_of(self._call).input_tokens

    def used(self) -> Tokens | None:
        """So far. Servers count in the last chunk, and some never do: until then this is an estimate."""
        return self._usage() if self._has_begun else None

    def _usage(self) -> Tokens:
        counts = self._counts
        details = counts.prompt_tokens_details
        output = counts.completion_tokens
        if output is None:
            arguments = [http.joined(pieces) for _, _, pieces in self._calls.values()]
            output = tokens_of(http.joined(self._text), http.joined(self._refusal), *arguments)
        return Tokens(
            input_tokens=counts.prompt_tokens or self._least,
            output_tokens=output,
            cache_read_tokens=(details.cached_tokens or 0) if details else 0,
            estimated=not counts.prompt_tokens or counts.completion_tokens is None,
        )
