"""pydantic-ai: an agent whose text is streamed, and one with a typed output."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from typing import Any

from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from bench.peers.serving import QUESTION, SYSTEM, board, serve


class Brief(BaseModel):
    consensus: dict[str, Any]
    tensions: list[dict[str, Any]]
    blindSpots: list[str]  # noqa: N815
    recommendation: dict[str, Any]


def main() -> None:
    provider = OpenAIProvider(base_url=f"{sys.argv[1]}/v1", api_key="bench")
    model = OpenAIChatModel("stub-model", provider=provider)
    advisor: Any = Agent(model, system_prompt=SYSTEM)
    clerk: Any = Agent(model, system_prompt=SYSTEM, output_type=NativeOutput(Brief))

    async def ask() -> AsyncIterator[str]:
        async with advisor.run_stream(QUESTION) as result:
            async for text in result.stream_text(delta=True, debounce_by=None):
                yield text

    async def brief() -> None:
        async with clerk.run_stream(QUESTION) as result:
            await result.get_output()

    serve(board(ask, brief), int(sys.argv[2]))


if __name__ == "__main__":
    main()
