"""A model whose replies are reported to those who run moot. Made only where somebody watches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from pydantic import BaseModel

from moot.errors import ProviderFailed
from moot.llm.messages import Draft, OnText, Reply, Request, deaf
from moot.llm.model import Model, OnWait
from moot.telemetry import ModelCall, watching

D = TypeVar("D", bound=BaseModel)


class WatchedModel(Model):
    async def stream(self, request: Request, hear: OnText = deaf, on_wait: OnWait | None = None) -> Reply:
        with self._watched(typed=False) as call:
            call.reply = await super().stream(request, hear, _counting(call, on_wait))
            return call.reply

    async def draft(self, request: Request, shape: type[D], on_wait: OnWait | None = None) -> Draft[D]:
        with self._watched(typed=True) as call:
            drafted = await super().draft(request, shape, _counting(call, on_wait))
            call.reply = drafted.reply
            return drafted

    @contextmanager
    def _watched(self, *, typed: bool) -> Iterator[ModelCall]:
        # A server's address is nobody's business but its user's.
        provider = "compatible" if self.name.is_url else self.name.provider
        call = ModelCall(provider, self.name.model, typed)
        watch = watching()
        if watch is None:
            yield call
            return
        with watch.model_call(call):
            yield call


def _counting(call: ModelCall, on_wait: OnWait | None) -> OnWait:
    def wait(seconds: float, why: ProviderFailed) -> None:
        call.retries += 1
        if on_wait is not None:
            on_wait(seconds, why)

    return wait
