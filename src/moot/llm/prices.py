"""What a request costs, in billionths of a dollar, where that is known.

Whole numbers, because fractions of a cent that are added up as floats come out wrong. The prices are the
user's own, from the configuration, or those in genai-prices; nothing is fetched.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from math import fsum

from moot.config import Price
from moot.llm.messages import Tokens

NANO = 1_000_000_000
"""So many are a dollar."""

_is_loaded = threading.Event()


@dataclass(frozen=True, slots=True)
class Pricing:
    """What a model costs: nothing, or by the user's own price, or by the list of a provider; else nobody
    knows."""

    model: str = ""
    listed_by: str | None = None
    own: Price | None = None
    free: bool = False

    async def load(self) -> None:
        """Loads what `nano_usd` needs. Takes half a second of CPU the first time, hence in a thread."""
        if self.listed_by and not (self.own or self.free) and not _is_loaded.is_set():
            await asyncio.to_thread(warm_up)

    def nano_usd(self, usage: Tokens) -> int | None:
        if self.own is not None:
            return _by_price(self.own, usage)
        if self.free:
            return 0
        return None if self.listed_by is None else listed_nano_usd(self.listed_by, self.model, usage)

    @property
    def is_known(self) -> bool:
        return self.nano_usd(Tokens(1, 1)) is not None


UNKNOWN = Pricing()
FREE = Pricing(free=True)


def listed_nano_usd(provider: str, model: str, usage: Tokens) -> int | None:
    """None where no price is known. Importing the data takes half a second of CPU, hence the late import."""
    import genai_prices

    counted = genai_prices.Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
    )
    try:
        price = genai_prices.calc_price(counted, model, provider_id=provider)
    except (LookupError, ValueError):
        return None
    return round(price.total_price * NANO)


def _by_price(price: Price, usage: Tokens) -> int:
    """The price is in dollars for a million tokens. What the cache has read or written costs as other input
    does, unless the price says otherwise."""
    read, written = usage.cache_read_tokens, usage.cache_write_tokens
    fresh = max(0, usage.input_tokens - read - written)
    per_million = (
        (fresh, price.input),
        (read, price.input if price.cache_read is None else price.cache_read),
        (written, price.input if price.cache_write is None else price.cache_write),
        (usage.output_tokens, price.output),
    )
    return round(sum(tokens * Decimal(str(usd)) for tokens, usd in per_million) * (NANO // 1_000_000))


def usd(nano: int | None) -> float | None:
    return None if nano is None else nano / NANO


def in_dollars(cost_usd: float | None) -> str:
    if cost_usd is None:
        return "price unknown"
    if cost_usd == 0:
        return "free of charge"
    return "under $0.01" if cost_usd < 0.01 else f"${cost_usd:,.2f}"


def total_usd(costs: Iterable[float | None]) -> float | None:
    """Of those that are known; None where none is."""
    known = [cost for cost in costs if cost is not None]
    return fsum(known) if known else None


def warm_up() -> None:
    """Loads the price data, and makes the first look-up, which is slow."""
    listed_nano_usd("anthropic", "claude-sonnet-5-5", Tokens(1, 1))
    _is_loaded.set()
