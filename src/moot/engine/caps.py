"""How much may happen at once, and how much it may cost.

What is refused is refused before it begins, with a sentence that says which limit it was; nothing that has
begun is cut off. Costs are known when a reply is whole, so a limit is passed by at most the replies that
were under way together.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from moot.config import Limits
from moot.errors import LimitReached, StoreFailed
from moot.flows.flow import (
    AskPersona,
    Drafted,
    DraftFailed,
    ModelEffect,
    Outcome,
    PersonaFailed,
    PersonaSpoke,
)
from moot.gateway.names import parse
from moot.runner import Speak, Speech
from moot.sharing import Sharing
from moot.store import Store

TRY_AGAIN_SECONDS = 5.0
_LOOK_AGAIN_SECONDS = 1.0
KIND = "LimitReached"


class Caps:
    def __init__(self, limits: Limits, store: Store, sharing: Sharing | None) -> None:
        self._limits = limits
        self._store = store
        self._sharing = sharing
        self.taken: Counter[str] = Counter()
        """Calls under way in this process, by provider."""
        self._turns: dict[str, asyncio.Lock] = {}
        self._freed = asyncio.Event()
        self._unbooked = 0.0

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

    # -- calls and costs ---------------------------------------------------------------------

    def around(self, speak: Speak, model: str) -> Speak:
        """The same performer within the limits."""
        provider = parse(model).provider
        spent_here = 0.0

        async def capped(effect: ModelEffect, state: Any, speech: Speech) -> Outcome:
            nonlocal spent_here
            # Not every format's state knows what it has cost; then it counts from when it was taken up.
            known = sum(bill.cost_usd or 0.0 for bill in getattr(state, "bills", ()))
            refusal = await self._too_dear(max(known, spent_here))
            if refusal is not None:
                return _refused(effect, refusal)
            async with self._slot(provider):
                outcome = await speak(effect, state, speech)
            if isinstance(outcome, PersonaSpoke | Drafted):
                cost = outcome.spoken.cost_usd or 0.0
                spent_here += cost
                await self._book(cost)
            return outcome

        return capped

    async def _too_dear(self, session: float) -> LimitReached | None:
        """`session` is what it has cost so far."""
        limits = self._limits
        if limits.session_usd is not None and session >= limits.session_usd:
            return LimitReached(
                f"this session has cost ${session:.2f}, and [limits] session_usd stops it at "
                f"${limits.session_usd:.2f}; raise that limit to go on",
                None,
            )
        if limits.day_usd is not None:
            spent = await self._spent_today()
            if spent >= limits.day_usd:
                return LimitReached(
                    f"models have cost ${spent:.2f} today, and [limits] day_usd stops them at "
                    f"${limits.day_usd:.2f}; go on after midnight UTC, or raise that limit",
                    _seconds_of_the_day_left(),
                )
        return None

    async def _spent_today(self) -> float:
        with contextlib.suppress(StoreFailed):
            return await self._store.spent(_today()) + self._unbooked
        return self._unbooked

    async def _book(self, usd: float) -> None:
        """What cannot be written now is written with the next."""
        self._unbooked += usd
        due = self._unbooked
        if not due:
            return
        with contextlib.suppress(StoreFailed):
            await self._store.spend(_today(), due)
            self._unbooked -= due

    # -- calls at once -----------------------------------------------------------------------

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


def _refused(effect: ModelEffect, why: LimitReached) -> Outcome:
    if isinstance(effect, AskPersona):
        return PersonaFailed(KIND, str(why), why.retry_after)
    return DraftFailed(KIND, str(why), "", why.retry_after)


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def _seconds_of_the_day_left() -> float:
    now = datetime.now(UTC)
    midnight = datetime.combine(now.date() + timedelta(days=1), datetime.min.time(), UTC)
    return (midnight - now).total_seconds()
