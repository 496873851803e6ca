"""The SDK alone, as its documentation shows it."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from typing import Any

import anthropic

from bench.peers.serving import QUESTION, SYSTEM, board, serve

BRIEF: Any = {"format": {"type": "json_schema", "schema": {"type": "object", "additionalProperties": False}}}


def main() -> None:
    client = anthropic.AsyncAnthropic(api_key="bench", base_url=sys.argv[1])

    async def ask(**more: Any) -> AsyncIterator[str]:
        messages: Any = [{"role": "user", "content": QUESTION}]
        async with client.messages.stream(
            model="stub-model", max_tokens=1024, system=SYSTEM, messages=messages, **more
        ) as stream:
            async for text in stream.text_stream:
                yield text

    async def brief() -> None:
        json.loads("".join([text async for text in ask(output_config=BRIEF)]))

    serve(board(ask, brief), int(sys.argv[2]))


if __name__ == "__main__":
    main()
