"""More than anybody asked for: pieces of a reply that a broken or hostile server repeats, over and over.

Knows the shapes of two wires and nothing of sockets.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal

Flood = Literal["line", "words", "thinking", "arguments", "calls", "comments", "nested"]

_WORDS = "word " * 200


def pieces(flood: Flood, wire: str) -> Iterator[bytes]:
    """Without an end."""
    if flood == "line":
        yield b'data: {"x": "'
        while True:
            yield b"x" * 65_536
    if flood == "nested":
        while True:
            yield b'data: {"x": ' + b"[" * 50_000 + b"]" * 50_000 + b"}\n\n"
    if flood == "comments":
        while True:
            yield b": still here\n\n" * 1_000
    if flood == "calls":
        number = 0
        while True:
            yield b"".join(_event(_call(wire, number + more)) for more in range(100))
            number += 100
    event = _event(_delta(flood, wire))
    if flood == "arguments":
        yield _event(_call(wire, 0))
    while True:
        yield event


def _event(data: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(data)}\n\n".encode()


def _delta(flood: Flood, wire: str) -> dict[str, Any]:
    if wire == "anthropic":
        kinds = {
            "words": ("text_delta", "text"),
            "thinking": ("thinking_delta", "thinking"),
            "arguments": ("input_json_delta", "partial_json"),
        }
        kind, key = kinds[flood]
        index = 1_000 if flood == "arguments" else 0
        return {"type": "content_block_delta", "index": index, "delta": {"type": kind, key: _WORDS}}
    deltas: dict[str, dict[str, Any]] = {
        "words": {"content": _WORDS},
        "thinking": {"reasoning_content": _WORDS},
        "arguments": {"tool_calls": [{"index": 0, "function": {"arguments": _WORDS}}]},
    }
    return {"choices": [{"index": 0, "delta": deltas[flood]}]}


def _call(wire: str, number: int) -> dict[str, Any]:
    if wire == "anthropic":
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": "look", "input": {}}
        return {"type": "content_block_start", "index": 1_000 + number, "content_block": block}
    call = {"index": 0, "id": f"call_{number}", "function": {"name": "look", "arguments": "{}"}}
    return {"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}
