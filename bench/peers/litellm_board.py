"""litellm's completion call, which speaks to every provider in OpenAI's shapes."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from typing import Any

import litellm

from bench.peers.serving import QUESTION, SYSTEM, board, serve

MESSAGES = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
BRIEF = {"type": "json_schema", "json_schema": {"name": "Brief", "schema": {"type": "object"}}}


def main() -> None:
    litellm.telemetry = False

    async def ask(**more: Any) -> AsyncIterator[str]:
        stream: Any = await litellm.acompletion(
            model="openai/stub-model",
            api_base=f"{sys.argv[1]}/v1",
            api_key="bench",
            messages=MESSAGES,
            stream=True,
            **more,
        )
        try:
            async for chunk in stream:
                text = chunk.choices[0].delta.content
                if text:
                    yield text
        finally:
            await stream.aclose()

    async def brief() -> None:
        json.loads("".join([text async for text in ask(response_format=BRIEF)]))

    serve(board(ask, brief), int(sys.argv[2]))


if __name__ == "__main__":
    main()
