"""What the two HTTP wires have in common: read events from a raw response, and adapt to a server.

The SDKs build and send requests and know authentication, versions and errors. Their event objects cost
more CPU than the tokens are worth, so the bytes of the response are read here and decoded by the wire
modules with msgspec.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from moot.errors import ProviderFailed, RequestRejected, StreamBroken, StreamStalled, Unreachable
from moot.gateway import faults
from moot.gateway.sse import EventReader

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")

CONNECT_SECONDS = 10.0
MAX_CONNECTIONS = 1000
"""A board opens eight streams at once, so a handful of boards would fill an ordinary pool."""

_BROKEN = "the connection broke in the middle of the reply"
_SILENT = "the reply fell silent in the middle"

ROOM_FOR_THINKING = 8192
"""Tokens added to a reply's limit where thinking cannot be switched off, because the limit bounds both."""


async def read_events(
    response: httpx2.Response, model: str, take: Callable[[bytes], bool], stall_seconds: float
) -> None:
    """Hands the data of each event to `take`, which says whether it brought the reply on. Raises where the
    stream breaks, or falls silent but for keep-alives; a clean end just ends, and whether the reply was
    whole is for the decoder to say."""
    import httpx2

    reader = EventReader()
    plain = "content-encoding" not in response.headers
    chunks = response.aiter_raw() if plain else response.aiter_bytes()
    progress = time.monotonic()
    while True:
        # Only the reading is guarded: what `take` raises is not the connection's fault.
        try:
            chunk = await anext(chunks, None)
        except httpx2.TimeoutException as error:
            # The aiohttp transport reports a lost connection as a connect time-out.
            if isinstance(error, httpx2.ConnectTimeout):
                raise StreamBroken(model, _BROKEN) from error
            raise StreamStalled(model, _SILENT) from error
        except (httpx2.HTTPError, OSError) as error:
            raise StreamBroken(model, _BROKEN) from error
        if chunk is None:
            return
        moved = False
        for data in reader.feed(chunk):
            moved = take(data) or moved
        now = time.monotonic()
        if moved:
            progress = now
        elif now - progress > stall_seconds:
            # Complete silence ends in a time-out of the socket; this is a server that only says "still here".
            raise StreamStalled(model, _SILENT)


def failure(error: Exception, model: str, key: str | None) -> ProviderFailed:
    """What an SDK raised before the stream began. Both SDKs have the same shapes, so duck typing serves.
    Servers like to repeat a wrong key in full; it is not passed on."""
    response = getattr(error, "response", None)
    status = getattr(error, "status_code", None)
    if response is not None and isinstance(status, int):
        message = _message(error)
        if key and len(key) >= 8:
            message = message.replace(key, "***")
        return faults.from_status(model, status, message, response.headers)
    if type(error).__name__ == "APITimeoutError":
        return Unreachable(model, "no answer in time")
    cause = error.__cause__
    return Unreachable(model, f"no connection ({cause or error})")


def _message(error: Exception) -> str:
    body: Any = getattr(error, "body", None)
    if isinstance(body, dict):
        inner = body.get("error", body)
        if isinstance(inner, dict) and isinstance(inner.get("message"), str):
            return str(inner["message"])[:500]
        if isinstance(inner, str):
            return inner[:500]
    return str(getattr(error, "message", error))[:500]


@dataclass(frozen=True, slots=True)
class Adaptable:
    """A part of a request that has several forms: how many, and the words in a 400 that speak of it."""

    forms: int
    words: tuple[str, ...]


class Adapting:
    """Sends a request in another form where a server refuses a field of it by name.

    This is no retry: the same request is never sent twice. What was learned is kept per model, so that the
    next request is right at once.
    """

    def __init__(self, parts: dict[str, Adaptable]) -> None:
        self._parts = parts
        self._learned: dict[str, dict[str, int]] = {}

    async def send(self, model: str, attempt: Callable[[dict[str, int]], Awaitable[T]]) -> T:
        """`attempt` is told, per part, which form to use: 0 is the preferred one."""
        while True:
            forms = {part: self._learned.get(model, {}).get(part, 0) for part in self._parts}
            try:
                return await attempt(forms)
            except RequestRejected as refused:
                part = self._refused_part(refused, forms)
                if part is None:
                    raise
                self._learned.setdefault(model, {})[part] = forms[part] + 1

    def _refused_part(self, refused: RequestRejected, forms: dict[str, int]) -> str | None:
        if refused.status not in (400, 422):
            return None
        said = refused.problem.lower()
        for part, adaptable in self._parts.items():
            if forms[part] + 1 < adaptable.forms and any(word in said for word in adaptable.words):
                return part
        return None
