"""What the gateway adds to a stream: CPU per token, and time to the first word, against the bare SDKs.

Eight streams at 100 tokens a second, as a board has them, and one burst, where the server sends as fast as
it can. Reference is the SDK's own event stream on its fastest transport.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

from bench.harness import Measure, cpu, show, side_by_side, stub_process
from moot.llm.anthropic import AnthropicProvider
from moot.llm.messages import Request, UserSaid
from moot.llm.model import Model
from moot.llm.names import ModelName
from moot.llm.openai import OpenAIProvider

STREAMS = 8
TOKENS = 200
PACE = 100.0
ROUNDS = 5

Stream = Callable[[Callable[[str], None]], Awaitable[None]]


def _request(text: str) -> Request:
    return Request("You are an advisor.", (UserSaid(text),), max_tokens=1024)


def _through_gateway(model: Model) -> Stream:
    async def stream(hear: Callable[[str], None]) -> None:
        await model.stream(_request("Should we?"), hear)

    return stream


def _bare_anthropic(client: Any) -> Stream:
    async def stream(hear: Callable[[str], None]) -> None:
        events = await client.messages.create(
            model="claude-sonnet-5-5",
            max_tokens=1024,
            system="You are an advisor.",
            messages=[{"role": "user", "content": "Should we?"}],
            stream=True,
        )
        async for event in events:
            if event.type == "content_block_delta" and event.delta.type == "text_delta":
                hear(event.delta.text)

    return stream


def _bare_openai(client: Any) -> Stream:
    async def stream(hear: Callable[[str], None]) -> None:
        chunks = await client.chat.completions.create(
            model="a-model",
            max_tokens=1024,
            messages=[
                {"role": "system", "content": "You are an advisor."},
                {"role": "user", "content": "Should we?"},
            ],
            stream=True,
            stream_options={"include_usage": True},
        )
        async for chunk in chunks:
            if chunk.choices and chunk.choices[0].delta.content:
                hear(chunk.choices[0].delta.content)

    return stream


def _cpu_per_token(stream: Stream) -> Measure:
    async def measure() -> float:
        heard = 0

        def hear(_: str) -> None:
            nonlocal heard
            heard += 1

        with cpu() as used:
            await asyncio.gather(*(stream(hear) for _ in range(STREAMS)))
        if heard != STREAMS * TOKENS:
            raise RuntimeError(f"{heard} pieces were heard instead of {STREAMS * TOKENS}")
        return used() / heard

    return measure


def _to_first_word(stream: Stream) -> Measure:
    async def measure() -> float:
        began = time.perf_counter()
        first = 0.0

        def hear(_: str) -> None:
            nonlocal first
            first = first or time.perf_counter()

        await stream(hear)
        return first - began

    return measure


async def _contenders(url: str, stack: AsyncExitStack) -> dict[str, dict[str, Stream]]:
    import anthropic
    import openai

    async def kept(client: Any) -> Any:
        stack.push_async_callback(client.close)
        return client

    key = "bench"
    anthropic_sdk: dict[str, Any] = {"api_key": key, "base_url": url, "max_retries": 0}
    openai_sdk: dict[str, Any] = {"api_key": key, "base_url": f"{url}/v1", "max_retries": 0}
    ours = await kept(AnthropicProvider(api_key=key, base_url=url))
    ours_openai = await kept(OpenAIProvider(api_key=key, base_url=f"{url}/v1", compatible=True))
    return {
        "anthropic": {
            "SDK events, aiohttp": _bare_anthropic(
                await kept(
                    anthropic.AsyncAnthropic(**anthropic_sdk, http_client=anthropic.DefaultAioHttpClient())
                )
            ),
            "SDK events, default": _bare_anthropic(await kept(anthropic.AsyncAnthropic(**anthropic_sdk))),
            "moot gateway": _through_gateway(Model(ModelName("anthropic", "claude-sonnet-5-5"), ours)),
        },
        "openai": {
            "SDK events, aiohttp": _bare_openai(
                await kept(openai.AsyncOpenAI(**openai_sdk, http_client=openai.DefaultAioHttpClient()))
            ),
            "SDK events, default": _bare_openai(await kept(openai.AsyncOpenAI(**openai_sdk))),
            "moot gateway": _through_gateway(Model(ModelName("openai", "a-model"), ours_openai)),
        },
    }


async def _all(url: str, title: str, unit: str, measured: Callable[[Stream], Measure], rounds: int) -> None:
    async with AsyncExitStack() as stack:
        for wire, streams in (await _contenders(url, stack)).items():
            results = await side_by_side({n: measured(s) for n, s in streams.items()}, rounds)
            show(f"{title}, {wire} wire", unit, results, scale=1e6)


def main() -> None:
    text = " ".join(["word"] * TOKENS)
    with stub_process({"text": text, "pace": PACE}) as url:
        title = f"CPU per streamed token, {STREAMS} streams of {PACE:.0f} tokens/s"
        asyncio.run(_all(url, title, "µs", _cpu_per_token, ROUNDS))
    with stub_process({"text": "Yes, we should.", "first_token_delay": 0.02}) as url:
        asyncio.run(_all(url, "Time to the first word (the model takes 20 ms)", "µs", _to_first_word, 60))
