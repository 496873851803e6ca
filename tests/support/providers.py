"""The two HTTP wires as tests see them: a provider on the stub, made alike for both."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Literal, TypeVar

from moot.errors import ProviderFailed
from moot.llm.anthropic import AnthropicProvider
from moot.llm.messages import Request, UserSaid
from moot.llm.model import Model
from moot.llm.names import ModelName
from moot.llm.openai import OpenAIProvider
from moot.llm.protocol import Provider
from moot.llm.retries import Patience
from tests.stub.server import StubServer

Wire = Literal["anthropic", "openai"]
WIRES: tuple[Wire, ...] = ("anthropic", "openai")

MODELS: dict[Wire, str] = {"anthropic": "claude-sonnet-5-5", "openai": "a-model"}

T = TypeVar("T")


def provider(
    wire: Wire, stub: StubServer, *, stall_seconds: float = 30.0, compatible: bool = True
) -> Provider:
    if wire == "anthropic":
        return AnthropicProvider(
            api_key="secret-key-123", base_url=stub.anthropic_base_url, stall_seconds=stall_seconds
        )
    return OpenAIProvider(
        api_key="secret-key-123",
        base_url=stub.openai_base_url,
        compatible=compatible,
        stall_seconds=stall_seconds,
    )


class Waits:
    """Stands in for asyncio.sleep between attempts: notes how long would have been waited."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


class Talk:
    """A model on a wire, what it was heard to say, and what it waited for."""

    def __init__(self, model: Model, waits: Waits) -> None:
        self.model = model
        self.waits = waits
        self.heard: list[str] = []
        self.told: list[tuple[float, str]] = []

    async def stream(self, request: Request | None = None) -> Any:
        return await self.model.stream(request or asked(), self.heard.append, self.on_wait)

    def on_wait(self, seconds: float, why: ProviderFailed) -> None:
        self.told.append((seconds, type(why).__name__))


def asked(text: str = "Should we?", **more: Any) -> Request:
    return Request("You are terse.", (UserSaid(text),), **({"max_tokens": 1024, "temperature": 0.7} | more))


@asynccontextmanager
async def talking(
    wire: Wire,
    stub: StubServer,
    *,
    model: str | None = None,
    patience: Patience | None = None,
    stall_seconds: float = 30.0,
    compatible: bool = True,
    **more: Any,
) -> AsyncIterator[Talk]:
    there = provider(wire, stub, stall_seconds=stall_seconds, compatible=compatible)
    waits = Waits()
    name = ModelName(wire, model or MODELS[wire])
    try:
        yield Talk(Model(name, there, patience=patience, sleep=waits, **more), waits)
    finally:
        await there.close()


def run(main: Callable[[], Awaitable[T]]) -> T:
    async def whole() -> T:
        return await main()

    return asyncio.run(whole())
