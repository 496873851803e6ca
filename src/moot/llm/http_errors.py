"""From what an SDK or a transport raises to the errors of moot. One table for both SDKs, which share
their shape: a status error with a response, a connection error, a time-out."""

from __future__ import annotations

import email.utils
import time
from collections.abc import Mapping

from moot.errors import KeyRefused, ProviderDown, ProviderFailed, RateLimited, RequestRejected
from moot.text.masking import mask

_LONGEST_MESSAGE = 500

_AGAIN = {408, 409}


def from_status(model: str, status: int, message: str, headers: Mapping[str, str]) -> ProviderFailed:
    kind: type[ProviderFailed]
    if status in (401, 403):
        kind = KeyRefused
    elif status == 429:
        kind = RateLimited
    elif status in _AGAIN or status >= 500:
        kind = ProviderDown
    else:
        kind = RequestRejected
    return kind(model, f"{status}: {message}", status=status, retry_after=retry_after(headers))


_STREAM_ERRORS: dict[str, int] = {
    "overloaded_error": 529,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "authentication_error": 401,
    "permission_error": 403,
    "invalid_request_error": 400,
    "not_found_error": 404,
    "request_too_large": 413,
    "timeout_error": 408,
}


def from_stream_error(model: str, kind: str, message: str) -> ProviderFailed:
    """An error that arrived as an event after the stream had begun with a 200."""
    return from_status(model, _STREAM_ERRORS.get(kind, 500), shortened(message or kind), {})


def shortened(message: str) -> str:
    """What a server said, masked before it is cut: half a key would no longer be known for one."""
    return mask(message)[:_LONGEST_MESSAGE]


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds, from `retry-after-ms` or either form of `Retry-After`. None where it says nothing usable."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    told = headers.get("retry-after")
    seconds = _number(told)
    if seconds is not None or told is None:
        return seconds
    parsed = email.utils.parsedate_tz(told)
    if parsed is None:
        return None
    return max(0.0, email.utils.mktime_tz(parsed) - time.time())


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None
