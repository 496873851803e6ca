"""Reviewers and coding agents that are programs of their own, on the same meter as models.

What they cost is known when they have ended, and as they say; where they say nothing, what they were told and
have answered is counted. So the limits are looked at before one starts, and nothing is reserved for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from moot.agents.coding import Coder, CodingResult, Order
from moot.agents.protocol import Job, Outcome, Progress, Reviewer
from moot.errors import ProviderFailed
from moot.llm.messages import Usage
from moot.llm.metering import tokens_of
from moot.llm.names import ModelName
from moot.llm.prices import NANO

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from moot.app import Moot

T = TypeVar("T", Outcome, CodingResult)

_SAYS_ITS_COST = "claude"


class MeteredReviewer:
    def __init__(self, reviewer: Reviewer, moot: Moot) -> None:
        self.name = reviewer.name
        self._reviewer = reviewer
        self._moot = moot

    async def review(self, job: Job, progress: Progress) -> Outcome:
        name = ModelName(self.name, job.model or "")
        return await _metered(
            self._moot, name, job.instructions, lambda: self._reviewer.review(job, progress)
        )


class MeteredCoder:
    def __init__(self, coder: Coder, moot: Moot) -> None:
        self.name = coder.name
        self._coder = coder
        self._moot = moot

    async def work(self, order: Order, progress: Progress) -> CodingResult:
        name = ModelName(self.name, "")
        return await _metered(self._moot, name, order.text, lambda: self._coder.work(order, progress))


async def _metered(moot: Moot, name: ModelName, text: str, start: Callable[[], Awaitable[T]]) -> T:
    """Raises LimitReached, or that nobody can say what it costs, before it starts."""
    pricing = moot.gateway.pricing(name)
    await pricing.load()
    if moot.config.user.limits.usd and name.provider != _SAYS_ITS_COST and not pricing.is_known:
        raise moot.gateway.not_priced(str(name))
    least = Usage(tokens_of(text), estimated=True)
    attempt = await moot.meter.begin(str(name), pricing, least, least, lambda: least)
    outcome, usage, nano_usd = "ok", least, None
    try:
        ended = await start()
        usage = _usage(ended, least)
        if ended.cost_usd is not None:
            nano_usd = round(ended.cost_usd * NANO)
        elif not pricing.is_known:
            nano_usd = _by_named_model(moot, name, ended.model, usage)
        return ended
    except BaseException as failed:
        outcome = type(failed).__name__
        if isinstance(failed, ProviderFailed) and failed.used is not None:
            usage = Usage(*failed.used)
            nano_usd = None if failed.cost_usd is None else round(failed.cost_usd * NANO)
        raise
    finally:
        await attempt.end(outcome, usage, nano_usd)


def _usage(ended: Outcome | CodingResult, least: Usage) -> Usage:
    if not (ended.tokens_in or ended.tokens_out):
        return Usage(least.input_tokens, tokens_of(ended.said), estimated=True)
    cached = ended.tokens_cached if isinstance(ended, Outcome) else 0
    return Usage(ended.tokens_in, ended.tokens_out, cached)


def _by_named_model(moot: Moot, name: ModelName, model: str, usage: Usage) -> int | None:
    """A program that chose its model itself says which it was."""
    return moot.gateway.pricing(ModelName(name.provider, model)).nano_usd(usage)
