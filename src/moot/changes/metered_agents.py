"""Reviewers and coding agents that are programs of their own, on the same meter as models.

What they cost is known when they have ended, and as they say; where they say nothing, what they were told and
have answered is counted. So the limits are looked at before one starts, and nothing is reserved for it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from moot.agents import Outcome
from moot.changes.state_file import Call
from moot.errors import MootError, ProviderFailed
from moot.llm.messages import Tokens
from moot.llm.metering import Bill, billing, tokens_of
from moot.llm.names import ModelName
from moot.llm.prices import NANO

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from moot.app import Moot
    from moot.changes.folder import ChangeFolder

_SAYS_ITS_COST = "claude"


async def run_metered(
    moot: Moot, name: ModelName, text: str, start: Callable[[], Awaitable[Outcome]]
) -> Outcome:
    """Raises LimitReached, or that nobody can say what it costs, before it starts."""
    pricing = moot.gateway.pricing(name)
    await pricing.load()
    if moot.config.user.limits.usd and name.provider != _SAYS_ITS_COST and not pricing.is_known:
        raise moot.gateway.not_priced(str(name))
    least = Tokens(tokens_of(text), estimated=True)
    attempt = await moot.meter.begin(str(name), pricing, least, least, lambda: least)
    outcome, usage, nano_usd = "ok", least, None
    try:
        ended = await start()
        usage = _usage(ended, least)
        if ended.cost_usd is not None:
            nano_usd = round(ended.cost_usd * NANO)
        elif not pricing.is_known:
            # A program that chose its model itself says which it was.
            nano_usd = moot.gateway.pricing(ModelName(name.provider, ended.model)).nano_usd(usage)
        return ended
    except BaseException as failed:
        outcome = type(failed).__name__
        if isinstance(failed, ProviderFailed) and failed.used is not None:
            usage = Tokens(*failed.used)
            nano_usd = None if failed.cost_usd is None else round(failed.cost_usd * NANO)
        raise
    finally:
        await attempt.end(outcome, usage, nano_usd)


def _usage(ended: Outcome, least: Tokens) -> Tokens:
    if ended.usage == Tokens():
        return Tokens(least.input_tokens, tokens_of(ended.said), estimated=True)
    return ended.usage


@contextmanager
def recording_failure(folder: ChangeFolder, step: str, model: str) -> Iterator[None]:
    """A call that fails or is interrupted is recorded with what it has cost, and raised."""
    began, bill = time.monotonic(), Bill()
    try:
        with billing(bill):
            yield
    except (MootError, asyncio.CancelledError) as failed:
        took = round((time.monotonic() - began) * 1000)
        kind = type(failed).__name__ if isinstance(failed, MootError) else "interrupted"
        folder.record_call(Call.of(step, model, bill.usage, bill.cost_usd, took, kind))
        raise
