"""How much may happen at once. How much it may cost is for `moot.core.meter` to know.

What is refused is refused before it begins, with a sentence that says which limit it was; nothing that has
begun is cut off.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Protocol

from moot.config import Limits
from moot.core.flow import ModelEffect, Outcome
from moot.core.runner import Speak, Speech
from moot.errors import LimitReached, StoreFailed
from moot.llm.names import parse

TRY_AGAIN_SECONDS = 5.0
_LOOK_AGAIN_SECONDS = 1.0


class SharedSlots(Protocol):
    """Calls to a provider that are counted over all processes."""

    async def take_slot(self, provider: str, most: int) -> bool: ...
    async def give_back_slot(self, provider: str) -> None: ...


class ConcurrencyLimits:
    def __init__(self, limits: Limits, sharing: SharedSlots | None) -> None:
        self._limits = limits
        self._sharing = sharing
        self.taken: Counter[str] = Counter()
        """Calls under way in this process, by provider."""
        self._turns: dict[str, asyncio.Lock] = {}
        self._freed = asyncio.Event()

    # -- sessions ----------------------------------------------------------------------------

    def admit(self, everybody: int, own: int) -> None:
        """Whether one more session may be driven for somebody, with so many driven already."""
        limits = self._limits
        if limits.sessions is not None and everybody >= limits.sessions:
            raise LimitReached(
                f"no more sessions than {limits.sessions} may be under way at once; try again in a moment",
                TRY_AGAIN_SECONDS,
            )
        if limits.sessions_per_client is not None and own >= limits.sessions_per_client:
            raise LimitReached(
                f"no more than {limits.sessions_per_client} of your sessions may be under way at once; "
                "let one of them finish first",
                TRY_AGAIN_SECONDS,
            )

    # -- calls at once -----------------------------------------------------------------------

    def around(self, speak: Speak, model: str) -> Speak:
        """The same performer, with no more calls to a provider at once than are allowed."""
        provider = parse(model).provider

        async def capped(effect: ModelEffect, state: Any, speech: Speech) -> Outcome:
            async with self._slot(provider):
                return await speak(effect, state, speech)

        return capped

    @asynccontextmanager
    async def _slot(self, provider: str) -> AsyncIterator[None]:
        most = self._limits.model_calls.get(provider)
        if most is None:
            yield
            return
        # One after the other, so that who has waited longest is next.
        async with self._turns.setdefault(provider, asyncio.Lock()):
            while not await self._taken(provider, most):
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._freed.wait(), _LOOK_AGAIN_SECONDS)
                self._freed.clear()
        try:
            yield
        finally:
            self.taken[provider] -= 1
            self.freed()
            if self._sharing is not None:
                # A word that does not arrive is made good by the next renewal.
                giving_back = asyncio.ensure_future(self._sharing.give_back_slot(provider))
                giving_back.add_done_callback(lambda done: done.cancelled() or done.exception())

    async def _taken(self, provider: str, most: int) -> bool:
        if self.taken[provider] >= most:
            return False
        self.taken[provider] += 1
        got = False
        try:
            got = self._sharing is None or await self._sharing.take_slot(provider, most)
        except StoreFailed:
            # Nobody can be asked: until the database is back, the limit holds for each process.
            got = True
        finally:
            self.taken[provider] -= not got
        return got

    def freed(self) -> None:
        self._freed.set()
