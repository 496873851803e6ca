"""What a session has really cost, from every request that was made on its account: retries and what broke off
too.

Of what the provider's cache has read, it also says the price, and what that has saved. Refuses to know any
format, and where accounts are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from moot.llm.messages import Tokens
from moot.llm.prices import Pricing, in_dollars, usd

_SAMPLE = 1000
"""Tokens: so few that no provider has another price for them."""


@dataclass(frozen=True, slots=True)
class Used:
    """By one model: `nano_usd` is of those requests whose price is known, which is all but `unpriced`."""

    model: str
    requests: int
    tokens: Tokens
    nano_usd: int = 0
    unpriced: int = 0


@dataclass(frozen=True, slots=True)
class SessionBill:
    """`input_tokens` counts all input. Of it, `cached_tokens` were read from the provider's cache, for
    `cached_usd`, and `kept_tokens` written to it; `saved_usd` is how much more it would have cost without.
    What is not known is None; `cost_usd` leaves out the requests that are `unpriced`."""

    requests: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    kept_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    cached_usd: float | None = None
    saved_usd: float | None = None
    unpriced: int = 0
    estimated: bool = False
    """Whether the provider has not counted all of it."""

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def __str__(self) -> str:
        """`12 requests, 310,204 tokens, $0.21; 240,000 of them from the cache, $0.02, which saved $0.20`"""
        if not self.requests:
            return "no model was asked"
        asked = "1 request" if self.requests == 1 else f"{self.requests:,} requests"
        told = f"{asked}, {self.tokens:,} tokens, {in_dollars(self.cost_usd)}"
        if self.cost_usd is not None and self.unpriced:
            told += f", without {self.unpriced:,} of unknown price"
        if not self.cached_tokens:
            return told
        told += f"; {self.cached_tokens:,} of them from the cache"
        if self.cached_usd:
            told += f", {in_dollars(self.cached_usd)}"
        return f"{told}, which saved {in_dollars(self.saved_usd)}" if (self.saved_usd or 0) > 0 else told


async def bill_of(used: Iterable[Used], pricing: Callable[[str], Pricing]) -> SessionBill:
    """Loading prices takes a moment, once."""
    requests, unpriced, tokens = 0, 0, Tokens()
    cost = cached = saved = 0
    for one in used:
        price = pricing(one.model)
        await price.load()
        requests += one.requests
        unpriced += one.unpriced
        cost += one.nano_usd
        tokens += one.tokens
        cached += _cost(price, Tokens(_SAMPLE, 0, _SAMPLE), one.tokens.cache_read_tokens)
        saved += _saved(price, one.tokens)
    known = requests > unpriced
    return SessionBill(
        requests,
        tokens.input_tokens,
        tokens.cache_read_tokens,
        tokens.cache_write_tokens,
        tokens.output_tokens,
        usd(cost) if known else None,
        usd(cached) if known else None,
        usd(saved) if known else None,
        unpriced,
        tokens.estimated,
    )


def _saved(price: Pricing, used: Tokens) -> int:
    """What is read costs less than other input, and what is written more."""
    read, written = used.cache_read_tokens, used.cache_write_tokens
    whole = _cost(price, Tokens(_SAMPLE), read + written)
    kept = _cost(price, Tokens(_SAMPLE, 0, _SAMPLE), read) + _cost(
        price, Tokens(_SAMPLE, 0, 0, _SAMPLE), written
    )
    return whole - kept


def _cost(price: Pricing, sample: Tokens, tokens: int) -> int:
    """Of so many tokens, at the price of the sample; nothing where it is not known."""
    return (price.nano_usd(sample) or 0) * tokens // _SAMPLE if tokens else 0
