"""How many sessions may be under way at once. How much may be asked and spent is for `moot.core.spending`."""

from __future__ import annotations

from moot.config import Limits
from moot.errors import LimitReached

TRY_AGAIN_SECONDS = 5.0


def admit(limits: Limits, everybody: int, own: int) -> None:
    """Raises LimitReached where one more session may not be driven for somebody, with so many driven
    already. Nothing that has begun is cut off."""
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
