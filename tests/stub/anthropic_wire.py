"""Anthropic's Messages API, from the server's side: bytes of events and bodies.

Knows shapes and wordings. Knows nothing of sockets, pace or scripts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from tests.stub.reply import Block, Frames, Plan, Refusal
from tests.stub.script import Body, Recorded, Spent

PING = b'event: ping\ndata: {"type": "ping"}\n\n'
GARBAGE = b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"ty\n\n'

_STOPS = {"end": "end_turn", "limit": "max_tokens", "tools": "tool_use", "refused": "refusal"}
_DELTAS = {
    "thinking": ("thinking_delta", "thinking"),
    "text": ("text_delta", "text"),
    "refusal": ("text_delta", "text"),
    "tool": ("input_json_delta", "partial_json"),
}
_ERRORS = {
    400: ("invalid_request_error", "messages: at least one message is required"),
    401: ("authentication_error", "invalid bearer token"),
    402: ("billing_error", "Your credit balance is too low to access the Anthropic API."),
    403: ("permission_error", "Your API key does not have permission to use the specified resource."),
    404: ("not_found_error", "model: {model}"),
    408: ("timeout_error", "Request timed out"),
    409: ("conflict_error", "The request conflicts with another one."),
    413: ("request_too_large", "Request exceeds the maximum size"),
    422: ("invalid_request_error", "The request could not be processed."),
    429: ("rate_limit_error", "This request would exceed your organization's rate limit."),
    504: ("timeout_error", "The request timed out."),
    529: ("overloaded_error", "Overloaded"),
}
_REJECTIONS = {
    "temperature": "`temperature` is deprecated for this model.",
    "top_p": "`top_p` is deprecated for this model.",
    "output_config.effort": "This model does not support the effort parameter.",
    "output_config.format": "'{model}' does not support output format.",
    "thinking": "thinking is not supported on this model",
}
_SIGNATURE = "c3R1Yg=="


def record(number: int, path: str, headers: Mapping[str, str], body: Body, time: float) -> Recorded:
    wanted = (body.get("output_config") or {}).get("format") or {}
    choice = body.get("tool_choice") or {}
    return Recorded(
        number=number,
        wire="anthropic",
        path=path,
        headers=headers,
        body=body,
        system=_text(body.get("system")),
        messages=tuple(body.get("messages") or ()),
        model=str(body.get("model", "")),
        time=time,
        schema=wanted.get("schema") if wanted.get("type") == "json_schema" else None,
        forced_tool=_forced(choice, body.get("tools") or []),
    )


def _forced(choice: Mapping[str, Any], tools: list[Mapping[str, Any]]) -> str | None:
    if choice.get("type") == "tool":
        return str(choice["name"])
    if choice.get("type") == "any" and len(tools) == 1:
        return str(tools[0]["name"])
    return None


def _text(system: Any) -> str:
    if isinstance(system, list):
        return "\n".join(block.get("text", "") for block in system)
    return system or ""


def frames(plan: Plan, request: Recorded) -> Frames:
    message = _message(request, plan, [], None) | {"usage": _usage(plan.spent, output_tokens=1)}
    tokens = []
    between = b""
    for index, block in enumerate(plan.blocks):
        kind, key = _DELTAS[block.kind]
        between += _event("content_block_start", index=index, content_block=_block(block, request, index))
        before = (
            "event: content_block_delta\n"
            f'data: {{"type":"content_block_delta","index":{index},"delta":{{"type":"{kind}","{key}":'
        ).encode()
        for token in block.tokens:
            tokens.append(between + before + encoded(token) + b"}}\n\n")
            between = b""
        if block.kind == "thinking":
            signature = {"type": "signature_delta", "signature": _SIGNATURE}
            between += _event("content_block_delta", index=index, delta=signature)
        between += _event("content_block_stop", index=index)
    delta = {"stop_reason": _STOPS[plan.stop], "stop_sequence": None, "stop_details": _stop_details(plan)}
    tail = between + _event("message_delta", delta=delta, usage=_usage(plan.spent)) + _event("message_stop")
    return Frames(_event("message_start", message=message), tuple(tokens), tail)


def whole(plan: Plan, request: Recorded) -> Mapping[str, Any]:
    content = [
        _block(block, request, index, "".join(block.tokens)) for index, block in enumerate(plan.blocks)
    ]
    return _message(request, plan, content, _STOPS[plan.stop])


def error(refusal: Refusal, request: Recorded) -> Mapping[str, Any]:
    kind, message = _ERRORS.get(refusal.status, ("api_error", "Internal server error"))
    if refusal.param is not None:
        message = _REJECTIONS.get(refusal.param, f"{refusal.param}: Extra inputs are not permitted")
    text = refusal.message or message.format(model=request.model)
    return {
        "type": "error",
        "error": {"type": kind, "message": text},
        "request_id": f"req_stub_{request.number}",
    }


def error_event(message: str | None) -> bytes:
    return _event("error", error={"type": "overloaded_error", "message": message or "Overloaded"})


def models(names: tuple[str, ...]) -> Mapping[str, Any]:
    made = [
        {
            "type": "model",
            "id": name,
            "display_name": name,
            "created_at": "2026-01-01T00:00:00Z",
            "lifecycle": "active",
        }
        for name in names
    ]
    return {"data": made, "has_more": False, "first_id": names[0] if names else None, "last_id": None}


def _message(request: Recorded, plan: Plan, content: list[Any], stop_reason: str | None) -> dict[str, Any]:
    return {
        "id": f"msg_stub_{request.number}",
        "type": "message",
        "role": "assistant",
        "model": request.model,
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "stop_details": _stop_details(plan) if stop_reason else None,
        "usage": _usage(plan.spent),
    }


def _block(block: Block, request: Recorded, index: int, text: str = "") -> dict[str, Any]:
    match block.kind:
        case "thinking":
            return {"type": "thinking", "thinking": text, "signature": _SIGNATURE if text else ""}
        case "tool":
            tool_id = f"toolu_stub_{request.number}_{index}"
            return {"type": "tool_use", "id": tool_id, "name": block.name, "input": _input(text)}
        case _:
            return {"type": "text", "text": text}


def _input(text: str) -> Any:
    try:
        return json.loads(text or "{}")
    except ValueError:
        return text


def _stop_details(plan: Plan) -> dict[str, Any] | None:
    if plan.stop != "refused":
        return None
    return {"type": "refusal", "category": None, "explanation": plan.explanation}


def _usage(spent: Spent, output_tokens: int | None = None) -> dict[str, int]:
    return {
        "input_tokens": spent.input_tokens - spent.cache_read_tokens - spent.cache_write_tokens,
        "cache_creation_input_tokens": spent.cache_write_tokens,
        "cache_read_input_tokens": spent.cache_read_tokens,
        "output_tokens": spent.output_tokens if output_tokens is None else output_tokens,
    }


def _event(kind: str, **data: Any) -> bytes:
    text = json.dumps({"type": kind, **data}, ensure_ascii=False, separators=(",", ":"))
    return f"event: {kind}\ndata: {text}\n\n".encode()


@lru_cache(maxsize=8192)
def encoded(token: str) -> bytes:
    """A token as a JSON string. The same words come again and again, so they are kept."""
    return json.dumps(token, ensure_ascii=False).encode()
