"""The SDK alone, as its documentation shows it."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from typing import Any

import openai

from bench.peers.serving import QUESTION, SYSTEM, board, serve

MESSAGES: Any = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
BRIEF: Any = {"type": "json_schema", "json_schema": {"name": "Brief", "schema": {"type": "object"}}}


def main() -> None:
    client = openai.AsyncOpenAI(api_key="bench", base_url=f"{sys.argv[1]}/v1")

    async def ask(**more: Any) -> AsyncIterator[str]:
        stream = await client.chat.completions.create(
            model="stub-model", messages=MESSAGES, stream=True, **more
        )
        async with stream:
            async for chunk in stream:
                if chunk.choices and chunk.choices[0].delta.content:
                    yield chunk.choices[0].delta.content

    async def brief() -> None:
        json.loads("".join([text async for text in ask(response_format=BRIEF)]))

    serve(board(ask, brief), int(sys.argv[2]))


if __name__ == "__main__":
    main()
