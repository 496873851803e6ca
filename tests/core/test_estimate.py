"""What a session is going to cost, before it begins."""

from __future__ import annotations

import asyncio

import pytest
from pydantic import BaseModel

from moot.config import Price
from moot.core.estimate import LEAST_SHARE, Estimate, estimate
from moot.llm.messages import ModelSaid, Request, Source, ToolCall, UserSaid
from moot.llm.prices import FREE, UNKNOWN, Pricing

PRICED = Pricing("m", own=Price(input=10, output=50, cache_read=1, cache_write=20))
EVIDENCE = Source("E1 (a.txt)", "word" * 2000)
ANSWERS = Source("the answers", "more" * 1000)


class Shape(BaseModel):
    line: str


def _request(*blocks: Source, said: str = "", max_tokens: int = 200) -> Request:
    return Request("", (UserSaid(said),), max_tokens, shared=tuple((block,) for block in blocks))


def _estimated(*requests: Request | tuple[Request, type[BaseModel]], pricing: Pricing = PRICED) -> Estimate:
    return asyncio.run(estimate(requests, pricing))


def test_all_but_the_first_read_from_the_cache_what_they_begin_with() -> None:
    one = _request(EVIDENCE)
    # 2,000 tokens written at $20 a million, then read at $1; 100 of a reply at $50.
    assert _estimated(one) == Estimate(1, 2000, 0, 100, 0.045)
    assert _estimated(one, one, one) == Estimate(3, 6000, 4000, 300, 0.059)


def test_what_comes_after_a_kept_beginning_is_all_that_is_new() -> None:
    told = _estimated(_request(EVIDENCE), _request(EVIDENCE, ANSWERS), _request(EVIDENCE, ANSWERS))
    assert told.cached_tokens == 2000 + 3000
    assert told.cost_usd == pytest.approx((2000 * 20 + 2000 * 1 + 1000 * 20 + 3000 * 1 + 300 * 50) / 1e6)


def test_another_shape_is_another_beginning() -> None:
    one = _request(EVIDENCE)
    assert _estimated(one, (one, Shape)).cached_tokens == 0
    assert _estimated((one, Shape), (one, Shape)).cached_tokens > 2000


def test_a_short_beginning_is_not_kept() -> None:
    short = _request(Source("E1", "word" * 1000))
    assert _estimated(short, short).cached_tokens == 0


def test_all_that_is_said_counts() -> None:
    said = UserSaid("x" * 400, (Source("a", "y" * 400),))
    before = (UserSaid("z" * 40), ModelSaid("", (ToolCall("1", "read", "u" * 400),)))
    assert _estimated(Request("s" * 400, (*before, said), 100)).input_tokens == 410


@pytest.mark.parametrize(
    ("cost", "tokens", "told"),
    [
        (0.0871, 31_249, "about 31,000 tokens, $0.09"),
        (0.004, 950, "about 950 tokens, under $0.01"),
        (0.0, 7, "about 7 tokens, free of charge"),
        (None, 1_251_000, "about 1,300,000 tokens, price unknown"),
        (1234.5, 0, "about 0 tokens, $1,234.50"),
    ],
)
def test_it_is_said_in_a_few_words(cost: float | None, tokens: int, told: str) -> None:
    assert str(Estimate(1, tokens, 0, 0, cost)) == told


def test_a_price_that_nobody_knows_is_said() -> None:
    assert _estimated(_request(EVIDENCE), pricing=UNKNOWN).cost_usd is None
    assert _estimated(_request(EVIDENCE), pricing=FREE).cost_usd == 0
    assert _estimated() == Estimate(0, 0, 0, 0, 0.0)


def test_a_lower_bound_counts_the_least_reply_and_is_rounded_down() -> None:
    one = _request(EVIDENCE, max_tokens=8_192)
    told = asyncio.run(estimate([one, one], PRICED, at_least=True, share=LEAST_SHARE))
    assert (told.input_tokens, told.output_tokens) == (4_000, 2 * 81)
    assert str(told).startswith("at least about 4,100 tokens")
    assert str(Estimate(1, 9_999, 0, 0, None, at_least=True)) == "at least about 9,900 tokens, price unknown"
    assert str(Estimate(1, 900, 0, 0, 0.0042, at_least=True)) == "at least about 900 tokens, $0.004"
