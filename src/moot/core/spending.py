"""The one meter: every request to a model, by whomever and for whatever, is noted, limited and booked here.

A request is noted before it is sent and settled when it has ended, however it ended. While it is under way,
the process that sent it renews its lease and notes what is known of it; whoever finds one whose lease is over
settles it at that, because the process was killed. So nothing is lost, and nothing is counted twice: a
request is one row.

What was begun is never cut off. A request begins as long as what was spent, and what those under way may
still cost, is below the limit; while only the latter stands in the way, it waits for them to end. So a limit
is passed by what one reply costs, at most. Where only so many requests to a provider may be under way, over
all processes, the next waits, too.

Knows no provider and no flow. What a request costs is told by whoever sends it.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from moot.config import Limits
from moot.core.bill import SessionBill, Used, bill_of
from moot.errors import LimitReached, MootError
from moot.llm.messages import Tokens
from moot.llm.metering import UNSENT, charged_to, open_bill
from moot.llm.prices import NANO, Pricing
from moot.store.ledger import LEASE_SECONDS, Ledger, Row, Spent, bounded, today, tokens
from moot.store.sessions import Store

TRY_AGAIN_SECONDS = 5.0
NOTE_SECONDS = 1.0
"""How often what is known of requests under way is written: what a kill can lose of one. Only of those of
which more is known, or whose lease is to be renewed."""
_NOTED_TOGETHER = 64
"""So many requests in one go, and the others after them: while eight hundred were noted, nobody would be told
anything."""
_LOOK_AGAIN_SECONDS = 1.0

T = TypeVar("T")


class Meter:
    """`pricing` says what a model costs, by its name: for requests that another process has left behind."""

    def __init__(
        self, opened: Callable[[], Awaitable[Store]], limits: Limits, pricing: Callable[[str], Pricing]
    ) -> None:
        self._opened = opened
        self._opening = asyncio.Lock()
        self._ledger: Ledger | None = None
        self._limits = limits
        self._pricing = pricing
        self._under_way: dict[str, _Attempt] = {}
        self._due: dict[str, _Attempt] = {}
        self._writing: asyncio.Task[None] | None = None
        self._ending: set[asyncio.Task[int | None]] = set()
        self._heart: asyncio.Task[None] | None = None
        self._ended = asyncio.Event()
        self._turns: dict[str, asyncio.Lock] = {}
        self._swept = 0.0

    async def begin(
        self, model: str, pricing: Pricing, least: Tokens, most: Tokens, used: Callable[[], Tokens]
    ) -> _Attempt:
        attempt = _Attempt(self, model, pricing, least, used)
        try:
            provider = provider_of(model)
            calls = self._limits.model_calls.get(provider)
            if self._limits.limits_spending or calls is not None:
                await pricing.load()
                attempt.reserve(most)
                # One after the other, so that who has waited longest is next.
                turn = nullcontext() if calls is None else self._turns.setdefault(provider, asyncio.Lock())
                async with turn:
                    await self._reserve(attempt, provider, calls)
            else:
                await self._put([attempt])
        except asyncio.CancelledError:
            # It may have been noted by now, and will not be sent.
            attempt.end(UNSENT, Tokens())
            raise
        self._under_way[attempt.id] = attempt
        if self._heart is None or self._heart.done():
            self._heart = asyncio.create_task(self._beat())
        return attempt

    async def bill(self, account: str) -> SessionBill:
        """What everything has cost that was asked on an account, and has ended."""
        used = [_used(row) for row in await (await self._open()).used(account)]
        return await bill_of(used, self._pricing)

    async def close(self) -> None:
        """Nothing that has ended is left unwritten, as far as the database is there."""
        await asyncio.gather(*self._ending, return_exceptions=True)
        if self._heart is not None:
            self._heart.cancel()
            await asyncio.gather(self._heart, return_exceptions=True)
        if self._writing is not None:
            # Whoever waited for it may be gone.
            await asyncio.gather(self._writing, return_exceptions=True)
        if self._due:
            await self._put([])

    # -- limits ------------------------------------------------------------------------------

    async def _reserve(self, attempt: _Attempt, provider: str, calls: int | None) -> None:
        def may_begin(day: Spent, session: Spent, under_way: int) -> bool:
            if not attempt.session:
                session = Spent()
            self._refuse_if_spent(day, session)
            return (calls is None or under_way < calls) and _has_room(self._limits, day, session)

        while True:
            # Asked for before looking, so that what ends meanwhile is not missed.
            ended = self._ended
            try:
                await self._sweep()
                ledger = await self._open()
                if await _to_the_end(ledger.reserve(attempt.row(), provider, may_begin)):
                    return None
            except LimitReached:
                raise
            except MootError as failed:
                if not self._limits.limits_spending:
                    # Nothing can be counted over all processes until the database is back.
                    return await self._put([attempt])
                raise LimitReached(
                    f"what was spent so far cannot be read, so that [limits] cannot be kept: {failed}",
                    TRY_AGAIN_SECONDS,
                ) from failed
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(ended.wait(), _LOOK_AGAIN_SECONDS)

    def _refuse_if_spent(self, day: Spent, session: Spent) -> None:
        limits = self._limits
        raise_it = "raise that limit to go on"
        tomorrow = "go on after midnight UTC, or raise that limit"
        if limits.session_usd is not None and session.nano_usd >= limits.session_usd * NANO:
            raise LimitReached(
                f"this session has cost ${session.nano_usd / NANO:.2f}, and [limits] session_usd stops it at "
                f"${limits.session_usd:.2f}; {raise_it}",
                None,
            )
        if limits.session_tokens is not None and session.tokens >= limits.session_tokens:
            raise LimitReached(
                f"this session has used {session.tokens} tokens, and [limits] session_tokens stops it at "
                f"{limits.session_tokens}; {raise_it}",
                None,
            )
        if limits.day_usd is not None and day.nano_usd >= limits.day_usd * NANO:
            raise LimitReached(
                f"models have cost ${day.nano_usd / NANO:.2f} today, and [limits] day_usd stops them at "
                f"${limits.day_usd:.2f}; {tomorrow}",
                _seconds_of_the_day_left(),
            )
        if limits.day_tokens is not None and day.tokens >= limits.day_tokens:
            raise LimitReached(
                f"models have used {day.tokens} tokens today, and [limits] day_tokens stops them at "
                f"{limits.day_tokens}; {tomorrow}",
                _seconds_of_the_day_left(),
            )

    # -- writing -----------------------------------------------------------------------------

    async def _open(self) -> Ledger:
        async with self._opening:
            if self._ledger is None:
                self._ledger = Ledger(await self._opened())
        return self._ledger

    async def _put(self, changed: Sequence[_Attempt]) -> None:
        """Writes how these are now. What comes while something is being written is written together after
        it; what cannot be written is kept, and written with the next."""
        self._due.update((attempt.id, attempt) for attempt in changed)
        before = self._writing
        if before is not None and not before.done():
            await asyncio.shield(before)
        # Of those who have waited, the first writes for all.
        if self._writing is before or self._writing is None:
            self._writing = asyncio.create_task(self._write())
        await asyncio.shield(self._writing)

    async def _write(self) -> None:
        due, self._due = self._due, {}
        if not due:
            return
        try:
            ledger = await self._open()
            await ledger.put([attempt.row() for attempt in due.values()])
        except MootError:
            self._due = due | self._due

    async def settle(self, attempt: _Attempt) -> None:
        await self._put([attempt])
        self._under_way.pop(attempt.id, None)
        ended, self._ended = self._ended, asyncio.Event()
        ended.set()

    def to_the_end(self, ending: asyncio.Task[int | None]) -> None:
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)

    # -- while something is under way --------------------------------------------------------

    async def _beat(self) -> None:
        while self._under_way or self._due:
            with contextlib.suppress(MootError):
                await _to_the_end(self._sweep())
            under_way = list(self._under_way.values())
            parts = range(0, max(len(under_way), 1), _NOTED_TOGETHER)
            for start in parts:
                await asyncio.sleep(NOTE_SECONDS / len(parts))
                some = under_way[start : start + _NOTED_TOGETHER]
                changed = [attempt for attempt in some if attempt.note()]
                if changed or self._due:
                    await self._put(changed)

    async def _sweep(self) -> None:
        if time.monotonic() - self._swept > LEASE_SECONDS or not self._swept:
            self._swept = time.monotonic()
            await self.settle_abandoned()

    async def settle_abandoned(self) -> None:
        """Books what processes that were killed had under way, at what was known of it."""
        ledger = await self._open()
        for left in await ledger.abandoned():
            usage = Tokens(
                left.input_tokens, left.output_tokens, left.cache_read_tokens, left.cache_write_tokens
            )
            pricing = self._pricing(left.model)
            await pricing.load()
            await ledger.settle_abandoned(left.id, pricing.nano_usd(usage))


class _Attempt:
    """One request, from before it is sent."""

    def __init__(
        self,
        meter: Meter,
        model: str,
        pricing: Pricing,
        least: Tokens,
        used: Callable[[], Tokens],
    ) -> None:
        self.id = secrets.token_hex(12)
        self.session = charged_to()
        self._meter = meter
        self._model = model
        self._pricing = pricing
        self._usage = bounded(least)
        self._used = used
        self._outcome = ""
        self._nano_usd: int | None = None
        self._reserved = (0, 0)
        self._day = today()
        self._began = datetime.now(UTC)
        self._renew_at = 0.0

    def reserve(self, most: Tokens) -> None:
        most = bounded(most)
        self._reserved = (most.input_tokens + most.output_tokens, self._pricing.nano_usd(most) or 0)

    def note(self) -> bool:
        """Notes what is known by now. Whether that has to be written."""
        if self._outcome:
            return False
        before, self._usage = self._usage, bounded(self._used())
        return self._usage != before or time.time() > self._renew_at

    def end(self, outcome: str, usage: Tokens, nano_usd: int | None = None) -> asyncio.Future[int | None]:
        """`nano_usd` where whoever was asked says what it costs."""
        open_bill().add(bounded(usage))
        ending = asyncio.ensure_future(self._end(outcome, usage, nano_usd))
        self._meter.to_the_end(ending)
        return asyncio.shield(ending)

    async def _end(self, outcome: str, usage: Tokens, nano_usd: int | None) -> int | None:
        self._usage = bounded(usage)
        if nano_usd is None:
            await self._pricing.load()
            nano_usd = self._pricing.nano_usd(self._usage)
        self._nano_usd = nano_usd
        open_bill().add_cost(nano_usd)
        self._outcome = outcome[:64]
        await self._meter.settle(self)
        return nano_usd

    def row(self) -> Row:
        """As it is now."""
        ended = bool(self._outcome)
        now = time.time()
        self._renew_at = now + LEASE_SECONDS / 3
        reserved_tokens, reserved_nano_usd = (0, 0) if ended else self._reserved
        return {
            "id": self.id,
            "day": self._day,
            "session": self.session,
            "model": self._model,
            "began_at": self._began,
            "lease_until": None if ended else now + LEASE_SECONDS,
            "outcome": self._outcome,
            **tokens(self._usage),
            "nano_usd": self._nano_usd,
            "reserved_tokens": reserved_tokens,
            "reserved_nano_usd": reserved_nano_usd,
        }


def _used(row: Any) -> Used:
    counted = Tokens(
        int(row.input_tokens or 0),
        int(row.output_tokens or 0),
        int(row.cache_read_tokens or 0),
        int(row.cache_write_tokens or 0),
        bool(row.estimated),
    )
    return Used(row.model, row.requests, counted, int(row.nano_usd or 0), int(row.unpriced or 0))


async def _to_the_end(doing: Coroutine[Any, Any, T]) -> T:
    """Leaves no transaction in the middle when it is cancelled."""
    task = asyncio.ensure_future(doing)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.gather(task, return_exceptions=True)
        raise


def provider_of(model: str) -> str:
    """A server is known by its address, a program by its name alone."""
    return model.rpartition("#")[0] if "://" in model else model.partition(":")[0]


def _has_room(limits: Limits, day: Spent, session: Spent) -> bool:
    """Whether those under way leave any, if each costs all that it may."""
    usd = ((limits.session_usd, session), (limits.day_usd, day))
    counted = ((limits.session_tokens, session), (limits.day_tokens, day))
    return all(cap is None or s.nano_usd + s.held_nano_usd < cap * NANO for cap, s in usd) and all(
        cap is None or s.tokens + s.held_tokens < cap for cap, s in counted
    )


def _seconds_of_the_day_left() -> float:
    now = datetime.now(UTC)
    midnight = datetime.combine(now.date() + timedelta(days=1), datetime.min.time(), UTC)
    return (midnight - now).total_seconds()
