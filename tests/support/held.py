"""A session held against the stub, step by step: whatever models are asked for is asked, and then the test
says what happens next."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Generic, TypeVar

from moot.config import Config
from moot.core.flow import Event, Flow
from moot.core.model_effects import Prompts, speaking
from moot.core.runner import Participants, open_session
from moot.llm.names import parse
from moot.llm.registry import Gateway
from moot.personas.library import load_library
from tests.stub.server import StubServer
from tests.support.providers import Wire, provider

S = TypeVar("S")
E = TypeVar("E", bound=Event)

MODELS: dict[Wire, str] = {"anthropic": "anthropic:claude-sonnet-5-5", "openai": "openai:gpt-5.6"}


class _Deaf:
    def began(self, *_: object) -> None: ...
    def said(self, *_: object) -> None: ...
    def waits(self, *_: object) -> None: ...
    def looks(self, *_: object) -> None: ...
    def happened(self, *_: object) -> None: ...


class Held(Generic[S, E]):
    def __init__(
        self,
        flow: Flow[S, E],
        prompts: Prompts,
        stub: StubServer,
        folder: Path,
        wire: Wire = "anthropic",
        config: Config | None = None,
    ) -> None:
        self.flow = flow
        self.model = MODELS[wire]
        self.events: list[E] = []
        self.workspace: Path | None = None
        """Where whoever speaks may look, if anywhere."""
        self._prompts = prompts
        self._folder = folder
        self._config = config or Config()
        self._stub = stub
        self._wire = wire

    @property
    def state(self) -> S:
        return self.flow.fold(self.events)

    def happen(self, *events: E) -> S:
        """Until nothing but the person is waited for."""
        self.events += events
        # Each is folded in first, so that one that may not happen fails here.
        _ = self.state
        asyncio.run(self._drive())
        return self.state

    async def _drive(self) -> None:
        gateway = Gateway(self._config, {}, cache=self._folder)
        # As the provider itself is asked, and not a server of one's own that speaks like it.
        served = provider(self._wire, self._stub, compatible=False)
        gateway._providers[self._wire] = served
        speak = speaking(load_library, gateway, parse(self.model), self._prompts, self._look)
        try:
            runner = await open_session(self.flow, self, Participants(speak, _Deaf()), "held")
            await runner.run()
        finally:
            await served.close()
            await gateway.close()

    async def _look(self) -> Path | None:
        return self.workspace

    # -- as a log ----------------------------------------------------------------------------

    async def read(self) -> list[Any]:
        return list(self.events)

    async def append(self, event: Any) -> None:
        self.events.append(event)
