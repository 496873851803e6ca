"""OpenAI's chat completions, from the server's side: bytes of chunks and bodies.

Knows shapes and wordings. Knows nothing of sockets, pace or scripts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.stub.anthropic_wire import encoded
from tests.stub.reply import Block, Frames, Plan, Refusal
from tests.stub.script import Body, Recorded, Spent

PING = b": OPENROUTER PROCESSING\n\n"
GARBAGE = b'data: {"id":"chatcmpl-stub","choices":[{"index":0,"delta":{"con\n\n'

_CREATED = 1_767_225_600
_STOPS = {"end": "stop", "limit": "length", "tools": "tool_calls", "refused": "stop"}
_FIELDS = {"thinking": "reasoning_content", "text": "content", "refusal": "refusal"}
_ERRORS: dict[int, tuple[str, str | None, str]] = {
    400: ("invalid_request_error", None, "Invalid request."),
    401: ("invalid_request_error", "invalid_api_key", "Incorrect API key provided: x."),
    403: (
        "invalid_request_error",
        "unsupported_country_region_territory",
        "Country, region, or territory not supported",
    ),
    404: (
        "invalid_request_error",
        "model_not_found",
        "The model `{model}` does not exist or you do not have access to it.",
    ),
    408: ("timeout", None, "Request timed out"),
    409: ("invalid_request_error", None, "The resource was updated by another process."),
    413: ("invalid_request_error", None, "Request body too large."),
    422: ("invalid_request_error", None, "Unprocessable entity"),
    429: ("requests", "rate_limit_exceeded", "Rate limit reached for {model} on requests per min (RPM)."),
    503: ("server_error", None, "The engine is currently overloaded, please try again later"),
}
_SERVER_ERROR = (
    "server_error",
    None,
    "The server had an error while processing your request. Sorry about that!",
)
_REJECTIONS = {
    "max_tokens": (
        "unsupported_parameter",
        "Unsupported parameter: 'max_tokens' is not supported with this model. "
        "Use 'max_completion_tokens' instead.",
    ),
    "temperature": (
        "unsupported_value",
        "Unsupported value: 'temperature' does not support {value} with this model. "
        "Only the default (1) value is supported.",
    ),
    "reasoning_effort": (
        "unsupported_parameter",
        "Unsupported parameter: 'reasoning_effort' is not supported with this model.",
    ),
    "response_format": (
        None,
        "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
    ),
    "tools": (None, "registry.ollama.ai/library/{model} does not support tools"),
}


def record(number: int, path: str, headers: Mapping[str, str], body: Body, time: float) -> Recorded:
    messages = body.get("messages") or []
    wanted = body.get("response_format") or {}
    shape = wanted.get("json_schema") or {}
    return Recorded(
        number=number,
        wire="openai",
        path=path,
        headers=headers,
        body=body,
        system="\n".join(_text(said.get("content")) for said in messages if _is_system(said)),
        messages=tuple(said for said in messages if not _is_system(said)),
        model=str(body.get("model", "")),
        time=time,
        schema=shape.get("schema") if wanted.get("type") == "json_schema" else None,
        forced_tool=_forced(body.get("tool_choice"), body.get("tools") or []),
    )


def _is_system(message: Mapping[str, Any]) -> bool:
    return message.get("role") in ("system", "developer")


def _forced(choice: Any, tools: list[Mapping[str, Any]]) -> str | None:
    if isinstance(choice, Mapping) and choice.get("type") == "function":
        return str(choice["function"]["name"])
    if choice == "required" and len(tools) == 1:
        return str(tools[0]["function"]["name"])
    return None


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(part.get("text", "") for part in content)
    return content or ""


def frames(plan: Plan, request: Recorded) -> Frames:
    opening, closing = _chunk_ends(request)
    tools_before = 0
    tokens = []
    between = b""
    for index, block in enumerate(plan.blocks):
        if block.kind == "tool":
            start = json.dumps(
                [{"index": tools_before, **_call(block, request, index, "")}], ensure_ascii=False
            )
            between += opening + f'{{"tool_calls":{start}}}'.encode() + closing
            before = b'{"tool_calls":[{"index":%d,"function":{"arguments":' % tools_before
            after = b"}}]}"
            tools_before += 1
        else:
            before, after = f'{{"{_FIELDS[block.kind]}":'.encode(), b"}"
        for token in block.tokens:
            tokens.append(between + opening + before + encoded(token) + after + closing)
            between = b""
    head = opening + b'{"role":"assistant","content":"","refusal":null}' + closing
    finish = (
        opening + b"{}" + closing.replace(b'"finish_reason": null', b'"finish_reason": %s' % _finish(plan))
    )
    tail = between + finish + _usage_chunk(plan, request) + b"data: [DONE]\n\n"
    return Frames(head, tuple(tokens), tail)


def _chunk_ends(request: Recorded) -> tuple[bytes, bytes]:
    """What stands before and after the delta in every chunk of a reply."""
    opening = "data: " + json.dumps(_envelope(request, "chat.completion.chunk"), ensure_ascii=False)[:-1]
    opening += ', "choices": [{"index": 0, "delta": '
    usage = ', "usage": null' if _wants_usage(request) else ""
    return opening.encode(), f', "logprobs": null, "finish_reason": null}}]{usage}}}\n\n'.encode()


def whole(plan: Plan, request: Recorded) -> Mapping[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": None, "refusal": None}
    calls = []
    for index, block in enumerate(plan.blocks):
        text = "".join(block.tokens)
        if block.kind == "tool":
            calls.append(_call(block, request, index, text))
        else:
            message[_FIELDS[block.kind]] = text
    if calls:
        message["tool_calls"] = calls
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": json.loads(_finish(plan))}
    usage = {"usage": _usage(plan.spent)} if plan.reports_usage else {}
    return _envelope(request, "chat.completion") | {"choices": [choice]} | usage


def error(refusal: Refusal, request: Recorded) -> Mapping[str, Any]:
    kind, code, message = _ERRORS.get(refusal.status, _SERVER_ERROR)
    if refusal.param is not None:
        unknown = (None, f"Unrecognized request argument supplied: {refusal.param}")
        code, message = _REJECTIONS.get(refusal.param, unknown)
    text = refusal.message or message.format(model=request.model, value=refusal.value)
    return {"error": {"message": text, "type": kind, "param": refusal.param, "code": code}}


def error_event(message: str | None) -> bytes:
    failure = {"message": message or _SERVER_ERROR[2], "type": "server_error", "param": None, "code": None}
    return f"data: {json.dumps({'error': failure}, ensure_ascii=False)}\n\n".encode()


def models(names: tuple[str, ...]) -> Mapping[str, Any]:
    made = [{"id": name, "object": "model", "created": _CREATED, "owned_by": "stub"} for name in names]
    return {"object": "list", "data": made}


def _envelope(request: Recorded, kind: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-stub-{request.number}",
        "object": kind,
        "created": _CREATED,
        "model": request.model,
        "system_fingerprint": "fp_stub",
    }


def _call(block: Block, request: Recorded, index: int, arguments: str) -> dict[str, Any]:
    return {
        "id": f"call_stub_{request.number}_{index}",
        "type": "function",
        "function": {"name": block.name, "arguments": arguments},
    }


def _finish(plan: Plan) -> bytes:
    filtered = plan.stop == "refused" and not any(block.tokens for block in plan.blocks)
    return encoded("content_filter" if filtered else _STOPS[plan.stop])


def _wants_usage(request: Recorded) -> bool:
    return bool((request.body.get("stream_options") or {}).get("include_usage"))


def _usage_chunk(plan: Plan, request: Recorded) -> bytes:
    if not (plan.reports_usage and _wants_usage(request)):
        return b""
    chunk = _envelope(request, "chat.completion.chunk") | {"choices": [], "usage": _usage(plan.spent)}
    return f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode()


def _usage(spent: Spent) -> dict[str, Any]:
    return {
        "prompt_tokens": spent.input_tokens,
        "completion_tokens": spent.output_tokens,
        "total_tokens": spent.input_tokens + spent.output_tokens,
        "prompt_tokens_details": {
            "cached_tokens": spent.cache_read_tokens,
            "cache_write_tokens": spent.cache_write_tokens,
        },
    }
