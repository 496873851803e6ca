"""OpenAI's Responses API, from the server's side: bytes of events and bodies.

Knows shapes and wordings. Knows nothing of sockets, pace or scripts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.stub import openai_wire
from tests.stub.anthropic_wire import encoded
from tests.stub.reply import Block, Frames, Plan
from tests.stub.script import Body, Recorded, Spent, tool_names

PING = b": keep-alive\n\n"
GARBAGE = b'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","del\n\n'

_CREATED = 1_767_225_600
_DELTAS = {
    "thinking": "response.reasoning_summary_text.delta",
    "text": "response.output_text.delta",
    "refusal": "response.refusal.delta",
    "tool": "response.function_call_arguments.delta",
}

error = openai_wire.error
models = openai_wire.models


def record(number: int, path: str, headers: Mapping[str, str], body: Body, time: float) -> Recorded:
    given = body.get("input") or []
    items = [{"type": "message", "role": "user", "content": given}] if isinstance(given, str) else given
    wanted = (body.get("text") or {}).get("format") or {}
    instructions = [str(body.get("instructions") or "")]
    return Recorded(
        number=number,
        wire="responses",
        path=path,
        headers=headers,
        body=body,
        system="\n".join(instructions + [_text(item) for item in items if _is_system(item)]),
        messages=tuple(item for item in items if not _is_system(item)),
        model=str(body.get("model", "")),
        time=time,
        schema=wanted.get("schema") if wanted.get("type") == "json_schema" else None,
        forced_tool=_forced(body),
    )


def _is_system(item: Mapping[str, Any]) -> bool:
    return item.get("role") in ("system", "developer")


def _text(item: Mapping[str, Any]) -> str:
    content = item.get("content")
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content or ())


def _forced(body: Body) -> str | None:
    choice = body.get("tool_choice")
    if isinstance(choice, Mapping) and choice.get("type") == "function":
        return str(choice["name"])
    return None


def frames(plan: Plan, request: Recorded) -> Frames:
    head = _event("response.created", response=_response(request, "in_progress"))
    tokens = []
    between = b""
    items = []
    for index, block in enumerate(plan.blocks):
        item = _item(block, request, index, "".join(block.tokens))
        items.append(item)
        opened = _item(block, request, index, "") | {"status": "in_progress"}
        between += _event("response.output_item.added", output_index=index, item=opened)
        kind = _DELTAS[block.kind]
        place = {"type": kind, "item_id": item["id"], "output_index": index, "content_index": 0}
        before = f'event: {kind}\ndata: {json.dumps(place)[:-1]}, "delta": '.encode()
        for token in block.tokens:
            tokens.append(between + before + encoded(token) + b"}\n\n")
            between = b""
        between += _event("response.output_item.done", output_index=index, item=item)
    ended = _ended(plan, request, items)
    return Frames(head, tuple(tokens), between + _event(f"response.{ended['status']}", response=ended))


def whole(plan: Plan, request: Recorded) -> Mapping[str, Any]:
    items = [_item(block, request, index, "".join(block.tokens)) for index, block in enumerate(plan.blocks)]
    return _ended(plan, request, items)


def error_event(message: str | None) -> bytes:
    failure = {"code": "server_is_overloaded", "message": message or "Our servers are currently overloaded."}
    return _event("response.failed", response={"id": "resp_stub", "status": "failed", "error": failure})


def _ended(plan: Plan, request: Recorded, items: list[dict[str, Any]]) -> dict[str, Any]:
    cut = {"reason": "max_output_tokens"} if plan.stop == "limit" else None
    ended = _response(request, "incomplete" if cut else "completed")
    usage = {"usage": _usage(plan.spent)} if plan.reports_usage else {}
    return ended | {"output": items, "incomplete_details": cut} | usage


def _response(request: Recorded, status: str) -> dict[str, Any]:
    return {
        "id": f"resp_stub_{request.number}",
        "object": "response",
        "created_at": _CREATED,
        "status": status,
        "model": request.model,
        "error": None,
        "output": [],
    }


def _item(block: Block, request: Recorded, index: int, text: str) -> dict[str, Any]:
    item = {"id": f"item_stub_{request.number}_{index}", "status": "completed"}
    match block.kind:
        case "thinking":
            return item | {"type": "reasoning", "summary": [{"type": "summary_text", "text": text}]}
        case "tool":
            call = {"call_id": f"call_stub_{request.number}_{index}", "arguments": text}
            return item | {"type": "function_call"} | call | _tool(block.name, request)
        case "refusal":
            content: dict[str, Any] = {"type": "refusal", "refusal": text}
        case _:
            content = {"type": "output_text", "text": text, "annotations": []}
    return item | {"type": "message", "role": "assistant", "content": [content] if text else []}


def _tool(name: str, request: Recorded) -> dict[str, str]:
    """A tool that was offered within a namespace is called by both names."""
    for tool in request.body.get("tools") or ():
        if tool.get("type") == "namespace" and name in tool_names(tool):
            return {"namespace": str(tool["name"]), "name": name.removeprefix(f"{tool['name']}__")}
    return {"name": name}


def _usage(spent: Spent) -> dict[str, Any]:
    return {
        "input_tokens": spent.input_tokens,
        "input_tokens_details": {"cached_tokens": spent.cache_read_tokens},
        "output_tokens": spent.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": spent.input_tokens + spent.output_tokens,
    }


def _event(kind: str, **data: Any) -> bytes:
    text = json.dumps({"type": kind, **data}, ensure_ascii=False, separators=(",", ":"))
    return f"event: {kind}\ndata: {text}\n\n".encode()
