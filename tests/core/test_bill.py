"""What a session has really cost, and what the provider's cache has saved."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.config import Price
from moot.core.bill import SessionBill, Used, bill_of
from moot.llm.messages import Tokens
from moot.llm.prices import FREE, UNKNOWN, Pricing

PRICED = Pricing("m", own=Price(input=10, output=50, cache_read=1, cache_write=12.5))
PRICES = {"m": PRICED, "free": FREE, "?": UNKNOWN}


def bill(*used: Used) -> SessionBill:
    return asyncio.run(bill_of(used, PRICES.__getitem__))


def test_a_session_that_asked_nobody_has_a_bill_without_a_price() -> None:
    assert bill() == SessionBill()
    assert str(bill()) == "no model was asked"


def test_what_the_cache_has_read_is_told_with_its_price_and_what_it_saved() -> None:
    # 20,000 written at $12.5 a million instead of $10, 100,000 read at $1: $0.90 less $0.05.
    told = bill(Used("m", 6, Tokens(130_000, 2_000, 100_000, 20_000), 400_000_000))
    assert told == SessionBill(6, 130_000, 100_000, 20_000, 2_000, 0.4, 0.1, 0.85)
    assert str(told) == (
        "6 requests, 132,000 tokens, $0.40; 100,000 of them from the cache, $0.10, which saved $0.85"
    )


def test_a_cache_that_was_written_and_never_read_has_saved_nothing() -> None:
    told = bill(Used("m", 1, Tokens(20_000, 10, 0, 20_000), 250_500_000))
    assert told.saved_usd == pytest.approx(-0.05)
    assert str(told) == "1 request, 20,010 tokens, $0.25"


def test_what_has_no_price_is_said_to_have_none() -> None:
    told = bill(Used("?", 2, Tokens(100, 10, 50), 0, 2))
    assert (told.cost_usd, told.cached_usd, told.saved_usd, told.unpriced) == (None, None, None, 2)
    assert str(told) == "2 requests, 110 tokens, price unknown; 50 of them from the cache"


def test_what_is_known_is_told_beside_what_is_not() -> None:
    told = bill(Used("?", 2, Tokens(100, 10), 0, 2), Used("m", 1, Tokens(1000), 10_000_000))
    assert str(told) == "3 requests, 1,110 tokens, $0.01, without 2 of unknown price"


def test_what_is_free_is_said_to_be() -> None:
    assert str(bill(Used("free", 1, Tokens(100, 10, 50)))) == (
        "1 request, 110 tokens, free of charge; 50 of them from the cache"
    )


def test_what_nobody_counted_is_marked() -> None:
    assert bill(Used("m", 1, Tokens(1, 1, estimated=True), 1), Used("m", 1, Tokens(1, 1), 1)).estimated


_COUNTS = st.integers(0, 10**6)
_USED = st.builds(
    lambda model, fresh, read, written, out: Used(
        model, 1, Tokens(fresh + read + written, out, read, written)
    ),
    st.sampled_from(["m", "free"]),
    _COUNTS,
    _COUNTS,
    _COUNTS,
    _COUNTS,
)


@given(st.lists(_USED, max_size=4))
def test_without_the_cache_it_would_always_have_cost_that_much_more(used: list[Used]) -> None:
    cost = [replace(one, nano_usd=PRICES[one.model].nano_usd(one.tokens) or 0) for one in used]
    plain = [
        PRICES[one.model].nano_usd(Tokens(one.tokens.input_tokens, one.tokens.output_tokens)) or 0
        for one in used
    ]
    told = bill(*cost)
    if told.cost_usd is not None and told.saved_usd is not None:
        assert told.cost_usd + told.saved_usd == pytest.approx(sum(plain) / 1e9)
