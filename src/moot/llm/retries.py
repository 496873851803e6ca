"""When a request that a provider has failed is sent again, how often, and after how long.

Refuses to know what was asked for, and of whom.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from moot.errors import ProviderFailed

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Patience:
    """How often and how long to wait for a provider that fails."""

    retries: int = 3
    first_wait: float = 0.5
    longest_wait: float = 8.0
    longest_retry_after: float = 60.0
    """A server that asks for more than this is not waited for: the error says how long it asked for."""

    def wait_before(self, retry: int, failed: ProviderFailed) -> float | None:
        """Seconds before retry number `retry` (from 1), or None to give up."""
        if not failed.retriable or retry > self.retries:
            return None
        if failed.retry_after is not None:
            return failed.retry_after if failed.retry_after <= self.longest_retry_after else None
        wait = min(self.first_wait * 2.0 ** (retry - 1), self.longest_wait)
        # Eight advisors that failed together should not come back together.
        return wait * random.uniform(0.75, 1.0)


async def retry_failed(
    attempt: Callable[[], Awaitable[T]],
    patience: Patience,
    may_retry: Callable[[], bool],
    wait: Callable[[float, ProviderFailed], Awaitable[None]],
) -> T:
    """What an attempt leads to; one that the provider has failed is made again while it `may_retry`."""
    retry = 0
    while True:
        try:
            return await attempt()
        except ProviderFailed as failed:
            retry += 1
            seconds = patience.wait_before(retry, failed) if may_retry() else None
            if seconds is None:
                raise
            await wait(seconds, failed)
